// SPDX-License-Identifier: GPL-2.0
/*
 * Test the recursion guard of the trap trace events: make the probes raise
 * traps themselves, in many ways, and check that
 *
 *  - none of these is traced (a nested event),
 *  - none of the others is missing (an outer event),
 *  - what was not traced is counted: a page fault once, other traps at their
 *    entry and at their exit.
 *
 * Each test verifies by other means that the probes did trap. The outer traps are
 * INT3s of user mode, raised with a frame pointer to memory that has no page
 * yet: a probe that walks the stack faults there. Page faults have events of their
 * own, which use the same guard: without these, such tests are skipped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor.h"
#include "trap_probes.h"

const char *instance, *second;
bool pagefaults;
static pid_t tester;

/* Where stack walks fault: the ip of page_fault_kernel, see count_faults() */
char walk[IP_SIZE];
char *pages;
sig_atomic_t signals;

/*
 * ftrace
 */
int count_faults(void)
{
	int faults = 0;
	char line[512];
	FILE *f;

	f = open_trace(instance, -1);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, ": page_fault_kernel:"))
			continue;
		faults++;
		if (sscanf(strstr(line, " ip="), " ip=%159s", walk) != 1)
			walk[0] = '\0';
	}
	fclose(f);
	return faults;
}

static void test_userstacktrace(void)
{
	struct outcome o;
	int faults;

	if (!option(instance, "userstacktrace", true) || !watch_faults(true)) {
		option(instance, "userstacktrace", false);
		ksft_test_result_skip("userstacktrace: 100 traps: %s\n",
				      "no userstacktrace, or no page_fault_kernel");
		return;
	}
	o = measure(instance, ROUNDS);
	option(instance, "userstacktrace", false);
	faults = count_faults();
	ksft_print_msg("%d page faults\n", faults);
	ksft_test_result(good(&o, ROUNDS) && faults >= 2 * ROUNDS &&
			 o.suppressed == (unsigned long)faults,
			 "userstacktrace: 100 traps\n");
}

/* The hitcount of a vector in a histogram over vector and user_mode */
static int hist_count(const char *event, unsigned int vector, bool user)
{
	unsigned int v, u;
	char file[64];
	int n, sum = 0;
	char *text;

	snprintf(file, sizeof(file), "events/trap/%s/hist", event);
	text = get(instance, file);
	for (char *at = text; at && (at = strstr(at, "{ vector:")); at++)
		if (sscanf(at, "{ vector: %u, user_mode: %u } hitcount: %d",
			   &v, &u, &n) == 3 &&
		    u == user && (vector == v || vector == -1U))
			sum += n;
	free(text);
	return sum;
}

static bool hist_triggers(const char *instance, bool on)
{
	static const char * const events[] = { "trap_entry", "trap_exit" };
	bool done = true;

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		char file[64];

		snprintf(file, sizeof(file), "events/trap/%s/trigger", events[i]);
		done &= !put(instance, file,
			     "%shist:keys=vector,user_mode if common_pid == %d",
			     on ? "" : "!", getpid());
	}
	return done;
}

/* More than the ring buffer holds: histograms count */
static void test_many(void)
{
	struct outcome o = { 0 };
	unsigned long before;
	char filter[64];

	if (!option(instance, "userstacktrace", true) ||
	    !hist_triggers(instance, true)) {
		option(instance, "userstacktrace", false);
		ksft_test_result_skip("many: 100000 traps, with histograms: %s\n",
				      "no userstacktrace, or no histograms");
		return;
	}
	before = suppressed();
	mine(filter, sizeof(filter));
	all_on(instance, filter);
	for (int i = 0; i < MANY_ROUNDS; i++)
		raise_bp_in_frame(pages);
	all_off(instance);
	o.entries = hist_count("trap_entry", BP, true);
	o.exits = hist_count("trap_exit", BP, true);
	o.nested = hist_count("trap_entry", -1U, false) + hist_count("trap_exit", -1U, false);
	o.suppressed = suppressed() - before;
	hist_triggers(instance, false);
	option(instance, "userstacktrace", false);
	ksft_test_result(good(&o, MANY_ROUNDS) &&
			 o.suppressed >= 2UL * MANY_ROUNDS,
			 "many: 100000 traps, with histograms\n");
}

