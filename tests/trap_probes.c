// SPDX-License-Identifier: GPL-2.0
/*
 * Test the recursion guard of the trap trace events: make the probes raise traps
 * themselves, in all the ways that there are, and see that
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
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "lib.h"
#include "monitor.h"

#define ROUNDS		100
#define MANY_ROUNDS	100000
#define STEPS		50
#define STRESS_SECONDS	10
#define STRESS_ROUNDS	5

/* What the instances show of this process */
struct outcome {
	int entries, exits;	/* of the outer traps */
	int nested;		/* traps of kernel mode */
	unsigned long suppressed;
};

static const char *instance, *second;
static bool pagefaults;
static pid_t tester;

/* The function in which a stack walk faults, as the older event says */
static char walk[IP_SIZE];
static char *pages;
static sig_atomic_t signals;

static void on_sigtrap(int signal)
{
	(void)signal;
	signals++;
}

/* A trap behind each instruction while EFLAGS.TF is set: the NOPs and three more */
static void raise_steps(void)
{
	asm volatile(IN_FRAME(SET_TF "; .rept 50; nop; .endr; " CLEAR_TF)
		     : : "D" (pages) : "memory", "cc");
}

static void mine(char *filter, size_t size)
{
	snprintf(filter, size, "common_pid == %d", getpid());
}

static bool have_pagefaults(void)
{
	return pagefaults;
}

/* The events can be there without an architecture that fires them */
static bool pagefaults_fire(void)
{
	struct pagefault r;
	bool fired;
	FILE *f;

	if (put(instance, "events/pagefault/enable", "1"))
		return false;
	*new_pages(1) = 1;
	must(put(instance, "events/pagefault/enable", "0"), "disable");
	f = open_trace(instance, -1);
	fired = next_pagefault(f, &r);
	fclose(f);
	must(put(instance, "trace", " "), "trace");
	return fired;
}

/* Both families, as far as they are there, as far as @filter lets them through */
static void all_on(const char *instance, const char *filter)
{
	touch_stack();
	trace_on(instance, filter);
	if (!have_pagefaults())
		return;
	must(put(instance, "events/pagefault/filter", "%s", filter), filter);
	must(put(instance, "events/pagefault/enable", "1"), "enable");
}

static void all_off(const char *instance)
{
	if (have_pagefaults())
		must(put(instance, "events/pagefault/enable", "0"), "disable");
	trace_off(instance);
}

static struct outcome count(const char *instance, unsigned int vector)
{
	struct outcome o = { 0 };
	struct pagefault r;
	struct event e;
	FILE *f;

	f = open_trace(instance, -1);
	while (next_event(f, &e)) {
		if (e.user && e.vector == vector)
			++*(e.exit ? &o.exits : &o.entries);
		else if (!e.user && !o.nested++)
			ksft_print_msg("nested: %s %u(%s) ip %s\n",
				       e.exit ? "exit" : "entry", e.vector,
				       e.name, e.ip);
	}
	fclose(f);
	f = open_trace(instance, -1);
	while (next_pagefault(f, &r))
		if (!strcmp(r.mode, "kernel") && !o.nested++)
			ksft_print_msg("nested: page fault %s\n", r.event);
	fclose(f);
	return o;
}

/* The older event of page faults sees what the probes do: how often, and where */
static bool watch_faults(bool on)
{
	char filter[64];

	mine(filter, sizeof(filter));
	return !put(instance, "events/exceptions/page_fault_kernel/filter", "%s", filter) &&
	       !put(instance, "events/exceptions/page_fault_kernel/enable", "%d", on);
}

/* Raise @rounds INT3s with the events on in @instance */
static struct outcome measure(const char *instance, int rounds)
{
	unsigned long before, after;
	struct outcome o;
	char filter[64];

	mine(filter, sizeof(filter));
	before = suppressed();
	all_on(instance, filter);
	for (int i = 0; i < rounds; i++)
		raise_bp_in_frame(pages);
	all_off(instance);
	watch_faults(false);
	after = suppressed();
	o = count(instance, BP);
	o.suppressed = after - before;
	return o;
}

static bool good(const struct outcome *o, int rounds)
{
	ksft_print_msg("%d raised, %d entries, %d exits, %d nested, %lu suppressed\n",
		       rounds, o->entries, o->exits, o->nested, o->suppressed);
	return o->entries == rounds && o->exits == rounds && !o->nested;
}

static bool option(const char *instance, const char *name, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "options/%s", name);
	return !put(instance, file, "%d", on);
}

/*
 * ftrace
 */
