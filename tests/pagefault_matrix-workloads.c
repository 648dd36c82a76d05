// SPDX-License-Identifier: GPL-2.0
/* pagefault_matrix: the workloads, with the faults that each must have */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>

#include "pagefault_matrix.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT		21
#endif
/* 32-bit programs may have this one only */
#ifdef SYS_futex_time64
#define FUTEX			SYS_futex_time64
#else
#define FUTEX			SYS_futex
#endif

/* For filters: si_code, enum pagefault_flags and vm_fault_reason */
#define SEGV_MAPERR_SENT	SIGNAL "11 && si_code == 1"
#define SEGV_ACCERR_SENT	SIGNAL "11 && si_code == 2"
#define SEGV_PKUERR_SENT	SIGNAL "11 && si_code == 4"
#define SIGBUS_SENT		SIGNAL "7 && si_code == 2"
#define ANONYMOUS		"flags & 0x1"
#define IN_FILE			"flags & 0x2"
#define IN_SHMEM		"flags & 0x4"
#define HUGE_TLB		"flags & 0x8"
#define COPIED			"flags & 0x10"
#define FROM_SWAP		"flags & 0x20"
#define NOT_FROM_SWAP		"!(flags & 0x20)"
#define RETRIED			"flags & 0xc0"
#define COMPLETED_VM_FAULT	"vm_fault & 0x4000"
#define IN_KERNEL		"user_mode == 0"
#define AND			" && "

static const char no_disk[] = "$TMPDIR is not on a disk";
static size_t huge;
static char *own;			/* memory that no count is of */
static int told[2], other_fd;
static pthread_barrier_t barrier;

static void write_pages(char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		raise_write(start + i * step);
}

static void write_all(void)
{
	write_pages(mem, mem_size / step);
}

static void read_all(void)
{
	for (size_t i = 0; i < mem_size / step; i++)
		raise_read(mem + i * step);
}

/* reserve - Map @pages pages that touch no other mapping */
static char *reserve(size_t pages, int prot, int flags)
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

static const char *set_up_new(void)
{
	mem = reserve(n, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	return NULL;
}

static const char *set_up_written(void)
{
	set_up_new();
	write_all();
	return NULL;
}

static const char *set_up_own(void)
{
	set_up_written();
	own = mem;
	set_up_new();
	want(pipe(told), "pipe");
	return NULL;
}

static void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	int error = pthread_create(thread, NULL, fn, arg);

	if (error)
		give_up("pthread_create: %s", strerror(error));
}

/* A thread on each CPU */
static void run_threads(void)
{
	pthread_t threads[cpus()];

	pthread_barrier_init(&barrier, NULL, cpus());
	for (long cpu = 0; cpu < cpus(); cpu++)
		start_thread(&threads[cpu], workload->thread, (void *)cpu);
	for (int cpu = 0; cpu < cpus(); cpu++)
		pthread_join(threads[cpu], NULL);
}

static void end_child(pid_t child, int signal)
{
	int status;

	want(waitpid(child, &status, 0), "waitpid");
	if (signal ? !WIFSIGNALED(status) || WTERMSIG(status) != signal : status)
		give_up("a child ended with status 0x%x", status);
}

