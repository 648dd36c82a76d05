/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pagefault
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE pagefault

#if !defined(_TRACE_PAGEFAULT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_PAGEFAULT_H

#include <linux/ptrace.h>
#include <linux/tracepoint.h>
#include <trace/events/pagefault_outcome.h>

/* The architecture's show_pagefault_error_code() names the bits of its error code */
#include <asm/trace/pagefault.h>

#include <trace/events/pagefault_enums.h>

/* As in <trace/events/trap.h>, the records have no padding. */
DECLARE_EVENT_CLASS(pagefault_start,
		    TP_PROTO(struct pt_regs *regs, unsigned long address,
			     unsigned long error_code),
		    TP_ARGS(regs, address, error_code),

		    TP_STRUCT__entry(__field(unsigned long, address)
				     __field(unsigned long, ip)
				     __field(unsigned int, error_code)
				     __field(unsigned int, user_mode)
		    ),

		    TP_fast_assign(__entry->address = address;
				   __entry->ip = instruction_pointer(regs);
				   __entry->error_code = error_code;
				   __entry->user_mode = !!user_mode(regs);
		    ),

		    TP_printk("address=0x%lx ip=%pS error_code=0x%x(%s) mode=%s",
			      __entry->address, (void *)__entry->ip,
			      __entry->error_code,
			      show_pagefault_error_code(__entry->error_code),
			      __entry->user_mode ? "user" : "kernel")
);

DECLARE_EVENT_CLASS(pagefault_end,
		    TP_PROTO(struct pt_regs *regs, unsigned long address,
			     unsigned long error_code,
			     const struct pagefault_end *end),
		    TP_ARGS(regs, address, error_code, end),

		    TP_STRUCT__entry(__field(unsigned long, address)
				     __field(unsigned long, ip)
				     __field(unsigned long long, duration)
				     __field(unsigned int, error_code)
				     __field(unsigned int, vm_fault)
				     __field(unsigned int, flags)
				     __field(unsigned short, outcome)
				     __field(unsigned short, user_mode)
		    ),

		    TP_fast_assign(__entry->address = address;
				   __entry->ip = end->ip;
				   __entry->duration = end->duration;
				   __entry->error_code = error_code;
				   __entry->vm_fault = (__force u32)end->fault;
				   __entry->flags = end->flags;
				   __entry->outcome = end->outcome;
				   __entry->user_mode = !!user_mode(regs);
		    ),

		    TP_printk("address=0x%lx ip=%pS error_code=0x%x(%s) mode=%s outcome=%s flags=0x%x(%s) vm_fault=0x%x(%s) duration=%llu%s",
			      __entry->address, (void *)__entry->ip,
			      __entry->error_code,
			      show_pagefault_error_code(__entry->error_code),
			      __entry->user_mode ? "user" : "kernel",
			      show_pagefault_outcome(__entry->outcome),
			      __entry->flags,
			      show_pagefault_flags(__entry->flags),
			      __entry->vm_fault,
			      show_pagefault_vm_fault(__entry->vm_fault),
			      __entry->duration,
			      __entry->duration ? "ns" : "(unknown)")
);

/*
 * Fires when a page fault was taken, before it is handled, with interrupts
 * disabled.
 *
 * @address:	address whose access faulted
 * @ip:		instruction that did it
 * @error_code:	bit mask of the architecture
 * @user_mode:	1 if it was user mode, 0 for kernel mode
 */
DEFINE_EVENT(pagefault_start, pagefault_entry,
	     TP_PROTO(struct pt_regs *regs, unsigned long address,
		      unsigned long error_code),
	     TP_ARGS(regs, address, error_code)
);

/*
 * Fires when the fault was handled, with interrupts disabled again, before
 * signals are delivered; not if the handling does not return (oops). It does not
 * need the entry event: the first fields are the same, and
 *
 * @duration:	ns from before the handling to here, 0 if it is unknown as the
 *		event was off when the fault began. In that case @ip is where the
 *		context continues, and @flags has what @vm_fault tells only
 * @vm_fault:	what handle_mm_fault() returned last, see struct pagefault_end
 * @flags:	bit mask, enum pagefault_flags
 * @outcome:	enum pagefault_outcome
 */
DEFINE_EVENT(pagefault_end, pagefault_exit,
	     TP_PROTO(struct pt_regs *regs, unsigned long address,
		      unsigned long error_code,
		      const struct pagefault_end *end),
	     TP_ARGS(regs, address, error_code, end)
);

#endif /* _TRACE_PAGEFAULT_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
