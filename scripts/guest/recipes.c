// SPDX-License-Identifier: GPL-2.0
/*
 * The workload of scripts/guest/recipes: page faults whose number, place and
 * function are known.
 *
 * recipes [FILE]: write to pages, read one that is not there and survive it, have
 * the kernel read a page for us, and read pages of FILE, which is made on a disk.
 * Print what the faults were.
 *
 * Built without optimisation, so that each function is in the stacks.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE		4096
#define PAGES		300	/* written to: as many minor faults */
#define FILE_PAGES	64	/* size of FILE */
#define STEP		8	/* every so many pages, one is read: a major fault */

static sigjmp_buf after_signal;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void on_sigsegv(int signo)
{
	(void)signo;
	siglongjmp(after_signal, 1);
}

static char *map(int flags, int fd, size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, fd, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

void write_pages(char *p)
{
	for (int i = 0; i < PAGES; i++)
		asm volatile("movb $1, (%0)" : : "r" (p + i * PAGE) : "memory");
}

void read_nothing(const char *p)
{
	if (!sigsetjmp(after_signal, 1))
		asm volatile("movb (%0), %%al" : : "r" (p) : "eax", "memory");
}

/* By get_user_pages() */
void have_read(char *p)
{
	struct iovec from = { p, 1 };
	char byte = 0;
	struct iovec to = { &byte, 1 };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
		die("process_vm_readv");
}

void read_file(const char *p)
{
	for (int i = 0; i < FILE_PAGES; i += STEP)
		asm volatile("movb (%0), %%al" : : "r" (p + i * PAGE) : "eax", "memory");
}

/* A file of which nothing is in the page cache */
static char *map_cold_file(const char *name)
{
	static char zeroes[FILE_PAGES * PAGE];
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *p;

	if (fd < 0 || write(fd, zeroes, sizeof(zeroes)) != sizeof(zeroes) || fsync(fd))
		die(name);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = map(0, fd, sizeof(zeroes));
	madvise(p, sizeof(zeroes), MADV_RANDOM);
	close(fd);
	unlink(name);
	return p;
}

int main(int argc, char **argv)
{
	struct rusage before, after;
	struct sigaction sa = { .sa_handler = on_sigsegv };
	const char *name = argc > 1 ? argv[1] : NULL;
	char *pages, *cold = NULL;

	/* One page more each, which tells nothing: no other mapping is merged */
	pages = map(MAP_ANONYMOUS, -1, (PAGES + 2) * PAGE);
	madvise(pages, (PAGES + 2) * PAGE, MADV_NOHUGEPAGE);
	if (name)
		cold = map_cold_file(name);
	if (sigaction(SIGSEGV, &sa, NULL) || mprotect(pages + (PAGES + 1) * PAGE, PAGE, PROT_NONE))
		die("sigaction, mprotect");

	printf("pid %d\npages %lx %lx\nnothing %lx\nread %lx\n", getpid(), (long)pages,
	       (long)pages + PAGES * PAGE, (long)pages + (PAGES + 1) * PAGE,
	       (long)pages + PAGES * PAGE);
	if (cold)
		printf("cold %lx %lx\n", (long)cold, (long)cold + FILE_PAGES * PAGE);
	fflush(stdout);

	getrusage(RUSAGE_SELF, &before);
	write_pages(pages);
	read_nothing(pages + (PAGES + 1) * PAGE);
	have_read(pages + PAGES * PAGE);
	if (cold)
		read_file(cold);
	getrusage(RUSAGE_SELF, &after);
	printf("minor %ld\nmajor %ld\n", after.ru_minflt - before.ru_minflt,
	       after.ru_majflt - before.ru_majflt);
	return 0;
}
