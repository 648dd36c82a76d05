// SPDX-License-Identifier: GPL-2.0
/* pagefault_matrix: the counters of a workload, and whether they agree */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>

#include "pagefault_matrix.h"

/* What a workload is counted by */
enum counter {
	EXIT_MINOR, EXIT_MAJOR, EXIT_OTHER, NOREGS_MINOR, NOREGS_MAJOR, NOREGS_OTHER,
	TIMED,				/* the events with a duration are before this one */
	EXIT_FIXUP = TIMED, EXIT_KERNEL_ADDRESS, EXIT_NO_DURATION, ENTRY, ENTRY_USER,
	PAGE_FAULT_USER, PAGE_FAULT_KERNEL, PERF_FAULTS, PERF_MINOR, PERF_MAJOR, COUNTERS
};

static const struct {
	const char *event, *filter;
	int software;
} counters[COUNTERS] = {
	[EXIT_MINOR] = { EXIT_EVENT, MINOR },
	[EXIT_MAJOR] = { EXIT_EVENT, MAJOR },
	[EXIT_OTHER] = { EXIT_EVENT, "outcome > 1" },
	[NOREGS_MINOR] = { NOREGS_EVENT, MINOR },
	[NOREGS_MAJOR] = { NOREGS_EVENT, MAJOR },
	[NOREGS_OTHER] = { NOREGS_EVENT, "outcome > 1" },
	[EXIT_FIXUP] = { EXIT_EVENT, FIXUP },
	[EXIT_KERNEL_ADDRESS] = { EXIT_EVENT, "address >= 0x%llx" },
	[EXIT_NO_DURATION] = { EXIT_EVENT, "duration == 0" },
	[ENTRY] = { ENTRY_EVENT },
	[ENTRY_USER] = { ENTRY_EVENT, IN_USER },
	[PAGE_FAULT_USER] = { "exceptions/page_fault_user" },
	[PAGE_FAULT_KERNEL] = { "exceptions/page_fault_kernel" },
	[PERF_FAULTS] = { .software = PERF_COUNT_SW_PAGE_FAULTS },
	[PERF_MINOR] = { .software = PERF_COUNT_SW_PAGE_FAULTS_MIN },
	[PERF_MAJOR] = { .software = PERF_COUNT_SW_PAGE_FAULTS_MAJ },
};

struct faults {
	long minor, major;
};

/* Of the workload that this process is */
const struct workload *workload;
bool together;
size_t n, left_out, mem_size, step;	/* step: from one page to the next */
char *mem;
static int counter[COUNTERS];
struct expected expected[9];	/* the last one is empty */
int expectations;
/*
 * Faults that end at a fixup, although the code has not disabled page faults. Code
 * that has is prepared for it, and tries again or has get_user_pages() do it:
 * futexes, some file systems, and rseq after a fork(), the return to user mode.
 */
size_t bad_fixups;

size_t pages_of(const struct workload *w)
{
	return together && w->together ? w->together : w->pages;
}

/* The other workloads must not wait for this one */
static void leave(void)
{
	ksft_print_msg("of the workload %s\n", workload->name);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
}

/* want - What a system call returned, unless that says it failed */
long want(long ret, const char *what)
{
	if (ret == -1)
		give_up("%s: %s", what, strerror(errno));
	return ret;
}

/*
 * Counters
 */
int open_event(const char *event, int software, const char *filter, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = event ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
		.config = event ? event_id(event) : software,
		.disabled = pid >= 0, .inherit = pid >= 0,
	};
	int fd = perf_open(&attr, pid, cpu);

	if (fd < 0 || (*filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter)))
		ksft_exit_fail_msg("%s, filter %s: %s\n", event ?: "software event", filter,
				   strerror(errno));
	return fd;
}

unsigned long long read_event(int fd)
{
	unsigned long long count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		ksft_exit_fail_msg("read a counter: %s\n", strerror(errno));
	return count;
}

static void open_counters(void)
{
	char filter[200];

	for (int i = 0; i < COUNTERS; i++) {
		snprintf(filter, sizeof(filter), counters[i].filter ?: "", kernel_base);
		/* The control: as if the first faults of the workload were lost */
		if (left_out && (i == EXIT_MINOR || i == ENTRY_USER))
			snprintf(filter, sizeof(filter), "%s && !(" IN ")", counters[i].filter,
				 (unsigned long)mem, (unsigned long)mem + left_out * page_size);
		counter[i] = open_event(counters[i].event, counters[i].software, filter, 0, -1);
	}
	for (int i = 0; i < expectations; i++)
		expected[i].fd = open_event(expected[i].event, 0, expected[i].filter, 0, -1);
}