static void write_in_children(int copies)
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
static const char *map_file(int flags)
{
	int fd = new_file(n);

	if (fd < 0)
		return no_disk;
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
static const char *set_up_file_major(void)
{
	unsigned char cached[n];
	size_t gone = 0;
	int fd = new_file(n);

	if (fd < 0)
		return no_disk;
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

/* O_DIRECT: get_user_pages() finds the memory to read into */
static const char *set_up_direct(void)
{
	set_up_own();
	other_fd = new_file(n);
	if (other_fd < 0)
		return no_disk;
	if (fcntl(other_fd, F_SETFL, O_DIRECT) || pread(other_fd, own, page_size, 0) != page_size)
		return "the file system of TMPDIR has no O_DIRECT";
	lseek(other_fd, 0, SEEK_SET);
	expect(NOREGS_EVENT, n, n, MINOR AND ANONYMOUS);
	/* Some file systems write to the memory before */
	expect(EXIT_EVENT, n, n, MINOR AND ANONYMOUS AND IN_KERNEL);
	expected[1].more = true;
	return NULL;
}

static void run_direct(void)
{
	size_t done = 0;

	while (done < mem_size)
		done += want(read(other_fd, mem + done, mem_size - done), "read");
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
static const char *set_up_swap(void)
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
	const char *why = cpus() == 1 ? "there is only one CPU" : set_up_swap();
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

/*
 * Userfaultfd
 */
static int uffd;
static pthread_t faulter;

static const char *register_uffd(__u64 mode, __u64 feature)
{
	struct uffdio_api api = { .api = UFFD_API, .features = feature };
	struct uffdio_register reg = { { (unsigned long)mem, mem_size }, mode };

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		return "this kernel has no userfaultfd";
	if (ioctl(uffd, UFFDIO_API, &api))
		return "this kernel cannot write-protect by userfaultfd";
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
	return msg.arg.pagefault.address & ~(page_size - 1);
}

static void copy_page(unsigned long address)
{
	static char zeros[1 << 12];
	struct uffdio_copy copy = {
		.dst = address, .src = (unsigned long)zeros, .len = page_size,
	};

	want(ioctl(uffd, UFFDIO_COPY, &copy), "UFFDIO_COPY");
}

static void protect(unsigned long address, size_t size, __u64 mode)
{
	struct uffdio_writeprotect wp = { { address, size }, mode };

	want(ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), "UFFDIO_WRITEPROTECT");
}

static const char *set_up_missing(void)
{
	set_up_own();
	return register_uffd(UFFDIO_REGISTER_MODE_MISSING, 0);
}

static const char *set_up_wp(void)
{
	const char *why;

	set_up_written();
	why = register_uffd(UFFDIO_REGISTER_MODE_WP, UFFD_FEATURE_PAGEFAULT_FLAG_WP);
	if (!why)
		protect((unsigned long)mem, mem_size, UFFDIO_WRITEPROTECT_MODE_WP);
	return why;
}

static bool do_nothing(int signo, ucontext_t *uc)
{
	return true;
}

static const char *set_up_interrupted(void)
{
	before_skip = do_nothing;
	faulter = pthread_self();
	return set_up_missing();
}

static void *copy_pages(void *arg)
{
	for (size_t i = 0; i < n; i++)
		copy_page(next_fault());
	return arg;
}

static void *unprotect_pages(void *arg)
{
	for (size_t i = 0; i < n; i++)
		protect(next_fault(), page_size, 0);
	return arg;
}

/* A signal ends the first fault at each page, the second waits again */
static void *interrupt_faults(void *arg)
{
	for (size_t i = 0; i < n; i++) {
		next_fault();
		pthread_kill(faulter, SIGUSR1);
		copy_page(next_fault());
	}
	return arg;
}

static void run_served(void)
{
	pthread_t thread;

	start_thread(&thread, workload->thread, NULL);
	write_all();
	pthread_join(thread, NULL);
}

/* Half in user mode, by the VMA lock; half in kernel mode, by the mmap lock */
static void run_missing(void)
{
	pthread_t thread;

	start_thread(&thread, copy_pages, NULL);
	write_pages(mem, n / 2);
	for (size_t i = n / 2; i < n; i++) {
		want(write(told[1], "", 1), "write");
		want(read(told[0], mem + i * page_size, 1), "read");
	}
	pthread_join(thread, NULL);
}

static void *tell(void *arg)
{
	next_fault();
	want(write(told[1], "", 1), "write");
	pause();
	return arg;
}

/* A child is killed while its fault waits */
static void run_killed(void)
{
	pthread_t thread;
	pid_t child;
	char byte;

	for (size_t i = 0; i < n; i++) {
		child = must_fork();
		if (!child) {
			register_uffd(UFFDIO_REGISTER_MODE_MISSING, 0);
			start_thread(&thread, tell, NULL);
			raise_write(mem);
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
static char *page_of_signal(void)
{
	return (char *)((unsigned long)trap_info.si_addr & ~(page_size - 1));
}

static bool allow(int signo, ucontext_t *uc)
{
	want(mprotect(page_of_signal(), page_size, PROT_READ | PROT_WRITE), "mprotect");
	return true;
}

static const char *set_up_mprotect(void)
{
	before_skip = allow;
	mem = reserve(n, PROT_NONE, MAP_PRIVATE);
	return NULL;
}

/* Pages whose key denies access: first the kernel tries, then the program */
static bool change_key(int signo, ucontext_t *uc)
{
	want(pkey_mprotect(page_of_signal(), page_size, PROT_READ | PROT_WRITE, 0),
	     "pkey_mprotect");
	return true;
}

static const char *set_up_pkey(void)
{
	int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);

	if (key < 0)
		return "this machine has no protection keys";
	want(pipe(told), "pipe");
	set_up_written();
	want(pkey_mprotect(mem, mem_size, PROT_READ | PROT_WRITE, key), "pkey_mprotect");
	before_skip = change_key;
	bad_fixups = n;
	return NULL;
}

static void run_pkey(void)
{
	for (size_t i = 0; i < n; i++)
		if (write(told[1], mem + i * page_size, 1) != -1 || errno != EFAULT)
			give_up("write() from a page with a key did not fail");
	write_all();
}

/* Nothing mapped, an address of the kernel, a file that ends before */
static const char *set_up_signals(void)
{
	int fd = want(memfd_create("pagefault_matrix", 0), "memfd_create");

	mem = must_map(MAP_SHARED, fd, mem_size);
	expect(EXIT_EVENT, n, n, SIGBUS_SENT AND IN_SHMEM);
	own = mem;
	/* A 32-bit program on a 64-bit kernel cannot get there */
	if (kernel_text <= ULONG_MAX) {
		mem = (char *)(unsigned long)kernel_text;
		mem_size = 1;
		expect(EXIT_EVENT, n, n, SEGV_MAPERR_SENT);
		mem_size = n * page_size;
	}
	mem = reserve(n, PROT_NONE, MAP_PRIVATE);
	munmap(mem, mem_size);
	return NULL;
}

static void run_signals(void)
{
	for (size_t i = 0; i < n; i++) {
		raise_write(mem + i * page_size);
		raise_write(own + i * page_size);
		if (kernel_text <= ULONG_MAX)
			raise_write((char *)(unsigned long)kernel_text);
	}
}

/*
 * Huge pages
 */
static const char *set_up_thp(void)
{
	const char *dir = "/sys/kernel/mm/transparent_hugepage";
	char *enabled = get(dir, "enabled"), *size = get(dir, "hpage_pmd_size");
	char *zero = get(dir, "use_zero_page");
	size_t first, small;

	if (!enabled || !size || strstr(enabled, "[never]"))
		return "this kernel has no transparent huge pages, or they are off";
	huge = atoi(size);
	mem = reserve((n + 1) * huge / page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	mem = (char *)(((unsigned long)mem + huge - 1) & ~(huge - 1));
	mem_size = n * huge;
	want(madvise(mem, mem_size, MADV_HUGEPAGE), "madvise");

	/* One for a huge zero page, if there is one, and one for the write */
	first = zero && *zero == '1' ? 2 * n : n;
	/* At most one more for each small page, if there are no huge pages */
	small = mem_size / page_size;
	expect(EXIT_EVENT, first, n + small, MINOR AND ANONYMOUS);
	if (first > n)
		expect(EXIT_EVENT, n, small, COPIED);
	return NULL;
}

static void run_thp(void)
{
	for (size_t i = 0; i < n; i++)
		raise_read(mem + i * huge);
	write_all();
}

/* A child splits each page to copy it in parts, huge or not */
static const char *set_up_thp_fork(void)
{
	const char *why = set_up_thp();

	if (why)
		return why;
	run_thp();
	expectations = 0;
	expect(EXIT_EVENT, mem_size / page_size, mem_size / page_size,
	       MINOR AND ANONYMOUS AND COPIED);
	return NULL;
}

static void run_thp_fork(void)
{
	write_in_children(1);
}

static const char *set_up_hugetlb(void)
{
	char *info = get("/proc", "meminfo");
	char *at = info ? strstr(info, "Hugepagesize:") : NULL;

	if (no_hugetlb || !at)
		return no_hugetlb ?: "no size of huge pages in /proc/meminfo";
	step = strtoul(at + strlen("Hugepagesize:"), NULL, 10) * 1024;
	mem_size = n * step;
	mem = must_map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, mem_size);
	free(info);
	return NULL;
}

/* Written by the parent, copied by a child, and written by the parent again */
static void run_hugetlb(void)
{
	write_all();
	write_in_children(1);
	write_all();
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
	mem = (char *)strtoul(at, NULL, 16) - mem_size;
	free(maps);
	return NULL;
}

static void run_stack(void)
{
	char *here = __builtin_frame_address(0), *room;

	room = alloca(here - mem);
	for (size_t i = n; i > 0; i--)
		raise_write(mem + (i - 1) * page_size);
	raise_read(room);
}

/*
 * Faults of get_user_pages() and in the kernel
 */
static void read_memory_of(pid_t process)
{
	struct iovec local = { own, mem_size }, remote = { mem, mem_size };

	if (process_vm_readv(process, &local, 1, &remote, 1, 0) != (ssize_t)mem_size)
		give_up("process_vm_readv: %s", strerror(errno));
}

/* Faults in a child's memory that count for the parent: reads, then copies */
static void run_remote(void)
{
	struct iovec local = { own, mem_size }, remote = { mem, mem_size };
	pid_t child = must_fork();
	char byte;

	if (!child) {
		close(told[1]);
		_exit(read(told[0], &byte, 1));
	}
	read_memory_of(child);
	if (process_vm_writev(child, &local, 1, &remote, 1, 0) != (ssize_t)mem_size)
		give_up("process_vm_writev: %s", strerror(errno));
	close(told[1]);
	end_child(child, 0);
}

/* The faults that the workload knows are those of get_user_pages() */
static const char *by_get_user_pages(const char *why)
{
	char *memory = mem;

	if (why)
		return why;
	for (int i = 0; i < expectations; i++) {
		expected[i].event = NOREGS_EVENT;
		/* Each call of handle_mm_fault() is one */
		expected[i].most = ULONG_MAX;
	}
	set_up_own();
	mem = memory;
	return NULL;
}

static const char *set_up_gup_file(void)
{
	const char *why = by_get_user_pages(set_up_file_major());

	/* The first gives up the lock to read the page, the second has it */
	expect(NOREGS_EVENT, expected[0].least, ULONG_MAX, RETRY AND RETRIED);
	return why;
}

static const char *set_up_gup_swap(void)
{
	return by_get_user_pages(set_up_swap());
}

static void run_gup(void)
{
	read_memory_of(getpid());
}

static void run_mlock(void)
{
	want(mlock(mem, mem_size), "mlock");
	write_all();
}

/* From a file that is mapped, through a pipe, to new memory, and to a file */
static const char *set_up_copy(void)
{
	const char *why = map_file(MAP_PRIVATE);

	if (why)
		return why;
	expect(EXIT_EVENT, 1 + n / 512, ULONG_MAX, COUNTED AND IN_FILE AND IN_KERNEL);
	own = mem;
	set_up_new();
	other_fd = new_file(0);
	want(pipe(told), "pipe");
	return NULL;
}

static void run_copy(void)
{
	for (size_t i = 0; i < n; i++)
		if (write(told[1], own + i * page_size, page_size) != page_size ||
		    read(told[0], mem + i * page_size, page_size) != page_size)
			give_up("pipe: %s", strerror(errno));
	madvise(own, mem_size, MADV_DONTNEED);
	if (write(other_fd, own, mem_size) != (ssize_t)mem_size)
		give_up("write to TMPDIR: %s", strerror(errno));
}

/*
 * The code of futexes disables page faults, and then reads the page, or has
 * get_user_pages() write it
 */
static void run_futex(void)
{
	unsigned int at = 0;

	for (size_t i = 0; i < n / 2; i++)
		if (syscall(FUTEX, mem + i * page_size, FUTEX_WAIT_PRIVATE, 1, NULL) != -1 ||
		    errno != EAGAIN)
			give_up("FUTEX_WAIT: %s", strerror(errno));
	for (size_t i = n / 2; i < n; i++)
		want(syscall(FUTEX, &at, FUTEX_WAKE_OP_PRIVATE, 1, 0, mem + i * page_size,
			     FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)), "FUTEX_WAKE_OP");
}

#ifdef __x86_64__
#define MANY		1000000
#else
#define MANY		200000
#endif
#define NEW_PAGES	{ { EXIT_EVENT, EACH, EACH, MINOR AND "flags == 1" AND IN_USER } }

const struct workload workloads[] = {
	{ "new pages", set_up_new, run_touch, 10, NEW_PAGES },
	{ "new pages", set_up_new, run_touch, 1000, NEW_PAGES },
	{ "new pages", set_up_new, run_touch, 100000, NEW_PAGES, .together = 20000 },
	{ "page of zeros, a thread on each CPU", set_up_zeros, run_threads, MANY,
	  .kind = THREADS, .thread = read_zeros, .together = 50000 },
	{ "threads that write to one page", set_up_same, run_threads, 2000,
	  .kind = THREADS, .thread = write_same, .together = 1000 },
	{ "threads that read what is not in the cache", set_up_same_file, run_threads, 64,
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
	{ "threads that swap in the same pages", set_up_same_swap, run_threads, 500,
	  .kind = THREADS, .thread = read_same },
	{ "swap of shared memory", set_up_swap_shmem, write_all, 500 },
	{ "swap under memory pressure", set_up_pressure, run_pressure, 4096,
	  { { EXIT_EVENT, HALF, ANY, COUNTED AND ANONYMOUS AND FROM_SWAP },
	    { EXIT_EVENT, EACH + HALF, ANY, COUNTED } } },
	{ "userfaultfd, missing", set_up_missing, run_missing, 200,
	  { { EXIT_EVENT, EACH, EACH, COUNTED AND RETRIED AND ANONYMOUS },
	    { EXIT_EVENT, HALF, HALF, COUNTED AND IN_USER },
	    { EXIT_EVENT, HALF, HALF, MAJOR AND IN_KERNEL } }, THREADS },
	{ "userfaultfd, write-protected", set_up_wp, run_served, 200,
	  { { EXIT_EVENT, EACH, EACH, COUNTED AND RETRIED AND ANONYMOUS } },
	  THREADS, unprotect_pages },
	{ "userfaultfd, interrupted", set_up_interrupted, run_served, 200,
	  { { EXIT_EVENT, EACH, EACH, INTERRUPTED }, { EXIT_EVENT, EACH, EACH, COUNTED } },
	  THREADS, interrupt_faults },
	{ "userfaultfd, killed", set_up_missing, run_killed, 5,
	  { { EXIT_EVENT, EACH, EACH, INTERRUPTED }, { EXIT_EVENT, EACH, EACH } }, THREADS },
	{ "mprotect in a signal handler", set_up_mprotect, write_all, 200,
	  { { EXIT_EVENT, EACH, EACH, SEGV_ACCERR_SENT AND IN_USER },
	    { EXIT_EVENT, EACH, EACH, MINOR AND ANONYMOUS } } },
	{ "protection keys", set_up_pkey, run_pkey, 200,
	  { { EXIT_EVENT, EACH, EACH, SEGV_PKUERR_SENT AND IN_USER },
	    { EXIT_EVENT, EACH, EACH, FIXUP AND IN_KERNEL },
	    { EXIT_EVENT, 2 * EACH, 2 * EACH } } },
	{ "signals", set_up_signals, run_signals, 200,
	  { { EXIT_EVENT, EACH, EACH, SEGV_MAPERR_SENT } } },
	{ "transparent huge pages", set_up_thp, run_thp, 8 },
	{ "transparent huge pages, copy-on-write", set_up_thp_fork, run_thp_fork, 2,
	  .kind = PROCESSES },
	{ "hugetlb, copy-on-write", set_up_hugetlb, run_hugetlb, HUGETLB_PAGES,
	  { { EXIT_EVENT, 3 * EACH, 3 * EACH, COUNTED AND HUGE_TLB },
	    { EXIT_EVENT, EACH, EACH, COPIED } }, PROCESSES },
	{ "stack", set_up_stack, run_stack, 2000,
	  { { EXIT_EVENT, EACH, EACH, MINOR AND ANONYMOUS AND IN_USER } } },
	{ "process_vm_readv, process_vm_writev", set_up_own, run_remote, 500,
	  { { NOREGS_EVENT, 2 * EACH, 2 * EACH, MINOR AND ANONYMOUS AND "fault_flags & 0x80" },
	    { NOREGS_EVENT, EACH, EACH, COPIED }, { EXIT_EVENT } }, PROCESSES },
	{ "process_vm_readv, not in the cache", set_up_gup_file, run_gup, 64 },
	{ "process_vm_readv, swap", set_up_gup_swap, run_gup, 500 },
	{ "O_DIRECT", set_up_direct, run_direct, 500 },
	{ "mlock", set_up_new, run_mlock, 500,
	  { { NOREGS_EVENT, EACH, EACH, MINOR AND ANONYMOUS } } },
	{ "read and write in the kernel", set_up_copy, run_copy, 200,
	  { { EXIT_EVENT, EACH, EACH, MINOR AND ANONYMOUS AND IN_KERNEL } } },
	{ "futex, page faults disabled", set_up_new, run_futex, 200,
	  { { EXIT_EVENT, EACH, EACH, FIXUP AND IN_KERNEL },
	    { EXIT_EVENT, HALF, HALF, MINOR AND ANONYMOUS },
	    { NOREGS_EVENT, HALF, HALF, MINOR AND ANONYMOUS } } },
};

const size_t nr_workloads = ARRAY_SIZE(workloads);
