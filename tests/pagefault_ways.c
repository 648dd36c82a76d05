// SPDX-License-Identifier: GPL-2.0
/*
 * Test what the pagefault trace events say: bring about each way in which a page
 * fault can end, and compare the one record of it with what is known otherwise:
 * address, instruction, signal, what getrusage() counts, how long it was held.
 *
 * Those that need another CPU, or leave an oops on the console, are asked for by
 * name: errata93, prefetch, kfence, oops-survived, oops; see pagefault_test.c of
 * the module trap_test.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/magic.h>
#include <linux/userfaultfd.h>

#include "common.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif
#ifndef SEGV_PKUERR
#define SEGV_PKUERR		4
#endif
#ifndef BUS_MCEERR_AR
#define BUS_MCEERR_AR		4
#endif

/* Bits of the page fault error code, SDM volume 3, "Page-Fault Exceptions" */
#define PROT		0x1
#define WRITE		0x2
#define USER		0x4
#define INSTR		0x10
#define PK		0x20

/* enum pagefault_flags */
#define ANON		0x1
#define FILE_BACKED	0x2
#define SHMEM		0x4
#define HUGETLB		0x8
#define COW		0x10
#define RETRIED_VMA	0x40
#define RETRIED_MMAP	0x80

/* enum vm_fault_reason */
#define VM_FAULT_OOM		0x1
#define VM_FAULT_SIGBUS		0x2
#define VM_FAULT_HWPOISON	0x10
#define VM_FAULT_SIGSEGV	0x40
#define VM_FAULT_RETRY		0x400
#define VM_FAULT_DONE_COW	0x1000
#define VM_FAULT_COMPLETED	0x4000

#define FAULT_FLAG_REMOTE	0x80

#define HOLD_MS		200
#define OOMS		5

#ifdef __x86_64__
#define NOTE_IP	"lea 1f(%%rip), %[ip];"
#else
#define NOTE_IP	"movl $1f, %[ip];"
#endif

/* What its record says. The bits of an @either may differ */
struct expect {
	const char *outcome;
	unsigned int error_code;
	unsigned int flags, flags_either;
	unsigned int vm_fault, vm_fault_either;
	bool kernel;			/* the fault was in kernel mode */
	int signo, code;		/* the signal that it sent */
	bool elsewhere;			/* with another si_addr than the fault's */
	unsigned long long min_ns;
};

static const char *instance;
static long page_size;

/* Of the last access: its instruction, and the signal that it got */
static unsigned long access_ip;
static sigjmp_buf after_signal;
static siginfo_t got;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	got = *info;
	siglongjmp(after_signal, 1);
}

static void catch(int signo)
{
	struct sigaction sa = {
		.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	sigaction(signo, &sa, NULL);
}

/* One access, from one instruction; false if a signal came of it */
static bool read_at(const void *p)
{
	unsigned long ip;

	memset(&got, 0, sizeof(got));
	if (sigsetjmp(after_signal, 1))
		return false;
	asm volatile(NOTE_IP "mov %[ip], %[store]\n1: movb (%[p]), %%al"
		     : [ip] "=&r" (ip), [store] "=m" (access_ip)
		     : [p] "r" (p) : "eax", "memory");
	return true;
}

static bool write_at(void *p)
{
	unsigned long ip;

	memset(&got, 0, sizeof(got));
	if (sigsetjmp(after_signal, 1))
		return false;
	asm volatile(NOTE_IP "mov %[ip], %[store]\n1: movb $1, (%[p])"
		     : [ip] "=&r" (ip), [store] "=m" (access_ip)
		     : [p] "r" (p) : "memory");
	return true;
}

static bool jump_to(void *p)
{
	memset(&got, 0, sizeof(got));
	if (sigsetjmp(after_signal, 1))
		return false;
	access_ip = (unsigned long)p;
	((void (*)(void))p)();
	return true;
}

/* Trace the faults on these bytes, of the current process or of all */
static void trace_faults(const void *p, size_t size, bool all)
{
	unsigned long long first = (unsigned long)p, last = first + size - 1;
	char pid[64] = "";

	if (!all)
		snprintf(pid, sizeof(pid), "common_pid == %d && ", getpid());
	must(put(instance, "trace", " "), "trace");
	must(put(instance, "events/pagefault/filter",
		 "%saddress >= 0x%llx && address <= 0x%llx", pid, first, last), "filter");
	must(put(instance, "events/pagefault/enable", "1"), "enable");
}

static void trace_end(void)
{
	must(put(instance, "events/pagefault/enable", "0"), "disable");
}

/* Whether an entry or an exit says what is expected of an access to @p */
static bool record_matches(const struct pagefault *r, const struct expect *x, const void *p)
{
	bool good;

	good = r->address == (unsigned long)p && r->error_code == x->error_code &&
	       !strcmp(r->mode, x->kernel ? "kernel" : "user") &&
	       (x->kernel || strtoull(r->ip, NULL, 0) == access_ip);
	if (!strcmp(r->event, "exit"))
		good &= !strcmp(r->outcome, x->outcome) && r->duration &&
			r->duration >= x->min_ns && r->signo == got.si_signo &&
			r->si_code == got.si_code &&
			(r->flags | x->flags_either) == (x->flags | x->flags_either) &&
			(r->vm_fault | x->vm_fault_either) == (x->vm_fault | x->vm_fault_either);
	else
		good &= !strcmp(r->event, "entry");
	if (!good)
		ksft_print_msg("%s, %s at 0x%llx: 0x%llx, %s, %d, %d, 0x%x, 0x%x, %llu ns, %s\n",
			       r->event, r->mode, r->address, r->error_code, r->outcome, r->signo,
			       r->si_code, r->flags, r->vm_fault, r->duration, r->ip);
	return good;
}

/* Whether the trace has an entry and its exit, as expected, and no others */
static bool trace_matches(const struct expect *x, const void *p)
{
	int entries = 0, exits = 0, wrong = 0;
	struct pagefault r, entry = { };
	bool good;
	FILE *f;

	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		wrong += !record_matches(&r, x, p);
		if (!strcmp(r.event, "entry")) {
			entries++;
			entry = r;
		} else {
			exits++;
			/* Even if the context goes on elsewhere */
			wrong += !*r.ip || strcmp(r.ip, entry.ip);
		}
	}
	fclose(f);

	good = entries == 1 && exits == 1 && !wrong;
	if (!good)
		ksft_print_msg("%d entries, %d exits, %d wrong; at %p from 0x%lx\n",
			       entries, exits, wrong, p, access_ip);
	if (got.si_signo != x->signo ||
	    (x->signo && (got.si_code != x->code || (got.si_addr != p && !x->elsewhere)))) {
		ksft_print_msg("signal %d, code %d, address %p\n", got.si_signo,
			       got.si_code, got.si_addr);
		good = false;
	}
	return good;
}

