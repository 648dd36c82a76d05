/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page faults, by the software events of perf: mm_account_fault() counts a fault in one of them
 * when it has ended well. exceptions:page_fault_* have its begin. A begin without an end is a
 * fault that failed. It counts when the next fault of the task begins, or when the task exits.
 */
#ifndef PERF_BPF_H
#define PERF_BPF_H

#include "arch.bpf.h"
#include "counts.bpf.h"

static const struct perf_task new_perf_task = {};

static __always_inline bool in_record(const struct fault *f)
{
	return config.record && is_wanted_trap(ROW_PF, f->mode) && config.outcome == WANT_ANY;
}

static __always_inline void perf_fails(struct perf_task *t, __u32 mode)
{
	struct perf_begin *begin = &t->begin[mode & 1];
	struct fault f = {
		.outcome = OUTCOME_BEGUN, .mode = mode, .address = begin->address,
		.ip = begin->ip, .flags = FLAG_KIND_UNKNOWN,
	};

	if (!begin->start)
		return;
	begin->start = 0;
	count_begin(&f);
	if (in_record(&f)) {
		t->place.name[0] = '\0';
		t->memory.address = 0;
		f.error = error_of(&f);
		send_event(&f);
	}
}

/* Those that get_user_pages() and the like have handled are in the counters of the task alone */
static __always_inline void perf_noregs(__u64 *seen, __u64 now, __u32 outcome)
{
	struct fault f = {
		.outcome = outcome, .mode = MODE_NONE, .flags = FLAG_KIND_UNKNOWN,
	};
	__s64 n = now - *seen;
	struct fault_sum *sum;

	*seen = now;
	/* A fault that is the first of a task was not noted before, and is one too few */
	if (n <= 0 || !config.faults || config.by == BY_FILE)
		return;
	hide_constants(&f);
	sum = sum_of(&f);
	if (sum)
		__sync_fetch_and_add(&sum->count, n - 1);
}

/* Leave out the faults so far */
static __always_inline void perf_note_counters(struct perf_task *t)
{
	struct task_struct *current = bpf_get_current_task_btf();

	t->faults[0] = current->min_flt;
	t->faults[1] = current->maj_flt;
}

static __always_inline struct perf_task *perf_task_of(__u64 task)
{
	struct perf_task *t = bpf_map_lookup_elem(&perf_tasks, &task);

	if (t)
		return t;
	bpf_map_update_elem(&perf_tasks, &task, &new_perf_task, BPF_ANY);
	t = bpf_map_lookup_elem(&perf_tasks, &task);
	/* A task that is followed was followed from its begin */
	if (t && config.has_btf && (!config.follow || config.comm[0] || config.cgroup))
		perf_note_counters(t);
	return t;
}

struct perf_vma {
	struct place place;
	__u64 address, start, end;
	__u32 flags;
	__u8 with_place;
};

static long perf_found(struct task_struct *task, struct vm_area_struct *vma, struct perf_vma *to)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	__u64 magic = 0;

	if (file)
		magic = BPF_CORE_READ(file, f_mapping, host, i_sb, s_magic);
	to->start = vma->vm_start;
	to->end = vma->vm_end;
	to->flags = kind_of(vma->vm_ops, file, magic);
	if (to->with_place)
		place_of(vma, &to->place, to->address);
	else if (file && config.by == BY_FILE)
		to->place.file = note_file(file);
	return 0;
}

/* A number that changes with each mapping of this process, or 0 where there is none */
static __always_inline __u64 seq_of(const struct mm_struct *mm)
{
	const struct mm_struct___6_14 *newer = (const void *)mm;
	__u32 seq;

	if (bpf_core_field_exists(newer->mm_lock_seq.sequence)) {
		seq = BPF_CORE_READ(newer, mm_lock_seq.sequence);
		return seq & 1 ? 0 : seq + 1ULL;	/* odd: it is changing */
	}
	if (bpf_core_field_exists(mm->mm_lock_seq))
		return (__u32)BPF_CORE_READ(mm, mm_lock_seq) + 1ULL;
	return 0;
}

/*
 * The mapping of an address. With interrupts disabled, bpf_find_vma() takes an interrupt to give
 * the lock back, which is slow in a virtual machine. So look first where the last one was.
 */
static __noinline int perf_find(struct seen *seen, struct place *place, __u64 address,
				bool with_place)
{
	struct perf_vma vma = {
		.flags = FLAG_KIND_UNKNOWN, .address = address, .with_place = with_place,
	};
	struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	__u64 seq = seq_of(mm);
	long error;

	if (seq && seen->seq == seq && seen->mm == (__u64)mm && address >= seen->start &&
	    address < seen->end && (seen->address || !with_place)) {
		if (seen->address) {
			place->offset += address - seen->address;
			seen->address = address;
		}
		return 0;
	}
	error = bpf_find_vma(bpf_get_current_task_btf(), address, perf_found, &vma, 0);
	if (error && error != -ENOENT)
		fail(FAILED_VMA);
	seen->mm = (__u64)mm;
	seen->seq = error ? 0 : seq;
	seen->start = vma.start;
	seen->end = vma.end;
	seen->address = with_place ? address : 0;
	seen->flags = vma.flags;
	*place = vma.place;
	return 0;
}

