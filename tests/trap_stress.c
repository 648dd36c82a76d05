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
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
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
struct sums sums;
const struct scenario *scenario;
int ncpus, raise_file = -1;
char *area;
unsigned int seed;

static int seconds = 60, kept = 1;
static char *watchdog;
static pid_t tester;

/* These signals end the program after its clean-up: run() waits for them */
static sigset_t ends;

/*
 * A run
 */
static pid_t start_actor(int slot, int n)
{
	const struct actor *a = &scenario->actors[slot];
	pid_t child = must_fork();

	if (child)
		return child;
	seed = getpid();
	my_effect = &shared->effect[slot][n];
	while (!stopped()) {
		cut_short = false;
		a->act(a, n);
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

static void add_up(bool counted)
{
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		for (int i = 0; i < TRAPS; i++) {
			sums.raised[i] += shared->workers[cpu].raised[i];
			sums.signals[i] += shared->workers[cpu].signals[i];
			sums.counted[i] += counted ? shared->workers[cpu].raised[i] : 0;
		}
		for (int i = 0; i < MAX_ACTORS; i++) {
			sums.acts[i][cpu] += shared->acts[i][cpu];
			sums.effect += shared->effect[i][cpu];
		}
		sums.rounds[cpu] += shared->workers[cpu].rounds;
	}
}

static void wait_for(const pid_t *children, int n)
{
	int status;

	for (int i = 0; i < n; i++) {
		if (waitpid(children[i], &status, 0) == children[i] && !status)
			continue;
		say("process %d ended with 0x%x", children[i], status);
		sums.failed = true;
	}
}

static int copies(const struct actor *a)
{
	return a->copies == PER_CPU ? ncpus : 1;
}

static void run(int ms, bool counted)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000L };
	pid_t children[(1 + MAX_ACTORS) * MAX_CPUS];
	const struct actor *actors = scenario->actors;
	int n = 0, ended_by;

	memset(shared, 0, sizeof(*shared));
	if (counted)
		counter_on();
	set_up();
	/* A histogram drops events while it adds a key: CPU 0 adds all first */
	children[n++] = start_worker(0);
	for (int i = 0; counted && i < 10000 && !shared->workers[0].rounds; i++)
		usleep(1000);
	for (int cpu = 1; cpu < ncpus; cpu++)
		children[n++] = start_worker(cpu);
	for (int i = 0; i < MAX_ACTORS && actors[i].act; i++)
		for (int j = 0; j < copies(&actors[i]); j++)
			children[n++] = start_actor(i, j);
	ended_by = sigtimedwait(&ends, NULL, &left);
	/* The actors finish while the workers still raise traps */
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	wait_for(children + ncpus, n - ncpus);
	__atomic_store_n(&shared->stop_workers, true, __ATOMIC_RELAXED);
	wait_for(children, ncpus);

	if (counted) {
		/* For an NMI of the monitor's that has not arrived yet */
		usleep(500000);
		read_counter();
	}
	if (scenario->judge)
		scenario->judge(counted);
	add_up(counted);
	clean_up();
	remove_stressed();
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

/* The sum of all numbers behind a name in a file of /proc */
static long sum_of(const char *file, const char *name)
{
	char *text = get("/proc", file), *at = text;
	long sum = 0;

	while (at && (at = strstr(at, name)))
		sum += strtol(at += strlen(name), NULL, 10);
	free(text);
	return sum;
}

/* After freeing caches, KASAN's quarantine, and what waits for RCU */
static struct memory memory_now(void)
{
	struct memory m;
	glob_t caches;

