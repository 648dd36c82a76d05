// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs for make bench that count page faults: how many there were, or how many took how
 * long, by outcome. load_bpf.c loads those whose names begin with the name of a way.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel.h"

#define OUTCOMES		16
#define BUCKETS			64

/* include/linux/mm_types.h: enum vm_fault_reason */
#define VM_FAULT_MAJOR		0x4
#define VM_FAULT_RETRY		0x400
#define VM_FAULT_ERROR		0x873

/* As those of include/trace/events/pagefault.h */
enum outcome { MINOR, MAJOR, RETRY, FAILED };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OUTCOMES * BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/* When the task's call began: in the storage of the task, or in a hash, as bcc and bpftrace do */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} begun SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, __u64);
} begun_of_thread SEC(".maps");

static __always_inline int count(__u32 key)
{
	__u64 *n = bpf_map_lookup_elem(&counts, &key);

	if (n)
		(*n)++;
	return 0;
}

static __always_inline int count_duration(__u32 outcome, __u64 ns)
{
	__u32 log = 0;

#pragma unroll
	for (int shift = BUCKETS / 2; shift; shift /= 2) {
		if (ns >> shift) {
			log += shift;
			ns >>= shift;
		}
	}
	return count(outcome * BUCKETS + log);
}

SEC("fentry/handle_mm_fault")
int BPF_PROG(fentry_count)
{
	return count(0);
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fexit_count)
{
	return count(0);
}

SEC("fentry/handle_mm_fault")
int BPF_PROG(fexit_hist_begin)
{
	__u64 *begin = bpf_task_storage_get(&begun, bpf_get_current_task_btf(), NULL,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (begin)
		*begin = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int count_call(__u32 ret, __u64 ns)
{
	return count_duration(ret & VM_FAULT_RETRY ? RETRY : ret & VM_FAULT_ERROR ? FAILED :
			      ret & VM_FAULT_MAJOR ? MAJOR : MINOR, ns);
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fexit_hist, struct vm_area_struct *vma, unsigned long address, unsigned int flags,
	     struct pt_regs *regs, unsigned int ret)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 *begin = bpf_task_storage_get(&begun, bpf_get_current_task_btf(), NULL, 0);

	return begin ? count_call(ret, now - *begin) : 0;
}

SEC("fentry/handle_mm_fault")
int BPF_PROG(fexit_hash_begin)
{
	__u32 thread = bpf_get_current_pid_tgid();
	__u64 begin = bpf_ktime_get_ns();

	bpf_map_update_elem(&begun_of_thread, &thread, &begin, BPF_ANY);
	return 0;
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fexit_hash, struct vm_area_struct *vma, unsigned long address, unsigned int flags,
	     struct pt_regs *regs, unsigned int ret)
{
	__u32 thread = bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns();
	__u64 *begin = bpf_map_lookup_elem(&begun_of_thread, &thread);

	if (!begin)
		return 0;
	count_call(ret, now - *begin);
	bpf_map_delete_elem(&begun_of_thread, &thread);
	return 0;
}

SEC("tp_btf/pagefault_exit")
int BPF_PROG(tp_btf_count)
{
	return count(0);
}

SEC("tp_btf/pagefault_exit")
int BPF_PROG(tp_btf_hist, const struct pagefault *pf)
{
	return count_duration(pf->outcome, pf->duration);
}

SEC("raw_tp/pagefault_exit")
int BPF_PROG(raw_tp_count)
{
	return count(0);
}

SEC("raw_tp/pagefault_exit")
int BPF_PROG(raw_tp_hist, const struct pagefault *pf)
{
	return count_duration(BPF_CORE_READ(pf, outcome), BPF_CORE_READ(pf, duration));
}

/* For bpf_task_storage_get() */
char LICENSE[] SEC("license") = "GPL";