enum how { READ_IT, WRITE_IT, JUMP_TO_IT };

/* One access in user mode, and what it is to look like */
static bool access_is(void *p, enum how how, const struct expect *x)
{
	trace_faults(p, 1, false);
	if (how == READ_IT)
		read_at(p);
	else if (how == WRITE_IT)
		write_at(p);
	else
		jump_to(p);
	trace_end();
	return trace_matches(x, p);
}

static void access_test(const char *name, void *p, enum how how, const struct expect *x)
{
	ksft_test_result(access_is(p, how, x), "%s\n", name);
}

static char *map(int flags, int fd, size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static char *must_map(int flags, int fd, size_t size)
{
	char *p = map(flags, fd, size);

	if (!p)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	return p;
}

/* A file of some pages that is gone when it is closed; -1 without a disk */
static int new_file(off_t pages)
{
	const char *dir = getenv("TMPDIR");
	static char *zeroes;
	char path[256];
	struct statfs s;
	int fd;

	snprintf(path, sizeof(path), "%s/pagefault.XXXXXX", dir ? dir : ".");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	unlink(path);
	if (fstatfs(fd, &s) || s.f_type == TMPFS_MAGIC || s.f_type == OVERLAYFS_SUPER_MAGIC) {
		close(fd);
		return -1;
	}
	if (!zeroes)
		zeroes = calloc(1, page_size);
	for (off_t i = 0; i < pages; i++)
		if (write(fd, zeroes, page_size) != page_size)
			ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	return fd;
}

/* So that the next access has to read the disk */
static void drop_cache(int fd)
{
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

#define SKIP_DISK	"$TMPDIR is not on a disk"

static void test_anonymous(void)
{
	char *p = new_pages(4 * page_size) + 8;

	access_test("anonymous memory, first write", p, WRITE_IT, &(struct expect){
		.outcome = "MINOR", .error_code = WRITE | USER, .flags = ANON });
	p += page_size;
	access_test("anonymous memory, first read", p, READ_IT, &(struct expect){
		.outcome = "MINOR", .error_code = USER, .flags = ANON });
	access_test("copy-on-write of the zero page", p, WRITE_IT, &(struct expect){
		.outcome = "MINOR", .error_code = PROT | WRITE | USER, .flags = ANON | COW });
}

/* The child holds the page, or else the parent may have it for its own */
static void test_fork(void)
{
	static const struct expect copied = {
		.outcome = "MINOR", .error_code = PROT | WRITE | USER, .flags = ANON | COW,
	};
	static const struct expect reused = {
		.outcome = "MINOR", .error_code = PROT | WRITE | USER, .flags = ANON,
	};
	char *p = new_pages(2 * page_size);
	pid_t child;

	/* A page that waits on another CPU for the LRU lists is not reused */
	pin(0);
	p[0] = 1;
	p[page_size] = 1;
	child = must_fork();
	if (!child) {
		pause();
		_exit(0);
	}
	access_test("copy-on-write after fork()", p, WRITE_IT, &copied);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	access_test("reused after fork(), as the child is gone", p + page_size, WRITE_IT,
		    &reused);
}

static void test_shmem(void)
{
	char *p = must_map(MAP_SHARED | MAP_ANONYMOUS, -1, page_size);

	access_test("shared memory", p, WRITE_IT, &(struct expect){
		.outcome = "MINOR", .error_code = WRITE | USER,
		.flags = SHMEM, .vm_fault_either = ~0 });
}

static void test_sysv(void)
{
	const char *name = "shared memory, System V";
	int id = shmget(IPC_PRIVATE, page_size, 0600);
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	if (p == (void *)-1) {
		ksft_test_result_skip("%s: %s\n", name, strerror(errno));
		return;
	}
	/* Its vm_operations may want the mmap lock */
	access_test(name, p, WRITE_IT, &(struct expect){
		.outcome = "MINOR", .error_code = WRITE | USER,
		.flags = SHMEM, .flags_either = RETRIED_VMA | RETRIED_MMAP,
		.vm_fault_either = ~0 });
	shmdt(p);
}

static void test_hugetlb(void)
{
	char *p, *old = get("/proc/sys/vm", "nr_hugepages");
	const size_t size = 4 << 20;
	pid_t child;

	put("/proc/sys/vm", "nr_hugepages", "8");
	p = map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, size);
	if (!p) {
		ksft_test_result_skip("hugetlb: no huge pages here\n");
		ksft_test_result_skip("hugetlb, copy-on-write: no huge pages here\n");
		goto out;
	}
	access_test("hugetlb", p + 4321, WRITE_IT, &(struct expect){
		.outcome = "MINOR", .error_code = WRITE | USER,
		.flags = HUGETLB, .vm_fault_either = ~0 });
	child = must_fork();
	if (!child) {
		pause();
		_exit(0);
	}
	access_test("hugetlb, copy-on-write", p + 4321, WRITE_IT, &(struct expect){
		.outcome = "MINOR", .error_code = PROT | WRITE | USER,
		.flags = HUGETLB | COW, .vm_fault_either = ~0 });
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(p, size);
out:
	if (old)
		put("/proc/sys/vm", "nr_hugepages", "%s", old);
	free(old);
}

static void test_files(void)
{
	static const char * const names[] = {
		"file, in the page cache", "file, private copy", "file, completed without the lock",
		"file, from disk", "file, from disk, private copy",
		"file, from disk, in kernel mode", "file, beyond its end",
		"file, beyond its end, in kernel mode",
	};
	int fd = new_file(64), fds[2];
	struct rusage before, after;
	unsigned int retried;
	char *p, *shared;
	struct utsname u;
	bool good;

	if (fd < 0) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			ksft_test_result_skip("%s: " SKIP_DISK "\n", names[i]);
		return;
	}
	p = must_map(MAP_PRIVATE, fd, 65 * page_size);
	shared = must_map(MAP_SHARED, fd, 64 * page_size);
	madvise(p, 64 * page_size, MADV_RANDOM);
	madvise(shared, 64 * page_size, MADV_RANDOM);
	if (pipe(fds))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));

	access_test(names[0], p, READ_IT, &(struct expect){
		.outcome = "MINOR", .error_code = USER,
		.flags = FILE_BACKED, .vm_fault_either = ~0 });
	access_test(names[1], p + 32 * page_size, WRITE_IT, &(struct expect){
		.outcome = "MINOR", .error_code = WRITE | USER,
		.flags = FILE_BACKED | COW, .vm_fault_either = ~VM_FAULT_DONE_COW });
	access_test(names[2], shared + 33 * page_size, WRITE_IT, &(struct expect){
		.outcome = "MINOR", .error_code = WRITE | USER,
		.flags = FILE_BACKED, .vm_fault = VM_FAULT_COMPLETED,
		.vm_fault_either = ~VM_FAULT_COMPLETED });

	munmap(p, 65 * page_size);
	munmap(shared, 64 * page_size);
	drop_cache(fd);
	p = must_map(MAP_PRIVATE, fd, 65 * page_size);
	madvise(p, 64 * page_size, MADV_RANDOM);
	/* A kernel of 32 bit has no lock for each VMA */
	uname(&u);
	retried = strcmp(u.machine, "x86_64") ? RETRIED_MMAP : RETRIED_VMA;
	getrusage(RUSAGE_SELF, &before);
	good = access_is(p + 50 * page_size, READ_IT, &(struct expect){
		.outcome = "MAJOR", .error_code = USER,
		.flags = FILE_BACKED | retried, .vm_fault_either = ~0 });
	getrusage(RUSAGE_SELF, &after);
	ksft_test_result(good && after.ru_majflt - before.ru_majflt == 1, "%s\n", names[3]);

	/* Read by the first call of handle_mm_fault(), copied by the second */
	access_test(names[4], p + 40 * page_size, WRITE_IT, &(struct expect){
		.outcome = "MAJOR", .error_code = WRITE | USER,
		.flags = FILE_BACKED | COW | retried, .vm_fault_either = ~VM_FAULT_DONE_COW });

	trace_faults(p + 20 * page_size, 1, false);
	memset(&got, 0, sizeof(got));
	good = write(fds[1], p + 20 * page_size, 1) == 1;
	trace_end();
	ksft_test_result(good && trace_matches(&(struct expect){
		.outcome = "MAJOR", .kernel = true,
		.flags = FILE_BACKED | RETRIED_MMAP, .vm_fault_either = ~0 },
		p + 20 * page_size), "%s\n", names[5]);

	p += 64 * page_size;
	access_test(names[6], p, READ_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = USER, .signo = SIGBUS, .code = BUS_ADRERR,
		.flags = FILE_BACKED, .vm_fault = VM_FAULT_SIGBUS });
	trace_faults(p, 1, false);
	memset(&got, 0, sizeof(got));
	good = write(fds[1], p, 1) < 0 && errno == EFAULT;
	trace_end();
	ksft_test_result(good && trace_matches(&(struct expect){
		.outcome = "FIXUP", .kernel = true, .flags = FILE_BACKED,
		.vm_fault = VM_FAULT_SIGBUS }, p), "%s\n", names[7]);
	close(fds[0]);
	close(fds[1]);
	close(fd);
}

