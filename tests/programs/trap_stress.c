// SPDX-License-Identifier: GPL-2.0
/*
 * Raise traps and page faults at random, while everything around their events is switched at
 * random.
 *
 *	trap_stress [-s SEED] [-d SECONDS] [-b]
 *
 * The same seed repeats the choices. With -b, the counter loses some events, to show that the
 * program notices it.
 *
 * Raisers count each trap and its signals, and switchers change how the events are traced. Each
 * of them does once what is in its table, and then chooses at random. In the first round,
 * histograms of an instance that nobody else uses count the events of the raisers. It keeps the
 * events on: only the second round switches them off.
 *
 * The program takes over the top instance of tracing. It is for a machine with no other work.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "monitor.h"

#define NAME		"trap_stress"	/* of all that it makes in tracefs */
#define RAISER		"stress_raiser"	/* the task, for the filters */
#define RAISERS		4
#define SWITCHERS	3
#define ACTORS		(RAISERS + SWITCHERS)
#define INSTANCES	3		/* below the top one */
#define OPERATIONS	32
#define WINDOW		(2UL << 20)
#define HANG_SECONDS	400		/* four CPUs of an emulator, with KASAN */
#define RW		(PROT_READ | PROT_WRITE)
#define ANONYMOUS	(MAP_PRIVATE | MAP_ANONYMOUS)

#define LIST(...)	((const char * const []){ __VA_ARGS__, NULL })

/* What is counted: traps by vector, and page faults in the window */
enum row { FAULT = 33, ROWS };

enum round { COUNTED, SWITCHED, ROUNDS };

struct actor;

struct operation {
	const char *name;
	int (*run)(struct actor *me);	/* 0, or a negative error if it had no effect */
	/* What write_one() chooses from. File and text may have a %s, for the name */
	enum { TOP, ANY, BELOW } where;
	const char *file;
	const char * const *names, * const *texts;
	bool or_not;			/* half of the time, "!" and the text */
	bool alone;			/* for the first actor of its kind only */
	enum { NOTHING, MODULE, PROBES, MONITOR, NEEDS } needs;
};

struct actor {
	unsigned int number;
	unsigned long long random;
	const struct operation *doing;
	char last[320];
};

/* The actors are processes */
static struct shared {
	bool stop, ready;
	struct actor actors[ACTORS];
	/* In this round, in kernel mode and in user mode */
	unsigned long raised[2][ROWS];
	/* In all rounds; those of the raisers, then those of the switchers */
	unsigned long due, signals, wrong, done[2][OPERATIONS], refused[2][OPERATIONS];
} *shared;

#define count(what)	__atomic_add_fetch(&(what), 1, __ATOMIC_RELAXED)

static unsigned long long seed;
static enum round this_round;
static int ncpus, file = -1;
static bool broken, have[NEEDS];
static char *window;
static __u64 in_tracer;	/* an address */

