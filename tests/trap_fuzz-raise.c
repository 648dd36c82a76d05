// SPDX-License-Identifier: GPL-2.0
/*
 * trap_fuzz: the raisers, each of which returns 0, or a negative error if this machine
 * cannot do it
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
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

int uffd = -1, file = -1;
char *shared_pages;
char exe[128];
unsigned long probed_at;
__u64 tracer_function;
bool have_nx, have_vsyscall;
static pthread_mutex_t probe_mutex = PTHREAD_MUTEX_INITIALIZER;
/* Nothing changes what functions there are for a tracer while one is on */
pthread_mutex_t tracer_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Its index, or FAULT_SIGNALS if it is of no page fault */
size_t fault_signal(int signo, int si_code)
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
 * Raise a trap: 0 if it had the expected signal, or none if none is expected;
 * -EOPNOTSUPP if this CPU does not raise it; else report a failure
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

int raise_user(struct thread *me)
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

/* A stack walk faults there */
int raise_in_frame(struct thread *me)
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
int raise_burst(struct thread *me)
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

/* An address that we cannot map: of the kernel, or below mmap_min_addr */
static char *not_ours(enum memory memory)
{
	if (memory == UNMAPPED)
		return (char *)16;
	return kernel_text == (unsigned long)kernel_text ?
	       (char *)(unsigned long)kernel_text : NULL;
}

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

int raise_access(struct thread *me)
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
int raise_in_syscall(struct thread *me)
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

int without_trap(struct thread *me)
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

/* Vectors that the module raises in kernel mode */
int raise_kernel(struct thread *me)
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

int raise_warning(struct thread *me)
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

int raise_kernel_fault(struct thread *me)
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
 * A probe that raises traps itself: the histograms show that none of them is
 * traced. Those that it raises within an NMI are traced, and not counted here.
 */
int raise_in_probe(struct thread *me)
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
int fork_and_write(struct thread *me)
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

int fork_and_kill(struct thread *me)
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

/* The kernel sends SIGBUS at once, or at the next access */
int poison_page(struct thread *me)
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
 * The allocator fails a few times for this thread, and the access still
 * succeeds. An access of the kernel to the stack, or to the rseq area in the
 * thread's control block, would end in SIGSEGV. So these pages must not be
 * copy-on-write.
 */
int no_memory(struct thread *me)
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
int access_shared(struct thread *me)
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

int change_shared(struct thread *me)
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
 * A function for uprobes: they emulate one instruction, and execute another
 * elsewhere, in single step. It returns its argument plus one.
 */
#ifdef __x86_64__
asm(".pushsection .text; .globl probed; probed: nop; lea 1(%rdi), %rax; ret; .popsection");
#else
asm(".pushsection .text; .globl probed; probed: nop; mov 4(%esp),%eax; inc %eax; ret; .popsection");
#endif

int run_probed(struct thread *me)
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

int run_vsyscall(struct thread *me)
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
int break_in_tracer(struct thread *me)
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
