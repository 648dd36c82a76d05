// SPDX-License-Identifier: GPL-2.0
/*
 * Stress the trap and page fault trace events: raise traps on all CPUs, while
 * actors switch, read, resize and remove what traces them.
 *
 *	trap_stress [-s SECONDS] [SCENARIO]...
 *
 * runs these scenarios, or all, for so many seconds each (60 by default). That is
 * too long for "make run_tests", which leaves this program out.
 *
 * On each CPU, a worker raises traps of eight kinds and counts them, and its
 * signals. An instance of its own counts the events of these very traps, by
 * histograms, in which nothing gets lost: each trap has to have one entry, one
 * exit and its signal, whatever the actors do. Those of a page fault are in
 * pagefault alone. That instance keeps the static branches of the events on; so it
 * is not there in the warm-up that each scenario has, nor in the first half of those
 * that are about switching.
 *
 * The kernel may not lose memory in two parts of a scenario that are alike: what only
 * fills a cache comes to an end. It is told in /dev/kmsg where a scenario begins, so that
 * a reader of the log knows whose warnings those are.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/magic.h>

#include "lib.h"
#include "monitor.h"

#define MAX_CPUS	64
#define MAX_ACTORS	6
#define FRESH_PAGES	64

/*
 * In KiB, what may be left after each part of a scenario, and after all: caches of the
 * file systems, partial slabs and page lists of the CPUs. And how much the same number,
 * read twice, may differ; and how long it may take to settle.
 */
#define PART_ALLOWED	256
#define MEMORY_ALLOWED	1024
#define MEMORY_NOISE	128
/* So many times that where KASAN and kmemleak keep some of each process, and tell of leaks */
#define KEPT_BY_DEBUG	8
#define SETTLE_SECONDS	15

/* What each CPU writes to, how many pages at a time, and what all of them may have */
#define HOG_SIZE	(4UL << 20)
#define HOG_PAGES	64
#define GROUP_SIZE	"4M"

/* How long the longest run may be asked to take */
#define MOST_SECONDS	(24 * 3600)

/*
 * The traps. Those of user mode are told from all others, but NMIs, by the address of
 * their instruction, those of pages by the address that faults.
 */
enum page { NO_MEMORY, FORBIDDEN_PAGE, FRESH_PAGE };

struct trap {
	const char *name;
	unsigned int vector, error_code;
	bool user;
	enum page page;
	unsigned int outcome;		/* of a page fault */
	int signal;
};

static const struct trap traps[] = {
	{ "user #DE", DE, 0, true, NO_MEMORY, 0, SIGFPE },
	{ "user #BP", BP, 0, true, NO_MEMORY, 0, SIGTRAP },
	{ "user #UD", UD, 0, true, NO_MEMORY, 0, SIGILL },
	{ "user #GP", GP, 0, true, NO_MEMORY, 0, SIGSEGV },
	{ "user #PF, forbidden page", PF, 4, true, FORBIDDEN_PAGE, OUTCOME_SIGNAL, SIGSEGV },
	{ "user #PF, new page", PF, 6, true, FRESH_PAGE, OUTCOME_MINOR },
	{ "kernel #PF, forbidden page", PF, 0, false, FORBIDDEN_PAGE, OUTCOME_FIXUP },
	{ "kernel #DE", DE, 0, false },
};

#define TRAPS ((int)ARRAY_SIZE(traps))

/* What the children tell, each in a place of its own */
struct worker {
	unsigned long raised[TRAPS], signals[TRAPS], nmis;
	unsigned long rounds;		/* that ended on the CPU that is meant */
};

struct shared {
	bool stop, stop_workers;
	struct worker workers[MAX_CPUS];
	unsigned long acts[MAX_ACTORS][MAX_CPUS];
	unsigned long monitor_nmis;
	/* What shows that the acts had an effect: of a scenario, see there */
	unsigned long effect[MAX_CPUS];
};

static struct shared *shared;

/* What all parts of a run came to */
struct figures {
	unsigned long raised[TRAPS], signals[TRAPS], counted[TRAPS];
	unsigned long trap_entries[TRAPS], trap_exits[TRAPS];
	unsigned long fault_entries[TRAPS], fault_exits[TRAPS];
	unsigned long stray, dropped;	/* events of no trap, and lost */
	unsigned long nmis[2][MAX_CPUS];	/* of the last part: entries, exits */
	unsigned long nmi_entries, nmi_exits;
	unsigned long rounds[MAX_CPUS];
	unsigned long acts[MAX_ACTORS][MAX_CPUS], effect;
	bool failed;
};

struct actor {
	const char *what;
	void (*act)(int n);		/* does it once */
	enum { ONE, PER_CPU } copies;
	/*
	 * Of each copy in a minute, on a slow machine, or 3. Where RCU or a probe is waited
	 * for, that is a few
	 */
	unsigned int least;
};

struct scenario {
	const char *name;
	struct actor actors[MAX_ACTORS];
	const char *effect;
	void (*set_up)(void);
	/* Before the instances go; adds to the effect, and to what has failed */
	void (*judge)(struct figures *f, bool counted);
	void (*tear_down)(void);
	bool switches;			/* half of the time without the counter */
	const char *(*cannot)(void);	/* why it is not for this machine, or NULL */
};

static const char *counter, *instance, *second, *third;
static const char *tmpdir;
static char *watchdog;
static pid_t tester;
static int ncpus, seconds = 60, kept = 1;
static char *area, *hog;
static int raise_file = -1;
static unsigned int seed;

/* These end the program, when all is undone: it takes them where it waits */
static sigset_t ends;

/* Of the worker that this process is */
static struct worker *mine;

static void want(int ret, const char *what)
{
	if (ret)
		give_up("%s: %s", what, strerror(-ret));
}

