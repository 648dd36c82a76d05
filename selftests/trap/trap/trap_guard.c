// SPDX-License-Identifier: GPL-2.0
/*
 * Test the recursion guard of the trap trace events: raise traps in each kind
 * of probe, and check that
 *
 *  - all other traps are traced,
 *  - these nested traps are not traced,
 *  - they are counted at their entry and at their exit.
 *
 * The nested trap is a #DB, by a perf breakpoint in a function that the probe
 * calls. The outer traps are INT3s in user mode.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>

#include "trap.h"
#include "user_traps.h"

#define ROUNDS		100

static const char *instance, *second;
static char mine[64];		/* the filter for this process, without NMIs */
static const char * const events[] = { "trap/trap_entry", "trap/trap_exit" };
static int opened[3];
static void *mapped[2];

static size_t buffer_size(void)
{
	return 9 * sysconf(_SC_PAGESIZE);
}

static void close_all(void)
{
	/* A mapping keeps the event attached */
	for (size_t i = 0; i < ARRAY_SIZE(mapped); i++) {
		if (mapped[i])
			munmap(mapped[i], buffer_size());
		mapped[i] = NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(opened); i++) {
		if (opened[i] > 0)
			close(opened[i]);
		opened[i] = 0;
	}
}

/*
 * Kinds of probes. set_up() returns 0 or a negative error
 */
static int user_stacks(void)
{
	return put(instance, "options/userstacktrace", "1");
}

static void no_user_stacks(void)
{
	put(instance, "options/userstacktrace", "0");
}

/* With two probes, the tracepoint calls them by an iterator */
static int two_instances(void)
{
	trace_on(second, mine);
	return 0;
}

static void one_instance(void)
{
	trace_off(second);
}

static int open_event(const char *event, uint64_t sample_type)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = event_id(event), .sample_period = 1,
		.sample_type = sample_type,
	};

	return perf_open(&attr, 0, -1);
}

static int callchains(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		opened[i] = open_event(events[i], PERF_SAMPLE_CALLCHAIN);
		if (opened[i] < 0)
			return -errno;
		/* Without a ring buffer, perf takes no sample */
		mapped[i] = mmap(NULL, buffer_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
				 opened[i], 0);
		if (mapped[i] == MAP_FAILED)
			ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	}
	return 0;
}

static int load_program(const struct bpf_insn *program, int length)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACEPOINT, .insn_cnt = length,
		.insns = (unsigned long)program, .license = (unsigned long)"GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int bpf_program(void)
{
	static const struct bpf_insn program[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int empty = load_program(program + 1, 2);

	/* This kernel has no BPF for tracepoints, or locks it down */
	if (empty < 0)
		return -EOPNOTSUPP;
	close(empty);
	opened[2] = load_program(program, ARRAY_SIZE(program));
	if (opened[2] < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		opened[i] = open_event(events[i], 0);
		if (opened[i] < 0 || ioctl(opened[i], PERF_EVENT_IOC_SET_BPF, opened[2]))
			return -errno;
	}
	return 0;
}

static const struct probe {
	const char *name, *symbol;	/* a function that it calls at least once */
	int (*set_up)(void);
	void (*tear_down)(void);
} probes[] = {
	{ "user stack traces", "stack_trace_save_user", user_stacks, no_user_stacks },
	{ "two instances", "trace_event_buffer_lock_reserve", two_instances, one_instance },
	{ "the caller of two probes", "__traceiter_trap_exit", two_instances, one_instance },
	{ "perf callchains", "perf_callchain_user", callchains, close_all },
	{ "BPF programs", "bpf_ktime_get_ns", bpf_program, close_all },
};

/* Entries and exits of the outer traps, and others */
struct counts {
	int entries, exits, others;
};

static struct counts count(const char *instance)
{
	struct counts c = { 0 };
	struct event e;
	FILE *f;

	f = open_trace(instance, -1);
	while (next_event(f, &e)) {
		if (e.user && e.vector == BP)
			++*(e.exit ? &c.exits : &c.entries);
		else if ((e.user || e.vector != BP) && !c.others++)	/* others may use kprobes */
			ksft_print_msg("%s %s at %s\n", e.name, e.exit ? "exit" : "entry", e.ip);
	}
	fclose(f);
	return c;
}

/* Raise INT3s. Return how often the breakpoint @fd was hit */
static uint64_t hits_of(int fd)
{
	uint64_t hits;

	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	for (int i = 0; i < ROUNDS; i++)
		raise_bp(NULL);
	if (read(fd, &hits, sizeof(hits)) != sizeof(hits))
		ksft_exit_fail_msg("read: %s\n", strerror(errno));
	return hits;
}

/* Others may use kprobes on this CPU: their traps are counted as well */
static void test_probe(const struct probe *p)
{
	int fd = breakpoint(kernel_symbol(p->symbol), true), error;
	unsigned long before;
	struct counts c;
	uint64_t hits;

	if (fd < 0) {
		ksft_test_result_skip("%s: no breakpoint at %s()\n", p->name, p->symbol);
		return;
	}
	if (hits_of(fd)) {
		ksft_test_result_skip("%s: other tracing calls %s()\n", p->name, p->symbol);
		close(fd);
		return;
	}
	error = p->set_up();
	if (error) {
		/* ENOENT: there is no option "userstacktrace" */
		if (error == -EOPNOTSUPP || error == -ENOENT)
			ksft_test_result_skip("%s: %s\n", p->name, strerror(-error));
		else
			ksft_test_result_fail("%s: %s\n", p->name, strerror(-error));
		goto out;
	}
	before = suppressed();
	trace_on(instance, mine);
	hits = hits_of(fd);
	trace_off(instance);
	before = suppressed() - before;
	c = count(instance);
	ksft_print_msg("%d entries, %d exits, %d others; %llu hits, %lu suppressed\n", c.entries,
		       c.exits, c.others, (unsigned long long)hits, before);
	ksft_test_result(c.entries == ROUNDS && c.exits == ROUNDS && !c.others &&
			 hits >= ROUNDS && before >= 2 * hits, "%s\n", p->name);
out:
	p->tear_down();
	close(fd);
}

int main(void)
{
	start("trap/trap_exit");
	if (access(SUPPRESSED, R_OK))
		ksft_exit_skip("no %s: needs debugfs\n", SUPPRESSED);
	instance = make_instance("guard");
	second = make_instance("second");
	snprintf(mine, sizeof(mine), "common_pid == %d && vector != 2", getpid());
	skip_traps();
	pin(0);

	ksft_set_plan(ARRAY_SIZE(probes));
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		test_probe(&probes[i]);
	ksft_finished();
}