static int count_faults(void)
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
		ksft_test_result_skip("userstacktrace: 100 traps: no means\n");
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
		ksft_test_result_skip("many: 100000 traps, with histograms: no means\n");
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
		ksft_test_result_skip("instances: two, with stack traces: no means\n");
		return;
	}
	ksft_test_result(good(&o, ROUNDS) & good(&of_second, ROUNDS) &&
			 o.suppressed >= 4 * ROUNDS,
			 "instances: two, with stack traces\n");
}

/*
 * perf
 */
struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

static int open_perf(const char *event, __u64 sample_type, pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = event_id(event), .sample_period = 1,
		.sample_type = sample_type, .wakeup_events = 1,
	};

	return perf_open(&attr, pid, -1);
}

#define RING_PAGES	64

static bool open_ring(struct ring *r, const char *event)
{
	const size_t size = (RING_PAGES + 1) * sysconf(_SC_PAGESIZE);

	r->fd = open_perf(event, PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN, 0);
	if (r->fd < 0)
		return false;
	r->page = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, r->fd, 0);
	return r->page != MAP_FAILED;
}

/* Where a field is in the record, which a 64-bit kernel lays out for itself */
static int field_offset(const char *field)
{
	char *text = get(TRACING, "events/trap/trap_entry/format"), *at;
	int offset = -1;

	at = text ? strstr(text, field) : NULL;
	if (!at || sscanf(strstr(at, "offset:"), "offset:%d", &offset) != 1)
		offset = -1;
	free(text);
	return offset;
}

/* Samples of INT3 in user mode and of others, then close it */
static void read_ring(struct ring *r, int *outer, int *others, int *lost)
{
	const size_t page_size = sysconf(_SC_PAGESIZE);
	const size_t size = RING_PAGES * page_size;
	const int vector_at = field_offset(" vector;");
	const int user_at = field_offset(" user_mode;");
	char *data = (char *)r->page + page_size;
	char record[4096];

	for (__u64 tail = 0; tail < r->page->data_head; ) {
		struct perf_event_header h;
		__u64 nr;
		__u16 vector, user;
		char *raw;

		for (size_t i = 0; i < sizeof(h); i++)
			((char *)&h)[i] = data[(tail + i) % size];
		for (size_t i = 0; i < h.size && i < sizeof(record); i++)
			record[i] = data[(tail + i) % size];
		tail += h.size;
		if (h.type == PERF_RECORD_LOST)
			++*lost;
		if (h.type != PERF_RECORD_SAMPLE)
			continue;
		/* Header, callchain, size of the raw data, and that */
		memcpy(&nr, record + sizeof(h), sizeof(nr));
		raw = record + sizeof(h) + sizeof(nr) + nr * sizeof(__u64) +
		      sizeof(__u32);
		memcpy(&vector, raw + vector_at, sizeof(vector));
		memcpy(&user, raw + user_at, sizeof(user));
		++*(vector == BP && user == 1 ? outer : others);
	}
	munmap(r->page, size + page_size);
	close(r->fd);
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

/*
 * BPF: a program that reads memory which is not there, and counts how often it
 * could not
 */
static int bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int bpf_counter(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
		.max_entries = 1,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

static int bpf_faulting_program(int map)
{
	const __u64 at = (unsigned long)pages;
	const struct bpf_insn program[] = {
		/* if (bpf_probe_read_user(fp - 8, 8, pages) == 0) return 0; */
		{ .code = 0xbf, .dst_reg = 1, .src_reg = 10 },
		{ .code = 0x07, .dst_reg = 1, .imm = -8 },
		{ .code = 0xb7, .dst_reg = 2, .imm = 8 },
		{ .code = 0x18, .dst_reg = 3, .imm = (__u32)at },
		{ .imm = at >> 32 },
		{ .code = 0x85, .imm = BPF_FUNC_probe_read_user },
		{ .code = 0x15, .dst_reg = 0, .off = 9 },
		/* p = bpf_map_lookup_elem(map, &0); if (p) atomic_add(p, 1) */
		{ .code = 0x62, .dst_reg = 10, .off = -12 },
		{ .code = 0xbf, .dst_reg = 2, .src_reg = 10 },
		{ .code = 0x07, .dst_reg = 2, .imm = -12 },
		{ .code = 0x18, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ 0 },
		{ .code = 0x85, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = 0x15, .dst_reg = 0, .off = 2 },
		{ .code = 0xb7, .dst_reg = 1, .imm = 1 },
		{ .code = 0xdb, .dst_reg = 0, .src_reg = 1 },
		{ .code = 0xb7, .dst_reg = 0 },
		{ .code = 0x95 },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACEPOINT,
		.insns = (unsigned long)program,
		.insn_cnt = ARRAY_SIZE(program),
		.license = (unsigned long)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

static __u64 bpf_count(int map)
{
	__u32 key = 0;
	__u64 value = 0;
	union bpf_attr attr = {
		.map_fd = map, .key = (unsigned long)&key,
		.value = (unsigned long)&value,
	};

	bpf(BPF_MAP_LOOKUP_ELEM, &attr);
	return value;
}

static int attach_bpf(const char *event, int program)
{
	int fd = open_perf(event, 0, 0);

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program)) {
		close(fd);
		fd = -1;
	}
	return fd;
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
		ksft_test_result_skip("kprobe-in-tracer: on four functions: refused\n");
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
		ksft_test_result_skip("kprobe-in-iterator: two instances: refused\n");
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
		ksft_test_result_skip("kprobe-in-kprobe: with stack traces: refused\n");
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
static int kernel_breakpoint(const char *symbol)
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
 * A stack walk that hits a watchpoint of a debugger, which must not hear of that
 * by DR6, as the task itself did not touch what is watched
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
		       suppressed() - before, wrong ? "tells of it" : "is clear");
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

/* An NMI in the probe, and a #GP in the NMI, are not the probe's doing */
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
			 gps == probed && !unbalanced && suppressed() == before,
			 "nmi: in a probe, with a #GP\n");
}

