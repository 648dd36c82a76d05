// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of a guest that counts instructions: under QEMU's "-icount shift=0" one
 * instruction takes one nanosecond of the guest's clock. Prints the price of a
 * page fault for each kind of fault, a line each: the kind, and the instructions
 * from one access to the next, in hundredths. That is the least of many rounds,
 * each of which is short enough for most to have no timer tick in them. With
 * pagefault_exit among the words of the kernel's command line, with that event
 * on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES	500
#define ROUNDS	60

static char *memory;
static long size;
static sigjmp_buf after;

static void on_sigsegv(int signo)
{
	siglongjmp(after, signo);
}

static void touch_all(int write)
{
	for (long i = 0; i < PAGES; i++) {
		if (write)
			asm volatile("movb $1, (%0)" : : "r" (memory + i * size) : "memory");
		else
			asm volatile("movb (%0), %%al" : : "r" (memory + i * size) : "eax", "memory");
	}
}

static void zero_page(void)
{
	touch_all(0);
}

static void first_write(void)
{
	touch_all(1);
}

/* Of a file in the page cache: a fault maps 16 pages */
static char *file;

static void page_cache(void)
{
	for (long i = 0; i < PAGES; i++)
		asm volatile("movb (%0), %%al" : : "r" (file + i * 16 * size) : "eax", "memory");
}

static void map_file(void)
{
	int fd = open("/file", O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, PAGES * 16 * size))
		printf("price: no file\n");
	file = mmap(NULL, PAGES * 16 * size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (long i = 0; i < PAGES * 16; i++)
		file[i * size] = 1;
}

/* The kernel writes: its fault is under the mmap lock */
static void kernel_write(void)
{
	struct timespec *t;

	for (long i = 0; i < PAGES; i++) {
		t = (struct timespec *)(memory + i * size);
		clock_getres(CLOCK_MONOTONIC, t);
	}
}

static void segv(void)
{
	for (long i = 0; i < PAGES; i++)
		if (!sigsetjmp(after, 0))
			asm volatile("movb (%0), %%al" : : "r" (8L) : "eax", "memory");
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void price(const char *kind, void (*faults)(void))
{
	long t, least = LONG_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		madvise(memory, PAGES * size, MADV_DONTNEED);
		madvise(file, PAGES * 16 * size, MADV_DONTNEED);
		t = now();
		faults();
		t = now() - t;
		if (t < least)
			least = t;
	}
	printf("price %s %ld\n", kind, least * 100 / PAGES);
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
	struct sigaction sa = { .sa_handler = on_sigsegv, .sa_flags = SA_NODEFER };

	size = sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &sa, NULL);
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
		price("segv", segv);
		exit(0);
	}
	wait(NULL);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
