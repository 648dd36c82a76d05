// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of a guest that counts instructions: under QEMU's "-icount shift=0" one
 * instruction takes one tick of the guest's TSC. Prints the price of a page fault
 * for each kind of fault, a line each: the kind, and the instructions of a fault.
 * That is the median of many faults: what the timer, or an allocator that has run
 * out of pages, adds to some of them is not in it. With pagefault_exit among the
 * words of the kernel's command line, with that event on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES	500
#define ROUNDS	60

static char *memory, *file;
static long size;
static sigjmp_buf after;
static unsigned int ticks[ROUNDS * PAGES];

static inline unsigned long tsc(void)
{
	unsigned int low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return low | (unsigned long)high << 32;
}

static void zero_page(long i)
{
	asm volatile("movb (%0), %%al" : : "r" (memory + i * size) : "eax", "memory");
}

static void first_write(long i)
{
	asm volatile("movb $1, (%0)" : : "r" (memory + i * size) : "memory");
}

/* Of a file in the page cache: a fault maps 16 pages */
static void page_cache(long i)
{
	asm volatile("movb (%0), %%al" : : "r" (file + i * 16 * size) : "eax", "memory");
}

/* The kernel writes: its fault is under the mmap lock */
static void kernel_write(long i)
{
	clock_getres(CLOCK_MONOTONIC, (struct timespec *)(memory + i * size));
}

/* The kernel cannot write: its fault is fixed up */
static void fixup(long i)
{
	syscall(SYS_clock_getres, CLOCK_MONOTONIC, 8L);
}

/* Nothing is there, and a signal says so */
static void on_signal(int signo)
{
	siglongjmp(after, signo);
}

static void segv(long i)
{
	if (!sigsetjmp(after, 0))
		asm volatile("movb (%0), %%al" : : "r" (8L) : "eax", "memory");
}

/* Something is there, but may not be written to */
static void segv_access(long i)
{
	if (!sigsetjmp(after, 0))
		asm volatile("movb $1, (%0)" : : "r" (file) : "memory");
}

/* Behind the end of the file */
static void sigbus(long i)
{
	if (!sigsetjmp(after, 0))
		asm volatile("movb (%0), %%al" : : "r" (file + PAGES * 16 * size) :
			     "eax", "memory");
}

static int by_size(const void *a, const void *b)
{
	return *(const unsigned int *)a < *(const unsigned int *)b ? -1 :
	       *(const unsigned int *)a > *(const unsigned int *)b;
}

static void price(const char *kind, void (*fault)(long i))
{
	unsigned int *t = ticks;
	unsigned long begin;

	for (int i = 0; i < ROUNDS; i++) {
		madvise(memory, PAGES * size, MADV_DONTNEED);
		madvise(file, PAGES * 16 * size, MADV_DONTNEED);
		for (long page = 0; page < PAGES; page++) {
			begin = tsc();
			fault(page);
			*t++ = tsc() - begin;
		}
	}
	qsort(ticks, ROUNDS * PAGES, sizeof(*ticks), by_size);
	printf("%s %s %u\n", __func__, kind, ticks[ROUNDS * PAGES / 2]);
}

static void map_file(void)
{
	int fd = open("/file", O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, PAGES * 16 * size))
		printf("price: no file\n");
	for (long i = 0; i < PAGES * 16; i++)
		if (pwrite(fd, "", 1, i * size) != 1)
			printf("price: no file\n");
	file = mmap(NULL, (PAGES * 16 + 1) * size, PROT_READ, MAP_SHARED, fd, 0);
}

static void event_on(void)
{
	int fd;

	mkdir("/t", 0755);
	mount("t", "/t", "tracefs", 0, NULL);
	fd = open("/t/events/pagefault/pagefault_exit/enable", O_WRONLY);
	if (fd < 0 || write(fd, "1", 1) != 1)
		printf("price: no event\n");
	close(fd);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_NODEFER };

	size = sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	map_file();
	/* What the kernel does not know on its command line is ours */
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "pagefault_exit"))
			event_on();
	/* In a child, as the kernel logs each SIGSEGV of PID 1 */
	if (!fork()) {
		price("zero_page", zero_page);
		price("page_cache", page_cache);
		price("first_write", first_write);
		price("kernel_write", kernel_write);
		price("fixup", fixup);
		price("segv", segv);
		price("segv_access", segv_access);
		price("sigbus", sigbus);
		exit(0);
	}
	wait(NULL);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