/* One that the monitor of QEMU raises while a probe waits for it */
static void test_outside_in_probe(unsigned int vector, const char *name)
{
	/* No probe may run in a #MC: it has no event */
	const int wanted = vector == MC ? 0 : 1;
	int entries = 0, exits = 0, ready[2], fd, status;
	bool in_probe = false;
	char filter[64];
	pid_t child;
	struct event e;
	FILE *f;

	if (!getenv("QEMU_MONITOR") || cpus() < 2 || access(PROBE_FILE, W_OK)) {
		ksft_test_result_skip("%s: from outside, in a probe: %s\n", name,
				      access(PROBE_FILE, W_OK) ? NO_TRAP_TEST :
				      "no QEMU_MONITOR, or a single CPU");
		return;
	}
	if (pipe(ready))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	child = must_fork();
	if (!child) {
		close(ready[1]);
		pin(cpus() - 1);
		if (read(ready[0], filter, 1) != 1)
			_exit(1);
		usleep(100000);
		_exit(vector == NMI ? !on_qemu_monitor("nmi") :
				      !machine_check_from_qemu());
	}
	close(ready[0]);
	pin(0);
	mine(filter, sizeof(filter));
	trace_on(instance, filter);
	fd = attach_probe("delay 2500");
	if (fd >= 0 && write(ready[1], "", 1) == 1)
		raise_bp_in_frame(pages);
	close(fd);
	close(ready[1]);
	trace_off(instance);
	waitpid(child, &status, 0);

	/*
	 * The probe waits once the entry of a trap is recorded, and once its exit
	 * is: of the breakpoint, or of a page fault. For the rest of the time, the
	 * task is in user mode, but for microseconds
	 */
	f = open_trace(instance, 0);
	while (next_event(f, &e)) {
		if (e.vector != vector)
			in_probe = true;
		if (e.vector != vector || e.user)
			continue;
		if (in_probe)
			++*(e.exit ? &exits : &entries);
		else
			ksft_print_msg("%s at %s\n", name, e.ip);
	}
	fclose(f);
	ksft_print_msg("%d entries, %d exits, status 0x%x\n", entries, exits, status);
	ksft_test_result(!status && entries == wanted && exits == wanted,
			 "%s: from outside, in a probe\n", name);
}

static void test_nmi_outside(void)
{
	test_outside_in_probe(NMI, "nmi-outside");
}

static void test_mc_outside(void)
{
	test_outside_in_probe(MC, "mc-outside");
}

/* Events of stack walks: they are of nested page faults */
static int count_walks(const char *instance)
{
	char line[512];
	int n = 0;
	FILE *f;

	f = open_trace(instance, -1);
	while (fgets(line, sizeof(line), f)) {
		char *ip = strstr(line, ": pagefault_e") ? strstr(line, " ip=") : NULL;

		n += ip && !strncmp(ip + strlen(" ip="), walk, strlen(walk));
	}
	fclose(f);
	return n;
}

/*
 * All at once, on all CPUs, with the events switched on and off all the time.
 * Afterwards, each CPU traces and guards as before.
 */
