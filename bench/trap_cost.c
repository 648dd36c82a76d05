// SPDX-License-Identifier: GPL-2.0
/*
 * trap_cost: what traps and page faults cost now, in ticks of the TSC. Under QEMU's
 * "-icount shift=0", a tick is an instruction.
 *
 *	trap_cost [-c FILE] [-n TRAPS] [-r ROUNDS] [-w WAY] KIND...
 *
 * raises TRAPS of each KIND in each of ROUNDS rounds, and prints lines with a tab between fields:
 *
 *	cost	WAY	KIND	ROUND	MEAN	TENTH
 *	tick	NS
 *
 * WAY is only printed. MEAN includes all that happens during the round, such as timer interrupts.
 * TENTH is the tenth percentile of single traps. Neither figure includes reading the clock.
 *
 * -c truncates FILE before each round: the trace, as a full buffer changes the cost.
 *
 * Fails if a round had another number of page faults than its kind should have.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
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
#define BATCH		500		/* traps between two preparations of the memory */
#define AROUND		(16 * PAGE)	/* what a fault maps of a file */
#define FILE_SIZE	(BATCH * AROUND)
#define MAX_TRAPS	100000
#define WARM_UP		200

static char *memory, *file, *private, *after_file;
static char *unmapped = (char *)(16 * PAGE);	/* below all mappings */
static int own_memory, memfd = -1;
static pid_t child;
static const char *way = "off", *clear;
static long rounds = 5, traps = 20000;
static unsigned int ticks[MAX_TRAPS];

static char *map(size_t size, int prot, int flags, int fd)
{
	char *at = mmap(NULL, size, prot, flags, fd, 0);

	if (at == MAP_FAILED)
		error(1, errno, "mmap");
	/* Small pages, whatever the settings are */
	madvise(at, size, MADV_NOHUGEPAGE);
	return at;
}

/*
 * The memory that a batch needs
 */
static void no_pages(void)
{
	madvise(memory, BATCH * PAGE, MADV_DONTNEED);
}

static void zero_pages(void)
{
	no_pages();
	for (int i = 0; i < BATCH; i++)
		asm volatile("" : : "r" (memory[i * PAGE]));
}

static void written_pages(void)
{
	no_pages();
	memset(memory, 1, BATCH * PAGE);
}

