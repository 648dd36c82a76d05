// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz the trap and page fault trace events: threads that raise traps at random,
 * in user and in kernel mode, while others switch, filter and read the events, and
 * the tracers and probes around them, at random.
 *
 *	trap_fuzz [-s SEED] [-d SECONDS | -n OPERATIONS] [-v]
 *
 * The N-th operation of a thread follows from the seed, the thread and N alone: the
 * same seed makes the same operations. In what order the threads do them is up to
 * the scheduler. -n says how many operations each raiser of traps does; the others,
 * whose operations take longer, do their share. -v prints each operation before it
 * is done, for a crash that leaves no time to say which one it was.
 *
 * It works in rounds. After each one, it switches all off, and checks
 *
 *  - that each trap led to the signal, or went on, as it must;
 *  - that the events were as many as the traps, and none of them a trap event of a
 *    page fault or a machine check: a histogram has counted them all the time, in
 *    every second round, as then the events are never all off;
 *  - that the state of tracing is what it was;
 *  - that a fixed number of traps has as many events;
 *  - that a trap of a probe is suppressed, and counted.
 *
 * It takes over the top instance of tracing, breaks pages of memory by hardware
 * poison, and is for a machine that does nothing else.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/userfaultfd.h>

#include "monitor.h"
#include "trap_fuzz.h"

#define SECONDS		30
#define ROUND_SECONDS	30
/* In an emulator that shares its core, a #MC beside function_graph has taken all of 200 s */
#define HANG_SECONDS	400
#define TAINT_DIE	0x80

/* -n is for a raiser; the others do a part of that */
static const struct {
	const struct operation *operations;
	unsigned int part;
} roles[ROLES] = {
	[RAISER] = { raisers, 1 }, [SWITCHER] = { switchers, 4 }, [OUTSIDE] = { outside, 50 },
};

struct shared *shared;

static unsigned long long seed;
static bool verbose, oopsed_before;
static int interrupted;
static pid_t fuzzing;
static sigset_t taken;
pid_t main_pid;
cpu_set_t allowed;		/* before anything was pinned */

/*
 * Random numbers, by splitmix64: the state counts, and is mixed for each number
 */
