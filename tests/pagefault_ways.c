// SPDX-License-Identifier: GPL-2.0
/*
 * Test the pagefault trace events where the kselftest's pagefault_outcome
 * cannot: these tests change the machine, need the module trap_test, or exist
 * on x86 only.
 *
 * The tests that need another CPU, or leave an oops on the console, run only if
 * named: errata93, prefetch, kfence, oops-survived, oops; see pagefault_test.c of
 * the module.
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

#include "lib.h"

#ifndef SEGV_PKUERR
#define SEGV_PKUERR		4
#endif
#ifndef BUS_MCEERR_AR
#define BUS_MCEERR_AR		4
#endif

/* What pagefault.h does not need: error code, enum vm_fault_reason */
#define INSTR			0x10
#define PK			0x20
#define VM_FAULT_OOM		0x1
#define VM_FAULT_HWPOISON	0x10

#define OOMS		5

/* Where to go on after a signal that does not come from RAISE() */
static sigjmp_buf elsewhere;
static bool may_end;

static bool end_elsewhere(int signo, ucontext_t *uc)
{
	(void)uc;
	if (may_end && (signo == SIGSEGV || signo == SIGBUS))
		siglongjmp(elsewhere, 1);
	return false;
}

static void access_test(const char *name, void *p, enum how how, const struct expect_fault *x)
{
	ksft_test_result(access_is(p, how, x), "%s\n", name);
}

