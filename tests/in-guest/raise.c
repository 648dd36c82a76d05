// SPDX-License-Identifier: GPL-2.0
/*
 * raise [N]: raise N #UD on the first CPU, 2N on the second and so on. Without N, go on until a
 * signal ends it, with page faults as well, on all CPUs at the same time.
 *
 * raise each N [FILE]: raise N of each kind of trap and page fault that there is below. FILE is
 * made on a disk, for major faults.
 *
 * To be built with user_traps.c and common.c of the kselftest, and -O0 -mno-red-zone -static:
 * each function is in the stacks then.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pagefault.h"
#include "trap.h"
#include "user_traps.h"

#define PAGES		16
#define STEP		8	/* of so many pages of FILE, one is read */

static const int rw = PROT_READ | PROT_WRITE;

static void go_on(void)
{
	char *pages = new_pages(PAGES * page_size);

	for (;;) {
		for (int i = 0; i < 10; i++)
			RAISE("", "ud2", "", NULL);
		if (madvise(pages, PAGES * page_size, MADV_DONTNEED))
			err(1, "madvise");
		for (int i = 0; i < PAGES; i++)
			pages[i * page_size] = 1;
		/* An emulator of one thread gives each CPU 100 ms, unless it idles */
		usleep(100);
	}
}

/* The kernel writes there, and finds nothing */
static void kernel_write(void *p)
{
	if (syscall(SYS_getcpu, p, NULL, NULL) != -1 || errno != EFAULT)
		errx(1, "the kernel wrote to %p", p);
}

/* By get_user_pages() */
static void remote_read(void *p)
{
	char byte;
	struct iovec from = { p, 1 }, to = { &byte, 1 };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
		err(1, "process_vm_readv");
}

enum { NEW, COPY, NOTHING, FORBIDDEN, PAST_END, BAD, REMOTE, COLD, NR_PLACES };

static const struct kind {
	void (*raise)(void *p);
	int where, signo, si_code;
} kinds[] = {
	{ raise_write, NEW },
	{ raise_write, COPY },
	{ raise_read, NOTHING, SIGSEGV, SEGV_MAPERR },
	{ raise_read, FORBIDDEN, SIGSEGV, SEGV_ACCERR },
	{ raise_read, PAST_END, SIGBUS, BUS_ADRERR },
	{ kernel_write, BAD },
	{ remote_read, REMOTE },
	{ raise_read, COLD },
};

/* With a page without access on either side, so that no other mapping comes near */
static char *map(int prot, int fd, long n)
{
	char *p = mmap(NULL, (n + 2) * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED ||
	    mmap(p + page_size, n * page_size, prot,
		 MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0) == MAP_FAILED)
		err(1, "mmap");
	p += page_size;
	madvise(p, n * page_size, fd < 0 ? MADV_NOHUGEPAGE : MADV_RANDOM);
	return p;
}

static char *map_file(int fd, long n)
{
	for (long i = 0; i < n; i++)
		if (pwrite(fd, "x", 1, i * page_size) != 1)
			err(1, "file");
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return map(rw, fd, n);
}

static void raise_each(long n, const char *file)
{
	char *where[NR_PLACES] = {
		[NEW] = map(rw, -1, n),
		[COPY] = map_file(memfd_create("raise", 0), n),
		[NOTHING] = map(rw, -1, n),
		[FORBIDDEN] = map(PROT_NONE, -1, n),
		[PAST_END] = map(rw, memfd_create("empty", 0), n),
		[BAD] = (char *)16,
		[REMOTE] = map(rw, -1, n),
	};

	if (file) {
		where[COLD] = map_file(open(file, O_RDWR | O_CREAT | O_TRUNC, 0600), n * STEP);
		unlink(file);
	}
	set_up_user_traps();

	/* Nothing is mapped after this */
	munmap(where[NOTHING], n * page_size);
	for (const struct user_trap *t = user_traps; t < user_traps + nr_user_traps; t++) {
		if (t->vector == PF || t->argument || t->optional || cannot_raise(t))
			continue;
		trap_signals = 0;
		for (long i = 0; i < n; i++)
			t->raise(NULL);
		if (trap_signals != n || trap_info.si_signo != t->signal)
			errx(1, "%s: %d signals, the last is %d", t->name, (int)trap_signals,
			     trap_info.si_signo);
	}
	for (const struct kind *k = kinds; k < kinds + ARRAY_SIZE(kinds); k++) {
		char *from = where[k->where];
		long step = k->where == BAD ? 0 : k->where == COLD ? STEP * page_size : page_size;

		if (!from)
			continue;
		memset(&trap_info, 0, sizeof(trap_info));
		for (long i = 0; i < n; i++)
			k->raise(from + i * step);
		if (trap_info.si_signo != k->signo || trap_info.si_code != k->si_code)
			errx(1, "page fault %td: signal %d with %d", k - kinds,
			     trap_info.si_signo, trap_info.si_code);
	}
}

int main(int argc, char **argv)
{
	int each = argc > 2 && !strcmp(argv[1], "each");
	long n = argc > 1 ? atol(argv[1 + each]) : 0;

	if (argc > 2 + 2 * each || (argc > 1 && n < 1))
		errx(1, "usage: raise [N] or raise each N [FILE]");
	page_size = sysconf(_SC_PAGESIZE);
	if (each) {
		raise_each(n, argv[3]);
		return 0;
	}
	skip_traps();
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
		if (!n && !fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pin(cpu);
			go_on();
		}
		for (long i = 0; i < n * (cpu + 1); i++) {
			if (!i)
				pin(cpu);
			RAISE("", "ud2", "", NULL);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
