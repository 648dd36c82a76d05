// SPDX-License-Identifier: GPL-2.0
/*
 * Fire the trap_entry and trap_exit trace events for <asm/trap_trace.h>.
 *
 * A probe (a function that is attached to an event) can itself cause a trap: a
 * stack walk faults, or a kprobe in the tracing code is hit. That trap would fire
 * the event again and recurse. So TRACE_TRAP_BIT of current->trace_recursion is
 * set while probes run:
 *
 *  - Interrupts are disabled all that time. A trap from kernel mode that finds
 *    the bit set was raised by a probe, or in an NMI that interrupted one. It is
 *    counted and not traced. An NMI ends before the probe continues, so either
 *    both events of such a trap are suppressed, or none.
 *  - A trap from user mode cannot come from a probe. It is always traced.
 *  - A trap in do_machine_check() is suppressed in the same way: if the memory of
 *    the user stack has failed, a stack walk would raise the next #MC. If the task
 *    oopses there, this CPU traces no kernel-mode trap from then on.
 *  - If a probe oopses, the bit stays set in the task that dies. Other tasks on
 *    this CPU are traced as before.
 *
 * trace_test_and_set_recursion() does not work: its transition bit lets one
 * nested event through in each context (task, softirq, IRQ, NMI), and a #BP or
 * #DB in kernel mode counts as an NMI, hence as a context of its own.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/trace_recursion.h>

#include <asm/mce.h>
#include <asm/trap_trace.h>

#define CREATE_TRACE_POINTS
#include <trace/events/trap.h>

/* Events on this CPU that were suppressed */
static DEFINE_PER_CPU(unsigned long, trap_suppressed);

static __always_inline bool in_machine_check(void)
{
	return IS_ENABLED(CONFIG_X86_MCE) && __this_cpu_read(mce_nesting);
}

/* In this state, a probe that hits a kprobe is a BUG(), see reenter_kprobe() */
static __always_inline bool kprobe_reentered(void)
{
#ifdef CONFIG_KPROBES
	return __this_cpu_read(current_kprobe) &&
	       __this_cpu_read(kprobe_ctlblk.kprobe_status) == KPROBE_REENTER;
#else
	return false;
#endif
}

/* The caller is notrace and NOKPROBE: a trap before the bit is set would recurse */
static __always_inline bool trap_trace_begin(struct pt_regs *regs)
{
	lockdep_assert_irqs_disabled();

	if (!user_mode(regs) &&
	    unlikely(trace_recursion_test(TRACE_TRAP_BIT) || in_machine_check() ||
		     kprobe_reentered())) {
		__this_cpu_inc(trap_suppressed);
		return false;
	}

	/* Else GCC loads trace_recursion for user mode, too: two instructions more */
	barrier();
	trace_recursion_set(TRACE_TRAP_BIT);
	/* Only traps on this CPU read the bit, so barrier() suffices */
	barrier();
	/* Not before the bit is set: rcu_is_watching() may have a kprobe */
	RCU_LOCKDEP_WARN(!rcu_is_watching(), "trap event while RCU does not watch");
	return true;
}

static __always_inline void trap_trace_end(void)
{
	barrier();
	trace_recursion_clear(TRACE_TRAP_BIT);
}

notrace void __trap_trace_entry(struct pt_regs *regs, unsigned int vector,
				unsigned long error_code)
{
	if (!trap_trace_begin(regs))
		return;
	trace_call__trap_entry(regs, vector, error_code);
	trap_trace_end();
}
NOKPROBE_SYMBOL(__trap_trace_entry);

notrace void __trap_trace_exit(struct pt_regs *regs, unsigned int vector,
			       unsigned long error_code)
{
	if (!trap_trace_begin(regs))
		return;
	trace_call__trap_exit(regs, vector, error_code);
	trap_trace_end();
}
NOKPROBE_SYMBOL(__trap_trace_exit);

static int trap_suppressed_show(struct seq_file *m, void *unused)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		seq_printf(m, "cpu%d %lu\n", cpu,
			   READ_ONCE(per_cpu(trap_suppressed, cpu)));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(trap_suppressed);

static int __init trap_suppressed_init(void)
{
	debugfs_create_file("trap_suppressed", 0400, arch_debugfs_dir, NULL,
			    &trap_suppressed_fops);
	return 0;
}
late_initcall(trap_suppressed_init);
