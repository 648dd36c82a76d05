// SPDX-License-Identifier: GPL-2.0
/* trap_fuzz: the raisers */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/userfaultfd.h>

#include "trap_fuzz.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif
#ifndef SEGV_PKUERR
#define SEGV_PKUERR		4
#endif

/* Limits for what costs something: a warning on the console, a page */
#define MAX_WARNINGS	8
#define MAX_POISON	24

#define HUGE_SIZE	(4UL << 20)

int uffd = -1, file = -1;
char *shared_pages;
__u64 kernel_text, tracer_function;
/* Nothing changes what functions there are for a tracer while one is on */
pthread_mutex_t tracer_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t probe_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;

const struct fault_signal fault_signals[FAULT_SIGNALS] = {
	{ SIGBUS, BUS_ADRERR }, { SIGSEGV, SEGV_MAPERR }, { SIGSEGV, SEGV_ACCERR },
	{ SIGSEGV, SEGV_PKUERR },
};

/* Its index, or FAULT_SIGNALS if it is of no page fault */
size_t fault_signal(int signo, int si_code)
{
	size_t i = 0;

	while (i < FAULT_SIGNALS && (signo != fault_signals[i].signo ||
				     si_code != fault_signals[i].si_code))
		i++;
	return i;
}

/* Raise a trap, and count its signal: how many, or as a negative number which */
static int raise_and_count(struct thread *me, const struct user_trap *t, void *arg)
{
	int n = raise_user_trap(t, arg);
	size_t i = fault_signal(trap_info.si_signo, trap_info.si_code);

	if (n == 1 && t->vector == PF && i < FAULT_SIGNALS)
		me->signals[i]++;
	return n;
}

/*
 * Raise a trap: 0 if it had the expected signal, or none if none is expected;
 * -EOPNOTSUPP if this CPU does not raise it; else report a failure
 */
static int raise_one(struct thread *me, const struct user_trap *t, void *arg)
{
	int n = raise_and_count(me, t, arg);

	if (!n && t->optional)
		return -EOPNOTSUPP;
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

static int raise_some(struct thread *me, const struct user_trap *t, void *arg, unsigned int times)
{
	int ret = 0;

	while (times-- && !ret)
		ret = raise_one(me, t, arg);
	return ret;
}

/* once_more - Count one more, and say whether that is within the limit */
static bool once_more(unsigned long *count, unsigned long limit)
{
	return __atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < limit;
}

static int raise_user(struct thread *me)
{
	const unsigned int n = draw(me, nr_user_traps + 1), times = 1 + draw(me, MAX_PAGES);
#ifdef __x86_64__
	const struct user_trap *t = n < nr_user_traps ? &user_traps[n] : &bound_trap;
#else
	const struct user_trap *t = n < nr_user_traps ? &user_traps[n] : find_user_trap(BP);
#endif
	unsigned long watched = 0;
	int watch = -1, ret;
	char *page;

	note(me, "raise user %s, %s, %u times", t->name, t->what, times);
	if (cannot_raise(t))
		return -EOPNOTSUPP;
	if (t->argument == WATCHED) {
		watch = breakpoint((unsigned long)&watched, false);
		if (watch < 0)
			return -errno;
	}
	page = new_pages(page_size);
	*page = 1;
	ret = raise_some(me, t, t->argument == OLD_PAGE ? page :
			 t->argument == WATCHED ? (void *)&watched : NULL, times);
	munmap(page, page_size);
	if (watch >= 0)
		close(watch);
	return ret;
}

/* A stack walk faults there */
static int raise_in_frame(struct thread *me)
{
	static const struct user_trap bp = {
		BP, 0, "#BP", "int3", raise_bp_in_frame, SIGTRAP
	};
	const unsigned int times = 1 + draw(me, MAX_PAGES);
	char *page;
	int ret;

	note(me, "raise user #BP with a frame that is not there, %u times", times);
	page = new_pages(page_size);
	ret = raise_some(me, &bp, page, times);
	munmap(page, page_size);
	return ret;
}

/* The same many times, as fast as it goes */
static int raise_burst(struct thread *me)
{
	static const unsigned int vectors[] = { 0, 3, 6, 13 };
	const unsigned int vector = vectors[draw(me, ARRAY_SIZE(vectors))];
	const unsigned int times = 10 + draw(me, 50);

	note(me, "raise user vector %u, %u times", vector, times);
	return raise_some(me, find_user_trap(vector), NULL, times);
}

static const struct access {
	const char *what;
	enum memory {
		ANONYMOUS, ZERO_PAGE, READ_ONLY, NO_ACCESS, NOT_EXECUTABLE, UNMAPPED, GUARD,
		KERNEL, PROTECTION_KEY, SHARED_FILE, PRIVATE_FILE, DISK_FILE, BEYOND_END,
		SHARED_MEMORY, HUGE, THP, HELD,
	} memory;
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

/* Turn a mapping into what @memory says; false if this cannot be done */
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
		return kernel_of_64_bit();
	case GUARD:
		return !madvise(p, size, MADV_GUARD_INSTALL);
	case PROTECTION_KEY:
		memset(p, 1, size);
		*pkey = syscall(SYS_pkey_alloc, 0, 1 /* PKEY_DISABLE_ACCESS */);
		return *pkey >= 0 && !syscall(SYS_pkey_mprotect, p, size,
					      PROT_READ | PROT_WRITE, *pkey);
	case THP:
		return !madvise(p, size, MADV_HUGEPAGE);
	case HELD:
		return uffd >= 0 && !ioctl(uffd, UFFDIO_REGISTER, &reg);
	default:
		return true;
	}
}

