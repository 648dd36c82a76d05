// SPDX-License-Identifier: GPL-2.0
/*
 * The demo of "make run": raises each of a few traps and page faults a known number of
 * times, with a handler for the signals, and says how often.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

static sig_atomic_t handled;

/* Continue behind the instruction: its length is in %r8, 0 for a trap */
static void on_signal(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	regs[REG_RIP] += regs[REG_R8];
	handled++;
}

#define DEFINE_TRAP(name, code)						\
	static void name(void)						\
	{								\
		asm volatile(code ::: "rax", "rcx", "rdx", "r8");	\
	}
DEFINE_TRAP(divide_by_zero, "mov $2, %%r8; xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx")
DEFINE_TRAP(breakpoint, "mov $0, %%r8; int3")
DEFINE_TRAP(invalid_opcode, "mov $2, %%r8; ud2")
DEFINE_TRAP(general_protection, "mov $1, %%r8; hlt")
DEFINE_TRAP(no_mapping, "mov $2, %%r8; mov $8, %%ecx; movb (%%rcx), %%al")

static char *page;
static long page_size;

static void write_page(void)
{
	asm volatile("movb $1, (%0)" : : "r" (page) : "memory");
	page += page_size;
}

static void read_page(void)
{
	asm volatile("movb (%0), %%al" : : "r" (page) : "rax", "memory");
	page += page_size;
}

/* get_user() of FIONBIO faults once, copy_from_user() of an old kernel twice */
static int pipe_fd;
static void bad_address(void)
{
	void *no_page = (void *)8;

	asm volatile("" : "+r" (no_page));	/* the compiler does not see the 8 */
	if (ioctl(pipe_fd, FIONBIO, no_page) < 0)
		handled++;
}

static void demo(const char *what, int times, void (*raise)(void))
{
	handled = 0;
	for (int i = 0; i < times; i++)
		raise();
	asm volatile("" : : : "memory");	/* on_signal() has counted */
	printf("%-36s %d times, %d signals or errors\n", what, times, (int)handled);
}

#define PAGES	4

/* Pages of a file or, without one, new ones; mapped one by one */
static char *map(int fd, off_t offset)
{
	char *pages = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, offset);

	if (pages == MAP_FAILED)
		exit(1);
	madvise(pages, PAGES * page_size, MADV_RANDOM);
	return pages;
}

int main(void)
{
	static const int signals[] = { SIGFPE, SIGTRAP, SIGILL, SIGSEGV };
	struct sigaction sa = {
		.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO,
	};

	int fd, fds[2];
	struct stat st;
	off_t offset;

	for (unsigned int i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
	page_size = sysconf(_SC_PAGESIZE);

	demo("#DE, division by zero", 2, divide_by_zero);
	demo("#BP, int3", 3, breakpoint);
	demo("#UD, ud2", 2, invalid_opcode);
	demo("#GP, hlt in user mode", 2, general_protection);
	demo("#PF, read of address 8", 2, no_mapping);

	page = map(-1, 0);
	demo("#PF, first write to a page", PAGES, write_page);

	/* Symbols of this program, which nobody has read: they come from the disk */
	fd = open("/proc/self/exe", O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		return 1;
	offset = (st.st_size / page_size - PAGES) * page_size;
	posix_fadvise(fd, offset, PAGES * page_size, POSIX_FADV_DONTNEED);
	page = map(fd, offset);
	demo("#PF, read of a file, from disk", PAGES, read_page);
	page = map(fd, offset);
	demo("#PF, read of a file, from the cache", PAGES, read_page);
	page -= PAGES * page_size;
	demo("#PF, copy-on-write", PAGES, write_page);

	if (pipe(fds))
		return 1;
	pipe_fd = fds[1];
	demo("#PF, address 8 for a system call", 2, bad_address);
	return 0;
}
