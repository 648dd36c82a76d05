// SPDX-License-Identifier: GPL-2.0
/*
 * The loops that scripts/bench/hardware measures.
 *
 *	loops				print their names
 *	loops NAME N CPU [CONTROL ACK]	run that loop for N iterations on CPU
 *
 * prints the ns that the iterations took, how many page faults, how many of these were major,
 * and how often another task took the CPU. Fails if an iteration does not take the page faults
 * that it is made for.
 *
 * Iterations come in batches. The counters are off while the memory of a batch is prepared, and
 * in a first batch that warms up. CONTROL and ACK are file descriptors for "perf stat --control",
 * which counts only in the batches.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE		4096L
#define HUGE		(2L << 20)
#define HUGE_PAGES	32L
#define SIZE		(HUGE_PAGES * HUGE)
#define PAGES		4096L
#define MANY		32768L		/* 128 MiB, as in will-it-scale */
#define AROUND		(16 * PAGE)	/* what a fault of a file maps */
#define ANY		(-1L)

static char *memory;

/* Small pages, whatever the settings are */
static char *map(long size, int flags, int fd)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		error(1, errno, "mmap");
	madvise(at, size, MADV_NOHUGEPAGE);
	return at;
}

static void write_each(char *at, long n)
{
	for (long i = 0; i < n; i++)
		asm volatile("movb $1, (%0)" : : "r" (at + i * PAGE) : "memory");
}

/* page_fault1 to 3, as in will-it-scale: map, write to each page, unmap */
static void map_and_write(long n, int flags, int fd)
{
	char *at = map(n * PAGE, flags, fd);

	write_each(at, n);
	munmap(at, n * PAGE);
}

static void page_fault1(long n)
{
	map_and_write(n, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* In memory, so that no disk takes part */
static int file_in_memory(void)
{
	static int fd;

	if (!fd)
		fd = memfd_create("loops", 0);
	if (fd < 0 || ftruncate(fd, MANY * PAGE))
		error(1, errno, "memfd_create");
	return fd;
}

static void page_fault2(long n)
{
	map_and_write(n, MAP_PRIVATE, file_in_memory());
}

static void page_fault3(long n)
{
	map_and_write(n, MAP_SHARED, file_in_memory());
}

static void written(long n)
{
	madvise(memory, SIZE, MADV_DONTNEED);
	write_each(memory, PAGES);
}

static void write_pages(long n)
{
	write_each(memory, n);
}

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child < 0)
		error(1, errno, "fork");
	return child;
}

