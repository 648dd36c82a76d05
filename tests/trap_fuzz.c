// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz the trap and page fault trace events: threads that raise traps at random,
 * in user and in kernel mode, while others switch, filter and read the events, and
 * the tracers and probes around them, at random.
 *
 *	trap_fuzz [-s SEED] [-d SECONDS | -n OPERATIONS] [-v]
 *
 * The N-th operation of a thread follows from the seed, the thread and N alone: the
 * same seed makes the same operations. In what order the threads do them is up to
 * the scheduler. -n says how many operations each raiser of traps does; the others,
 * whose operations take longer, do their share. -v prints each operation before it
 * is done, for a crash that leaves no time to say which one it was.
 *
 * It works in rounds. After each one, all is switched off, and it is seen
 *
 *  - that each trap led to the signal, or went on, as it must;
 *  - that the events were as many as the traps, and none of them a trap event of a
 *    page fault or a machine check: a histogram has counted them all the time, in
 *    every second round, as then the events are never all off;
 *  - that the state of tracing is what it was;
 *  - that a fixed number of traps has as many events;
 *  - that a trap of a probe is suppressed, and counted.
 *
 * It takes over the top instance of tracing, breaks pages of memory by hardware
 * poison, and is for a machine that does nothing else.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>

#include "lib.h"
#include "monitor.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif
#ifndef SEGV_PKUERR
#define SEGV_PKUERR		4
#endif

#define SECONDS		30
#define ROUND_SECONDS	30
/* In an emulator that shares its core, a #MC beside function_graph has taken all of 200 s */
#define HANG_SECONDS	400

/* Of each kind; -n is what a raiser does, and a thread of another kind a part of it */
#define RAISERS		4
#define SWITCHERS	3
#define THREADS		(RAISERS + SWITCHERS + 1)
#define SWITCHERS_DO	4
#define OUTSIDE_DOES	50

#define INSTANCES	4
#define VECTORS		33
#define EVENT_PROBES	3
#define OPERATIONS	64
#define LAST		6		/* operations that a thread remembers */
#define LINE		160
#define MAX_PAGES	8
#define SHARED_PAGES	16

/* What each costs the machine is limited: a warning on the console, a page */
#define MAX_WARNINGS	8
#define MAX_POISON	24

#define CHECK_TRAPS	1000
#define PROBED_TRAPS	100

/* The name by which the histograms know the traps of the fuzz */
#define NAME		"trap_fuzz"
#define TAINT_DIE	0x80
#define TRAP_TEST	"/sys/kernel/debug/x86_trap_test"
#define FAIL_PAGE_ALLOC	"/sys/kernel/debug/fail_page_alloc"

enum role { RAISER, SWITCHER, OUTSIDE };

/* The signals of page faults */
static const struct {
	int signo, si_code;
} fault_signals[] = {
	{ SIGBUS, BUS_ADRERR }, { SIGSEGV, SEGV_MAPERR }, { SIGSEGV, SEGV_ACCERR },
	{ SIGSEGV, SEGV_PKUERR },
};

#define FAULT_SIGNALS	ARRAY_SIZE(fault_signals)

/* Shared with the process that does the round */
struct thread {
	enum role role;
	unsigned int number, cpu;
	unsigned long long begun, limit;
	unsigned long long digest, random;
	unsigned long raised[2][VECTORS];	/* in kernel mode, in user mode */
	unsigned long signals[FAULT_SIGNALS];
	unsigned long done[OPERATIONS], refused[OPERATIONS];
	double seconds[OPERATIONS];
	unsigned long failures;
	char failure[2 * LINE];
	char last[LAST][LINE];
};

struct shared {
	struct thread threads[THREADS];
	bool stop, tracer_probed;
	unsigned long warnings, poisoned;
};

static struct shared *shared;

static unsigned long long seed;
static bool verbose;
static pid_t main_pid;
static cpu_set_t allowed;		/* before anything was pinned */
static const char *check_instance;

/*
 * Random numbers, by splitmix64: the state counts, and is mixed for each number
 */
