// SPDX-License-Identifier: GPL-2.0
/*
 * Count page faults by the pagefault trace events, and compare with all others
 * who count them: getrusage(), /proc/PID/stat, /proc/vmstat, the exceptions
 * events and the software events of perf. All have to agree, to the last fault.
 *
 * The events are counted by counters of perf with filters: nothing gets lost
 * there, as in a ring buffer. Each workload is a process that counts itself, its
 * threads and its children, first alone, and then all workloads at once, while
 * the events of the whole system are counted, too.
 *
 * Not counted are faults of a task that exits, from where perf_event_exit_task()
 * takes its counters away: exit_mm() writes to clear_child_tid and reads the list
 * of robust futexes. That memory is there in all workloads, so nothing faults.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>

#include "lib.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT		21
#endif

#define ENTRY_EVENT	"pagefault/pagefault_entry"
#define EXIT_EVENT	"pagefault/pagefault_exit"
#define NOREGS_EVENT	"pagefault/pagefault_noregs"

/* For filters: enum pagefault_outcome */
#define MINOR		"outcome == 0"
#define MAJOR		"outcome == 1"
#define COUNTED		"outcome <= 1"
#define RETRY		"outcome == 2"
#define FAILED		"outcome == 3"
#define INTERRUPTED	"outcome == 4"
#define FIXUP		"outcome == 6"
#define SIGNAL		"outcome == 7 && signo == "
#define SIGBUS_SENT	SIGNAL "7 && si_code == 2"
#define SEGV_MAPERR_SENT SIGNAL "11 && si_code == 1"
#define SEGV_ACCERR_SENT SIGNAL "11 && si_code == 2"
#define SEGV_PKUERR_SENT SIGNAL "11 && si_code == 4"

/* enum pagefault_flags and vm_fault_reason */
#define ANONYMOUS	"flags & 0x1"
#define IN_FILE		"flags & 0x2"
#define IN_SHMEM	"flags & 0x4"
#define HUGE_TLB	"flags & 0x8"
#define COPIED		"flags & 0x10"
#define FROM_SWAP	"flags & 0x20"
#define NOT_FROM_SWAP	"!(flags & 0x20)"
#define RETRIED		"flags & 0xc0"
#define COMPLETED	"vm_fault & 0x4000"

#define AND		" && "
#define IN_USER		"user_mode == 1"
#define IN_KERNEL	"user_mode == 0"
#define IN		"address >= 0x%lx && address < 0x%lx"

#define SWAP_SIZE	(64UL << 20)
#define PRESSED_SIZE	"8M"
#define HUGETLB_PAGES	4
#define LEFT_OUT	7
#define COPIES		4

/* 32-bit programs may have this one only */
#ifdef SYS_futex_time64
#define FUTEX		SYS_futex_time64
#else
#define FUTEX		SYS_futex
#endif

/* What a workload is counted by */
enum counter {
	EXIT_MINOR, EXIT_MAJOR, EXIT_OTHER, EXIT_FIXUP, EXIT_KERNEL_ADDRESS,
	EXIT_NO_DURATION, ENTRY, ENTRY_USER, NOREGS_MINOR, NOREGS_MAJOR,
	NOREGS_OTHER, PAGE_FAULT_USER, PAGE_FAULT_KERNEL, PERF_FAULTS,
	PERF_MINOR, PERF_MAJOR, COUNTERS
};

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

/* A count that a workload knows by itself */
struct expected {
	const char *event;
	char filter[200];
	unsigned long least, most;
	bool more;			/* the one before has to be added */
	int fd;
	unsigned long long count;
};

struct workload {
	const char *name;
	const char *(*set_up)(void);	/* returns why it cannot be done */
	void (*run)(void);
	size_t pages, pages_together;	/* on its own, and with all others */
	enum { PROCESSES, THREADS, SEQUENTIAL } kind;
};

/* What a workload, which is a process, tells its parent */
struct result {
	bool skipped;
	char why[200];
};

static struct shared {
	int ready;
	bool go;
	struct result results[100];
} *shared;

static size_t page;
static int ncpus;
static bool verbose, numa_balancing;
static const char *instance;
static unsigned long long kernel_base, kernel_text;
static char no_swap[100], no_group[100], no_hugetlb[100];
static char swap_file[PATH_MAX];
static char pressed_group[PATH_MAX], reclaimed_group[PATH_MAX];

/* Of the workload that this process is */
static const struct workload *workload;
static bool together;
static size_t n, left_out;
static char *mem;
static int counter[COUNTERS];
static struct expected expected[8];
static int expectations;
/*
 * Faults that end at a fixup, although the code has not disabled page faults. Code
 * that has is prepared for it, and tries again or has get_user_pages() do it:
 * futexes, some file systems, and rseq after a fork(), the return to user mode.
 */
static size_t bad_fixups;

/* Nobody is to wait for it */
static void leave(void)
{
	ksft_print_msg("of the workload %s\n", workload->name);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
}

/* want - What a system call returned, unless that says it failed */
static long want(long ret, const char *what)
{
	if (ret == -1)
		give_up("%s: %s", what, strerror(errno));
	return ret;
}

/*
 * Counters
 */
static int open_event(const char *event, int software, const char *filter, pid_t pid, int cpu)
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

static unsigned long long read_event(int fd)
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
static void expect(const char *event, unsigned long least, unsigned long most,
		   const char *filter, const char *start, size_t size)
{
	struct expected *x = add_expected(event, filter, start, size);

	x->least = least;
	/* Pages may fault again: reclaimed for others, or to see who uses them */
	x->most = together || numa_balancing ? ULONG_MAX : most;
}

/* expect_sum - The same of this and of the expectation before, together */
static void expect_sum(const char *event, const char *filter, const char *start, size_t size)
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
		/* To open it removes what is there */
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

/* How many of those who count disagree; @missing are the minor faults of this */
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

