// SPDX-License-Identifier: GPL-2.0
/*
 * pagefault_matrix: workloads in anonymous memory, in files and in swap
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pagefault_matrix.h"

/*
 * Workloads
 */

/* Access memory, whatever the compiler thinks of that */
void write_to(char *p)
{
	asm volatile("movb $1, (%0)" : : "r" (p) : "memory");
}

void read_from(const char *p)
{
	asm volatile("cmpb $0, (%0)" : : "r" (p) : "memory", "cc");
}

void write_pages(char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		write_to(start + i * page);
}

static void read_pages(char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		read_from(start + i * page);
}

/* reserve - Map @pages pages that touch no other mapping */
char *reserve(size_t pages, int prot, int flags)
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

char *fresh(size_t pages)
{
	return reserve(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	int error = pthread_create(thread, NULL, fn, arg);

	if (error)
		give_up("pthread_create: %s", strerror(error));
}

void end_child(pid_t child, int signal)
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

const char *set_up_touch(void)
{
	mem = fresh(at_once());
	expect(EXIT_EVENT, n, n, MINOR AND "flags == 1" AND IN_USER, mem, at_once() * page);
	return NULL;
}

void run_touch(void)
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

const char *set_up_zeros(void)
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

void run_zeros(void)
{
	run_threads(read_zeros);
}

/* All threads fault on one page at once; one maps it, for all or for itself */
#define SAME		8

static pthread_barrier_t barrier;

const char *set_up_same(void)
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

void run_same(void)
{
	run_threads(write_same);
}

/* Some fault while the mapping changes: these cannot take the VMA lock */
#define CHANGES		50

const char *set_up_changing(void)
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

void run_changing(void)
{
	run_threads(write_or_change);
}

/* Each child copies each page, as the parent still has it; then the parent */
const char *set_up_fork(void)
{
	mem = fresh(n);
	write_pages(mem, n);
	expect(EXIT_EVENT, (COPIES + 1) * n, (COPIES + 1) * n, MINOR AND ANONYMOUS AND IN_USER,
	       mem, n * page);
	/* The parent may find that nobody else has the page any more */
	expect(EXIT_EVENT, COPIES * n, (COPIES + 1) * n, COPIED, mem, n * page);
	return NULL;
}

void run_fork(void)
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
const char *set_up_mremap(void)
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

void run_mremap(void)
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

const char *set_up_discard(void)
{
	mem = fresh(n);
	expect(EXIT_EVENT, DISCARDS * n, DISCARDS * n, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

void run_discard(void)
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

const char *map_file(int prot, int flags)
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

const char *set_up_file_read(void)
{
	const char *why = map_file(PROT_READ, MAP_SHARED);

	/* A fault may map its neighbours too, of the same page table at most */
	expect(EXIT_EVENT, 1 + n / 512, n, COUNTED AND IN_FILE, mem, n * page);
	return why;
}

void run_read(void)
{
	read_pages(mem, n);
}

void run_write(void)
{
	write_pages(mem, n);
}

const char *set_up_file_cow(void)
{
	const char *why = map_file(PROT_READ | PROT_WRITE, MAP_PRIVATE);

	expect(EXIT_EVENT, n, n, COUNTED AND IN_FILE AND COPIED, mem, n * page);
	expect(EXIT_EVENT, n, n, NULL, mem, n * page);
	return why;
}

/* The file system gets a call for each page that is to be written */
const char *set_up_file_write(void)
{
	const char *why = map_file(PROT_READ | PROT_WRITE, MAP_SHARED);

	expect(EXIT_EVENT, n, ULONG_MAX, COUNTED AND IN_FILE, mem, n * page);
	expect(EXIT_EVENT, n, ULONG_MAX, COMPLETED, mem, n * page);
	return why;
}

/* One for each page that is not in the page cache, without readahead */
const char *set_up_file_major(void)
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
const char *set_up_same_file(void)
{
	const char *why = set_up_file_major();

	/* set_up_file_major() expects one thread */
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

void run_read_same(void)
{
	run_threads(read_same);
}

/* O_DIRECT: get_user_pages() finds the memory to read into */
static int direct_fd;

const char *set_up_direct(void)
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

void run_direct(void)
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
const char *set_up_swap(void)
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
const char *set_up_same_swap(void)
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
const char *set_up_swap_shmem(void)
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
		/* This fails if the cgroup has less memory than that, but frees what it has */
		put(reclaimed_group, "memory.reclaim", "%zu", 2 * n * page);
		out = swapped();
		expect(EXIT_EVENT, 1, out, MAJOR AND FROM_SWAP, mem, n * page);
	}
	expect(EXIT_EVENT, out, out, COUNTED AND IN_SHMEM AND FROM_SWAP, mem, n * page);
	expect(EXIT_EVENT, out, n, NULL, mem, n * page);
	return NULL;
}

/* The memory cgroup has half the size, so half of the pages are in swap */
const char *set_up_pressure(void)
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

void run_pressure(void)
{
	write_pages(mem, n);
	write_pages(mem, n);
}
