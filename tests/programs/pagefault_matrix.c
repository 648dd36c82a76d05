// SPDX-License-Identifier: GPL-2.0
/*
 * Count the page faults of workloads that need swap, huge pages, NUMA, or threads that
 * fault on the same page at once. The trace must have as many MINOR
 * and MAJOR faults as getrusage() counts, to the last one, and the memory must have
 * the faults that the table expects.
 *
 * The kselftest's pagefault_count compares workloads that any machine can run, by
 * counters of perf.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/mempolicy.h>

#include "lib.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define PAGES		500
#define HUGE_PAGES	8
#define SWAP_SIZE	(64UL << 20)
#define THP		"/sys/kernel/mm/transparent_hugepage"
#define BALANCING	"/sys/kernel/debug/sched/numa_balancing"
#define HINTS		20
#define MOVES		20

/* How many faults: none, one on each page, one or more on each, one or more in all */
enum amount { NONE = 1, ONE_EACH, SOME_EACH, SOME };

struct expected {
	enum amount amount;
	const char *outcome;		/* NULL: any */
	unsigned int kind;		/* 0: any */
	unsigned int flags, without;	/* these are set, these are not */
	bool noregs;
	bool huge;			/* allocates a transparent huge page */
};

struct workload {
	const char *name;
	const char *(*set_up)(void);	/* returns why it cannot be done */
	void (*run)(void);
	struct expected expected[4];	/* the last one is empty */
};

/* Of the workload: its memory, and how many pages of it are expected to fault */
static char *mem;
static size_t mem_size, n;

/*
 * Measuring
 */
struct faults {
	long minor, major;
};

static struct faults rusage_faults(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (struct faults) { self.ru_minflt + children.ru_minflt,
				 self.ru_majflt + children.ru_majflt };
}

static void trace(bool on)
{
	must(put(fault_instance, "tracing_on", "%d", on), "tracing_on");
}

/* Whether nothing faulted between getrusage(), into @f, and the start of the trace */
static bool exact(struct faults *f)
{
	struct faults after;

	*f = rusage_faults();
	trace(true);
	after = rusage_faults();
	return f->minor == after.minor && f->major == after.major;
}

/* Run the workload in a trace. Return what getrusage() counts meanwhile */
static struct faults measure(void (*run)(void))
{
	struct faults before, after;

	do {
		trace(false);
		must(put(fault_instance, "trace", " "), "trace");
	} while (!exact(&before));
	run();
	/* After a fork(), memory that is used here may have to be copied */
	while (!exact(&after))
		;
	trace(false);
	return (struct faults) { after.minor - before.minor, after.major - before.major };
}

/* The order of the huge pages of the memory. Old kernels copy a huge page of zeros in parts */
static unsigned int huge_order(void)
{
	char *usage = get("/proc/self", "smaps_rollup");
	char *anon = usage ? strstr(usage, "\nAnonHugePages:") : NULL;
	unsigned int order = 0;

	if (anon && strtoul(anon + strlen("\nAnonHugePages:"), NULL, 10) >= mem_size >> 10)
		while (page_size << order < mem_size / n)
			order++;
	free(usage);
	return order;
}

/* The one place that reads kinds and flags */
static bool matches(const struct pagefault *r, const struct expected *x)
{
	return !strcmp(r->event, x->noregs ? "noregs" : "exit") &&
	       (!x->outcome || !strcmp(r->outcome, x->outcome)) &&
	       (r->flags & x->kind) == x->kind &&
	       (r->flags & (x->flags | x->without)) == x->flags &&
	       r->order == (x->huge ? huge_order() : 0);
}

static bool enough(size_t found, enum amount amount)
{
	if (amount == NONE)
		return !found;
	if (amount == ONE_EACH)
		return found == n;
	return found >= (amount == SOME_EACH ? n : 1);
}

/* Whether each fault of getrusage() has an event, and the memory has the faults of the table */
static bool all_traced(const struct workload *w, struct faults all)
{
	size_t found[ARRAY_SIZE(w->expected)] = { };
	long unended = 0, wrong = 0;
	struct faults left = all;
	struct pagefault r;

	for_each_record(next_pagefault, &r, fault_instance, -1) {
		unended += !strcmp(r.event, "entry") - !strcmp(r.event, "exit");
		left.minor -= !strcmp(r.outcome, "MINOR");
		left.major -= !strcmp(r.outcome, "MAJOR");
		if (r.address < (unsigned long)mem || r.address >= (unsigned long)mem + mem_size)
			continue;
		for (int i = 0; w->expected[i].amount; i++)
			found[i] += matches(&r, &w->expected[i]);
	}
	ksft_print_msg("%ld minor faults, %ld major, without an event %ld and %ld\n",
		       all.minor, all.major, left.minor, left.major);
	if (unended || buffer_stat(fault_instance, "\noverrun: ")) {
		ksft_print_msg("%ld entries without an exit, or events are lost\n", unended);
		wrong++;
	}
	for (int i = 0; w->expected[i].amount; i++) {
		const struct expected *x = &w->expected[i];
		bool good = enough(found[i], x->amount);

		ksft_print_msg("%s%zu of %s %s, kind 0x%x with 0x%x without 0x%x, on %zu pages\n",
			       good ? "" : "WRONG: ", found[i], x->noregs ? "noregs" : "exit",
			       x->outcome ?: "", x->kind, x->flags, x->without, n);
		wrong += !good;
	}
	return !wrong && !left.minor && !left.major;
}