static void test_sigsegv(void)
{
	const char *jump = "SIGSEGV, jump to what is not executable";
	char *p = new_pages(4 * page_size);

	munmap(p, page_size);
	mprotect(p + page_size, page_size, PROT_READ);
	mprotect(p + 2 * page_size, page_size, PROT_NONE);
	p[3 * page_size] = 0xc3;	/* RET */

	access_test("SIGSEGV, no mapping", p, WRITE_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = WRITE | USER,
		.signo = SIGSEGV, .code = SEGV_MAPERR });
	access_test("SIGSEGV, no mapping at NULL", (void *)8, READ_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = USER,
		.signo = SIGSEGV, .code = SEGV_MAPERR });
	access_test("SIGSEGV, write to what is read-only", p + page_size, WRITE_IT,
		    &(struct expect){
		.outcome = "SIGNAL", .error_code = WRITE | USER,
		.signo = SIGSEGV, .code = SEGV_ACCERR });
	access_test("SIGSEGV, PROT_NONE", p + 2 * page_size, READ_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = USER,
		.signo = SIGSEGV, .code = SEGV_ACCERR });
	p += 3 * page_size;
	if (jump_to(p)) {
		ksft_test_result_skip("%s: this machine executes it\n", jump);
		return;
	}
	access_test(jump, p, JUMP_TO_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = PROT | USER | INSTR,
		.signo = SIGSEGV, .code = SEGV_ACCERR });
}

