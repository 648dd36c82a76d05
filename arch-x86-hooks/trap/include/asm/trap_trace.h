/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TRAP_TRACE_H
#define _ASM_X86_TRAP_TRACE_H

/*
 * The hooks of the trap_entry and trap_exit trace events. <asm/idtentry.h>
 * includes this, and a header must not call a trace event: see
 * <linux/tracepoint-defs.h>. So the calls are out of line, in trap_trace.c.
 */
#include <linux/tracepoint-defs.h>

struct pt_regs;

DECLARE_TRACEPOINT(trap_entry);
DECLARE_TRACEPOINT(trap_exit);

void __trap_trace_entry(struct pt_regs *regs, unsigned int vector,
			unsigned long error_code);
void __trap_trace_exit(struct pt_regs *regs, unsigned int vector,
		       unsigned long error_code);

/**
 * trap_trace_entry - Trace that a trap was taken
 * @regs:	Registers of the interrupted context
 * @vector:	Vector number, one of X86_TRAP_*
 * @error_code:	Error code of the CPU (SDM volume 3, "Error Code"), 0 if the
 *		vector has none, or what the event records in its place
 *
 * A NOP while the trap_entry event is disabled.
 *
 * Context: A trap handler, after irqentry_enter*() or irqentry_nmi_enter() (RCU
 *	    watches), inside instrumentation_begin(), interrupts disabled.
 */
static __always_inline void trap_trace_entry(struct pt_regs *regs,
					     unsigned int vector,
					     unsigned long error_code)
{
	if (tracepoint_enabled(trap_entry))
		__trap_trace_entry(regs, vector, error_code);
}

/**
 * trap_trace_exit - Trace that a trap was handled
 * @regs:	Registers of the interrupted context
 * @vector:	Vector number, one of X86_TRAP_*
 * @error_code:	As for trap_trace_entry()
 *
 * A NOP while the trap_exit event is disabled.
 *
 * Context: As for trap_trace_entry(), before irqentry_exit*() or
 *	    irqentry_nmi_exit().
 */
static __always_inline void trap_trace_exit(struct pt_regs *regs,
					    unsigned int vector,
					    unsigned long error_code)
{
	if (tracepoint_enabled(trap_exit))
		__trap_trace_exit(regs, vector, error_code);
}

#endif /* _ASM_X86_TRAP_TRACE_H */