static unsigned long long mix(unsigned long long x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* draw - One of @n */
static unsigned int draw(struct thread *me, unsigned int n)
{
	me->random += 0x9e3779b97f4a7c15ULL;
	return mix(me->random) % n;
}

/* note - Say what is about to be done, which is what the digest is made of */
static void note(struct thread *me, const char *fmt, ...) __printf(2, 3);

static void note(struct thread *me, const char *fmt, ...)
{
	char *line = me->last[me->begun % LAST];
	va_list args;
	int n;

	va_start(args, fmt);
	n = me->role == RAISER ? snprintf(line, LINE, "CPU %u: ", me->cpu) : 0;
	vsnprintf(line + n, LINE - n, fmt, args);
	va_end(args);
	for (const char *at = line; *at; at++)
		me->digest = (me->digest ^ (unsigned char)*at) * 0x100000001b3ULL;
	me->digest = mix(me->digest);
	if (verbose)
		dprintf(STDOUT_FILENO, "# %u.%llu: %s\n", me->number, me->begun, line);
}

/* wrong - An operation did not end as it must; the first one is told */
static void wrong(struct thread *me, const char *fmt, ...) __printf(2, 3);

static void wrong(struct thread *me, const char *fmt, ...)
{
	char what[LINE];
	va_list args;

	if (me->failures++)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	snprintf(me->failure, sizeof(me->failure), "operation %llu, %s: %s", me->begun,
		 me->last[me->begun % LAST], what);
}

/* once_more - Whether something that is limited may be done */
static bool once_more(unsigned long *count, unsigned long limit)
{
	return __atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < limit;
}

static bool stopped(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

/*
 * Raisers: each returns 0, or a negative error if this machine cannot do it
 */
static __u64 kernel_text;
static int uffd = -1, file = -1;
static char *shared_pages;
static char exe[128];
static unsigned long probed_at;
static __u64 tracer_function;
static bool have_nx, have_vsyscall;
static pthread_mutex_t probe_mutex = PTHREAD_MUTEX_INITIALIZER;
/* Nothing changes what functions there are for a tracer while one is on */
static pthread_mutex_t tracer_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Its index, or FAULT_SIGNALS if it is of no page fault */
static size_t fault_signal(int signo, int si_code)
{
	size_t i = 0;

	while (i < FAULT_SIGNALS && (signo != fault_signals[i].signo ||
				     si_code != fault_signals[i].si_code))
		i++;
	return i;
}

static void count_signal(struct thread *me)
{
	size_t i = fault_signal(trap_info.si_signo, trap_info.si_code);

	if (i < FAULT_SIGNALS)
		me->signals[i]++;
}

/*
 * Raise it: 0 with the one signal that it has, or none; -EOPNOTSUPP if this CPU does
 * not raise it; else it is told
 */
static int raise_one(struct thread *me, const struct user_trap *t, void *arg)
{
	int n = raise_user_trap(t, arg);

	if (!n && t->optional)
		return -EOPNOTSUPP;
	if (n == 1 && t->vector == PF)
		count_signal(me);
	if (n == (t->signal ? 1 : 0)) {
		me->raised[1][t->vector]++;
		return 0;
	}
	if (n < 0)
		wrong(me, "signal %d, code %d at %p", -n, trap_info.si_code,
		      trap_info.si_addr);
	else
		wrong(me, "%d signals", n);
	return -EIO;
}

static const struct user_trap *any_user_trap(struct thread *me)
{
	unsigned int n = draw(me, nr_user_traps + 1);

	if (n < nr_user_traps)
		return &user_traps[n];
#ifdef __x86_64__
	return &bound_trap;
#else
	return find_user_trap(BP);
#endif
}

static int raise_user(struct thread *me)
{
	const struct user_trap *t = any_user_trap(me);
	const unsigned int times = 1 + draw(me, MAX_PAGES);
	unsigned long watched = 0;
	int watch = -1, ret = 0;
	char *pages;

	note(me, "raise user %s, %s, %u times", t->name, t->what, times);
	if (cannot_raise(t))
		return -EOPNOTSUPP;
	if (t->argument == WATCHED) {
		watch = breakpoint((unsigned long)&watched, false);
		if (watch < 0)
			return -errno;
	}
	pages = new_pages(page_size);
	for (unsigned int i = 0; i < times && !ret; i++) {
		void *arg = NULL;

		if (t->argument == OLD_PAGE)
			arg = memset(pages, 1, 1);
		else if (t->argument == WATCHED)
			arg = &watched;
		ret = raise_one(me, t, arg);
	}
	munmap(pages, page_size);
	if (watch >= 0)
		close(watch);
	return ret;
}

/* Who walks the stack faults */
static int raise_in_frame(struct thread *me)
{
	static const struct user_trap bp = {
		BP, 0, "#BP", "int3", raise_bp_in_frame, SIGTRAP
	};
	const unsigned int times = 1 + draw(me, MAX_PAGES);
	char *pages;

	note(me, "raise user #BP with a frame that is not there, %u times", times);
	pages = new_pages(page_size);
	for (unsigned int i = 0; i < times && !raise_one(me, &bp, pages); i++)
		;
	munmap(pages, page_size);
	return 0;
}

/* The same many times, as fast as it goes */
static int raise_burst(struct thread *me)
{
	static const unsigned int vectors[] = { 0, 3, 6, 13 };
	const unsigned int vector = vectors[draw(me, ARRAY_SIZE(vectors))];
	const unsigned int times = 10 + draw(me, 50);
	const struct user_trap *t;

	note(me, "raise user vector %u, %u times", vector, times);
	t = find_user_trap(vector);
	for (unsigned int i = 0; i < times && !raise_one(me, t, NULL); i++)
		;
	return 0;
}

enum memory {
	ANONYMOUS, ZERO_PAGE, READ_ONLY, NO_ACCESS, NOT_EXECUTABLE, UNMAPPED, GUARD, KERNEL,
	PROTECTION_KEY, SHARED_FILE, PRIVATE_FILE, DISK_FILE, BEYOND_END, SHARED_MEMORY, HUGE, THP,
	HELD,
};

static const struct access {
	const char *what;
	enum memory memory;
	void (*raise)(void *arg);
	int signal, code;
} accesses[] = {
	{ "first write", ANONYMOUS, raise_write },
	{ "first read", ANONYMOUS, raise_read },
	{ "copy of the zero page", ZERO_PAGE, raise_write },
	{ "write to what is read-only", READ_ONLY, raise_write, SIGSEGV, SEGV_ACCERR },
	{ "read without permission", NO_ACCESS, raise_read, SIGSEGV, SEGV_ACCERR },
	{ "jump to what is not executable", NOT_EXECUTABLE, raise_jump, SIGSEGV, SEGV_ACCERR },
	{ "read without mapping", UNMAPPED, raise_read, SIGSEGV, SEGV_MAPERR },
	{ "write without mapping", UNMAPPED, raise_write, SIGSEGV, SEGV_MAPERR },
	{ "read of a guard region", GUARD, raise_read, SIGSEGV, SEGV_MAPERR },
	{ "read of the kernel", KERNEL, raise_read, SIGSEGV, SEGV_MAPERR },
	{ "jump to the kernel", KERNEL, raise_jump, SIGSEGV, SEGV_MAPERR },
	{ "read against a protection key", PROTECTION_KEY, raise_read, SIGSEGV, SEGV_PKUERR },
	{ "write to a shared file", SHARED_FILE, raise_write },
	{ "read of a file", PRIVATE_FILE, raise_read },
	{ "private copy of a file", PRIVATE_FILE, raise_write },
	{ "read from the disk", DISK_FILE, raise_read },
	{ "read beyond the end of a file", BEYOND_END, raise_read, SIGBUS, BUS_ADRERR },
	{ "write to shared memory", SHARED_MEMORY, raise_write },
	{ "write to a huge page", HUGE, raise_write },
	{ "write to a transparent huge page", THP, raise_write },
	{ "read that is held", HELD, raise_read },
	{ "write that is held", HELD, raise_write },
};

#define HUGE_SIZE	(4UL << 20)

/* The address of the kernel, or the lowest that nobody can map: not ours */
static char *not_ours(enum memory memory)
{
	if (memory == UNMAPPED)
		return (char *)16;
	return kernel_text == (unsigned long)kernel_text ?
	       (char *)(unsigned long)kernel_text : NULL;
}

/* Make what is mapped to what @memory says: whether that can be */
static bool prepare_memory(enum memory memory, char *p, size_t size, int *pkey)
{
	struct uffdio_register reg = {
		.range = { (unsigned long)p, size }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	switch (memory) {
	case ZERO_PAGE:
		for (size_t i = 0; i < size; i += page_size)
			asm volatile("" : : "r" (p[i]));
		return true;
	case READ_ONLY:
		return !mprotect(p, size, PROT_READ);
	case NO_ACCESS:
		return !mprotect(p, size, PROT_NONE);
	case NOT_EXECUTABLE:
		return have_nx;
	case GUARD:
		return !madvise(p, size, MADV_GUARD_INSTALL);
	case PROTECTION_KEY:
		memset(p, 1, size);
		*pkey = syscall(SYS_pkey_alloc, 0, 1 /* PKEY_DISABLE_ACCESS */);
		return *pkey >= 0 && !syscall(SYS_pkey_mprotect, p, size,
					      PROT_READ | PROT_WRITE, *pkey);
	case HELD:
		return uffd >= 0 && !ioctl(uffd, UFFDIO_REGISTER, &reg);
	default:
		return true;
	}
}

static char *map_memory(enum memory memory, size_t size, int *pkey)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	off_t offset = 0;
	char *p;

	if (memory == UNMAPPED || memory == KERNEL)
		return not_ours(memory);
	if (memory == SHARED_FILE || memory == PRIVATE_FILE || memory == DISK_FILE ||
	    memory == BEYOND_END) {
		fd = file;
		if (fd < 0)
			return NULL;
		flags = memory == SHARED_FILE ? MAP_SHARED : MAP_PRIVATE;
		offset = memory == BEYOND_END ? MAX_PAGES * page_size : 0;
	} else if (memory == SHARED_MEMORY) {
		flags = MAP_SHARED | MAP_ANONYMOUS;
	} else if (memory == HUGE) {
		flags |= MAP_HUGETLB;
	}
	if (memory == DISK_FILE) {
		fsync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, offset);
	if (p == MAP_FAILED)
		return NULL;
	if (memory != HUGE)
		madvise(p, size, memory == THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	if (!prepare_memory(memory, p, size, pkey)) {
		munmap(p, size);
		return NULL;
	}
	return p;
}

static int raise_access(struct thread *me)
{
	const struct access *a = &accesses[draw(me, ARRAY_SIZE(accesses))];
	const unsigned int times = 1 + draw(me, MAX_PAGES);
	const bool huge = a->memory == HUGE || a->memory == THP;
	const size_t size = huge ? HUGE_SIZE : MAX_PAGES * (size_t)page_size;
	struct user_trap t = { .vector = PF, .raise = a->raise, .signal = a->signal };
	int pkey = -1;
	char *p;

	note(me, "access: %s, %u times", a->what, times);
	p = map_memory(a->memory, size, &pkey);
	for (unsigned int i = 0; p && i < times; i++) {
		memset(&trap_info, 0, sizeof(trap_info));
		if (raise_one(me, &t, p + i * (a->memory == UNMAPPED ? 1 : page_size)))
			break;
		if (trap_info.si_code != a->code) {
			wrong(me, "%s: si_code %d", a->what, trap_info.si_code);
			break;
		}
	}
	if (p && a->memory != UNMAPPED && a->memory != KERNEL)
		munmap(p, size);
	if (pkey >= 0)
		syscall(SYS_pkey_free, pkey);
	return p ? 0 : -EOPNOTSUPP;
}

/* A system call with a pointer to nowhere, or to memory without a page yet */
static int raise_in_syscall(struct thread *me)
{
	const bool bad = draw(me, 2);
	char *pages;

	note(me, "system call with a %s pointer", bad ? "bad" : "good");
	pages = new_pages(2 * page_size);
	if (bad)
		munmap(pages, 2 * page_size);
	if (!uname((struct utsname *)(bad ? (char *)16 : pages)) == bad)
		wrong(me, "uname(): %s", strerror(errno));
	if (!bad)
		munmap(pages, 2 * page_size);
	return 0;
}

static int without_trap(struct thread *me)
{
	const bool bad = draw(me, 2);
	struct iovec remote = { (void *)16, 1 };
	char byte, *pages = NULL;
	struct iovec local = { &byte, 1 };
	ssize_t n;

	note(me, "process_vm_readv() of %s page", bad ? "no" : "a new");
	if (!bad) {
		pages = new_pages(page_size);
		remote.iov_base = pages;
	}
	n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	if (n != (bad ? -1 : 1))
		wrong(me, "%zd: %s", n, strerror(errno));
	if (!bad)
		munmap(pages, page_size);
	return 0;
}

/* Those whose number in kernel mode nobody else adds to */
static int raise_kernel(struct thread *me)
{
	static const unsigned int vectors[] = {
		0, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19
	};
	const unsigned int vector = vectors[draw(me, ARRAY_SIZE(vectors))];
	const unsigned int times = 1 + draw(me, 8);
	int ret = 0;

	note(me, "raise kernel vector %u, %u times", vector, times);
	for (unsigned int i = 0; i < times && !ret; i++) {
		ret = raise_in_kernel(vector);
		if (!ret)
			me->raised[0][vector]++;
		else if (ret != -ENOENT)
			wrong(me, "vector %u: %s", vector, strerror(-ret));
	}
	return ret;
}

static int raise_warning(struct thread *me)
{
	const unsigned int vector = draw(me, 2) ? CP : NM;
	int ret;

	note(me, "raise kernel vector %u, which warns", vector);
	if (warnings_panic() || !once_more(&shared->warnings, MAX_WARNINGS))
		return -EPERM;
	ret = raise_in_kernel(vector);
	if (!ret)
		me->raised[0][vector]++;
	return ret;
}

static int raise_kernel_fault(struct thread *me)
{
	const char *what = draw(me, 2) ? "spurious" : "vmalloc";
	int ret;

	note(me, "page fault in the kernel: %s", what);
	ret = put(TRAP_TEST, "fault", "%s", what);
	if (ret && ret != -ENOENT && ret != -EOPNOTSUPP)
		wrong(me, "%s: %s", what, strerror(-ret));
	return ret;
}

/*
 * A probe that raises traps itself: none of them may be seen, which is what the
 * histograms say. Those that it raises within an NMI are seen, and not counted.
 */
static int raise_in_probe(struct thread *me)
{
	static const char * const probes[] = {
		"0", "3", "4", "5", "6", "9", "10", "11", "12", "13", "14", "16", "17", "19",
		"2 14", "2 3", "delay 1",
	};
	const char *probe = probes[draw(me, ARRAY_SIZE(probes))];
	const unsigned int times = 1 + draw(me, 4);
	int fd;
	const struct user_trap *t;

	note(me, "a probe that does '%s', in %u traps", probe, times);
	t = find_user_trap(UD);
	fd = open(PROBE_FILE, O_WRONLY);
	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&probe_mutex);
	if (write(fd, probe, strlen(probe)) != (ssize_t)strlen(probe))
		wrong(me, "probe: %s", strerror(errno));
	for (unsigned int i = 0; i < times && !raise_one(me, t, NULL); i++)
		;
	/* A child of another thread may have the file open for longer */
	if (write(fd, "off", 3) != 3)
		wrong(me, "probe off: %s", strerror(errno));
	close(fd);
	pthread_mutex_unlock(&probe_mutex);
	return 0;
}

/* Not while allocations fail in another thread: see no_memory() */
static pid_t fork_from_thread(void)
{
	pid_t child;

	pthread_mutex_lock(&fork_mutex);
	child = must_fork();
	pthread_mutex_unlock(&fork_mutex);
	return child;
}

/* Copy-on-write of both, and a child that ends in the middle of a fault */
static int fork_and_write(struct thread *me)
{
	int status = 0;
	pid_t child;
	char *page;

	note(me, "copy-on-write after fork()");
	page = new_pages(page_size);
	*page = 1;
	child = fork_from_thread();
	if (!child) {
		bool good = *page == 1;

		*page = 2;
		_exit(good && *page == 2 ? 0 : 1);
	}
	*page = 3;
	waitpid(child, &status, 0);
	if (status || *page != 3)
		wrong(me, "status 0x%x, %d in the page", status, *page);
	munmap(page, page_size);
	return 0;
}

static int fork_and_kill(struct thread *me)
{
	const unsigned int wait_us = draw(me, 30000);
	int status = 0;
	pid_t child;
	char *page;

	note(me, "kill a child in a page fault after %u us", wait_us);
	page = new_pages(page_size);
	child = fork_from_thread();
	if (!child) {
		if (wait_for_pages(page, page_size) < 0)
			_exit(KSFT_SKIP);
		*page = 1;
		_exit(1);
	}
	usleep(wait_us);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	munmap(page, page_size);
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		return -EOPNOTSUPP;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		wrong(me, "status 0x%x", status);
	return 0;
}

static void on_poison(int signal)
{
	(void)signal;
	_exit(3);
}

/* The kernel may tell at once, or at the next access: by SIGBUS */
static int poison_page(struct thread *me)
{
	int status = 0;
	pid_t child;

	note(me, "hardware poison");
	if (!once_more(&shared->poisoned, MAX_POISON))
		return -EPERM;
	child = fork_from_thread();
	if (!child) {
		struct sigaction sa = { .sa_handler = on_poison };
		char *page = new_pages(page_size);

		*page = 1;
		sigaction(SIGBUS, &sa, NULL);
		if (madvise(page, page_size, MADV_HWPOISON))
			_exit(KSFT_SKIP);
		asm volatile("" : : "r" (*page));
		_exit(1);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		return -EOPNOTSUPP;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
		wrong(me, "status 0x%x", status);
	return 0;
}

/*
 * The allocator fails some times for this thread: the access succeeds nevertheless.
 * Not so those of the kernel, to the stack or to what rseq has in the thread's control
 * block: that would be a SIGSEGV. So these pages must not be copy-on-write.
 */
static int no_memory(struct thread *me)
{
	static const struct user_trap write = { .vector = PF, .raise = raise_write };
	const uintptr_t stack = (uintptr_t)__builtin_frame_address(0) & -page_size;
	const uintptr_t block = (uintptr_t)pthread_self() & -page_size;
	const unsigned int times = 1 + draw(me, 3);
	char *page;
	int ret;

	note(me, "no memory, %u times", times);
	page = new_pages(page_size);
	pthread_mutex_lock(&fork_mutex);
	/* The second page of the block may not be there, and is not needed then */
	madvise((void *)block, 2 * page_size, MADV_POPULATE_WRITE);
	ret = madvise((void *)(stack - 4 * page_size), 5 * page_size, MADV_POPULATE_WRITE);
	if (ret)
		ret = -errno;
	if (!ret)
		ret = put("/proc/thread-self", "make-it-fail", "1");
	if (!ret)
		ret = put(FAIL_PAGE_ALLOC, "times", "%u", times);
	if (!ret)
		ret = put(FAIL_PAGE_ALLOC, "probability", "100");
	if (!ret)
		raise_one(me, &write, page);
	/* This may be what fails */
	for (unsigned int i = 0; i < 2 * times; i++) {
		put(FAIL_PAGE_ALLOC, "probability", "0");
		put("/proc/thread-self", "make-it-fail", "0");
	}
	pthread_mutex_unlock(&fork_mutex);
	munmap(page, page_size);
	return ret;
}

/* Pages that all access while all change what may be done with them */
static int access_shared(struct thread *me)
{
	const bool write = draw(me, 2);
	const unsigned int page = draw(me, SHARED_PAGES), times = 1 + draw(me, SHARED_PAGES);
	struct user_trap t = { .vector = PF, .raise = write ? raise_write : raise_read };

	note(me, "%s shared pages from %u, %u times", write ? "write" : "read", page, times);
	for (unsigned int i = 0; i < times; i++) {
		int n;

		/* A signal of a page fault, or none */
		t.signal = SIGSEGV;
		n = raise_user_trap(&t, shared_pages + (page + i) % SHARED_PAGES * page_size);
		if (n == 1)
			count_signal(me);
		if (n < 0 || n > 1 || (n == 1 && trap_info.si_code != SEGV_ACCERR))
			wrong(me, "%d: code %d", n, trap_info.si_code);
	}
	return 0;
}

static int change_shared(struct thread *me)
{
	static const struct {
		const char *name;
		int prot, advice;
	} changes[] = {
		{ "PROT_NONE", PROT_NONE }, { "PROT_READ", PROT_READ },
		{ "PROT_READ|PROT_WRITE", PROT_READ | PROT_WRITE },
		{ "MADV_DONTNEED", -1, MADV_DONTNEED }, { "MADV_COLD", -1, 20 },
		{ "MADV_PAGEOUT", -1, 21 },
	};
	const unsigned int change = draw(me, ARRAY_SIZE(changes));
	const unsigned int page = draw(me, SHARED_PAGES);
	const unsigned int n = 1 + draw(me, SHARED_PAGES - page);

	note(me, "%s for %u shared pages from %u", changes[change].name, n, page);
	if (changes[change].prot >= 0)
		return mprotect(shared_pages + page * page_size, n * page_size,
				changes[change].prot) ? -errno : 0;
	return madvise(shared_pages + page * page_size, n * page_size,
		       changes[change].advice) ? -errno : 0;
}

/*
 * What uprobes are on: an instruction that they emulate, and one that they execute
 * elsewhere, in single step. Returns its argument plus one.
 */
#ifdef __x86_64__
asm(".pushsection .text; .globl probed; probed: nop; lea 1(%rdi), %rax; ret; .popsection");
#else
asm(".pushsection .text; .globl probed; probed: nop; mov 4(%esp),%eax; inc %eax; ret; .popsection");
#endif
long probed(long n);

static int run_probed(struct thread *me)
{
	const unsigned int times = 1 + draw(me, 16);

	note(me, "run what is probed, %u times", times);
	for (unsigned int i = 0; i < times; i++) {
		if (probed(i) != (long)i + 1)
			wrong(me, "a function with uprobes returns %ld for %u", probed(i), i);
		if (syscall(SYS_getppid) <= 0)
			wrong(me, "no getppid()");
	}
	return 0;
}

static int run_vsyscall(struct thread *me)
{
	note(me, "vsyscall");
#ifdef __x86_64__
	if (have_vsyscall) {
		struct timespec now[2] = { 0 };

		if (((long (*)(void *, void *))0xffffffffff600000UL)(now, NULL) || !now->tv_sec)
			wrong(me, "vsyscall gettimeofday()");
		return 0;
	}
#endif
	return -EOPNOTSUPP;
}

/* A #DB in the probes of the traps that follow */
static int break_in_tracer(struct thread *me)
{
	const unsigned int times = 1 + draw(me, 4);
	int fd;
	const struct user_trap *t;

	note(me, "a breakpoint in the tracer, in %u traps", times);
	fd = tracer_function ? breakpoint(tracer_function, true) : -1;
	if (fd < 0)
		return -EOPNOTSUPP;
	t = find_user_trap(UD);
	for (unsigned int i = 0; i < times && !raise_one(me, t, NULL); i++)
		;
	close(fd);
	return 0;
}

/*
 * Switchers: what they write may be refused, and what they read is not looked at
 */
static const char * const groups[] = { "trap", "pagefault", "exceptions" };
static const char * const events[] = {
	"trap/trap_entry", "trap/trap_exit", "pagefault/pagefault_entry",
	"pagefault/pagefault_exit", "pagefault/pagefault_noregs",
	"exceptions/page_fault_user", "exceptions/page_fault_kernel",
};

/* Instance 0 is the top one */
static const char *instance_name(unsigned int n)
{
	static const char * const names[] = { "top", "1", "2", "3", "4" };

	return names[n];
}

static void instance_path(unsigned int n, char *path, size_t size)
{
	if (n)
		snprintf(path, size, TRACING "/instances/" NAME ".%d.%u", main_pid, n);
	else
		snprintf(path, size, TRACING);
}

/* Write to a file of a tracing instance */
static int put_in(struct thread *me, unsigned int n, const char *file, const char *text)
{
	char path[128];

	note(me, "echo '%s' >%s:%s", text, instance_name(n), file);
	instance_path(n, path, sizeof(path));
	return put(path, file, "%s", text);
}

/* One draw to a call: the order of the arguments is the compiler's */
static int put_anywhere(struct thread *me, const char *file, const char *text)
{
	return put_in(me, draw(me, INSTANCES + 1), file, text);
}

static int put_below(struct thread *me, const char *file, const char *text)
{
	return put_in(me, 1 + draw(me, INSTANCES), file, text);
}

static const char *event_or_group(struct thread *me)
{
	if (draw(me, 2))
		return groups[draw(me, ARRAY_SIZE(groups))];
	return events[draw(me, ARRAY_SIZE(events))];
}

static int switch_event(struct thread *me)
{
	const char *event = event_or_group(me);
	char file[64];

	snprintf(file, sizeof(file), "events/%s/enable", event);
	return put_anywhere(me, file, draw(me, 3) ? "1" : "0");
}

static int set_event(struct thread *me)
{
	static const char * const lines[] = {
		"trap:*", "pagefault:*", "!trap:*", "!pagefault:*", "trap_entry", "*:trap_exit",
		"!trap:trap_entry", "exceptions:", "!exceptions:", "trap:no_such_event",
	};

	return put_below(me, "set_event", lines[draw(me, ARRAY_SIZE(lines))]);
}

static int set_filter(struct thread *me)
{
	static const char * const filters[] = {
		"0", "0", "0", "1", "user_mode == 1", "user_mode == 0", "error_code & 2",
		"ip > 4096", "common_pid > 1 && user_mode == 1", "COMM == \"" NAME "\"",
		"vector == 14", "vector != 14 && (user_mode == 1 || error_code != 0)",
		"outcome == MAJOR", "outcome == MINOR && duration > 1000", "flags & COW",
		"outcome >= SIGNAL || flags & FILE", "ip.function == handle_mm_fault",
		"CPU & CPUS{0-1}", "no_such_field == 1", "vector ==", "(vector == 1",
		"outcome == NO_SUCH_OUTCOME", "common_preempt_count > 0",
	};
	const char *event = event_or_group(me);
	char file[64];

	snprintf(file, sizeof(file), "events/%s/filter", event);
	return put_anywhere(me, file, filters[draw(me, ARRAY_SIZE(filters))]);
}

static const char * const triggers[] = {
	"hist:keys=vector,user_mode", "hist:keys=vector.log2:vals=hitcount:sort=hitcount",
	"hist:keys=outcome,duration.log2", "hist:keys=common_stacktrace:size=128",
	"hist:keys=ip.sym,common_pid.execname:size=128", "hist:keys=address.hex:size=128",
	"hist:keys=common_cpu if user_mode == 1", "hist:keys=vector:pause",
	"hist:keys=vector:clear",
	"stacktrace", "stacktrace:3 if user_mode == 1", "traceon", "traceoff:2", "snapshot:1",
	"enable_event:exceptions:page_fault_user", "disable_event:exceptions:page_fault_user:5",
	"enable_event:trap:trap_exit:1", "enable_hist:trap:trap_entry", "hist:keys=no_such_field",
	"no_such_trigger", "hist:keys=", "stacktrace:-1",
};

static int set_trigger(struct thread *me)
{
	const char *event = events[draw(me, ARRAY_SIZE(events))];
	const char *trigger = triggers[draw(me, ARRAY_SIZE(triggers))];
	const bool add = draw(me, 2);
	char file[64], text[96];

	snprintf(file, sizeof(file), "events/%s/trigger", event);
	snprintf(text, sizeof(text), "%s%s", add ? "" : "!", trigger);
	return put_anywhere(me, file, text);
}

static int set_option(struct thread *me)
{
	static const char * const options[] = {
		"stacktrace", "userstacktrace", "overwrite", "irq-info", "record-tgid",
		"sym-userobj", "sym-addr", "raw", "hex", "bin", "verbose", "latency-format",
		"disable_on_free", "event-fork", "function-fork", "markers", "pause-on-trace",
		"hash-ptr", "fields", "trace_printk_dest", "copy_trace_marker",
	};
	/* What the top one has is to be as before */
	const unsigned int n = draw(me, INSTANCES + 1);
	char file[64];

	snprintf(file, sizeof(file), "options/%s", options[draw(me, n ? ARRAY_SIZE(options) : 2)]);
	return put_in(me, n, file, draw(me, 2) ? "1" : "0");
}

/* Whether an instance has a filter for functions */
static bool some_functions(const char *path)
{
	char *text = get(path, "set_ftrace_filter");
	bool some = text && *text && *text != '#';

	free(text);
	return some;
}

/* They make all slow, so none stays for long */
static int set_tracer(struct thread *me)
{
	static const char * const tracers[] = {
		"nop", "nop", "nop", "function", "function_graph", "wakeup", "irqsoff",
		"preemptoff", "no_such_tracer",
	};
	const char *tracer = tracers[draw(me, ARRAY_SIZE(tracers))];
	const unsigned int n = draw(me, INSTANCES + 1), wait_us = draw(me, 20000);
	char path[128];
	int ret;

	note(me, "echo '%s' >%s:current_tracer, for %u us", tracer, instance_name(n), wait_us);
	instance_path(n, path, sizeof(path));
	if (!strcmp(tracer, "nop"))
		return put(path, "current_tracer", "nop");
	pthread_mutex_lock(&tracer_mutex);
	ret = some_functions(path) ? put(path, "current_tracer", "%s", tracer) : -EPERM;
	if (!ret) {
		usleep(wait_us);
		put(path, "current_tracer", "nop");
	}
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

/*
 * Some functions, and never all, which is what a new instance has, or one for which a
 * filter was refused. With a kprobe in the ring buffer and stack traces, a tracer of
 * what walks the stack is busy for hours, in a single trap.
 */
#define SOME_FUNCTIONS	"*fault*"

static int set_functions(struct thread *me)
{
	static const char * const functions[] = {
		SOME_FUNCTIONS, "*trap*", "ring_buffer_*", "do_*", "handle_mm_fault",
		"force_sig*",
	};
	/*
	 * Never all that one of these has: Linux 7.3 takes what is left of such a
	 * filter for none, and function_graph traces all functions then.
	 */
	static const char * const without[] = {
		"*_fault_*", "*trap_*", "ring_buffer_read*", "do_sys*", "force_sig_fault*",
	};
	const bool some = draw(me, 3);
	const char *pattern;
	int ret;

	if (some)
		pattern = functions[draw(me, ARRAY_SIZE(functions))];
	else
		pattern = without[draw(me, ARRAY_SIZE(without))];
	pthread_mutex_lock(&tracer_mutex);
	ret = put_anywhere(me, some ? "set_ftrace_filter" : "set_ftrace_notrace", pattern);
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

/*
 * Not buffer_subbuf_size_kb: Linux 7.3 goes on counting the entries that were there, and
 * who reads trace_pipe then looks for them in the kernel, for ever.
 */
static int set_buffer(struct thread *me)
{
	static const char * const writes[][2] = {
		{ "buffer_size_kb", "4" }, { "buffer_size_kb", "64" },
		{ "buffer_size_kb", "1024" },
		{ "per_cpu/cpu0/buffer_size_kb", "128" }, { "trace", " " },
		{ "per_cpu/cpu0/trace", " " },
		{ "tracing_on", "0" }, { "tracing_on", "1" }, { "tracing_on", "1" },
		{ "snapshot", "0" }, { "snapshot", "1" }, { "snapshot", "2" },
		{ "trace_clock", "local" }, { "trace_clock", "global" },
		{ "trace_clock", "counter" }, { "trace_clock", "mono" },
		{ "trace_clock", "x86-tsc" }, { "trace_clock", "nonsense" },
		{ "tracing_cpumask", "1" }, { "tracing_cpumask", "f" },
		{ "trace_marker", "fuzz" }, { "set_event_pid", "1" }, { "set_event_pid", "" },
		{ "set_event_notrace_pid", "" },
		{ "buffer_percent", "50" }, { "free_buffer", "" },
	};
	const char * const *write = writes[draw(me, ARRAY_SIZE(writes))];

	return put_below(me, write[0], write[1]);
}

static int read_file(struct thread *me)
{
	static const char * const files[] = {
		"trace", "trace_pipe", "per_cpu/cpu0/trace_pipe_raw", "per_cpu/cpu1/stats",
		"per_cpu/cpu0/trace_pipe", "snapshot", "events/trap/trap_entry/hist",
		"events/trap/trap_exit/hist", "events/pagefault/pagefault_exit/hist",
		"events/pagefault/pagefault_exit/format", "events/trap/filter",
		"events/trap/trap_entry/trigger", "set_event", "enabled_functions", "error_log",
		"../debug/x86/trap_suppressed", "kprobe_profile", "dynamic_events",
		"set_ftrace_filter", "trace_stat/function0",
	};
	const unsigned int n = draw(me, INSTANCES + 1), reads = 1 + draw(me, 8);
	const char *file = files[draw(me, ARRAY_SIZE(files))];
	char path[256], text[4096];
	int fd;

	note(me, "read %s:%s, %u times", instance_name(n), file, reads);
	instance_path(n, path, sizeof(path));
	strcat(path, "/");
	strcat(path, file);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	for (unsigned int i = 0; i < reads; i++)
		if (read(fd, text, sizeof(text)) <= 0)
			break;
	close(fd);
	return 0;
}

static int make_or_remove(struct thread *me)
{
	const unsigned int n = 1 + draw(me, INSTANCES);
	const bool make = draw(me, 2);
	char path[128];
	int ret;

	note(me, "%s %s", make ? "mkdir" : "rmdir", instance_name(n));
	instance_path(n, path, sizeof(path));
	pthread_mutex_lock(&tracer_mutex);
	ret = (make ? mkdir(path, 0755) : rmdir(path)) ? -errno : 0;
	if (make && !ret)
		put(path, "set_ftrace_filter", SOME_FUNCTIONS);
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

static int add_kprobe(struct thread *me)
{
	static const char * const symbols[] = {
		"handle_mm_fault", "bad_area_nosemaphore", "do_error_trap", "fixup_exception",
		"force_sig_fault", "do_sys_openat2", "vfs_write",
		/* The tracer's: from IN_TRACER on */
		"ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
		"trace_event_buffer_reserve", "stack_trace_save_user", "arch_stack_walk",
		"event_triggers_call", "filter_match_preds", "__traceiter_trap_entry",
		"__traceiter_pagefault_exit", "copy_from_user_nofault",
		/* These are refused */
		"__trap_trace_entry", "exc_page_fault", "no_such_symbol",
	};
	enum { IN_TRACER = 7 };
	const unsigned int n = draw(me, 6), offset = draw(me, 3) ? draw(me, 64) : 0;
	const unsigned int number = draw(me, ARRAY_SIZE(symbols));
	const bool at_return = !draw(me, 4);
	const char *symbol = symbols[number];
	int ret = 0;

	note(me, "%s k%u on %s+%u", at_return ? "kretprobe" : "kprobe", n, symbol,
	     at_return ? 0 : offset);
	if (at_return)
		ret = append(TRACING, "dynamic_events", "r:" NAME "/k%u %s ret=$retval\n", n,
			     symbol);

	/* At the next instruction: no other address is taken */
	for (unsigned int i = 0; !at_return && i < 15; i++) {
		ret = append(TRACING, "dynamic_events", "p:" NAME "/k%u %s+%u stack=$stack0\n", n,
			     symbol, offset + i);
		if (ret != -EILSEQ)
			break;
	}
	if (!ret && number >= IN_TRACER)
		shared->tracer_probed = true;
	return ret;
}

/*
 * One to an event. Linux 7.3 frees one of two, by "-:event", while they are enabled,
 * and leaves its consumer to whoever runs into the breakpoint.
 */
static int add_uprobe(struct thread *me)
{
	static const struct {
		char type;
		unsigned int offset;
	} probes[] = { { 'p', 0 }, { 'p', 1 }, { 'r', 0 } };
	const unsigned int n = draw(me, ARRAY_SIZE(probes));

	note(me, "uprobe u%u on our own code", n);
	if (!probed_at)
		return -EOPNOTSUPP;
	return append(TRACING, "dynamic_events", "%c:" NAME "/u%u %s:0x%lx\n", probes[n].type,
		      n, exe, probed_at + probes[n].offset);
}

static int add_function_probe(struct thread *me)
{
	static const char * const probes[] = {
		"t:" NAME "/t0 trap_entry", "t:" NAME "/t1 pagefault_exit",
		"f:" NAME "/f0 handle_mm_fault", "f:" NAME "/f1 handle_mm_fault%return",
	};
	const char *probe = probes[draw(me, ARRAY_SIZE(probes))];

	note(me, "%s", probe);
	return append(TRACING, "dynamic_events", "%s\n", probe);
}

static const char * const probe_names[] = {
	"k0", "k1", "k2", "k3", "k4", "k5", "u0", "u1", "u2", "t0", "t1", "f0", "f1",
};

static int remove_probe(struct thread *me)
{
	const char *name = probe_names[draw(me, ARRAY_SIZE(probe_names))];

	note(me, "remove probe %s", name);
	return append(TRACING, "dynamic_events", "-:" NAME "/%s\n", name);
}

/*
 * On the events themselves. They are a group of their own, and for the top instance
 * only: of one that is enabled in two, and disabled first where it was enabled first,
 * Linux 7.3 leaves a trigger behind.
 */
static int make_event_probe(unsigned int n)
{
	static const char * const probes[EVENT_PROBES] = {
		"trap.trap_entry v=$vector:u16 ip=$ip:x64",
		"pagefault.pagefault_exit o=$outcome:u32 if outcome > 1",
		"trap.trap_exit v=$vector:u16",
	};

	return append(TRACING, "dynamic_events", "e:" NAME "_e/e%u %s\n", n, probes[n]);
}

static int add_event_probe(struct thread *me)
{
	const unsigned int n = draw(me, EVENT_PROBES);

	note(me, "add event probe e%u", n);
	return make_event_probe(n);
}

/* These two are drawn too rarely to wait until there happens to be one */
static int switch_event_probe(struct thread *me)
{
	const unsigned int n = draw(me, EVENT_PROBES);
	const bool on = draw(me, 2);
	char file[64];

	note(me, "event probe e%u %s", n, on ? "on" : "off");
	make_event_probe(n);
	snprintf(file, sizeof(file), "events/" NAME "_e/e%u/enable", n);
	return put(TRACING, file, "%d", on);
}

static int remove_event_probe(struct thread *me)
{
	const unsigned int n = draw(me, EVENT_PROBES);

	note(me, "remove event probe e%u", n);
	make_event_probe(n);
	return append(TRACING, "dynamic_events", "-:" NAME "_e/e%u\n", n);
}

static int switch_probe(struct thread *me)
{
	const bool all = !draw(me, 4);
	const char *name = probe_names[draw(me, ARRAY_SIZE(probe_names))];
	char file[64];

	snprintf(file, sizeof(file), "events/" NAME "/%s%senable", all ? "" : name,
		 all ? "" : "/");
	return put_anywhere(me, file, draw(me, 3) ? "1" : "0");
}

static int optimize_kprobes(struct thread *me)
{
	const bool on = draw(me, 2);

	note(me, "kprobes-optimization %d", on);
	return put("/proc/sys/debug", "kprobes-optimization", "%d", on);
}

/* Events of perf, on a CPU each, with call chains: a few at a time in each thread */
#define PERF_PAGES	9

static int open_perf(struct thread *me)
{
	static __thread struct { int fd; void *ring; } slots[4];
	const unsigned int slot = draw(me, ARRAY_SIZE(slots)), cpu = draw(me, cpus());
	const char *event = events[draw(me, ARRAY_SIZE(events))];
	const bool open = draw(me, 4), ring = draw(me, 2);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = event_id(event), .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN,
	};
	void *memory;
	int fd;

	note(me, "perf slot %u: %s %s on CPU %u, %s ring", slot, open ? "open" : "close", event,
	     cpu, ring ? "with" : "no");
	if (slots[slot].ring)
		munmap(slots[slot].ring, PERF_PAGES * page_size);
	if (slots[slot].fd)
		close(slots[slot].fd);
	memset(&slots[slot], 0, sizeof(slots[slot]));
	if (!open)
		return 0;

	fd = perf_open(&attr, -1, cpu);
	if (fd < 0)
		return -errno;
	slots[slot].fd = fd;
	if (!ring)
		return 0;
	memory = mmap(NULL, PERF_PAGES * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	slots[slot].ring = memory;
	return 0;
}

/*
 * From outside: NMIs and, less often, machine checks, of which a CPU takes one at a
 * time
 */
static int raise_outside(struct thread *me)
{
	const bool check = !draw(me, 16);
	const unsigned int nmis = 1 + draw(me, 4), wait_ms = draw(me, check ? 2000 : 500);

	note(me, "%u of the monitor's %s, then %u ms", check ? 1 : nmis, check ? "#MCs" : "NMIs",
	     wait_ms);
	if (!getenv("QEMU_MONITOR")) {
		usleep(10000);
		return -EOPNOTSUPP;
	}
	if (check && !machine_check_from_qemu())
		wrong(me, "no #MC");
	for (unsigned int i = 0; i < nmis && !check; i++)
		if (!on_qemu_monitor("nmi"))
			wrong(me, "no NMI");
	for (unsigned int i = 0; i < wait_ms + (check ? 1000 : 0) && !stopped(); i += 50)
		usleep(50000);
	return 0;
}

static const struct operation {
	enum role role;
	unsigned int weight;
	const char *name;
	int (*run)(struct thread *me);
} operations[] = {
	{ RAISER, 40, "raise_user", raise_user },
	{ RAISER, 10, "raise_in_frame", raise_in_frame },
	{ RAISER, 10, "raise_burst", raise_burst },
	{ RAISER, 40, "raise_access", raise_access },
	{ RAISER, 10, "raise_in_syscall", raise_in_syscall },
	{ RAISER, 5, "without_trap", without_trap },
	{ RAISER, 30, "raise_kernel", raise_kernel },
	{ RAISER, 2, "raise_warning", raise_warning },
	{ RAISER, 5, "raise_kernel_fault", raise_kernel_fault },
	{ RAISER, 3, "raise_in_probe", raise_in_probe },
	{ RAISER, 2, "fork_and_write", fork_and_write },
	{ RAISER, 2, "fork_and_kill", fork_and_kill },
	{ RAISER, 2, "poison_page", poison_page },
	{ RAISER, 3, "no_memory", no_memory },
	{ RAISER, 10, "access_shared", access_shared },
	{ RAISER, 10, "change_shared", change_shared },
	{ RAISER, 10, "run_probed", run_probed },
	{ RAISER, 2, "run_vsyscall", run_vsyscall },
	{ RAISER, 5, "break_in_tracer", break_in_tracer },
	{ SWITCHER, 40, "switch_event", switch_event },
	{ SWITCHER, 5, "set_event", set_event },
	{ SWITCHER, 20, "set_filter", set_filter },
	{ SWITCHER, 20, "set_trigger", set_trigger },
	{ SWITCHER, 15, "set_option", set_option },
	{ SWITCHER, 3, "set_tracer", set_tracer },
	{ SWITCHER, 3, "set_functions", set_functions },
	{ SWITCHER, 20, "set_buffer", set_buffer },
	{ SWITCHER, 20, "read_file", read_file },
	{ SWITCHER, 10, "make_or_remove", make_or_remove },
	{ SWITCHER, 10, "add_kprobe", add_kprobe },
	{ SWITCHER, 5, "add_uprobe", add_uprobe },
	{ SWITCHER, 5, "add_function_probe", add_function_probe },
	{ SWITCHER, 3, "add_event_probe", add_event_probe },
	{ SWITCHER, 10, "remove_probe", remove_probe },
	{ SWITCHER, 10, "switch_probe", switch_probe },
	{ SWITCHER, 3, "switch_event_probe", switch_event_probe },
	{ SWITCHER, 3, "remove_event_probe", remove_event_probe },
	{ SWITCHER, 2, "optimize_kprobes", optimize_kprobes },
	{ SWITCHER, 10, "open_perf", open_perf },
	{ OUTSIDE, 1, "raise_outside", raise_outside },
};

/*
 * Threads
 */
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void *run_thread(void *arg)
{
	struct thread *me = arg;
	unsigned int sum = 0, at;
	double began;

	set_up_signal_stack();
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		sum += operations[i].role == me->role ? operations[i].weight : 0;

	while (!stopped() && me->begun < me->limit) {
		size_t i = 0;

		/* All that the operation does follows from these three */
		me->random = mix(mix(mix(seed) + me->number) + me->begun);
		__atomic_add_fetch(&me->begun, 1, __ATOMIC_RELAXED);
		me->cpu = draw(me, cpus());
		if (me->role == RAISER)
			pin(me->cpu);
		at = draw(me, sum);
		while (operations[i].role != me->role || at >= operations[i].weight) {
			at -= operations[i].role == me->role ? operations[i].weight : 0;
			i++;
		}
		began = seconds();
		if (operations[i].run(me))
			me->refused[i]++;
		else
			me->done[i]++;
		me->seconds[i] += seconds() - began;
	}
	return NULL;
}

/* Serve the page faults on what is registered with it, after a moment */
static void *serve_pages(void *arg)
{
	struct uffdio_zeropage zero;
	struct uffd_msg msg;

	(void)arg;
	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		usleep(100);
		zero = (struct uffdio_zeropage){ .range = {
			msg.arg.pagefault.address & -page_size, page_size } };
		ioctl(uffd, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

/* A file of some pages on the disk, or in memory, that is gone when it is closed */
static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" NAME ".XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	unlink(path);
	if (ftruncate(fd, MAX_PAGES * page_size)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Where probed() is in the file of this program */
static void find_probed(void)
{
	unsigned long first, last, offset;
	char line[256];
	ssize_t n;
	FILE *f;

	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	f = fopen("/proc/self/maps", "r");
	if (n < 0 || n == sizeof(exe) - 1 || !f)
		return;
	exe[n] = '\0';
	while (!probed_at && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &first, &last, &offset) == 3 &&
		    (unsigned long)probed >= first && (unsigned long)probed < last)
			probed_at = (unsigned long)probed - first + offset;
	fclose(f);
}

static void find_vsyscall(void)
{
	char *maps = get("/proc/self", "maps");

	have_vsyscall = maps && strstr(maps, "[vsyscall]");
	free(maps);
}

/* The process of a round: it is to end, and leaves what it wrote to the parent */
static void run_round(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t threads[THREADS], server;
	char path[128];

	prctl(PR_SET_NAME, NAME);
	set_up_user_traps();
	shared_pages = new_pages(SHARED_PAGES * page_size);
	file = open_file();
	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd >= 0 && ioctl(uffd, UFFDIO_API, &api)) {
		close(uffd);
		uffd = -1;
	}
	if (uffd >= 0 && pthread_create(&server, NULL, serve_pages, NULL))
		ksft_exit_fail_msg("pthread_create\n");
	for (unsigned int i = 0; i <= INSTANCES; i++) {
		instance_path(i, path, sizeof(path));
		if (i)
			mkdir(path, 0755);
		put(path, "set_ftrace_filter", SOME_FUNCTIONS);
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_thread, &shared->threads[i]))
			ksft_exit_fail_msg("pthread_create\n");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/*
 * What is there before and after
 */
static struct setting {
	const char *dir, *file, *value;	/* for the fuzz, if not NULL */
	char *old;
} settings[] = {
	{ TRACING, "tracing_on" },
	{ TRACING, "options/stacktrace" },
	{ TRACING, "options/userstacktrace" },
	{ "/proc/sys/debug", "kprobes-optimization" },
	{ "/proc/sys/vm", "nr_hugepages", "8" },
	{ FAIL_PAGE_ALLOC, "probability", "0" },
	{ FAIL_PAGE_ALLOC, "times", "0" },
	{ FAIL_PAGE_ALLOC, "task-filter", "Y" },
	{ FAIL_PAGE_ALLOC, "ignore-gfp-highmem", "N" },
	{ FAIL_PAGE_ALLOC, "ignore-gfp-wait", "N" },
	{ FAIL_PAGE_ALLOC, "min-order", "0" },
	{ FAIL_PAGE_ALLOC, "verbose", "0" },
	/* In a slow guest, all CPUs do not come together within a second */
	{ "/sys/devices/system/machinecheck/machinecheck0", "monarch_timeout", "60000000" },
};

static void change_settings(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		free(settings[i].old);
		settings[i].old = get(settings[i].dir, settings[i].file);
		if (settings[i].old && settings[i].value)
			put(settings[i].dir, settings[i].file, "%s", settings[i].value);
	}
}

static void restore_settings(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (settings[i].old)
			put(settings[i].dir, settings[i].file, "%s", settings[i].old);
}

/* The state of tracing, as text: name of a file, and what is in it */
static char *state(void)
{
	static const char * const files[] = {
		"current_tracer", "tracing_on", "trace_options", "trace_clock", "tracing_cpumask",
		"buffer_size_kb", "set_event", "set_event_pid", "set_ftrace_filter",
		"set_ftrace_notrace", "set_graph_function", "enabled_functions", "dynamic_events",
		"kprobe_events", "uprobe_events", "synthetic_events",
		"events/trap/enable", "events/trap/filter", "events/pagefault/enable",
		"events/pagefault/filter", "events/exceptions/enable", "events/exceptions/filter",
	};
	static const char * const of_event[] = { "enable", "filter", "trigger" };
	char file[96], *text = NULL, *contents;
	struct dirent *d;
	size_t size = 0;
	FILE *f;
	DIR *dir;

	f = open_memstream(&text, &size);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		contents = get(TRACING, files[i]);
		fprintf(f, "%s: %s\n", files[i], contents ? contents : "none");
		free(contents);
	}
	for (size_t i = 0; i < ARRAY_SIZE(events) * ARRAY_SIZE(of_event); i++) {
		snprintf(file, sizeof(file), "events/%s/%s", events[i / ARRAY_SIZE(of_event)],
			 of_event[i % ARRAY_SIZE(of_event)]);
		contents = get(TRACING, file);
		fprintf(f, "%s: %s\n", file, contents ? contents : "none");
		free(contents);
	}
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		contents = get(settings[i].dir, settings[i].file);
		fprintf(f, "%s: %s\n", settings[i].file, contents ? contents : "none");
		free(contents);
	}
	contents = get("/sys/kernel/debug/kprobes", "list");
	fprintf(f, "kprobes: %s\n", contents ? contents : "none");
	free(contents);
	dir = opendir(TRACING "/instances");
	while (dir && (d = readdir(dir)))
		fprintf(f, "instance %s\n", d->d_name);
	if (dir)
		closedir(dir);
	fclose(f);
	return text;
}

/* Whether two states are the same; else the first line that is not */
static bool same_state(const char *before, const char *after, bool tell)
{
	if (!strcmp(before, after))
		return true;
	while (tell && *before && strcspn(before, "\n") == strcspn(after, "\n") &&
	       !strncmp(before, after, strcspn(before, "\n") + 1)) {
		before += strcspn(before, "\n") + 1;
		after += strcspn(after, "\n") + 1;
	}
	if (tell)
		ksft_print_msg("it was '%.*s', it is '%.*s'\n", (int)strcspn(before, "\n"), before,
			       (int)strcspn(after, "\n"), after);
	return false;
}

/* All triggers of an event, the last one first: one may refer to another */
static void remove_triggers(const char *dir, const char *event)
{
	char file[64], *text, *line;

	snprintf(file, sizeof(file), "events/%s/trigger", event);
	text = get(dir, file);
	while (text && *text) {
		if (text[strlen(text) - 1] == '\n')
			text[strlen(text) - 1] = '\0';
		line = strrchr(text, '\n');
		line = line ? line + 1 : text;
		if (*line != '#')
			put(dir, file, "!%s", line);
		*line = '\0';
	}
	free(text);
}

static void switch_off(const char *dir)
{
	char file[64];

	put(dir, "current_tracer", "nop");
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		remove_triggers(dir, events[i]);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		snprintf(file, sizeof(file), "events/%s/enable", groups[i]);
		put(dir, file, "0");
		snprintf(file, sizeof(file), "events/%s/filter", groups[i]);
		put(dir, file, "0");
	}
	put(dir, "events/" NAME "/enable", "0");
	put(dir, "events/" NAME "_e/enable", "0");
	put(dir, "set_ftrace_filter", " ");
	put(dir, "set_ftrace_notrace", " ");
	put(dir, "snapshot", "0");
}

/* What the fuzz may have left: once more if something was in use */
static void switch_all_off(void)
{
	bool busy = true;
	char path[128];

	for (int round = 0; round < 3 && busy; round++) {
		busy = false;
		switch_off(TRACING);
		for (unsigned int i = 1; i <= INSTANCES; i++) {
			instance_path(i, path, sizeof(path));
			if (access(path, F_OK))
				continue;
			switch_off(path);
			busy |= rmdir(path);
		}
		busy |= append(TRACING, "dynamic_events", "-:" NAME "_e/\n") == -EBUSY;
		busy |= append(TRACING, "dynamic_events", "-:" NAME "/\n") == -EBUSY;
	}
	restore_settings();
}

/*
 * The histograms that have to agree with what was raised
 */
static const char *watch;

#define UNTRACED	" || vector == 14 || vector == 18"

static const struct {
	const char *event, *keys, *also;
} watched[] = {
	{ "trap/trap_entry", "vector,user_mode", UNTRACED },
	{ "trap/trap_exit", "vector,user_mode", UNTRACED },
	{ "pagefault/pagefault_entry", "user_mode", "" },
	{ "pagefault/pagefault_exit", "signo,si_code,user_mode:vals=outcome", "" },
};

static void watch_begin(void)
{
	static char path[128];
	char file[64];

	snprintf(path, sizeof(path), TRACING "/instances/" NAME ".%d.watch", main_pid);
	if (mkdir(path, 0755))
		ksft_exit_fail_msg("mkdir %s: %s\n", path, strerror(errno));
	watch = path;
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		snprintf(file, sizeof(file), "events/%s/trigger", watched[i].event);
		must(put(watch, file, "hist:keys=%s if COMM == \"" NAME "\"%s", watched[i].keys,
			 watched[i].also), file);
	}
}

static void watch_end(void)
{
	if (!watch)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		remove_triggers(watch, watched[i].event);
	if (rmdir(watch))
		ksft_print_msg("rmdir %s: %s\n", watch, strerror(errno));
	watch = NULL;
}

#define BY_SIGNAL	"{ signo: %d, si_code: %d, user_mode: %u } hitcount: %lu outcome: %lu"

/*
 * Of the @i-th histogram, by vector or signal; false if it has lost some, or if
 * an outcome does not fit the signal
 */
static bool read_hist(size_t i, unsigned long counts[2][VECTORS])
{
	unsigned long n, outcomes, dropped = 0;
	unsigned int key, user;
	char file[64], *text;
	int signo, si_code;
	bool whole;

	memset(counts, 0, 2 * VECTORS * sizeof(**counts));
	snprintf(file, sizeof(file), "events/%s/hist", watched[i].event);
	text = get(watch, file);
	whole = text && strstr(text, "Dropped: ") &&
		sscanf(strstr(text, "Dropped: "), "Dropped: %lu", &dropped) == 1 && !dropped;
	for (char *at = text; at && (at = strstr(at, "{ ")); at++) {
		key = 0;
		if (sscanf(at, BY_SIGNAL, &signo, &si_code, &user, &n, &outcomes) == 5) {
			key = fault_signal(signo, si_code);
			whole &= !signo || outcomes == n * OUTCOME_SIGNAL;
		} else if (sscanf(at, "{ vector: %u, user_mode: %u } hitcount: %lu",
				  &key, &user, &n) != 3 &&
			   sscanf(at, "{ user_mode: %u } hitcount: %lu", &user, &n) != 2) {
			continue;
		}
		if (key < VECTORS && user < 2)
			counts[user][key] += n;
	}
	free(text);
	return whole;
}

static unsigned long all_raised(bool user, unsigned int vector)
{
	unsigned long sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += shared->threads[i].raised[user][vector];
	return sum;
}

static unsigned long all_signals(size_t signal)
{
	unsigned long sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += shared->threads[i].signals[signal];
	return sum;
}

/* Others, like kprobes, uprobes and the monitor, raise these as well */
static bool raised_by_others(unsigned int vector)
{
	return vector == DB || vector == NMI || vector == BP;
}

/* These have no trap events, and page faults have events of their own */
static bool untraced(unsigned int vector)
{
	return vector == PF || vector == MC;
}

/* The numbers at the begin of the round, to be taken off */
static unsigned long raised_before[2][VECTORS], signals_before[FAULT_SIGNALS];
static unsigned long suppressed_before;

static void remember_raised(void)
{
	for (unsigned int vector = 0; vector < VECTORS; vector++)
		for (int user = 0; user < 2; user++)
			raised_before[user][vector] = all_raised(user, vector);
	for (size_t i = 0; i < FAULT_SIGNALS; i++)
		signals_before[i] = all_signals(i);
	suppressed_before = suppressed();
	shared->tracer_probed = false;
}

/*
 * Whether each entry has its exit. What comes while a kprobe is handled inside another
 * one, as it is on the tracer, is suppressed: a #BP of kernel mode may have one
 * of them only
 */
static bool paired(unsigned long entries, unsigned long exits, bool of_kprobe)
{
	unsigned long alone = entries > exits ? entries - exits : exits - entries;

	if (!alone)
		return true;
	if (!of_kprobe || !shared->tracer_probed || alone > suppressed() - suppressed_before)
		return false;
	ksft_print_msg("kprobes: %lu entries, %lu exits\n", entries, exits);
	return true;
}

/* All that the histograms say of the round that was; how many traps they agree on */
static bool watch_agrees(unsigned long *agreed)
{
	unsigned long counts[ARRAY_SIZE(watched)][2][VECTORS], signals = 0;
	bool good = true;

	for (size_t i = 0; i < FAULT_SIGNALS; i++)
		signals += all_signals(i) - signals_before[i];
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		if (read_hist(i, counts[i]))
			continue;
		ksft_print_msg("the histogram of %s is not whole\n", watched[i].event);
		good = false;
	}
	for (unsigned int vector = 0; vector < VECTORS; vector++) {
		for (int user = 0; user < 2; user++) {
			unsigned long raised = untraced(vector) ? 0 : all_raised(user, vector) -
					       raised_before[user][vector];
			unsigned long entry = counts[0][user][vector];
			unsigned long exit = counts[1][user][vector];

			if (paired(entry, exit, !user && vector == BP) &&
			    (raised_by_others(vector) ? entry >= raised : entry == raised)) {
				*agreed += exit;
				continue;
			}
			ksft_print_msg("vector %u of %s mode: %lu raised, %lu entries, %lu exits\n",
				       vector, user ? "user" : "kernel", raised, entry, exit);
			good = false;
		}
	}
	for (int user = 0; user < 2; user++) {
		unsigned long entries = counts[2][user][0], exits = 0;
		/* Some pages are there already when they are touched */
		unsigned long least = user ? signals : all_raised(0, PF) - raised_before[0][PF];

		for (unsigned int i = 0; i < VECTORS; i++)
			exits += counts[3][user][i];
		if (entries == exits && entries >= least) {
			*agreed += exits;
			continue;
		}
		ksft_print_msg("page faults of %s mode: %lu at least, %lu entries, %lu exits\n",
			       user ? "user" : "kernel", least, entries, exits);
		good = false;
	}
	for (size_t i = 0; i < FAULT_SIGNALS; i++) {
		unsigned long raised = all_signals(i) - signals_before[i];
		unsigned long exits = counts[3][0][i] + counts[3][1][i];

		if (exits == raised)
			continue;
		ksft_print_msg("signal %d, code %d: %lu raised, %lu exits\n",
			       fault_signals[i].signo, fault_signals[i].si_code, raised, exits);
		good = false;
	}
	return good;
}

/*
 * A number of traps that is known, on all CPUs, with all as it was
 */
static bool counts_exactly(void)
{
	int entries = 0, exits = 0, signals = 0, others = 0;
	char filter[64];
	struct event e;
	FILE *f;
	const struct user_trap *t;

	t = find_user_trap(UD);
	snprintf(filter, sizeof(filter), "common_pid == %d && vector == %u", getpid(), UD);
	trace_on(check_instance, filter);
	for (int i = 0; i < CHECK_TRAPS; i++) {
		if (i * cpus() / CHECK_TRAPS != (i - 1) * cpus() / CHECK_TRAPS || !i)
			pin(i * cpus() / CHECK_TRAPS);
		signals += raise_user_trap(t, NULL) == 1;
	}
	/* The threads of the next round inherit it */
	sched_setaffinity(0, sizeof(allowed), &allowed);
	trace_off(check_instance);
	f = open_trace(check_instance, -1);
	while (next_event(f, &e)) {
		if (e.vector == UD && e.user)
			++*(e.exit ? &exits : &entries);
		else
			others++;
	}
	fclose(f);
	if (signals == CHECK_TRAPS && entries == CHECK_TRAPS && exits == CHECK_TRAPS && !others)
		return true;
	ksft_print_msg("%d #UD: %d signals, %d entries, %d exits, %d others\n", CHECK_TRAPS,
		       signals, entries, exits, others);
	return false;
}

/* A #DE at each event of some #UD is seen by nobody, and counted twice each */
static bool guards(unsigned long *counted)
{
	int nested = 0, entries = 0, fd;
	unsigned long before;
	char filter[64];
	struct event e;
	FILE *f;
	const struct user_trap *t;

	t = find_user_trap(UD);
	fd = open(PROBE_FILE, O_WRONLY);
	must(fd < 0 ? -errno : 0, PROBE_FILE);
	snprintf(filter, sizeof(filter), "common_pid == %d", getpid());
	before = suppressed();
	trace_on(check_instance, filter);
	must(write(fd, "0", 1) == 1 ? 0 : -errno, PROBE_FILE);
	for (int i = 0; i < PROBED_TRAPS; i++)
		raise_user_trap(t, NULL);
	close(fd);
	trace_off(check_instance);
	*counted = suppressed() - before;
	f = open_trace(check_instance, -1);
	while (next_event(f, &e)) {
		nested += e.vector == DE || untraced(e.vector);
		entries += e.vector == UD && e.user && !e.exit;
	}
	fclose(f);
	if (!nested && entries == PROBED_TRAPS && *counted >= 4 * PROBED_TRAPS)
		return true;
	ksft_print_msg("%d traps with a probe: %d entries, %d nested, %lu suppressed\n",
		       PROBED_TRAPS, entries, nested, *counted);
	return false;
}

/*
 * The process that starts the rounds, and sees what came of them
 */
static void tell_last(bool all)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &shared->threads[i];

		if (!all && !t->failures)
			continue;
		for (unsigned long long n = t->begun > LAST ? t->begun - LAST + 1 : 1;
		     n <= t->begun; n++)
			ksft_print_msg("thread %d, operation %llu: %s\n", i, n, t->last[n % LAST]);
	}
}

