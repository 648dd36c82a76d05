// SPDX-License-Identifier: GPL-2.0
/*
 * Count page faults by the pagefault trace events, and compare with all other
 * counters: getrusage(), the exceptions events, where the architecture has them,
 * and perf's software events. They must agree exactly.
 *
 * perf counters with filters count the events. Unlike a ring buffer, they lose
 * none. Each workload is a process that counts itself, its threads and its
 * children.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pagefault.h"

#define ENTRY_EVENT	"pagefault/pagefault_entry"
#define EXIT_EVENT	"pagefault/pagefault_exit"
#define NOREGS_EVENT	"pagefault/pagefault_noregs"

/* For filters: enum pagefault_outcome */
#define MINOR		"outcome == 0"
#define MAJOR		"outcome == 1"
#define SENT_SIGNAL	"outcome == 5 && signo == 11"
#define IN		"address >= 0x%lx && address < 0x%lx"

#define CHILDREN	4
#define LEFT_OUT	7

enum counter {
	EXITS, EXIT_MINOR, EXIT_MAJOR, NOREGS_MINOR, NOREGS_MAJOR, ENTRIES, USER_ENTRIES,
	PAGE_FAULT_USER, PAGE_FAULT_KERNEL, PERF_MINOR, PERF_MAJOR, OWN, COUNTERS
};

