// SPDX-License-Identifier: GPL-2.0
/*
 * What a read of the zero page takes, with the page fault events off and on: in instructions, if
 * the guest's clock counts these (-icount). It is the mean of the middle half of single reads, as
 * a tick of riscv's clock is 100 ns. With limits for what the events add.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EVENTS	"/sys/kernel/tracing/events/pagefault/"
#define READS	4000
#ifdef __riscv
#define EXIT	1150
#define BOTH	1950
#else
#define EXIT	900
#define BOTH	1600
#endif

static int by_size(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int read_takes(void)
{
	long size = sysconf(_SC_PAGESIZE);
	static int took[READS];
	long long begin, sum = 0;
	char *p;

	p = mmap(NULL, READS * size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	madvise(p, READS * size, MADV_NOHUGEPAGE);
	for (int i = 0; i < READS; i++) {
		begin = now();
		asm volatile("" : : "r" (p[i * size]) : "memory");
		took[i] = now() - begin;
	}
	munmap(p, READS * size);
	qsort(took, READS, sizeof(*took), by_size);
	for (int i = READS / 4; i < READS * 3 / 4; i++)
		sum += took[i];
	return sum / (READS / 2);
}

static void set_event(const char *event, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), EVENTS "%s/enable", event);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, 1) != 1)
		exit(1);
	close(fd);
}

int main(void)
{
	int off, exit_on, both;

	puts("TAP version 13\n1..1");
	read_takes();
	off = read_takes();
	set_event("pagefault_exit", "1");
	read_takes();
	exit_on = read_takes() - off;
	set_event("pagefault_entry", "1");
	read_takes();
	both = read_takes() - off;
	printf("# off: %d; pagefault_exit: %d more, both: %d more\n", off, exit_on, both);
	printf("%sok 1 a traced read of the zero page takes at most %d and %d more\n",
	       exit_on > 0 && exit_on <= EXIT && both > exit_on && both <= BOTH ? "" : "not ",
	       EXIT, BOTH);
	set_event("pagefault_exit", "0");
	set_event("pagefault_entry", "0");
}