/* So many operations of a raiser as what was done here are a part of */
static unsigned long long operations_to_replay(void)
{
	unsigned long long most = 0;

	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &shared->threads[i];
		unsigned long long n = t->begun * (t->role == RAISER ? 1 : t->role == SWITCHER ?
						   SWITCHERS_DO : OUTSIDE_DOES);

		if (n > most)
			most = n;
	}
	return most;
}

static unsigned long long all_begun(void)
{
	unsigned long long sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += __atomic_load_n(&shared->threads[i].begun, __ATOMIC_RELAXED);
	return sum;
}

/* oopsed - Whether the kernel has lost a task: what it held then hangs others */
static bool oopsed(void)
{
	char *text = get("/proc/sys/kernel", "tainted");
	bool died = text && atol(text) & TAINT_DIE;

	free(text);
	return died;
}

static int interrupted;
static bool oopsed_before;
static pid_t fuzzing;

static void tell_digest(void)
{
	unsigned long long digest = 0;

	for (int i = 0; i < THREADS; i++)
		digest = mix(digest ^ shared->threads[i].digest);
	ksft_print_msg("seed 0x%llx, %llu operations, digest 0x%016llx\n", seed, all_begun(),
		       digest);
}

/* No cleaning up, which would hang */
static void end_early(const char *why)
{
	tell_digest();
	printf("Bail out! %s\n", why);
	fflush(stdout);
	_exit(KSFT_FAIL);
}