static void fork_and_wait(long n)
{
	while (n--) {
		pid_t child = start_child();

		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

/* A child has the pages, too. It has stopped before anything is counted */
static void shared(long n)
{
	static pid_t child;

	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	written(n);
	child = start_child();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		raise(SIGSTOP);
	}
	waitpid(child, NULL, WUNTRACED);
}

/* A child had them */
static void formerly_shared(long n)
{
	written(n);
	fork_and_wait(1);
}

/* Not written to again, so that it is on the disk but once */
static void swapped_out(long n)
{
	static int done;

	if (!done++)
		written(n);
	if (madvise(memory, PAGES * PAGE, MADV_PAGEOUT))
		error(1, errno, "MADV_PAGEOUT");
}

/* Of a file in the page cache, in small folios. It is a hole, so it takes no disk */
static void unmapped_file(long n)
{
	static char *file, buffer[AROUND];
	char name[] = "loops.XXXXXX";
	int fd;

	if (!file) {
		fd = mkstemp(name);
		if (fd < 0 || unlink(name) || ftruncate(fd, SIZE))
			error(1, errno, "%s", name);
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		while (read(fd, buffer, sizeof(buffer)) > 0)
			;
		file = map(SIZE, MAP_PRIVATE, fd);
		memory = file;
	}
	madvise(file, SIZE, MADV_DONTNEED);
}

static void read_each(long n, long step)
{
	for (long i = 0; i < n; i++)
		asm volatile("testb $1, (%0)" : : "r" (memory + i * step) : "memory", "cc");
}

static void read_pages(long n)
{
	read_each(n, PAGE);
}

static void read_file(long n)
{
	read_each(n, AROUND);
}

static void no_huge_pages(long n)
{
	madvise(memory, SIZE, MADV_DONTNEED);
	if (madvise(memory, SIZE, MADV_HUGEPAGE))
		error(1, errno, "MADV_HUGEPAGE");
}

/* Small pages are found out by their second fault */
static void write_huge_pages(long n)
{
	for (long i = 0; i < n; i++)
		write_each(memory + i * HUGE, 2);
}

static void getpid_each(long n)
{
	while (n--)
		syscall(SYS_getpid);
}

/* An INT3 has been left behind, a #DE is at its instruction of two bytes */
static void skip_trap(int signo, siginfo_t *info, void *context)
{
	if (signo == SIGFPE)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void handlers(long n)
{
	struct sigaction action = { .sa_sigaction = skip_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
}

static void int3(long n)
{
	while (n--)
		asm volatile("int3");
}

static void divide(long n)
{
	while (n--)
		asm volatile("divl %%ecx" : : "a" (1), "c" (0), "d" (0));
}

static const struct loop {
	const char *name;
	long batch, faults;		/* of an iteration */
	void (*run)(long n), (*prepare)(long n);
} loops[] = {
	{ "page_fault1", MANY, 1, page_fault1 },
	{ "page_fault2", MANY, 1, page_fault2 },
	{ "page_fault3", MANY, 1, page_fault3 },
	{ "fork", 100, ANY, fork_and_wait, written },
	{ "copy_on_write", PAGES, 1, write_pages, shared },
	{ "reuse", PAGES, 1, write_pages, formerly_shared },
	{ "swap_in", PAGES, 1, read_pages, swapped_out },
	{ "file", SIZE / AROUND, 1, read_file, unmapped_file },
	{ "thp", HUGE_PAGES, 1, write_huge_pages, no_huge_pages },
	{ "getpid", MANY, 0, getpid_each },
	{ "int3", MANY, 0, int3, handlers },
	{ "divide", MANY, 0, divide, handlers },
	{ }
};

static int control, ack;

static void tell_perf(const char *command)
{
	char answer[16];

	if (control && (write(control, command, strlen(command)) < 0 ||
			read(ack, answer, sizeof(answer)) <= 0))
		error(1, errno, "perf stat --control");
}

static void measure(const struct loop *l, long n)
{
	long ns = 0, minor = 0, major = 0, switches = 0;
	struct timespec begin, end;
	struct rusage was, is;

	for (long batch, left = n, warm = 0; left; left -= warm++ ? batch : 0) {
		batch = left < l->batch ? left : l->batch;
		if (l->prepare)
			l->prepare(batch);
		if (!warm) {
			l->run(batch);
			continue;
		}
		getrusage(RUSAGE_SELF, &was);
		tell_perf("enable\n");
		clock_gettime(CLOCK_MONOTONIC, &begin);
		l->run(batch);
		clock_gettime(CLOCK_MONOTONIC, &end);
		tell_perf("disable\n");
		getrusage(RUSAGE_SELF, &is);
		ns += (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
		minor += is.ru_minflt - was.ru_minflt;
		major += is.ru_majflt - was.ru_majflt;
		switches += is.ru_nivcsw - was.ru_nivcsw;
	}
	/* The program itself takes a few */
	if (l->faults != ANY && (minor + major < n * l->faults - n / 100 ||
				 minor + major > n * l->faults + n / 100 + 20))
		error(1, 0, "%ld page faults, not %ld", minor + major, n * l->faults);
	printf("%ld %ld %ld %ld\n", ns, minor + major, major, switches);
}

int main(int argc, char **argv)
{
	const struct loop *l = loops;
	cpu_set_t cpus;

	for (; l->name && (argc < 4 || strcmp(l->name, argv[1])); l++)
		if (argc < 4)
			puts(l->name);
	if (!l->name)
		return argc >= 4;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[3]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		error(1, errno, "CPU %s", argv[3]);
	control = argc > 5 ? atoi(argv[4]) : 0;
	ack = argc > 5 ? atoi(argv[5]) : 0;
	memory = map(SIZE + HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	memory += -(unsigned long)memory % HUGE;
	measure(l, atol(argv[2]));
	return 0;
}