/* stopped - Whether actors are to come to an end: at that of an act, if it is short */
static bool stopped(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

/* An act is no act if it has not been done */
static bool cut_short;

static void pause_ms(int most)
{
	usleep(1 + rand_r(&seed) % (most * 1000));
}

/*
 * Workers
 */
static void raise_in_user_mode(const struct trap *t, char *at)
{
	trap_signals = 0;
	if (t->page == FORBIDDEN_PAGE)
		raise_read(at);
	else if (t->page == FRESH_PAGE)
		raise_write(at);
	else
		find_user_trap(t->vector)->raise(NULL);
	if (trap_signals && trap_info.si_signo != t->signal)
		give_up("unexpected: %s at 0x%lx", strsignal(trap_info.si_signo), trap_ip);
	mine->signals[t - traps] += trap_signals;
}

static void raise_trap(const struct trap *t)
{
	unsigned long i = mine->raised[t - traps]++ % FRESH_PAGES;
	char *at = area;

	if (t->page == FRESH_PAGE) {
		if (!i && madvise(area + page_size, FRESH_PAGES * page_size, MADV_DONTNEED))
			give_up("madvise: %s", strerror(errno));
		at += (1 + i) * page_size;
	}
	if (t->user)
		raise_in_user_mode(t, at);
	else if (t->page && (ioctl(raise_file, FIONBIO, area) != -1 || errno != EFAULT))
		give_up("FIONBIO with a bad address: %s", strerror(errno));
	else if (!t->page && write(raise_file, "0", 1) != 1)
		give_up(RAISE_FILE ": %s", strerror(errno));
}

static void work(int cpu)
{
	cpu_set_t one;

	mine = &shared->workers[cpu];
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	skip_traps();
	while (!__atomic_load_n(&shared->stop_workers, __ATOMIC_RELAXED)) {
		/* Not when that CPU is offline; and if it has been, we were moved */
		sched_setaffinity(0, sizeof(one), &one);
		for (int t = 0; t < TRAPS; t++)
			raise_trap(&traps[t]);
		mine->rounds += sched_getcpu() == cpu;
		/* An emulator of one thread gives each CPU 100 ms, unless it idles */
		usleep(100);
	}
	_exit(0);
}

/*
 * The counter: one event each for the traps above, and those of #PF and #MC that must
 * not be there, whosever they are
 */
static char trap_filter[448], fault_filter[128];

#define NMI_HIST	"hist:keys=common_cpu if vector == 2"
#define TRAP_HIST	"hist:keys=vector,error_code,user_mode if %s"
#define ENTRY_HIST	"hist:keys=error_code,user_mode if %s"
/* Three keys are the most that a histogram has, so two are values */
#define EXIT_HIST	"hist:keys=error_code,outcome,si_code:vals=user_mode,signo if %s"

static const char * const counted_events[] = {
	"trap/trap_entry", "trap/trap_exit", "pagefault/pagefault_entry",
	"pagefault/pagefault_exit",
};

static void counter_on(void)
{
	counter = make_instance("counter");
	must(append(counter, "events/trap/trap_entry/trigger", TRAP_HIST, trap_filter), "hist");
	must(append(counter, "events/trap/trap_exit/trigger", TRAP_HIST, trap_filter), "hist");
	must(append(counter, "events/trap/trap_entry/trigger", NMI_HIST), "hist");
	must(append(counter, "events/trap/trap_exit/trigger", NMI_HIST), "hist");
	must(append(counter, "events/pagefault/pagefault_entry/trigger", ENTRY_HIST,
		    fault_filter), "hist");
	must(append(counter, "events/pagefault/pagefault_exit/trigger", EXIT_HIST,
		    fault_filter), "hist");
}

static void counter_off(void)
{
	char file[100];

	for (size_t i = 0; i < ARRAY_SIZE(counted_events); i++) {
		snprintf(file, sizeof(file), "events/%s/trigger", counted_events[i]);
		/* To open it removes what is there */
		must(put(counter, file, "%s", ""), file);
	}
	remove_instance(counter);
	counter = NULL;
}

/* The number behind a name in a line of a histogram */
static unsigned long value(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* With another outcome or signal than those of the trap, it is no exit of it */
static bool is_of(const struct trap *t, int event, const char *line, unsigned long hits)
{
	const bool of_trap = event < 2;

	if (of_trap != !t->page || value(line, "error_code:") != t->error_code)
		return false;
	if (event != 3)
		return value(line, "user_mode:") == t->user &&
		       (!of_trap || value(line, "vector:") == t->vector);
	return value(line, "user_mode:") == t->user * hits &&
	       value(line, "outcome:") == t->outcome &&
	       value(line, "signo:") == t->signal * hits &&
	       value(line, "si_code:") == (t->signal ? SEGV_ACCERR : 0);
}

static void add_hits(struct figures *f, int event, const char *line)
{
	const bool of_trap = event < 2, exit = event & 1;
	unsigned long *sums, hits = value(line, "hitcount:");
	bool known = false;

	if (strstr(line, "common_cpu:")) {
		f->nmis[exit][value(line, "common_cpu:") % MAX_CPUS] += hits;
		return;
	}

	if (of_trap)
		sums = exit ? f->trap_exits : f->trap_entries;
	else
		sums = exit ? f->fault_exits : f->fault_entries;

	for (int i = 0; i < TRAPS; i++) {
		if (is_of(&traps[i], event, line, hits)) {
			sums[i] += hits;
			known = true;
		}
	}
	if (known)
		return;
	ksft_print_msg("of no trap, %s: %s\n", counted_events[event], line);
	f->stray += hits;
}

static void read_counter(struct figures *f)
{
	char file[100], *text, *line, *rest;

	memset(f->nmis, 0, sizeof(f->nmis));
	for (int i = 0; i < (int)ARRAY_SIZE(counted_events); i++) {
		snprintf(file, sizeof(file), "events/%s/hist", counted_events[i]);
		text = get(counter, file);
		rest = text;
		while (text && (line = strsep(&rest, "\n"))) {
			f->dropped += value(line, "Dropped:");
			if (*line == '{')
				add_hits(f, i, line);
		}
		free(text);
	}
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		f->nmi_entries += f->nmis[0][cpu];
		f->nmi_exits += f->nmis[1][cpu];
		f->failed |= f->nmis[0][cpu] != f->nmis[1][cpu];
	}
}

/*
 * All events on
 */
static void all_on(const char *where)
{
	must(put(where, "events/trap/enable", "1"), "events/trap/enable");
	must(put(where, "events/pagefault/enable", "1"), "events/pagefault/enable");
}

static void all_off(const char *where)
{
	must(put(where, "events/trap/enable", "0"), "events/trap/enable");
	must(put(where, "events/pagefault/enable", "0"), "events/pagefault/enable");
}

/* How much the ring buffers of all CPUs have got, and what it is of it */
static unsigned long buffer_sum(const char *where)
{
	return buffer_stat(where, "entries: ") + buffer_stat(where, "\noverrun: ") +
	       buffer_stat(where, "commit overrun: ") + buffer_stat(where, "dropped events: ");
}

static void set_up_instance(void)
{
	instance = make_instance("stress");
	all_on(instance);
}

static void judge_instance(struct figures *f, bool counted)
{
	(void)counted;
	f->effect += buffer_sum(instance);
}

static void tear_down_instance(void)
{
	remove_instance(instance);
}

/* In the top instance as well */
static void set_up_both(void)
{
	set_up_instance();
	all_on(TRACING);
}

static void tear_down_both(void)
{
	all_off(TRACING);
	must(put(TRACING, "trace", " "), "trace");
	remove_instance(instance);
}

/* With stack traces in one, whose probes fault */
static void set_up_all(void)
{
	set_up_both();
	must(put(instance, "options/stacktrace", "1"), "stacktrace");
	must(put(instance, "options/userstacktrace", "1"), "userstacktrace");
}

static void judge_all(struct figures *f, bool counted)
{
	(void)counted;
	f->effect += buffer_sum(instance) + buffer_sum(TRACING);
}

/*
 * Switches
 */
static void set_up_toggle(void)
{
	instance = make_instance("toggle");
}

/* On, and off again */
static void toggle(const char *where, const char *file)
{
	want(put(where, file, "1"), file);
	want(put(where, file, "0"), file);
}

static void toggle_traps(int n)
{
	(void)n;
	toggle(TRACING, "events/trap/enable");
}

static void toggle_pagefaults(int n)
{
	(void)n;
	toggle(TRACING, "events/pagefault/enable");
}

static void toggle_entry(int n)
{
	(void)n;
	toggle(instance, "events/trap/trap_entry/enable");
}

static void toggle_exit(int n)
{
	(void)n;
	toggle(instance, "events/pagefault/pagefault_exit/enable");
}

static void toggle_by_set_event(int n)
{
	(void)n;
	want(append(instance, "set_event", "trap:trap_exit\n"), "set_event");
	want(append(instance, "set_event", "!trap:trap_exit\n"), "set_event");
}

/*
 * Instances, removed with their events on
 */
static void made_path(int n, char *path, size_t size)
{
	snprintf(path, size, TRACING "/instances/trap_made%d.%d", n, tester);
}

static void make_and_remove(int n)
{
	unsigned long records;
	char path[200];

	made_path(n, path, sizeof(path));
	if (mkdir(path, 0755))
		give_up("mkdir %s: %s", path, strerror(errno));
	want(put(path, "events/trap/enable", "1"), "events/trap/enable");
	want(put(path, "events/pagefault/pagefault_exit/filter", "user_mode == 1"), "filter");
	want(put(path, "events/pagefault/enable", "1"), "events/pagefault/enable");
	pause_ms(20);
	records = buffer_sum(path);
	if (rmdir(path))
		give_up("rmdir %s: %s", path, strerror(errno));
	shared->effect[n] += records;
}

/* An actor that failed may have left one, with its events on */
static void tear_down_made(void)
{
	char path[200];

	for (int n = 0; n < ncpus; n++) {
		made_path(n, path, sizeof(path));
		if (!put(path, "events/enable", "0"))
			rmdir(path);
	}
}

/*
 * Filters and triggers, by turns, and each time another one first
 */
static const char *next_of(const char * const *texts, unsigned int of)
{
	static unsigned int turn;

	if (!turn)
		turn = rand_r(&seed) % of;
	return texts[turn++ % of];
}

static void change_trap_filter(int n)
{
	static const char * const filters[] = {
		"vector == 14", "user_mode == 1 && ip > 4096", "0",
		"(vector == 0 || vector == 6) && error_code == 0 && common_pid != 1",
	};

	const char *filter = next_of(filters, ARRAY_SIZE(filters));

	(void)n;
	want(put(instance, "events/trap/trap_entry/filter", "%s", filter), filter);
}

/* Of both events at once */
static void change_pagefault_filter(int n)
{
	static const char * const filters[] = {
		"address > 4096", "error_code & 4", "0", "user_mode == 0 && ip != 0",
	};

	const char *filter = next_of(filters, ARRAY_SIZE(filters));

	(void)n;
	want(put(instance, "events/pagefault/filter", "%s", filter), filter);
}

static void change_trap_trigger(int n)
{
	static const char * const triggers[] = {
		"hist:keys=vector,user_mode:vals=error_code", "stacktrace:3 if vector == 6",
		"enable_event:pagefault:pagefault_exit:9", "traceoff:1 if vector == 99",
	};

	const char *trigger = next_of(triggers, ARRAY_SIZE(triggers));

	(void)n;
	want(append(instance, "events/trap/trap_exit/trigger", "%s", trigger), trigger);
	pause_ms(3);
	want(append(instance, "events/trap/trap_exit/trigger", "!%s", trigger), trigger);
}

static void change_pagefault_trigger(int n)
{
	static const char * const triggers[] = {
		"hist:keys=outcome,duration.log2", "snapshot:1 if address == 1",
		"stacktrace if outcome == 6",
	};

	const char *trigger = next_of(triggers, ARRAY_SIZE(triggers));

	(void)n;
	want(append(instance, "events/pagefault/pagefault_exit/trigger", "%s", trigger), trigger);
	pause_ms(3);
	want(append(instance, "events/pagefault/pagefault_exit/trigger", "!%s", trigger), trigger);
}

/*
 * Readers, which do not live long
 */
static void read_and_die(const char *where, const char *file, int n)
{
	unsigned long before = __atomic_load_n(&shared->effect[n], __ATOMIC_RELAXED);
	pid_t reader = must_fork();
	char path[256], text[4096];
	int fd, status, ended = 0;
	ssize_t got;

	if (!reader) {
		snprintf(path, sizeof(path), "%s/%s", where, file);
		/* A trace has an end, a trace_pipe has none */
		for (;;) {
			fd = open(path, O_RDONLY);
			/* The head of a trace is no record */
			while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
				if (*text != '#')
					__atomic_add_fetch(&shared->effect[n], got,
							   __ATOMIC_RELAXED);
			if (fd < 0 || got < 0)
				give_up("%s: %s", path, strerror(errno));
			close(fd);
		}
	}
	while (!stopped() && __atomic_load_n(&shared->effect[n], __ATOMIC_RELAXED) == before) {
		usleep(1000);
		ended = waitpid(reader, &status, WNOHANG);
		if (ended)
			break;
	}
	cut_short = __atomic_load_n(&shared->effect[n], __ATOMIC_RELAXED) == before;
	if (!ended) {
		pause_ms(20);
		kill(reader, SIGKILL);
		ended = waitpid(reader, &status, 0);
	}
	/* If it ended by itself, it has said why */
	if (ended != reader || !WIFSIGNALED(status))
		_exit(KSFT_FAIL);
}

static void kill_cpu_reader(int cpu)
{
	char file[64];

	snprintf(file, sizeof(file), "per_cpu/cpu%d/trace_pipe%s", cpu,
		 rand_r(&seed) & 1 ? "" : "_raw");
	read_and_die(instance, file, cpu);
}

static void kill_top_reader(int n)
{
	(void)n;
	read_and_die(TRACING, "trace_pipe", MAX_CPUS - 1);
}

static void kill_trace_reader(int n)
{
	(void)n;
	read_and_die(TRACING, "trace", MAX_CPUS - 2);
}

/* Each trace_pipe gave something: that of the top one has the place after all CPUs */
static void judge_readers(struct figures *f, bool counted)
{
	for (int i = 0; counted && i < MAX_CPUS; i++) {
		if ((i >= ncpus && i != MAX_CPUS - 1) || shared->effect[i])
			continue;
		if (i < ncpus)
			ksft_print_msg("readers: nothing in the trace_pipe of CPU %d\n", i);
		else
			ksft_print_msg("readers: nothing in the trace_pipe of all CPUs\n");
		f->failed = true;
	}
}

/*
 * CPUs taken offline, all but the first
 */
static void all_online(void)
{
	for (int cpu = 1; cpu < ncpus; cpu++)
		plug(cpu, true);
}

/* An actor that failed may have left one offline */
static void tear_down_hotplug(void)
{
	all_online();
	tear_down_instance();
}

static void take_offline(int n)
{
	int cpu = 1 + rand_r(&seed) % (ncpus - 1);

	(void)n;
	if (!plug(cpu, false))
		give_up("CPU %d does not go offline: %s", cpu, strerror(errno));
	if (sysconf(_SC_NPROCESSORS_ONLN) == ncpus - 1)
		shared->effect[0]++;
	pause_ms(20);
	if (!plug(cpu, true))
		give_up("CPU %d does not come back: %s", cpu, strerror(errno));
	pause_ms(20);
}

/*
 * NMIs: from outside, which come to the first CPU, and on all CPUs
 */
static const char *cannot_nmi(void)
{
	return getenv("QEMU_MONITOR") ? NULL : "no QEMU_MONITOR";
}

static void monitor_nmi(int n)
{
	static int monitor = -2;

	(void)n;
	if (monitor == -2)
		monitor = open_monitor();
	if (monitor < 0 || !monitor_command(monitor, "nmi"))
		give_up("QEMU_MONITOR takes no NMI");
	shared->monitor_nmis++;
}

static void kernel_nmi(int cpu)
{
	pin(cpu);
	if (write(raise_file, "2", 1) != 1)
		give_up(RAISE_FILE ": %s", strerror(errno));
	shared->workers[cpu].nmis++;
	usleep(500);
}

/*
 * Of the monitor's, one that is pending when the next one comes is the same; but not all
 * of them were. The other CPUs get those of the program alone.
 */
static void judge_nmis(struct figures *f, bool counted)
{
	for (int cpu = 0; counted && cpu < ncpus; cpu++) {
		unsigned long own = shared->workers[cpu].nmis, entries = f->nmis[0][cpu];
		unsigned long others = cpu ? 0 : shared->monitor_nmis;

		if (entries >= own + !!others && entries <= own + others) {
			f->effect += entries - own;
			continue;
		}
		ksft_print_msg("nmi: CPU %d: %lu entries, %lu of the program, %lu of the monitor\n",
			       cpu, entries, own, others);
		f->failed = true;
	}
}

static void tear_down_nmi(void)
{
	restore_interrupts();
	tear_down_instance();
}

/*
 * Ring buffers that are full: one overwrites, one drops, one changes its size
 */
static void filter_as_counted(const char *where)
{
	must(put(where, "events/trap/filter", "%s", trap_filter), trap_filter);
	must(put(where, "events/pagefault/filter", "%s", fault_filter), fault_filter);
}

static void set_up_overwrite(void)
{
	instance = make_instance("overwriting");
	second = make_instance("dropping");
	third = make_instance("resized");
	must(put(instance, "buffer_size_kb", "8"), "buffer_size_kb");
	must(put(second, "buffer_size_kb", "8"), "buffer_size_kb");
	must(put(second, "options/overwrite", "0"), "overwrite");
	filter_as_counted(instance);
	filter_as_counted(second);
	all_on(instance);
	all_on(second);
	all_on(third);
}

static void resize(int n)
{
	static const int sizes[] = { 8, 256, 64, 1024 };

	(void)n;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		want(put(third, "buffer_size_kb", "%d", sizes[i]), "buffer_size_kb");
}

static void clear_trace(int n)
{
	(void)n;
	want(put(third, "trace", " "), "trace");
	pause_ms(10);
}

static bool lost_on_each_cpu(const char *where, const char *name)
{
	char file[64], *text, *at;
	bool lost = true;

	for (int cpu = 0; cpu < ncpus; cpu++) {
		snprintf(file, sizeof(file), "per_cpu/cpu%d/stats", cpu);
		text = get(where, file);
		at = text ? strstr(text, name) : NULL;
		lost &= at && strtoul(at + strlen(name), NULL, 10);
		free(text);
	}
	return lost;
}

static void judge_overwrite(struct figures *f, bool counted)
{
	unsigned long overwritten = buffer_stat(instance, "\noverrun: ");
	unsigned long dropped = buffer_stat(second, "dropped events: ");
	unsigned long raised = 0;

	for (int i = 0; i < TRAPS; i++)
		for (int cpu = 0; cpu < ncpus; cpu++)
			raised += shared->workers[cpu].raised[i] * 2;
	ksft_print_msg("overwrite: %lu events: %lu and %lu there, %lu overwritten, %lu dropped\n",
		       raised, buffer_stat(instance, "entries: "),
		       buffer_stat(second, "entries: "), overwritten, dropped);
	f->effect += overwritten + dropped;
	if (buffer_sum(instance) != raised || buffer_sum(second) != raised)
		f->failed = true;
	/* The warm-up may be too short for that */
	if (counted && (!lost_on_each_cpu(instance, "\noverrun: ") ||
			!lost_on_each_cpu(second, "dropped events: ")))
		f->failed = true;
}

static void tear_down_overwrite(void)
{
	remove_instance(instance);
	remove_instance(second);
	remove_instance(third);
}

/*
 * kprobes, on what the events call and on what they are in, and function tracers
 */
static struct probe {
	const char *symbol;
	int offset;
} probes[] = {
	{ "trace_event_buffer_reserve" }, { "__traceiter_trap_entry" },
	{ "stack_trace_save_user" }, { "handle_mm_fault" }, { "force_sig_fault" },
};

/* To trace all functions takes many seconds to begin, and to end */
static const char * const traced[] = {
	"*fault*\n", "*signal*\n", "*trap*\n", "*kprobe*\n",
};

static int add_probe(const struct probe *p, int offset)
{
	return append(TRACING, "kprobe_events", "p:trap_stress/%s %s+%d\n", p->symbol,
		      p->symbol, offset);
}

/*
 * INT3s, so behind the place where the function tracer hooks in. None is on what the
 * function tracer calls: it traces the handling of kprobes, too, and a kprobe in there
 * is one too many for the kernel, with the events off as well.
 */
static void set_up_probes(void)
{
	struct probe *p;

	for (p = probes; p < probes + ARRAY_SIZE(probes); p++) {
		for (int offset = 9; !p->offset && offset < 80; offset++)
			if (!add_probe(p, offset))
				p->offset = offset;
		if (!p->offset)
			ksft_exit_fail_msg("no kprobe on %s\n", p->symbol);
	}
	append(TRACING, "kprobe_events", "-:trap_stress/\n");
	for (size_t i = 0; i < ARRAY_SIZE(traced); i++)
		must(append(TRACING, "set_ftrace_filter", "%s", traced[i]), traced[i]);
	set_up_both();
}

static unsigned long probe_hits(void)
{
	char *text = get(TRACING, "kprobe_profile"), *line, *rest = text;
	unsigned long hits, sum = 0;

	while (text && (line = strsep(&rest, "\n")))
		if (sscanf(line, "%*s %lu", &hits) == 1)
			sum += hits;
	free(text);
	return sum;
}

static bool tracer_on(void)
{
	char *text = get(TRACING, "current_tracer");
	bool on = text && strncmp(text, "nop", 3);

	free(text);
	return on;
}

/* Hits count if a tracer was on before and after them */
static void add_and_remove_probes(int n)
{
	unsigned long before;

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		want(add_probe(&probes[i], probes[i].offset), probes[i].symbol);
	want(put(TRACING, "events/trap_stress/enable", "1"), "events/trap_stress/enable");
	while (!stopped() && !tracer_on())
		pause_ms(10);
	before = probe_hits();
	pause_ms(500);
	if (tracer_on())
		shared->effect[n] += probe_hits() - before;
	else
		cut_short = stopped();
	want(put(TRACING, "events/trap_stress/enable", "0"), "events/trap_stress/enable");
	want(append(TRACING, "kprobe_events", "-:trap_stress/\n"), "kprobe_events");
}

static void change_tracer(int n)
{
	static const char * const tracers[] = { "function", "function_graph" };

	(void)n;
	for (size_t i = 0; i < ARRAY_SIZE(tracers); i++) {
		want(put(TRACING, "current_tracer", "%s", tracers[i]), tracers[i]);
		for (int tenths = 0; tenths < 20 && !stopped(); tenths++)
			usleep(100000);
		cut_short |= stopped();
		want(put(TRACING, "current_tracer", "nop"), "nop");
		pause_ms(200);
	}
}

static const char *cannot_probe(void)
{
	return access(TRACING "/kprobe_events", W_OK) ||
	       access(TRACING "/set_ftrace_filter", W_OK) ?
	       "no kprobes, or no function tracer" : NULL;
}

static void remove_probes(void)
{
	put(TRACING, "events/trap_stress/enable", "0");
	append(TRACING, "kprobe_events", "-:trap_stress/\n");
}

static void tear_down_probes(void)
{
	/* What an actor that failed has left: without a filter, the tracer traces all */
	put(TRACING, "current_tracer", "nop");
	remove_probes();
	must(put(TRACING, "set_ftrace_filter", "%s", ""), "set_ftrace_filter");
	tear_down_both();
}

/*
 * Memory pressure: more than fits into a group, on each CPU
 */
static char swap_file[256], group[300];

/* These count the faults of the hogs, whose number is the kernel's affair */
static void set_up_memory(void)
{
	char in[128];

	/* For what the hogs write to, and two more */
	must(make_swap(swap_file, sizeof(swap_file), (ncpus + 2) * HOG_SIZE), "swap file");
	mount_cgroup();
	must(make_group(group, sizeof(group), "pressed"), "cgroup");
	must(put(group, "memory.max", GROUP_SIZE), "memory.max");
	set_up_instance();
	snprintf(in, sizeof(in), "address >= 0x%lx && address < 0x%lx", (long)hog,
		 (long)hog + HOG_SIZE);
	must(append(instance, "events/pagefault/pagefault_entry/trigger",
		    "hist:keys=user_mode if %s", in), "hist");
	must(append(instance, "events/pagefault/pagefault_exit/trigger",
		    "hist:keys=flags if %s", in), "hist");
}

static void remove_swap_and_group(void)
{
	if (!*swap_file)
		return;
	remove_swap(swap_file);
	rmdir(group);
	unmount_cgroup();
}

static const char *cannot_press(void)
{
	struct statfs fs;
	bool memory = mount_cgroup();

	unmount_cgroup();
	if (!memory || access("/proc/swaps", F_OK))
		return "no memory cgroup, or no swap";
	if (statfs(tmpdir, &fs) || fs.f_type == TMPFS_MAGIC)
		return "no swap file on a tmpfs: set TMPDIR";
	return NULL;
}

static void press(int cpu)
{
	static bool in_group;
	unsigned long i;

	if (!in_group) {
		pin(cpu);
		want(put(group, "cgroup.procs", "%d", getpid()), "cgroup.procs");
		in_group = true;
	}
	for (int n = 0; n < HOG_PAGES; n++) {
		i = rand_r(&seed) % (HOG_SIZE / page_size);
		hog[i * page_size]++;
	}
}

/* The hits of a histogram: all, and those with a bit of @mask in the flags */
static unsigned long hist_hits(const char *event, unsigned int mask, unsigned long *with)
{
	char file[100], *text, *line, *rest;
	unsigned long hits, sum = 0;

	snprintf(file, sizeof(file), "events/pagefault/%s/hist", event);
	text = get(instance, file);
	rest = text;
	*with = 0;
	while (text && (line = strsep(&rest, "\n"))) {
		hits = value(line, "hitcount:");
		sum += hits;
		*with += value(line, "flags:") & mask ? hits : 0;
	}
	free(text);
	return sum;
}

static void judge_memory(struct figures *f, bool counted)
{
	unsigned long entries, exits, none, swapins;

	(void)counted;
	entries = hist_hits("pagefault_entry", 0, &none);
	exits = hist_hits("pagefault_exit", SWAPIN, &swapins);
	ksft_print_msg("memory: %lu entries, %lu exits of the hogs, %lu from swap\n", entries,
		       exits, swapins);
	f->effect += swapins;
	if (entries != exits)
		f->failed = true;
}

static void tear_down_memory(void)
{
	must(put(instance, "events/pagefault/pagefault_entry/trigger", "%s", ""), "trigger");
	must(put(instance, "events/pagefault/pagefault_exit/trigger", "%s", ""), "trigger");
	remove_instance(instance);
	remove_swap_and_group();
}

static const struct scenario scenarios[] = {
	{ "all", { }, "records", set_up_all, judge_all, tear_down_both },
	{ "toggle", {
		{ "switches of trap in the top instance", toggle_traps },
		{ "switches of pagefault in the top instance", toggle_pagefaults },
		{ "switches of trap_entry in another", toggle_entry, ONE, 12 },
		{ "switches of pagefault_exit in another", toggle_exit, ONE, 12 },
		{ "switches of trap_exit by set_event", toggle_by_set_event },
	}, "records", set_up_toggle, judge_instance, tear_down_both, true },
	{ "instances", {
		{ "instances made and removed", make_and_remove, PER_CPU },
	}, "records", NULL, NULL, tear_down_made, true },
	{ "filters", {
		{ "filters of trap_entry", change_trap_filter },
		{ "filters of pagefault", change_pagefault_filter },
		{ "triggers of trap_exit", change_trap_trigger },
		{ "triggers of pagefault_exit", change_pagefault_trigger },
	}, "records", set_up_instance, judge_instance, tear_down_instance },
	{ "readers", {
		{ "readers of a CPU's trace_pipe killed", kill_cpu_reader, PER_CPU, 15 },
		{ "readers of trace_pipe killed", kill_top_reader, ONE, 12 },
		{ "readers of trace killed", kill_trace_reader, ONE, 12 },
	}, "bytes", set_up_both, judge_readers, tear_down_both },
	{ "hotplug", {
		{ "times that a CPU was offline", take_offline, ONE, 12 },
	}, "times that it was missing", set_up_instance, NULL, tear_down_hotplug },
	{ "nmi", {
		{ "NMIs from the monitor", monitor_nmi, ONE, 60 },
		{ "NMIs on all CPUs", kernel_nmi, PER_CPU, 150 },
	}, "NMIs from the monitor traced", set_up_instance, judge_nmis, tear_down_nmi,
	  .cannot = cannot_nmi },
	{ "overwrite", {
		{ "rounds of four sizes", resize },
		{ "times that a trace was cleared", clear_trace },
	}, "records lost", set_up_overwrite, judge_overwrite, tear_down_overwrite },
	{ "probes", {
		{ "rounds of five kprobes", add_and_remove_probes },
		{ "rounds of two function tracers", change_tracer },
	}, "hits beside a tracer", set_up_probes, NULL, tear_down_probes,
	  .cannot = cannot_probe },
	{ "memory", {
		{ "times that 64 pages were written to", press, PER_CPU },
	}, "faults that found their page in swap", set_up_memory, judge_memory, tear_down_memory,
	  .cannot = cannot_press },
};

/*
 * A run
 */
static pid_t start_actor(const struct actor *a, int slot, int n)
{
	pid_t child = must_fork();

	if (child)
		return child;
	seed = getpid();
	while (!stopped()) {
		cut_short = false;
		a->act(n);
		shared->acts[slot][n] += !cut_short;
	}
	_exit(0);
}

static pid_t start_worker(int cpu)
{
	pid_t child = must_fork();

	if (!child)
		work(cpu);
	return child;
}

static void add_up(struct figures *f, bool counted)
{
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		for (int i = 0; i < TRAPS; i++) {
			f->raised[i] += shared->workers[cpu].raised[i];
			f->signals[i] += shared->workers[cpu].signals[i];
			f->counted[i] += counted ? shared->workers[cpu].raised[i] : 0;
		}
		for (int i = 0; i < MAX_ACTORS; i++)
			f->acts[i][cpu] += shared->acts[i][cpu];
		f->rounds[cpu] += shared->workers[cpu].rounds;
		f->effect += shared->effect[cpu];
	}
}