/* The mm refuses, after it was asked */
static void test_guard_region(void)
{
	char *p = new_pages(page_size);

	if (madvise(p, page_size, MADV_GUARD_INSTALL)) {
		ksft_test_result_skip("SIGSEGV, guard region: this kernel has none\n");
		return;
	}
	access_test("SIGSEGV, guard region", p, READ_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = USER, .signo = SIGSEGV,
		.code = SEGV_MAPERR, .flags = ANON, .vm_fault = VM_FAULT_SIGSEGV });
}

static void test_kernel_address(void)
{
	const char *name = "SIGSEGV, kernel address";
	unsigned long long address = kernel_symbol("_text");

	if (!address || address != (unsigned long)address) {
		ksft_test_result_skip("%s: no address of the kernel in /proc/kallsyms\n", name);
		return;
	}
	/* The signal always says PROT, the event what the CPU said */
	access_test(name, (void *)(unsigned long)address, READ_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = PROT | USER,
		.signo = SIGSEGV, .code = SEGV_MAPERR });
}

static void test_pkey(void)
{
	char *p = new_pages(page_size);
	int pkey;

	*p = 1;
	pkey = syscall(SYS_pkey_alloc, 0, 1 /* PKEY_DISABLE_ACCESS */);
	if (pkey < 0 || syscall(SYS_pkey_mprotect, p, page_size, PROT_READ | PROT_WRITE, pkey)) {
		ksft_test_result_skip("SIGSEGV, protection key: this machine has none\n");
		return;
	}
	access_test("SIGSEGV, protection key", p, READ_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = PROT | USER | PK,
		.signo = SIGSEGV, .code = SEGV_PKUERR });
	syscall(SYS_pkey_free, pkey);
}

/* A system call with a pointer to nowhere */
static void test_fixup(void)
{
	char *p = new_pages(page_size);
	int fds[2];
	bool good;

	munmap(p, page_size);
	if (pipe(fds))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	trace_faults(p, 1, false);
	memset(&got, 0, sizeof(got));
	good = write(fds[1], p, 1) < 0 && errno == EFAULT;
	trace_end();
	ksft_test_result(good && trace_matches(&(struct expect){
		.outcome = "FIXUP", .kernel = true }, p), "exception fixup in kernel mode\n");
	close(fds[0]);
	close(fds[1]);
}

