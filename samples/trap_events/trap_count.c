// SPDX-License-Identifier: GPL-2.0
/*
 * Connect functions of one's own to trap_entry and trap_exit, and count the traps
 * of each vector on each CPU:
 *
 *	insmod trap_count.ko
 *	cat /sys/kernel/debug/trap_count/counts
 *
 * With every=N, the module's own event trap_count:trap_count_reached tells of each
 * N-th trap of a vector on a CPU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include <trace/events/trap.h>

#define CREATE_TRACE_POINTS
#include "trap_count_trace.h"

/* More than x86 has. What should be above counts for the last one. */
#define VECTORS		64

struct trap_counts {
	unsigned long entries[VECTORS];
	unsigned long exits[VECTORS];
};

static struct trap_counts __percpu *counts;
static struct dentry *dir;

static unsigned long every;
module_param(every, ulong, 0444);
MODULE_PARM_DESC(every, "let trap_count_reached tell of each N-th trap (0: of none)");

/*
 * The prototype is that of the event, after the pointer that was given when the
 * function was registered: the compiler checks that.
 *
 * It is called with interrupts disabled, in any context that can trap. That may be
 * one that holds any lock, or an NMI: so take no lock here, allocate nothing and do
 * not sleep. A trap that this function raises itself is not traced.
 */
static void count_entry(void *data, struct pt_regs *regs, unsigned int vector,
			unsigned long error_code)
{
	struct trap_counts __percpu *c = data;
	unsigned long n;

	/* One instruction, as an NMI may do the same in between */
	n = this_cpu_inc_return(c->entries[min(vector, VECTORS - 1)]);
	if (every && n % every == 0)
		trace_trap_count_reached(vector, n);
}

static void count_exit(void *data, struct pt_regs *regs, unsigned int vector,
		       unsigned long error_code)
{
	struct trap_counts __percpu *c = data;

	this_cpu_inc(c->exits[min(vector, VECTORS - 1)]);
}

/* The task of a page fault may sleep in between, and have its exit on another CPU */
static int counts_show(struct seq_file *m, void *unused)
{
	unsigned int vector, cpu;

	for_each_possible_cpu(cpu) {
		struct trap_counts *c = per_cpu_ptr(counts, cpu);

		for (vector = 0; vector < VECTORS; vector++) {
			unsigned long exits = READ_ONCE(c->exits[vector]);
			unsigned long entries = READ_ONCE(c->entries[vector]);

			if (entries || exits)
				seq_printf(m, "cpu=%u vector=%u entries=%lu exits=%lu\n",
					   cpu, vector, entries, exits);
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

static int __init trap_count_init(void)
{
	int ret;

	counts = alloc_percpu(struct trap_counts);
	if (!counts)
		return -ENOMEM;

	/* A trap that is under way now has an exit, and no entry any more */
	ret = register_trace_trap_entry(count_entry, counts);
	if (ret)
		goto free;
	ret = register_trace_trap_exit(count_exit, counts);
	if (ret)
		goto unregister;

	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("counts", 0444, dir, NULL, &counts_fops);
	return 0;

unregister:
	unregister_trace_trap_entry(count_entry, counts);
	tracepoint_synchronize_unregister();
free:
	free_percpu(counts);
	return ret;
}

static void __exit trap_count_exit(void)
{
	/* Waits for those who read the file */
	debugfs_remove(dir);

	/* By the function and its data: it may be registered with others as well */
	unregister_trace_trap_entry(count_entry, counts);
	unregister_trace_trap_exit(count_exit, counts);
	/*
	 * A CPU may be in one of these functions, or about to call it. Wait until
	 * none is before the data goes, and then, when this returns, the code.
	 */
	tracepoint_synchronize_unregister();
	free_percpu(counts);
}

module_init(trap_count_init);
module_exit(trap_count_exit);

MODULE_DESCRIPTION("Sample: count traps by probes of trap_entry and trap_exit");
MODULE_LICENSE("GPL");
