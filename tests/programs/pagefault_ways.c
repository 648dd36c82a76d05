// SPDX-License-Identifier: GPL-2.0
/*
 * Test the pagefault trace events where the kselftest's pagefault_outcome
 * cannot: these tests change the machine, need the module trap_test, or exist
 * on x86 only.
 *
 * The tests that leave an oops on the console run only if named: kfence, oops, probe-oops; see
 * pagefault_test.c of the module. After probe-oops, the events can never be switched
 * off, so the guest ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

#define ANY			(~0U)
#define OOMS			5
#define PROBED			10
#define FAULT_PROBE		TRAP_TEST "/fault_probe"

/* Where to go on after a signal that does not come from RAISE() */
static sigjmp_buf elsewhere;
static bool may_end;

static bool end_elsewhere(int signo, ucontext_t *uc)
{
	if (may_end && (signo == SIGSEGV || signo == SIGBUS))
		siglongjmp(elsewhere, 1);
	return false;
}

/*
 * One access: set up the memory, or say why not, and compare the record
 */
static const char *why;
static char *old_hugepages;
static pid_t holder;

static char *sysv(void)
{
	int id = shmget(IPC_PRIVATE, page_size, 0600);
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	why = strerror(errno);
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return p == (void *)-1 ? NULL : p;
}

static char *hugetlb(void)
{
	char *p;

	if (!old_hugepages)
		old_hugepages = get("/proc/sys/vm", "nr_hugepages");
	put("/proc/sys/vm", "nr_hugepages", "8");
	p = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	why = "no huge pages here";
	return p == MAP_FAILED ? NULL : p + 4321;
}

static char *hugetlb_with_fork(void)
{
	char *p = hugetlb();

	if (!p)
		return NULL;
	*p = 1;
	holder = must_fork();
	while (!holder)
		pause();
	return p;
}

static char *kernel_address(void)
{
	__u64 address = kernel_symbol("_text");

	why = "no address of the kernel in /proc/kallsyms";
	return address == (unsigned long)address ? (char *)(unsigned long)address : NULL;
}

static char *with_key(void)
{
	char *p = new_pages(page_size);
	int key = syscall(SYS_pkey_alloc, 0, 1 /* PKEY_DISABLE_ACCESS */);

	*p = 1;
	why = "this machine has none";
	if (key < 0 || syscall(SYS_pkey_mprotect, p, page_size, PROT_READ | PROT_WRITE, key))
		return NULL;
	return p;
}

static char *poisoned(void)
{
	char *p = new_pages(page_size);
	bool able;

	*p = 1;
	/* The kernel may send a signal at once */
	may_end = true;
	able = sigsetjmp(elsewhere, 1) || !madvise(p, page_size, MADV_HWPOISON);
	may_end = false;
	why = "this kernel cannot inject it";
	return able ? p : NULL;
}

static const struct access {
	const char *name;
	char *(*set_up)(void);
	enum how how;
	struct expect_fault x;
} accesses[] = {
	/* Its vm_operations may want the mmap lock */
	{ "shared memory, System V", sysv, WRITE_IT,
	  { "MINOR", WRITE | USER, SHMEM, RETRIED_VMA | RETRIED_MMAP, 0, ANY } },
	{ "hugetlb", hugetlb, WRITE_IT, { "MINOR", WRITE | USER, HUGETLB, 0, 0, ANY } },
	{ "hugetlb, copy-on-write", hugetlb_with_fork, WRITE_IT,
	  { "MINOR", PROT | WRITE | USER, HUGETLB | COW, 0, 0, ANY } },
	/* The signal always says PROT, the event what the CPU said */
	{ "SIGSEGV, kernel address", kernel_address, READ_IT,
	  { "SIGNAL", PROT | USER, .signo = SIGSEGV, .code = SEGV_MAPERR } },
	{ "SIGSEGV, protection key", with_key, READ_IT,
	  { "SIGNAL", PROT | USER | PK, .signo = SIGSEGV, .code = SEGV_PKUERR } },
	{ "hardware poison", poisoned, READ_IT,
	  { "SIGNAL", USER, ANON, 0, VM_FAULT_HWPOISON, .signo = SIGBUS,
	    .code = BUS_MCEERR_AR } },
};