#ifdef __x86_64__
/* The page fault of a call of a vsyscall, whose first argument is a pointer */
static bool vsyscall_is(unsigned long at, unsigned long pointer, const struct expect *x)
{
	trace_faults((void *)at, 1, false);
	memset(&got, 0, sizeof(got));
	/* Printed as a symbol, like any address of the kernel's half */
	access_ip = 0;
	if (!sigsetjmp(after_signal, 1))
		((long (*)(unsigned long, void *))at)(pointer, NULL);
	trace_end();
	return trace_matches(x, (void *)at);
}

static void test_vsyscall(void)
{
	unsigned long vsyscall = 0xffffffffff600000UL, code = USER | INSTR;
	char *maps = get("/proc/self", "maps");
	char *at = maps ? strstr(maps, "[vsyscall]") : NULL;
	struct timespec unused[2];
	bool there = at;

	/* In mode "xonly", the page is not there at all */
	while (at && at > maps && at[-1] != '\n')
		at--;
	if (at && strchr(at, ' ') && strchr(at, ' ')[1] == 'r')
		code |= PROT;
	free(maps);
	if (!there) {
		ksft_test_result_skip("vsyscall: this kernel has none\n");
		ksft_test_result_skip("vsyscall at no entry: this kernel has none\n");
		ksft_test_result_skip("vsyscall with a bad pointer: this kernel has none\n");
		return;
	}
	ksft_test_result(vsyscall_is(vsyscall, (unsigned long)unused, &(struct expect){
		.outcome = "ARCH", .error_code = code }), "vsyscall\n");
	ksft_test_result(vsyscall_is(vsyscall + 1, 0, &(struct expect){
		.outcome = "SIGNAL", .error_code = code, .signo = SIGSEGV,
		.code = SI_KERNEL, .elsewhere = true }), "vsyscall at no entry\n");
	ksft_test_result(vsyscall_is(vsyscall, -4096UL, &(struct expect){
		.outcome = "SIGNAL", .error_code = code, .signo = SIGSEGV,
		.code = SEGV_MAPERR, .elsewhere = true }), "vsyscall with a bad pointer\n");
}
#else
static void test_vsyscall(void)
{
	ksft_test_result_skip("vsyscall: this program has 32 bit\n");
	ksft_test_result_skip("vsyscall at no entry: this program has 32 bit\n");
	ksft_test_result_skip("vsyscall with a bad pointer: this program has 32 bit\n");
}
#endif

static void test_hwpoison(void)
{
	char *p = new_pages(page_size);

	*p = 1;
	/* The kernel may tell by a signal at once */
	if (!sigsetjmp(after_signal, 1) && madvise(p, page_size, MADV_HWPOISON)) {
		ksft_test_result_skip("hardware poison: this kernel cannot inject it\n");
		return;
	}
	access_test("hardware poison", p, READ_IT, &(struct expect){
		.outcome = "SIGNAL", .error_code = USER, .signo = SIGBUS,
		.code = BUS_MCEERR_AR, .flags = ANON, .vm_fault = VM_FAULT_HWPOISON });
}

/* The allocator fails for this task, and so many times */
static void test_oom(void)
{
	const char *dir = "/sys/kernel/debug/fail_page_alloc";
	int minor = 0, oom = 0, wrong = 0;
	char *p = new_pages(page_size);
	struct pagefault r;
	FILE *f;

	if (put("/proc/self", "make-it-fail", "1") || put(dir, "task-filter", "Y")) {
		ksft_test_result_skip("no memory: this kernel has no FAIL_PAGE_ALLOC\n");
		return;
	}
	must(put(dir, "ignore-gfp-highmem", "N"), "ignore-gfp-highmem");
	must(put(dir, "ignore-gfp-wait", "N"), "ignore-gfp-wait");
	must(put(dir, "min-order", "0"), "min-order");
	must(put(dir, "verbose", "0"), "verbose");
	must(put(dir, "times", "%d", OOMS), "times");
	trace_faults(p, 1, false);
	must(put(dir, "probability", "100"), "probability");
	write_at(p);
	put("/proc/self", "make-it-fail", "0");
	put(dir, "probability", "0");
	trace_end();

	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		if (!strcmp(r.event, "entry"))
			continue;
		minor += !strcmp(r.outcome, "MINOR");
		if (!strcmp(r.outcome, "OOM"))
			oom++;
		wrong += !r.duration || r.signo ||
			 !!(r.vm_fault & VM_FAULT_OOM) != !strcmp(r.outcome, "OOM");
	}
	fclose(f);
	if (oom < 1 || oom > OOMS || minor != 1 || wrong)
		ksft_print_msg("%d OOM, %d minor, %d wrong\n", oom, minor, wrong);
	ksft_test_result(oom >= 1 && oom <= OOMS && minor == 1 && !wrong && *p == 1, "no memory\n");
}

