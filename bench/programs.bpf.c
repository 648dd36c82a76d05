// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs for make bench: how many page faults took how long, by outcome. With TP_BTF by
 * pagefault_exit, with PERF by the software events of perf and exceptions:page_fault_*, else by
 * the entry and exit of handle_mm_fault().
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel.h"

#define OUTCOMES		16
#define BUCKETS			64

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OUTCOMES * BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline int count_duration(__u32 outcome, __u64 ns)
{
	__u32 log = 0, key;
	__u64 *n;

#pragma unroll
	for (int shift = BUCKETS / 2; shift; shift /= 2) {
		if (ns >> shift) {
			log += shift;
			ns >>= shift;
		}
	}
	key = outcome * BUCKETS + log;
	n = bpf_map_lookup_elem(&counts, &key);
	if (n)
		(*n)++;
	return 0;
}

#ifdef TP_BTF
SEC("tp_btf/pagefault_exit")
int BPF_PROG(tp_btf_hist, const struct pagefault *pf)
{
	return count_duration(pf->outcome, pf->duration);
}
#else
/* include/linux/mm_types.h: enum vm_fault_reason */
#define VM_FAULT_MAJOR		0x4
#define VM_FAULT_RETRY		0x400
#define VM_FAULT_ERROR		0x873

/* Rows of the histogram */
enum { MINOR, MAJOR, RETRY, FAILED };

/* When the task's call began */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} begun SEC(".maps");

static __always_inline int note_begin(void)
{
	__u64 *begin = bpf_task_storage_get(&begun, bpf_get_current_task_btf(), NULL,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (begin)
		*begin = bpf_ktime_get_ns();
	return 0;
}

#ifdef PERF
SEC("raw_tp/page_fault_user")
int perf_hist_user(void *ctx)
{
	return note_begin();
}

SEC("raw_tp/page_fault_kernel")
int perf_hist_kernel(void *ctx)
{
	return note_begin();
}

static __always_inline int count_end(__u32 outcome)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 *begin = bpf_task_storage_get(&begun, bpf_get_current_task_btf(), NULL, 0);

	return begin ? count_duration(outcome, now - *begin) : 0;
}

/* load_bpf.c knows them by name */
SEC("perf_event")
int perf_minor(struct bpf_perf_event_data *ctx)
{
	return count_end(MINOR);
}

SEC("perf_event")
int perf_major(struct bpf_perf_event_data *ctx)
{
	return count_end(MAJOR);
}
#else
SEC("fentry/handle_mm_fault")
int BPF_PROG(fexit_hist_begin)
{
	return note_begin();
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fexit_hist, struct vm_area_struct *vma, unsigned long address, unsigned int flags,
	     struct pt_regs *regs, unsigned int ret)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 *begin = bpf_task_storage_get(&begun, bpf_get_current_task_btf(), NULL, 0);

	if (!begin)
		return 0;
	return count_duration(ret & VM_FAULT_RETRY ? RETRY : ret & VM_FAULT_ERROR ? FAILED :
			      ret & VM_FAULT_MAJOR ? MAJOR : MINOR, now - *begin);
}
#endif
#endif

/* For bpf_task_storage_get() */
char LICENSE[] SEC("license") = "GPL";