/* What ends the program, when all is undone */
static void set_of_ends(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
}

/* Wait for the process of a round, and end it in time: whether it ended well */
static bool end_of_round(double end)
{
	unsigned long long begun[THREADS] = { 0 };
	struct timespec second = { .tv_sec = 1 };
	double since[THREADS];
	int signal, status;
	sigset_t set;

	set_of_ends(&set);
	sigaddset(&set, SIGCHLD);
	for (int i = 0; i < THREADS; i++)
		since[i] = seconds();
	for (;;) {
		if (waitpid(fuzzing, &status, WNOHANG) == fuzzing)
			break;
		signal = sigtimedwait(&set, NULL, &second);
		if (signal > 0 && signal != SIGCHLD)
			interrupted = signal;
		if (interrupted || seconds() > end)
			__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
		for (int i = 0; i < THREADS; i++) {
			const struct thread *t = &shared->threads[i];

			if (t->begun != begun[i] || (t->begun >= t->limit && !stopped()))
				since[i] = seconds();
			begun[i] = t->begun;
			if (seconds() - since[i] < HANG_SECONDS)
				continue;
			ksft_print_msg("thread %d hangs\n", i);
			tell_last(true);
			kill(fuzzing, SIGKILL);
			for (int wait = 0; wait < HANG_SECONDS; wait++) {
				if (waitpid(fuzzing, &status, WNOHANG) == fuzzing)
					return false;
				sleep(1);
			}
			end_early("a thread hangs, and cannot be killed");
		}
		if (!oopsed_before && oopsed()) {
			tell_last(true);
			end_early("the kernel has oopsed");
		}
	}
	if (!status)
		return true;
	ksft_print_msg("the process of the round ended: 0x%x\n", status);
	tell_last(true);
	return false;
}