static void test_instances(void)
{
	const char * const both[] = { instance, second };
	struct outcome o, of_second;
	char filter[64];
	bool able = true;

	mine(filter, sizeof(filter));
	for (int i = 0; i < 2; i++)
		able &= option(both[i], "userstacktrace", true) &
			option(both[i], "stacktrace", true) &
			hist_triggers(both[i], true);
	if (able) {
		all_on(second, filter);
		o = measure(instance, ROUNDS);
		all_off(second);
		of_second = count(second, BP);
	}
	for (int i = 0; i < 2; i++) {
		option(both[i], "userstacktrace", false);
		option(both[i], "stacktrace", false);
		hist_triggers(both[i], false);
	}
	if (!able) {
		ksft_test_result_skip("instances: two, with stack traces: %s\n",
				      "no stack traces, or no histograms");
		return;
	}
	ksft_test_result(good(&o, ROUNDS) & good(&of_second, ROUNDS) &&
			 o.suppressed >= 4 * ROUNDS,
			 "instances: two, with stack traces\n");
}

static void test_perf(void)
{
	struct outcome o = { 0 };
	unsigned long before;
	struct ring rings[2];
	char filter[64];
	int lost = 0;

	if (!open_ring(&rings[0], "trap/trap_entry") ||
	    !open_ring(&rings[1], "trap/trap_exit")) {
		ksft_test_result_skip("perf: with user callchains: %s\n",
				      strerror(errno));
		close(rings[0].fd);
		return;
	}
	mine(filter, sizeof(filter));
	before = suppressed();
	all_on(second, filter);
	for (int i = 0; i < ROUNDS; i++)
		raise_bp_in_frame(pages);
	all_off(second);
	ioctl(rings[0].fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(rings[1].fd, PERF_EVENT_IOC_DISABLE, 0);
	o.suppressed = suppressed() - before;
	o.nested = count(second, BP).nested;
	read_ring(&rings[0], &o.entries, &o.nested, &lost);
	read_ring(&rings[1], &o.exits, &o.nested, &lost);
	ksft_test_result(good(&o, ROUNDS) && !lost &&
			 o.suppressed >= 2 * ROUNDS,
			 "perf: with user callchains\n");
}

static void test_bpf(void)
{
	int map = bpf_counter();
	int program = map < 0 ? -1 : bpf_faulting_program(map);
	int entry = program < 0 ? -1 : attach_bpf("trap/trap_entry", program);
	int exit = entry < 0 ? -1 : attach_bpf("trap/trap_exit", program);
	struct outcome o;
	__u64 hits;

	if (exit < 0) {
		ksft_test_result_skip("bpf: a program that faults: %s\n", strerror(errno));
		close(entry);
		close(program);
		close(map);
		return;
	}
	o = measure(instance, ROUNDS);
	hits = bpf_count(map);
	close(exit);
	close(entry);
	close(program);
	close(map);
	ksft_print_msg("%llu reads failed\n", (unsigned long long)hits);
	ksft_test_result(good(&o, ROUNDS) && hits >= 2 * ROUNDS &&
			 o.suppressed >= 2 * ROUNDS, "bpf: a program that faults\n");
}

static void test_kprobe_in_tracer(void)
{
	static const char * const symbols[] = {
		"ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
		"trace_event_buffer_reserve", "stack_trace_save_user",
	};
	unsigned long hits = 0, probes = 0;
	struct outcome o;
	char name[16];

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		snprintf(name, sizeof(name), "tracer%zu", i);
		probes += !!add_kprobe(name, symbols[i]);
	}
	if (!probes || !option(instance, "userstacktrace", true) ||
	    put(instance, "events/trap_test/enable", "1")) {
		remove_kprobes();
		option(instance, "userstacktrace", false);
		ksft_test_result_skip("kprobe-in-tracer: on four functions: %s\n",
				      "no kprobe, or no userstacktrace");
		return;
	}
	o = measure(instance, ROUNDS);
	put(instance, "events/trap_test/enable", "0");
	option(instance, "userstacktrace", false);
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		snprintf(name, sizeof(name), "tracer%zu", i);
		hits += kprobe_hits(name);
	}
	remove_kprobes();
	ksft_print_msg("%lu kprobes, %lu hits\n", probes, hits);
	ksft_test_result(good(&o, ROUNDS) && hits >= 2 * ROUNDS &&
			 o.suppressed >= 4 * ROUNDS, "kprobe-in-tracer: on four functions\n");
}

