// SPDX-License-Identifier: GPL-2.0
/*
 * raise [N]: on each CPU, raise as many #UD: N on the first, twice as many on the
 * second and so on. Without N, go on until a signal ends it, with page faults as well,
 * on all CPUs at the same time.
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGES	16

static long page_size;
static char *pages;

static void skip_ud2(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		err(1, "CPU %d", cpu);
}

static void go_on(void)
{
	for (;;) {
		for (int i = 0; i < 10; i++)
			asm volatile("ud2");
		if (madvise(pages, PAGES * page_size, MADV_DONTNEED))
			err(1, "madvise");
		for (int i = 0; i < PAGES; i++)
			pages[i * page_size] = 1;
		/* An emulator of one thread gives each CPU 100 ms, unless it idles */
		usleep(100);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = skip_ud2, .sa_flags = SA_SIGINFO };
	int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long n = argc > 1 ? atol(argv[1]) : 0;

	if (argc > 2 || (argc == 2 && n < 1))
		errx(1, "usage: raise [N]");
	page_size = sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || sigaction(SIGILL, &sa, NULL))
		err(1, "memory");

	for (int cpu = 0; cpu < cpus; cpu++) {
		if (!n && !fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pin(cpu);
			go_on();
		}
		for (long i = 0; i < n * (cpu + 1); i++) {
			if (!i)
				pin(cpu);
			asm volatile("ud2");
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