static bool all_ended(const struct scenario *s, const pid_t *children, int n)
{
	bool good = true;
	int status;

	for (int i = 0; i < n; i++) {
		if (waitpid(children[i], &status, 0) == children[i] && !status)
			continue;
		ksft_print_msg("%s: process %d ended with 0x%x\n", s->name, children[i],
			       status);
		good = false;
	}
	return good;
}

static int copies(const struct actor *a)
{
	return a->copies == PER_CPU ? ncpus : 1;
}

static void run(const struct scenario *s, int ms, bool counted, struct figures *f)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000L };
	pid_t children[(1 + MAX_ACTORS) * MAX_CPUS];
	int n = 0, ended_by;

	memset(shared, 0, sizeof(*shared));
	if (counted)
		counter_on();
	if (s->set_up)
		s->set_up();
	/* A histogram drops an event while another CPU adds the same key: the first adds all */
	children[n++] = start_worker(0);
	for (int i = 0; counted && i < 10000 && !shared->workers[0].rounds; i++)
		usleep(1000);
	for (int cpu = 1; cpu < ncpus; cpu++)
		children[n++] = start_worker(cpu);
	for (int i = 0; i < MAX_ACTORS && s->actors[i].act; i++)
		for (int j = 0; j < copies(&s->actors[i]); j++)
			children[n++] = start_actor(&s->actors[i], i, j);
	ended_by = sigtimedwait(&ends, NULL, &left);
	/* What is still to be done is done while traps are raised */
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	f->failed |= !all_ended(s, children + ncpus, n - ncpus);
	__atomic_store_n(&shared->stop_workers, true, __ATOMIC_RELAXED);
	f->failed |= !all_ended(s, children, ncpus);

	if (counted) {
		/* For an NMI of the monitor's that has not arrived yet */
		usleep(500000);
		read_counter(f);
	}
	if (s->judge)
		s->judge(f, counted);
	add_up(f, counted);
	if (s->tear_down)
		s->tear_down();
	if (counted)
		counter_off();
	if (ended_by > 0)
		ksft_exit_fail_msg("ended by %s\n", strsignal(ended_by));
}

