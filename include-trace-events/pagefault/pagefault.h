/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pagefault

#if !defined(_TRACE_PAGEFAULT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_PAGEFAULT_H

#include <linux/mm.h>
#include <linux/pagefault_trace.h>
#include <linux/tracepoint.h>

#define PAGEFAULT_OUTCOMES						\
	EM(MINOR) EM(MAJOR) EM(INTERRUPTED) EM(OOM) EM(FIXUP)		\
	EM(SIGNAL) EMe(ARCH)

#define PAGEFAULT_KINDS							\
	EM(NONE) EM(ANON) EM(FILE) EM(SHMEM) EM(HUGETLB) EMe(SPECIAL)

#define PAGEFAULT_FLAGS							\
	EM(COW) EM(SWAPIN) EM(RETRIED_VMA) EMe(RETRIED_MMAP)

/* Export the enums, and enum fault_flag, to the tools that read the format */
#undef EM
#undef EMe
#define EM(name)	TRACE_DEFINE_ENUM(PAGEFAULT_##name);
#define EMe(name)	TRACE_DEFINE_ENUM(PAGEFAULT_##name);
PAGEFAULT_OUTCOMES
PAGEFAULT_KINDS
PAGEFAULT_FLAGS

#undef EM
#define EM(name)	TRACE_DEFINE_ENUM(FAULT_FLAG_##name);
EM(WRITE) EM(MKWRITE) EM(ALLOW_RETRY) EM(RETRY_NOWAIT) EM(KILLABLE) EM(TRIED)
EM(USER) EM(REMOTE) EM(INSTRUCTION) EM(INTERRUPTIBLE) EM(UNSHARE)
EM(ORIG_PTE_VALID) EM(VMA_LOCK)

#undef EM
#undef EMe
#define EM(name)	{ PAGEFAULT_##name, #name },
#define EMe(name)	{ PAGEFAULT_##name, #name }

#define PAGEFAULT_SHOW_FLAGS						\
	__entry->flags, __print_flags(__entry->flags, "|", PAGEFAULT_FLAGS), \
	__entry->fault_flags,						\
	__print_flags(__entry->fault_flags, "|", FAULT_FLAG_TRACE),	\
	__entry->vm_fault,						\
	__print_flags(__entry->vm_fault, "|", VM_FAULT_RESULT_TRACE)

int pagefault_reg(void);
void pagefault_unreg(void);

/* Fires before a page fault is handled. struct pagefault explains the fields */
TRACE_EVENT_FN(pagefault_entry,
	TP_PROTO(const struct pagefault *pf),
	TP_ARGS(pf),

	TP_STRUCT__entry(
		__field(unsigned long, address)
		__field(unsigned long, ip)
		__field(unsigned long, error_code)
		__field(unsigned int, user_mode)
	),

	TP_fast_assign(
		__entry->address = pf->address;
		__entry->ip = pf->ip;
		__entry->error_code = pf->error_code;
		__entry->user_mode = pf->user_mode;
	),

	TP_printk("address=0x%lx ip=%pS error_code=0x%lx mode=%s",
		__entry->address, (void *)__entry->ip, __entry->error_code,
		__entry->user_mode ? "user" : "kernel"),
	pagefault_reg, pagefault_unreg
);

/*
 * Fires after a page fault was handled and before a signal is delivered. Does not
 * fire if all of these events were off at some time since the fault began.
 */
TRACE_EVENT_FN(pagefault_exit,
	TP_PROTO(const struct pagefault *pf),
	TP_ARGS(pf),

	TP_STRUCT__entry(
		__field(unsigned long long, duration)
		__field(unsigned long, address)
		__field(unsigned long, ip)
		__field(unsigned long, error_code)
		__field(unsigned int, outcome)
		__field(unsigned int, kind)
		__field(int, signo)
		__field(int, si_code)
		__field(unsigned int, flags)
		__field(unsigned int, fault_flags)
		__field(unsigned int, vm_fault)
		__field(unsigned int, user_mode)
	),

	TP_fast_assign(
		/* From a copy, GCC moves two fields of 4 bytes at once */
		struct pagefault f = *pf;

		__entry->duration = f.duration;
		__entry->address = f.address;
		__entry->ip = f.ip;
		__entry->error_code = f.error_code;
		__entry->outcome = f.outcome;
		__entry->kind = f.kind;
		__entry->signo = f.signo;
		__entry->si_code = f.si_code;
		__entry->flags = f.flags;
		__entry->fault_flags = f.fault_flags;
		__entry->vm_fault = (__force u32)f.vm_fault;
		__entry->user_mode = f.user_mode;
	),

	TP_printk("address=0x%lx ip=%pS error_code=0x%lx mode=%s outcome=%s kind=%s signo=%d si_code=%d flags=0x%x(%s) fault_flags=0x%x(%s) vm_fault=0x%x(%s) duration=%lluns",
		__entry->address, (void *)__entry->ip, __entry->error_code,
		__entry->user_mode ? "user" : "kernel",
		__print_symbolic(__entry->outcome, PAGEFAULT_OUTCOMES),
		__print_symbolic(__entry->kind, PAGEFAULT_KINDS),
		__entry->signo, __entry->si_code,
		PAGEFAULT_SHOW_FLAGS, __entry->duration),
	pagefault_reg, pagefault_unreg
);

#endif /* _TRACE_PAGEFAULT_H */

#include <trace/define_trace.h>
