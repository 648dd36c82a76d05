/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pagefault
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE pagefault_notrap

#if !defined(_TRACE_PAGEFAULT_NOTRAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_PAGEFAULT_NOTRAP_H

#include <linux/tracepoint.h>
#include <trace/events/pagefault_outcome.h>

#include <trace/events/pagefault_enums.h>

/* The names of FAULT_FLAG_TRACE */
TRACE_DEFINE_ENUM(FAULT_FLAG_WRITE);
TRACE_DEFINE_ENUM(FAULT_FLAG_MKWRITE);
TRACE_DEFINE_ENUM(FAULT_FLAG_ALLOW_RETRY);
TRACE_DEFINE_ENUM(FAULT_FLAG_RETRY_NOWAIT);
TRACE_DEFINE_ENUM(FAULT_FLAG_KILLABLE);
TRACE_DEFINE_ENUM(FAULT_FLAG_TRIED);
TRACE_DEFINE_ENUM(FAULT_FLAG_USER);
TRACE_DEFINE_ENUM(FAULT_FLAG_REMOTE);
TRACE_DEFINE_ENUM(FAULT_FLAG_INSTRUCTION);
TRACE_DEFINE_ENUM(FAULT_FLAG_INTERRUPTIBLE);
TRACE_DEFINE_ENUM(FAULT_FLAG_UNSHARE);
TRACE_DEFINE_ENUM(FAULT_FLAG_ORIG_PTE_VALID);
TRACE_DEFINE_ENUM(FAULT_FLAG_VMA_LOCK);

/*
 * Fires when handle_mm_fault() was called without registers, for a page fault that
 * no CPU has raised: by get_user_pages(), which is what O_DIRECT,
 * process_vm_readv(), ptrace() and KVM use, by fixup_user_fault(), KSM, HMM,
 * IOMMUs and others; on UML by all. The faults that a CPU raises have
 * pagefault_entry and pagefault_exit instead, on x86. An outcome of MINOR or MAJOR
 * is counted by getrusage() of the current task, whosever memory it was; RETRY is
 * not: another call follows, unless the caller gives up. A call that was under way
 * when the event was switched on does not fire it.
 *
 * @address:	address that is to be accessed, in the mm that the caller has
 * @duration:	ns in handle_mm_fault()
 * @fault_flags: bit mask, enum fault_flag: how it is to be accessed
 * @vm_fault:	what handle_mm_fault() returned
 * @flags:	bit mask, enum pagefault_flags
 * @outcome:	enum pagefault_outcome: MINOR, MAJOR, RETRY or FAILED
 */
TRACE_EVENT(pagefault_notrap,
	    TP_PROTO(unsigned long address, unsigned int fault_flags,
		     const struct pagefault_end *end),
	    TP_ARGS(address, fault_flags, end),

	    TP_STRUCT__entry(__field(unsigned long long, duration)
			     __field(unsigned long, address)
			     __field(unsigned int, fault_flags)
			     __field(unsigned int, vm_fault)
			     __field(unsigned int, flags)
			     __field(unsigned int, outcome)
	    ),

	    TP_fast_assign(__entry->address = address;
			   __entry->duration = end->duration;
			   __entry->fault_flags = fault_flags;
			   __entry->vm_fault = (__force u32)end->fault;
			   __entry->flags = end->flags;
			   __entry->outcome = end->outcome;
	    ),

	    TP_printk("address=0x%lx fault_flags=0x%x(%s) outcome=%s flags=0x%x(%s) vm_fault=0x%x(%s) duration=%lluns",
		      __entry->address, __entry->fault_flags,
		      __print_flags(__entry->fault_flags, "|",
				    FAULT_FLAG_TRACE),
		      show_pagefault_outcome(__entry->outcome),
		      __entry->flags,
		      show_pagefault_flags(__entry->flags),
		      __entry->vm_fault,
		      show_pagefault_vm_fault(__entry->vm_fault),
		      __entry->duration)
);

#endif /* _TRACE_PAGEFAULT_NOTRAP_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