static void stress_worker(int cpu, int program, int ready, int *rounds)
{
	static const unsigned int vectors[] = { 0, 3, 6, 13, 14 };
	struct ring rings[2];

	pin(cpu);
	open_ring(&rings[0], "trap/trap_entry");
	open_ring(&rings[1], "trap/trap_exit");
	attach_bpf("trap/trap_entry", program);
	attach_bpf("trap/trap_exit", program);
	kernel_breakpoint("trace_event_buffer_lock_reserve");
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;; ++*rounds) {
		for (size_t i = 0; i < ARRAY_SIZE(vectors); i++)
			raise_in_kernel(vectors[i]);
		for (int i = 0; i < 20; i++)
			raise_bp_in_frame(pages);
		raise_steps();
		syscall(SYS_getppid);
	}
}

static void stress_toggler(int *rounds)
{
	for (unsigned int i = 0; ; i++, ++*rounds) {
		put(instance, "events/trap/trap_entry/enable", "%d", !(i & 1));
		put(second, "events/trap/enable", "%d", !(i & 2));
		put(instance, "events/trap/trap_exit/enable", "%d", !(i & 4));
		put(instance, "events/pagefault/enable", "%d", !(i & 1));
		option(second, "stacktrace", i & 8);
		put(TRACING, "events/trap_test/enable", "%d", !(i & 3));
		usleep(100);
	}
}

static void test_stress(void)
{
	const int n = cpus();
	pid_t children[n + 1];
	int map = bpf_counter(), program = bpf_faulting_program(map);
	unsigned long before = suppressed();
	int status, nested, ready[2], *rounds;
	bool all_good = true;
	struct pollfd p;
	__u64 hits;
	char line[1];

	option(instance, "userstacktrace", true);
	option(second, "userstacktrace", true);

	/* Where do stack walks fault? */
	watch_faults(true);
	measure(instance, 1);
	count_faults();

	put(instance, "events/trap/filter", "0");
	put(second, "events/trap/filter", "0");
	add_kprobe("stress0", "ring_buffer_lock_reserve");
	add_kprobe("stress1", "__traceiter_trap_entry");
	add_kprobe("stress2", "stack_trace_save_user");

	rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rounds == MAP_FAILED || pipe(ready))
		ksft_exit_fail_msg("mmap or pipe: %s\n", strerror(errno));

	/* Each worker but the last, which is the toggler, says when it is ready */
	for (int i = 0; i <= n; i++) {
		children[i] = must_fork();
		if (!children[i] && i < n)
			stress_worker(i, program, ready[1], &rounds[i]);
		else if (!children[i])
			stress_toggler(&rounds[i]);
		p.fd = ready[0];
		p.events = POLLIN;
		if (i < n && (poll(&p, 1, 60000) != 1 || read(ready[0], line, 1) != 1))
			ksft_exit_fail_msg("worker %d does not start\n", i);
	}
	/* Longer on a slow machine */
	for (int second = 0; second < 10 * STRESS_SECONDS; second++) {
		bool enough = second >= STRESS_SECONDS;

		for (int i = 0; i <= n; i++)
			enough &= __atomic_load_n(&rounds[i], __ATOMIC_RELAXED) >=
				  STRESS_ROUNDS;
		if (enough)
			break;
		sleep(1);
	}
	for (int i = 0; i <= n; i++) {
		if (waitpid(children[i], &status, WNOHANG)) {
			ksft_print_msg("child %d ended: 0x%x\n", i, status);
			all_good = false;
			continue;
		}
		kill(children[i], SIGKILL);
		waitpid(children[i], &status, 0);
	}
	put(instance, "events/enable", "0");
	put(second, "events/enable", "0");
	put(TRACING, "events/trap_test/enable", "0");
	remove_kprobes();
	option(instance, "userstacktrace", false);
	option(second, "userstacktrace", false);
	option(second, "stacktrace", false);
	hits = bpf_count(map);
	close(program);
	close(map);
	nested = count_walks(instance) + count_walks(second);
	ksft_print_msg("%llu reads failed, %lu events suppressed, %d nested\n",
		       (unsigned long long)hits, suppressed() - before, nested);
	for (int i = 0; i <= n; i++) {
		ksft_print_msg("%s %d: %d rounds\n", i < n ? "CPU" : "toggler",
			       i, rounds[i]);
		all_good &= rounds[i] >= STRESS_ROUNDS;
	}
	all_good &= suppressed() != before && !nested && *walk &&
		    (hits || program < 0);
	munmap(rounds, 4096);
	close(ready[0]);
	close(ready[1]);

	for (int cpu = 0; cpu < n; cpu++) {
		struct outcome o;

		pin(cpu);
		option(instance, "userstacktrace", true);
		o = measure(instance, ROUNDS);
		option(instance, "userstacktrace", false);
		all_good &= good(&o, ROUNDS) && o.suppressed >= 2 * ROUNDS;
	}
	ksft_test_result(all_good, "stress: all at once on all CPUs, switched on and off\n");
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

/* Without arguments: all; else those that are named */
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
