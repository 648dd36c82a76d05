// SPDX-License-Identifier: GPL-2.0
/*
 * Trace events for traps: the out of line half of <asm/trap_trace.h>, and the
 * guard that keeps a probe from tracing its own traps.
 */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/tracefs.h>

#include <asm/trap_guard.h>
#include <asm/trap_trace.h>

#define CREATE_TRACE_POINTS
#include <trace/events/trap.h>

/* The task that runs a probe of a trap event on this CPU, or NULL. */
DEFINE_PER_CPU(struct task_struct *, trap_trace_busy);

/* Number of events that the guard suppressed. */
DEFINE_PER_CPU(unsigned long, trap_trace_suppressed);

/*
 * On while any event is registered that uses the guard. It is off a moment before
 * the last event is: an NMI or #MC that hits a probe then does not lift the guard.
 */
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
 * The guard, whose parts are in <asm/trap_guard.h>. Its rules are:
 *
 * 1. Interrupts are disabled from trap_guard_refuses() to trap_guard_end(), so
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
 */

#ifdef CONFIG_KPROBES
/*
 * A trap may come while a kprobe is processed: an instruction that is single-
 * stepped faults, or a second kprobe is hit. The second one makes the state
 * KPROBE_REENTER, with the state of the first one stored away. There is no
 * room for a third: one more kprobe, say on a function of the ring buffer, is
 * "unrecoverable" then, and a BUG(). While the probes run, pretend that there
 * is one only. A kprobe that they hit is done when they return, so what is put
 * back then is what was there.
 */
noinline notrace void trap_guard_save(struct trap_guard *guard)
{
	guard->ctlblk = *get_kprobe_ctlblk();
	get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_ACTIVE;
}
NOKPROBE_SYMBOL(trap_guard_save);

noinline notrace void trap_guard_restore(struct trap_guard *guard)
{
	*get_kprobe_ctlblk() = guard->ctlblk;
}
NOKPROBE_SYMBOL(trap_guard_restore);
#endif

static __always_inline void
trap_trace_entry_guarded(struct pt_regs *regs, unsigned int vector,
			 unsigned long error_code)
{
	trap_guard_begin();
	trace_call__trap_entry(regs, vector, error_code);
	trap_guard_end();
}

static noinline notrace void
trap_trace_entry_in_kprobe(struct pt_regs *regs, unsigned int vector,
			   unsigned long error_code)
{
	struct trap_guard guard;

	trap_guard_save(&guard);
	trap_trace_entry_guarded(regs, vector, error_code);
	trap_guard_restore(&guard);
}
NOKPROBE_SYMBOL(trap_trace_entry_in_kprobe);

notrace void __trap_trace_entry(struct pt_regs *regs, unsigned int vector,
				unsigned long error_code)
{
	if (trap_guard_refuses(regs))
		trap_guard_suppress();
	else if (trap_guard_in_kprobe(regs))
		trap_trace_entry_in_kprobe(regs, vector, error_code);
	else
		trap_trace_entry_guarded(regs, vector, error_code);
}
NOKPROBE_SYMBOL(__trap_trace_entry);

static __always_inline void
trap_trace_exit_guarded(struct pt_regs *regs, unsigned int vector,
			unsigned long error_code)
{
	trap_guard_begin();
	trace_call__trap_exit(regs, vector, error_code);
	trap_guard_end();
}

static noinline notrace void
trap_trace_exit_in_kprobe(struct pt_regs *regs, unsigned int vector,
			  unsigned long error_code)
{
	struct trap_guard guard;

	trap_guard_save(&guard);
	trap_trace_exit_guarded(regs, vector, error_code);
	trap_guard_restore(&guard);
}
NOKPROBE_SYMBOL(trap_trace_exit_in_kprobe);

notrace void __trap_trace_exit(struct pt_regs *regs, unsigned int vector,
			       unsigned long error_code)
{
	if (trap_guard_refuses(regs))
		trap_guard_suppress();
	else if (trap_guard_in_kprobe(regs))
		trap_trace_exit_in_kprobe(regs, vector, error_code);
	else
		trap_trace_exit_guarded(regs, vector, error_code);
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