static __always_inline int perf_begins(__u64 address, const struct pt_regs *regs, __u32 mode)
{
	struct perf_task *t = perf_task_of(bpf_get_current_task());
	struct cpu_counts *here = counts_here();
	struct perf_begin *begin;

	/* A CPU that goes off loses its events, until trapstat opens them again */
	if (here && here->perf_opened != here->perf_plugged + 1) {
		lose(LOST_FAULTS);
		return 0;
	}
	if (!t) {
		lose(LOST_TIMES);
		return 0;
	}
	perf_fails(t, mode);
	begin = &t->begin[mode & 1];
	begin->address = address;
	read_kernel(&begin->ip, sizeof(begin->ip), &PT_REGS_IP(regs));
	/* At the end, bpf_find_vma() may run but once */
	if (mode == MODE_USER && config.record && config.find_vma)
		perf_find(&t->program, &t->code, begin->ip, true);
	begin->start = bpf_ktime_get_ns();
	return 0;
}

/* The task counts it, too. A function, as Linux 6.1 has 512 bytes for all frames */
static __noinline int perf_unwanted(__u64 task)
{
	struct perf_task *t = bpf_map_lookup_elem(&perf_tasks, &task);

	if (t && config.has_btf)
		perf_note_counters(t);
	return 0;
}

static __always_inline int perf_ends(struct bpf_perf_event_data *ctx, __u32 outcome)
{
	__u64 now = bpf_ktime_get_ns(), task = bpf_get_current_task();
	struct fault f = {
		.outcome = outcome, .address = ctx->addr, .ip = PT_REGS_IP(&ctx->regs), .end = now,
		.flags = FLAG_KIND_UNKNOWN,
	};
	struct cpu_counts *here = counts_here();
	struct perf_begin *begin;
	struct perf_task *t;

	f.mode = mode_in(REGS_STATUS(&ctx->regs));
	if (here)
		__sync_fetch_and_add(&here->perf_ends, 1);
	if (!is_wanted())
		return perf_unwanted(task);
	t = perf_task_of(task);
	if (t) {
		begin = &t->begin[f.mode & 1];
		if (begin->start && begin->address == f.address && begin->ip == f.ip) {
			f.ns = now - begin->start;
		} else {
			/* The begin of this one was missed, with its instruction */
			perf_fails(t, f.mode);
			__builtin_memset(&t->code, 0, sizeof(t->code));
			t->program.seq = 0;
		}
		begin->start = 0;
	}
	count_trap(ROW_PF, f.mode, traps_by_mm, f.ns);
	if (t && config.faults && config.find_vma) {
		perf_find(&t->memory, &t->place, f.address, config.record || is_slow(&f));
		f.flags = t->memory.flags;
		f.ino = t->place.file.ino;
		f.dev = t->place.file.dev;
	}
	count_fault(ctx, &f);
	if (t && config.has_btf) {
		struct task_struct *current = bpf_get_current_task_btf();

		t->faults[outcome == OUTCOME_MAJOR]++;
		perf_noregs(&t->faults[0], current->min_flt, OUTCOME_MINOR);
		perf_noregs(&t->faults[1], current->maj_flt, OUTCOME_MAJOR);
	}
	return 0;
}

SEC("perf_event")
int perf_minor(struct bpf_perf_event_data *ctx)
{
	return perf_ends(ctx, OUTCOME_MINOR);
}

SEC("perf_event")
int perf_major(struct bpf_perf_event_data *ctx)
{
	return perf_ends(ctx, OUTCOME_MAJOR);
}

/* A CPU goes off or comes back, step by step */
SEC("raw_tp/cpuhp_exit")
int perf_plug(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 cpu = ctx->args[0];
	struct cpu_counts *there = bpf_map_lookup_elem(&counts, &cpu);

	if (there)
		__sync_fetch_and_add(&there->perf_plugged, 1);
	return 0;
}

static __always_inline void perf_exits(__u64 task)
{
	struct perf_task *t;

	if (!is_wanted())
		return;
	t = config.follow ? perf_task_of(task) : bpf_map_lookup_elem(&perf_tasks, &task);
	if (!t) {
		if (config.follow)
			lose(LOST_TASKS);	/* how many of get_user_pages() it had */
		return;
	}
	perf_fails(t, MODE_KERNEL);
	perf_fails(t, MODE_USER);
	if (config.has_btf) {
		struct task_struct *current = bpf_get_current_task_btf();

		perf_noregs(&t->faults[0], current->min_flt, OUTCOME_MINOR);
		perf_noregs(&t->faults[1], current->maj_flt, OUTCOME_MAJOR);
	}
}

#endif