static void tell_console(const char *what, unsigned long long n)
{
	put("/dev", "kmsg", NAME ": seed 0x%llx, %s %llu\n", seed, what, n);
}

static void clean_up(void)
{
	if (getpid() != main_pid)
		return;
	if (fuzzing)
		kill(fuzzing, SIGKILL);
	watch_end();
	switch_all_off();
}

static void tell_operations(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		unsigned long done = 0, refused = 0;
		double took = 0;

		for (int j = 0; j < THREADS; j++) {
			done += shared->threads[j].done[i];
			refused += shared->threads[j].refused[i];
			took += shared->threads[j].seconds[i];
		}
		ksft_print_msg("%lu times %s, %lu refused, %.1f s\n", done, operations[i].name,
			       refused, took);
	}
}

static void usage_error(const char *what, const char *arg)
{
	fprintf(stderr, "error: %s '%s': trap_fuzz [-s SEED] [-d SECONDS | -n OPERATIONS] [-v]\n",
		what, arg);
	exit(KSFT_FAIL);
}

static unsigned long long parse_number(const char *text, unsigned long long most)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (!isdigit(*text) || *end || errno || n > most)
		usage_error("not a number, or out of range,", text);
	return n;
}

static void parse_options(int argc, char **argv, unsigned long long *limit, double *duration)
{
	bool have_seed = false, have_duration = false, have_limit = false;
	char option[3] = "-";
	int c;

	opterr = 0;
	while ((c = getopt(argc, argv, ":s:d:n:v")) != -1) {
		option[1] = optopt;
		switch (c) {
		case 's':
			seed = parse_number(optarg, -1ULL);
			have_seed = true;
			break;
		case 'd':
			*duration = parse_number(optarg, 7 * 24 * 3600);
			have_duration = true;
			break;
		case 'n':
			*limit = parse_number(optarg, 1ULL << 40);
			have_limit = true;
			break;
		case 'v':
			verbose = true;
			break;
		case ':':
			usage_error("a value is missing after", option);
			break;
		default:
			usage_error("no such option", option);
		}
	}
	if (optind < argc)
		usage_error("no such argument", argv[optind]);
	if (have_duration && have_limit)
		usage_error("-d and -n exclude each other, as in", "-d 1 -n 1");
	if (have_duration && !*duration)
		usage_error("too short", "-d 0");
	if (have_limit && !*limit)
		usage_error("too few", "-n 0");
	if (!have_seed && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		usage_error("no random seed, give one", "-s");
	if (*limit)
		*duration = 1e9;
}

static void set_up(unsigned long long limit)
{
	struct utsname uts;
	sigset_t set;

	/* For this process to take in turn, and for nobody else */
	set_of_ends(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);

	if (ARRAY_SIZE(operations) > OPERATIONS)
		ksft_exit_fail_msg("no room to count all operations\n");
	page_size = sysconf(_SC_PAGESIZE);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	main_pid = getpid();
	prctl(PR_SET_NAME, NAME "_main");
	set_up_user_traps();
#ifdef __x86_64__
	set_up_bound();
#endif
	kernel_text = kernel_symbol("_stext");
	tracer_function = kernel_symbol("trace_event_buffer_lock_reserve");
	have_nx = !uname(&uts) && !strcmp(uts.machine, "x86_64");
	find_probed();
	find_vsyscall();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &shared->threads[i];

		t->number = i;
		t->role = i < RAISERS ? RAISER : i < RAISERS + SWITCHERS ? SWITCHER : OUTSIDE;
		t->digest = i;
		t->limit = !limit ? -1ULL : t->role == RAISER ? limit : t->role == SWITCHER ?
			   (limit + SWITCHERS_DO - 1) / SWITCHERS_DO :
			   (limit + OUTSIDE_DOES - 1) / OUTSIDE_DOES;
	}
}

