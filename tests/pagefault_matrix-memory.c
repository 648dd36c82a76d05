// SPDX-License-Identifier: GPL-2.0
/* pagefault_matrix: the workloads of memory, files and swap */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pagefault_matrix.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT		21
#endif

/* For filters: enum pagefault_flags and vm_fault_reason */
#define FROM_SWAP		"flags & 0x20"
#define NOT_FROM_SWAP		"!(flags & 0x20)"
#define COMPLETED_VM_FAULT	"vm_fault & 0x4000"

static pthread_barrier_t barrier;

void write_pages(char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		raise_write(start + i * step);
}

void write_all(void)
{
	write_pages(mem, mem_size / step);
}

static void read_all(void)
{
	for (size_t i = 0; i < mem_size / step; i++)
		raise_read(mem + i * step);
}

/* reserve - Map @pages pages that touch no other mapping */
char *reserve(size_t pages, int prot, int flags)
{
	char *start = must_map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			       (pages + 2) * page_size);

	mprotect(start, (pages + 2) * page_size, PROT_NONE);
	start = mmap(start + page_size, pages * page_size, prot,
		     flags | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (start == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	madvise(start, pages * page_size, MADV_NOHUGEPAGE);
	return start;
}

const char *set_up_new(void)
{
	mem = reserve(n, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	return NULL;
}

const char *set_up_written(void)
{
	set_up_new();
	write_all();
	return NULL;
}

void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	int error = pthread_create(thread, NULL, fn, arg);

	if (error)
		give_up("pthread_create: %s", strerror(error));
}

static void run_many(int count)
{
	pthread_t threads[count];

	pthread_barrier_init(&barrier, NULL, count);
	for (int i = 0; i < count; i++)
		start_thread(&threads[i], workload->thread, (void *)(long)(i % cpus()));
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* A thread on each CPU */
static void run_threads(void)
{
	run_many(cpus());
}

/* One of the two runs while the other one sleeps in its page fault */
static void run_two_on_each_cpu(void)
{
	run_many(2 * cpus());
}

void end_child(pid_t child, int signal)
{
	int status;

	want(waitpid(child, &status, 0), "waitpid");
	if (signal ? !WIFSIGNALED(status) || WTERMSIG(status) != signal : status)
		give_up("a child ended with status 0x%x", status);
}

void write_in_children(int copies)
{
	pid_t children[copies];

	for (int i = 0; i < copies; i++) {
		children[i] = must_fork();
		if (children[i])
			continue;
		write_all();
		_exit(0);
	}
	for (int i = 0; i < copies; i++)
		end_child(children[i], 0);
}

/* New pages, not all at once if that needs much memory */
#define AT_ONCE		20000

static void run_touch(void)
{
	for (size_t done = 0; done < n; done += AT_ONCE) {
		size_t pages = n - done < AT_ONCE ? n - done : AT_ONCE;

		write_pages(mem + done * page_size, pages);
		madvise(mem + done * page_size, pages * page_size, MADV_DONTNEED);
	}
}

/* The page of zeros again and again, in a thread on each CPU */
#define ZEROS		50

static size_t zero_rounds(void)
{
	return (n + ZEROS * cpus() - 1) / (ZEROS * cpus());
}

static const char *set_up_zeros(void)
{
	size_t pages = ZEROS * cpus(), all = zero_rounds() * pages;

	mem = reserve(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	mem_size = pages * page_size;
	expect(EXIT_EVENT, all, all, MINOR AND ANONYMOUS);
	return NULL;
}

static void *read_zeros(void *cpu)
{
	char *mine = mem + (long)cpu * ZEROS * page_size;

	pin((long)cpu);
	for (size_t i = zero_rounds(); i > 0; i--) {
		madvise(mine, ZEROS * page_size, MADV_DONTNEED);
		for (size_t j = 0; j < ZEROS; j++)
			raise_read(mine + j * page_size);
	}
	return NULL;
}

/* All threads fault on one page at once; one maps it, for all or for itself */
#define SAME		8

static const char *set_up_same(void)
{
	set_up_new();
	expect(EXIT_EVENT, n, n * cpus(), MINOR AND ANONYMOUS);
	return NULL;
}

static void *write_same(void *cpu)
{
	pin((long)cpu);
	for (size_t i = 0; i < n; i += SAME) {
		pthread_barrier_wait(&barrier);
		write_pages(mem + i * page_size, SAME);
	}
	return NULL;
}

/* Some fault while the mapping changes: these cannot take the VMA lock */
#define CHANGES		50

static const char *set_up_changing(void)
{
	if (cpus() == 1)
		return "there is only one CPU";
	set_up_new();
	expect(EXIT_EVENT, n / cpus() * (cpus() - 1), ULONG_MAX, MINOR AND ANONYMOUS);
	return NULL;
}

static void *write_or_change(void *arg)
{
	size_t cpu = (long)arg, mine = n / cpus();

	pin(cpu);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < CHANGES; i++) {
		if (cpu)
			write_pages(mem + (cpu * mine + i * (mine / CHANGES)) * page_size,
				    mine / CHANGES);
		else
			want(mprotect(mem, mem_size, PROT_READ | PROT_WRITE |
				      (i % 2 ? PROT_EXEC : 0)), "mprotect");
	}
	if (cpu)
		write_pages(mem + cpu * mine * page_size, mine);
	return NULL;
}

/* Each child copies each page, as the parent still has it; then the parent */
#define COPIES		4

static void run_fork(void)
{
	write_in_children(COPIES);
	write_all();
}

/* What was moved does not fault, what is new does */
static const char *set_up_mremap(void)
{
	mem = reserve(8 * n, PROT_NONE, MAP_PRIVATE);
	mem_size = 8 * n * page_size;
	return NULL;
}

static void move(char *from, size_t from_pages, char *to, size_t pages, int flags)
{
	if (mremap(from, from_pages * page_size, pages * page_size, flags, to) != to)
		give_up("mremap: %s", strerror(errno));
}

static void run_mremap(void)
{
	char *a = mem, *b = mem + 2 * n * page_size, *c = mem + 5 * n * page_size;

	/* Nothing is to be in the way when it grows */
	munmap(mem, mem_size);
	if (mmap(a, n * page_size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != a)
		give_up("mmap: %s", strerror(errno));
	madvise(a, n * page_size, MADV_NOHUGEPAGE);
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

static void run_discard(void)
{
	for (int i = 0; i < DISCARDS; i++) {
		write_all();
		want(madvise(mem, mem_size, MADV_DONTNEED), "madvise");
	}
}

/*
 * Files
 */
const char *map_file(int flags)
{
	int fd = new_file(n);

	if (fd < 0)
		return NO_DISK;
	mem = must_map(flags, fd, mem_size);
	close(fd);
	return NULL;
}

static const char *set_up_file_read(void)
{
	const char *why = map_file(MAP_SHARED);

	/* A fault may map its neighbours too, of the same page table at most */
	expect(EXIT_EVENT, 1 + n / 512, n, COUNTED AND IN_FILE);
	return why;
}

static const char *set_up_file_private(void)
{
	return map_file(MAP_PRIVATE);
}

/* The file system gets a call for each page that is to be written */
static const char *set_up_file_shared(void)
{
	return map_file(MAP_SHARED);
}

/* One for each page that is not in the page cache, without readahead */
const char *set_up_file_major(void)
{
	unsigned char cached[n];
	size_t gone = 0;
	int fd = new_file(n);

	if (fd < 0)
		return NO_DISK;
	drop_cache(fd);
	mem = must_map(MAP_SHARED, fd, mem_size);
	close(fd);
	want(madvise(mem, mem_size, MADV_RANDOM), "madvise");
	want(mincore(mem, mem_size, cached), "mincore");
	for (size_t i = 0; i < n; i++)
		gone += !(cached[i] & 1);
	if (!gone)
		give_up("POSIX_FADV_DONTNEED did nothing");
	expect(EXIT_EVENT, gone, n, MAJOR AND IN_FILE);
	return NULL;
}

/* One thread has the page read, and all wait for it */
static const char *set_up_same_file(void)
{
	const char *why = set_up_file_major();

	expected[0].most = ULONG_MAX;
	return why;
}

static void *read_same(void *cpu)
{
	pin((long)cpu);
	for (size_t i = 0; i < n; i++) {
		pthread_barrier_wait(&barrier);
		raise_read(mem + i * page_size);
	}
	return NULL;
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
	return kib * 1024 / page_size;
}

/* Swap out, and say how many pages were */
static size_t swap_out(void)
{
	size_t out = 0;

	for (int i = 0; i < 100 && out < n / 2; i++) {
		want(madvise(mem, mem_size, MADV_PAGEOUT), "MADV_PAGEOUT");
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
const char *set_up_swap(void)
{
	size_t out;

	if (no_swap)
		return no_swap;
	set_up_written();
	for (int i = 0; i < 3; i++) {
		swap_out();
		read_all();
	}
	out = swap_out();
	expect(EXIT_EVENT, out, out, COUNTED AND ANONYMOUS AND FROM_SWAP);
	expect(EXIT_EVENT, out, out, NULL);
	expect(EXIT_EVENT, 1, out, MAJOR AND FROM_SWAP);
	return NULL;
}

/*
 * Many threads fault on each page, and one maps it. The others have found it in
 * swap, wait for the lock of the page, and then find it mapped.
 */
static const char *set_up_same_swap(void)
{
	const char *why = set_up_swap();
	size_t out = expected[0].least;

	if (why)
		return why;
	expectations = 0;
	expect(EXIT_EVENT, out + 1, ULONG_MAX, COUNTED AND ANONYMOUS AND FROM_SWAP);
	expect(EXIT_EVENT, 1, ULONG_MAX, MAJOR AND RETRIED AND FROM_SWAP);
	expect(EXIT_EVENT, 0, 0, MAJOR AND NOT_FROM_SWAP);
	/* Also together with others */
	expected[2].most = 0;
	return NULL;
}

/* To read shared memory makes it dirty: only a memory cgroup can drop it */
static const char *set_up_swap_shmem(void)
{
	size_t out;

	if (no_swap)
		return no_swap;
	if (!no_group)
		must(put(reclaimed_group, "cgroup.procs", "%d", getpid()), "cgroup.procs");
	mem = reserve(n, PROT_READ | PROT_WRITE, MAP_SHARED);
	write_all();
	out = swap_out();
	if (!no_group) {
		/* This fails if the cgroup has less memory than that, but frees what it has */
		put(reclaimed_group, "memory.reclaim", "%zu", 2 * mem_size);
		out = swapped();
		expect(EXIT_EVENT, 1, out, MAJOR AND FROM_SWAP);
	}
	expect(EXIT_EVENT, out, out, COUNTED AND IN_SHMEM AND FROM_SWAP);
	expect(EXIT_EVENT, out, n, NULL);
	return NULL;
}

/* The memory cgroup has half the size, so half of the pages are in swap */
static const char *set_up_pressure(void)
{
	if (no_swap || no_group)
		return no_swap ?: no_group;
	must(put(pressed_group, "cgroup.procs", "%d", getpid()), "cgroup.procs");
	set_up_new();
	expect(EXIT_EVENT, 1, ULONG_MAX, MAJOR AND FROM_SWAP);
	return NULL;
}

static void run_pressure(void)
{
	write_all();
	write_all();
}

#ifdef __x86_64__
#define MANY		1000000
#else
#define MANY		200000
#endif
#define NEW_PAGES	{ { EXIT_EVENT, EACH, EACH, MINOR AND "flags == 1" AND IN_USER } }

const struct workload memory_workloads[] = {
	{ "new pages", set_up_new, run_touch, 10, NEW_PAGES },
	{ "new pages", set_up_new, run_touch, 1000, NEW_PAGES },
	{ "new pages", set_up_new, run_touch, 100000, NEW_PAGES, .together = 20000 },
	{ "page of zeros, a thread on each CPU", set_up_zeros, run_threads, MANY,
	  .kind = THREADS, .thread = read_zeros, .together = 50000 },
	{ "threads that write to one page", set_up_same, run_threads, 2000,
	  .kind = THREADS, .thread = write_same, .together = 1000 },
	{ "threads that read what is not in the cache", set_up_same_file, run_two_on_each_cpu, 64,
	  .kind = THREADS, .thread = read_same },
	{ "threads while the mapping changes", set_up_changing, run_threads, 4000,
	  .kind = THREADS, .thread = write_or_change, .together = 2000 },
	/* The parent may find that nobody else has the page any more */
	{ "fork, copy-on-write", set_up_written, run_fork, 500,
	  { { EXIT_EVENT, (COPIES + 1) * EACH, (COPIES + 1) * EACH,
	      MINOR AND ANONYMOUS AND IN_USER },
	    { EXIT_EVENT, COPIES * EACH, (COPIES + 1) * EACH, COPIED } }, PROCESSES },
	{ "mremap", set_up_mremap, run_mremap, 500,
	  { { EXIT_EVENT, 4 * EACH, 4 * EACH, MINOR AND ANONYMOUS } } },
	{ "madvise(MADV_DONTNEED)", set_up_new, run_discard, 500,
	  { { EXIT_EVENT, DISCARDS * EACH, DISCARDS * EACH, MINOR AND ANONYMOUS } } },
	{ "file, read", set_up_file_read, read_all, 2000 },
	{ "file, private", set_up_file_private, write_all, 500,
	  { { EXIT_EVENT, EACH, EACH, COUNTED AND IN_FILE AND COPIED },
	    { EXIT_EVENT, EACH, EACH } } },
	{ "file, shared", set_up_file_shared, write_all, 500,
	  { { EXIT_EVENT, EACH, ANY, COUNTED AND IN_FILE },
	    { EXIT_EVENT, EACH, ANY, COMPLETED_VM_FAULT } } },
	{ "file, not in the cache", set_up_file_major, read_all, 64 },
	{ "swap", set_up_swap, write_all, 500 },
	{ "threads that swap in the same pages", set_up_same_swap, run_two_on_each_cpu, 500,
	  .kind = THREADS, .thread = read_same },
	{ "swap of shared memory", set_up_swap_shmem, write_all, 500 },
	{ "swap under memory pressure", set_up_pressure, run_pressure, 4096,
	  { { EXIT_EVENT, HALF, ANY, COUNTED AND ANONYMOUS AND FROM_SWAP },
	    { EXIT_EVENT, EACH + HALF, ANY, COUNTED } } },
};

const size_t nr_memory_workloads = ARRAY_SIZE(memory_workloads);