static char *map_memory(enum memory memory, size_t size, int *pkey)
{
	const bool of_file = memory >= SHARED_FILE && memory <= BEYOND_END;
	const int flags = (memory == SHARED_FILE || memory == SHARED_MEMORY ? MAP_SHARED :
			   MAP_PRIVATE) | (of_file ? 0 : MAP_ANONYMOUS) |
			  (memory == HUGE ? MAP_HUGETLB : 0);
	char *p;

	/* Addresses that we cannot map: below mmap_min_addr, or of the kernel */
	if (memory == UNMAPPED)
		return (char *)16;
	if (memory == KERNEL)
		return kernel_text == (uintptr_t)kernel_text ? (char *)(uintptr_t)kernel_text :
		       NULL;
	if (memory == DISK_FILE) {
		fsync(file);
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, of_file ? file : -1,
		 memory == BEYOND_END ? MAX_PAGES * page_size : 0);
	if (p == MAP_FAILED)
		return NULL;
	if (memory != HUGE)
		madvise(p, size, MADV_NOHUGEPAGE);
	if (prepare_memory(memory, p, size, pkey))
		return p;
	munmap(p, size);
	return NULL;
}

static int raise_access(struct thread *me)
{
	const struct access *a = &accesses[draw(me, ARRAY_SIZE(accesses))];
	const unsigned int times = 1 + draw(me, MAX_PAGES);
	const size_t size = a->memory == HUGE || a->memory == THP ? HUGE_SIZE :
			    MAX_PAGES * (size_t)page_size;
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
	if (!uname((struct utsname *)(bad ? (char *)16 : pages)) == bad)
		wrong(me, "uname(): %s", strerror(errno));
	munmap(pages, 2 * page_size);
	return 0;
}

static int without_trap(struct thread *me)
{
	const bool bad = draw(me, 2);
	struct iovec remote, local;
	char byte, *page;
	ssize_t n;

	note(me, "process_vm_readv() of %s page", bad ? "no" : "a new");
	page = new_pages(page_size);
	local = (struct iovec){ &byte, 1 };
	remote = (struct iovec){ bad ? (char *)16 : page, 1 };
	n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	if (n != (bad ? -1 : 1))
		wrong(me, "%zd: %s", n, strerror(errno));
	munmap(page, page_size);
	return 0;
}

/* By the module; -ENOENT without it */
static int raise_by_module(struct thread *me, unsigned int vector, unsigned int times)
{
	int ret = 0;

	while (times-- && !ret) {
		ret = raise_in_kernel(vector);
		me->raised[0][vector] += !ret;
		if (ret && ret != -ENOENT)
			wrong(me, "vector %u: %s", vector, strerror(-ret));
	}
	return ret;
}

