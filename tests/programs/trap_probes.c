// SPDX-License-Identifier: GPL-2.0
/*
 * Test the recursion guard of the trap trace events: make the probes raise
 * traps themselves, in many ways, and check that
 *
 *  - none of these is traced (a nested event),
 *  - none of the others is missing (an outer event),
 *  - what was not traced is counted, at its entry and at its exit.
 *
 * Each test verifies by other means that the probes did trap. The outer traps are
 * INT3s of user mode, raised with a frame pointer to memory that has no page
 * yet: a probe that walks the stack faults there. Such a fault fires the page fault
 * events, whose probes must not raise one more: without these events, such tests
 * are skipped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor.h"
#include "trap_probes.h"

const char *instance, *why;
static const char *second;
bool pagefaults;
char mine[64];
static pid_t tester;

char *pages;
static sig_atomic_t signals;

static int count_faults(void)
{
	return count_lines(instance, ": page_fault_kernel: ");
}

static int kernel_breakpoint(const char *symbol)
{
	__u64 address = kernel_symbol(symbol);

	return address ? breakpoint(address, true) : -1;
}

/*
 * What makes the probes trap. A test is run by measured(), or by a function of its own
 */
#define USER_STACKS	0x1
#define STACKS		0x2	/* of the kernel */
#define WATCH_FAULTS	0x4	/* count the faults of the probes */
#define SECOND		0x8	/* with two instances, the tracepoint calls the iterator */
#define KPROBES		0x10
#define BREAKPOINT	0x20

struct test {
	const char *name;		/* the part before the colon asks for it */
	bool by_faults;			/* the probes raise page faults only */
	bool (*run)(void);
	unsigned int probes;
	int hits, suppressed;		/* at least so many for each trap */
	const char *symbols[4];		/* for kprobes or a breakpoint */
};

static int breakpoint_fd;

static bool set_up(const struct test *t)
{
	bool able = true;
	int kprobes = 0;

	for (int i = 0; i < (t->probes & SECOND ? 2 : 1); i++) {
		const char *in = i ? second : instance;

		able &= !(t->probes & USER_STACKS) || option(in, "userstacktrace", true);
		able &= !(t->probes & STACKS) || option(in, "stacktrace", true);
	}
	able &= !(t->probes & WATCH_FAULTS) || watch_faults(true);
	if (t->probes & KPROBES) {
		for (size_t i = 0; i < ARRAY_SIZE(t->symbols) && t->symbols[i]; i++)
			kprobes += !!add_kprobe("kprobe", t->symbols[i]);
		ksft_print_msg("%d kprobes\n", kprobes);
		able &= kprobes && !put(instance, "events/trap_test/enable", "1");
	}
	if (t->probes & BREAKPOINT) {
		breakpoint_fd = kernel_breakpoint(t->symbols[0]);
		able &= breakpoint_fd >= 0;
	}
	if (able && t->probes & SECOND)
		all_on(second);
	return able;
}

static void tear_down(const struct test *t)
{
	if (t->probes & SECOND)
		all_off(second);
	for (int i = 0; i < 2; i++) {
		option(i ? second : instance, "userstacktrace", false);
		option(i ? second : instance, "stacktrace", false);
	}
	if (t->probes & BREAKPOINT)
		close(breakpoint_fd);
	remove_kprobes();
}

static unsigned long hits_of(const struct test *t)
{
	__u64 hits = 0;

	if (t->probes & WATCH_FAULTS)
		return count_faults();
	if (t->probes & KPROBES)
		return kprobe_hits("kprobe");
	if (t->probes & BREAKPOINT && read(breakpoint_fd, &hits, sizeof(hits)) != sizeof(hits))
		return 0;
	return hits;
}

static bool measured(const struct test *t)
{
	struct outcome o, of_second;
	unsigned long hits;
	bool fine;

	if (!set_up(t)) {
		tear_down(t);
		why = "no such probe here";
		return false;
	}
	o = measure(ROUNDS);
	hits = hits_of(t);
	tear_down(t);
	ksft_print_msg("%lu hits\n", hits);
	fine = good(&o, ROUNDS) && hits >= (unsigned long)t->hits * ROUNDS &&
	       o.suppressed >= (unsigned long)t->suppressed * ROUNDS;
	if (t->probes & SECOND) {
		of_second = count(second, BP);
		fine &= good(&of_second, ROUNDS);
	}
	/* Each of these faults is traced once */
	return fine && (!t->by_faults || hits == o.faults);
}

static bool is_at(const struct event *e, const char *symbol, int offset)
{
	char ip[IP_SIZE];

	snprintf(ip, sizeof(ip), "%s+0x%x/", symbol, offset + 1);
	return !strncmp(e->ip, ip, strlen(ip));
}

