// SPDX-License-Identifier: GPL-2.0
/*
 * Stress the trap and page fault trace events: raise traps on all CPUs, while
 * actors switch, read, resize and remove what traces them.
 *
 *	trap_stress [-s SECONDS] [SCENARIO]...
 *
 * runs these scenarios, or all, for so many seconds each (60 by default).
 *
 * On each CPU, a worker raises traps of eight kinds and counts them, and its
 * signals. An instance of its own counts the events of these very traps, by
 * histograms, in which nothing gets lost: each trap has to have one entry, one
 * exit and its signal, whatever the actors do. Those of a page fault are in
 * pagefault alone. That instance keeps the static branches of the events on; so it
 * is not there in the warm-up that each scenario has, nor in the first half of those
 * that are about switching.
 *
 * The kernel may not lose memory in both of two equal parts of a scenario: a
 * cache that fills stops growing. A line in /dev/kmsg marks where a scenario
 * begins, so the log shows whose warnings follow.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monitor.h"
#include "trap_stress.h"

/*
 * In KiB, what may be left after each part of a scenario, and after all: caches of the
 * file systems, partial slabs and page lists of the CPUs. And how much the same number,
 * read twice, may differ; and how long it may take to settle.
 */
#define PART_ALLOWED	256
#define MEMORY_ALLOWED	1024
#define MEMORY_NOISE	128
/* Times that much, where KASAN and kmemleak keep some memory of each process */
#define KEPT_BY_DEBUG	8
#define SETTLE_SECONDS	15

/* How long the longest run may be asked to take */
#define MOST_SECONDS	(24 * 3600)

const struct trap traps[TRAPS] = {
	{ "user DE", DE, 0, true, NO_MEMORY, 0, SIGFPE },
	{ "user BP", BP, 0, true, NO_MEMORY, 0, SIGTRAP },
	{ "user UD", UD, 0, true, NO_MEMORY, 0, SIGILL },
	{ "user GP", GP, 0, true, NO_MEMORY, 0, SIGSEGV },
	{ "user PF, forbidden page", PF, 4, true, FORBIDDEN_PAGE, OUTCOME_SIGNAL, SIGSEGV },
	{ "user PF, new page", PF, 6, true, FRESH_PAGE, OUTCOME_MINOR },
	{ "kernel PF, forbidden page", PF, 0, false, FORBIDDEN_PAGE, OUTCOME_FIXUP },
	{ "kernel DE", DE, 0, false },
};

struct shared *shared;

const char *counter, *instance, *second, *third;
const char *tmpdir;
static char *watchdog;
pid_t tester;
int ncpus, seconds = 60, kept = 1;
char *area, *hog;
int raise_file = -1;
unsigned int seed;

/* These signals end the program after its clean-up: run() waits for them */
static sigset_t ends;

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
	/* A histogram drops events while it adds a key: CPU 0 adds all first */
	children[n++] = start_worker(0);
	for (int i = 0; counted && i < 10000 && !shared->workers[0].rounds; i++)
		usleep(1000);
	for (int cpu = 1; cpu < ncpus; cpu++)
		children[n++] = start_worker(cpu);
	for (int i = 0; i < MAX_ACTORS && s->actors[i].act; i++)
		for (int j = 0; j < copies(&s->actors[i]); j++)
			children[n++] = start_actor(&s->actors[i], i, j);
	ended_by = sigtimedwait(&ends, NULL, &left);
	/* The actors finish while the workers still raise traps */
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

/* After freeing caches, KASAN's quarantine, and what waits for RCU */
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

/* Memory after deferred frees: wait until it hardly changes */
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

/* Whether each copy of an actor acted enough, and each CPU raised traps */
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

/* The first two parts are equal, but the second may have been repeated */
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
	/* A slow kernel, with KASAN say, needs longer for enough acts */
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
	for (size_t i = 0; i < (size_t)nr_scenarios; i++)
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
	/* The reader of the results may end before the clean-up */
	signal(SIGPIPE, SIG_IGN);
	start("pagefault/pagefault_exit");
	start_monitor();
	page_size = sysconf(_SC_PAGESIZE);
	ncpus = cpus();
	tmpdir = getenv("TMPDIR") ?: "/tmp";
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		kept = KEPT_BY_DEBUG;
	if (ncpus < 2 || ncpus > MAX_CPUS - 2)
		ksft_exit_skip("needs 2 to %d CPUs\n", MAX_CPUS - 2);
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
	/* No NMIs of the watchdog: all NMIs are counted */
	watchdog = get("/proc/sys/kernel", "nmi_watchdog");
	put("/proc/sys/kernel", "nmi_watchdog", "0");

	ksft_set_plan(RESULTS * (optind < argc ? argc - optind : nr_scenarios));
	for (int i = optind; i < argc; i++)
		test(find_scenario(argv[i]));
	for (size_t i = 0; optind == argc && i < (size_t)nr_scenarios; i++)
		test(&scenarios[i]);
	ksft_finished();
}
