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
 * events, if the kernel has them. Their probes must not raise one more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "monitor.h"

#define ROUNDS		100

/* What the instances show of this process */
struct outcome {
	int entries, exits;	/* of the outer traps */
	int nested;		/* traps of kernel mode, or page faults in one */
	unsigned long suppressed;
	unsigned long faults;	/* page faults of kernel mode */
};

static const char *instance, *second;
static const char *why;		/* the test cannot be run */
static bool pagefaults;
static char mine[64];		/* the filter for this process */
static pid_t tester;
static char *pages;

/* Enable both families for this process, or trap alone if there is no pagefault */
static void all_on(const char *instance)
{
	touch_stack();
	trace_on(instance, mine);
	if (!pagefaults)
		return;
	must(put(instance, "events/pagefault/filter", "%s", mine), mine);
	must(put(instance, "events/pagefault/enable", "1"), "enable");
}

static void all_off(const char *instance)
{
	if (pagefaults)
		must(put(instance, "events/pagefault/enable", "0"), "disable");
	trace_off(instance);
}

static struct outcome count(const char *instance, unsigned int vector)
{
	struct outcome o = { 0 };
	bool in_fault = false;
	struct pagefault r;
	struct event e;

	for_each_record(next_event, &e, instance, -1) {
		if (e.user && e.vector == vector)
			++*(e.exit ? &o.exits : &o.entries);
		else if (!e.user && !o.nested++)
			ksft_print_msg("nested: %s %u(%s) ip %s\n",
				       e.exit ? "exit" : "entry", e.vector,
				       e.name, e.ip);
	}
	/* Those of the probes: each has an entry, and then an exit */
	for_each_record(next_pagefault, &r, instance, -1) {
		bool is_exit = !strcmp(r.event, "exit");

		if (strcmp(r.mode, "kernel"))
			continue;
		if (is_exit != in_fault && !o.nested++)
			ksft_print_msg("nested: page fault %s\n", r.event);
		in_fault = !is_exit;
		o.faults += is_exit;
	}
	return o;
}

static void raise_many(int rounds)
{
	for (int i = 0; i < rounds; i++)
		raise_bp_in_frame(pages);
}

/* Raise @rounds INT3s with the events on in the first instance */
static struct outcome measure(int rounds)
{
	unsigned long before = suppressed(), after;
	struct outcome o;

	all_on(instance);
	raise_many(rounds);
	all_off(instance);
	after = suppressed();
	o = count(instance, BP);
	o.suppressed = after - before;
	return o;
}

static bool good(const struct outcome *o, int rounds)
{
	ksft_print_msg("%d raised, %d entries, %d exits, %d nested, %lu suppressed, %lu faults\n",
		       rounds, o->entries, o->exits, o->nested, o->suppressed, o->faults);
	return o->entries == rounds && o->exits == rounds && !o->nested;
}

static bool option(const char *instance, const char *name, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "options/%s", name);
	return !put(instance, file, "%d", on);
}

/*
 * kprobes
 */

/*
 * A kprobe behind the place where the function tracer hooks in, so that it is an
 * INT3. Returns its offset, or 0.
 */
static int add_kprobe(const char *name, const char *symbol)
{
	for (int offset = 9; offset < 80; offset++)
		if (!append(TRACING, "kprobe_events", "p:trap_test/%s %s+%d\n", name,
			    symbol, offset))
			return offset;
	ksft_print_msg("no kprobe on %s\n", symbol);
	return 0;
}

static void remove_kprobes(void)
{
	if (instance)
		put(instance, "events/trap_test/enable", "0");
	put(TRACING, "events/trap_test/enable", "0");
	append(TRACING, "kprobe_events", "-:trap_test/\n");
}

/* How often the kprobes of a name were hit, whether or not they could be handled */
static unsigned long kprobe_hits(const char *name)
{
	char *text = get(TRACING, "kprobe_profile"), *line, *rest = text;
	unsigned long hits, missed, sum = 0;
	char of[64];

	while (text && (line = strsep(&rest, "\n")))
		if (sscanf(line, "%63s %lu %lu", of, &hits, &missed) == 3 &&
		    !strcmp(of, name))
			sum += hits + missed;
	free(text);
	return sum;
}

/*
 * What makes the probes trap. A test is run by measured(), or by a function of its own
 */
#define USER_STACKS	0x1
#define SECOND		0x2	/* with two instances, the tracepoint calls the iterator */
#define KPROBES		0x4

struct test {
	const char *name;		/* the part before the colon asks for it */
	bool (*run)(void);
	unsigned int probes;
	int hits, suppressed;		/* at least so many for each trap */
	const char *symbols[4];		/* for kprobes */
};

static bool set_up(const struct test *t)
{
	bool able = true;
	int kprobes = 0;

	if (t->probes & USER_STACKS)
		able = option(instance, "userstacktrace", true);
	if (t->probes & KPROBES) {
		for (size_t i = 0; i < ARRAY_SIZE(t->symbols) && t->symbols[i]; i++)
			kprobes += !!add_kprobe("kprobe", t->symbols[i]);
		ksft_print_msg("%d kprobes\n", kprobes);
		able &= kprobes && !put(instance, "events/trap_test/enable", "1");
	}
	if (able && t->probes & SECOND)
		all_on(second);
	return able;
}