static int raise_kernel(struct thread *me)
{
	static const unsigned int vectors[] = {
		0, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19
	};
	const unsigned int vector = vectors[draw(me, ARRAY_SIZE(vectors))];
	const unsigned int times = 1 + draw(me, 8);

	note(me, "raise kernel vector %u, %u times", vector, times);
	return raise_by_module(me, vector, times);
}

static int raise_warning(struct thread *me)
{
	const unsigned int vector = draw(me, 2) ? CP : NM;

	note(me, "raise kernel vector %u, which warns", vector);
	if (warnings_panic() || !once_more(&shared->warnings, MAX_WARNINGS))
		return -EPERM;
	return raise_by_module(me, vector, 1);
}

static int raise_kernel_fault(struct thread *me)
{
	const char *what = draw(me, 2) ? "spurious" : "vmalloc";
	int ret;

	note(me, "page fault in the kernel: %s", what);
	ret = put("/sys/kernel/debug/x86_trap_test", "fault", "%s", what);
	if (ret && ret != -ENOENT && ret != -EOPNOTSUPP)
		wrong(me, "%s: %s", what, strerror(-ret));
	return ret;
}

/*
 * A probe that raises traps itself: the histograms show that none of them is
 * traced. Those that it raises within an NMI are traced, and not counted here.
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

	note(me, "a probe that does '%s', in %u traps", probe, times);
	fd = open(PROBE_FILE, O_WRONLY);
	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&probe_mutex);
	if (write(fd, probe, strlen(probe)) != (ssize_t)strlen(probe))
		wrong(me, "probe: %s", strerror(errno));
	raise_some(me, find_user_trap(UD), NULL, times);
	/* A child of another thread may have the file open for longer */
	if (write(fd, "off", 3) != 3)
		wrong(me, "probe off: %s", strerror(errno));
	close(fd);
	pthread_mutex_unlock(&probe_mutex);
	return 0;
}

/*
 * Fork a child that shares a page with us, and kill it after @kill_us, if that is not 0:
 * whether it ended as it must. Not while allocations fail in another thread: see no_memory()
 */