static unsigned long long mix(unsigned long long x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* draw - One of @n */
unsigned int draw(struct thread *me, unsigned int n)
{
	me->random += 0x9e3779b97f4a7c15ULL;
	return mix(me->random) % n;
}

void note(struct thread *me, const char *fmt, ...)
{
	char *line = me->last[me->begun % LAST];
	va_list args;
	int n;

	va_start(args, fmt);
	n = me->role == RAISER ? snprintf(line, LINE, "CPU %u: ", me->cpu) : 0;
	vsnprintf(line + n, LINE - n, fmt, args);
	va_end(args);
	for (const char *at = line; *at; at++)
		me->digest = (me->digest ^ (unsigned char)*at) * 0x100000001b3ULL;
	me->digest = mix(me->digest);
	if (verbose)
		dprintf(STDOUT_FILENO, "# %u.%llu: %s\n", me->number, me->begun, line);
}

void wrong(struct thread *me, const char *fmt, ...)
{
	char what[LINE];
	va_list args;

	if (me->failures++)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	snprintf(me->failure, sizeof(me->failure), "operation %llu, %s: %s", me->begun,
		 me->last[me->begun % LAST], what);
}

bool stopped(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void *run_thread(void *arg)
{
	struct thread *me = arg;
	const struct operation *all = roles[me->role].operations;
	stack_t stack = { .ss_size = 1 << 16 };
	unsigned int sum = 0, at;
	double began;

	stack.ss_sp = new_pages(stack.ss_size);
	memset(stack.ss_sp, 0, stack.ss_size);
	sigaltstack(&stack, NULL);
	for (const struct operation *o = all; o->name; o++)
		sum += o->weight;

	while (!stopped() && me->begun < me->limit) {
		/* All that the operation does follows from these three */
		me->random = mix(mix(mix(seed) + me->number) + me->begun);
		__atomic_add_fetch(&me->begun, 1, __ATOMIC_RELAXED);
		me->cpu = draw(me, cpus());
		if (me->role == RAISER)
			pin(me->cpu);
		at = draw(me, sum);
		for (me->doing = all; at >= me->doing->weight; me->doing++)
			at -= me->doing->weight;
		began = seconds();
		(me->doing->run(me) ? me->refused : me->done)[me->doing - all]++;
		me->seconds[me->doing - all] += seconds() - began;
	}
	return NULL;
}

/* Serve the page faults of uffd, each after a moment */
static void *serve_pages(void *arg)
{
	struct uffdio_zeropage zero;
	struct uffd_msg msg;

	(void)arg;
	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		usleep(100);
		zero = (struct uffdio_zeropage){ .range = {
			msg.arg.pagefault.address & -page_size, page_size } };
		ioctl(uffd, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

/* The process of a round. The parent cleans up what it leaves in tracefs */
static void run_round(void)
{
	pthread_t threads[THREADS], server;

	prctl(PR_SET_NAME, NAME);
	set_up_user_traps();
	shared_pages = new_pages(SHARED_PAGES * page_size);
	/* Gone when it is closed */
	file = open(getenv("TMPDIR") ?: "/tmp", O_TMPFILE | O_RDWR, 0600);
	if (file >= 0 && ftruncate(file, MAX_PAGES * page_size))
		ksft_exit_fail_msg("ftruncate: %s\n", strerror(errno));
	/* For a page that is not used, until an operation needs it */
	uffd = wait_for_pages(new_pages(page_size), page_size);
	if (uffd >= 0 && pthread_create(&server, NULL, serve_pages, NULL))
		ksft_exit_fail_msg("pthread_create\n");
	put(TRACING, "set_ftrace_filter", SOME_FUNCTIONS);
	for (int i = 1; i <= INSTANCES; i++)
		make_instance_to_fuzz(i);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_thread, &shared->threads[i]))
			ksft_exit_fail_msg("pthread_create\n");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/*
 * The process that starts the rounds, and checks their results
 */
static void tell_last(bool all)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &shared->threads[i];

		if (!all && !t->failures)
			continue;
		for (unsigned long long n = t->begun > LAST ? t->begun - LAST + 1 : 1;
		     n <= t->begun; n++)
			ksft_print_msg("thread %d, operation %llu: %s\n", i, n, t->last[n % LAST]);
	}
}

/* oopsed - Whether a task died in an oops: others may hang on its locks */
static bool oopsed(void)
{
	char *text = get("/proc/sys/kernel", "tainted");
	bool died = text && atol(text) & TAINT_DIE;

	free(text);
	return died;
}

static void tell_digest(void)
{
	unsigned long long digest = 0, sum = 0;

	for (int i = 0; i < THREADS; i++) {
		digest = mix(digest ^ shared->threads[i].digest);
		sum += shared->threads[i].begun;
	}
	ksft_print_msg("seed 0x%llx, %llu operations, digest 0x%016llx\n", seed, sum, digest);
}

/* No cleaning up, which would hang */
static void end_early(const char *why)
{
	tell_digest();
	printf("Bail out! %s\n", why);
	fflush(stdout);
	_exit(KSFT_FAIL);
}

/* Kill the process of a round, a thread of which hangs */
static void kill_round(int thread)
{
	ksft_print_msg("thread %d hangs\n", thread);
	tell_last(true);
	kill(fuzzing, SIGKILL);
	for (int wait = 0; wait < HANG_SECONDS; wait++) {
		if (waitpid(fuzzing, NULL, WNOHANG) == fuzzing)
			return;
		sleep(1);
	}
	end_early("a thread hangs, and cannot be killed");
}

/* Wait for the process of a round, and end it in time: whether it ended well */
static bool end_of_round(double end)
{
	unsigned long long begun[THREADS] = { 0 };
	struct timespec second = { .tv_sec = 1 };
	int signal, status;

	for (int i = 0; i < THREADS; i++)
		shared->threads[i].since = seconds();
	while (waitpid(fuzzing, &status, WNOHANG) != fuzzing) {
		signal = sigtimedwait(&taken, NULL, &second);
		if (signal > 0 && signal != SIGCHLD)
			interrupted = signal;
		if (interrupted || seconds() > end)
			__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
		for (int i = 0; i < THREADS; i++) {
			struct thread *t = &shared->threads[i];

			if (t->begun != begun[i] || (t->begun >= t->limit && !stopped()))
				t->since = seconds();
			begun[i] = t->begun;
			if (seconds() - t->since >= HANG_SECONDS) {
				kill_round(i);
				return false;
			}
		}
		if (!oopsed_before && oopsed()) {
			tell_last(true);
			end_early("the kernel has oopsed");
		}
	}
	if (!status)
		return true;
	ksft_print_msg("the process of the round ended: 0x%x\n", status);
	tell_last(true);
	return false;
}

static void tell_console(const char *what, unsigned long long n)
{
	put("/dev", "kmsg", NAME ": seed 0x%llx, %s %llu\n", seed, what, n);
}

static void clean_up(void)
{
	if (getpid() != main_pid)
		return;
	if (fuzzing)
		kill(fuzzing, SIGKILL);
	watch_end();
	switch_all_off();
}

static void tell_operations(void)
{
	for (int role = 0; role < ROLES; role++) {
		for (int n = 0; roles[role].operations[n].name; n++) {
			unsigned long done = 0, refused = 0;
			double took = 0;

			for (int i = 0; i < THREADS; i++) {
				const struct thread *t = &shared->threads[i];

				done += t->role == role ? t->done[n] : 0;
				refused += t->role == role ? t->refused[n] : 0;
				took += t->role == role ? t->seconds[n] : 0;
			}
			ksft_print_msg("%lu times %s, %lu refused, %.1f s\n", done,
				       roles[role].operations[n].name, refused, took);
		}
	}
}

static unsigned long long limit;

/* All that happened, and the -n that does at least that: how many failed */
static unsigned long tell_all(void)
{
	unsigned long failures = 0;
	unsigned long long most = 0;

	if (interrupted)
		ksft_print_msg("ended by %s\n", strsignal(interrupted));
	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &shared->threads[i];

		if (t->failures)
			ksft_print_msg("thread %d, %lu failures, the first in %s\n", i,
				       t->failures, t->failure);
		failures += t->failures;
		if (t->begun * roles[t->role].part > most)
			most = t->begun * roles[t->role].part;
	}
	tell_last(false);
	tell_operations();
	tell_digest();
	ksft_print_msg("to do the same again: -s 0x%llx -n %llu\n", seed, limit ?: most);
	return failures;
}