/* With two instances, the tracepoint has two probes and so calls the iterator */
static void test_kprobe_in_iterator(void)
{
	struct outcome o, of_second;
	unsigned long hits;
	char filter[64];

	mine(filter, sizeof(filter));
	if (!add_kprobe("iterator", "__traceiter_trap_entry") ||
	    put(instance, "events/trap_test/enable", "1")) {
		remove_kprobes();
		ksft_test_result_skip("kprobe-in-iterator: two instances: no kprobe\n");
		return;
	}
	trace_on(second, filter);
	o = measure(instance, ROUNDS);
	trace_off(second);
	of_second = count(second, BP);
	put(instance, "events/trap_test/enable", "0");
	hits = kprobe_hits("iterator");
	remove_kprobes();
	ksft_print_msg("%lu hits\n", hits);
	ksft_test_result(good(&o, ROUNDS) & good(&of_second, ROUNDS) &&
			 hits >= ROUNDS && o.suppressed >= 2 * ROUNDS,
			 "kprobe-in-iterator: two instances\n");
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
static void test_kprobe_in_kprobe(void)
{
	static const char * const syscalls[] = {
		"__do_sys_getppid", "__ia32_sys_getppid", "sys_getppid",
	};
	int outer = 0, inner, entries = 0, inner_entries = 0, exits = 0;
	unsigned long before, before_hits, hits;
	const char *symbol = NULL;
	bool in_outer = false;
	char filter[64];
	struct event e;
	FILE *f;

	for (size_t i = 0; i < ARRAY_SIZE(syscalls) && !outer; i++) {
		symbol = syscalls[i];
		outer = add_kprobe("outer", symbol);
	}
	inner = add_kprobe("inner", "arch_stack_walk");
	if (!outer || !inner || !add_kprobe("third", "trace_event_buffer_lock_reserve") ||
	    !option(instance, "stacktrace", true)) {
		remove_kprobes();
		ksft_test_result_skip("kprobe-in-kprobe: with stack traces: %s\n",
				      "no kprobe, or no stack traces");
		return;
	}
	mine(filter, sizeof(filter));
	put(instance, "events/trap_test/filter", "%s", filter);
	before = suppressed();
	before_hits = kprobe_hits("inner");
	trace_on(instance, filter);
	must(put(instance, "events/trap_test/enable", "1"), "kprobes");
	for (int i = 0; i < ROUNDS; i++)
		syscall(SYS_getppid);
	must(put(instance, "events/trap_test/enable", "0"), "kprobes");
	trace_off(instance);
	option(instance, "stacktrace", false);

	/* Elsewhere, lockdep walks the stack as well */
	f = open_trace(instance, -1);
	while (next_event(f, &e)) {
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
	fclose(f);
	hits = kprobe_hits("inner") - before_hits;
	remove_kprobes();
	ksft_print_msg("%d calls, %d + %d entries, %d exits too many, %lu hits, %lu suppressed\n",
		       ROUNDS, entries, inner_entries, exits, hits,
		       suppressed() - before);
	ksft_test_result(entries == ROUNDS && inner_entries == ROUNDS && !exits &&
			 hits > 2 * ROUNDS && suppressed() - before >= 2 * ROUNDS,
			 "kprobe-in-kprobe: with stack traces\n");
}

/*
 * Debug exceptions
 */
int kernel_breakpoint(const char *symbol)
{
	__u64 address = kernel_symbol(symbol);

	return address ? breakpoint(address, true) : -1;
}

static void test_breakpoint(void)
{
	int fd = kernel_breakpoint("trace_event_buffer_lock_reserve");
	__u64 hits = 0;
	struct outcome o;

	if (fd < 0) {
		ksft_test_result_skip("breakpoint: in the tracer: %s\n",
				      strerror(errno));
		return;
	}
	o = measure(instance, ROUNDS);
	if (read(fd, &hits, sizeof(hits)) != sizeof(hits))
		hits = 0;
	close(fd);
	ksft_print_msg("%llu hits\n", (unsigned long long)hits);
	ksft_test_result(good(&o, ROUNDS) && hits >= 2 * ROUNDS &&
			 o.suppressed >= 4 * ROUNDS, "breakpoint: in the tracer\n");
}

/*
 * A stack walk that hits a watchpoint of a debugger. DR6 must not report this,
 * as the task itself did not touch the watched memory.
 */
static unsigned long frame[2];

static void test_watchpoint(void)
{
	const unsigned long enable = 1, read_write = 3 << 16;
	const unsigned long length = sizeof(long) == 8 ? 2 << 18 : 3 << 18;
	unsigned long before, dr6;
	int status, raised = 0;
	bool able, wrong = false;
	pid_t child;

	child = must_fork();
	if (!child) {
		/* A page of its own: no fault, but a hit */
		memset(frame, 0, sizeof(frame));
		pages = (char *)frame;
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		for (int i = 0; i < ROUNDS; i++)
			raise_bp_in_frame(pages);
		_exit(0);
	}
	waitpid(child, &status, 0);
	able = !ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[0]), frame) &&
	       !ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[7]),
		       enable | read_write | length) &&
	       option(instance, "userstacktrace", true);
	before = suppressed();
	trace_on(instance, "vector == 3");
	while (able && !ptrace(PTRACE_CONT, child, 0, 0) &&
	       waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		dr6 = ptrace(PTRACE_PEEKUSER, child, offsetof(struct user, u_debugreg[6]), 0);
		wrong |= dr6 & 1;
		raised++;
	}
	trace_off(instance);
	option(instance, "userstacktrace", false);
	if (!able) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		ksft_test_result_skip("watchpoint: of a debugger: %s\n", strerror(errno));
		return;
	}
	ksft_print_msg("%d raised, %lu suppressed, DR6 %s\n", raised,
		       suppressed() - before, wrong ? "has the bit set" : "is clear");
	ksft_test_result(raised == ROUNDS && !wrong && suppressed() - before >= 4 * ROUNDS,
			 "watchpoint: of a debugger\n");
}

