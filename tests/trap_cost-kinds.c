// SPDX-License-Identifier: GPL-2.0
/* trap_cost: the kinds of traps, and the memory that they need */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trap_cost.h"

#define LOOP_PAGES	128
#define MAX_FRAMES	32
#define HUGE_PAGE	(2UL << 20)

static char *huge;
static int tmpfs_file = -1;

/*
 * The kinds of traps
 */
void no_trap(long i)
{
}

static void getppid_control(long i)
{
	syscall(SYS_getppid);
}

static void getpid_control(long i)
{
	syscall(SYS_getpid);
}

static void int3(long i)
{
	raise_bp(NULL);
}

static void ud2(long i)
{
	RAISE("", "ud2", "", NULL);
}

static void divide(long i)
{
	RAISE("xor %%edx, %%edx; xor %%ecx, %%ecx", "div %%ecx", "", NULL);
}

void zero_page(long i)
{
	raise_read(memory + i * page);
}

static void first_write(long i)
{
	raise_write(memory + i * page);
}

/* Of a file in the page cache */
static void page_cache(long i)
{
	raise_read(file + i * AROUND * page);
}

/* The same, but it is not there */
void major(long i)
{
	raise_read(file + i * page);
}

/* The kernel writes: its fault is under the mmap lock */
static void kernel_write(long i)
{
	syscall(SYS_clock_getres, CLOCK_MONOTONIC, memory + i * page);
}

/* The kernel cannot write: its fault is fixed up */
static void fixup(long i)
{
	syscall(SYS_clock_getres, CLOCK_MONOTONIC, unmapped);
}

static void segv(long i)
{
	raise_read(unmapped);
}

/* Something is there, but may not be written to */
static void segv_access(long i)
{
	raise_write(file);
}

/* Behind the end of the device */
static void sigbus(long i)
{
	raise_read(file + file_size);
}

/* The mm's own hot paths: what marks in them take while they are off */
static void private_write(long i)
{
	raise_write(private + i * page);
}

static void get_user_pages(long i)
{
	char c;

	if (pread(own_memory, &c, 1, (uintptr_t)(memory + i * page)) != 1)
		ksft_exit_fail_msg("/proc/self/mem: %s\n", strerror(errno));
}

static void unmap(long i)
{
	munmap(mapped + i * page, page);
}