static const struct {
	const char *event, *filter;
	int software;
} counters[COUNTERS] = {
	[EXITS] = { EXIT_EVENT },
	[EXIT_MINOR] = { EXIT_EVENT, MINOR },
	[EXIT_MAJOR] = { EXIT_EVENT, MAJOR },
	[NOREGS_MINOR] = { NOREGS_EVENT, MINOR },
	[NOREGS_MAJOR] = { NOREGS_EVENT, MAJOR },
	[ENTRIES] = { ENTRY_EVENT },
	[USER_ENTRIES] = { ENTRY_EVENT, "user_mode == 1" },
	[PAGE_FAULT_USER] = { "exceptions/page_fault_user" },
	[PAGE_FAULT_KERNEL] = { "exceptions/page_fault_kernel" },
	[PERF_MINOR] = { .software = PERF_COUNT_SW_PAGE_FAULTS_MIN },
	[PERF_MAJOR] = { .software = PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	/* [OWN] has the event and the filter of the workload */
};

struct workload {
	const char *name;
	bool (*set_up)(void);		/* false: not possible here */
	void (*run)(void);
	size_t pages;
	const char *event, *filter;	/* count the faults on its pages */
	int times;			/* faults on each page */
};

/* Of the workload that this process is */
static const struct workload *workload;
static size_t n, left_out;
static char *mem, *own;
static int fds[COUNTERS];

static void give_up(const char *what)
{
	ksft_print_msg("%s: %s: %s\n", workload->name, what, strerror(errno));
	_exit(KSFT_FAIL);
}

static void open_counter(enum counter i, const char *event, const char *filter)
{
	struct perf_event_attr attr = {
		.type = event ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
		.config = event ? event_id(event) : counters[i].software,
		.disabled = 1, .inherit = 1,
	};

	fds[i] = perf_open(&attr, 0, -1);
	if (fds[i] < 0 || (*filter && ioctl(fds[i], PERF_EVENT_IOC_SET_FILTER, filter)))
		give_up(event ?: "software event");
}

/* Some architectures lack the exceptions events, some kernels NOREGS_EVENT */
static bool missing(enum counter i)
{
	return (i == PAGE_FAULT_USER || i == PAGE_FAULT_KERNEL || i == NOREGS_MINOR ||
		i == NOREGS_MAJOR) && event_id(counters[i].event) < 0;
}

static void open_counters(void)
{
	char filter[200];

	for (int i = 0; i < OWN; i++) {
		snprintf(filter, sizeof(filter), "%s", counters[i].filter ?: "");
		/* The control: as if the first faults of the workload were lost */
		if (left_out && i == EXIT_MINOR)
			snprintf(filter, sizeof(filter), MINOR " && !(" IN ")", (unsigned long)mem,
				 (unsigned long)mem + left_out * page_size);
		fds[i] = -1;
		if (!missing(i))
			open_counter(i, counters[i].event, filter);
	}
	snprintf(filter, sizeof(filter), "%s && " IN, workload->filter, (unsigned long)mem,
		 (unsigned long)mem + n * page_size);
	open_counter(OWN, workload->event, filter);
}

struct faults {
	long minor, major;
};

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

/*
 * No fault may come between getrusage() and the start of the counters. So lock
 * all memory, and touch it by a call without @run. After a fault, try again.
 */
static struct faults measure(void (*run)(void))
{
	struct faults before = { }, end = { };
	int tries = 0;

	do {
		if (tries++ == 20)
			give_up("there are always faults while the counting starts");
		prctl(PR_TASK_PERF_EVENTS_DISABLE);
		for (int i = 0; i < COUNTERS; i++)
			ioctl(fds[i], PERF_EVENT_IOC_RESET, 0);
		same_rusage(&before);
		prctl(PR_TASK_PERF_EVENTS_ENABLE);
	} while (!same_rusage(&before));

	if (run)
		run();

	/* The memory may have to be copied after a fork() */
	same_rusage(&end);
	same_rusage(&end);
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	if (!same_rusage(&end))
		give_up("there was a fault while the counting ended");
	return (struct faults) { end.minor - before.minor, end.major - before.major };
}

static int differ(const char *what, unsigned long long a, unsigned long long b)
{
	if (a != b)
		ksft_print_msg("%s: %s: %llu, not %llu\n", workload->name, what, a, b);
	return a != b;
}

/* Return the number of failed comparisons */
static int disagree(struct faults f)
{
	unsigned long long c[COUNTERS] = { };
	int wrong = 0;

	for (int i = 0; i < COUNTERS; i++)
		if (fds[i] >= 0 && read(fds[i], &c[i], sizeof(c[i])) != sizeof(c[i]))
			give_up("read a counter");
	wrong += differ("minor, events and getrusage()", c[EXIT_MINOR] + c[NOREGS_MINOR], f.minor);
	wrong += differ("major, events and getrusage()", c[EXIT_MAJOR] + c[NOREGS_MAJOR], f.major);
	wrong += differ("exits and entries", c[EXITS], c[ENTRIES]);
	if (fds[PAGE_FAULT_USER] >= 0) {
		wrong += differ("user entries and page_fault_user", c[USER_ENTRIES],
				c[PAGE_FAULT_USER]);
		wrong += differ("kernel entries and page_fault_kernel",
				c[ENTRIES] - c[USER_ENTRIES], c[PAGE_FAULT_KERNEL]);
	}
	wrong += differ("minor exits and minor-faults", c[EXIT_MINOR], c[PERF_MINOR]);
	wrong += differ("major exits and major-faults", c[EXIT_MAJOR], c[PERF_MAJOR]);
	/* There are more if the kernel unmaps a page meanwhile */
	if (c[OWN] < n * workload->times)
		wrong += differ("faults and pages", c[OWN], n * workload->times);
	return wrong;
}

/* This process becomes a workload */
static void work(const struct workload *w)
{
	int wrong;

	workload = w;
	n = w->pages;
	if (mlockall(MCL_CURRENT))
		give_up("mlockall");
	if (!w->set_up())
		_exit(KSFT_SKIP);
	open_counters();
	measure(NULL);
	wrong = disagree(measure(w->run));
	/* In the control, getrusage() and perf must count more */
	_exit(wrong == (left_out ? 2 : 0) ? KSFT_PASS : KSFT_FAIL);
}

/*
 * Workloads
 */
static void write_pages(char *start)
{
	for (size_t i = 0; i < n; i++)
		raise_write(start + i * page_size);
}

static bool set_up_new(void)
{
	mem = new_pages(n * page_size);
	return true;
}

static void run_touch(void)
{
	write_pages(mem);
}

/* Read the zero page, in a thread on each CPU */
static bool set_up_zeros(void)
{
	n = workload->pages / cpus() * cpus();
	return set_up_new();
}

static void *read_zeros(void *arg)
{
	size_t each = n / cpus();
	char *mine = mem + (long)arg * each * page_size;

	pin((long)arg);
	for (size_t i = 0; i < each; i++)
		raise_read(mine + i * page_size);
	return NULL;
}

static void run_zeros(void)
{
	pthread_t threads[cpus()];

	for (long cpu = 0; cpu < cpus(); cpu++)
		if (pthread_create(&threads[cpu], NULL, read_zeros, (void *)cpu))
			give_up("pthread_create");
	for (int cpu = 0; cpu < cpus(); cpu++)
		pthread_join(threads[cpu], NULL);
}

static void end_child(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		give_up("a child");
}

/* Each child copies each page of the parent. Then the parent writes to it */
static bool set_up_written(void)
{
	set_up_new();
	write_pages(mem);
	return true;
}

static void run_fork(void)
{
	pid_t children[CHILDREN];

	for (int i = 0; i < CHILDREN; i++) {
		children[i] = must_fork();
		if (children[i])
			continue;
		write_pages(mem);
		_exit(0);
	}
	for (int i = 0; i < CHILDREN; i++)
		end_child(children[i]);
	write_pages(mem);
}

/* Read a file outside of the page cache, without readahead */
static bool set_up_file(void)
{
	int fd = new_file(n);

	if (fd < 0)
		return false;
	drop_cache(fd);
	mem = must_map(MAP_SHARED, fd, n * page_size);
	madvise(mem, n * page_size, MADV_RANDOM);
	return true;
}

static void run_read(void)
{
	for (size_t i = 0; i < n; i++)
		raise_read(mem + i * page_size);
}

/* Read a child's memory by get_user_pages(): the parent has the faults */
static bool set_up_remote(void)
{
	if (missing(NOREGS_MINOR))
		return false;
	set_up_new();
	own = new_pages(n * page_size);
	write_pages(own);
	return true;
}

static void run_remote(void)
{
	struct iovec local = { own, n * page_size }, remote = { mem, n * page_size };
	int told[2];
	pid_t child;
	char byte;

	if (pipe(told))
		give_up("pipe");
	child = must_fork();
	if (!child) {
		close(told[1]);
		_exit(read(told[0], &byte, 1));
	}
	if (process_vm_readv(child, &local, 1, &remote, 1, 0) != (ssize_t)(n * page_size))
		give_up("process_vm_readv");
	close(told[1]);
	end_child(child);
}

static bool set_up_forbidden(void)
{
	set_up_new();
	if (mprotect(mem, n * page_size, PROT_NONE))
		give_up("mprotect");
	return true;
}

static const struct workload workloads[] = {
	{ "new pages", set_up_new, run_touch, 10, EXIT_EVENT, MINOR, 1 },
	{ "new pages", set_up_new, run_touch, 20000, EXIT_EVENT, MINOR, 1 },
	{ "zero page, a thread on each CPU", set_up_zeros, run_zeros, 20000,
	  EXIT_EVENT, MINOR, 1 },
	{ "fork, copy-on-write", set_up_written, run_fork, 500, EXIT_EVENT, MINOR, CHILDREN + 1 },
	{ "file, not in the cache", set_up_file, run_read, 64, EXIT_EVENT, MAJOR, 1 },
	{ "process_vm_readv", set_up_remote, run_remote, 500, NOREGS_EVENT, MINOR, 1 },
	{ "signals", set_up_forbidden, run_touch, 200, EXIT_EVENT, SENT_SIGNAL, 1 },
};

static void test_workload(const struct workload *w, const char *what)
{
	int status = 0;
	pid_t child;

	child = must_fork();
	if (!child)
		work(w);
	if (waitpid(child, &status, 0) != child)
		ksft_exit_fail_msg("waitpid: %s\n", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		ksft_test_result_skip("%s%s, %zu: %s\n", what, w->name, w->pages,
				      w->set_up == set_up_file ? "$TMPDIR is not on a disk" :
				      "no pagefault_noregs");
	else
		ksft_test_result(!status, "%s%s, %zu\n", what, w->name, w->pages);
}

int main(void)
{
	start("pagefault/pagefault_exit");
	page_size = sysconf(_SC_PAGESIZE);
	skip_traps();
	ksft_set_plan(ARRAY_SIZE(workloads) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
		test_workload(&workloads[i], "");

	/* If an event misses faults, the comparison must fail */
	left_out = LEFT_OUT;
	test_workload(&workloads[0], "control, some faults left out: ");
	ksft_finished();
}