static void test_single_step(void)
{
	unsigned long before = suppressed();
	const int steps = STEPS + 3;
	struct outcome o;
	char filter[64];

	mine(filter, sizeof(filter));
	if (!option(instance, "userstacktrace", true)) {
		ksft_test_result_skip("single-step: with userstacktrace: no such option\n");
		return;
	}
	all_on(instance, filter);
	signals = 0;
	raise_steps();
	all_off(instance);
	option(instance, "userstacktrace", false);
	o = count(instance, DB);
	o.suppressed = suppressed() - before;
	ksft_test_result(signals == steps && good(&o, steps) &&
			 o.suppressed >= 2UL * steps, "single-step: with userstacktrace\n");
}

/*
 * A probe of a module's: trap_test attaches it
 */
static void test_probe(void)
{
	static const unsigned int vectors[] = { 0, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 16, 17, 19 };
	bool all_good = true;

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct outcome o;
		char what[16];
		int fd;

		if (vectors[i] == PF && !have_pagefaults())
			continue;
		snprintf(what, sizeof(what), "%u", vectors[i]);
		fd = attach_probe(what);
		if (fd < 0) {
			ksft_test_result_skip("probe: that raises traps: " NO_TRAP_TEST "\n");
			return;
		}
		o = measure(instance, ROUNDS);
		close(fd);
		/* It raises one at each entry and at each exit */
		all_good &= good(&o, ROUNDS) &&
			    o.suppressed >= (vectors[i] == PF ? 2 : 4) * ROUNDS;
		if (!all_good)
			ksft_print_msg("vector %u\n", vectors[i]);
	}
	ksft_test_result(all_good, "probe: that raises traps\n");
}

