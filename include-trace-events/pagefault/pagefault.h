/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pagefault

#if !defined(_TRACE_PAGEFAULT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_PAGEFAULT_H

#include <linux/pagefault_trace.h>
#include <linux/tracepoint.h>

#define PAGEFAULT_OUTCOMES						\
	EM(MINOR) EM(MAJOR) EM(RETRY) EM(FAILED) EM(INTERRUPTED)	\
	EM(OOM) EM(FIXUP) EM(SIGNAL) EM(ARCH) EMe(OOPS)

#define PAGEFAULT_FLAGS							\
	EM(ANON) EM(FILE) EM(SHMEM) EM(HUGETLB) EM(COW) EM(SWAPIN)	\
	EM(RETRIED_VMA) EMe(RETRIED_MMAP)

/* Export the enums to the tools that read the format of an event */
#undef EM
#undef EMe
#define EM(name)	TRACE_DEFINE_ENUM(PAGEFAULT_##name);
#define EMe(name)	TRACE_DEFINE_ENUM(PAGEFAULT_##name);
PAGEFAULT_OUTCOMES
PAGEFAULT_FLAGS

/* Export the values of FAULT_FLAG_TRACE as well */
#undef EM
#define EM(name)	TRACE_DEFINE_ENUM(FAULT_FLAG_##name);
EM(WRITE) EM(MKWRITE) EM(ALLOW_RETRY) EM(RETRY_NOWAIT) EM(KILLABLE) EM(TRIED)
EM(USER) EM(REMOTE) EM(INSTRUCTION) EM(INTERRUPTIBLE) EM(UNSHARE)
EM(ORIG_PTE_VALID) EM(VMA_LOCK)

#undef EM
#undef EMe
#define EM(name)	{ PAGEFAULT_##name, #name },
#define EMe(name)	{ PAGEFAULT_##name, #name }

/* The events share a static key with pagefault_mark() and pagefault_note() */
int pagefault_reg(void);
void pagefault_unreg(void);

/* Fires before a page fault is handled. struct pagefault explains the fields */
TRACE_EVENT_FN(pagefault_entry,
	       TP_PROTO(const struct pagefault *pf),
	       TP_ARGS(pf),

	       TP_STRUCT__entry(__field(unsigned long, address)
				__field(unsigned long, ip)
				__field(unsigned long, error_code)
				__field(unsigned int, user_mode)
	       ),

	       TP_fast_assign(__entry->address = pf->address;
			      __entry->ip = pf->ip;
			      __entry->error_code = pf->error_code;
			      __entry->user_mode = pf->user_mode;
	       ),

	       TP_printk("address=0x%lx ip=%pS error_code=0x%lx mode=%s",
			 __entry->address, (void *)__entry->ip,
			 __entry->error_code,
			 __entry->user_mode ? "user" : "kernel"),
	       pagefault_reg, pagefault_unreg
);

/*
 * Fires after a page fault was handled, before a signal is delivered. It fires
 * for faults that began after the event was enabled.
 */
TRACE_EVENT_FN(pagefault_exit,
	       TP_PROTO(const struct pagefault *pf),
	       TP_ARGS(pf),

	       TP_STRUCT__entry(__field(unsigned long long, duration)
				__field(unsigned long, address)
				__field(unsigned long, ip)
				__field(unsigned long, error_code)
				__field(unsigned int, outcome)
				__field(int, signo)
				__field(int, si_code)
				__field(unsigned int, flags)
				__field(unsigned int, vm_fault)
				__field(unsigned int, user_mode)
	       ),

	       /* Copy first: GCC then moves two fields of 4 bytes at once */
	       TP_fast_assign(struct pagefault f = *pf;

			      __entry->duration = f.duration;
			      __entry->address = f.address;
			      __entry->ip = f.ip;
			      __entry->error_code = f.error_code;
			      __entry->outcome = f.outcome;
			      __entry->signo = f.signo;
			      __entry->si_code = f.si_code;
			      __entry->flags = f.flags;
			      __entry->vm_fault = (__force u32)f.vm_fault;
			      __entry->user_mode = f.user_mode;
	       ),

	       TP_printk("address=0x%lx ip=%pS error_code=0x%lx mode=%s outcome=%s signo=%d si_code=%d flags=0x%x(%s) vm_fault=0x%x(%s) duration=%lluns",
			 __entry->address, (void *)__entry->ip,
			 __entry->error_code,
			 __entry->user_mode ? "user" : "kernel",
			 __print_symbolic(__entry->outcome, PAGEFAULT_OUTCOMES),
			 __entry->signo, __entry->si_code, __entry->flags,
			 __print_flags(__entry->flags, "|", PAGEFAULT_FLAGS),
			 __entry->vm_fault,
			 __print_flags(__entry->vm_fault, "|",
				       VM_FAULT_RESULT_TRACE),
			 __entry->duration),
	       pagefault_reg, pagefault_unreg
);

/*
 * Fires after handle_mm_fault() returned to a caller that passed no registers,
 * such as get_user_pages(). The caller passed @fault_flags (enum fault_flag).
 * @tgid owns the memory, 0 if it is not known. getrusage() counts MINOR and MAJOR
 * for the current task, not for @tgid. After RETRY, the caller may try again.
 */
TRACE_EVENT_FN(pagefault_noregs,
	       TP_PROTO(const struct pagefault *pf, unsigned int fault_flags,
			pid_t tgid),
	       TP_ARGS(pf, fault_flags, tgid),

	       TP_STRUCT__entry(__field(unsigned long long, duration)
				__field(unsigned long, address)
				__field(unsigned int, fault_flags)
				__field(unsigned int, outcome)
				__field(unsigned int, flags)
				__field(unsigned int, vm_fault)
				__field(pid_t, tgid)
	       ),

	       TP_fast_assign(__entry->duration = pf->duration;
			      __entry->address = pf->address;
			      __entry->fault_flags = fault_flags;
			      __entry->outcome = pf->outcome;
			      __entry->flags = pf->flags;
			      __entry->vm_fault = (__force u32)pf->vm_fault;
			      __entry->tgid = tgid;
	       ),

	       TP_printk("address=0x%lx tgid=%d fault_flags=0x%x(%s) outcome=%s flags=0x%x(%s) vm_fault=0x%x(%s) duration=%lluns",
			 __entry->address, __entry->tgid, __entry->fault_flags,
			 __print_flags(__entry->fault_flags, "|",
				       FAULT_FLAG_TRACE),
			 __print_symbolic(__entry->outcome, PAGEFAULT_OUTCOMES),
			 __entry->flags,
			 __print_flags(__entry->flags, "|", PAGEFAULT_FLAGS),
			 __entry->vm_fault,
			 __print_flags(__entry->vm_fault, "|",
				       VM_FAULT_RESULT_TRACE),
			 __entry->duration),
	       pagefault_reg, pagefault_unreg
);

#endif /* _TRACE_PAGEFAULT_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