static void refuse(const char *arg)
{
	fprintf(stderr, "error: not '%s': trap_fuzz [-s SEED] [-d SECONDS | -n OPERATIONS] [-v]\n",
		arg);
	exit(KSFT_FAIL);
}

static unsigned long long number(const char *text, unsigned long long least,
				 unsigned long long most)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (!isdigit(*text) || *end || errno || n < least || n > most)
		refuse(text);
	return n;
}

/* Sets the seed and the limit: how many seconds */
static double parse_options(int argc, char **argv)
{
	double duration = 0;
	int c;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = time(NULL);
	opterr = 0;
	while ((c = getopt(argc, argv, ":s:d:n:v")) != -1) {
		if (c == 's')
			seed = number(optarg, 0, -1ULL);
		else if (c == 'd')
			duration = number(optarg, 1, 7 * 24 * 3600);
		else if (c == 'n')
			limit = number(optarg, 1, 1ULL << 40);
		else if (c == 'v')
			verbose = true;
		else
			refuse(argv[optind - 1]);
	}
	if (optind < argc)
		refuse(argv[optind]);
	if (duration && limit)
		refuse("-d and -n");
	return duration ?: limit ? 1e9 : SECONDS;
}

static void set_up(void)
{
	/* end_of_round() takes these by sigtimedwait(). All but one end the program */
	sigemptyset(&taken);
	sigaddset(&taken, SIGINT);
	sigaddset(&taken, SIGTERM);
	sigaddset(&taken, SIGHUP);
	sigaddset(&taken, SIGQUIT);
	sigaddset(&taken, SIGCHLD);
	sigprocmask(SIG_BLOCK, &taken, NULL);
	signal(SIGPIPE, SIG_IGN);

	page_size = sysconf(_SC_PAGESIZE);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	main_pid = getpid();
	prctl(PR_SET_NAME, NAME "_main");
	set_up_user_traps();
#ifdef __x86_64__
	set_up_bound();
#endif
	set_up_switchers();
	kernel_text = kernel_symbol("_stext");
	tracer_function = kernel_symbol("trace_event_buffer_lock_reserve");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &shared->threads[i];

		t->number = i;
		t->role = i < RAISERS ? RAISER : i < RAISERS + SWITCHERS ? SWITCHER : OUTSIDE;
		t->digest = i;
		t->limit = limit ? (limit + roles[t->role].part - 1) / roles[t->role].part : -1ULL;
	}
}