/*
 * Memory, in KiB
 */
struct memory {
	long available, slab;
};

static long meminfo(const char *name)
{
	char *text = get("/proc", "meminfo"), *at = text ? strstr(text, name) : NULL;
	long n = at ? strtol(at + strlen(name), NULL, 10) : 0;

	free(text);
	return n;
}

/* Free pages that each CPU has at hand: megabytes, and not in MemAvailable */
static long at_hand(void)
{
	char *text = get("/proc", "zoneinfo"), *line, *rest = text;
	long pages, sum = 0;

	while (text && (line = strsep(&rest, "\n")))
		if (sscanf(line, " count: %ld", &pages) == 1)
			sum += pages;
	free(text);
	return sum * (page_size / 1024);
}

/* What can be freed is freed: caches, what KASAN keeps back, what waits for RCU */
static struct memory memory_now(void)
{
	const char *slabs = "/sys/kernel/slab";
	DIR *dir = opendir(slabs);
	struct dirent *d;
	struct memory m;
	char file[300];

	sync();
	put("/proc/sys/vm", "drop_caches", "3");
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/shrink", d->d_name);
		put(slabs, file, "1");
	}
	if (dir)
		closedir(dir);
	sleep(1);
	m.available = meminfo("MemAvailable:") + at_hand();
	m.slab = meminfo("Slab:");
	return m;
}