static void test_access(const struct access *a)
{
	char *p = a->set_up();

	if (!p)
		skip(a->name, why);
	else
		result(access_is(p, a->how, &a->x), a->name);
	if (holder) {
		kill(holder, SIGKILL);
		waitpid(holder, NULL, 0);
		holder = 0;
	}
}

/*
 * The page fault of a call of a vsyscall, whose first argument is a pointer. The last one's
 * own fault nests another one, and sends the signal after that has ended
 */
static const struct vsyscall {
	const char *name;
	int at;
	struct expect_fault x;
} vsyscalls[] = {
	{ "vsyscall", 0, { "ARCH" } },
	{ "vsyscall at no entry", 1,
	  { "SIGNAL", .signo = SIGSEGV, .code = SI_KERNEL } },
	{ "vsyscall with a bad pointer", 0,
	  { "SIGNAL", .signo = SIGSEGV, .code = SEGV_MAPERR } },
	{ "vsyscall with a pointer to nowhere", 0,
	  { "SIGNAL", .signo = SIGSEGV, .code = SI_KERNEL } },
};

#ifdef __x86_64__
static void test_vsyscall(const struct vsyscall *v)
{
	void *at = (void *)(0xffffffffff600000UL + v->at), *pointer;
	char *maps = get("/proc/self", "maps"), *nowhere = new_pages(page_size);
	char *there = maps ? strstr(maps, "[vsyscall]") : NULL;
	struct expect_fault x = v->x;
	struct timespec unused[2];

	if (!there) {
		skip(v->name, "this kernel has none");
		return;
	}
	munmap(nowhere, page_size);
	pointer = x.code == SEGV_MAPERR ? (void *)-4096UL : x.signo ? nowhere : (void *)unused;
	/* In mode "xonly", the page is not there at all */
	x.access = USER | INSTR | (strstr(maps, "-ffffffffff601000 r") ? PROT : 0);
	free(maps);
	trace_faults(at, 1);
	/* Printed as a symbol, like any address of the kernel's half */
	trap_ip = 0;
	may_end = true;
	if (!sigsetjmp(elsewhere, 1))
		((long (*)(void *, void *))at)(pointer, NULL);
	may_end = false;
	trace_end();
	/* The signal is not of the address that faulted */
	trap_info.si_addr = at;
	result(faults_match(&x, at), v->name);
}
#else
static void test_vsyscall(const struct vsyscall *v)
{
	skip(v->name, "this program is 32-bit");
}
#endif