/*
 * A kprobe in the handler of another: arch_stack_walk() is called for the stack
 * trace of a kprobe event. Both are outer traps; but in the probe of a trap
 * event, which makes a stack trace as well, the inner one is a nested trap. One
 * more kprobe in the tracer is a third one, for which kprobes have no room.
 */
static bool test_kprobe_in_kprobe(void)
{
	static const char * const syscalls[] = {
		"__do_sys_getppid", "__ia32_sys_getppid", "sys_getppid",
	};
	int outer = 0, inner, entries = 0, inner_entries = 0, exits = 0;
	unsigned long before, hits;
	const char *symbol = NULL;
	bool in_outer = false;
	struct event e;

	for (size_t i = 0; i < ARRAY_SIZE(syscalls) && !outer; i++) {
		symbol = syscalls[i];
		outer = add_kprobe("outer", symbol);
	}
	inner = add_kprobe("inner", "arch_stack_walk");
	if (!outer || !inner || !add_kprobe("third", "trace_event_buffer_lock_reserve") ||
	    !option(instance, "stacktrace", true)) {
		remove_kprobes();
		why = "no kprobe, or no stack traces";
		return false;
	}
	put(instance, "events/trap_test/filter", "%s", mine);
	before = suppressed();
	hits = kprobe_hits("inner");
	trace_on(instance, mine);
	must(put(instance, "events/trap_test/enable", "1"), "kprobes");
	for (int i = 0; i < ROUNDS; i++)
		syscall(SYS_getppid);
	must(put(instance, "events/trap_test/enable", "0"), "kprobes");
	trace_off(instance);
	option(instance, "stacktrace", false);

	/* Elsewhere, lockdep walks the stack as well */
	for_each_record(next_event, &e, instance, -1) {
		if (e.user || e.vector != BP)
			continue;
		if (is_at(&e, symbol, outer)) {
			in_outer = !e.exit;
			entries += !e.exit;
		} else if (!in_outer) {
			continue;
		} else if (!e.exit && is_at(&e, "arch_stack_walk", inner)) {
			inner_entries++;
		}
		exits += e.exit ? 1 : -1;
	}
	hits = kprobe_hits("inner") - hits;
	remove_kprobes();
	before = suppressed() - before;
	ksft_print_msg("%d calls, %d + %d entries, %d exits too many, %lu hits, %lu suppressed\n",
		       ROUNDS, entries, inner_entries, exits, hits, before);
	return entries == ROUNDS && inner_entries == ROUNDS && !exits && hits > 2 * ROUNDS &&
	       before >= 2 * ROUNDS;
}

/*
 * A stack walk that hits a watchpoint of a debugger. DR6 must not report this,
 * as the task itself did not touch the watched memory.
 */
static bool test_watchpoint(void)
{
	const unsigned long enable = 1, read_write = 3 << 16;
	const unsigned long length = sizeof(long) == 8 ? 2 << 18 : 3 << 18;
	static unsigned long frame[2];
	unsigned long before;
	int status, raised = 0;
	bool wrong = false;
	pid_t child;

	child = must_fork();
	if (!child) {
		/* A page of its own: no fault, but a hit */
		memset(frame, 0, sizeof(frame));
		pages = (char *)frame;
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		raise_many(ROUNDS);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[0]), frame) ||
	    ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[7]),
		   enable | read_write | length) ||
	    !option(instance, "userstacktrace", true)) {
		why = strerror(errno);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		return false;
	}
	before = suppressed();
	trace_on(instance, "vector == 3");
	while (!ptrace(PTRACE_CONT, child, 0, 0) &&
	       waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		wrong |= ptrace(PTRACE_PEEKUSER, child, offsetof(struct user, u_debugreg[6]),
				0) & 1;
		raised++;
	}
	trace_off(instance);
	option(instance, "userstacktrace", false);
	before = suppressed() - before;
	ksft_print_msg("%d raised, %lu suppressed, DR6 %s\n", raised, before,
		       wrong ? "has the bit set" : "is clear");
	return raised == ROUNDS && !wrong && before >= 4 * ROUNDS;
}

static bool test_single_step(void)
{
	const int steps = STEPS + 3;
	struct outcome o;

	if (!option(instance, "userstacktrace", true)) {
		why = "no such option";
		return false;
	}
	all_on(instance);
	signals = 0;
	raise_steps();
	all_off(instance);
	option(instance, "userstacktrace", false);
	o = count(instance, DB);
	return signals == steps && good(&o, steps) && o.faults >= 2UL * steps;
}

/*
 * A probe of a module's: trap_test attaches it
 */
