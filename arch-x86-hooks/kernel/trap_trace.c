// SPDX-License-Identifier: GPL-2.0
/*
 * Trace events for traps: the out of line half of <asm/trap_trace.h>, and the
 * guard that keeps a probe from tracing its own traps.
 */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/tracefs.h>

#include <asm/trap_guard.h>
#include <asm/trap_trace.h>

#define CREATE_TRACE_POINTS
#include <trace/events/trap.h>

/* The task that runs a probe of a trap event on this CPU, or NULL. */
static DEFINE_PER_CPU(struct task_struct *, trap_trace_busy);

/* Number of events that the guard suppressed. */
static DEFINE_PER_CPU(unsigned long, trap_trace_suppressed);

/* On while any event is registered that uses the guard. */
DEFINE_STATIC_KEY_FALSE(trap_trace_key);

int trap_trace_reg(void)
{
	static_branch_inc(&trap_trace_key);
	return 0;
}

void trap_trace_unreg(void)
{
	static_branch_dec(&trap_trace_key);
}

/*
 * A trap may come while a kprobe is processed: an instruction that is single-
 * stepped faults, or a second kprobe is hit. The second one makes the state
 * KPROBE_REENTER, with the state of the first one stored away. There is no
 * room for a third: one more kprobe, say on a function of the ring buffer, is
 * "unrecoverable" then, and a BUG(). While the probes run, pretend that there
 * is one only.
 */
static __always_inline void trap_guard_save(struct trap_guard *guard)
{
#ifdef CONFIG_KPROBES
	guard->kprobe = kprobe_running();
	if (guard->kprobe) {
		guard->ctlblk = *get_kprobe_ctlblk();
		get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_ACTIVE;
	}
#endif
}

static __always_inline void trap_guard_restore(struct trap_guard *guard)
{
#ifdef CONFIG_KPROBES
	if (guard->kprobe)
		*get_kprobe_ctlblk() = guard->ctlblk;
#endif
}

/**
 * trap_guard_begin - Enter a probe of a trap event, unless one runs already
 * @regs:	Registers of the context that the trap interrupted
 * @guard:	To be given to trap_guard_end()
 * @events:	How many events the caller is about to fire: as many are counted
 *		as suppressed if it must not
 *
 * The rules:
 *
 * 1. Interrupts are disabled from trap_guard_begin() to trap_guard_end(), so
 *    what interrupts the probe on this CPU is a trap that its own instructions
 *    raise, an NMI or a #MC.
 * 2. trap_trace_busy holds the task that runs a probe on this CPU, whatever
 *    tracer it belongs to: a trap from kernel mode that finds the current task
 *    there is not traced but counted, its entry and its exit alike.
 * 3. trap_trace_nmi_enter() clears trap_trace_busy and trap_trace_nmi_exit() puts
 *    it back, so an NMI or #MC and the traps in between are traced.
 * 4. A probe that oopses leaves its task there, which then ends: at most traps
 *    from kernel mode of that task, or of a new one at its address, are not
 *    traced until any other trap on this CPU has overwritten the value.
 * 5. What runs outside of the time when trap_trace_busy is set does not trap in
 *    a way that is traced: it is neither kprobed nor traced by the function
 *    tracer, a WARN() is handled before the hook of #UD, and the hook of a
 *    watchpoint runs with DR7 cleared.
 *
 * <linux/trace_recursion.h> does not serve here: its transition bit lets one
 * nested event through per level, and #BP and #DB in kernel mode enter like an
 * NMI, hence count as a level of their own.
 *
 * The caller is notrace and NOKPROBE itself, and registers its events by
 * trap_trace_reg().
 *
 * Context: Interrupts disabled, RCU watching.
 *
 * Return: true if the caller has to call the probes, then trap_guard_end().
 */
notrace bool trap_guard_begin(struct pt_regs *regs, struct trap_guard *guard,
			      unsigned int events)
{
	lockdep_assert_irqs_disabled();

	if (!user_mode(regs) && __this_cpu_read(trap_trace_busy) == current) {
		__this_cpu_add(trap_trace_suppressed, events);
		return false;
	}

	__this_cpu_write(trap_trace_busy, current);
	/* A probe that traps finds it set: same CPU, compiler order only */
	barrier();
	trap_guard_save(guard);
	return true;
}
NOKPROBE_SYMBOL(trap_guard_begin);

/**
 * trap_guard_end - Leave a probe of a trap event
 * @guard:	As trap_guard_begin() has filled it
 *
 * Context: As for trap_guard_begin(), which returned true.
 */
notrace void trap_guard_end(struct trap_guard *guard)
{
	trap_guard_restore(guard);
	barrier();
	__this_cpu_write(trap_trace_busy, NULL);
}
NOKPROBE_SYMBOL(trap_guard_end);

notrace void __trap_trace_entry(struct pt_regs *regs, unsigned int vector,
				unsigned long error_code)
{
	struct trap_guard guard;

	if (!trap_guard_begin(regs, &guard, 1))
		return;

	trace_call__trap_entry(regs, vector, error_code);
	trap_guard_end(&guard);
}
NOKPROBE_SYMBOL(__trap_trace_entry);

notrace void __trap_trace_exit(struct pt_regs *regs, unsigned int vector,
			       unsigned long error_code)
{
	struct trap_guard guard;

	if (!trap_guard_begin(regs, &guard, 1))
		return;

	trace_call__trap_exit(regs, vector, error_code);
	trap_guard_end(&guard);
}
NOKPROBE_SYMBOL(__trap_trace_exit);

notrace struct task_struct *__trap_trace_nmi_enter(struct pt_regs *regs,
						   unsigned int vector)
{
	struct task_struct *outer = __this_cpu_read(trap_trace_busy);

	__this_cpu_write(trap_trace_busy, NULL);
	barrier();
	trap_trace_entry(regs, vector, 0);
	return outer;
}
NOKPROBE_SYMBOL(__trap_trace_nmi_enter);

notrace void __trap_trace_nmi_exit(struct pt_regs *regs, unsigned int vector,
				   struct task_struct *outer)
{
	trap_trace_exit(regs, vector, 0);
	barrier();
	if (outer)
		__this_cpu_write(trap_trace_busy, outer);
}
NOKPROBE_SYMBOL(__trap_trace_nmi_exit);

/* For modules that attach a typed probe of their own. */
EXPORT_TRACEPOINT_SYMBOL_GPL(trap_entry);
EXPORT_TRACEPOINT_SYMBOL_GPL(trap_exit);

#ifdef CONFIG_TRACING
static int trap_suppressed_show(struct seq_file *m, void *unused)
{
	int cpu;

	for_each_possible_cpu(cpu)
		seq_printf(m, "cpu%d %lu\n", cpu,
			   READ_ONCE(per_cpu(trap_trace_suppressed, cpu)));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(trap_suppressed);

static int __init trap_suppressed_init(void)
{
	tracefs_create_file("trap_suppressed", 0440, NULL, NULL,
			    &trap_suppressed_fops);
	return 0;
}
late_initcall(trap_suppressed_init);
#endif