static void fork_pages(long i)
{
	pid_t child = must_fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* Each page is in the swap, see swapped_pages() */
static void swap_in(long i)
{
	raise_read(memory + i * page);
}

static void thp(long i)
{
	raise_write(huge + i * HUGE_PAGE);
}

/* As the loops of that name in will-it-scale: map, write to each page, unmap */
static void write_pages(int flags, int fd)
{
	char *at = mmap(NULL, LOOP_PAGES * page, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	for (int i = 0; i < LOOP_PAGES; i++)
		raise_write(at + i * page);
	munmap(at, LOOP_PAGES * page);
}

static void page_fault1(long i)
{
	write_pages(MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void page_fault2(long i)
{
	write_pages(MAP_PRIVATE, tmpfs_file);
}

static void page_fault3(long i)
{
	write_pages(MAP_SHARED, tmpfs_file);
}

/* Below so many frames, which stack walks read. The one above them has nowhere to return to */
static void read_in_frames(int n, void *at)
{
	uintptr_t frames[MAX_FRAMES + 1][2];

	for (int i = 0; i <= n; i++) {
		frames[i][0] = (uintptr_t)frames[i + 1];
		frames[i][1] = i < n ? (uintptr_t)raise_read : 0;
	}
	RAISE(ENTER_FRAME, "movb " AT_SI ", %%al", LEAVE_FRAME, frames, "S" (at));
}

static void frames_1(long i)
{
	read_in_frames(1, memory + i * page);
}

static void frames_8(long i)
{
	read_in_frames(8, memory + i * page);
}

static void frames_32(long i)
{
	read_in_frames(32, memory + i * page);
}

/* With a frame pointer to memory that has no page, or that has one: for stack walks */
static void walk_fault(long i)
{
	raise_bp_in_frame(memory);
}

static void walk_page(long i)
{
	raise_bp_in_frame(frame);
}

void no_memory(void)
{
	madvise(memory, BATCH * page, MADV_DONTNEED);
}

static void no_mapping(void)
{
	madvise(file, file_size, MADV_DONTNEED);
}

/*
 * Drop the page cache, too; without readahead, each page is a fault. The last page of the
 * device keeps the tree of its pages at one height, as the cost of each page depends on that
 */
static void no_cache(void)
{
	char c;

	no_mapping();
	posix_fadvise(block_device, 0, 0, POSIX_FADV_DONTNEED);
	if (pread(block_device, &c, 1, file_size - page) != 1)
		ksft_exit_fail_msg(BLOCK_DEVICE ": %s\n", strerror(errno));
}

static void zero_pages(void)
{
	no_memory();
	for (int i = 0; i < BATCH; i++)
		raise_read(memory + i * page);
}

static void written_pages(void)
{
	no_memory();
	memset(memory, 1, BATCH * page);
}

/* A child had them as well: each is written to in its place */
static void formerly_shared_pages(void)
{
	written_pages();
	fork_pages(0);
}

/* A child has them as well: each is copied */
static void shared_pages(void)
{
	static pid_t child;

	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	written_pages();
	child = must_fork();
	if (child)
		return;
	for (;;)
		pause();
}

static void no_private(void)
{
	madvise(private, BATCH * page, MADV_DONTNEED);
}

static void mapped_pages(void)
{
	mapped = mmap(mapped, BATCH * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (mapped == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	memset(mapped, 1, BATCH * page);
}

static void end_swap(void)
{
	swapoff(SWAP_DEVICE);
}

static void start_swap(void)
{
	int fd = open(SWAP_DEVICE, O_RDWR);

	if (fd < 0)
		ksft_exit_fail_msg(SWAP_DEVICE ": %s\n", strerror(errno));
	must(swap_to(fd, SWAP_DEVICE, 2 * BATCH * page), SWAP_DEVICE);
	close(fd);
	atexit(end_swap);
}

/* None of them is in memory any more. A page of zeros would not be written to the device */
static void swapped_pages(void)
{
	static unsigned char there[BATCH];
	static bool started;

	if (!started)
		start_swap();
	started = true;
	written_pages();
	if (madvise(memory, BATCH * page, MADV_PAGEOUT) || mincore(memory, BATCH * page, there))
		ksft_exit_fail_msg("MADV_PAGEOUT, mincore: %s\n", strerror(errno));
	for (int i = 0; i < BATCH; i++)
		if (there[i] & 1)
			ksft_exit_fail_msg("page %d is not in the swap\n", i);
}

static void no_huge(void)
{
	size_t size = BATCH * HUGE_PAGE;

	if (!huge) {
		huge = new_pages(size + HUGE_PAGE);
		huge += -(uintptr_t)huge % HUGE_PAGE;
		madvise(huge, size, MADV_HUGEPAGE);
	}
	madvise(huge, size, MADV_DONTNEED);
}

static void open_tmpfs(void)
{
	if (tmpfs_file >= 0)
		return;
	tmpfs_file = memfd_create("trap_cost", 0);
	if (tmpfs_file < 0 || ftruncate(tmpfs_file, LOOP_PAGES * page))
		ksft_exit_fail_msg("memfd_create: %s\n", strerror(errno));
}

/* A share of those that take long is enough: their means vary by less than one instruction */
const struct kind kinds[] = {
	{ "getppid", CONTROL, getppid_control },
	{ "int3", SIGNALS, int3, .share = 4 },
	{ "ud2", SIGNALS, ud2, .share = 4 },
	{ "divide", SIGNALS, divide, .share = 4 },
	{ "zero_page", FAULTS, zero_page, no_memory },
	{ "first_write", FAULTS, first_write, no_memory, .share = 4 },
	{ "page_cache", FAULTS, page_cache, no_mapping, true, .share = 4 },
	{ "major", FAULTS, major, no_cache, true, .share = 4 },
	{ "segv", BAD_FAULTS, segv, .share = 4 },
	{ "kernel_write", OTHER_FAULTS, kernel_write, no_memory },
	{ "fixup", OTHER_FAULTS, fixup },
	{ "segv_access", OTHER_FAULTS, segv_access, NULL, true },
	{ "sigbus", OTHER_FAULTS, sigbus, NULL, true },
	{ "zero_write", OTHER_FAULTS, first_write, zero_pages },
	{ "copy_on_write", OTHER_FAULTS, first_write, shared_pages },
	{ "reuse", OTHER_FAULTS, first_write, formerly_shared_pages },
	{ "private_file", OTHER_FAULTS, private_write, no_private, true },
	{ "get_user_pages", OTHER_FAULTS, get_user_pages, no_memory },
	{ "munmap", OTHER_FAULTS, unmap, mapped_pages },
	{ "fork", OTHER_FAULTS, fork_pages, written_pages, .share = 100 },
	{ "getpid", OTHER_FAULTS, getpid_control },
	{ "page_fault1", OTHER_FAULTS, page_fault1, .share = 100, .pages = LOOP_PAGES },
	{ "page_fault2", OTHER_FAULTS, page_fault2, open_tmpfs, .share = 100, .pages = LOOP_PAGES },
	{ "page_fault3", OTHER_FAULTS, page_fault3, open_tmpfs, .share = 100, .pages = LOOP_PAGES },
	{ "swap_in", OTHER_FAULTS, swap_in, swapped_pages, .counter = "pswpin" },
	{ "thp", OTHER_FAULTS, thp, no_huge, .share = 200, .counter = "thp_fault_alloc" },
	{ "frames_1", OTHER_FAULTS, frames_1, no_memory },
	{ "frames_8", OTHER_FAULTS, frames_8, no_memory },
	{ "frames_32", OTHER_FAULTS, frames_32, no_memory },
	{ "walk_fault", WALKS, walk_fault, no_memory },
	{ "walk_page", WALKS, walk_page },
};

const size_t nr_kinds = ARRAY_SIZE(kinds);

const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < nr_kinds; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	ksft_exit_fail_msg("no kind of trap is called %s\n", name);
}

bool asked_for(const struct kind *k)
{
	size_t length = strlen(k->name);

	if (!only)
		return k->sort != OTHER_FAULTS;
	for (const char *at = only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, k->name, length) && (at[length] == ',' || !at[length]))
			return true;
	return false;
}