static void test(const struct workload *w)
{
	const char *why;

	mem_size = PAGES * page_size;
	n = PAGES;
	why = w->set_up();
	if (why)
		skip(w->name, why);
	else
		result(all_traced(w, measure(w->run)), w->name);
	munmap(mem, mem_size);
}

/*
 * Memory
 */
static const char *set_up_new(void)
{
	mem = new_pages(mem_size);
	return NULL;
}

static void write_all(void)
{
	for (char *p = mem; p < mem + mem_size; p += page_size)
		raise_write(p);
}

static void read_all(void)
{
	for (char *p = mem; p < mem + mem_size; p += page_size)
		raise_read(p);
}

/* Two threads on each CPU: one runs while the other one sleeps in its page fault */
static pthread_barrier_t barrier;

static void *read_same(void *cpu)
{
	pin((long)cpu);
	for (char *p = mem; p < mem + mem_size; p += page_size) {
		pthread_barrier_wait(&barrier);
		raise_read(p);
	}
	return NULL;
}

static void run_threads(void)
{
	int count = 2 * cpus();
	pthread_t threads[count];

	pthread_barrier_init(&barrier, NULL, count);
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, read_same, (void *)(i / 2)))
			ksft_exit_fail_msg("pthread_create\n");
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/*
 * Swap
 */
static char swap_file[PATH_MAX];

static void remove_swap_file(void)
{
	remove_swap(swap_file);
}

/* Swap the memory out, and set @n to the number of pages in swap */
static const char *swap_out(void)
{
	char *text, *at;

	/* Each round lets the pages of the round before be written */
	for (int i = 0; i < 100; i++) {
		if (madvise(mem, mem_size, MADV_PAGEOUT))
			return "this kernel has no MADV_PAGEOUT";
		text = get("/proc/self", "smaps_rollup");
		at = text ? strstr(text, "\nSwap:") : NULL;
		n = at ? strtoul(at + strlen("\nSwap:"), NULL, 10) * 1024 / page_size : 0;
		free(text);
		if (n == PAGES)
			return NULL;
		usleep(50000);
	}
	return n ? NULL : "the pages did not go to swap";
}

/*
 * A page that was written stays in the swap cache, and makes no major fault. So read
 * it, and swap it out again: a page that need not be written is dropped at once.
 */
static const char *set_up_swap(void)
{
	const char *why = NULL;

	set_up_new();
	write_all();
	for (int i = 0; i < 3 && !why; i++) {
		why = swap_out();
		read_all();
	}
	return why ?: swap_out();
}

static const char *set_up_shmem(void)
{
	mem = must_map(MAP_SHARED | MAP_ANONYMOUS, -1, mem_size);
	write_all();
	return swap_out();
}

/*
 * The memory of this process, by get_user_pages(). It does not allow a retry here, so a
 * page from the disk is major by VM_FAULT_MAJOR, and not by FAULT_FLAG_TRIED.
 */
static void read_by_gup(void)
{
	static char copy[PAGES << 12];
	int fd = open("/proc/self/mem", O_RDONLY);

	if (pread(fd, copy, mem_size, (unsigned long)mem) != (ssize_t)mem_size)
		ksft_exit_fail_msg("/proc/self/mem: %s\n", strerror(errno));
	close(fd);
}

/*
 * Transparent huge pages
 */
static size_t huge;

static const char *set_up_thp(void)
{
	char *enabled = get(THP, "enabled"), *size = get(THP, "hpage_pmd_size");
	char *zero = get(THP, "use_zero_page");

	if (!enabled || strstr(enabled, "[never]") || !size || !zero || *zero != '1')
		return "this kernel has no transparent huge pages, or they are off";
	huge = atoi(size);
	n = HUGE_PAGES;
	mem_size = n * huge;
	mem = new_pages(mem_size + huge);
	mem = (char *)(((unsigned long)mem + huge - 1) & ~(huge - 1));
	madvise(mem, mem_size, MADV_HUGEPAGE);
	return NULL;
}

/* Get the huge zero page, and copy it by a write */
static void read_and_write_huge(void)
{
	for (size_t i = 0; i < n; i++) {
		raise_read(mem + i * huge);
		raise_write(mem + i * huge);
	}
}