static bool grown(struct memory from, struct memory to, long allowed)
{
	return from.available - to.available > allowed || to.slab - from.slab > allowed;
}

/* Memory when the kernel has freed what it frees later: when that does not change much */
static struct memory settled(void)
{
	struct memory m = memory_now(), last;

	for (int i = 0; i < SETTLE_SECONDS; i++) {
		last = m;
		m = memory_now();
		if (!grown(last, m, MEMORY_NOISE) && !grown(m, last, MEMORY_NOISE))
			break;
	}
	return m;
}

/* A leak stays, whatever the time */
static struct memory settled_after(struct memory before)
{
	struct memory m = settled();

	for (int i = 0; i < SETTLE_SECONDS && grown(before, m, kept * PART_ALLOWED); i++)
		m = memory_now();
	return m;
}

/* Each copy of an actor; nor is there a CPU without traps */
static bool enough_acts(const struct scenario *s, const struct figures *f)
{
	for (int i = 0; i < MAX_ACTORS && s->actors[i].act; i++) {
		unsigned long least = (s->actors[i].least ?: 3) * (unsigned long)seconds / 60;

		for (int n = 0; n < copies(&s->actors[i]); n++)
			if (f->acts[i][n] < (least ?: 1))
				return false;
	}
	for (int cpu = 0; cpu < ncpus; cpu++)
		if (!f->rounds[cpu])
			return false;
	return true;
}

