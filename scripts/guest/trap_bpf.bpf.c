// SPDX-License-Identifier: GPL-2.0
/*
 * The BPF side of trap_bpf.c: hands over each record of the events that a task named
 * "raise" has, and counts the traps of each vector. It is compiled once, for any kernel
 * with the events: libbpf finds each field of the structures here by its name, in the BTF
 * of the kernel that runs.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "trap_bpf.h"

#define KERNELS	__attribute__((preserve_access_index))

struct trace_event_raw_trap {
	unsigned long ip;
	unsigned int error_code;
	unsigned short vector, user_mode;
#ifdef OTHER_KERNEL
	unsigned int other_field;	/* which this kernel has not */
#endif
} KERNELS;

struct trace_event_raw_pagefault_entry {
	unsigned long address, ip, error_code;
	unsigned int user_mode;
} KERNELS;

struct trace_event_raw_pagefault_exit {
	unsigned long long duration;
	unsigned long address, ip, error_code;
	unsigned int outcome, flags, vm_fault, user_mode;
	int signo, si_code;
} KERNELS;

struct trace_event_raw_pagefault_noregs {
	unsigned long long duration;
	unsigned long address;
	unsigned int fault_flags, outcome, flags, vm_fault;
	int tgid;
} KERNELS;

/* libbpf wants an enum where the kernel has one */
enum pagefault_outcome {
	PAGEFAULT_MINOR,
};

struct pagefault {
	unsigned long address, ip, error_code;
	unsigned long long duration;
	enum pagefault_outcome outcome;
	unsigned int flags, vm_fault, user_mode;
	int signo, si_code;
} KERNELS;

struct pt_regs {
	unsigned long ip;
} KERNELS;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VECTORS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline int is_ours(void)
{
	char comm[16];

	bpf_get_current_comm(comm, sizeof(comm));
	return !__builtin_memcmp(comm, "raise", sizeof("raise"));
}

static __always_inline struct record *new_record(enum event event)
{
	struct record *r;

	if (!is_ours())
		return NULL;
	r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (r) {
		__builtin_memset(r, 0, sizeof(*r));
		r->event = event;
	}
	return r;
}

static __always_inline int trap(struct trace_event_raw_trap *e, enum event event)
{
	struct record *r = new_record(event);

	if (!r)
		return 0;
	r->ip = e->ip;
	r->error_code = e->error_code;
	r->vector = e->vector;
	r->user_mode = e->user_mode;
#ifdef OTHER_KERNEL
	r->flags = e->other_field;
#endif
	bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("tp/trap/trap_entry")
int trap_entry(struct trace_event_raw_trap *e)
{
	return trap(e, TRAP_ENTRY);
}

SEC("tp/trap/trap_exit")
int trap_exit(struct trace_event_raw_trap *e)
{
	return trap(e, TRAP_EXIT);
}

/*
 * The fields of each page fault event. The record of the event and the argument of its
 * tracepoint have them under the same names, with types of their own. Both are e here,
 * and r is what goes to the reader.
 */
#define ENTRY_FIELDS ({					\
	r->address = e->address;			\
	r->ip = e->ip;					\
	r->error_code = e->error_code;			\
	r->user_mode = e->user_mode;			\
})

#define END_FIELDS ({					\
	r->duration = e->duration;			\
	r->outcome = e->outcome;			\
	r->flags = e->flags;				\
	r->vm_fault = e->vm_fault;			\
})

#define EXIT_FIELDS ({					\
	ENTRY_FIELDS;					\
	END_FIELDS;					\
	r->signo = e->signo;				\
	r->si_code = e->si_code;			\
})

#define NOREGS_FIELDS(of_call, owner) ({		\
	END_FIELDS;					\
	r->address = e->address;			\
	r->fault_flags = of_call;			\
	r->tgid = owner;				\
})

#define SEND(event, argument, FIELDS) ({		\
	struct record *r = new_record(event);		\
							\
	if (r) {					\
		r->of_argument = argument;		\
		FIELDS;					\
		bpf_ringbuf_submit(r, 0);		\
	}						\
	0;						\
})

SEC("tp/pagefault/pagefault_entry")
int pagefault_entry(struct trace_event_raw_pagefault_entry *e)
{
	return SEND(PAGEFAULT_ENTRY, 0, ENTRY_FIELDS);
}

SEC("tp/pagefault/pagefault_exit")
int pagefault_exit(struct trace_event_raw_pagefault_exit *e)
{
	return SEND(PAGEFAULT_EXIT, 0, EXIT_FIELDS);
}

SEC("tp/pagefault/pagefault_noregs")
int pagefault_noregs(struct trace_event_raw_pagefault_noregs *e)
{
	return SEND(PAGEFAULT_NOREGS, 0, NOREGS_FIELDS(e->fault_flags, e->tgid));
}

SEC("tp_btf/pagefault_entry")
int BPF_PROG(entry_argument, const struct pagefault *e)
{
	return SEND(PAGEFAULT_ENTRY, 1, ENTRY_FIELDS);
}

SEC("tp_btf/pagefault_exit")
int BPF_PROG(exit_argument, const struct pagefault *e)
{
	return SEND(PAGEFAULT_EXIT, 1, EXIT_FIELDS);
}

SEC("tp_btf/pagefault_noregs")
int BPF_PROG(noregs_argument, const struct pagefault *e, unsigned int fault_flags, int tgid)
{
	return SEND(PAGEFAULT_NOREGS, 1, NOREGS_FIELDS(fault_flags, tgid));
}

SEC("tp_btf/trap_entry")
int BPF_PROG(count, struct pt_regs *regs, unsigned int vector, unsigned long error_code)
{
	__u64 *n;

	if (!regs->ip || !is_ours())
		return 0;
	n = bpf_map_lookup_elem(&counts, &vector);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
