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
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>

#include "pagefault_matrix.h"

static const struct {
	const char *event, *filter;
	int software;
} counters[COUNTERS] = {
	[EXIT_MINOR] = { EXIT_EVENT, MINOR },
	[EXIT_MAJOR] = { EXIT_EVENT, MAJOR },
	[EXIT_OTHER] = { EXIT_EVENT, "outcome > 1" },
	[EXIT_FIXUP] = { EXIT_EVENT, FIXUP },
	[EXIT_KERNEL_ADDRESS] = { EXIT_EVENT, "address >= 0x%llx" },
	[EXIT_NO_DURATION] = { EXIT_EVENT, "duration == 0" },
	[ENTRY] = { ENTRY_EVENT },
	[ENTRY_USER] = { ENTRY_EVENT, IN_USER },
	[NOREGS_MINOR] = { NOREGS_EVENT, MINOR },
	[NOREGS_MAJOR] = { NOREGS_EVENT, MAJOR },
	[NOREGS_OTHER] = { NOREGS_EVENT, "outcome > 1" },
	[PAGE_FAULT_USER] = { "exceptions/page_fault_user" },
	[PAGE_FAULT_KERNEL] = { "exceptions/page_fault_kernel" },
	[PERF_FAULTS] = { NULL, NULL, PERF_COUNT_SW_PAGE_FAULTS },
	[PERF_MINOR] = { NULL, NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	[PERF_MAJOR] = { NULL, NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
};

struct faults {
	long minor, major;
};

/* Of the workload that this process is */
const struct workload *workload;
bool together;
size_t n, left_out;
char *mem;
int counter[COUNTERS];
struct expected expected[8];
int expectations;
/*
 * Faults that end at a fixup, although the code has not disabled page faults. Code
 * that has is prepared for it, and tries again or has get_user_pages() do it:
 * futexes, some file systems, and rseq after a fork(), the return to user mode.
 */
size_t bad_fixups;

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

	if (fd < 0)
		ksft_exit_fail_msg("perf_event_open, %s: %s\n",
				   event ? event : "software event", strerror(errno));
	if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		ksft_exit_fail_msg("filter of %s, %s: %s\n", event, filter,
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
			snprintf(filter + strlen(filter), sizeof(filter) - strlen(filter),
				 " && !(" IN ")", (unsigned long)mem,
				 (unsigned long)mem + left_out * page);
		counter[i] = open_event(counters[i].event, counters[i].software,
					*filter ? filter : NULL, 0, -1);
	}
	for (struct expected *x = expected; x < expected + expectations; x++)
		x->fd = open_event(x->event, 0, x->filter, 0, -1);
}

static struct expected *add_expected(const char *event, const char *filter, const char *start,
				     size_t size)
{
	struct expected *x = &expected[expectations++];

	if (expectations > (int)ARRAY_SIZE(expected))
		give_up("too many expectations");
	x->event = event;
	snprintf(x->filter, sizeof(x->filter), "%s%s" IN, filter ?: "", filter ? AND : "",
		 (unsigned long)start, (unsigned long)start + size);
	return x;
}

/* expect - That there are @least to @most faults at some addresses */
void expect(const char *event, unsigned long least, unsigned long most, const char *filter,
	    const char *start, size_t size)
{
	struct expected *x = add_expected(event, filter, start, size);

	x->least = least;
	/* A page may fault again: after reclaim, or by NUMA balancing */
	x->most = together || numa_balancing ? ULONG_MAX : most;
}

/* expect_sum - The same of this and of the expectation before, together */
void expect_sum(const char *event, const char *filter, const char *start, size_t size)
{
	struct expected *x = add_expected(event, filter, start, size);

	x->least = x[-1].least;
	x->most = x[-1].most;
	x->more = true;
}

/*
 * Measuring
 */
static struct faults rusage(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (struct faults) {
		self.ru_minflt + children.ru_minflt,
		self.ru_majflt + children.ru_majflt,
	};
}

static bool same(struct faults a, struct faults b)
{
	return a.minor == b.minor && a.major == b.major;
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
	struct faults before, enabled, end, after;
	int tries = 0;

	do {
		if (tries++ == 20)
			give_up("there are always faults while the counting starts");
		want(prctl(PR_TASK_PERF_EVENTS_DISABLE), "disable");
		reset_counters();
		before = rusage();
		want(prctl(PR_TASK_PERF_EVENTS_ENABLE), "enable");
		enabled = rusage();
	} while (!same(before, enabled));

	*time = now();
	if (run)
		run();
	*time = now() - *time;

	/* The memory may have to be copied after a fork() */
	end = rusage();
	end = rusage();
	want(prctl(PR_TASK_PERF_EVENTS_DISABLE), "disable");
	after = rusage();

	f->minor = end.minor - before.minor;
	f->major = end.major - before.major;
	return same(end, after);
}

/*
 * The sum of durations, by histograms. No memory is allocated here: a fault of
 * this would be in them.
 */
struct durations {
	unsigned long long faults, sum;
};

#define HISTOGRAM	"hist:keys=common_pid:vals=duration if common_pid == %d"

static const char *const timed_events[] = { EXIT_EVENT, NOREGS_EVENT };

static void time_faults(bool on)
{
	char file[100];

	for (size_t i = 0; i < ARRAY_SIZE(timed_events); i++) {
		snprintf(file, sizeof(file), "events/%s/trigger", timed_events[i]);
		/* O_TRUNC removes the trigger */
		must(put(instance, file, "%s", ""), file);
		if (on)
			must(put(instance, file, HISTOGRAM, getpid()), file);
	}
}

static void read_durations(struct durations *d)
{
	unsigned long long faults, sum;
	static char text[4096];
	char file[200], *at;
	ssize_t size;
	int fd;

	memset(d, 0, sizeof(*d));
	for (size_t i = 0; i < ARRAY_SIZE(timed_events); i++) {
		snprintf(file, sizeof(file), "%s/events/%s/hist", instance, timed_events[i]);
		fd = want(open(file, O_RDONLY), file);
		size = want(read(fd, text, sizeof(text) - 1), file);
		text[size] = '\0';
		close(fd);
		at = strstr(text, "} hitcount:");
		if (at && sscanf(at, "} hitcount: %llu duration: %llu", &faults, &sum) == 2) {
			d->faults += faults;
			d->sum += sum;
		}
	}
}

static bool differ(const char *what, unsigned long long a, unsigned long long b)
{
	if (a == b)
		return false;
	if (!left_out || verbose)
		ksft_print_msg("%s: %s: %llu, not %llu\n", workload->name, what, a, b);
	return true;
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
	for (int i = 0; verbose && i < COUNTERS; i++)
		if (c[i])
			ksft_print_msg("%s: %llu of %s, %s\n", workload->name, c[i],
				       counters[i].event ?: "software event",
				       counters[i].filter ?: "");
	if (verbose)
		ksft_print_msg("%s: %ld minor, %ld major by getrusage()\n", workload->name,
			       f->minor, f->major);

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
		x->count = read_event(x->fd);
		sum = x->more ? sum + x->count : x->count;
		if (verbose)
			ksft_print_msg("%s:     %llu of %s, %s (%lu to %ld)\n",
				       workload->name, x->count, x->event, x->filter,
				       x->least, x->most);
		if (x < expected + expectations - 1 && x[1].more)
			continue;
		if (sum >= x->least && sum <= x->most)
			continue;
		ksft_print_msg("%s: %llu of %s with %s, not %lu to %lu\n",
			       workload->name, sum, x->event, x->filter,
			       x->least, x->most);
		wrong++;
	}
	return wrong;
}

