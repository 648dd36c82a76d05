// SPDX-License-Identifier: GPL-2.0
/* trap_probes: switch events and count records, rings of perf, a BPF program, and kprobes */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>

#include "trap_probes.h"

/*
 * Both families of events
 */

/* A trap behind each instruction while EFLAGS.TF is set: the NOPs and three more */
void raise_steps(void)
{
	asm volatile(ENTER_FRAME SET_TF "; .rept 50; nop; .endr; " CLEAR_TF LEAVE_FRAME
		     : : "D" (pages) : "memory", "cc");
}

/* The events can be there without an architecture that fires them */
bool pagefaults_fire(void)
{
	struct pagefault r;
	bool fired = false;

	if (put(instance, "events/pagefault/enable", "1"))
		return false;
	*new_pages(1) = 1;
	must(put(instance, "events/pagefault/enable", "0"), "disable");
	for_each_record(next_pagefault, &r, instance, -1)
		fired = true;
	must(put(instance, "trace", " "), "trace");
	return fired;
}

/* Enable both families for this process, or trap alone if there is no pagefault */
void all_on(const char *instance)
{
	touch_stack();
	trace_on(instance, mine);
	if (!pagefaults)
		return;
	must(put(instance, "events/pagefault/filter", "%s", mine), mine);
	must(put(instance, "events/pagefault/enable", "1"), "enable");
}

void all_off(const char *instance)
{
	if (pagefaults)
		must(put(instance, "events/pagefault/enable", "0"), "disable");
	trace_off(instance);
}

struct outcome count(const char *instance, unsigned int vector)
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

/* exceptions:page_fault_kernel records the faults of the probes, and where */
bool watch_faults(bool on)
{
	return !put(instance, "events/exceptions/page_fault_kernel/filter", "%s", mine) &&
	       !put(instance, "events/exceptions/page_fault_kernel/enable", "%d", on);
}

void raise_many(int rounds)
{
	for (int i = 0; i < rounds; i++)
		raise_bp_in_frame(pages);
}

/* Raise @rounds INT3s with the events on in the first instance */
struct outcome measure(int rounds)
{
	unsigned long before = suppressed(), after;
	struct outcome o;

	all_on(instance);
	raise_many(rounds);
	all_off(instance);
	watch_faults(false);
	after = suppressed();
	o = count(instance, BP);
	o.suppressed = after - before;
	return o;
}

bool good(const struct outcome *o, int rounds)
{
	ksft_print_msg("%d raised, %d entries, %d exits, %d nested, %lu suppressed, %lu faults\n",
		       rounds, o->entries, o->exits, o->nested, o->suppressed, o->faults);
	return o->entries == rounds && o->exits == rounds && !o->nested;
}

bool option(const char *instance, const char *name, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "options/%s", name);
	return !put(instance, file, "%d", on);
}

/*
 * perf
 */
int open_perf(const char *event, __u64 sample_type, pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = event_id(event), .sample_period = 1,
		.sample_type = sample_type, .wakeup_events = 1,
	};

	return perf_open(&attr, pid, -1);
}

#define RING_PAGES	64

bool open_ring(struct ring *r, const char *event)
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
void read_ring(struct ring *r, int *outer, int *others, int *lost)
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

/*
 * BPF: a program that reads unmapped memory, and counts how often that fails
 */
static int bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

int bpf_counter(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
		.max_entries = 1,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

int bpf_faulting_program(int map)
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

__u64 bpf_count(int map)
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

int attach_bpf(const char *event, int program)
{
	int fd = open_perf(event, 0, 0);

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * kprobes
 */

/*
 * A kprobe behind the place where the function tracer hooks in, so that it is an
 * INT3. Returns its offset, or 0.
 */
int add_kprobe(const char *name, const char *symbol)
{
	for (int offset = 9; offset < 80; offset++)
		if (!append(TRACING, "kprobe_events", "p:trap_test/%s %s+%d\n", name,
			    symbol, offset))
			return offset;
	ksft_print_msg("no kprobe on %s\n", symbol);
	return 0;
}

void remove_kprobes(void)
{
	if (instance)
		put(instance, "events/trap_test/enable", "0");
	put(TRACING, "events/trap_test/enable", "0");
	append(TRACING, "kprobe_events", "-:trap_test/\n");
}

/* How often the kprobes of a name were hit, whether or not they could be handled */
unsigned long kprobe_hits(const char *name)
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