static bool report_acts(const struct scenario *s, const struct figures *f)
{
	for (int i = 0; i < MAX_ACTORS && s->actors[i].act; i++) {
		unsigned long sum = 0, least = -1UL;

		for (int n = 0; n < copies(&s->actors[i]); n++) {
			sum += f->acts[i][n];
			least = f->acts[i][n] < least ? f->acts[i][n] : least;
		}
		ksft_print_msg("%s: %lu %s, %lu at least by each\n", s->name, sum,
			       s->actors[i].what, least);
	}
	for (int cpu = 0; cpu < ncpus; cpu++)
		if (!f->rounds[cpu])
			ksft_print_msg("%s: no trap of user mode on CPU %d\n", s->name, cpu);
	ksft_print_msg("%s: %lu %s\n", s->name, f->effect, s->effect);
	return enough_acts(s, f) && f->effect && !f->failed;
}

static bool report_signals(const struct scenario *s, const struct figures *f)
{
	unsigned long raised = 0, signals = 0;
	bool good = true;

	for (int i = 0; i < TRAPS; i++) {
		raised += f->raised[i];
		signals += f->signals[i];
		if (f->raised[i] && f->signals[i] == (traps[i].signal ? f->raised[i] : 0))
			continue;
		ksft_print_msg("%s: %s: %lu raised, %lu signals\n", s->name, traps[i].name,
			       f->raised[i], f->signals[i]);
		good = false;
	}
	ksft_print_msg("%s: %lu raised, %lu signals\n", s->name, raised, signals);
	return good;
}