static int fork_and(struct thread *me, void (*child)(char *page), unsigned int kill_us,
		    int expected)
{
	char *page = new_pages(page_size);
	int status = 0;
	pid_t pid;

	*page = 1;
	pthread_mutex_lock(&fork_mutex);
	pid = must_fork();
	pthread_mutex_unlock(&fork_mutex);
	if (!pid)
		child(page);
	*page = 3;
	if (kill_us) {
		usleep(kill_us);
		kill(pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	if (*page != 3 || (status != expected && status != W_EXITCODE(KSFT_SKIP, 0)))
		wrong(me, "status 0x%x, %d in the page", status, *page);
	munmap(page, page_size);
	return status == W_EXITCODE(KSFT_SKIP, 0) ? -EOPNOTSUPP : 0;
}

/* Copy-on-write of both */
static void write_and_exit(char *page)
{
	bool good = *page == 1;

	*page = 2;
	_exit(good && *page == 2 ? 0 : 1);
}

static int fork_and_write(struct thread *me)
{
	note(me, "copy-on-write after fork()");
	return fork_and(me, write_and_exit, 0, 0);
}

static void wait_in_fault(char *page)
{
	page = new_pages(page_size);
	if (wait_for_pages(page, page_size) < 0)
		_exit(KSFT_SKIP);
	*page = 1;
	_exit(1);
}

static int fork_and_kill(struct thread *me)
{
	const unsigned int wait_us = 1 + draw(me, 30000);

	note(me, "kill a child in a page fault after %u us", wait_us);
	return fork_and(me, wait_in_fault, wait_us, SIGKILL);
}

static void on_poison(int signal)
{
	_exit(signal);
}

/* The kernel sends SIGBUS at once, or at the next access */
static void poison_and_read(char *page)
{
	struct sigaction sa = { .sa_handler = on_poison };

	*page = 1;
	sigaction(SIGBUS, &sa, NULL);
	if (madvise(page, page_size, MADV_HWPOISON))
		_exit(KSFT_SKIP);
	asm volatile("" : : "r" (*page));
	_exit(1);
}

static int poison_page(struct thread *me)
{
	note(me, "hardware poison");
	if (!once_more(&shared->poisoned, MAX_POISON))
		return -EPERM;
	return fork_and(me, poison_and_read, 0, W_EXITCODE(SIGBUS, 0));
}

/*
 * The allocator fails a few times for this thread, and the access still
 * succeeds. An access of the kernel to the stack, or to the rseq area in the
 * thread's control block, would end in SIGSEGV. So these pages must not be
 * copy-on-write.
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
	ret = madvise((void *)(stack - 4 * page_size), 5 * page_size, MADV_POPULATE_WRITE) ?
	      -errno : 0;
	if (!ret)
		ret = put("/proc/thread-self", "make-it-fail", "1");
	if (!ret)
		ret = put(FAIL_PAGE_ALLOC, "times", "%u", times);
	if (!ret)
		ret = put(FAIL_PAGE_ALLOC, "probability", "100");
	if (!ret)
		raise_one(me, &write, page);
	/* One of these writes may fail itself: repeat them */
	for (unsigned int i = 0; i < 2 * times; i++) {
		put(FAIL_PAGE_ALLOC, "probability", "0");
		put("/proc/thread-self", "make-it-fail", "0");
	}
	pthread_mutex_unlock(&fork_mutex);
	munmap(page, page_size);
	return ret;
}

/* Pages that all threads access while others change their protection */
static int access_shared(struct thread *me)
{
	const bool write = draw(me, 2);
	const unsigned int page = draw(me, SHARED_PAGES), times = 1 + draw(me, SHARED_PAGES);
	/* A signal of a page fault, or none */
	const struct user_trap t = {
		.vector = PF, .raise = write ? raise_write : raise_read, .signal = SIGSEGV,
	};

	note(me, "%s shared pages from %u, %u times", write ? "write" : "read", page, times);
	for (unsigned int i = page; i < page + times; i++) {
		int n = raise_and_count(me, &t, shared_pages + i % SHARED_PAGES * page_size);

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
	int ret;

	note(me, "%s for %u shared pages from %u", changes[change].name, n, page);
	ret = changes[change].prot >= 0 ?
	      mprotect(shared_pages + page * page_size, n * page_size, changes[change].prot) :
	      madvise(shared_pages + page * page_size, n * page_size, changes[change].advice);
	return ret ? -errno : 0;
}

/*
 * A function for uprobes: they emulate one instruction, and execute another
 * elsewhere, in single step. It returns its argument plus one.
 */
#ifdef __x86_64__
asm(".pushsection .text; .globl probed; probed: nop; lea 1(%rdi), %rax; ret; .popsection");
#else
asm(".pushsection .text; .globl probed; probed: nop; mov 4(%esp),%eax; inc %eax; ret; .popsection");
#endif

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
	struct timespec now[2] = { 0 };
	char *maps = get("/proc/self", "maps");
	bool have = maps && strstr(maps, "[vsyscall]");

	free(maps);
	if (have) {
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

	note(me, "a breakpoint in the tracer, in %u traps", times);
	fd = tracer_function ? breakpoint(tracer_function, true) : -1;
	if (fd < 0)
		return -EOPNOTSUPP;
	raise_some(me, find_user_trap(UD), NULL, times);
	close(fd);
	return 0;
}

const struct operation raisers[OPERATIONS] = {
	{ 40, "raise_user", raise_user },
	{ 10, "raise_in_frame", raise_in_frame },
	{ 10, "raise_burst", raise_burst },
	{ 40, "raise_access", raise_access },
	{ 10, "raise_in_syscall", raise_in_syscall },
	{ 5, "without_trap", without_trap },
	{ 30, "raise_kernel", raise_kernel },
	{ 2, "raise_warning", raise_warning },
	{ 5, "raise_kernel_fault", raise_kernel_fault },
	{ 3, "raise_in_probe", raise_in_probe },
	{ 2, "fork_and_write", fork_and_write },
	{ 2, "fork_and_kill", fork_and_kill },
	{ 2, "poison_page", poison_page },
	{ 3, "no_memory", no_memory },
	{ 10, "access_shared", access_shared },
	{ 10, "change_shared", change_shared },
	{ 10, "run_probed", run_probed },
	{ 2, "run_vsyscall", run_vsyscall },
	{ 5, "break_in_tracer", break_in_tracer },
};
