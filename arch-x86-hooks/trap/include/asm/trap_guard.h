/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TRAP_GUARD_H
#define _ASM_X86_TRAP_GUARD_H

/*
 * The recursion guard of the events that fire in a trap handler.
 *
 * A probe (a function that is attached to the event) can itself cause a trap: a
 * stack walk faults, or a kprobe in the tracing code is hit. That trap would fire
 * the event again and recurse. So TRACE_TRAP_BIT of current->trace_recursion is
 * set while probes run:
 *
 *  - Interrupts are disabled all that time. A trap from kernel mode that finds
 *    the bit set was raised by a probe. It is counted and not traced.
 *  - A trap from user mode cannot come from a probe. It is always traced.
 *  - An NMI can interrupt a probe anywhere. It clears the bit and restores it
 *    at its end, so that the NMI and the traps in its handler are traced.
 *  - #MC leaves the bit set: if a #MC interrupts a probe, the traps in its
 *    handler are not traced.
 *  - If a probe oopses, the bit stays set in the task that dies. Other tasks on
 *    this CPU are traced as before.
 *
 * trace_test_and_set_recursion() does not work: its transition bit lets one
 * nested event through in each context (task, softirq, IRQ, NMI), and a #BP or
 * #DB of kernel mode counts as an NMI, hence as a context of its own.
 */
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/trace_recursion.h>

#ifdef CONFIG_TRACEPOINTS

DECLARE_PER_CPU(unsigned long, trap_suppressed);

/* In state KPROBE_REENTER, hitting a kprobe is a BUG(), see reenter_kprobe() */
static __always_inline bool trap_guard_kprobe_reentered(void)
{
#ifdef CONFIG_KPROBES
	return __this_cpu_read(current_kprobe) &&
	       __this_cpu_read(kprobe_ctlblk.kprobe_status) == KPROBE_REENTER;
#else
	return false;
#endif
}

/**
 * trap_guard_enter - Begin to run the probes of an event
 * @regs:	Registers of the context that the trap interrupted
 *
 * A trap or an NMI in state KPROBE_REENTER is suppressed as well: hitting a
 * kprobe in the tracing code would be a BUG().
 *
 * Context: A trap handler. Interrupts are disabled until trap_guard_exit().
 *	    The caller must be notrace and NOKPROBE: a trap before the bit is
 *	    set would recurse.
 *
 * Return: true if the probes may run. The caller must then call
 *	   trap_guard_exit(). false if the event was suppressed and counted.
 */
static __always_inline bool trap_guard_enter(struct pt_regs *regs)
{
	lockdep_assert_irqs_disabled();

	if (!user_mode(regs) && (trace_recursion_test(TRACE_TRAP_BIT) ||
				 trap_guard_kprobe_reentered())) {
		__this_cpu_inc(trap_suppressed);
		return false;
	}

	trace_recursion_set(TRACE_TRAP_BIT);
	/* Only traps on this CPU read the bit, so barrier() suffices */
	barrier();
	return true;
}

/**
 * trap_guard_exit - End what trap_guard_enter() began
 *
 * Context: Only after trap_guard_enter() returned true.
 */
static __always_inline void trap_guard_exit(void)
{
	barrier();
	trace_recursion_clear(TRACE_TRAP_BIT);
}

/**
 * trap_guard_suspend - Let an NMI trace itself and its traps
 *
 * Context: NMI, first in the handler.
 *
 * Return: true if the NMI interrupted a probe. Pass it to trap_guard_resume().
 */
static __always_inline bool trap_guard_suspend(void)
{
	bool in_probe = trace_recursion_test(TRACE_TRAP_BIT);

	trace_recursion_clear(TRACE_TRAP_BIT);
	barrier();
	return in_probe;
}

/**
 * trap_guard_resume - Restore what trap_guard_suspend() found
 * @in_probe:	The return value of trap_guard_suspend()
 *
 * Context: NMI, last in the handler.
 */
static __always_inline void trap_guard_resume(bool in_probe)
{
	barrier();
	if (in_probe)
		trace_recursion_set(TRACE_TRAP_BIT);
}

#else /* !CONFIG_TRACEPOINTS */

static __always_inline bool trap_guard_enter(struct pt_regs *regs)
{
	return false;
}

static __always_inline void trap_guard_exit(void)
{
}

static __always_inline bool trap_guard_suspend(void)
{
	return false;
}

static __always_inline void trap_guard_resume(bool in_probe)
{
}

#endif /* !CONFIG_TRACEPOINTS */

#endif /* _ASM_X86_TRAP_GUARD_H */