/* Whether the faults of a sequential task took no longer than it ran */
static bool within(const struct durations *d, unsigned long long time)
{
	unsigned long long counted = 0;
	const int timed[] = {
		EXIT_MINOR, EXIT_MAJOR, EXIT_OTHER, NOREGS_MINOR, NOREGS_MAJOR,
		NOREGS_OTHER,
	};
	bool fine;

	for (size_t i = 0; i < ARRAY_SIZE(timed); i++)
		counted += read_event(counter[timed[i]]);
	if (verbose)
		ksft_print_msg("%s:     %llu ns in %llu faults, of %llu ns\n",
			       workload->name, d->sum, d->faults, time);
	fine = !differ("faults of the histogram and of perf", d->faults, counted);
	if (d->sum > time || d->sum < d->faults) {
		ksft_print_msg("%s: %llu faults took %llu ns, of %llu ns\n",
			       workload->name, d->faults, d->sum, time);
		fine = false;
	}
	return fine;
}

/* All begin at the same time */
static void wait_for_others(void)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (together && !__atomic_load_n(&shared->go, __ATOMIC_SEQ_CST))
		usleep(1000);
}

/* This process becomes a workload */
void work(const struct workload *w, struct result *r)
{
	bool timed = w->kind == SEQUENTIAL && !together && !left_out, fine;
	unsigned long long time = 0;
	struct durations d;
	struct faults f;
	const char *why;
	int wrong, dry;
	long missing;

	/* Ends a workload that waits for something that never comes */
	alarm(300);
	workload = w;
	before_give_up = leave;
	n = together ? w->pages_together : w->pages;
	want(mlockall(MCL_CURRENT), "mlockall");
	/* The threads of glibc need the futex() with 32-bit time */
	if (w->kind == THREADS && syscall(SYS_futex, &dry, FUTEX_WAKE_PRIVATE, 1))
		why = "this kernel has no futex() for threads of this program";
	else
		why = w->set_up();
	if (why) {
		r->skipped = true;
		snprintf(r->why, sizeof(r->why), "%s", why);
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
			read_durations(&d);
			time_faults(false);
		}
	}
	if (!fine)
		give_up("there was a fault while the counting ended");
	wrong = disagree(&f, &missing);
	/* getrusage(), perf, the exceptions events, and entries and exits */
	fine = left_out ? wrong == 6 && missing == (long)left_out : !wrong;
	if (timed)
		fine &= within(&d, time);
	_exit(fine ? KSFT_PASS : KSFT_FAIL);
}