/* Random numbers, by splitmix64: the state counts, and is mixed for each number */
static unsigned long long mix(unsigned long long x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static unsigned int draw(struct actor *me, unsigned int n)
{
	me->random += 0x9e3779b97f4a7c15ULL;
	return mix(me->random) % n;
}

static const char *one_of(struct actor *me, const char * const *list)
{
	unsigned int n = 0;

	while (list[n])
		n++;
	return list[draw(me, n)];
}

#define note(me, ...)	snprintf((me)->last, sizeof((me)->last), __VA_ARGS__)

/* wrong - Report the first of what went wrong */
static void wrong(struct actor *me, const char *what, int n)
{
	if (count(shared->wrong) == 1)
		ksft_print_msg("%s, %s: %s %d\n", me->doing->name, me->last, what, n);
}

/*
 * The raisers
 */
static int raise_one(struct actor *me, const struct user_trap *t, void *arg, enum row row)
{
	int n = raise_user_trap(t, arg);

	if (n < 0)
		wrong(me, "signal", -n);
	if (!n && t->optional)
		return -EOPNOTSUPP;
	count(shared->raised[1][row]);
	if (t->signal)
		count(shared->due);
	while (n-- > 0)
		count(shared->signals);
	return 0;
}

static int raise_trap(struct actor *me, const struct user_trap *t)
{
	static unsigned long long bytes[2];

	if (t->vector == PF || t->argument == WATCHED || cannot_raise(t))
		return -EOPNOTSUPP;
	return raise_one(me, t, bytes, t->vector);
}

static int raise_user(struct actor *me)
{
	const struct user_trap *t = &user_traps[draw(me, nr_user_traps)];

	note(me, "%s, %s", t->name, t->what);
	return raise_trap(me, t);
}

static const unsigned int kernel_vectors[] = {
	0, NMI, BP, 4, 5, UD, 9, 10, 11, 12, GP, 15, 16, 17, 19,
};

static int raise_by_module(struct actor *me, unsigned int vector)
{
	int ret = raise_in_kernel(vector);

	if (ret)
		wrong(me, "error", ret);
	else
		count(shared->raised[0][vector]);
	return ret;
}

static int raise_kernel(struct actor *me)
{
	const unsigned int vector = kernel_vectors[draw(me, ARRAY_SIZE(kernel_vectors))];

	note(me, "kernel vector %u", vector);
	return raise_by_module(me, vector);
}

/* The kernel reads an int. get_user() faults once */
static void kernel_reads(void *p)
{
	ioctl(file, FIONBIO, p);
}

static const struct access {
	const char *what;
	int prot, flags;
	void (*raise)(void *p);
	int signal;
	enum { FRESH, TOUCHED, UNMAPPED, BEYOND, HUGE } first;
} accesses[] = {
	{ "first write", RW, ANONYMOUS, raise_write },
	{ "first read", RW, ANONYMOUS, raise_read },
	{ "copy of the zero page", RW, ANONYMOUS, raise_write, 0, TOUCHED },
	{ "write to a huge page", RW, ANONYMOUS, raise_write, 0, HUGE },
	{ "write to shared memory", RW, MAP_SHARED | MAP_ANONYMOUS, raise_write },
	{ "read of a file", RW, MAP_PRIVATE, raise_read },
	{ "private copy of a file", RW, MAP_PRIVATE, raise_write },
	{ "read by the kernel", RW, ANONYMOUS, kernel_reads },
	{ "forbidden read by the kernel", PROT_NONE, ANONYMOUS, kernel_reads },
	{ "write to a read-only page", PROT_READ, ANONYMOUS, raise_write, SIGSEGV },
	{ "forbidden read", PROT_NONE, ANONYMOUS, raise_read, SIGSEGV },
	{ "jump to data", RW, ANONYMOUS, raise_jump, SIGSEGV, TOUCHED },
	{ "read where nothing is mapped", RW, ANONYMOUS, raise_read, SIGSEGV, UNMAPPED },
	{ "read beyond the end of a file", RW, MAP_PRIVATE, raise_read, SIGBUS, BEYOND },
};

static int access_once(struct actor *me, const struct access *a)
{
	const struct user_trap access = { .vector = PF, .raise = a->raise, .signal = a->signal };
	const struct user_trap touch = { .vector = PF, .raise = raise_read };
	const size_t size = a->first == HUGE ? WINDOW : (size_t)page_size;

	if (mmap(window, size, a->prot, a->flags | MAP_FIXED,
		 a->flags & MAP_ANONYMOUS ? -1 : file,
		 a->first == BEYOND ? page_size : 0) != window)
		return -errno;
	madvise(window, size, a->first == HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	if (a->first == TOUCHED)
		raise_one(me, &touch, window, FAULT);
	if (a->first == UNMAPPED)
		munmap(window, page_size);
	if (a->raise == kernel_reads) {
		kernel_reads(window);
		count(shared->raised[0][FAULT]);
	} else {
		raise_one(me, &access, window, FAULT);
	}
	/* Keep the place, and free the memory */
	mmap(window, size, PROT_NONE, ANONYMOUS | MAP_FIXED, -1, 0);
	return 0;
}

static int raise_access(struct actor *me)
{
	const struct access *a = &accesses[draw(me, ARRAY_SIZE(accesses))];

	note(me, "%s", a->what);
	return access_once(me, a);
}

/* A #DB in the tracer */
static int break_in_tracer(struct actor *me)
{
	int fd = breakpoint(in_tracer, true);

	note(me, "#UD with a breakpoint in the tracer");
	if (fd < 0)
		return -errno;
	raise_trap(me, find_user_trap(UD));
	close(fd);
	return 0;
}

/* Each kind once, on one CPU: a histogram drops events of a key that another CPU just adds */
static void raise_each(struct actor *me)
{
	for (size_t i = 0; i < nr_user_traps; i++)
		raise_trap(me, &user_traps[i]);
	for (size_t i = 0; have[MODULE] && i < ARRAY_SIZE(kernel_vectors); i++)
		raise_by_module(me, kernel_vectors[i]);
	for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
		access_once(me, &accesses[i]);
	break_in_tracer(me);
}

static const struct operation raisers[OPERATIONS] = {
	{ "raise_user", raise_user },
	{ "raise_access", raise_access },
	{ "raise_kernel", raise_kernel, .needs = MODULE },
	{ "break_in_tracer", break_in_tracer },
};

/*
 * The switchers, whose writes the kernel may refuse
 */
static const char * const groups[] = { "trap", "pagefault", "exceptions", NULL };
static const char * const events[] = {
	"trap/trap_entry", "trap/trap_exit", "pagefault/pagefault_entry",
	"pagefault/pagefault_exit", "pagefault/pagefault_noregs",
	"exceptions/page_fault_user", "exceptions/page_fault_kernel", NULL
};

static const char * const probes[] = { "k0", "k1", "k2", "t0", "t1", NULL };
static const char * const on_off[] = { "1", "1", "0", NULL };	/* twice as often on */

/* The first one is the top instance */
static const char *instance(unsigned int n)
{
	static char path[INSTANCES + 1][64] = { TRACING };

	if (n && !*path[n])
		snprintf(path[n], sizeof(path[n]), TRACING "/instances/" NAME ".%u", n);
	return path[n];
}

static int write_one(struct actor *me)
{
	const struct operation *o = me->doing;
	const unsigned int n = o->where == TOP ? 0 : o->where == BELOW ?
			       1 + draw(me, INSTANCES) : draw(me, INSTANCES + 1);
	const char *name = o->names ? one_of(me, o->names) : "";
	const char *not = o->or_not && draw(me, 2) ? "!" : "";
	char where[96], text[160];

	snprintf(where, sizeof(where), o->file, name);
	snprintf(text, sizeof(text), one_of(me, o->texts), name);
	note(me, "echo '%s%s' >%u:%s", not, text, n, where);
	/* Only O_TRUNC clears a trace, but it also removes triggers and probes */
	if (!*text)
		return put(instance(n), where, "\n");
	return append(instance(n), where, "%s%s\n", not, text);
}

/*
 * function_graph of all functions hangs with a kprobe in the ring buffer. A filter that
 * set_ftrace_notrace empties traces all (see series/fixes/fgraph_filter.md): nobody writes there
 */
static int set_tracer(struct actor *me)
{
	const char *functions = one_of(me, LIST("*fault*", "*trap*", "handle_mm_fault",
						"force_sig*", "do_*"));
	const char *tracer = one_of(me, LIST("function", "function_graph", "irqsoff"));
	const unsigned int n = draw(me, INSTANCES + 1), wait_us = draw(me, 20000);
	int ret;

	note(me, "%s of %s in %u", tracer, functions, n);
	ret = put(instance(n), "set_ftrace_filter", "%s", functions) ?:
	      put(instance(n), "current_tracer", "%s", tracer);
	usleep(wait_us);
	put(instance(n), "current_tracer", "nop");
	return ret;
}

/* A reader, which is killed, or blocks and is killed */
static int kill_reader(struct actor *me)
{
	const unsigned int n = draw(me, INSTANCES + 1), wait_us = 1000 + draw(me, 20000);
	const char *name = one_of(me, me->doing->names);
	char path[256], text[4096];
	pid_t reader;
	int fd;

	note(me, "read %u:%s", n, name);
	snprintf(path, sizeof(path), "%s/%s", instance(n), name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	reader = must_fork();
	if (!reader) {
		while (read(fd, text, sizeof(text)) > 0)
			;
		_exit(0);
	}
	usleep(wait_us);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	close(fd);
	return 0;
}

/* Instances go with all that is on in them */
static int make_or_remove(struct actor *me)
{
	const unsigned int n = 1 + draw(me, INSTANCES);

	note(me, "make or remove %u", n);
	return mkdir(instance(n), 0755) && rmdir(instance(n)) ? -errno : 0;
}

static int take_offline(struct actor *me)
{
	const int cpu = 1 + draw(me, ncpus - 1), wait_us = draw(me, 20000);

	note(me, "CPU %d offline", cpu);
	if (!plug(cpu, false))
		return -EBUSY;
	usleep(wait_us);
	if (!plug(cpu, true))
		wrong(me, "this does not come back: CPU", cpu);
	return 0;
}

static int raise_nmi(struct actor *me)
{
	static int monitor = -1;

	note(me, "NMI of the monitor");
	if (monitor < 0)
		monitor = open_monitor();
	if (!monitor_command(monitor, "nmi"))
		wrong(me, "no answer of", monitor);
	return 0;
}

/* An event on a CPU, with call chains */
static int open_perf(struct actor *me)
{
	const unsigned int cpu = draw(me, ncpus), wait_us = draw(me, 20000);
	const size_t size = 9 * page_size;
	const char *event = one_of(me, events);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = event_id(event), .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN,
	};
	int fd = perf_open(&attr, -1, cpu);
	void *ring;

	note(me, "perf: %s on CPU %u", event, cpu);
	if (fd < 0)
		return -errno;
	ring = mmap(NULL, size, RW, MAP_SHARED, fd, 0);
	usleep(wait_us);
	if (ring != MAP_FAILED)
		munmap(ring, size);
	close(fd);
	return ring == MAP_FAILED ? -errno : 0;
}

/* Not buffer_subbuf_size_kb: after that, a read of trace_pipe may hang, see tests/fixes/subbuf */
static const struct operation switchers[OPERATIONS] = {
	{ "switch_event", write_one, ANY, "events/%s/enable", events, on_off },
	{ "switch_group", write_one, ANY, "events/%s/enable", groups, on_off },
	{ "set_filter", write_one, ANY, "events/%s/filter", events, LIST("0", "0", "0", "1",
		"user_mode == 1", "error_code & 2", "ip > 4096", "COMM == \"" RAISER "\"",
		"vector != 14 && (user_mode == 1 || error_code != 0)", "CPU & CPUS{0-1}",
		"outcome == MINOR && duration > 1000", "ip.function == handle_mm_fault",
		"outcome == NO_SUCH_OUTCOME", "(vector == 1") },
	/* In the instances, which go with their triggers */
	{ "set_trigger", write_one, BELOW, "events/%s/trigger", events, LIST("traceon",
		"hist:keys=vector,user_mode", "hist:keys=outcome,duration.log2",
		"hist:keys=common_stacktrace:size=128", "hist:keys=ip.sym,common_pid.execname",
		"hist:keys=vector:clear", "stacktrace:3 if user_mode == 1", "traceoff:2",
		"snapshot:1", "enable_event:trap:trap_exit:1",
		"disable_event:exceptions:page_fault_user:5", "hist:keys="), .or_not = true },
	{ "set_stacktrace", write_one, ANY, "options/%s", LIST("stacktrace", "userstacktrace"),
		on_off },
	{ "set_option", write_one, BELOW, "options/%s", LIST("overwrite", "irq-info",
		"record-tgid", "sym-userobj", "raw", "hex", "bin", "verbose", "latency-format",
		"event-fork", "pause-on-trace", "fields"), on_off },
	{ "set_tracer", set_tracer, .alone = true },
	{ "resize", write_one, BELOW, "%s", LIST("buffer_size_kb", "per_cpu/cpu0/buffer_size_kb"),
		LIST("4", "64", "1024") },
	{ "clear", write_one, BELOW, "%s", LIST("trace", "per_cpu/cpu1/trace", "free_buffer"),
		LIST("") },
	{ "switch_tracing", write_one, BELOW, "tracing_on", .texts = on_off },
	{ "set_clock", write_one, BELOW, "trace_clock", .texts = LIST("local", "global", "mono") },
	{ "set_cpus", write_one, BELOW, "tracing_cpumask", .texts = LIST("1", "f", "f") },
	{ "take_snapshot", write_one, BELOW, "snapshot", .texts = LIST("0", "1", "2") },
	{ "kill_reader", kill_reader, .names = LIST("trace_pipe", "trace", "trace",
		"per_cpu/cpu0/trace_pipe_raw", "per_cpu/cpu1/trace_pipe", "per_cpu/cpu1/stats",
		"snapshot", "events/trap/trap_entry/hist", "events/pagefault/pagefault_exit/hist",
		"events/trap/trap_entry/trigger", "set_event", "enabled_functions",
		"kprobe_profile", "dynamic_events") },
	{ "make_or_remove", make_or_remove, .alone = true },
	{ "add_kprobe", write_one, TOP, "dynamic_events", LIST("handle_mm_fault",
		"bad_area_nosemaphore", "do_error_trap", "fixup_exception", "force_sig_fault",
		"vfs_write", "ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
		"stack_trace_save_user", "arch_stack_walk", "filter_match_preds",
		"__traceiter_trap_entry", "__traceiter_pagefault_exit"),
		LIST("p:" NAME "/k0 %s", "p:" NAME "/k1 %s+4 stack=$stack0",
		     "p:" NAME "/k1 %s+5", "r:" NAME "/k2 %s ret=$retval") },
	{ "add_tprobe", write_one, TOP, "dynamic_events", .needs = PROBES,
		.texts = LIST("t:" NAME "/t0 trap_entry", "t:" NAME "/t1 pagefault_exit") },
	{ "remove_probe", write_one, TOP, "dynamic_events", probes, LIST("-:" NAME "/%s") },
	{ "switch_probe", write_one, ANY, "events/" NAME "/%s/enable", probes, on_off },
	{ "optimize_kprobes", write_one, TOP, "../../../proc/sys/debug/kprobes-optimization",
		.texts = on_off },
	{ "open_perf", open_perf },
	{ "take_offline", take_offline, .alone = true },
	{ "raise_nmi", raise_nmi, .alone = true, .needs = MONITOR },
};

/*
 * A round
 */
static void start_raiser(struct actor *me)
{
	prctl(PR_SET_NAME, RAISER);
	set_up_user_traps();
	file = new_file(1);
	if (file < 0)
		give_up("no file on a disk in $TMPDIR");
	while (me->number && !__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
		usleep(1000);
	if (!me->number)
		raise_each(me);
	__atomic_store_n(&shared->ready, true, __ATOMIC_RELEASE);
}

static void act(struct actor *me)
{
	const bool raises = me->number < RAISERS, first = !(me->number % RAISERS);
	const struct operation *table = raises ? raisers : switchers;
	unsigned int n = 0, at, times;
	cpu_set_t one;

	while (table[n].name)
		n++;
	me->doing = table;
	if (raises)
		start_raiser(me);
	else
		prctl(PR_SET_NAME, "stress_switcher");
	for (unsigned int turn = 0;
	     turn < n || !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); turn++) {
		/* All that an actor does follows from these four */
		me->random = mix(mix(mix(mix(seed) + me->number) + this_round) + turn);
		CPU_ZERO(&one);
		CPU_SET(draw(me, ncpus), &one);
		/* Fails while that CPU is offline */
		sched_setaffinity(0, sizeof(one), &one);
		at = turn < n ? turn : draw(me, n);
		me->doing = &table[at];
		if (!have[table[at].needs] || (table[at].alone && !first))
			continue;
		times = raises ? 1 + draw(me, 4) : 1;
		while (times--) {
			if (table[at].run(me))
				count(shared->refused[!raises][at]);
			else
				count(shared->done[!raises][at]);
		}
		/* An emulator of one thread changes the CPU when one idles: raisers leave time */
		usleep(raises ? 10000 : 100);
	}
	_exit(0);
}

/* By histograms of an instance of their own: entries and exits */
static const char * const counted_events[] = {
	"trap/trap_entry", "trap/trap_exit",
	"pagefault/pagefault_entry", "pagefault/pagefault_exit",
};

static const char *counter;

static void counter_on(void)
{
	char name[64], near[96];

	counter = make_instance("counter");
	snprintf(near, sizeof(near), " && address >= 0x%lx && address < 0x%lx",
		 (unsigned long)window, (unsigned long)window + WINDOW);
	for (size_t i = 0; i < ARRAY_SIZE(counted_events); i++) {
		const char *more = i > 1 ? near : broken && !i ? " && vector != 6" : "";

		snprintf(name, sizeof(name), "events/%s/trigger", counted_events[i]);
		must(append(counter, name, "hist:keys=%suser_mode if COMM == \"" RAISER "\"%s\n",
			    i < 2 ? "vector," : "", more), name);
	}
}

/* The number behind a name in a line of a histogram */
static unsigned long value(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* The entries, then the exits; in kernel mode, and in user mode */
static unsigned long count_events(unsigned long counts[2][2][ROWS])
{
	unsigned long dropped = 0;
	char hist[64], *text, *line, *rest;

	for (size_t i = 0; i < ARRAY_SIZE(counted_events); i++) {
		snprintf(hist, sizeof(hist), "events/%s/hist", counted_events[i]);
		text = get(counter, hist);
		rest = text;
		while (text && (line = strsep(&rest, "\n"))) {
			unsigned long row = i < 2 ? value(line, "vector:") : FAULT;

			dropped += value(line, "Dropped:");
			if (*line == '{' && row < ROWS)
				counts[i & 1][!!value(line, "user_mode:")][row] +=
					value(line, "hitcount:");
		}
		free(text);
	}
	return dropped;
}

/* Whether each trap of the raisers has had its events, if they were counted */
static bool judge(void)
{
	unsigned long counts[2][2][ROWS] = { 0 }, all = 0;
	const bool counted = this_round == COUNTED;
	bool good = true;

	if (counted && count_events(counts)) {
		ksft_print_msg("a histogram has dropped events\n");
		good = false;
	}
	for (int of = 0; of < 2 * ROWS; of++) {
		const int user = of / ROWS, row = of % ROWS;
		const unsigned long entries = counts[0][user][row], exits = counts[1][user][row];
		const unsigned long raised = shared->raised[user][row];
		/*
		 * In the kernel, kprobes raise #BP and #DB, and walks of the user stack fault where
		 * they take a register for the frame pointer. The monitor raises NMIs.
		 */
		const bool others = row == NMI ||
				    (!user && (row == BP || row == DB || row == FAULT));

		all += raised;
		if (!counted || (entries == raised && exits == raised) ||
		    (others && entries >= raised && exits >= raised))
			continue;
		ksft_print_msg("%s %d, %s mode: %lu raised, %lu entries, %lu exits\n",
			       row == FAULT ? "page faults" : "vector", row,
			       user ? "user" : "kernel", raised, entries, exits);
		good = false;
	}
	ksft_print_msg("round %d: %lu raised%s\n", this_round, all, counted ? " and counted" : "");
	return good && all;
}

static void hang(void)
{
	for (int i = 0; i < ACTORS; i++)
		ksft_print_msg("%d: %s, %s\n", i, shared->actors[i].doing->name,
			       shared->actors[i].last);
	printf("Bail out! an actor hangs\n");
	_exit(KSFT_FAIL);
}

/* run - Whether all actors ended well */
static bool run(double seconds)
{
	pid_t pids[ACTORS];
	bool good = true;
	int status;

	shared->stop = false;
	shared->ready = false;
	for (int n = 1; n <= INSTANCES; n++)
		mkdir(instance(n), 0755);
	memset(shared->raised, 0, sizeof(shared->raised));
	for (int i = 0; i < ACTORS; i++) {
		shared->actors[i].number = i;
		pids[i] = must_fork();
		if (!pids[i])
			act(&shared->actors[i]);
	}
	usleep(seconds * 1e6);
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	for (int i = 0, waits = 0; i < ACTORS; ) {
		if (waitpid(pids[i], &status, WNOHANG) == pids[i]) {
			if (status)
				ksft_print_msg("actor %d ended with 0x%x\n", i, status);
			good &= !status;
			i++;
		} else if (waits++ > HANG_SECONDS * 100) {
			hang();
		} else {
			usleep(10000);
		}
	}
	return good;
}

/*
 * What is left behind
 */
static char *state(void)
{
	char command[512], *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(command, sizeof(command), "cd %s; ls instances; grep -a '' %s %s %s %s 2>&1",
		 TRACING, "events/trap/*/[eft][nir]* events/pagefault/*/[eft][nir]*",
		 "events/exceptions/*/[eft][nir]* current_tracer tracing_on set_event",
		 "dynamic_events enabled_functions options/*stacktrace",
		 "/sys/kernel/debug/kprobes/list /sys/devices/system/cpu/online");
	f = popen(command, "r");
	if (!f || getdelim(&text, &size, '\0', f) < 0)
		ksft_exit_fail_msg("tracing cannot be read\n");
	pclose(f);
	return text;
}

/* Instances go with all that is on in them, and then nothing uses the probes */
static void switch_all_off(void)
{
	char name[64];

	put(TRACING, "current_tracer", "nop");
	for (int n = 1; n <= INSTANCES; n++)
		rmdir(instance(n));
	for (int i = 0; groups[i]; i++) {
		snprintf(name, sizeof(name), "events/%s/enable", groups[i]);
		put(TRACING, name, "0");
		snprintf(name, sizeof(name), "events/%s/filter", groups[i]);
		put(TRACING, name, "0");
	}
	put(TRACING, "events/" NAME "/enable", "0");
	append(TRACING, "dynamic_events", "-:" NAME "/\n");
	put(TRACING, "set_ftrace_filter", " ");
	put(TRACING, "options/stacktrace", "0");
	put(TRACING, "options/userstacktrace", "0");
	put(TRACING, "trace", " ");
	put("/proc/sys/debug", "kprobes-optimization", "1");
	for (int cpu = 1; cpu < ncpus; cpu++)
		plug(cpu, true);
	restore_interrupts();
}

/* Kprobes go in the background */
static bool nothing_left(const char *before)
{
	char *after;
	size_t i;

	for (int waits = 0; waits < 50; waits++) {
		after = state();
		if (!strcmp(before, after))
			return true;
		usleep(100000);
	}
	for (i = 0; before[i] == after[i];)
		i++;
	while (i && after[i - 1] != '\n')
		i--;
	ksft_print_msg("left: '%.*s'\n", (int)strcspn(after + i, "\n"), after + i);
	return false;
}

static bool took_place(void)
{
	bool good = true;

	for (int i = 0; i < 2 * OPERATIONS; i++) {
		const int kind = i / OPERATIONS, n = i % OPERATIONS;
		const struct operation *o = &(kind ? switchers : raisers)[n];

		if (!o->name)
			continue;
		good &= shared->done[kind][n] || !have[o->needs];
		ksft_print_msg("%lu times %s, %lu refused%s\n", shared->done[kind][n], o->name,
			       shared->refused[kind][n], have[o->needs] ? "" : ": cannot be done");
	}
	return good;
}

static double parse_options(int argc, char **argv)
{
	double seconds = 120;
	int c;

	must(getrandom(&seed, sizeof(seed), 0) < 0 ? -errno : 0, "getrandom");
	while ((c = getopt(argc, argv, "s:d:b")) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'd')
			seconds = atof(optarg);
		broken |= c == 'b';
		if (c == '?')
			exit(KSFT_FAIL);
	}
	if (optind < argc || seconds < 5)
		ksft_exit_fail_msg("usage: " NAME " [-s SEED] [-d SECONDS] [-b], at least 5 s\n");
	return seconds;
}

static void set_up(void)
{
	char *readme, *low;

	page_size = sysconf(_SC_PAGESIZE);
	ncpus = cpus();
	if (ncpus < 2)
		ksft_exit_skip("needs two CPUs\n");
	prctl(PR_SET_NAME, "stress_main");
	low = mmap(NULL, 2 * WINDOW, PROT_NONE, ANONYMOUS, -1, 0);
	shared = mmap(NULL, sizeof(*shared), RW, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (low == MAP_FAILED || shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	window = (char *)(((uintptr_t)low + WINDOW - 1) & -WINDOW);
	in_tracer = kernel_symbol("trace_event_buffer_lock_reserve");
	readme = get(TRACING, "README");
	have[NOTHING] = true;
	have[MODULE] = !access(PROBE_FILE, W_OK);
	have[PROBES] = readme && strstr(readme, "t[:[<group>/][<event>]]");
	have[MONITOR] = getenv("QEMU_MONITOR");
	free(readme);
}

int main(int argc, char **argv)
{
	const double seconds = parse_options(argc, argv);
	bool took = true, events_good = true, left = true;
	char *before;

	start("pagefault/pagefault_exit");
	start_monitor();
	set_up();
	ksft_set_plan(4);
	ksft_print_msg("seed 0x%llx\n", seed);
	switch_all_off();
	/* The first event makes the buffers as large as they then stay */
	put(TRACING, "events/trap/enable", "1");
	put(TRACING, "events/trap/enable", "0");
	before = state();
	for (this_round = COUNTED; this_round < ROUNDS; this_round++) {
		put("/dev", "kmsg", NAME ": seed 0x%llx, round %u\n", seed, this_round);
		if (this_round == COUNTED)
			counter_on();
		took &= run(seconds / 2);
		events_good &= judge();
		if (this_round == COUNTED)
			remove_instance(counter);
		switch_all_off();
		left &= nothing_left(before);
	}
	took &= took_place();
	ksft_print_msg("%lu signals of %lu\n", shared->signals, shared->due);
	result(took, "each kind of trap and of switch took place");
	result(shared->due && shared->due == shared->signals && !shared->wrong,
	       "a signal for each trap");
	result(events_good, "an entry and an exit for each trap");
	result(left, "nothing is left behind");
	ksft_finished();
}