struct server {
	int fd, cpu;
	void *p;
};

/* Serve the page after a while, to a task that it moves to another CPU */
static void *serve_page(void *arg)
{
	struct server *s = arg;
	struct uffdio_zeropage zero = { .range = { (unsigned long)s->p, page_size } };
	struct uffd_msg msg;
	cpu_set_t one;

	if (read(s->fd, &msg, sizeof(msg)) != sizeof(msg))
		ksft_exit_fail_msg("userfaultfd: %s\n", strerror(errno));
	usleep(HOLD_MS * 1000);
	CPU_ZERO(&one);
	CPU_SET(s->cpu, &one);
	if (sched_setaffinity(getpid(), sizeof(one), &one))
		ksft_exit_fail_msg("CPU %d: %s\n", s->cpu, strerror(errno));
	if (ioctl(s->fd, UFFDIO_ZEROPAGE, &zero))
		ksft_exit_fail_msg("UFFDIO_ZEROPAGE: %s\n", strerror(errno));
	return NULL;
}

static int records_on(int cpu)
{
	struct pagefault r;
	int n = 0;
	FILE *f;

	f = open_trace(instance, cpu);
	while (next_pagefault(f, &r))
		n++;
	fclose(f);
	return n;
}

/* The fault begins on CPU 0, and ends on @cpu */
static void test_held(const char *name, int cpu)
{
	char *p = new_pages(page_size);
	struct server s = { .fd = wait_for_pages(p, page_size), .cpu = cpu, .p = p };
	struct rusage before, after;
	pthread_t thread;
	bool major, good;

	if (s.fd < 0 || cpu >= cpus()) {
		ksft_test_result_skip("%s: no userfaultfd, or a single CPU\n", name);
		close(s.fd);
		return;
	}
	pin(0);
	getrusage(RUSAGE_THREAD, &before);
	trace_faults(p, 1, false);
	if (pthread_create(&thread, NULL, serve_page, &s))
		ksft_exit_fail_msg("pthread_create\n");
	read_at(p);
	pthread_join(thread, NULL);
	trace_end();
	getrusage(RUSAGE_THREAD, &after);
	pin(0);

	/* getrusage() says whether it is major: if it was the mmap lock */
	major = after.ru_majflt > before.ru_majflt;
	good = trace_matches(&(struct expect){
		.outcome = major ? "MAJOR" : "MINOR", .error_code = USER,
		.flags = ANON | (major ? RETRIED_MMAP : RETRIED_VMA),
		.vm_fault_either = ~0, .min_ns = HOLD_MS * 1000000ULL }, p);
	good &= cpu ? records_on(0) == 1 && records_on(cpu) == 1 : records_on(0) == 2;
	ksft_test_result(good, "%s\n", name);
	close(s.fd);
}

/* A signal comes while a child waits for its page */
static void test_signal(const char *name, int signo)
{
	int exits = 0, good = 0, status, fd, ready[2];
	char *p = new_pages(page_size);
	struct pagefault r;
	pid_t child;
	char byte;
	FILE *f;

	if (pipe(ready))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	trace_faults(p, 1, true);
	child = must_fork();
	if (!child) {
		fd = wait_for_pages(p, page_size);
		if (fd < 0)
			_exit(KSFT_SKIP);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		read_at(p);
		_exit(got.si_signo == signo ? 0 : 1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1)
		usleep(HOLD_MS * 1000);
	kill(child, signo);
	waitpid(child, &status, 0);
	trace_end();
	close(ready[0]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP) {
		ksft_test_result_skip("%s: this kernel has no userfaultfd\n", name);
		return;
	}

	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		if (strcmp(r.event, "exit"))
			continue;
		exits++;
		if (!strcmp(r.outcome, "INTERRUPTED") && !r.signo && !r.si_code &&
		    (r.flags == (ANON | RETRIED_VMA) || r.flags == (ANON | RETRIED_MMAP)) &&
		    (r.vm_fault & VM_FAULT_RETRY) && r.duration >= HOLD_MS / 2 * 1000000ULL)
			good++;
		else
			ksft_print_msg("%s, %d, flags 0x%x, vm_fault 0x%x, %llu ns\n", r.outcome,
				       r.signo, r.flags, r.vm_fault, r.duration);
	}
	fclose(f);
	if (exits != 1 || good != 1)
		ksft_print_msg("%d exits, %d good, status 0x%x\n", exits, good, status);
	ksft_test_result(exits == 1 && good == 1 &&
			 (signo == SIGKILL ? WIFSIGNALED(status) : status == 0), "%s\n", name);
}