/*
 * An NMI in the probe, and a #GP in the NMI, are traced. A #GP that the probe
 * raises after the NMI is suppressed.
 */
static void test_nmi_in_probe(void)
{
	int nmis = 0, gps = 0, unbalanced = 0, probed = 0;
	unsigned long before;
	struct kernel_trap t;
	char filter[64];
	struct event e;
	FILE *f;
	int fd;

	fd = read_kernel_trap(GP, &t) ? attach_probe("2 13") : -1;
	if (fd < 0) {
		ksft_test_result_skip("nmi: in a probe, with a #GP: " NO_TRAP_TEST "\n");
		return;
	}
	mine(filter, sizeof(filter));
	before = suppressed();
	trace_on(instance, filter);
	for (int i = 0; i < ROUNDS; i++)
		raise_bp_in_frame(pages);
	trace_off(instance);
	close(fd);

	f = open_trace(instance, -1);
	while (next_event(f, &e)) {
		if (e.vector == NMI && !e.user)
			unbalanced += e.exit ? -1 : (nmis++, 1);
		else if (e.vector == GP && !e.user &&
			 !strcmp(e.ip, e.exit ? t.exit_ip : t.entry_ip))
			unbalanced += e.exit ? -1 : (gps++, 1);
		else
			probed++;
	}
	fclose(f);
	ksft_print_msg("%d NMIs and %d #GPs in %d probes, %lu suppressed\n",
		       nmis, gps, probed, suppressed() - before);
	ksft_test_result(probed >= 2 * ROUNDS && nmis == probed &&
			 gps == probed && !unbalanced &&
			 suppressed() - before >= 2UL * probed,
			 "nmi: in a probe, with a #GP\n");
}

void result(bool good, const char *what)
{
	ksft_test_result(good, "%s\n", what);
}

void skipped(const char *what, const char *why)
{
	ksft_test_result_skip("%s: %s\n", what, why);
}

static const struct {
	const char *name;
	void (*run)(void);
	bool by_faults;			/* the probes raise page faults only */
} tests[] = {
	{ "userstacktrace", test_userstacktrace, true },
	{ "many", test_many, true },
	{ "instances", test_instances, true },
	{ "perf", test_perf, true },
	{ "bpf", test_bpf, true },
	{ "kprobe-in-tracer", test_kprobe_in_tracer },
	{ "kprobe-in-iterator", test_kprobe_in_iterator },
	{ "kprobe-in-kprobe", test_kprobe_in_kprobe },
	{ "breakpoint", test_breakpoint },
	{ "watchpoint", test_watchpoint },
	{ "single-step", test_single_step, true },
	{ "probe", test_probe },
	{ "nmi", test_nmi_in_probe },
	{ "stress", test_stress },
	{ "nmi-outside", test_nmi_outside },
	{ "mc-outside", test_mc_outside },
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

/* Run the tests that are named, or all of them */
int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_sigtrap };
	const size_t size = 1 << 16;
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
	atexit(clean_up);
	instance = make_instance("guard");
	second = make_instance("second");
	pages = new_pages(size);
	pagefaults = pagefaults_fire();
	pin(0);

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		for (int j = 1; j < argc || (argc == 1 && j == 1); j++)
			if (argc == 1 || !strcmp(argv[j], tests[i].name))
				plan++;
	if (plan < (argc > 1 ? argc - 1 : 1))
		ksft_exit_fail_msg("usage: trap_probes [TEST]..., with tests of its table\n");
	ksft_set_plan(plan);
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		for (int j = 1; j < argc || (argc == 1 && j == 1); j++)
			if (argc > 1 && strcmp(argv[j], tests[i].name))
				continue;
			else if (tests[i].by_faults && !have_pagefaults())
				ksft_test_result_skip("%s: this kernel has no page fault events\n",
						      tests[i].name);
			else
				tests[i].run();
	ksft_finished();
}
