// SPDX-License-Identifier: GPL-2.0
/*
 * Count page faults by the pagefault trace events, and compare with all other
 * counters: getrusage(), /proc/PID/stat, /proc/vmstat, the exceptions
 * events and the software events of perf. All have to agree, to the last fault.
 *
 * Counters of perf with filters count the events: unlike a ring buffer, they lose
 * nothing. Each workload is a process that counts itself, its threads and its
 * children, first alone, and then all workloads at once, while the events of the whole
 * system are counted, too.
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
#include <linux/version.h>

#include "pagefault_matrix.h"

#define SWAP_SIZE	(64UL << 20)
#define LEFT_OUT	7
#define MAX_CPUS	64

struct shared *shared;
bool numa_balancing;
unsigned long long kernel_base, kernel_text;
const char *no_swap, *no_group, *no_hugetlb;
char pressed_group[PATH_MAX], reclaimed_group[PATH_MAX];
static char swap_file[PATH_MAX];
static size_t nr_workloads;

static const struct workload *workload_at(size_t i)
{
	return i < nr_memory_workloads ? &memory_workloads[i] :
	       &end_workloads[i - nr_memory_workloads];
}

static pid_t start_workload(size_t i)
{
	pid_t child;

	*shared->why[i] = '\0';
	child = must_fork();
	if (!child)
		work(workload_at(i), shared->why[i]);
	return child;
}

/* passed - Wait for a workload, and say whether its counters agree */
static bool passed(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		ksft_exit_fail_msg("waitpid: %s\n", strerror(errno));
	if (!WIFEXITED(status))
		ksft_print_msg("ended with status 0x%x\n", status);
	return !status;
}

static void end_workload(size_t i, pid_t child, const char *how)
{
	const struct workload *w = workload_at(i);
	bool good = passed(child);

	if (*shared->why[i])
		ksft_test_result_skip("%s%s, %zu: %s\n", how, w->name, pages_of(w),
				      shared->why[i]);
	else
		ksft_test_result(good, "%s%s, %zu\n", how, w->name, pages_of(w));
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

static int system_fd[SYSTEM_COUNTERS][MAX_CPUS];

struct snapshot {
	unsigned long long count[SYSTEM_COUNTERS];
	unsigned long long minor, major, pgfault;
};

static void read_system_counters(unsigned long long *count)
{
	for (int i = 0; i < SYSTEM_COUNTERS; i++) {
		count[i] = 0;
		for (int cpu = 0; cpu < cpus(); cpu++)
			count[i] += read_event(system_fd[i][cpu]);
	}
}

/* Unlike get(), this does not fault for new memory */
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
		at = read_proc(file) ? strrchr(proc_text, ')') : NULL;
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

static void test_system(const char *what, unsigned long long events, unsigned long long proc,
			unsigned long long least)
{
	ksft_print_msg("%s: %llu by the events, %llu by /proc, at least %llu\n", what, events,
		       proc, least);
	ksft_test_result(events == proc && events >= least, "whole system, %s\n", what);
}

static void test_all_at_once(void)
{
	unsigned long long grown[SYSTEM_COUNTERS], all = 0;
	pid_t children[nr_workloads];
	struct snapshot s[2] = { };

	for (int i = 0; i < SYSTEM_COUNTERS; i++)
		for (int cpu = 0; cpu < cpus(); cpu++)
			system_fd[i][cpu] = open_event(system_counters[i].event, 0,
						       system_counters[i].filter, -1, cpu);
	together = true;
	/* The first time, this may fault itself */
	take(&s[0]);
	take(&s[0]);
	shared->ready = 0;
	for (size_t i = 0; i < nr_workloads; i++)
		children[i] = start_workload(i);
	for (int i = 0; i < 6000 && __atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) <
	     (int)nr_workloads; i++)
		usleep(10000);
	__atomic_store_n(&shared->go, true, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < nr_workloads; i++)
		end_workload(i, children[i], "at once: ");
	take(&s[1]);

	for (int i = 0; i < SYSTEM_COUNTERS; i++) {
		grown[i] = s[1].count[i] - s[0].count[i];
		all += grown[i];
	}
	test_system("minor", grown[ALL_MINOR] + grown[ALL_NOREGS_MINOR],
		    s[1].minor - s[0].minor, 50000);
	test_system("major", grown[ALL_MAJOR] + grown[ALL_NOREGS_MAJOR],
		    s[1].major - s[0].major, 50);
	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0))
		ksft_test_result_skip("whole system, pgfault: this kernel counts retries\n");
	else
		test_system("pgfault of /proc/vmstat", all, s[1].pgfault - s[0].pgfault, 50000);
}