static bool all_at_limit(void)
{
	for (int i = 0; i < THREADS; i++)
		if (shared->threads[i].begun < shared->threads[i].limit)
			return false;
	return true;
}

#define EVENTS_AS_TRAPS		"as many events as traps, while all is switched"
#define PROBE_SUPPRESSED	"a trap of a probe is suppressed, and counted"

int main(int argc, char **argv)
{
	bool went_on = true, agrees = true, restored = true, exact = true, guarded = true;
	bool have_probe;
	unsigned long long limit = 0, rounds = 0, failures = 0, watched_rounds = 0;
	unsigned long agreed = 0, counted = 0;
	double duration = SECONDS, end;
	char *before, *after;

	parse_options(argc, argv, &limit, &duration);
	start("pagefault/pagefault_exit");
	start_monitor();
	if (access(TRACING "/events/pagefault/pagefault_exit", F_OK))
		ksft_exit_skip("no pagefault events in " TRACING "\n");
	if (access(SUPPRESSED, R_OK))
		ksft_exit_skip("no " SUPPRESSED "\n");
	set_up(limit);
	have_probe = !access(PROBE_FILE, W_OK);
	ksft_set_plan(6);
	ksft_print_msg("seed 0x%llx\n", seed);

	/* The first event makes the buffers as large as they then stay */
	check_instance = make_instance("check");
	put(TRACING, "events/trap/enable", "1");
	put(TRACING, "events/trap/enable", "0");
	before = state();
	oopsed_before = oopsed();
	atexit(clean_up);
	end = seconds() + duration;
	while (went_on && !interrupted && seconds() < end && !all_at_limit()) {
		double round_end = seconds() + ROUND_SECONDS;

		tell_console("round", ++rounds);
		change_settings();
		remember_raised();
		if (rounds & 1) {
			watch_begin();
			watched_rounds++;
		}
		shared->stop = false;
		fuzzing = must_fork();
		if (!fuzzing)
			run_round();
		went_on = end_of_round(round_end < end ? round_end : end);
		fuzzing = 0;
		/* Who was ended in the middle of a trap has not counted it */
		if (watch && went_on)
			agrees &= watch_agrees(&agreed);
		watch_end();
		switch_all_off();
		/* Kprobes go in the background */
		after = state();
		for (int i = 0; i < 50 && !same_state(before, after, false); i++) {
			usleep(100000);
			free(after);
			after = state();
		}
		restored &= same_state(before, after, true);
		free(after);
		exact &= counts_exactly();
		guarded &= !have_probe || guards(&counted);
	}
	tell_console("rounds of which all ended:", rounds);
	if (interrupted)
		ksft_print_msg("ended by %s\n", strsignal(interrupted));
	for (int i = 0; i < THREADS; i++) {
		if (shared->threads[i].failures)
			ksft_print_msg("thread %d, %lu failures, the first in %s\n", i,
				       shared->threads[i].failures, shared->threads[i].failure);
		failures += shared->threads[i].failures;
	}
	if (failures)
		tell_last(false);
	tell_operations();
	tell_digest();
	ksft_print_msg("to do the same again: -s 0x%llx -n %llu\n", seed,
		       limit ? limit : operations_to_replay());
	ksft_print_msg("%llu rounds, %llu of them watched: %lu traps; %lu events suppressed\n",
		       rounds, watched_rounds, agreed, counted);

	ksft_test_result(went_on, "all threads go on to the end\n");
	ksft_test_result(!failures, "each trap led to what it must\n");
	if (agreed || !agrees || went_on)
		ksft_test_result(agrees && agreed, EVENTS_AS_TRAPS "\n");
	else
		ksft_test_result_skip(EVENTS_AS_TRAPS ": no round ended\n");
	ksft_test_result(restored, "with all switched off, tracing is as it was before\n");
	ksft_test_result(exact, "1000 #UD of user mode are 1000 entries and 1000 exits\n");
	if (have_probe)
		ksft_test_result(guarded, PROBE_SUPPRESSED "\n");
	else
		ksft_test_result_skip(PROBE_SUPPRESSED ": " NO_TRAP_TEST "\n");
	ksft_finished();
}