/* One byte of another process, or of this one */
static bool read_memory(pid_t pid, char *p)
{
	struct iovec remote = { p, 1 };
	char byte;
	struct iovec local = { &byte, 1 };
	ssize_t n;
	int fd;

	if (pid != getpid())
		return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1;
	fd = open("/proc/self/mem", O_RDONLY);
	n = pread64(fd, &byte, 1, (unsigned long)p);
	close(fd);
	return n == 1;
}

/* Reading one byte calls handle_mm_fault() without registers: for @outcomes */
static bool noregs_is(pid_t pid, pid_t tgid, char *p, unsigned int kind, const char *outcomes)
{
	bool good = true, readable;
	char found[256] = "";
	struct pagefault r;
	FILE *f;

	trace_faults(p, 1, false);
	readable = read_memory(pid, p);
	trace_end();
	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		bool retry = !strcmp(r.outcome, "RETRY");

		if (strcmp(r.event, "noregs") || !r.duration || r.address != (unsigned long)p ||
		    r.tgid != tgid || !(r.fault_flags & FAULT_FLAG_REMOTE) ||
		    r.flags != (kind | (retry ? RETRIED_MMAP : 0)) ||
		    retry != !!(r.vm_fault & VM_FAULT_RETRY)) {
			ksft_print_msg("%s of %d, 0x%x, flags 0x%x, vm_fault 0x%x, %llu ns\n",
				       r.event, r.tgid, r.fault_flags, r.flags, r.vm_fault,
				       r.duration);
			good = false;
		}
		if (strlen(found) + strlen(r.outcome) + 2 < sizeof(found)) {
			strcat(found, r.outcome);
			strcat(found, " ");
		}
	}
	fclose(f);
	if (readable == !strcmp(outcomes, "FAILED ") || strcmp(found, outcomes)) {
		ksft_print_msg("%sreadable, %s, and not %s\n", readable ? "" : "not ", found,
			       outcomes);
		good = false;
	}
	return good;
}

static void test_noregs(void)
{
	char *p = new_pages(2 * page_size), *file = NULL;
	int fd = new_file(8), status;
	struct rusage before, after;
	pid_t child, tgid;
	bool good;

	if (fd >= 0) {
		file = must_map(MAP_PRIVATE, fd, 9 * page_size);
		madvise(file, 8 * page_size, MADV_RANDOM);
		drop_cache(fd);
	}
	child = must_fork();
	if (!child) {
		pause();
		_exit(0);
	}
	/* Without memory cgroups, other memory has no owner */
	tgid = kernel_symbol("mm_update_next_owner") ? child : 0;
	getrusage(RUSAGE_SELF, &before);
	good = noregs_is(child, tgid, p, ANON, "MINOR ");
	getrusage(RUSAGE_SELF, &after);
	ksft_test_result(good && after.ru_minflt > before.ru_minflt,
			 "without registers, minor\n");
	good = noregs_is(getpid(), getpid(), p + page_size, ANON, "MINOR ");
	ksft_test_result(good, "without registers, in its own memory\n");
	if (file) {
		getrusage(RUSAGE_SELF, &before);
		good = noregs_is(child, tgid, file + 4 * page_size, FILE_BACKED, "RETRY MAJOR ");
		getrusage(RUSAGE_SELF, &after);
		ksft_test_result(good && after.ru_majflt - before.ru_majflt == 1,
				 "without registers, major\n");
		good = noregs_is(child, tgid, file + 8 * page_size, FILE_BACKED, "FAILED ");
		ksft_test_result(good, "without registers, beyond the end of a file\n");
	} else {
		ksft_test_result_skip("without registers, major: " SKIP_DISK "\n");
		ksft_test_result_skip("without registers, beyond the end of a file: "
				      SKIP_DISK "\n");
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(fd);
}

/* What the module trap_test raises in kernel mode */
static bool raised_in_kernel(const char *what, const char *outcome, int *error)
{
	int entries = 0, good = 0, exits = 0;
	struct pagefault r;
	FILE *f;

	must(put(instance, "trace", " "), "trace");
	must(put(instance, "events/pagefault/filter", "common_pid == %d && user_mode == 0",
		 getpid()), "filter");
	must(put(instance, "events/pagefault/pagefault_entry/enable", "1"), "enable");
	must(put(instance, "events/pagefault/pagefault_exit/enable", "1"), "enable");
	*error = put("/sys/kernel/debug/x86_trap_test", "fault", "%s", what);
	trace_end();
	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		entries += !strcmp(r.event, "entry");
		exits += !strcmp(r.event, "exit");
		good += !strcmp(r.event, "exit") && !strcmp(r.outcome, outcome) &&
			r.duration && !r.signo && !r.vm_fault;
		if (!strcmp(r.event, "exit") && strcmp(r.outcome, outcome))
			ksft_print_msg("%s at 0x%llx\n", r.outcome, r.address);
	}
	fclose(f);
	return good == 1 && entries == exits;
}

