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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
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

const struct fault_signal fault_signals[FAULT_SIGNALS] = {
	{ SIGBUS, BUS_ADRERR }, { SIGSEGV, SEGV_MAPERR }, { SIGSEGV, SEGV_ACCERR },
	{ SIGSEGV, SEGV_PKUERR },
};

struct shared *shared;

static unsigned long long seed;
static bool verbose;
pid_t main_pid;
cpu_set_t allowed;		/* before anything was pinned */
const char *check_instance;

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

/* once_more - Count one more, and say whether that is within the limit */
bool once_more(unsigned long *count, unsigned long limit)
{
	return __atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < limit;
}

bool stopped(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

/*
 * Operations: each returns 0, or a negative error if it was not done
 */
__u64 kernel_text;

static const struct operation {
	enum role role;
	unsigned int weight;
	const char *name;
	int (*run)(struct thread *me);
} operations[] = {
	{ RAISER, 40, "raise_user", raise_user },
	{ RAISER, 10, "raise_in_frame", raise_in_frame },
	{ RAISER, 10, "raise_burst", raise_burst },
	{ RAISER, 40, "raise_access", raise_access },
	{ RAISER, 10, "raise_in_syscall", raise_in_syscall },
	{ RAISER, 5, "without_trap", without_trap },
	{ RAISER, 30, "raise_kernel", raise_kernel },
	{ RAISER, 2, "raise_warning", raise_warning },
	{ RAISER, 5, "raise_kernel_fault", raise_kernel_fault },
	{ RAISER, 3, "raise_in_probe", raise_in_probe },
	{ RAISER, 2, "fork_and_write", fork_and_write },
	{ RAISER, 2, "fork_and_kill", fork_and_kill },
	{ RAISER, 2, "poison_page", poison_page },
	{ RAISER, 3, "no_memory", no_memory },
	{ RAISER, 10, "access_shared", access_shared },
	{ RAISER, 10, "change_shared", change_shared },
	{ RAISER, 10, "run_probed", run_probed },
	{ RAISER, 2, "run_vsyscall", run_vsyscall },
	{ RAISER, 5, "break_in_tracer", break_in_tracer },
	{ SWITCHER, 40, "switch_event", switch_event },
	{ SWITCHER, 5, "set_event", set_event },
	{ SWITCHER, 20, "set_filter", set_filter },
	{ SWITCHER, 20, "set_trigger", set_trigger },
	{ SWITCHER, 15, "set_option", set_option },
	{ SWITCHER, 3, "set_tracer", set_tracer },
	{ SWITCHER, 3, "set_functions", set_functions },
	{ SWITCHER, 20, "set_buffer", set_buffer },
	{ SWITCHER, 20, "read_file", read_file },
	{ SWITCHER, 10, "make_or_remove", make_or_remove },
	{ SWITCHER, 10, "add_kprobe", add_kprobe },
	{ SWITCHER, 5, "add_uprobe", add_uprobe },
	{ SWITCHER, 5, "add_function_probe", add_function_probe },
	{ SWITCHER, 3, "add_event_probe", add_event_probe },
	{ SWITCHER, 10, "remove_probe", remove_probe },
	{ SWITCHER, 10, "switch_probe", switch_probe },
	{ SWITCHER, 3, "switch_event_probe", switch_event_probe },
	{ SWITCHER, 3, "remove_event_probe", remove_event_probe },
	{ SWITCHER, 2, "optimize_kprobes", optimize_kprobes },
	{ SWITCHER, 10, "open_perf", open_perf },
	{ OUTSIDE, 1, "raise_outside", raise_outside },
};

/*
 * Threads
 */
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void *run_thread(void *arg)
{
	struct thread *me = arg;
	unsigned int sum = 0, at;
	double began;

	set_up_signal_stack();
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		sum += operations[i].role == me->role ? operations[i].weight : 0;

	while (!stopped() && me->begun < me->limit) {
		size_t i = 0;

		/* All that the operation does follows from these three */
		me->random = mix(mix(mix(seed) + me->number) + me->begun);
		__atomic_add_fetch(&me->begun, 1, __ATOMIC_RELAXED);
		me->cpu = draw(me, cpus());
		if (me->role == RAISER)
			pin(me->cpu);
		at = draw(me, sum);
		while (operations[i].role != me->role || at >= operations[i].weight) {
			at -= operations[i].role == me->role ? operations[i].weight : 0;
			i++;
		}
		began = seconds();
		if (operations[i].run(me))
			me->refused[i]++;
		else
			me->done[i]++;
		me->seconds[i] += seconds() - began;
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

/* A file of some pages on the disk, or in memory, that is gone when it is closed */
static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" NAME ".XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	unlink(path);
	if (ftruncate(fd, MAX_PAGES * page_size)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Where probed() is in the file of this program */
static void find_probed(void)
{
	unsigned long first, last, offset;
	char line[256];
	ssize_t n;
	FILE *f;

	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	f = fopen("/proc/self/maps", "r");
	if (n < 0 || n == sizeof(exe) - 1 || !f)
		return;
	exe[n] = '\0';
	while (!probed_at && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &first, &last, &offset) == 3 &&
		    (unsigned long)probed >= first && (unsigned long)probed < last)
			probed_at = (unsigned long)probed - first + offset;
	fclose(f);
}

static void find_vsyscall(void)
{
	char *maps = get("/proc/self", "maps");

	have_vsyscall = maps && strstr(maps, "[vsyscall]");
	free(maps);
}

/* The process of a round. The parent cleans up what it leaves in tracefs */
static void run_round(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t threads[THREADS], server;
	char path[128];

	prctl(PR_SET_NAME, NAME);
	set_up_user_traps();
	shared_pages = new_pages(SHARED_PAGES * page_size);
	file = open_file();
	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd >= 0 && ioctl(uffd, UFFDIO_API, &api)) {
		close(uffd);
		uffd = -1;
	}
	if (uffd >= 0 && pthread_create(&server, NULL, serve_pages, NULL))
		ksft_exit_fail_msg("pthread_create\n");
	for (unsigned int i = 0; i <= INSTANCES; i++) {
		instance_path(i, path, sizeof(path));
		if (i)
			mkdir(path, 0755);
		put(path, "set_ftrace_filter", SOME_FUNCTIONS);
	}
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

/* The -n that does at least what was done here */
static unsigned long long operations_to_replay(void)
{
	unsigned long long most = 0;

	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &shared->threads[i];
		unsigned long long n = t->begun * (t->role == RAISER ? 1 : t->role == SWITCHER ?
						   SWITCHERS_DO : OUTSIDE_DOES);

		if (n > most)
			most = n;
	}
	return most;
}

static unsigned long long all_begun(void)
{
	unsigned long long sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += __atomic_load_n(&shared->threads[i].begun, __ATOMIC_RELAXED);
	return sum;
}

/* oopsed - Whether a task died in an oops: others may hang on its locks */
static bool oopsed(void)
{
	char *text = get("/proc/sys/kernel", "tainted");
	bool died = text && atol(text) & TAINT_DIE;

	free(text);
	return died;
}

static int interrupted;
static bool oopsed_before;
static pid_t fuzzing;

static void tell_digest(void)
{
	unsigned long long digest = 0;

	for (int i = 0; i < THREADS; i++)
		digest = mix(digest ^ shared->threads[i].digest);
	ksft_print_msg("seed 0x%llx, %llu operations, digest 0x%016llx\n", seed, all_begun(),
		       digest);
}

/* No cleaning up, which would hang */
static void end_early(const char *why)
{
	tell_digest();
	printf("Bail out! %s\n", why);
	fflush(stdout);
	_exit(KSFT_FAIL);
}

/* The signals that end the program, after its clean-up */
static void set_of_ends(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
}

/* Wait for the process of a round, and end it in time: whether it ended well */
static bool end_of_round(double end)
{
	unsigned long long begun[THREADS] = { 0 };
	struct timespec second = { .tv_sec = 1 };
	double since[THREADS];
	int signal, status;
	sigset_t set;

	set_of_ends(&set);
	sigaddset(&set, SIGCHLD);
	for (int i = 0; i < THREADS; i++)
		since[i] = seconds();
	for (;;) {
		if (waitpid(fuzzing, &status, WNOHANG) == fuzzing)
			break;
		signal = sigtimedwait(&set, NULL, &second);
		if (signal > 0 && signal != SIGCHLD)
			interrupted = signal;
		if (interrupted || seconds() > end)
			__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
		for (int i = 0; i < THREADS; i++) {
			const struct thread *t = &shared->threads[i];

			if (t->begun != begun[i] || (t->begun >= t->limit && !stopped()))
				since[i] = seconds();
			begun[i] = t->begun;
			if (seconds() - since[i] < HANG_SECONDS)
				continue;
			ksft_print_msg("thread %d hangs\n", i);
			tell_last(true);
			kill(fuzzing, SIGKILL);
			for (int wait = 0; wait < HANG_SECONDS; wait++) {
				if (waitpid(fuzzing, &status, WNOHANG) == fuzzing)
					return false;
				sleep(1);
			}
			end_early("a thread hangs, and cannot be killed");
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
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		unsigned long done = 0, refused = 0;
		double took = 0;

		for (int j = 0; j < THREADS; j++) {
			done += shared->threads[j].done[i];
			refused += shared->threads[j].refused[i];
			took += shared->threads[j].seconds[i];
		}
		ksft_print_msg("%lu times %s, %lu refused, %.1f s\n", done, operations[i].name,
			       refused, took);
	}
}

static void usage_error(const char *what, const char *arg)
{
	fprintf(stderr, "error: %s '%s': trap_fuzz [-s SEED] [-d SECONDS | -n OPERATIONS] [-v]\n",
		what, arg);
	exit(KSFT_FAIL);
}

static unsigned long long parse_number(const char *text, unsigned long long most)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (!isdigit(*text) || *end || errno || n > most)
		usage_error("not a number, or out of range,", text);
	return n;
}

static void parse_options(int argc, char **argv, unsigned long long *limit, double *duration)
{
	bool have_seed = false, have_duration = false, have_limit = false;
	char option[3] = "-";
	int c;

	opterr = 0;
	while ((c = getopt(argc, argv, ":s:d:n:v")) != -1) {
		option[1] = optopt;
		switch (c) {
		case 's':
			seed = parse_number(optarg, -1ULL);
			have_seed = true;
			break;
		case 'd':
			*duration = parse_number(optarg, 7 * 24 * 3600);
			have_duration = true;
			break;
		case 'n':
			*limit = parse_number(optarg, 1ULL << 40);
			have_limit = true;
			break;
		case 'v':
			verbose = true;
			break;
		case ':':
			usage_error("a value is missing after", option);
			break;
		default:
			usage_error("no such option", option);
		}
	}
	if (optind < argc)
		usage_error("no such argument", argv[optind]);
	if (have_duration && have_limit)
		usage_error("-d and -n exclude each other, as in", "-d 1 -n 1");
	if (have_duration && !*duration)
		usage_error("too short", "-d 0");
	if (have_limit && !*limit)
		usage_error("too few", "-n 0");
	if (!have_seed && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		usage_error("no random seed, give one", "-s");
	if (*limit)
		*duration = 1e9;
}

static void set_up(unsigned long long limit)
{
	struct utsname uts;
	sigset_t set;

	/* end_of_round() takes these by sigtimedwait() */
	set_of_ends(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);

	if (ARRAY_SIZE(operations) > OPERATIONS)
		ksft_exit_fail_msg("no room to count all operations\n");
	page_size = sysconf(_SC_PAGESIZE);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	main_pid = getpid();
	prctl(PR_SET_NAME, NAME "_main");
	set_up_user_traps();
#ifdef __x86_64__
	set_up_bound();
#endif
	kernel_text = kernel_symbol("_stext");
	tracer_function = kernel_symbol("trace_event_buffer_lock_reserve");
	have_nx = !uname(&uts) && !strcmp(uts.machine, "x86_64");
	find_probed();
	find_vsyscall();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &shared->threads[i];

		t->number = i;
		t->role = i < RAISERS ? RAISER : i < RAISERS + SWITCHERS ? SWITCHER : OUTSIDE;
		t->digest = i;
		t->limit = !limit ? -1ULL : t->role == RAISER ? limit : t->role == SWITCHER ?
			   (limit + SWITCHERS_DO - 1) / SWITCHERS_DO :
			   (limit + OUTSIDE_DOES - 1) / OUTSIDE_DOES;
	}
}

static bool all_at_limit(void)
{
	for (int i = 0; i < THREADS; i++)
		if (shared->threads[i].begun < shared->threads[i].limit)
			return false;
	return true;
}

#define EVENTS_AS_TRAPS		"as many events as traps, while all is switched"
#define PROBE_SUPPRESSED	"a trap of a probe is suppressed, and counted"

int main(int argc, char **argv)
{
	bool went_on = true, agrees = true, restored = true, exact = true, guarded = true;
	bool have_probe;
	unsigned long long limit = 0, rounds = 0, failures = 0, watched_rounds = 0;
	unsigned long agreed = 0, counted = 0;
	double duration = SECONDS, end;
	char *before, *after;

	parse_options(argc, argv, &limit, &duration);
	start("pagefault/pagefault_exit");
	start_monitor();
	if (access(TRACING "/events/pagefault/pagefault_exit", F_OK))
		ksft_exit_skip("no pagefault events in " TRACING "\n");
	if (access(SUPPRESSED, R_OK))
		ksft_exit_skip("no " SUPPRESSED "\n");
	set_up(limit);
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
		remember_raised();
		if (rounds & 1) {
			watch_begin();
			watched_rounds++;
		}
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
		/* Kprobes go in the background */
		after = state();
		for (int i = 0; i < 50 && !same_state(before, after, false); i++) {
			usleep(100000);
			free(after);
			after = state();
		}
		restored &= same_state(before, after, true);
		free(after);
		exact &= counts_exactly();
		guarded &= !have_probe || guards(&counted);
	}
	tell_console("rounds of which all ended:", rounds);
	if (interrupted)
		ksft_print_msg("ended by %s\n", strsignal(interrupted));
	for (int i = 0; i < THREADS; i++) {
		if (shared->threads[i].failures)
			ksft_print_msg("thread %d, %lu failures, the first in %s\n", i,
				       shared->threads[i].failures, shared->threads[i].failure);
		failures += shared->threads[i].failures;
	}
	if (failures)
		tell_last(false);
	tell_operations();
	tell_digest();
	ksft_print_msg("to do the same again: -s 0x%llx -n %llu\n", seed,
		       limit ? limit : operations_to_replay());
	ksft_print_msg("%llu rounds, %llu of them watched: %lu traps; %lu events suppressed\n",
		       rounds, watched_rounds, agreed, counted);

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