/* A trap has events of one family */
static bool report_events(const struct scenario *s, const struct figures *f)
{
	unsigned long counted = 0, traced = 0, faults = 0;
	bool good = !f->dropped && !f->stray && f->nmi_entries == f->nmi_exits;

	for (int i = 0; i < TRAPS; i++) {
		unsigned long in_trap = traps[i].page ? 0 : f->counted[i];
		unsigned long in_pagefault = traps[i].page ? f->counted[i] : 0;

		counted += f->counted[i];
		traced += f->trap_entries[i];
		faults += f->fault_entries[i];
		if (f->counted[i] && f->trap_entries[i] == in_trap &&
		    f->trap_exits[i] == in_trap && f->fault_entries[i] == in_pagefault &&
		    f->fault_exits[i] == in_pagefault)
			continue;
		ksft_print_msg("%s: %s: %lu raised; trap %lu and %lu, pagefault %lu and %lu\n",
			       s->name, traps[i].name, f->counted[i], f->trap_entries[i],
			       f->trap_exits[i], f->fault_entries[i], f->fault_exits[i]);
		good = false;
	}
	ksft_print_msg("%s: %lu raised while counted; entries: %lu trap, %lu pagefault, %lu NMI\n",
		       s->name, counted, traced, faults, f->nmi_entries);
	if (f->dropped)
		ksft_print_msg("%s: %lu dropped by the histograms\n", s->name, f->dropped);
	return good;
}