/* expect - That there are @least to @most faults on the memory */
void expect(const char *event, unsigned long least, unsigned long most, const char *filter)
{
	struct expected *x = &expected[expectations++];

	if (expectations == 9)
		give_up("too many expectations");
	x->event = event;
	snprintf(x->filter, sizeof(x->filter), "%s%s" IN, filter ?: "", filter ? " && " : "",
		 (unsigned long)mem, (unsigned long)mem + mem_size);
	x->least = least;
	/* A page may fault again: after reclaim, or by NUMA balancing */
	x->most = together || numa_balancing ? ULONG_MAX : most;
}

/*
 * Measuring
 */

/* Read getrusage() into @f. Return whether it is unchanged */
static bool same_rusage(struct faults *f)
{
	struct faults before = *f;
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	f->minor = self.ru_minflt + children.ru_minflt;
	f->major = self.ru_majflt + children.ru_majflt;
	return f->minor == before.minor && f->major == before.major;
}

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void reset_counters(void)
{
	for (int i = 0; i < COUNTERS; i++)
		want(ioctl(counter[i], PERF_EVENT_IOC_RESET, 0), "reset");
	for (int i = 0; i < expectations; i++)
		want(ioctl(expected[i].fd, PERF_EVENT_IOC_RESET, 0), "reset");
}

/*
 * What is between getrusage() and the counting must not fault. All memory that
 * is used there is locked, and was used before, by a call without @run. Unless
 * getrusage() returns the same before and after, try again.
 */
static bool measure(void (*run)(void), struct faults *f, unsigned long long *time)
{
	struct faults before = { }, end = { };
	int tries = 0;

	do {
		if (tries++ == 20)
			give_up("there are always faults while the counting starts");
		want(prctl(PR_TASK_PERF_EVENTS_DISABLE), "disable");
		reset_counters();
		same_rusage(&before);
		want(prctl(PR_TASK_PERF_EVENTS_ENABLE), "enable");
	} while (!same_rusage(&before));

	*time = now();
	if (run)
		run();
	*time = now() - *time;

	/* The memory may have to be copied after a fork() */
	same_rusage(&end);
	same_rusage(&end);
	want(prctl(PR_TASK_PERF_EVENTS_DISABLE), "disable");
	f->minor = end.minor - before.minor;
	f->major = end.major - before.major;
	return same_rusage(&end);
}

/*
 * The sum of durations, by histograms. No memory is allocated here: a fault of
 * this would be in them.
 */
static const char *const timed_events[] = { EXIT_EVENT, NOREGS_EVENT };

static void time_faults(bool on)
{
	char file[100];

	for (size_t i = 0; i < ARRAY_SIZE(timed_events); i++) {
		snprintf(file, sizeof(file), "events/%s/trigger", timed_events[i]);
		/* O_TRUNC removes the trigger */
		must(put(fault_instance, file, "%s", ""), file);
		if (on)
			must(put(fault_instance, file,
				 "hist:keys=common_pid:vals=duration if common_pid == %d",
				 getpid()), file);
	}
}

static void read_durations(unsigned long long *faults, unsigned long long *sum)
{
	unsigned long long some, took;
	static char text[4096];
	char file[200], *at;
	ssize_t size;
	int fd;

	*faults = 0;
	*sum = 0;
	for (size_t i = 0; i < ARRAY_SIZE(timed_events); i++) {
		snprintf(file, sizeof(file), "%s/events/%s/hist", fault_instance, timed_events[i]);
		fd = want(open(file, O_RDONLY), file);
		size = want(read(fd, text, sizeof(text) - 1), file);
		text[size] = '\0';
		close(fd);
		at = strstr(text, "} hitcount:");
		if (at && sscanf(at, "} hitcount: %llu duration: %llu", &some, &took) == 2) {
			*faults += some;
			*sum += took;
		}
	}
}

static bool differ(const char *what, unsigned long long a, unsigned long long b)
{
	if (a != b && !left_out)
		ksft_print_msg("%s: %s: %llu, not %llu\n", workload->name, what, a, b);
	return a != b;
}