static bool all_at_limit(void)
{
	for (int i = 0; i < THREADS; i++)
		if (shared->threads[i].begun < shared->threads[i].limit)
			return false;
	return true;
}

/* Whether the state is the old one. Kprobes go in the background */
static bool is_restored(const char *before)
{
	bool same = false;

	for (int i = 50; !same && i >= 0; i--) {
		char *after = state();

		same = same_state(before, after, !i);
		free(after);
		if (!same)
			usleep(100000);
	}
	return same;
}

#define EVENTS_AS_TRAPS		"as many events as traps, while all is switched"
#define PROBE_SUPPRESSED	"a trap of a probe is suppressed, and counted"

int main(int argc, char **argv)
{
	bool went_on = true, agrees = true, restored = true, exact = true, guarded = true;
	unsigned long agreed = 0, counted = 0, rounds = 0, failures;
	double duration = parse_options(argc, argv), end;
	const char *before;
	bool have_probe;

	start("pagefault/pagefault_exit");
	start_monitor();
	if (access(TRACING "/events/pagefault/pagefault_exit", F_OK))
		ksft_exit_skip("no pagefault events in " TRACING "\n");
	if (access(SUPPRESSED, R_OK))
		ksft_exit_skip("no " SUPPRESSED "\n");
	set_up();
	have_probe = !access(PROBE_FILE, W_OK);
	ksft_set_plan(6);
	ksft_print_msg("seed 0x%llx\n", seed);

	/* The first event makes the buffers as large as they then stay */
	check_instance = make_instance("check");
	put(TRACING, "events/trap/enable", "1");
	put(TRACING, "events/trap/enable", "0");
	before = state();
	oopsed_before = oopsed();
	atexit(clean_up);
	end = seconds() + duration;
	while (went_on && !interrupted && seconds() < end && !all_at_limit()) {
		double round_end = seconds() + ROUND_SECONDS;

		tell_console("round", ++rounds);
		change_settings();
		begin_count(rounds & 1);
		shared->stop = false;
		fuzzing = must_fork();
		if (!fuzzing)
			run_round();
		went_on = end_of_round(round_end < end ? round_end : end);
		fuzzing = 0;
		/* A thread that was killed in a trap has not counted it */
		if (watch && went_on)
			agrees &= watch_agrees(&agreed);
		watch_end();
		switch_all_off();
		restored &= is_restored(before);
		exact &= counts_exactly();
		guarded &= !have_probe || guards(&counted);
	}
	tell_console("rounds of which all ended:", rounds);
	failures = tell_all();
	ksft_print_msg("%lu rounds, %lu of them watched: %lu traps; %lu events suppressed\n",
		       rounds, (rounds + 1) / 2, agreed, counted);

	ksft_test_result(went_on, "all threads go on to the end\n");
	ksft_test_result(!failures, "each trap had the expected result\n");
	if (agreed || !agrees || went_on)
		ksft_test_result(agrees && agreed, EVENTS_AS_TRAPS "\n");
	else
		ksft_test_result_skip(EVENTS_AS_TRAPS ": no round ended\n");
	ksft_test_result(restored, "with all switched off, tracing is as it was before\n");
	ksft_test_result(exact, "1000 #UD of user mode are 1000 entries and 1000 exits\n");
	if (have_probe)
		ksft_test_result(guarded, PROBE_SUPPRESSED "\n");
	else
		ksft_test_result_skip(PROBE_SUPPRESSED ": " NO_TRAP_TEST "\n");
	ksft_finished();
}