static char *map(int flags, int fd, size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
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
	access_test(name, p, WRITE_IT, &(struct expect_fault){
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
	access_test("hugetlb", p + 4321, WRITE_IT, &(struct expect_fault){
		.outcome = "MINOR", .error_code = WRITE | USER,
		.flags = HUGETLB, .vm_fault_either = ~0 });
	child = must_fork();
	if (!child) {
		pause();
		_exit(0);
	}
	access_test("hugetlb, copy-on-write", p + 4321, WRITE_IT, &(struct expect_fault){
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

static void test_sigsegv(void)
{
	const char *jump = "SIGSEGV, jump to what is not executable";
	char *p = new_pages(page_size);

	access_test("SIGSEGV, no mapping at NULL", (void *)8, READ_IT, &(struct expect_fault){
		.outcome = "SIGNAL", .error_code = USER,
		.signo = SIGSEGV, .code = SEGV_MAPERR });
	*p = 0xc3;	/* RET */
	trap_signals = 0;
	raise_jump(p);
	if (!trap_signals) {
		ksft_test_result_skip("%s: this machine executes it\n", jump);
		return;
	}
	trace_faults(p, 1, false);
	raise_jump(p);
	trace_end();
	ksft_test_result(faults_match(&(struct expect_fault){
		.outcome = "SIGNAL", .error_code = PROT | USER | INSTR,
		.signo = SIGSEGV, .code = SEGV_ACCERR }, p), "%s\n", jump);
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
	access_test(name, (void *)(unsigned long)address, READ_IT, &(struct expect_fault){
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
	access_test("SIGSEGV, protection key", p, READ_IT, &(struct expect_fault){
		.outcome = "SIGNAL", .error_code = PROT | USER | PK,
		.signo = SIGSEGV, .code = SEGV_PKUERR });
	syscall(SYS_pkey_free, pkey);
}

#ifdef __x86_64__
/* The page fault of a call of a vsyscall, whose first argument is a pointer */
static bool vsyscall_is(unsigned long at, unsigned long pointer, const struct expect_fault *x)
{
	trace_faults((void *)at, 1, false);
	/* Printed as a symbol, like any address of the kernel's half */
	trap_ip = 0;
	may_end = true;
	if (!sigsetjmp(elsewhere, 1))
		((long (*)(unsigned long, void *))at)(pointer, NULL);
	may_end = false;
	trace_end();
	return faults_match(x, (void *)at);
}

static void test_vsyscall(void)
{
	unsigned long vsyscall = 0xffffffffff600000UL, code = USER | INSTR;
	char *maps = get("/proc/self", "maps");
	char *at = maps ? strstr(maps, "[vsyscall]") : NULL;
	char *nowhere = new_pages(page_size);
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
		ksft_test_result_skip("vsyscall with a pointer to nowhere: this kernel has none\n");
		return;
	}
	ksft_test_result(vsyscall_is(vsyscall, (unsigned long)unused, &(struct expect_fault){
		.outcome = "ARCH", .error_code = code }), "vsyscall\n");
	ksft_test_result(vsyscall_is(vsyscall + 1, 0, &(struct expect_fault){
		.outcome = "SIGNAL", .error_code = code, .signo = SIGSEGV,
		.code = SI_KERNEL, .elsewhere = true }), "vsyscall at no entry\n");
	ksft_test_result(vsyscall_is(vsyscall, -4096UL, &(struct expect_fault){
		.outcome = "SIGNAL", .error_code = code, .signo = SIGSEGV,
		.code = SEGV_MAPERR, .elsewhere = true }), "vsyscall with a bad pointer\n");
	/* Its own fault nests another one, and sends the signal after that has ended */
	munmap(nowhere, page_size);
	ksft_test_result(vsyscall_is(vsyscall, (unsigned long)nowhere, &(struct expect_fault){
		.outcome = "SIGNAL", .error_code = code, .signo = SIGSEGV,
		.code = SI_KERNEL, .elsewhere = true }), "vsyscall with a pointer to nowhere\n");
}
#else
static void test_vsyscall(void)
{
	ksft_test_result_skip("vsyscall: this program has 32 bit\n");
	ksft_test_result_skip("vsyscall at no entry: this program has 32 bit\n");
	ksft_test_result_skip("vsyscall with a bad pointer: this program has 32 bit\n");
	ksft_test_result_skip("vsyscall with a pointer to nowhere: this program has 32 bit\n");
}
#endif

static void test_hwpoison(void)
{
	char *p = new_pages(page_size);

	*p = 1;
	/* The kernel may send a signal at once */
	may_end = true;
	if (!sigsetjmp(elsewhere, 1) && madvise(p, page_size, MADV_HWPOISON)) {
		may_end = false;
		ksft_test_result_skip("hardware poison: this kernel cannot inject it\n");
		return;
	}
	may_end = false;
	access_test("hardware poison", p, READ_IT, &(struct expect_fault){
		.outcome = "SIGNAL", .error_code = USER, .signo = SIGBUS,
		.code = BUS_MCEERR_AR, .flags = ANON, .vm_fault = VM_FAULT_HWPOISON });
}

/* The allocator fails OOMS times, for this task only */
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
	raise_write(p);
	put("/proc/self", "make-it-fail", "0");
	put(dir, "probability", "0");
	trace_end();

	f = open_trace(fault_instance, -1);
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

static bool move_to_cpu_1(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(1, &one);
	if (sched_setaffinity(getpid(), sizeof(one), &one))
		ksft_exit_fail_msg("CPU 1: %s\n", strerror(errno));
	return true;
}

static int records_on(int cpu)
{
	struct pagefault r;
	int n = 0;
	FILE *f;

	f = open_trace(fault_instance, cpu);
	while (next_pagefault(f, &r))
		n++;
	fclose(f);
	return n;
}

/* The fault begins on CPU 0, and ends on another one */
static void test_moved(void)
{
	const char *name = "held by userfaultfd, and moved to another CPU";
	char *p = new_pages(page_size);
	struct server s = { .fd = wait_for_pages(p, page_size), .p = p, .first = move_to_cpu_1 };
	struct rusage before, after;
	pthread_t thread;
	bool major, good;

	if (s.fd < 0 || cpus() == 1) {
		ksft_test_result_skip("%s: no userfaultfd, or a single CPU\n", name);
		close(s.fd);
		return;
	}
	pin(0);
	getrusage(RUSAGE_THREAD, &before);
	trace_faults(p, 1, false);
	if (pthread_create(&thread, NULL, serve_page, &s))
		ksft_exit_fail_msg("pthread_create\n");
	raise_read(p);
	pthread_join(thread, NULL);
	trace_end();
	getrusage(RUSAGE_THREAD, &after);
	pin(0);

	/* It is major if it was under the mmap lock: getrusage() says so */
	major = after.ru_majflt > before.ru_majflt;
	good = faults_match(&(struct expect_fault){
		.outcome = major ? "MAJOR" : "MINOR", .error_code = USER,
		.flags = ANON | (major ? RETRIED_MMAP : RETRIED_VMA),
		.vm_fault_either = ~0, .min_ns = HOLD_MS * 1000000ULL }, p);
	good &= records_on(0) == 1 && records_on(1) == 1;
	ksft_test_result(good, "%s\n", name);
	close(s.fd);
}

/* A child is killed while it waits for its page */
static void test_killed(void)
{
	const char *name = "a fatal signal comes first";
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
		raise_read(p);
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1)
		usleep(HOLD_MS * 1000);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	trace_end();
	close(ready[0]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP) {
		ksft_test_result_skip("%s: this kernel has no userfaultfd\n", name);
		return;
	}

	f = open_trace(fault_instance, -1);
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
			 WIFSIGNALED(status), "%s\n", name);
}

/* Reading a byte there calls handle_mm_fault() without registers */
static void test_own_memory(void)
{
	char *p = new_pages(page_size), byte;
	int records = 0, good = 0, fd;
	struct pagefault r;
	ssize_t n;
	FILE *f;

	trace_faults(p, 1, false);
	fd = open("/proc/self/mem", O_RDONLY);
	n = pread64(fd, &byte, 1, (unsigned long)p);
	close(fd);
	trace_end();
	f = open_trace(fault_instance, -1);
	while (next_pagefault(f, &r)) {
		records++;
		good += !strcmp(r.event, "noregs") && !strcmp(r.outcome, "MINOR") && r.duration &&
			r.address == (unsigned long)p && r.tgid == getpid() &&
			r.fault_flags & FAULT_FLAG_REMOTE && r.flags == ANON &&
			!(r.vm_fault & VM_FAULT_RETRY);
	}
	fclose(f);
	if (records != 1 || good != 1)
		ksft_print_msg("%d records, %d good\n", records, good);
	ksft_test_result(n == 1 && records == 1 && good == 1,
			 "without registers, in its own memory\n");
}

/* What the module trap_test raises in kernel mode */
static bool raised_in_kernel(const char *what, const char *outcome, int *error)
{
	int entries = 0, good = 0, exits = 0;
	struct pagefault r;
	FILE *f;

	must(put(fault_instance, "trace", " "), "trace");
	must(put(fault_instance, "events/pagefault/filter", "common_pid == %d && user_mode == 0",
		 getpid()), "filter");
	must(put(fault_instance, "events/pagefault/pagefault_entry/enable", "1"), "enable");
	must(put(fault_instance, "events/pagefault/pagefault_exit/enable", "1"), "enable");
	*error = put("/sys/kernel/debug/x86_trap_test", "fault", "%s", what);
	trace_end();
	f = open_trace(fault_instance, -1);
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
	static const struct expect_fault on_exit = {
		.outcome = "MINOR", .error_code = WRITE, .flags = ANON, .kernel = true,
	};
	static const struct expect_fault of_other = {
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
	must(put(fault_instance, "trace", " "), "trace");
	must(put(fault_instance, "events/pagefault/filter",
		 "address == 8 || address == 0x%lx || address == 0x%lx",
		 (unsigned long)dying, (unsigned long)other), "filter");
	must(put(fault_instance, "events/pagefault/enable", "1"), "enable");
	child = oops_in_fault((int *)dying);
	waitpid(child, &status, 0);
	raise_write(other);
	trace_end();
	f = open_trace(fault_instance, -1);
	while (next_pagefault(f, &r)) {
		if (r.address == 8 && !strcmp(r.event, "entry") && !strcmp(r.mode, "kernel"))
			oopsed++;
		else if (r.address == (unsigned long)dying)
			good += fault_matches(&r, &on_exit, dying);
		else if (r.address == (unsigned long)other)
			good += fault_matches(&r, &of_other, other);
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

/* Run the tests that are named */
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
	start_pagefaults("ways");
	before_skip = end_elsewhere;
	if (argc > 1)
		return test_named(argc - 1, argv + 1);

	ksft_set_plan(18);
	test_sysv();
	test_hugetlb();
	test_sigsegv();
	test_kernel_address();
	test_pkey();
	test_vsyscall();
	test_hwpoison();
	test_oom();
	test_moved();
	test_killed();
	test_own_memory();
	test_raised("stale TLB entry", "spurious", "ARCH");
	test_raised("vmalloc", "vmalloc", "ARCH");
	ksft_finished();
}