/* The control: the test notices faults that the events miss, and how many */
static void test_control(void)
{
	const size_t touch_1000 = 1;

	left_out = LEFT_OUT;
	ksft_test_result(passed(start_workload(touch_1000)),
			 "control: %d faults that are not counted\n", LEFT_OUT);
	left_out = 0;
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
	rmdir(pressed_group);
	rmdir(reclaimed_group);
	unmount_cgroup();
	put("/proc/sys/vm", "nr_hugepages", "%lu", hugetlb_before);
}

/* A cgroup with little memory, and one whose memory is reclaimed */
static void set_up_groups(void)
{
	if (!mount_cgroup()) {
		no_group = "this kernel has no cgroup v2 for memory";
		return;
	}
	must(make_group(pressed_group, sizeof(pressed_group), "pressed"), "cgroup");
	must(make_group(reclaimed_group, sizeof(reclaimed_group), "reclaimed"), "cgroup");
	must(put(pressed_group, "memory.max", "8M"), "memory.max");
}

/* The number in a file, or @none */
static unsigned long number_of(const char *dir, const char *file, unsigned long none)
{
	char *text = get(dir, file);
	unsigned long number = text ? strtoul(text, NULL, 10) : none;

	free(text);
	return number;
}

/* Huge pages for a mapping, for the copies of a child, and as many again */
static void set_up_hugetlb_pool(void)
{
	unsigned long wanted;

	hugetlb_before = number_of("/proc/sys/vm", "nr_hugepages", ULONG_MAX);
	if (hugetlb_before == ULONG_MAX) {
		no_hugetlb = "this kernel has no hugetlb";
		return;
	}
	wanted = hugetlb_before + 3 * HUGETLB_PAGES;
	put("/proc/sys/vm", "nr_hugepages", "%lu", wanted);
	if (number_of("/proc/sys/vm", "nr_hugepages", 0) < wanted)
		no_hugetlb = "there are not enough huge pages";
}

/* Find where the kernel begins, and an address of its text */
static void find_kernel(void)
{
	kernel_text = kernel_symbol("_stext");
	if (kernel_of_64_bit())
		kernel_base = 1ULL << 63;
	else
		/* User space may have any address below */
		kernel_base = kernel_text ?: 0xc0000000;
	kernel_text = kernel_text ?: kernel_base;
}

int main(void)
{
	int error;

	start_pagefaults("matrix");
	if (cpus() > MAX_CPUS)
		ksft_exit_skip("more than %d CPUs\n", MAX_CPUS);
	shared = (struct shared *)must_map(MAP_SHARED | MAP_ANONYMOUS, -1, sizeof(*shared));
	owner = getpid();
	atexit(clean_up);
	find_kernel();
	numa_balancing = number_of("/proc/sys/kernel", "numa_balancing", 0);
	error = make_swap(swap_file, sizeof(swap_file), SWAP_SIZE);
	if (error) {
		ksft_print_msg("swap file: %s\n", strerror(-error));
		no_swap = "no swap file in $TMPDIR";
	}
	set_up_groups();
	set_up_hugetlb_pool();

	nr_workloads = nr_memory_workloads + nr_end_workloads;
	ksft_set_plan(2 * nr_workloads + 4);
	for (size_t i = 0; i < nr_workloads; i++)
		end_workload(i, start_workload(i), "");
	test_control();
	test_all_at_once();
	ksft_finished();
}
