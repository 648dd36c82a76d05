// SPDX-License-Identifier: GPL-2.0
/*
 * Fire the trap_entry and trap_exit trace events for <asm/trap_trace.h>, and
 * show how many events <asm/trap_guard.h> suppressed.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/seq_file.h>

#include <asm/trap_guard.h>
#include <asm/trap_trace.h>

#define CREATE_TRACE_POINTS
#include <trace/events/trap.h>

/* Events on this CPU that trap_guard_enter() suppressed */
DEFINE_PER_CPU(unsigned long, trap_suppressed);

notrace void __trap_trace_entry(struct pt_regs *regs, unsigned int vector,
				unsigned long error_code)
{
	if (!trap_guard_enter(regs))
		return;
	trace_call__trap_entry(regs, vector, error_code);
	trap_guard_exit();
}
NOKPROBE_SYMBOL(__trap_trace_entry);

notrace void __trap_trace_exit(struct pt_regs *regs, unsigned int vector,
			       unsigned long error_code)
{
	if (!trap_guard_enter(regs))
		return;
	trace_call__trap_exit(regs, vector, error_code);
	trap_guard_exit();
}
NOKPROBE_SYMBOL(__trap_trace_exit);

static int trap_suppressed_show(struct seq_file *m, void *unused)
{
	int cpu;

	for_each_possible_cpu(cpu)
		seq_printf(m, "cpu%d %lu\n", cpu,
			   READ_ONCE(per_cpu(trap_suppressed, cpu)));
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