	sync();
	put("/proc/sys/vm", "drop_caches", "3");
	if (!glob("/sys/kernel/slab/*/shrink", 0, NULL, &caches)) {
		for (size_t i = 0; i < caches.gl_pathc; i++)
			put("", caches.gl_pathv[i], "1");
		globfree(&caches);
	}
	sleep(1);
	/* Free pages that each CPU has at hand are megabytes, and not in MemAvailable */
	m.available = sum_of("meminfo", "MemAvailable:") +
		      sum_of("zoneinfo", "  count: ") * (page_size / 1024);
	m.slab = sum_of("meminfo", "Slab:");
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
static bool acted(bool tell)
{
	bool enough = true;

	for (int i = 0; i < MAX_ACTORS && scenario->actors[i].act; i++) {
		const struct actor *a = &scenario->actors[i];
		unsigned long wanted = (a->least ?: 3) * (unsigned long)seconds / 60;
		unsigned long sum = 0, least = -1UL;

		for (int n = 0; n < copies(a); n++) {
			sum += sums.acts[i][n];
			least = sums.acts[i][n] < least ? sums.acts[i][n] : least;
		}
		enough &= least >= (wanted ?: 1);
		if (tell)
			say("%lu %s, %lu at least by each", sum, a->what, least);
	}
	for (int cpu = 0; cpu < ncpus; cpu++) {
		enough &= sums.rounds[cpu] > 0;
		if (tell && !sums.rounds[cpu])
			say("no trap of user mode on CPU %d", cpu);
	}
	return enough;
}

static bool took_place(void)
{
	bool enough = acted(true);

	say("%lu %s", sums.effect, scenario->effect);
	return enough && sums.effect && !sums.failed;
}

static bool each_had_its_signal(void)
{
	unsigned long raised = 0, signals = 0;
	bool good = true;

	for (int i = 0; i < TRAPS; i++) {
		raised += sums.raised[i];
		signals += sums.signals[i];
		if (sums.raised[i] && sums.signals[i] == (traps[i].signal ? sums.raised[i] : 0))
			continue;
		say("%s: %lu raised, %lu signals", traps[i].name, sums.raised[i],
		    sums.signals[i]);
		good = false;
	}
	say("%lu raised, %lu signals", raised, signals);
	return good;
}

/* A trap has events of one family */
static bool each_had_its_events(void)
{
	unsigned long counted = 0, entries[EVENTS] = { 0 };
	bool good = !sums.dropped && !sums.stray && sums.nmi_entries == sums.nmi_exits;

	for (int i = 0; i < TRAPS; i++) {
		bool same = sums.counted[i];

		for (int event = 0; event < EVENTS; event++) {
			same &= sums.events[event][i] ==
				((event < 2) == !traps[i].page ? sums.counted[i] : 0);
			entries[event] += sums.events[event][i];
		}
		counted += sums.counted[i];
		if (!same)
			say("%s: %lu raised; trap %lu and %lu, pagefault %lu and %lu",
			    traps[i].name, sums.counted[i], sums.events[0][i],
			    sums.events[1][i], sums.events[2][i], sums.events[3][i]);
		good &= same;
	}
	say("%lu raised while counted; entries: %lu trap, %lu pagefault, %lu NMI", counted,
	    entries[0], entries[2], sums.nmi_entries);
	if (sums.dropped)
		say("%lu dropped by the histograms", sums.dropped);
	return good;
}

/* The first two parts are equal, but the second may have been repeated */
static bool memory_stays(const struct memory *m, int parts, int repeated)
{
	for (int i = 0; i < parts; i++)
		say("%ld KiB less available, %ld KiB more in slabs",
		    m[i].available - m[i + 1].available, m[i + 1].slab - m[i].slab);
	return !grown(m[0], m[parts], kept * MEMORY_ALLOWED) &&
	       !(grown(m[0], m[1], kept * PART_ALLOWED) &&
		 grown(m[1], m[2], kept * PART_ALLOWED * (1 + 2 * repeated)));
}

static const char * const results[] = {
	"it took place", "a signal for each trap", "an entry and an exit for each trap",
	"memory does not grow",
};

static void test(void)
{
	const bool switches = scenario->switches;
	const char *why = scenario->cannot ? scenario->cannot() : NULL;
	int ms = seconds * 1000, parts = 0, more = 0;
	bool good[ARRAY_SIZE(results)], failed;
	time_t began = time(NULL);
	struct memory memory[4];

	for (size_t i = 0; why && i < ARRAY_SIZE(results); i++)
		ksft_test_result_skip("%s: %s: %s\n", scenario->name, results[i], why);
	if (why)
		return;

	put("/dev", "kmsg", "trap_stress: %s\n", scenario->name);
	memset(&sums, 0, sizeof(sums));
	run(ms / 10 + 500, false);
	/* Of the warm-up, nothing else counts */
	failed = sums.failed;
	memset(&sums, 0, sizeof(sums));
	sums.failed = failed;
	memory[0] = settled();
	for (; parts < (switches ? 2 : 1); parts++) {
		run(switches ? ms / 4 : ms / 2, !switches);
		memory[parts + 1] = settled_after(memory[parts]);
	}
	run(ms / 2, true);
	/* A slow kernel, with KASAN say, needs longer for enough acts */
	for (; more < 3 && !sums.failed && !acted(false); more++)
		run(ms, true);
	memory[parts + 1] = settled_after(memory[parts]);

	good[0] = took_place();
	good[1] = each_had_its_signal();
	good[2] = each_had_its_events();
	good[3] = memory_stays(memory, parts + 1, switches ? 0 : more);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		ksft_test_result(good[i], "%s: %s\n", scenario->name, results[i]);
	say("%d s, %ld with all", seconds, (long)(time(NULL) - began));
	put("/dev", "kmsg", "trap_stress: end\n");
}

static void at_end(void)
{
	/* Not when a child ends */
	if (getpid() != tester)
		return;
	clean_up();
	if (watchdog)
		put("/proc/sys/kernel", "nmi_watchdog", "%s", watchdog);
}

static void use(const char *name)
{
	for (scenario = scenarios; scenario->name && strcmp(scenario->name, name);)
		scenario++;
	if (!scenario->name)
		ksft_exit_fail_msg("no scenario '%s'\n", name);
}

int main(int argc, char **argv)
{
	int option, nr_scenarios = 0;
	char *rest;

	while ((option = getopt(argc, argv, "s:")) != -1) {
		long number = option == 's' ? strtol(optarg, &rest, 10) : 0;

		if (number < 1 || number > MOST_SECONDS || *rest)
			ksft_exit_fail_msg("usage: trap_stress [-s 1...%d] [SCENARIO]...\n",
					   MOST_SECONDS);
		seconds = number;
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGQUIT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	/* The reader of the results may end before the clean-up */
	signal(SIGPIPE, SIG_IGN);
	start("pagefault/pagefault_exit");
	start_monitor();
	page_size = sysconf(_SC_PAGESIZE);
	ncpus = cpus();
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		kept = KEPT_BY_DEBUG;
	if (ncpus < 2 || ncpus > MAX_CPUS)
		ksft_exit_skip("needs 2 to %d CPUs\n", MAX_CPUS);
	raise_file = open(RAISE_FILE, O_WRONLY);
	if (raise_file < 0)
		ksft_exit_skip(NO_TRAP_TEST "\n");
	for (int i = optind; i < argc; i++)
		use(argv[i]);

	area = new_pages((1 + FRESH_PAGES) * page_size);
	make_hog();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED || mprotect(area, page_size, PROT_NONE))
		ksft_exit_fail_msg("memory: %s\n", strerror(errno));
	set_filters();
	tester = getpid();
	atexit(at_end);
	/* No NMIs of the watchdog: all NMIs are counted */
	watchdog = get("/proc/sys/kernel", "nmi_watchdog");
	put("/proc/sys/kernel", "nmi_watchdog", "0");

	while (scenarios[nr_scenarios].name)
		nr_scenarios++;
	ksft_set_plan(ARRAY_SIZE(results) * (optind < argc ? argc - optind : nr_scenarios));
	for (int i = optind; i < argc; i++) {
		use(argv[i]);
		test();
	}
	for (scenario = scenarios; optind == argc && scenario->name; scenario++)
		test();
	ksft_finished();
}