/* The first two parts are alike, but that the second may have been repeated */
static bool report_memory(const struct scenario *s, const struct memory *m, int parts,
			  int repeated)
{
	for (int i = 0; i < parts; i++)
		ksft_print_msg("%s: %ld KiB less available, %ld KiB more in slabs\n", s->name,
			       m[i].available - m[i + 1].available, m[i + 1].slab - m[i].slab);
	return !grown(m[0], m[parts], kept * MEMORY_ALLOWED) &&
	       !(grown(m[0], m[1], kept * PART_ALLOWED) &&
		 grown(m[1], m[2], kept * PART_ALLOWED * (1 + 2 * repeated)));
}

static const char * const results[] = {
	"it took place", "a signal for each trap", "an entry and an exit for each trap",
	"memory does not grow",
};

#define RESULTS	((int)ARRAY_SIZE(results))

static void test(const struct scenario *s)
{
	const char *why = s->cannot ? s->cannot() : NULL;
	struct figures warm_up = { 0 }, f = { 0 };
	time_t began = time(NULL);
	int ms = seconds * 1000, parts = 0, more = 0;
	struct memory memory[4];

	for (int i = 0; why && i < RESULTS; i++)
		ksft_test_result_skip("%s: %s: %s\n", s->name, results[i], why);
	if (why)
		return;

	put("/dev", "kmsg", "trap_stress: %s\n", s->name);
	run(s, ms / 10 + 500, false, &warm_up);
	memory[0] = settled();
	for (; parts < 2 && s->switches; parts++) {
		run(s, ms / 4, false, &f);
		memory[parts + 1] = settled_after(memory[parts]);
	}
	if (!parts) {
		run(s, ms / 2, true, &f);
		memory[++parts] = settled_after(memory[0]);
	}
	run(s, ms / 2, true, &f);
	/* What is slow, with KASAN say, takes longer to come to what is wanted of it */
	for (; more < 3 && !f.failed && !enough_acts(s, &f); more++)
		run(s, ms, true, &f);
	memory[parts + 1] = settled_after(memory[parts]);
	parts++;
	f.failed |= warm_up.failed;

	ksft_test_result(report_acts(s, &f), "%s: %s\n", s->name, results[0]);
	ksft_test_result(report_signals(s, &f), "%s: %s\n", s->name, results[1]);
	ksft_test_result(report_events(s, &f), "%s: %s\n", s->name, results[2]);
	ksft_test_result(report_memory(s, memory, parts, s->switches ? 0 : more), "%s: %s\n",
			 s->name, results[3]);
	ksft_print_msg("%s: %d s, %ld with all\n", s->name, seconds, (long)(time(NULL) - began));
	put("/dev", "kmsg", "trap_stress: end\n");
}

/* Where the instructions of the traps are, which is the same in all processes */
static void set_trap_filter(void)
{
	size_t n;

	skip_traps();
	n = snprintf(trap_filter, sizeof(trap_filter),
		     "vector == 14 || vector == 18 || (user_mode == 0 && vector == 0)");
	for (int i = 0; i < TRAPS; i++) {
		if (!traps[i].user || traps[i].page)
			continue;
		find_user_trap(traps[i].vector)->raise(NULL);
		n += snprintf(trap_filter + n, sizeof(trap_filter) - n,
			      " || (vector != 2 && user_mode == 1 && ip == 0x%lx)", trap_ip);
	}
}

static void clean_up(void)
{
	/* Not when a child ends */
	if (getpid() != tester)
		return;
	all_online();
	remove_swap_and_group();
	tear_down_made();
	put(TRACING, "current_tracer", "nop");
	put(TRACING, "set_ftrace_filter", "%s", "");
	remove_probes();
	put(TRACING, "events/trap/enable", "0");
	put(TRACING, "events/pagefault/enable", "0");
	if (watchdog)
		put("/proc/sys/kernel", "nmi_watchdog", "%s", watchdog);
}

static const struct scenario *find_scenario(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	ksft_exit_fail_msg("no scenario '%s'\n", name);
}

int main(int argc, char **argv)
{
	static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	long number = 0;
	char *rest;
	int option;

	while ((option = getopt(argc, argv, "s:")) != -1) {
		rest = NULL;
		if (option == 's')
			number = strtol(optarg, &rest, 10);
		if (!rest || *rest || number < 1 || number > MOST_SECONDS)
			ksft_exit_fail_msg("usage: trap_stress [-s 1...%d] [SCENARIO]...\n",
					   MOST_SECONDS);
		seconds = number;
	}
	sigemptyset(&ends);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaddset(&ends, taken[i]);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	/* Who reads the results may go before all is undone */
	signal(SIGPIPE, SIG_IGN);
	start("pagefault/pagefault_exit");
	start_monitor();
	page_size = sysconf(_SC_PAGESIZE);
	ncpus = cpus();
	tmpdir = getenv("TMPDIR") ?: "/tmp";
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		kept = KEPT_BY_DEBUG;
	if (ncpus < 2 || ncpus > MAX_CPUS - 2)
		ksft_exit_skip("not for %d CPUs\n", ncpus);
	raise_file = open(RAISE_FILE, O_WRONLY);
	if (raise_file < 0)
		ksft_exit_skip(NO_TRAP_TEST "\n");
	for (int i = optind; i < argc; i++)
		find_scenario(argv[i]);

	area = new_pages((1 + FRESH_PAGES) * page_size);
	hog = new_pages(HOG_SIZE);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED || mprotect(area, page_size, PROT_NONE))
		ksft_exit_fail_msg("memory: %s\n", strerror(errno));
	set_trap_filter();
	snprintf(fault_filter, sizeof(fault_filter), "address >= 0x%lx && address < 0x%lx",
		 (long)area, (long)area + (1 + FRESH_PAGES) * page_size);
	tester = getpid();
	atexit(clean_up);
	/* There are to be no NMIs but those that are counted */
	watchdog = get("/proc/sys/kernel", "nmi_watchdog");
	put("/proc/sys/kernel", "nmi_watchdog", "0");

	ksft_set_plan(RESULTS * (optind < argc ? argc - optind : (int)ARRAY_SIZE(scenarios)));
	for (int i = optind; i < argc; i++)
		test(find_scenario(argv[i]));
	for (size_t i = 0; optind == argc && i < ARRAY_SIZE(scenarios); i++)
		test(&scenarios[i]);
	ksft_finished();
}
