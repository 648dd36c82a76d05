/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TRAP_TRACE_H
#define _ASM_X86_TRAP_TRACE_H

/*
 * The hooks of the trap_entry and trap_exit trace events. They go into
 * <asm/idtentry.h>, and a trace event must not be called from a header: see
 * <linux/tracepoint-defs.h>. So this declares the tracepoints only, and their
 * calls are out of line.
 */
#include <linux/jump_label.h>
#include <linux/tracepoint-defs.h>

struct pt_regs;
struct task_struct;

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
 * @error_code:	Error code that the hardware pushed; DR6, in the polarity that
 *		debug_read_reset_dr6() gives, for #DB; 0 if the vector has none
 *
 * A single static branch while the trap_entry event is disabled.
 *
 * Context: A trap handler with interrupts disabled, after irqentry_enter() or
 *	    irqentry_nmi_enter() (RCU watches) and inside of
 *	    instrumentation_begin(). Any stack. What can interrupt a probe uses
 *	    trap_trace_nmi_enter() instead.
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
 * @error_code:	Error code as given to trap_trace_entry()
 *
 * A single static branch while the trap_exit event is disabled.
 *
 * Context: As for trap_trace_entry(), before irqentry_exit() or
 *	    irqentry_nmi_exit().
 */
static __always_inline void trap_trace_exit(struct pt_regs *regs,
					    unsigned int vector,
					    unsigned long error_code)
{
	if (tracepoint_enabled(trap_exit))
		__trap_trace_exit(regs, vector, error_code);
}

DECLARE_STATIC_KEY_FALSE(trap_trace_key);

#ifdef CONFIG_TRACEPOINTS

struct task_struct *__trap_trace_nmi_enter(struct pt_regs *regs,
					   unsigned int vector);
void __trap_trace_nmi_exit(struct pt_regs *regs, unsigned int vector,
			   struct task_struct *outer);

/**
 * trap_trace_nmi_enter - Trace an NMI or #MC, and lift the recursion guard
 * @regs:	Registers of the interrupted context
 * @vector:	X86_TRAP_NMI or X86_TRAP_MC
 *
 * Interrupts being off does not keep these from interrupting a probe. They are
 * none of its doing, so they and the traps that they raise are to be traced
 * all the same.
 *
 * A single static branch while no event is registered that uses the guard.
 *
 * Context: As for trap_trace_entry().
 *
 * Return: What trap_trace_nmi_exit() takes: the state of the guard.
 */
static __always_inline struct task_struct *
trap_trace_nmi_enter(struct pt_regs *regs, unsigned int vector)
{
	if (static_branch_unlikely(&trap_trace_key))
		return __trap_trace_nmi_enter(regs, vector);
	return NULL;
}

/**
 * trap_trace_nmi_exit - Trace the end of an NMI or #MC, put the guard back
 * @regs:	Registers of the interrupted context
 * @vector:	X86_TRAP_NMI or X86_TRAP_MC
 * @outer:	What trap_trace_nmi_enter() returned
 *
 * A static branch, and a look at @outer, while no event is registered that uses the
 * guard. It may have been switched off since trap_trace_nmi_enter(), but the
 * interrupted probe goes on and another event may still be enabled: @outer has to be
 * put back.
 *
 * Context: As for trap_trace_exit().
 */
static __always_inline void trap_trace_nmi_exit(struct pt_regs *regs,
						unsigned int vector,
						struct task_struct *outer)
{
	if (static_branch_unlikely(&trap_trace_key) || outer)
		__trap_trace_nmi_exit(regs, vector, outer);
}

#else /* !CONFIG_TRACEPOINTS */

static __always_inline struct task_struct *
trap_trace_nmi_enter(struct pt_regs *regs, unsigned int vector)
{
	return NULL;
}

static __always_inline void trap_trace_nmi_exit(struct pt_regs *regs,
						unsigned int vector,
						struct task_struct *outer)
{
}

#endif /* CONFIG_TRACEPOINTS */

#endif /* _ASM_X86_TRAP_TRACE_H */