/* A child has the pages: a write copies them */
static void shared(void)
{
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	written_pages();
	child = fork();
	if (child < 0)
		error(1, errno, "fork");
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* A child had the pages: a write takes them over */
static void formerly_shared(void)
{
	shared();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	child = 0;
}

/* The file is in the page cache, and nothing of it is mapped */
static void unmapped_file(void)
{
	if (memfd < 0) {
		memfd = memfd_create("trap_cost", 0);
		if (memfd < 0 || ftruncate(memfd, FILE_SIZE))
			error(1, errno, "memfd_create");
		file = map(FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd);
		memset(file, 1, FILE_SIZE);
		munmap(file, FILE_SIZE);
		file = map(FILE_SIZE + PAGE, PROT_READ, MAP_SHARED, memfd);
		after_file = file + FILE_SIZE;
		private = map(BATCH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, memfd);
	}
	madvise(file, FILE_SIZE, MADV_DONTNEED);
	madvise(private, BATCH * PAGE, MADV_DONTNEED);
}

#define ANY	(-1L)

enum op { NOTHING, GETPID, INT3, DIVIDE, READ, WRITE, KERNEL_READ, KERNEL_WRITE };

static const struct kind {
	const char *name;
	enum op op;
	char **memory;		/* the first access is here */
	long stride;		/* from one access to the next */
	void (*prepare)(void);
	long faults;		/* that getrusage() counts for each */
	int share;		/* it is raised TRAPS / share times */
} kinds[] = {
	{ "getpid", GETPID },
	{ "int3", INT3, .share = 4 },
	{ "divide", DIVIDE, .share = 4 },
	{ "zero_page", READ, &memory, PAGE, no_pages, 1 },
	{ "first_write", WRITE, &memory, PAGE, no_pages, 1, .share = 4 },
	{ "zero_write", WRITE, &memory, PAGE, zero_pages, 1 },
	{ "copy_on_write", WRITE, &memory, PAGE, shared, 1 },
	{ "reuse", WRITE, &memory, PAGE, formerly_shared, 1 },
	{ "page_cache", READ, &file, AROUND, unmapped_file, 1, .share = 4 },
	{ "private_file", WRITE, &private, PAGE, unmapped_file, 1, .share = 4 },
	{ "kernel_write", KERNEL_WRITE, &memory, PAGE, no_pages, 1 },
	{ "get_user_pages", KERNEL_READ, &memory, PAGE, no_pages, 1 },
	{ "fixup", KERNEL_WRITE, &unmapped },
	{ "segv", READ, &unmapped, .faults = ANY, .share = 4 },
	{ "segv_access", WRITE, &file, 0, unmapped_file, ANY, .share = 4 },
	{ "sigbus", READ, &after_file, 0, unmapped_file, ANY, .share = 4 },
	{ }
};

static void raise_trap(const struct kind *k, long i)
{
	char *at = k->memory ? *k->memory + i * k->stride : NULL, c;

	/* Those that end with a signal have two bytes: see skip() */
	switch (k->op) {
	case NOTHING:
		break;
	case GETPID:
		syscall(SYS_getpid);
		break;
	case INT3:
		asm volatile("int3");
		break;
	case DIVIDE:
		asm volatile("divl %%ecx" : : "a" (1), "c" (0), "d" (0));
		break;
	case READ:
		asm volatile("movb (%0), %%al" : : "S" (at) : "eax", "memory");
		break;
	case WRITE:
		asm volatile("movb %%al, (%0)" : : "S" (at) : "memory");
		break;
	case KERNEL_READ:	/* by get_user_pages() */
		if (pread(own_memory, &c, 1, (uintptr_t)at) != 1)
			error(1, errno, "/proc/self/mem");
		break;
	case KERNEL_WRITE:
		syscall(SYS_clock_getres, CLOCK_MONOTONIC, at);
	}
}

static void skip(int signo, siginfo_t *info, void *context)
{
	if (signo != SIGTRAP)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

struct figures {
	double mean, tenth;
	long faults;
};

static unsigned long long tsc(void)
{
	unsigned int low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return low | (unsigned long long)high << 32;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static long faults_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static int by_size(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

static struct figures raise_all(const struct kind *k, long n)
{
	unsigned long long begin, at, total = 0;
	struct figures found = { };

	for (long done = 0, batch; done < n; done += batch) {
		batch = n - done < BATCH ? n - done : BATCH;
		if (k->prepare)
			k->prepare();
		found.faults -= faults_so_far();
		begin = tsc();
		for (long i = 0; i < batch; i++) {
			at = tsc();
			raise_trap(k, i);
			ticks[done + i] = tsc() - at;
		}
		total += tsc() - begin;
		found.faults += faults_so_far();
	}
	qsort(ticks, n, sizeof(*ticks), by_size);
	found.mean = (double)total / n;
	found.tenth = ticks[n / 10];
	return found;
}

static void measure(const struct kind *k)
{
	static const struct kind nothing = { "nothing", NOTHING };
	long n = k->share ? (traps + k->share - 1) / k->share : traps;
	struct figures found, none;

	none = raise_all(&nothing, MAX_TRAPS);
	/* The first ones fill slabs, for example */
	raise_all(k, n < WARM_UP ? n : WARM_UP);
	for (int round = 1; round <= rounds; round++) {
		if (clear)
			close(open(clear, O_WRONLY | O_TRUNC));
		found = raise_all(k, n);
		/* The program itself has a few */
		if (k->faults != ANY && (found.faults < k->faults * n ||
					 found.faults > k->faults * n * 1.01 + 20))
			error(1, 0, "%s: %ld page faults, not %ld", k->name, found.faults,
			      k->faults * n);
		printf("cost\t%s\t%s\t%d\t%.2f\t%.2f\n", way, k->name, round,
		       found.mean - none.mean, found.tenth - none.tenth);
	}
}

static long to_number(const char *text, long most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n < 1 || n > most)
		error(1, 0, "%s: give a whole number from 1 to %ld", text, most);
	return n;
}

static void set_up(void)
{
	struct sigaction action = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };
	static const int signals[] = { SIGTRAP, SIGFPE, SIGSEGV, SIGBUS };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	/* Its page faults are in no round */
	memset(ticks, 1, sizeof(ticks));
	memory = map(BATCH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	own_memory = open("/proc/self/mem", O_RDONLY);
}

int main(int argc, char **argv)
{
	unsigned long long first_tick;
	const struct kind *k;
	double begin;
	int option;

	while ((option = getopt(argc, argv, "c:n:r:w:")) != -1) {
		switch (option) {
		case 'c':
			clear = optarg;
			break;
		case 'n':
			traps = to_number(optarg, MAX_TRAPS);
			break;
		case 'r':
			rounds = to_number(optarg, 1000);
			break;
		case 'w':
			way = optarg;
			break;
		default:
			return 1;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up();
	begin = now();
	first_tick = tsc();
	for (; optind < argc; optind++) {
		for (k = kinds; k->name && strcmp(k->name, argv[optind]); k++)
			;
		if (!k->name)
			error(1, 0, "there is no kind %s", argv[optind]);
		measure(k);
	}
	printf("tick\t%.6f\n", (now() - begin) / (tsc() - first_tick));
	return 0;
}
