// SPDX-License-Identifier: GPL-2.0
/*
 * Trace events for traps: the out of line half of <asm/trap_trace.h>, and the
 * guard that keeps a probe from tracing its own traps.
 */
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>

#include <asm/trap_trace.h>

#define CREATE_TRACE_POINTS
#include <trace/events/trap.h>

/* A probe of a trap event runs on this CPU. */
static DEFINE_PER_CPU(bool, trap_trace_busy);

/* The trap whose entry was not traced for the sake of a kprobe. */
static DEFINE_PER_CPU(struct pt_regs *, trap_trace_skipped);

/*
 * Whether the trap was taken while a reentered kprobe is single-stepped: one
 * more kprobe on the probe's path is "unrecoverable" then, and a BUG().
 */
static __always_inline bool trap_trace_kprobe_reentered(void)
{
#ifdef CONFIG_KPROBES
	return kprobe_running() &&
	       get_kprobe_ctlblk()->kprobe_status == KPROBE_REENTER;
#else
	return false;
#endif
}

/**
 * trap_trace_begin - Enter a probe of a trap event, unless one runs already
 * @regs:	Registers of the context that the trap interrupted
 * @exit:	True for trap_exit, false for trap_entry
 *
 * The rules:
 *
 * 1. Interrupts are disabled from begin to end, so whatever interrupts the
 *    probe on this CPU in between is a trap that the probe raised itself, an
 *    NMI, a #MC, or something that one of these raised.
 * 2. A flag per CPU says that a probe runs, whatever tracer it belongs to; a
 *    trap taken in kernel mode which finds it set is not traced. Its entry and
 *    its exit both fall inside the outer probe, so they stay balanced.
 * 3. A trap taken in user mode cannot have come from a probe: it ignores the
 *    flag, and so clears one that a probe left behind which never returned.
 * 4. A trap of a single-stepped instruction of a reentered kprobe is not traced
 *    either. Its handler ends that state, so the entry leaves a note for the
 *    exit: the address of the registers, which no other trap has meanwhile.
 * 5. All that runs before the flag is set is neither kprobed nor traced by the
 *    function tracer, and so raises no trap.
 *
 * <linux/trace_recursion.h> does not serve here: its transition bit lets one
 * nested event through per level, and #BP and #DB in kernel mode enter like an
 * NMI, hence count as a level of their own.
 *
 * Context: Interrupts disabled, RCU watching.
 *
 * Return: true if the caller has to call the probes, then trap_trace_end().
 */
static __always_inline bool trap_trace_begin(struct pt_regs *regs, bool exit)
{
	bool skip;

	lockdep_assert_irqs_disabled();

	if (!user_mode(regs)) {
		if (__this_cpu_read(trap_trace_busy))
			return false;

		skip = __this_cpu_read(trap_trace_skipped) == regs;
		if (skip)
			__this_cpu_write(trap_trace_skipped, NULL);
		if (skip && exit)
			return false;

		if (trap_trace_kprobe_reentered()) {
			if (!exit)
				__this_cpu_write(trap_trace_skipped, regs);
			return false;
		}
	}

	__this_cpu_write(trap_trace_busy, true);
	/* A probe that traps finds the flag set: same CPU, compiler order only */
	barrier();
	return true;
}

static __always_inline void trap_trace_end(void)
{
	barrier();
	__this_cpu_write(trap_trace_busy, false);
}

notrace void __trap_trace_entry(struct pt_regs *regs, unsigned int vector,
				unsigned long error_code)
{
	if (!trap_trace_begin(regs, false))
		return;

	trace_call__trap_entry(regs, vector, error_code);
	trap_trace_end();
}
NOKPROBE_SYMBOL(__trap_trace_entry);

notrace void __trap_trace_exit(struct pt_regs *regs, unsigned int vector,
			       unsigned long error_code)
{
	if (!trap_trace_begin(regs, true))
		return;

	trace_call__trap_exit(regs, vector, error_code);
	trap_trace_end();
}
NOKPROBE_SYMBOL(__trap_trace_exit);

/* For modules that attach a typed probe of their own. */
EXPORT_TRACEPOINT_SYMBOL_GPL(trap_entry);
EXPORT_TRACEPOINT_SYMBOL_GPL(trap_exit);
