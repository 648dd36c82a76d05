// SPDX-License-Identifier: GPL-2.0
/*
 * Count page faults by the pagefault trace events, and compare with all other
 * counters: getrusage(), /proc/PID/stat, /proc/vmstat, the exceptions
 * events and the software events of perf. All have to agree, to the last fault.
 *
 * The events are counted by counters of perf with filters: nothing gets lost
 * there, as in a ring buffer. Each workload is a process that counts itself, its
 * threads and its children, first alone, and then all workloads at once, while
 * the events of the whole system are counted, too.
 *
 * The faults of an exiting task are not counted after perf_event_exit_task()
 * has removed its counters. exit_mm() then writes to clear_child_tid and reads
 * the list of robust futexes. All workloads have that memory: nothing faults.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pagefault_matrix.h"

struct shared *shared;

size_t page;
int ncpus;
bool verbose, numa_balancing;
const char *instance;
unsigned long long kernel_base, kernel_text;
char no_swap[100], no_group[100], no_hugetlb[100];
static char swap_file[PATH_MAX];
char pressed_group[PATH_MAX], reclaimed_group[PATH_MAX];

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

/* The control: the test notices faults that the events miss, and how many */
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

/* A cgroup with little memory, and one whose memory is reclaimed */
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

/* Huge pages for a mapping, for the copies of a child, and as many again */
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

/* Find where the kernel begins, and an address of its text */
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