/*
 * NUMA
 */
static size_t numa_hints(void)
{
	char *vmstat = get("/proc", "vmstat"), *at = strstr(vmstat, "\nnuma_hint_faults ");
	size_t hints = at ? strtoul(at + strlen("\nnuma_hint_faults "), NULL, 10) : 0;

	free(vmstat);
	return hints;
}

/* It must scan the memory of this process at once */
static const char *set_up_hints(void)
{
	set_up_new();
	write_all();
	if (put("/proc/sys/kernel", "numa_balancing", "1") ||
	    put(BALANCING, "scan_delay_ms", "0") || put(BALANCING, "scan_period_min_ms", "10"))
		return "this kernel has no NUMA balancing";
	return NULL;
}

static atomic_bool done;

static void *read_until_done(void *unused)
{
	while (!done)
		read_all();
	return NULL;
}

/* A second thread, as the pages of a single one are left alone on its own node */
static void read_until_hints(void)
{
	time_t end = time(NULL) + 60;
	size_t before = numa_hints();
	pthread_t thread;

	done = false;
	if (pthread_create(&thread, NULL, read_until_done, NULL))
		ksft_exit_fail_msg("pthread_create\n");
	while (numa_hints() < before + HINTS && time(NULL) < end)
		read_all();
	put("/proc/sys/kernel", "numa_balancing", "0");
	done = true;
	pthread_join(thread, NULL);
}

static const char *set_up_nodes(void)
{
	if (access("/sys/devices/system/node/node1", F_OK))
		return "this machine has one node only";
	set_up_new();
	write_all();
	return NULL;
}

/* Move the memory back and forth while another thread reads it */
static void read_while_moved(void)
{
	static int nodes[PAGES], status[PAGES];
	static void *pages[PAGES];
	pthread_t thread;

	done = false;
	if (pthread_create(&thread, NULL, read_until_done, NULL))
		ksft_exit_fail_msg("pthread_create\n");
	for (int i = 0; i < MOVES; i++) {
		for (int j = 0; j < PAGES; j++) {
			pages[j] = mem + j * page_size;
			nodes[j] = i % 2;
		}
		if (syscall(SYS_move_pages, 0, PAGES, pages, nodes, status, MPOL_MF_MOVE) < 0)
			ksft_exit_fail_msg("move_pages: %s\n", strerror(errno));
	}
	done = true;
	pthread_join(thread, NULL);
}

static const struct workload workloads[] = {
	{ "swap", set_up_swap, write_all,
	  { { ONE_EACH }, { ONE_EACH, NULL, ANON, SWAPIN }, { SOME, "MAJOR", ANON, SWAPIN } } },
	{ "swap, without registers", set_up_swap, read_by_gup,
	  { { NONE }, { SOME_EACH, NULL, ANON, SWAPIN, .noregs = true },
	    { SOME, "MAJOR", ANON, SWAPIN, .noregs = true } } },
	/* One thread maps the page. Others wait for the same page in swap, and find it mapped */
	{ "threads that swap in the same pages", set_up_swap, run_threads,
	  { { SOME_EACH, NULL, ANON, SWAPIN }, { SOME, "MAJOR", ANON, SWAPIN },
	    { NONE, "MAJOR", ANON, 0, SWAPIN } } },
	{ "swap of shared memory", set_up_shmem, write_all,
	  { { ONE_EACH, NULL, SHMEM, SWAPIN } } },
	{ "transparent huge pages", set_up_thp, read_and_write_huge,
	  { { ONE_EACH, "MINOR", ANON, 0, COW }, { ONE_EACH, "MINOR", ANON, COW, .huge = true } } },
	{ "NUMA balancing", set_up_hints, read_until_hints,
	  { { SOME, "MINOR", ANON, NUMA_HINT } } },
	{ "pages that move to another node", set_up_nodes, read_while_moved,
	  { { SOME, "MINOR", ANON, MIGRATION } } },
};

int main(void)
{
	int error;

	start_pagefaults("matrix");
	atexit(remove_swap_file);
	error = make_swap(swap_file, sizeof(swap_file), SWAP_SIZE);
	if (error)
		ksft_print_msg("swap file: %s\n", strerror(-error));
	/* Threads and children of this process, too */
	must(put(fault_instance, "options/event-fork", "1"), "event-fork");
	must(put(fault_instance, "set_event_pid", "%d", getpid()), "set_event_pid");
	trace(false);
	must(put(fault_instance, "events/pagefault/enable", "1"), "enable");
	/* What measure() uses must not fault while it runs */
	if (mlockall(MCL_CURRENT))
		ksft_exit_fail_msg("mlockall: %s\n", strerror(errno));

	ksft_set_plan(ARRAY_SIZE(workloads));
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
		test(&workloads[i]);
	ksft_finished();
}