static bool test_probe(void)
{
	static const unsigned int vectors[] = { 0, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 16, 17, 19 };
	bool all_good = true;
	struct outcome o;
	char what[16];
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		if (vectors[i] == PF && !pagefaults)
			continue;
		snprintf(what, sizeof(what), "%u", vectors[i]);
		fd = attach_probe(what);
		if (fd < 0) {
			why = NO_TRAP_TEST;
			return false;
		}
		o = measure(ROUNDS);
		close(fd);
		/* It raises one at each entry and at each exit */
		all_good &= good(&o, ROUNDS) &&
			    (vectors[i] == PF ? o.faults / 2 : o.suppressed / 4) >= ROUNDS;
		if (!all_good)
			ksft_print_msg("vector %u\n", vectors[i]);
	}
	return all_good;
}

/* An NMI in the probe, a #GP in the NMI, and a #GP after the NMI are suppressed and counted */
static bool test_nmi_in_probe(void)
{
	int nested = 0, probed = 0;
	unsigned long before;
	struct event e;
	int fd;

	fd = attach_probe("2 13");
	if (fd < 0) {
		why = NO_TRAP_TEST;
		return false;
	}
	before = suppressed();
	trace_on(instance, mine);
	raise_many(ROUNDS);
	trace_off(instance);
	close(fd);
	before = suppressed() - before;

	for_each_record(next_event, &e, instance, -1) {
		nested += !e.user;
		probed += e.user;
	}
	ksft_print_msg("%d probes, %d nested, %lu suppressed\n", probed, nested, before);
	return probed == 2 * ROUNDS && !nested && before >= 6UL * probed;
}

static const struct test tests[] = {
	{ "userstacktrace: 100 traps", true, NULL, USER_STACKS | WATCH_FAULTS, 2, 0 },
	{ "instances: two, with stack traces", true, NULL,
	  SECOND | USER_STACKS | STACKS | WATCH_FAULTS, 4, 0 },
	{ "kprobe-in-tracer: on four functions", false, NULL, KPROBES | USER_STACKS, 2, 4,
	  { "ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
	    "trace_event_buffer_reserve", "stack_trace_save_user" } },
	{ "kprobe-in-iterator: two instances", false, NULL, KPROBES | SECOND, 1, 2,
	  { "__traceiter_trap_entry" } },
	{ "kprobe-in-kprobe: with stack traces", false, test_kprobe_in_kprobe },
	{ "breakpoint: in the tracer", false, NULL, BREAKPOINT, 2, 4,
	  { "trace_event_buffer_lock_reserve" } },
	{ "watchpoint: of a debugger", false, test_watchpoint },
	{ "single-step: with userstacktrace", true, test_single_step },
	{ "probe: that raises traps", false, test_probe },
	{ "nmi: in a probe, with a #GP", false, test_nmi_in_probe },
	{ "nmi-outside: from outside, in a probe", false, test_nmi_outside },
	{ "mc-outside: from outside, in a probe", false, test_mc_outside },
	{ "mc-kprobe: in its handler, with user callchains", false, test_mc_kprobe },
};

static char *optimization;

static void clean_up(void)
{
	if (getpid() != tester)
		return;
	remove_kprobes();
	if (optimization)
		put("/proc/sys/debug", "kprobes-optimization", "%s", optimization);
}

static void on_sigtrap(int signal)
{
	signals++;
}

static bool asked(const struct test *t, int n, char **names)
{
	size_t length = strcspn(t->name, ":");

	for (int i = 0; i < n; i++)
		if (strlen(names[i]) == length && !strncmp(names[i], t->name, length))
			return true;
	return !n;
}

/* Run the tests that are named, or all of them */
int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_sigtrap };
	int plan = 0;

	start("trap/trap_exit");
	start_monitor();
	if (access(SUPPRESSED, R_OK))
		ksft_exit_fail_msg("no %s\n", SUPPRESSED);
	sigaction(SIGTRAP, &sa, NULL);
	/* An optimized kprobe is a jump, and no INT3 */
	optimization = get("/proc/sys/debug", "kprobes-optimization");
	put("/proc/sys/debug", "kprobes-optimization", "0");
	tester = getpid();
	snprintf(mine, sizeof(mine), "common_pid == %d", tester);
	atexit(clean_up);
	instance = make_instance("guard");
	second = make_instance("second");
	pages = new_pages(1 << 16);
	pagefaults = pagefaults_fire();
	pin(0);

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		plan += asked(&tests[i], argc - 1, argv + 1);
	if (!plan || plan < argc - 1)
		ksft_exit_fail_msg("usage: trap_probes [TEST]..., with tests of its table\n");
	ksft_set_plan(plan);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		const struct test *t = &tests[i];
		bool passed;

		if (!asked(t, argc - 1, argv + 1))
			continue;
		why = t->by_faults && !pagefaults ? "this kernel has no page fault events" : NULL;
		passed = !why && (t->run ? t->run() : measured(t));
		if (why)
			skip(t->name, why);
		else
			result(passed, t->name);
	}
	ksft_finished();
}