static void tear_down(const struct test *t)
{
	if (t->probes & SECOND)
		all_off(second);
	option(instance, "userstacktrace", false);
	remove_kprobes();
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
	hits = kprobe_hits("kprobe");
	tear_down(t);
	ksft_print_msg("%lu hits\n", hits);
	fine = good(&o, ROUNDS) && hits >= (unsigned long)t->hits * ROUNDS &&
	       o.suppressed >= (unsigned long)t->suppressed * ROUNDS;
	if (t->probes & SECOND) {
		of_second = count(second, BP);
		fine &= good(&of_second, ROUNDS);
	}
	return fine;
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

/*
 * A child that has the monitor of QEMU raise a #MC soon after a byte is written to @ready. The
 * caller is on CPU 0 then.
 */
static pid_t raise_mc_later(int *ready)
{
	int fds[2];
	pid_t child;
	char byte;

	if (!getenv("QEMU_MONITOR") || cpus() < 2 || access(PROBE_FILE, W_OK)) {
		why = access(PROBE_FILE, W_OK) ? NO_TRAP_TEST : "no QEMU_MONITOR, or a single CPU";
		return 0;
	}
	if (pipe(fds))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	child = must_fork();
	if (!child) {
		close(fds[1]);
		pin(cpus() - 1);
		if (read(fds[0], &byte, 1) != 1)
			_exit(1);
		usleep(100000);
		_exit(!machine_check_from_qemu());
	}
	close(fds[0]);
	*ready = fds[1];
	pin(0);
	return child;
}

/* A system call with a frame pointer to memory that has no page */
static long write_in_frame(int fd, const char *text, size_t length)
{
	long ret = SYS_write;

#ifdef __x86_64__
	asm volatile("push %%rbp; mov %[frame], %%rbp; syscall; pop %%rbp"
		     : "+a" (ret) : "D" (fd), "S" (text), "d" (length), [frame] "r" (pages)
		     : "rcx", "r11", "memory");
#else
	asm volatile("push %%ebp; mov %[frame], %%ebp; int $0x80; pop %%ebp"
		     : "+a" (ret) : "b" (fd), "c" (text), "d" (length), [frame] "S" (pages)
		     : "memory");
#endif
	return ret;
}

/*
 * A kprobe in the handler of a #MC that comes before a page fault handler has read CR2.
 * perf walks the stack of the user for the kprobe, and faults. The #BP has no trap event,
 * whose probes would walk it as well.
 */
static bool test_mc_kprobe(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .wakeup_events = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
	};
	static const char delay[] = "1000";
	int ready, perf, status, traced = 0, fd = open(CR2_FILE, O_WRONLY);
	unsigned long before;
	struct event e;
	__u64 hits = 0;
	pid_t child;
	long ret = strlen(delay);

	child = raise_mc_later(&ready);
	if (!child)
		return false;
	/* mce_log() calls it, and is often inlined itself */
	if (!add_kprobe("mc", "mce_gen_pool_add"))
		ksft_exit_fail_msg("no kprobe in mce_gen_pool_add()\n");
	attr.config = event_id("trap_test/mc");
	perf = perf_open(&attr, 0, -1);
	option(instance, "userstacktrace", true);
	before = suppressed();
	trace_on(instance, mine);
	must(put(instance, "events/trap_test/enable", "1"), "kprobe");
	if (write(ready, "", 1) != 1)
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	/* The child needs this CPU now and then */
	for (int i = 0; i < 30 && !hits && ret == (long)strlen(delay); i++) {
		ret = write_in_frame(fd, delay, strlen(delay));
		if (read(perf, &hits, sizeof(hits)) != sizeof(hits))
			ksft_exit_fail_msg("perf: %s\n", strerror(errno));
	}
	trace_off(instance);
	before = suppressed() - before;
	close(perf);
	close(fd);
	close(ready);
	waitpid(child, &status, 0);
	option(instance, "userstacktrace", false);
	remove_kprobes();

	for_each_record(next_event, &e, instance, -1)
		traced += !e.user && e.vector == BP;
	ksft_print_msg("%llu hits, %d traced, %lu suppressed, CR2 is %s, status 0x%x\n",
		       (unsigned long long)hits, traced, before, ret < 0 ? "lost" : "kept", status);
	return !status && hits && !traced && before >= 2 * hits && ret == (long)strlen(delay);
}

static const struct test tests[] = {
	{ "kprobe-in-tracer: on four functions", NULL, KPROBES | USER_STACKS, 2, 4,
	  { "ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
	    "trace_event_buffer_reserve", "stack_trace_save_user" } },
	{ "kprobe-in-iterator: two instances", NULL, KPROBES | SECOND, 1, 2,
	  { "__traceiter_trap_entry" } },
	{ "kprobe-in-kprobe: with stack traces", test_kprobe_in_kprobe },
	{ "probe: that raises traps", test_probe },
	{ "nmi: in a probe, with a #GP", test_nmi_in_probe },
	{ "mc-kprobe: in its handler, with user callchains", test_mc_kprobe },
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

/* INT3 must not end the program */
static void on_sigtrap(int signal)
{
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
	pagefaults = !access(TRACING "/events/pagefault", F_OK);
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
		why = NULL;
		passed = t->run ? t->run() : measured(t);
		if (why)
			skip(t->name, why);
		else
			result(passed, t->name);
	}
	ksft_finished();
}