static void test_raised(const char *name, const char *what, const char *outcome)
{
	bool good;
	int error;

	if (access("/sys/kernel/debug/x86_trap_test/fault", W_OK)) {
		ksft_test_result_skip("%s: " NO_TRAP_TEST "\n", name);
		return;
	}
	good = raised_in_kernel(what, outcome, &error);
	if (error == -EOPNOTSUPP)
		ksft_test_result_skip("%s: not on this machine\n", name);
	else
		ksft_test_result(good && !error, "%s\n", name);
}

/* The child shares the memory, so the kernel writes to @tid when it ends */
static pid_t oops_in_fault(int *tid)
{
	pid_t child = vfork();

	if (child < 0)
		ksft_exit_fail_msg("vfork: %s\n", strerror(errno));
	if (!child) {
		syscall(SYS_set_tid_address, tid);
		put("/sys/kernel/debug/x86_trap_test", "fault", "oops");
		_exit(0);
	}
	return child;
}

/*
 * An oops kills the child, and its fault has no exit event. A later fault of
 * the dying child has both events, and so has a fault of another task.
 */
static void test_oops(void)
{
	static const struct expect on_exit = {
		.outcome = "MINOR", .error_code = WRITE, .flags = ANON, .kernel = true,
	};
	static const struct expect of_other = {
		.outcome = "MINOR", .error_code = WRITE | USER, .flags = ANON,
	};
	char *dying = new_pages(2 * page_size), *other = dying + page_size;
	int oopsed = 0, good = 0, wrong = 0, status;
	struct pagefault r;
	pid_t child;
	FILE *f;

	if (access("/sys/kernel/debug/x86_trap_test/fault", W_OK)) {
		ksft_test_result_skip("oops: an entry and no exit: " NO_TRAP_TEST "\n");
		return;
	}
	/* All on one CPU */
	pin(0);
	must(put(instance, "trace", " "), "trace");
	must(put(instance, "events/pagefault/filter",
		 "address == 8 || address == 0x%lx || address == 0x%lx",
		 (unsigned long)dying, (unsigned long)other), "filter");
	must(put(instance, "events/pagefault/enable", "1"), "enable");
	child = oops_in_fault((int *)dying);
	waitpid(child, &status, 0);
	write_at(other);
	trace_end();
	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		if (r.address == 8 && !strcmp(r.event, "entry") && !strcmp(r.mode, "kernel"))
			oopsed++;
		else if (r.address == (unsigned long)dying)
			good += record_matches(&r, &on_exit, dying);
		else if (r.address == (unsigned long)other)
			good += record_matches(&r, &of_other, other);
		else
			wrong++;
	}
	fclose(f);
	if (oopsed != 1 || good != 4 || wrong || !WIFSIGNALED(status))
		ksft_print_msg("%d oopsed, %d good, %d wrong, status 0x%x\n", oopsed, good, wrong,
			       status);
	ksft_test_result(oopsed == 1 && good == 4 && !wrong && WIFSIGNALED(status),
			 "oops: an entry and no exit\n");
}

/* The faults that the names ask for */
static int test_named(int n, char **names)
{
	ksft_set_plan(n);
	for (int i = 0; i < n; i++) {
		if (!strcmp(names[i], "errata93"))
			test_raised("erratum 93", "errata93", "ARCH");
		else if (!strcmp(names[i], "prefetch"))
			test_raised("erratum of prefetch", "prefetch", "ARCH");
		else if (!strcmp(names[i], "kfence"))
			test_raised("KFENCE", "kfence", "ARCH");
		else if (!strcmp(names[i], "oops-survived"))
			test_raised("oops that the task survives", "oops-survived", "OOPS");
		else if (!strcmp(names[i], "oops"))
			test_oops();
		else
			ksft_exit_fail_msg("no test '%s': see the head of the file\n", names[i]);
	}
	ksft_finished();
}

int main(int argc, char **argv)
{
	start();
	if (access(TRACING "/events/pagefault/pagefault_exit", F_OK))
		ksft_exit_skip("no pagefault events in " TRACING "\n");
	page_size = sysconf(_SC_PAGESIZE);
	instance = make_instance("outcome");
	if (argc > 1)
		return test_named(argc - 1, argv + 1);

	ksft_set_plan(41);
	catch(SIGSEGV);
	catch(SIGBUS);
	catch(SIGUSR1);
	test_anonymous();
	test_fork();
	test_shmem();
	test_sysv();
	test_hugetlb();
	test_files();
	test_sigsegv();
	test_guard_region();
	test_kernel_address();
	test_pkey();
	test_fixup();
	test_vsyscall();
	test_hwpoison();
	test_oom();
	test_held("held by userfaultfd", 0);
	test_held("held by userfaultfd, and moved to another CPU", 1);
	test_signal("a signal comes first", SIGUSR1);
	test_signal("a fatal signal comes first", SIGKILL);
	test_noregs();
	test_raised("stale TLB entry", "spurious", "ARCH");
	test_raised("vmalloc", "vmalloc", "ARCH");
	ksft_finished();
}
