/* SPDX-License-Identifier: GPL-2.0 */
/* The maps of the BPF side, and its variables */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

const __volatile__ struct config config;	/* set before the programs are loaded */
unsigned int generation;		/* which of slowest_faults is in use */
unsigned int nothing;			/* 0 */
unsigned int spawner;			/* the thread of trapstat that forks the command, or 0 */
bool traps_by_signal;			/* no event has traps other than page faults */
bool traps_by_mm;			/* handle_mm_fault() is the only source of page faults */
bool waits_by_mm;			/* of --why: nothing else has their begin */

/* Small: Linux 6.1 gives all functions of a program 512 bytes of stack */
struct fault {
	__u64 address, ip, ns, ino, end;	/* end: 0 for now */
	__u32 dev, error;
	__s32 stack[2];
	__u16 flags;
	__u8 row, outcome, mode, order, signal, si_code, vector, is_fatal;
	__u8 waits;			/* the task's struct waits is of this fault */
};

/* A task's call of handle_mm_fault(): in progress, or to be tried again, or past */
struct call {
	__u64 start, ns, address, ip, ino, stack;
	__u32 dev, flags, fault_flags;
	__u8 no_regs, retried;
};

/* By CPU. A call of bpf() to read a map may keep a program from running; a mapping does not. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_counts);
} counts SEC(".maps");

/*
 * A trap that has begun: one of user mode by the address of its task, as in "calls"; one of kernel
 * mode by the place of its registers, where the next one takes its place
 */
struct begin {
	__u64 start, ip, task;
	__u32 row, vector;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u64);
	__type(value, struct begin);
} begun SEC(".maps");

/*
 * By the address of the task, which no other task has until sched_process_free fires for it; if
 * that was left out, wakeup_new() forgets the former one. Not in task local storage: while one
 * task is preempted in that, Linux 6.1 and 6.12 refuse it to the next one on that CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, struct call);
} calls SEC(".maps");

/* Of --why: the page fault of a task that is going on, or the last one */
struct waits {
	__u64 begin, address, ns[WAITS];
	__u64 out;			/* since when it is off the CPU, or 0 */
	__u8 reason, inside;		/* of that; inside: bits by enum wait */
	__u8 is_going_on, is_refault;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, struct waits);
} waits SEC(".maps");

struct perf_begin {
	__u64 start, address, ip;	/* start: 0 if there is none */
};

/* A mapping that was found, as long as @seq stays */
struct seen {
	__u64 mm, seq, start, end;
	__u64 address;		/* that the place of it is of; 0: its place was not asked for */
	__u32 flags;
};

/* A task's faults by perf. In the course of one of user mode, there may be one of kernel mode. */
struct perf_task {
	struct perf_begin begin[2];
	struct place place, code;	/* of the fault that ends */
	struct seen memory, program;	/* where these two are */
	__u64 faults[2];		/* minor and major, as the task counts them */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, struct perf_task);
} perf_tasks SEC(".maps");

/* The tasks to follow, by their address */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u8);
} followed SEC(".maps");

/* The processes of -p */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_PIDS);
	__type(key, __u32);
	__type(value, __u8);
} pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct file_key);
	__type(value, struct file_path);
} files SEC(".maps");

/* The control group of --cgroup. It is made for that alone. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

/*
 * The reader puts the other map in place before it reads one. That waits until no program
 * uses the one to read, so nothing is lost.
 */
struct fault_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct fault_key);
	__type(value, struct fault_sum);
} faults_0 SEC(".maps"), faults_1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct fault_map);
} faults SEC(".maps") = { .values = { &faults_0 } };

/* Two for each CPU */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct slowest);
} slowest_faults SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} events SEC(".maps");

/*
 * Of "crashes", by the address of the task: signals that wait for the mapping of their address.
 * In a signal, bpf_find_vma() may run but once, and that was for the instruction.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct event);
} undelivered SEC(".maps");

/* Of -S */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, MOST_FRAMES * sizeof(__u64));
} stacks SEC(".maps");

/*
 * By the address of the task: the error code of its last page faults, by their mode. In the course
 * of one of user mode, there may be one of kernel mode.
 */
struct errors {
	__u64 address[2];
	__u32 error[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, struct errors);
} errors SEC(".maps");

/* What a new key begins with, as the stack has no room for it */
static const struct fault_sum new_sum = {};
static const struct file_path new_path = {};
static const struct call new_call = {};
static const struct waits new_waits = {};
static const struct event new_event = {};

static __always_inline struct cpu_counts *counts_here(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counts, &cpu);
}

static __always_inline void lose(enum lost what)
{
	struct cpu_counts *here = counts_here();

	if (here)
		__sync_fetch_and_add(&here->lost[what], 1);
}

static __always_inline void fail(enum failure what)
{
	struct cpu_counts *here = counts_here();

	if (here)
		__sync_fetch_and_add(&here->failed[what], 1);
}

static __always_inline void read_kernel(void *to, __u32 size, const void *from)
{
	if (bpf_probe_read_kernel(to, size, from))
		fail(FAILED_READ);
}

static __always_inline void read_name(char *to, __u32 size, const void *from)
{
	if (bpf_probe_read_kernel_str(to, size, from) < 0)
		fail(FAILED_NAME);
}

#endif