/* How many counters disagree; @missing: minor faults without an event */
static int disagree(const struct faults *f, long *missing)
{
	unsigned long long c[COUNTERS], exits, sum = 0;
	int wrong = 0;

	for (int i = 0; i < COUNTERS; i++)
		c[i] = read_event(counter[i]);
	exits = c[EXIT_MINOR] + c[EXIT_MAJOR] + c[EXIT_OTHER];
	*missing = f->minor - (c[EXIT_MINOR] + c[NOREGS_MINOR]);

	wrong += differ("minor, events and getrusage()",
			c[EXIT_MINOR] + c[NOREGS_MINOR], f->minor);
	wrong += differ("major, events and getrusage()",
			c[EXIT_MAJOR] + c[NOREGS_MAJOR], f->major);
	wrong += differ("entries and exits", c[ENTRY], exits);
	wrong += differ("user entries and page_fault_user",
			c[ENTRY_USER], c[PAGE_FAULT_USER]);
	wrong += differ("kernel entries and page_fault_kernel",
			c[ENTRY] - c[ENTRY_USER], c[PAGE_FAULT_KERNEL]);
	wrong += differ("minor exits and minor-faults", c[EXIT_MINOR], c[PERF_MINOR]);
	wrong += differ("major exits and major-faults", c[EXIT_MAJOR], c[PERF_MAJOR]);
	wrong += differ("exits without duration", c[EXIT_NO_DURATION], 0);
	/*
	 * page-faults leaves out the faults at addresses of the kernel, and those
	 * in code that has disabled page faults
	 */
	wrong += differ("exits and page-faults",
			exits - c[EXIT_KERNEL_ADDRESS] - (c[EXIT_FIXUP] - bad_fixups),
			c[PERF_FAULTS]);

	for (struct expected *x = expected; x < expected + expectations; x++) {
		sum = read_event(x->fd) + (x->more ? sum : 0);
		if (x[1].more || (sum >= x->least && sum <= x->most))
			continue;
		ksft_print_msg("%s: %llu of %s with %s, not %lu to %lu\n", workload->name, sum,
			       x->event, x->filter, x->least, x->most);
		wrong++;
	}
	return wrong;
}

/* Whether the faults of a sequential task took no longer than it ran */
static bool within(unsigned long long faults, unsigned long long sum, unsigned long long time)
{
	unsigned long long counted = 0;
	bool fine;

	for (int i = 0; i < TIMED; i++)
		counted += read_event(counter[i]);
	fine = !differ("faults of the histogram and of perf", faults, counted);
	if (sum <= time && sum >= faults)
		return fine;
	ksft_print_msg("%s: %llu faults took %llu ns, of %llu ns\n", workload->name, faults, sum,
		       time);
	return false;
}

/* All begin at the same time */
static void wait_for_others(void)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (together && !__atomic_load_n(&shared->go, __ATOMIC_SEQ_CST))
		usleep(1000);
}

static const char *set_up(void)
{
	const char *why;
	int dry;

	/* The threads of glibc need the futex() with 32-bit time */
	if (workload->kind == THREADS && syscall(SYS_futex, &dry, FUTEX_WAKE_PRIVATE, 1))
		return "this kernel has no futex() for threads of this program";
	n = pages_of(workload);
	step = page_size;
	mem_size = n * step;
	why = workload->set_up();
	for (size_t i = 0; !why && workload->faults[i].event; i++)
		expect(workload->faults[i].event, workload->faults[i].least * n / 2,
		       workload->faults[i].most == ANY ? ULONG_MAX :
		       workload->faults[i].most * n / 2, workload->faults[i].filter);
	return why;
}

/* This process becomes a workload */
void work(const struct workload *w, char *skipped)
{
	bool timed = w->kind == SEQUENTIAL && !together && !left_out, fine;
	unsigned long long time, faults = 0, sum = 0;
	struct faults f;
	const char *why;
	int wrong, dry;
	long missing;

	/* Ends a workload that waits for something that never comes */
	alarm(300);
	workload = w;
	before_give_up = leave;
	want(mlockall(MCL_CURRENT), "mlockall");
	why = set_up();
	if (why) {
		snprintf(skipped, sizeof(shared->why[0]), "%s", why);
		wait_for_others();
		_exit(KSFT_SKIP);
	}
	open_counters();
	wait_for_others();
	for (dry = 1; dry >= 0; dry--) {
		if (timed)
			time_faults(true);
		fine = measure(dry ? NULL : w->run, &f, &time);
		if (timed) {
			read_durations(&faults, &sum);
			time_faults(false);
		}
	}
	if (!fine)
		give_up("there was a fault while the counting ended");
	wrong = disagree(&f, &missing);
	/* getrusage(), perf, the exceptions events, and entries and exits */
	fine = left_out ? wrong == 6 && missing == (long)left_out : !wrong;
	if (timed)
		fine &= within(faults, sum, time);
	_exit(fine ? KSFT_PASS : KSFT_FAIL);
}