/* The allocator fails OOMS times, for this task only */
static void test_oom(void)
{
	static const char * const settings[][2] = {
		{ "ignore-gfp-highmem", "N" }, { "ignore-gfp-wait", "N" }, { "min-order", "0" },
		{ "verbose", "0" },
	};
	const char *dir = "/sys/kernel/debug/fail_page_alloc";
	int minor = 0, oom = 0, wrong = 0;
	char *p = new_pages(page_size);
	struct pagefault r;

	if (put("/proc/self", "make-it-fail", "1") || put(dir, "task-filter", "Y")) {
		skip("no memory", "this kernel has no FAIL_PAGE_ALLOC");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		must(put(dir, settings[i][0], "%s", settings[i][1]), settings[i][0]);
	must(put(dir, "times", "%d", OOMS), "times");
	trace_faults(p, 1);
	must(put(dir, "probability", "100"), "probability");
	raise_write(p);
	put("/proc/self", "make-it-fail", "0");
	put(dir, "probability", "0");
	trace_end();

	for_each_record(next_pagefault, &r, fault_instance, -1) {
		if (!strcmp(r.event, "entry"))
			continue;
		minor += !strcmp(r.outcome, "MINOR");
		oom += !strcmp(r.outcome, "OOM");
		wrong += !r.duration || r.signo ||
			 !!(r.vm_fault & VM_FAULT_OOM) != !strcmp(r.outcome, "OOM");
	}
	ksft_print_msg("%d OOM, %d minor, %d wrong\n", oom, minor, wrong);
	result(oom >= 1 && oom <= OOMS && minor == 1 && !wrong && *p == 1, "no memory");
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

	for_each_record(next_pagefault, &r, fault_instance, cpu)
		n++;
	return n;
}

/* The fault begins on CPU 0, and ends on another one */
static void test_moved(void)
{
	const char *name = "held by userfaultfd, and moved to another CPU";
	char *p = new_pages(page_size);
	struct server s = { .fd = wait_for_pages(p, page_size), .p = p, .first = move_to_cpu_1 };
	bool major, good;

	if (s.fd < 0 || cpus() == 1) {
		skip(name, "no userfaultfd, or a single CPU");
		close(s.fd);
		return;
	}
	pin(0);
	trace_faults(p, 1);
	major = read_held(&s, p);
	trace_end();
	pin(0);
	good = faults_match(&(struct expect_fault){
		.outcome = major ? "MAJOR" : "MINOR", .access = USER,
		.flags = ANON | USERFAULTFD | (major ? RETRIED_MMAP : RETRIED_VMA),
		.vm_fault_either = ANY, .min_ns = HOLD_MS * 1000000ULL }, p);
	result(good && records_on(0) == 1 && records_on(1) == 1, name);
	close(s.fd);
}

/*
 * What the module trap_test raises in kernel mode: those after "stale TLB entry" only if named
 */
static void test_oops(void);
static void test_probe_oops(void);
static void test_reenter(void);

static const struct raised {
	const char *what, *name, *outcome;
	void (*test)(void);
} raised[] = {
	{ "spurious", "stale TLB entry", "ARCH" },
	{ "kfence", "KFENCE", "ARCH" },
	{ "oops", "oops: an entry and no exit", NULL, test_oops },
	{ "probe-oops", "oops in a probe", NULL, test_probe_oops },
	{ "reenter", "fault in state KPROBE_REENTER", NULL, test_reenter },
};

static void test_raised(const struct raised *t)
{
	int entries = 0, good = 0, exits = 0, error;
	struct pagefault r;

	if (access(FAULT_FILE, W_OK)) {
		skip(t->name, NO_TRAP_TEST);
		return;
	}
	if (t->test) {
		t->test();
		return;
	}
	must(put(fault_instance, "trace", " "), "trace");
	must(put(fault_instance, "events/pagefault/filter", "common_pid == %d && user_mode == 0",
		 getpid()), "filter");
	must(put(fault_instance, "events/pagefault/pagefault_entry/enable", "1"), "enable");
	must(put(fault_instance, "events/pagefault/pagefault_exit/enable", "1"), "enable");
	error = put(TRAP_TEST, "fault", "%s", t->what);
	trace_end();
	for_each_record(next_pagefault, &r, fault_instance, -1) {
		bool is_exit = !strcmp(r.event, "exit");

		entries += !strcmp(r.event, "entry");
		exits += is_exit;
		good += is_exit && !strcmp(r.outcome, t->outcome) && r.duration && !r.signo &&
			!r.vm_fault;
		if (is_exit && strcmp(r.outcome, t->outcome))
			ksft_print_msg("%s at 0x%llx\n", r.outcome, r.address);
	}
	if (error == -EOPNOTSUPP)
		skip(t->name, "not on this machine");
	else
		result(good == 1 && entries == exits && !error, t->name);
}

/*
 * A probe faults at each event, or an NMI does as well that it raises. The events
 * show only the faults of the program; the others are suppressed and counted.
 */
static void test_probe(const char *does, const char *name, unsigned int each)
{
	char *p = new_pages(PROBED * page_size);
	int fd = open(FAULT_PROBE, O_WRONLY), events = 0, own = 0, wrong = 0;
	unsigned long suppressed;
	struct pagefault r;

	if (fd < 0) {
		skip(name, NO_TRAP_TEST);
		return;
	}
	must(put(fault_instance, "events/pagefault/filter", "common_pid == %d", getpid()),
	     "filter");
	must(put(fault_instance, "events/pagefault/enable", "1"), "enable");
	suppressed = suppressed_pagefaults();
	must(put(fault_instance, "trace", " "), "trace");
	if (write(fd, does, strlen(does)) < 0)
		ksft_exit_fail_msg("%s: %s\n", FAULT_PROBE, strerror(errno));
	for (int i = 0; i < PROBED; i++)
		raise_write(p + i * page_size);
	close(fd);
	suppressed = suppressed_pagefaults() - suppressed;
	trace_end();
	for_each_record(next_pagefault, &r, fault_instance, -1) {
		events++;
		own += r.address >= (unsigned long)p &&
		       r.address < (unsigned long)p + PROBED * page_size;
		wrong += r.address == -(unsigned long)page_size;
	}
	ksft_print_msg("%d events, %d of them expected, %d of the probe, %lu suppressed\n",
		       events, own, wrong, suppressed);
	result(own == 2 * PROBED && !wrong && suppressed >= each * own &&
	       suppressed <= each * events, name);
}

/* In this state, a kprobe of the tracer would be a BUG(): so the fault is suppressed */
static void test_reenter(void)
{
	unsigned long suppressed = suppressed_pagefaults();
	struct pagefault r;
	int n = 0, error;

	if (access(FAULT_FILE, W_OK)) {
		skip("fault in state KPROBE_REENTER", NO_TRAP_TEST);
		return;
	}
	must(put(TRACING, "kprobe_events", "p:fault_test/tracer trace_event_buffer_reserve"),
	     "kprobe");
	must(put(TRACING, "events/fault_test/tracer/enable", "1"), "kprobe");
	trace_faults((void *)-page_size, 1);
	error = put(TRAP_TEST, "fault", "reenter");
	trace_end();
	put(TRACING, "events/fault_test/tracer/enable", "0");
	put(TRACING, "kprobe_events", "-:fault_test/tracer");
	for_each_record(next_pagefault, &r, fault_instance, -1)
		n++;
	suppressed = suppressed_pagefaults() - suppressed;
	ksft_print_msg("%d events, %lu suppressed, error %d\n", n, suppressed, error);
	result(!error && !n && suppressed, "fault in state KPROBE_REENTER");
}

/* A waiter for the probe that never returned would never end: leave all as it is */
static bool events_stuck;

/*
 * A probe of pagefault_entry oopses. The faults of the dying task have events: its
 * record does not silence them.
 */
static void test_probe_oops(void)
{
	char *dying = new_pages(2 * page_size), *probed = dying + page_size;
	int fd = open(FAULT_PROBE, O_WRONLY), good = 0, entries = 0, wrong = 0, status = 0;
	static const struct expect_fault on_exit = { "MINOR", WRITE, ANON, .kernel = true };
	unsigned long suppressed = suppressed_pagefaults();
	struct pagefault r;
	pid_t child;

	if (fd < 0) {
		skip("oops in a probe", NO_TRAP_TEST);
		return;
	}
	pin(0);
	trace_all_faults(dying, 2 * page_size);
	events_stuck = true;
	child = vfork();
	if (!child) {
		syscall(SYS_set_tid_address, dying);
		if (write(fd, "oops", 4) == 4)
			asm volatile("movb $1, (%0)" : : "r" (probed) : "memory");
		_exit(0);
	}
	waitpid(child, &status, 0);
	for_each_record(next_pagefault, &r, fault_instance, -1) {
		if (r.address == (unsigned long)dying)
			good += fault_matches(&r, &on_exit, dying);
		else if (r.address == (unsigned long)probed && !strcmp(r.event, "entry"))
			entries++;
		else
			wrong++;
	}
	suppressed = suppressed_pagefaults() - suppressed;
	ksft_print_msg("%d entries, %d good, %d wrong, %lu suppressed, status 0x%x\n", entries,
		       good, wrong, suppressed, status);
	result(entries == 1 && good == 2 && !wrong && suppressed && WIFSIGNALED(status),
	       "oops in a probe");
}

/*
 * An oops kills the child, and its fault has no exit event. A later fault of
 * the dying child has both events, and so has a fault of another task.
 */
static void test_oops(void)
{
	static const struct expect_fault on_exit = { "MINOR", WRITE, ANON, .kernel = true };
	static const struct expect_fault of_other = { "MINOR", WRITE | USER, ANON };
	char *dying = new_pages(2 * page_size), *other = dying + page_size;
	int oopsed = 0, good = 0, wrong = 0, status = 0;
	struct pagefault r;
	pid_t child;

	/* All on one CPU */
	pin(0);
	trace_all_faults(dying, 2 * page_size);
	must(put(fault_instance, "events/pagefault/filter",
		 "address == 8 || address == 0x%lx || address == 0x%lx",
		 (unsigned long)dying, (unsigned long)other), "filter");
	/* The child shares the memory, so the kernel writes to the tid when it ends */
	child = vfork();
	if (!child) {
		syscall(SYS_set_tid_address, dying);
		put(TRAP_TEST, "fault", "oops");
		_exit(0);
	}
	waitpid(child, &status, 0);
	raise_write(other);
	trace_end();
	for_each_record(next_pagefault, &r, fault_instance, -1) {
		if (r.address == 8 && !strcmp(r.event, "entry") && !strcmp(r.mode, "kernel"))
			oopsed++;
		else if (r.address == (unsigned long)dying)
			good += fault_matches(&r, &on_exit, dying);
		else if (r.address == (unsigned long)other)
			good += fault_matches(&r, &of_other, other);
		else
			wrong++;
	}
	ksft_print_msg("%d oopsed, %d good, %d wrong, status 0x%x\n", oopsed, good, wrong,
		       status);
	result(oopsed == 1 && good == 4 && !wrong && WIFSIGNALED(status),
	       "oops: an entry and no exit");
}

static const struct raised *find_raised(const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(raised); i++)
		if (!strcmp(raised[i].what, what))
			return &raised[i];
	ksft_exit_fail_msg("no test '%s': see the head of the file\n", what);
}

int main(int argc, char **argv)
{
	start_pagefaults("ways");
	call_first(end_elsewhere);
	if (argc > 1) {
		ksft_set_plan(argc - 1);
		for (int i = 1; i < argc; i++)
			test_raised(find_raised(argv[i]));
		if (events_stuck) {
			ksft_print_cnts();
			fflush(stdout);
			_exit(ksft_get_fail_cnt() ? KSFT_FAIL : KSFT_PASS);
		}
		ksft_finished();
	}

	ksft_set_plan(ARRAY_SIZE(accesses) + ARRAY_SIZE(vsyscalls) + 6);
	for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
		test_access(&accesses[i]);
	if (old_hugepages)
		put("/proc/sys/vm", "nr_hugepages", "%s", old_hugepages);
	for (size_t i = 0; i < ARRAY_SIZE(vsyscalls); i++)
		test_vsyscall(&vsyscalls[i]);
	test_oom();
	test_moved();
	test_probe("fault", "faults of a probe", 1);
	test_probe("nmi", "faults of a probe, and of an NMI in it", 2);
	test_reenter();
	test_raised(&raised[0]);
	ksft_finished();
}
