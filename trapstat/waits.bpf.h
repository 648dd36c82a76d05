/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For --why: why a task was off the CPU during a page fault. Tracepoints and kprobes note what
 * the task is doing. If it leaves the CPU meanwhile, that is the reason.
 */
#ifndef WAITS_BPF_H
#define WAITS_BPF_H

#include "filter.bpf.h"

static __always_inline struct waits *waits_here(void)
{
	__u64 task = bpf_get_current_task();

	return bpf_map_lookup_elem(&waits, &task);
}

static __noinline int waits_begin(__u64 address)
{
	__u64 task = bpf_get_current_task();
	struct waits *w = bpf_map_lookup_elem(&waits, &task);

	if (w) {
		__builtin_memset(w, 0, sizeof(*w));
	} else {
		bpf_map_update_elem(&waits, &task, &new_waits, BPF_ANY);
		w = bpf_map_lookup_elem(&waits, &task);
		if (!w) {
			fail(FAILED_WAIT);
			return 0;
		}
	}
	w->address = address;
	w->begin = bpf_ktime_get_ns();
	w->is_going_on = 1;
	return 0;
}

/* How long that fault has taken up to @now, or @ns if its begin was missed */
static __always_inline __u64 waits_since(__u64 address, __u64 now, __u64 ns)
{
	struct waits *w = waits_here();

	return w && w->is_going_on && w->address == address ? now - w->begin : ns;
}

static __always_inline void waits_end(struct fault *f)
{
	struct waits *w = waits_here();

	if (!w || !w->is_going_on || w->address != f->address)
		return;
	w->is_going_on = 0;
	f->waits = 1;
	if (w->is_refault)
		f->flags |= FLAG_REFAULT;
}

SEC("raw_tp")
int why_fault(struct bpf_raw_tracepoint_args *ctx)
{
	return is_wanted() ? waits_begin(ctx->args[0]) : 0;
}

static __always_inline __u8 reason_of(struct waits *w, const struct task_struct *task)
{
	for (int reason = WAIT_RECLAIM; reason <= WAIT_UFFD; reason++)
		if (w->inside & 1 << reason)
			return reason;
	return config.has_btf && BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ?
	       WAIT_IO : WAIT_OTHER;
}

/*
 * Arguments: whether it is preempted, the task that leaves, the next one and, since Linux 5.18,
 * the state of the one that leaves
 */
SEC("raw_tp/sched_switch")
int why_switch(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 out = ctx->args[1], in = ctx->args[2], now = bpf_ktime_get_ns();
	struct waits *w = bpf_map_lookup_elem(&waits, &out);
	__u32 reason;

	if (w && w->is_going_on) {
		w->reason = (__u8)ctx->args[0] || !(__u32)ctx->args[3] ? WAIT_PREEMPTED :
			    reason_of(w, (void *)out);
		/* It sleeps once, and a kretprobe is missed if too many tasks sleep there */
		if (w->reason == WAIT_UFFD)
			w->inside &= ~(1 << WAIT_UFFD);
		w->out = now;
	}
	w = bpf_map_lookup_elem(&waits, &in);
	if (w && w->out) {
		reason = w->reason;
		if (reason < WAITS)
			w->ns[reason] += now - w->out;
		w->out = 0;
	}
	return 0;
}

static __always_inline int note(enum wait what, bool is_inside)
{
	struct waits *w = waits_here();

	if (w)
		w->inside = is_inside ? w->inside | 1 << what : w->inside & ~(1 << what);
	return 0;
}

/* sources.c attaches some of these to several tracepoints */
SEC("raw_tp")
int why_reclaim(void *ctx)
{
	return note(WAIT_RECLAIM, true);
}

SEC("raw_tp")
int why_reclaimed(void *ctx)
{
	return note(WAIT_RECLAIM, false);
}

SEC("raw_tp")
int why_compaction(void *ctx)
{
	return note(WAIT_COMPACTION, true);
}

SEC("raw_tp")
int why_compacted(void *ctx)
{
	return note(WAIT_COMPACTION, false);
}

SEC("raw_tp")
int why_mmap_lock(void *ctx)
{
	return note(WAIT_MMAP_LOCK, true);
}

SEC("raw_tp")
int why_mmap_locked(void *ctx)
{
	return note(WAIT_MMAP_LOCK, false);
}

SEC("kprobe/handle_userfault")
int why_uffd(void *ctx)
{
	return note(WAIT_UFFD, true);
}

SEC("kretprobe/handle_userfault")
int why_uffd_end(void *ctx)
{
	return note(WAIT_UFFD, false);
}

SEC("kprobe/workingset_refault")
int why_refault(void *ctx)
{
	struct waits *w = waits_here();

	if (w && w->is_going_on)
		w->is_refault = 1;
	return 0;
}

#endif
