/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM trap

#if !defined(_TRACE_TRAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_TRAP_H

#include <linux/ptrace.h>
#include <linux/tracepoint.h>

/*
 * What only the architecture knows:
 *
 * show_trap_vector():	turns a vector into its architectural name by
 *			__print_symbolic()
 * trap_ip_in_kernel():	whether an address is one of the kernel
 * trap_trace_reg(), trap_trace_unreg():
 *			called when an event gets its first probe and when it
 *			loses its last one
 */
#include <asm/trace/trap.h>

/*
 * The fields are ordered and sized such that the record has no padding on
 * 64-bit and on 32-bit, and their types are ones that a tool knows without the
 * kernel's headers:
 *
 * @ip:		instruction pointer of the interrupted context, an address
 * @error_code:	error code of the trap, a bit mask that depends on @vector;
 *		0 where the architecture gives none. A debug exception has
 *		none: its cause is here instead (DR6 on x86)
 * @vector:	number of the trap, as the architecture counts them
 * @user_mode:	1 if the trap interrupted user mode, 0 for kernel mode
 *
 * The @ip of user mode is printed as a number. User mode may jump anywhere, so
 * if it is an address of the kernel, then the symbol is printed separately.
 */
DECLARE_EVENT_CLASS(trap,
		    TP_PROTO(struct pt_regs *regs, unsigned int vector,
			     unsigned long error_code),
		    TP_ARGS(regs, vector, error_code),

		    TP_STRUCT__entry(__field(unsigned long, ip)
				     __field(unsigned int, error_code)
				     __field(unsigned short, vector)
				     __field(unsigned short, user_mode)
		    ),

		    TP_fast_assign(__entry->ip = instruction_pointer(regs);
				   __entry->error_code = error_code;
				   __entry->vector = vector;
				   __entry->user_mode = !!user_mode(regs);
		    ),

		    TP_printk("vector=%u(%s) error_code=0x%x mode=%s ip=%s%s%pS",
			      __entry->vector,
			      show_trap_vector(__entry->vector),
			      __entry->error_code,
			      __entry->user_mode ? "user" : "kernel",
			      __entry->user_mode && trap_ip_in_kernel(__entry->ip) ?
			      __print_symbolic(__entry->ip, { 0, "0x0" }) : "",
			      __entry->user_mode && trap_ip_in_kernel(__entry->ip) ?
			      " symbol=" : "",
			      (void *)__entry->ip)
);

/*
 * Fires after the entry code has established the kernel context (RCU,
 * lockdep, context tracking) and before the trap is handled, with interrupts
 * disabled. @ip is where the trap was taken: at the instruction for a fault,
 * after it for a trap in the narrow sense.
 */
DEFINE_EVENT_FN(trap, trap_entry,
		TP_PROTO(struct pt_regs *regs, unsigned int vector,
			 unsigned long error_code),
		TP_ARGS(regs, vector, error_code),
		trap_trace_reg, trap_trace_unreg
);

/*
 * Fires after the trap was handled, with interrupts disabled again and before
 * signals are delivered. @ip is where the context continues: it differs from
 * the one at entry when the handler moved it, e.g. to an exception fixup. Does
 * not fire for a trap whose handler does not return.
 */
DEFINE_EVENT_FN(trap, trap_exit,
		TP_PROTO(struct pt_regs *regs, unsigned int vector,
			 unsigned long error_code),
		TP_ARGS(regs, vector, error_code),
		trap_trace_reg, trap_trace_unreg
);

#endif /* _TRACE_TRAP_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