/* Whether the faults of a task, one after the other, took as long as it ran */
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
static void work(const struct workload *w, struct result *r)
{
	bool timed = w->kind == SEQUENTIAL && !together && !left_out, fine;
	unsigned long long time = 0;
	struct durations d;
	struct faults f;
	const char *why;
	int wrong, dry;
	long missing;

	/* Not for ever, should a workload wait for what does not come */
	alarm(300);
	workload = w;
	before_give_up = leave;
	n = together ? w->pages_together : w->pages;
	want(mlockall(MCL_CURRENT), "mlockall");
	/* The threads of glibc need the one with 32-bit time */
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

/*
 * Workloads
 */

/* Access memory, whatever the compiler thinks of that */
static void write_to(char *p)
{
	asm volatile("movb $1, (%0)" : : "r" (p) : "memory");
}

static void read_from(const char *p)
{
	asm volatile("cmpb $0, (%0)" : : "r" (p) : "memory", "cc");
}

static void write_pages(char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		write_to(start + i * page);
}

static void read_pages(char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		read_from(start + i * page);
}

/* reserve - Addresses for @pages pages, of which nothing is adjacent to others */
static char *reserve(size_t pages, int prot, int flags)
{
	char *start = mmap(NULL, (pages + 2) * page, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (start == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	start = mmap(start + page, pages * page, prot,
		     flags | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (start == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	madvise(start, pages * page, MADV_NOHUGEPAGE);
	return start;
}

static char *fresh(size_t pages)
{
	return reserve(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

static void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	int error = pthread_create(thread, NULL, fn, arg);

	if (error)
		give_up("pthread_create: %s", strerror(error));
}

static void end_child(pid_t child, int signal)
{
	int status;

	want(waitpid(child, &status, 0), "waitpid");
	if (signal ? !WIFSIGNALED(status) || WTERMSIG(status) != signal :
		     !WIFEXITED(status) || WEXITSTATUS(status))
		give_up("a child ended with status 0x%x", status);
}

/* New pages, not all at once if that needs much memory */
static size_t at_once(void)
{
	return n < 20000 ? n : 20000;
}

static const char *set_up_touch(void)
{
	mem = fresh(at_once());
	expect(EXIT_EVENT, n, n, MINOR AND "flags == 1" AND IN_USER, mem, at_once() * page);
	return NULL;
}

static void run_touch(void)
{
	for (size_t done = 0; done < n; done += at_once()) {
		madvise(mem, at_once() * page, MADV_DONTNEED);
		write_pages(mem, at_once());
	}
}

/* The page of zeros again and again, in a thread on each CPU */
#define ZEROS		50

static size_t zero_rounds(void)
{
	return (n + ZEROS * ncpus - 1) / (ZEROS * ncpus);
}

static const char *set_up_zeros(void)
{
	size_t all = zero_rounds() * ZEROS * ncpus;

	mem = fresh(ncpus * ZEROS);
	expect(EXIT_EVENT, all, all, MINOR AND ANONYMOUS, mem, ncpus * ZEROS * page);
	return NULL;
}

static void *read_zeros(void *arg)
{
	char *mine = mem + (long)arg * ZEROS * page;

	pin((long)arg);
	for (size_t i = zero_rounds(); i > 0; i--) {
		madvise(mine, ZEROS * page, MADV_DONTNEED);
		read_pages(mine, ZEROS);
	}
	return NULL;
}

/* A thread on each CPU */
static void run_threads(void *(*fn)(void *))
{
	pthread_t threads[ncpus];

	for (long cpu = 0; cpu < ncpus; cpu++)
		start_thread(&threads[cpu], fn, (void *)cpu);
	for (int cpu = 0; cpu < ncpus; cpu++)
		pthread_join(threads[cpu], NULL);
}

static void run_zeros(void)
{
	run_threads(read_zeros);
}

/* All threads fault on one page at once; one maps it, for all or for itself */
#define SAME		8

static pthread_barrier_t barrier;

static const char *set_up_same(void)
{
	mem = fresh(n);
	pthread_barrier_init(&barrier, NULL, ncpus);
	expect(EXIT_EVENT, n, n * ncpus, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

static void *write_same(void *arg)
{
	pin((long)arg);
	for (size_t i = 0; i < n; i += SAME) {
		pthread_barrier_wait(&barrier);
		write_pages(mem + i * page, SAME);
	}
	return NULL;
}

static void run_same(void)
{
	run_threads(write_same);
}

/* Some fault while the mapping is changed, and so cannot have its own lock */
#define CHANGES		50

static const char *set_up_changing(void)
{
	if (ncpus == 1)
		return "there is only one CPU";
	mem = fresh(n);
	pthread_barrier_init(&barrier, NULL, ncpus);
	expect(EXIT_EVENT, n / ncpus * (ncpus - 1), ULONG_MAX, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

static void *write_or_change(void *arg)
{
	size_t cpu = (long)arg, mine = n / ncpus;
	int exec;

	pin(cpu);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < CHANGES; i++) {
		exec = i % 2 ? PROT_EXEC : 0;
		if (cpu)
			write_pages(mem + (cpu * mine + i * (mine / CHANGES)) * page,
				    mine / CHANGES);
		else
			want(mprotect(mem, n * page, PROT_READ | PROT_WRITE | exec),
			     "mprotect");
	}
	if (cpu)
		write_pages(mem + cpu * mine * page, mine);
	return NULL;
}

static void run_changing(void)
{
	run_threads(write_or_change);
}

/* Each child copies each page, as the parent still has it; then the parent */
static const char *set_up_fork(void)
{
	mem = fresh(n);
	write_pages(mem, n);
	expect(EXIT_EVENT, (COPIES + 1) * n, (COPIES + 1) * n, MINOR AND ANONYMOUS AND IN_USER,
	       mem, n * page);
	/* The parent may find that nobody else has the page any more */
	expect(EXIT_EVENT, COPIES * n, (COPIES + 1) * n, COPIED, mem, n * page);
	return NULL;
}

static void run_fork(void)
{
	pid_t children[COPIES];

	for (int i = 0; i < COPIES; i++) {
		children[i] = must_fork();
		if (children[i])
			continue;
		write_pages(mem, n);
		_exit(0);
	}
	for (int i = 0; i < COPIES; i++)
		end_child(children[i], 0);
	write_pages(mem, n);
}

/* What was moved does not fault, what is new does */
static const char *set_up_mremap(void)
{
	mem = reserve(8 * n, PROT_NONE, MAP_PRIVATE);
	expect(EXIT_EVENT, 4 * n, 4 * n, MINOR AND ANONYMOUS, mem, 8 * n * page);
	return NULL;
}

static void move(char *from, size_t from_pages, char *to, size_t pages, int flags)
{
	if (mremap(from, from_pages * page, pages * page, flags, to) != to)
		give_up("mremap: %s", strerror(errno));
}

static void run_mremap(void)
{
	char *a = mem, *b = mem + 2 * n * page, *c = mem + 5 * n * page;

	/* Nothing is to be in the way when it grows */
	munmap(mem, 8 * n * page);
	if (mmap(a, n * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != a)
		give_up("mmap: %s", strerror(errno));
	madvise(a, n * page, MADV_NOHUGEPAGE);
	write_pages(a, n);
	move(a, n, b, n, MREMAP_MAYMOVE | MREMAP_FIXED);
	write_pages(b, n);
	move(b, n, b, 2 * n, 0);
	write_pages(b, 2 * n);
	move(b, 2 * n, c, 2 * n, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP);
	write_pages(c, 2 * n);
	write_pages(b, 2 * n);
}

#define DISCARDS	20

static const char *set_up_discard(void)
{
	mem = fresh(n);
	expect(EXIT_EVENT, DISCARDS * n, DISCARDS * n, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

static void run_discard(void)
{
	for (int i = 0; i < DISCARDS; i++) {
		write_pages(mem, n);
		want(madvise(mem, n * page, MADV_DONTNEED), "madvise");
	}
}

/*
 * Files
 */
static const char no_disk[] = "$TMPDIR is not on a disk";

static const char *map_file(int prot, int flags)
{
	int fd = new_file(n);

	if (fd < 0)
		return no_disk;
	mem = mmap(NULL, n * page, prot, flags, fd, 0);
	if (mem == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	close(fd);
	return NULL;
}

static const char *set_up_file_read(void)
{
	const char *why = map_file(PROT_READ, MAP_SHARED);

	/* A fault may map its neighbours too, of the same page table at most */
	expect(EXIT_EVENT, 1 + n / 512, n, COUNTED AND IN_FILE, mem, n * page);
	return why;
}

static void run_read(void)
{
	read_pages(mem, n);
}

static void run_write(void)
{
	write_pages(mem, n);
}

static const char *set_up_file_cow(void)
{
	const char *why = map_file(PROT_READ | PROT_WRITE, MAP_PRIVATE);

	expect(EXIT_EVENT, n, n, COUNTED AND IN_FILE AND COPIED, mem, n * page);
	expect(EXIT_EVENT, n, n, NULL, mem, n * page);
	return why;
}

/* The file system is told of each page that is to be written */
static const char *set_up_file_write(void)
{
	const char *why = map_file(PROT_READ | PROT_WRITE, MAP_SHARED);

	expect(EXIT_EVENT, n, ULONG_MAX, COUNTED AND IN_FILE, mem, n * page);
	expect(EXIT_EVENT, n, ULONG_MAX, COMPLETED, mem, n * page);
	return why;
}

/* One for each page that is not in the page cache, without readahead */
static const char *set_up_file_major(void)
{
	unsigned char cached[n];
	size_t gone = 0;
	int fd;

	fd = new_file(n);
	if (fd < 0)
		return no_disk;
	drop_cache(fd);
	mem = mmap(NULL, n * page, PROT_READ, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	close(fd);
	want(madvise(mem, n * page, MADV_RANDOM), "madvise");
	want(mincore(mem, n * page, cached), "mincore");
	for (size_t i = 0; i < n; i++)
		gone += !(cached[i] & 1);
	if (!gone)
		give_up("POSIX_FADV_DONTNEED did nothing");
	expect(EXIT_EVENT, gone, n, MAJOR AND IN_FILE, mem, n * page);
	return NULL;
}

/* One thread has the page read, and all wait for it */
static const char *set_up_same_file(void)
{
	const char *why = set_up_file_major();

	/* That was for one thread */
	if (!why)
		expected[0].most = ULONG_MAX;
	pthread_barrier_init(&barrier, NULL, ncpus);
	return why;
}

static void *read_same(void *arg)
{
	pin((long)arg);
	for (size_t i = 0; i < n; i++) {
		pthread_barrier_wait(&barrier);
		read_from(mem + i * page);
	}
	return NULL;
}

static void run_read_same(void)
{
	run_threads(read_same);
}

/* What is read without the page cache, is found by get_user_pages() */
static int direct_fd;

static const char *set_up_direct(void)
{
	direct_fd = new_file(n);
	if (direct_fd < 0)
		return no_disk;
	if (fcntl(direct_fd, F_SETFL, O_DIRECT) ||
	    pread(direct_fd, fresh(1), page, 0) != (ssize_t)page)
		return "the file system of TMPDIR has no O_DIRECT";
	lseek(direct_fd, 0, SEEK_SET);
	mem = fresh(n);
	expect(NOREGS_EVENT, n, n, MINOR AND ANONYMOUS, mem, n * page);
	/* Some file systems write to the memory before */
	expect_sum(EXIT_EVENT, MINOR AND ANONYMOUS AND IN_KERNEL, mem, n * page);
	return NULL;
}

static void run_direct(void)
{
	size_t done = 0;

	while (done < n * page)
		done += want(read(direct_fd, mem + done, n * page - done), "read");
}

/*
 * Swap
 */

/* swapped - How many pages of the mapping at @mem are in swap */
static size_t swapped(void)
{
	char *maps = get("/proc/self", "smaps"), start[40], *at;
	size_t kib = 0;

	snprintf(start, sizeof(start), "\n%08lx-", (unsigned long)mem);
	at = maps ? strstr(maps, start) : NULL;
	at = at ? strstr(at, "\nSwap:") : NULL;
	if (!at || sscanf(at, "\nSwap: %zu", &kib) != 1)
		give_up("the memory is not in smaps");
	free(maps);
	return kib * 1024 / page;
}

/* Swap out, and say how many pages were */
static size_t swap_out(void)
{
	size_t out = 0;

	for (int i = 0; i < 100 && out < n / 2; i++) {
		want(madvise(mem, n * page, MADV_PAGEOUT), "MADV_PAGEOUT");
		out = swapped();
		/* Let it be written */
		usleep(50000);
	}
	if (out < n / 2)
		give_up("only %zu of %zu pages were swapped out", out, n);
	return out;
}

/*
 * What was written stays in the swap cache, and does not make a major fault. Read
 * it, and swap it out again: what does not have to be written is dropped at once.
 */
static const char *set_up_swap(void)
{
	size_t out;

	if (*no_swap)
		return no_swap;
	mem = fresh(n);
	write_pages(mem, n);
	for (int i = 0; i < 3; i++) {
		swap_out();
		read_pages(mem, n);
	}
	out = swap_out();
	expect(EXIT_EVENT, out, out, COUNTED AND ANONYMOUS AND FROM_SWAP, mem, n * page);
	expect(EXIT_EVENT, out, out, NULL, mem, n * page);
	expect(EXIT_EVENT, 1, out, MAJOR AND FROM_SWAP, mem, n * page);
	return NULL;
}

/*
 * Many threads fault on each page, and one maps it. The others have found it in
 * swap, wait for the lock of the page, and then find it mapped.
 */
static const char *set_up_same_swap(void)
{
	const char *why = ncpus == 1 ? "there is only one CPU" : set_up_swap();
	size_t out = expected[0].least;

	if (why)
		return why;
	expectations = 0;
	expect(EXIT_EVENT, out + 1, ULONG_MAX, COUNTED AND ANONYMOUS AND FROM_SWAP, mem, n * page);
	expect(EXIT_EVENT, 1, ULONG_MAX, MAJOR AND RETRIED AND FROM_SWAP, mem, n * page);
	expect(EXIT_EVENT, 0, 0, MAJOR AND NOT_FROM_SWAP, mem, n * page);
	/* Also together with others */
	expected[2].most = 0;
	pthread_barrier_init(&barrier, NULL, ncpus);
	return NULL;
}

/* To read shared memory makes it dirty: only a memory cgroup can drop it */
static const char *set_up_swap_shmem(void)
{
	size_t out;

	if (*no_swap)
		return no_swap;
	if (!*no_group)
		must(put(reclaimed_group, "cgroup.procs", "%d", getpid()), "cgroup.procs");
	mem = reserve(n, PROT_READ | PROT_WRITE, MAP_SHARED);
	write_pages(mem, n);
	out = swap_out();
	if (!*no_group) {
		/* This fails if there is less, but frees what there is */
		put(reclaimed_group, "memory.reclaim", "%zu", 2 * n * page);
		out = swapped();
		expect(EXIT_EVENT, 1, out, MAJOR AND FROM_SWAP, mem, n * page);
	}
	expect(EXIT_EVENT, out, out, COUNTED AND IN_SHMEM AND FROM_SWAP, mem, n * page);
	expect(EXIT_EVENT, out, n, NULL, mem, n * page);
	return NULL;
}

/* A memory cgroup of half the size: there is never more than that */
static const char *set_up_pressure(void)
{
	if (*no_swap)
		return no_swap;
	if (*no_group)
		return no_group;
	must(put(pressed_group, "cgroup.procs", "%d", getpid()), "cgroup.procs");
	mem = fresh(n);
	expect(EXIT_EVENT, n / 2, ULONG_MAX, COUNTED AND ANONYMOUS AND FROM_SWAP, mem, n * page);
	expect(EXIT_EVENT, 1, ULONG_MAX, MAJOR AND FROM_SWAP, mem, n * page);
	expect(EXIT_EVENT, n + n / 2, ULONG_MAX, COUNTED, mem, n * page);
	return NULL;
}

static void run_pressure(void)
{
	write_pages(mem, n);
	write_pages(mem, n);
}

/*
 * Userfaultfd
 */
static int uffd;
static pthread_t faulter;
static int told[2];

static const char *set_up_uffd(__u64 mode, __u64 feature, size_t pages)
{
	struct uffdio_api api = { .api = UFFD_API, .features = feature };
	struct uffdio_register reg = { .mode = mode };

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		return "this kernel has no userfaultfd";
	if (ioctl(uffd, UFFDIO_API, &api))
		return "this kernel cannot write-protect by userfaultfd";
	reg.range.start = (unsigned long)mem;
	reg.range.len = pages * page;
	want(ioctl(uffd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER");
	return NULL;
}

/* next_fault - Wait for the next fault, and say in which page */
static unsigned long next_fault(void)
{
	struct uffd_msg msg;

	if (read(uffd, &msg, sizeof(msg)) != sizeof(msg) ||
	    msg.event != UFFD_EVENT_PAGEFAULT)
		give_up("userfaultfd: no fault");
	return msg.arg.pagefault.address & ~(page - 1);
}

static void copy_page(unsigned long address)
{
	static char zeros[1 << 12];
	struct uffdio_copy copy = {
		.dst = address, .src = (unsigned long)zeros, .len = page,
	};

	want(ioctl(uffd, UFFDIO_COPY, &copy), "UFFDIO_COPY");
}

static void protect(unsigned long address, size_t pages, __u64 mode)
{
	struct uffdio_writeprotect wp = {
		.range = { address, pages * page }, .mode = mode,
	};

	want(ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), "UFFDIO_WRITEPROTECT");
}

/* Half in user mode, by the lock of the VMA, and half in kernel mode, by another */
static const char *set_up_missing(void)
{
	mem = fresh(n);
	expect(EXIT_EVENT, n, n, COUNTED AND RETRIED AND ANONYMOUS, mem, n * page);
	expect(EXIT_EVENT, n / 2, n / 2, COUNTED AND IN_USER, mem, n * page);
	expect(EXIT_EVENT, n / 2, n / 2, MAJOR AND IN_KERNEL, mem, n * page);
	want(pipe(told), "pipe");
	return set_up_uffd(UFFDIO_REGISTER_MODE_MISSING, 0, n);
}

static void *copy_pages(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		copy_page(next_fault());
	return NULL;
}

static void run_missing(void)
{
	pthread_t thread;

	start_thread(&thread, copy_pages, NULL);
	write_pages(mem, n / 2);
	for (size_t i = n / 2; i < n; i++) {
		want(write(told[1], "", 1), "write");
		want(read(told[0], mem + i * page, 1), "read");
	}
	pthread_join(thread, NULL);
}

static const char *set_up_wp(void)
{
	const char *why;

	mem = fresh(n);
	write_pages(mem, n);
	why = set_up_uffd(UFFDIO_REGISTER_MODE_WP, UFFD_FEATURE_PAGEFAULT_FLAG_WP, n);
	if (why)
		return why;
	protect((unsigned long)mem, n, UFFDIO_WRITEPROTECT_MODE_WP);
	expect(EXIT_EVENT, n, n, COUNTED AND RETRIED AND ANONYMOUS, mem, n * page);
	return NULL;
}

static void *unprotect_pages(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		protect(next_fault(), 1, 0);
	return NULL;
}

static void run_wp(void)
{
	pthread_t thread;

	start_thread(&thread, unprotect_pages, NULL);
	write_pages(mem, n);
	pthread_join(thread, NULL);
}

/* A signal ends the first fault at each page, the second waits again */
static void ignore(int signal)
{
	(void)signal;
}

static const char *set_up_interrupted(void)
{
	mem = fresh(n);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = ignore }, NULL);
	faulter = pthread_self();
	expect(EXIT_EVENT, n, n, INTERRUPTED, mem, n * page);
	expect(EXIT_EVENT, n, n, COUNTED, mem, n * page);
	return set_up_uffd(UFFDIO_REGISTER_MODE_MISSING, 0, n);
}

static void *interrupt_faults(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < n; i++) {
		next_fault();
		pthread_kill(faulter, SIGUSR1);
		copy_page(next_fault());
	}
	return NULL;
}

static void run_interrupted(void)
{
	pthread_t thread;

	start_thread(&thread, interrupt_faults, NULL);
	write_pages(mem, n);
	pthread_join(thread, NULL);
}

/* A child is killed while its fault waits */
static const char *set_up_killed(void)
{
	const char *why;

	mem = fresh(1);
	why = set_up_uffd(UFFDIO_REGISTER_MODE_MISSING, 0, 1);
	want(pipe(told), "pipe");
	expect(EXIT_EVENT, n, n, INTERRUPTED, mem, page);
	expect(EXIT_EVENT, n, n, NULL, mem, page);
	return why;
}

static void *tell(void *arg)
{
	next_fault();
	want(write(told[1], "", 1), "write");
	pause();
	return arg;
}

static void run_killed(void)
{
	pthread_t thread;
	pid_t child;
	char byte;

	for (size_t i = 0; i < n; i++) {
		child = must_fork();
		if (!child) {
			set_up_uffd(UFFDIO_REGISTER_MODE_MISSING, 0, 1);
			start_thread(&thread, tell, NULL);
			write_pages(mem, 1);
			_exit(1);
		}
		want(read(told[0], &byte, 1), "read");
		kill(child, SIGKILL);
		end_child(child, SIGKILL);
	}
}

/*
 * Signals
 */
static void (*repair)(char *address);
static sigjmp_buf behind;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (!repair)
		siglongjmp(behind, 1);
	repair((char *)((unsigned long)info->si_addr & ~(page - 1)));
}

static void handle_faults(void (*fn)(char *address))
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	repair = fn;
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
}

static void allow(char *address)
{
	want(mprotect(address, page, PROT_READ | PROT_WRITE), "mprotect");
}

static const char *set_up_mprotect(void)
{
	mem = reserve(n, PROT_NONE, MAP_PRIVATE);
	handle_faults(allow);
	expect(EXIT_EVENT, n, n, SEGV_ACCERR_SENT AND IN_USER, mem, n * page);
	expect(EXIT_EVENT, n, n, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

/* Pages with a key that allows nothing, first for the kernel, and then for us */
static void change_key(char *address)
{
	want(pkey_mprotect(address, page, PROT_READ | PROT_WRITE, 0), "pkey_mprotect");
}

static const char *set_up_pkey(void)
{
	int key;

	mem = fresh(n);
	write_pages(mem, n);
	key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	if (key < 0)
		return "this machine has no protection keys";
	want(pkey_mprotect(mem, n * page, PROT_READ | PROT_WRITE, key), "pkey_mprotect");
	handle_faults(change_key);
	bad_fixups = n;
	want(pipe(told), "pipe");
	expect(EXIT_EVENT, n, n, SEGV_PKUERR_SENT AND IN_USER, mem, n * page);
	expect(EXIT_EVENT, n, n, FIXUP AND IN_KERNEL, mem, n * page);
	expect(EXIT_EVENT, 2 * n, 2 * n, NULL, mem, n * page);
	return NULL;
}

static void run_pkey(void)
{
	for (size_t i = 0; i < n; i++)
		if (write(told[1], mem + i * page, 1) != -1 || errno != EFAULT)
			give_up("write() from a page with a key did not fail");
	write_pages(mem, n);
}

/* Nothing mapped, an address of the kernel, a file that ends before */
static char *unmapped, *behind_end;

static const char *set_up_signals(void)
{
	int fd = want(memfd_create("pagefault_count", 0), "memfd_create");

	behind_end = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (behind_end == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	unmapped = reserve(n, PROT_NONE, MAP_PRIVATE);
	munmap(unmapped, n * page);
	handle_faults(NULL);
	expect(EXIT_EVENT, n, n, SEGV_MAPERR_SENT, unmapped, n * page);
	expect(EXIT_EVENT, n, n, SIGBUS_SENT AND IN_SHMEM, behind_end, n * page);
	/* A 32-bit program on a 64-bit kernel cannot get there */
	if (kernel_text <= ULONG_MAX)
		expect(EXIT_EVENT, n, n, SEGV_MAPERR_SENT,
		       (char *)(unsigned long)kernel_text, 1);
	return NULL;
}

static void write_in_vain(char *p)
{
	if (!sigsetjmp(behind, 1))
		write_to(p);
}

static void run_signals(void)
{
	for (size_t i = 0; i < n; i++) {
		write_in_vain(unmapped + i * page);
		write_in_vain(behind_end + i * page);
		if (kernel_text <= ULONG_MAX)
			write_in_vain((char *)(unsigned long)kernel_text);
	}
}

/*
 * Huge pages
 */
static size_t huge;

static const char *set_up_thp(void)
{
	const char *dir = "/sys/kernel/mm/transparent_hugepage";
	char *enabled, *size, *zero;
	unsigned long first;

	enabled = get(dir, "enabled");
	size = get(dir, "hpage_pmd_size");
	zero = get(dir, "use_zero_page");
	if (!enabled || !size || strstr(enabled, "[never]"))
		return "this kernel has no transparent huge pages, or they are off";
	huge = atoi(size);
	mem = reserve((n + 1) * huge / page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	mem = (char *)(((unsigned long)mem + huge - 1) & ~(huge - 1));
	want(madvise(mem, n * huge, MADV_HUGEPAGE), "madvise");

	/* The first time for the page of zeros, if that is huge, or else for all */
	first = zero && *zero == '1' ? 2 * n : n;
	/* Then each small page, should there be no huge ones */
	expect(EXIT_EVENT, first, n + n * (huge / page), MINOR AND ANONYMOUS, mem, n * huge);
	if (first > n)
		expect(EXIT_EVENT, n, n * (huge / page), COPIED, mem, n * huge);
	free(enabled);
	free(size);
	free(zero);
	return NULL;
}

static void run_thp(void)
{
	for (size_t i = 0; i < n; i++)
		read_from(mem + i * huge);
	write_pages(mem, n * (huge / page));
}

/* A child splits each page to copy it in parts, huge or not */
static const char *set_up_thp_fork(void)
{
	const char *why = set_up_thp();

	if (why)
		return why;
	run_thp();
	expectations = 0;
	expect(EXIT_EVENT, n * (huge / page), n * (huge / page), MINOR AND ANONYMOUS AND COPIED, mem,
	       n * huge);
	return NULL;
}

static void run_thp_fork(void)
{
	pid_t child = must_fork();

	if (!child) {
		write_pages(mem, n * (huge / page));
		_exit(0);
	}
	end_child(child, 0);
}

static size_t hugetlb_size(void)
{
	char *info = get("/proc", "meminfo"), *at;
	size_t kib = 0;

	at = info ? strstr(info, "Hugepagesize:") : NULL;
	if (at)
		kib = strtoul(at + strlen("Hugepagesize:"), NULL, 10);
	free(info);
	return kib * 1024;
}

/* Written by the parent, copied by a child, and written by the parent again */
static const char *set_up_hugetlb(void)
{
	if (*no_hugetlb)
		return no_hugetlb;
	huge = hugetlb_size();
	mem = mmap(NULL, n * huge, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (mem == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	expect(EXIT_EVENT, 3 * n, 3 * n, COUNTED AND HUGE_TLB, mem, n * huge);
	expect(EXIT_EVENT, n, n, COPIED, mem, n * huge);
	return NULL;
}

static void write_hugetlb(void)
{
	for (size_t i = 0; i < n; i++)
		write_to(mem + i * huge);
}

static void run_hugetlb(void)
{
	pid_t child;

	write_hugetlb();
	child = must_fork();
	if (!child) {
		write_hugetlb();
		_exit(0);
	}
	end_child(child, 0);
	write_hugetlb();
}

/*
 * The stack grows down to mem
 */
static const char *set_up_stack(void)
{
	struct rlimit limit = { 64 << 20, RLIM_INFINITY };
	char *maps, *at;

	want(setrlimit(RLIMIT_STACK, &limit), "RLIMIT_STACK");
	maps = get("/proc/self", "maps");
	at = maps ? strstr(maps, "[stack]") : NULL;
	while (at && at > maps && at[-1] != '\n')
		at--;
	if (!at)
		give_up("no stack in maps");
	mem = (char *)strtoul(at, NULL, 16) - n * page;
	free(maps);
	expect(EXIT_EVENT, n, n, MINOR AND ANONYMOUS AND IN_USER, mem, n * page);
	return NULL;
}

static void run_stack(void)
{
	char *here = __builtin_frame_address(0), *room;

	room = alloca(here - mem);
	for (char *p = mem + (n - 1) * page; p >= mem; p -= page)
		write_to(p);
	read_from(room);
}

/*
 * Faults of get_user_pages() and in the kernel
 */
static char *own;

/* In the memory of a child, and they are the parent's: read, and then copied */
static const char *set_up_remote(void)
{
	mem = fresh(n);
	own = fresh(n);
	write_pages(own, n);
	want(pipe(told), "pipe");
	expect(NOREGS_EVENT, 2 * n, 2 * n, MINOR AND ANONYMOUS AND "fault_flags & 0x80", mem,
	       n * page);
	expect(NOREGS_EVENT, n, n, COPIED, mem, n * page);
	expect(EXIT_EVENT, 0, 0, NULL, mem, n * page);
	return NULL;
}

static void run_remote(void)
{
	struct iovec local = { own, n * page }, remote = { mem, n * page };
	ssize_t size = n * page;
	pid_t child;
	char byte;

	child = must_fork();
	if (!child) {
		close(told[1]);
		if (read(told[0], &byte, 1))
			_exit(1);
		_exit(0);
	}
	if (process_vm_readv(child, &local, 1, &remote, 1, 0) != size ||
	    process_vm_writev(child, &local, 1, &remote, 1, 0) != size)
		give_up("process_vm_readv/writev: %s", strerror(errno));
	close(told[1]);
	end_child(child, 0);
}

/* The faults that the workload knows are those of get_user_pages() */
static const char *by_get_user_pages(const char *why)
{
	if (why)
		return why;
	for (struct expected *x = expected; x < expected + expectations; x++) {
		x->event = NOREGS_EVENT;
		/* Each call of handle_mm_fault() is one */
		x->most = ULONG_MAX;
	}
	own = fresh(n);
	write_pages(own, n);
	return NULL;
}

static const char *set_up_gup_file(void)
{
	const char *why = by_get_user_pages(set_up_file_major());

	/* The first gives up the lock to read the page, the second has it */
	expect(NOREGS_EVENT, expected[0].least, ULONG_MAX, RETRY AND RETRIED, mem,
	       n * page);
	return why;
}

static const char *set_up_gup_swap(void)
{
	return by_get_user_pages(set_up_swap());
}

static void run_gup(void)
{
	struct iovec local = { own, n * page }, remote = { mem, n * page };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)(n * page))
		give_up("process_vm_readv: %s", strerror(errno));
}

static const char *set_up_mlock(void)
{
	mem = fresh(n);
	expect(NOREGS_EVENT, n, n, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

static void run_mlock(void)
{
	want(mlock(mem, n * page), "mlock");
	write_pages(mem, n);
}

/* From a file that is mapped, through a pipe, to new memory, and to a file */
static int copy_fd;

static const char *set_up_copy(void)
{
	const char *why = map_file(PROT_READ, MAP_PRIVATE);

	own = mem;
	mem = fresh(n);
	copy_fd = why ? -1 : new_file(0);
	want(pipe(told), "pipe");
	expect(EXIT_EVENT, n, n, MINOR AND ANONYMOUS AND IN_KERNEL, mem, n * page);
	expect(EXIT_EVENT, 1 + n / 512, ULONG_MAX, COUNTED AND IN_FILE AND IN_KERNEL, own,
	       n * page);
	return why;
}

static void run_copy(void)
{
	for (size_t i = 0; i < n; i++) {
		if (write(told[1], own + i * page, page) != (ssize_t)page ||
		    read(told[0], mem + i * page, page) != (ssize_t)page)
			give_up("pipe: %s", strerror(errno));
	}
	madvise(own, n * page, MADV_DONTNEED);
	if (write(copy_fd, own, n * page) != (ssize_t)(n * page))
		give_up("write to TMPDIR: %s", strerror(errno));
}

/*
 * The code of futexes disables page faults, and then reads the page, or has
 * get_user_pages() write it
 */
static const char *set_up_futex(void)
{
	mem = fresh(n);
	expect(EXIT_EVENT, n, n, FIXUP AND IN_KERNEL, mem, n * page);
	expect(EXIT_EVENT, n / 2, n / 2, MINOR AND ANONYMOUS, mem, n * page);
	expect(NOREGS_EVENT, n / 2, n / 2, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

static void run_futex(void)
{
	unsigned int at = 0;

	for (size_t i = 0; i < n / 2; i++) {
		if (syscall(FUTEX, mem + i * page, FUTEX_WAIT_PRIVATE, 1, NULL) != -1 ||
		    errno != EAGAIN)
			give_up("FUTEX_WAIT: %s", strerror(errno));
	}
	for (size_t i = n / 2; i < n; i++)
		want(syscall(FUTEX, &at, FUTEX_WAKE_OP_PRIVATE, 1, 0, mem + i * page,
			     FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)), "FUTEX_WAKE_OP");
}

#ifdef __x86_64__
#define MANY		1000000
#else
#define MANY		200000
#endif

static const struct workload workloads[] = {
	{ "new pages", set_up_touch, run_touch, 10, 10, SEQUENTIAL },
	{ "new pages", set_up_touch, run_touch, 1000, 1000, SEQUENTIAL },
	{ "new pages", set_up_touch, run_touch, 100000, 20000, SEQUENTIAL },
	{ "page of zeros, a thread on each CPU", set_up_zeros, run_zeros, MANY, 50000, THREADS },
	{ "threads that write to one page", set_up_same, run_same, 2000, 1000, THREADS },
	{ "threads that read what is not in the cache", set_up_same_file, run_read_same, 64, 64,
	  THREADS },
	{ "threads while the mapping changes", set_up_changing, run_changing, 4000, 2000, THREADS },
	{ "fork, copy-on-write", set_up_fork, run_fork, 500, 500, PROCESSES },
	{ "mremap", set_up_mremap, run_mremap, 500, 500, SEQUENTIAL },
	{ "madvise(MADV_DONTNEED)", set_up_discard, run_discard, 500, 500, SEQUENTIAL },
	{ "file, read", set_up_file_read, run_read, 2000, 2000, SEQUENTIAL },
	{ "file, private", set_up_file_cow, run_write, 500, 500, SEQUENTIAL },
	{ "file, shared", set_up_file_write, run_write, 500, 500, SEQUENTIAL },
	{ "file, not in the cache", set_up_file_major, run_read, 64, 64, SEQUENTIAL },
	{ "swap", set_up_swap, run_write, 500, 500, SEQUENTIAL },
	{ "threads that swap in the same pages", set_up_same_swap, run_read_same, 500, 500,
	  THREADS },
	{ "swap of shared memory", set_up_swap_shmem, run_write, 500, 500, SEQUENTIAL },
	{ "swap under memory pressure", set_up_pressure, run_pressure, 4096, 4096, SEQUENTIAL },
	{ "userfaultfd, missing", set_up_missing, run_missing, 200, 200, THREADS },
	{ "userfaultfd, write-protected", set_up_wp, run_wp, 200, 200, THREADS },
	{ "userfaultfd, interrupted", set_up_interrupted, run_interrupted, 200, 200, THREADS },
	{ "userfaultfd, killed", set_up_killed, run_killed, 5, 5, THREADS },
	{ "mprotect in a signal handler", set_up_mprotect, run_write, 200, 200, SEQUENTIAL },
	{ "protection keys", set_up_pkey, run_pkey, 200, 200, SEQUENTIAL },
	{ "signals", set_up_signals, run_signals, 200, 200, SEQUENTIAL },
	{ "transparent huge pages", set_up_thp, run_thp, 8, 8, SEQUENTIAL },
	{ "transparent huge pages, copy-on-write", set_up_thp_fork, run_thp_fork, 2, 2, PROCESSES },
	{ "hugetlb, copy-on-write", set_up_hugetlb, run_hugetlb, HUGETLB_PAGES,
	  HUGETLB_PAGES, PROCESSES },
	{ "stack", set_up_stack, run_stack, 2000, 2000, SEQUENTIAL },
	{ "process_vm_readv, process_vm_writev", set_up_remote, run_remote, 500, 500, PROCESSES },
	{ "process_vm_readv, not in the cache", set_up_gup_file, run_gup, 64, 64, SEQUENTIAL },
	{ "process_vm_readv, swap", set_up_gup_swap, run_gup, 500, 500, SEQUENTIAL },
	{ "O_DIRECT", set_up_direct, run_direct, 500, 500, SEQUENTIAL },
	{ "mlock", set_up_mlock, run_mlock, 500, 500, SEQUENTIAL },
	{ "read and write in the kernel", set_up_copy, run_copy, 200, 200, SEQUENTIAL },
	{ "futex, page faults disabled", set_up_futex, run_futex, 200, 200, SEQUENTIAL },
};

static pid_t start_workload(size_t i)
{
	pid_t child;

	shared->results[i] = (struct result) { };
	child = must_fork();
	if (!child)
		work(&workloads[i], &shared->results[i]);
	return child;
}

static void end_workload(size_t i, pid_t child, const char *how)
{
	const struct workload *w = &workloads[i];
	struct result *r = &shared->results[i];
	int status = 0;
	size_t pages;

	pages = together ? w->pages_together : w->pages;
	if (waitpid(child, &status, 0) != child)
		ksft_exit_fail_msg("waitpid: %s\n", strerror(errno));
	if (r->skipped) {
		ksft_test_result_skip("%s%s, %zu: %s\n", how, w->name, pages, r->why);
		return;
	}
	if (!WIFEXITED(status))
		ksft_print_msg("%s: ended with status 0x%x\n", w->name, status);
	ksft_test_result(WIFEXITED(status) && !WEXITSTATUS(status),
			 "%s%s, %zu\n", how, w->name, pages);
}

/*
 * The whole system
 */
enum system_counter {
	ALL_MINOR, ALL_MAJOR, ALL_NOREGS_MINOR, ALL_NOREGS_MAJOR, ALL_FAILED,
	ALL_NOREGS_FAILED, SYSTEM_COUNTERS
};

/*
 * /proc/vmstat counts failures of handle_mm_fault(), too, unless it has to be
 * called again. The vm_fault is that of its last call.
 */
static const struct {
	const char *event, *filter;
} system_counters[SYSTEM_COUNTERS] = {
	[ALL_MINOR] = { EXIT_EVENT, MINOR },
	[ALL_MAJOR] = { EXIT_EVENT, MAJOR },
	[ALL_NOREGS_MINOR] = { NOREGS_EVENT, MINOR },
	[ALL_NOREGS_MAJOR] = { NOREGS_EVENT, MAJOR },
	[ALL_FAILED] = { EXIT_EVENT, "outcome > 1 && vm_fault & 0x873 && !(vm_fault & 0x400)" },
	[ALL_NOREGS_FAILED] = { NOREGS_EVENT, FAILED },
};

#define MAX_CPUS	64

static int system_fd[SYSTEM_COUNTERS][MAX_CPUS];

struct snapshot {
	unsigned long long count[SYSTEM_COUNTERS];
	unsigned long long minor, major, pgfault;
};

static void read_system_counters(unsigned long long *count)
{
	for (int i = 0; i < SYSTEM_COUNTERS; i++) {
		count[i] = 0;
		for (int cpu = 0; cpu < ncpus; cpu++)
			count[i] += read_event(system_fd[i][cpu]);
	}
}

static char proc_text[1 << 16];

static bool read_proc(const char *file)
{
	size_t size = 0;
	ssize_t got;
	int fd;

	fd = open(file, O_RDONLY);
	if (fd < 0)
		return false;
	while ((got = read(fd, proc_text + size, sizeof(proc_text) - 1 - size)) > 0)
		size += got;
	proc_text[size] = '\0';
	close(fd);
	return size;
}

/* All processes, and what they have inherited from those they waited for */
static void read_all_of_proc(struct snapshot *s)
{
	unsigned long minor, cminor, major, cmajor;
	char file[300], *at;
	struct dirent *d;
	DIR *dir;

	s->minor = 0;
	s->major = 0;
	s->pgfault = 0;
	dir = opendir("/proc");
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		snprintf(file, sizeof(file), "/proc/%s/stat", d->d_name);
		if (!read_proc(file))
			continue;
		at = strrchr(proc_text, ')');
		if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %lu %lu %lu %lu",
				  &minor, &cminor, &major, &cmajor) != 4)
			continue;
		s->minor += minor + cminor;
		s->major += major + cmajor;
	}
	if (dir)
		closedir(dir);
	at = read_proc("/proc/vmstat") ? strstr(proc_text, "\npgfault ") : NULL;
	if (at)
		s->pgfault = strtoull(at + strlen("\npgfault "), NULL, 10);
}

/* take - Read all, twice, until nothing has faulted meanwhile anywhere */
static void take(struct snapshot *s)
{
	struct snapshot again;

	for (int tries = 0; tries < 200; tries++) {
		read_system_counters(s->count);
		read_all_of_proc(s);
		usleep(20000);
		read_all_of_proc(&again);
		read_system_counters(again.count);
		if (!memcmp(s, &again, sizeof(again)))
			return;
	}
	ksft_print_msg("something faults all the time\n");
}

static unsigned long long grown(const struct snapshot *s, int i)
{
	return s[1].count[i] - s[0].count[i];
}

static bool equal_in_system(const char *what, unsigned long long a, unsigned long long b,
			    unsigned long long least)
{
	if (a == b && a >= least && !verbose)
		return true;
	ksft_print_msg("%s: %llu by the events, %llu by /proc, at least %llu\n",
		       what, a, b, least);
	return a == b && a >= least;
}

static void test_all_at_once(void)
{
	pid_t children[ARRAY_SIZE(workloads)];
	struct snapshot s[2] = { };
	unsigned long long counted;

	for (int i = 0; i < SYSTEM_COUNTERS; i++)
		for (int cpu = 0; cpu < ncpus; cpu++)
			system_fd[i][cpu] = open_event(system_counters[i].event, 0,
						       system_counters[i].filter, -1, cpu);
	together = true;
	/* The first time, this may fault itself */
	take(&s[0]);
	take(&s[0]);
	shared->ready = 0;
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
		children[i] = start_workload(i);
	for (int i = 0; i < 6000; i++) {
		if (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) >= (int)ARRAY_SIZE(workloads))
			break;
		usleep(10000);
	}
	__atomic_store_n(&shared->go, true, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
		end_workload(i, children[i], "at once: ");
	take(&s[1]);

	ksft_test_result(equal_in_system("minor", grown(s, ALL_MINOR) + grown(s, ALL_NOREGS_MINOR),
					 s[1].minor - s[0].minor, 50000),
			 "whole system, minor\n");
	ksft_test_result(equal_in_system("major", grown(s, ALL_MAJOR) + grown(s, ALL_NOREGS_MAJOR),
					 s[1].major - s[0].major, 50),
			 "whole system, major\n");
	counted = 0;
	for (int i = 0; i < SYSTEM_COUNTERS; i++)
		counted += grown(s, i);
	if (!s[1].pgfault) {
		ksft_test_result_skip("whole system, pgfault: it is not in /proc/vmstat\n");
		return;
	}
	ksft_test_result(equal_in_system("pgfault", counted, s[1].pgfault - s[0].pgfault, 50000),
			 "whole system, pgfault of /proc/vmstat\n");
}

/* Faults that the events miss do not stay hidden, and are as many as they are */
static void test_control(void)
{
	const size_t touch_1000 = 1;
	int status = 0;
	pid_t child;

	left_out = LEFT_OUT;
	child = must_fork();
	if (!child)
		work(&workloads[touch_1000], &shared->results[touch_1000]);
	left_out = 0;
	waitpid(child, &status, 0);
	ksft_test_result(WIFEXITED(status) && !WEXITSTATUS(status),
			 "control: %d faults that are not counted\n", LEFT_OUT);
}

/*
 * Environment
 */
static pid_t owner;
static unsigned long hugetlb_before;

static void clean_up(void)
{
	/* Not when a child ends */
	if (getpid() != owner)
		return;
	remove_swap(swap_file);
	if (*pressed_group)
		rmdir(pressed_group);
	if (*reclaimed_group)
		rmdir(reclaimed_group);
	unmount_cgroup();
	put("/proc/sys/vm", "nr_hugepages", "%lu", hugetlb_before);
}

/* A memory cgroup of little memory, and another one for what is to be reclaimed */
static void set_up_groups(void)
{
	if (!mount_cgroup()) {
		snprintf(no_group, sizeof(no_group), "this kernel has no cgroup v2 for memory");
		return;
	}
	must(make_group(pressed_group, sizeof(pressed_group), "pressed"), "cgroup");
	must(make_group(reclaimed_group, sizeof(reclaimed_group), "reclaimed"), "cgroup");
	must(put(pressed_group, "memory.max", PRESSED_SIZE), "memory.max");
}

/* Those of a mapping, the copies of a child, and as many again */
static void set_up_hugetlb_pool(void)
{
	char *before = get("/proc/sys/vm", "nr_hugepages"), *after;

	if (!before) {
		snprintf(no_hugetlb, sizeof(no_hugetlb), "this kernel has no hugetlb");
		return;
	}
	hugetlb_before = strtoul(before, NULL, 10);
	put("/proc/sys/vm", "nr_hugepages", "%lu", hugetlb_before + 3 * HUGETLB_PAGES);
	after = get("/proc/sys/vm", "nr_hugepages");
	if (!after || strtoul(after, NULL, 10) < hugetlb_before + 3 * HUGETLB_PAGES)
		snprintf(no_hugetlb, sizeof(no_hugetlb), "there are not enough huge pages");
	free(before);
	free(after);
}

/* Where the kernel begins, and something that is there */
static void find_kernel(void)
{
	char *format = get(TRACING "/events", EXIT_EVENT "/format"), *at;

	kernel_text = kernel_symbol("_stext");
	at = format ? strstr(format, "unsigned long address;") : NULL;
	at = at ? strstr(at, "size:") : NULL;
	if (at && at[5] == '8') {
		kernel_base = 1ULL << 63;
		if (!kernel_text)
			kernel_text = kernel_base;
	} else {
		/* User space may have any address below */
		kernel_base = kernel_text ?: 0xc0000000;
		kernel_text = kernel_base;
	}
	free(format);
}

int main(int argc, char **argv)
{
	pid_t child;
	char *numa;
	int error;

	/* Say what was counted */
	verbose = argc > 1 && !strcmp(argv[1], "-v");

	start(EXIT_EVENT);
	ncpus = cpus();
	if (ncpus > MAX_CPUS)
		ksft_exit_skip("more than %d CPUs\n", MAX_CPUS);
	page = sysconf(_SC_PAGESIZE);
	page_size = page;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));

	owner = getpid();
	atexit(clean_up);
	instance = make_instance("pagefault_count");
	find_kernel();
	numa = get("/proc/sys/kernel", "numa_balancing");
	numa_balancing = numa && *numa != '0';
	free(numa);
	error = make_swap(swap_file, sizeof(swap_file), SWAP_SIZE);
	if (error)
		snprintf(no_swap, sizeof(no_swap), "no swap file in $TMPDIR: %s", strerror(-error));
	set_up_groups();
	set_up_hugetlb_pool();

	ksft_set_plan(2 * ARRAY_SIZE(workloads) + 4);
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++) {
		child = start_workload(i);
		end_workload(i, child, "");
	}
	test_control();
	test_all_at_once();
	ksft_finished();
}
