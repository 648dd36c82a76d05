// SPDX-License-Identifier: GPL-2.0
/*
 * Connect functions to the trace events trap_entry and trap_exit, and count the
 * traps of each vector on each CPU. In this folder, on a kernel with these events:
 *
 *	make KDIR=/lib/modules/$(uname -r)/build
 *	insmod trap_count.ko
 *	cat /sys/kernel/debug/trap_count/counts
 *	rmmod trap_count
 *
 * With every=N, the module's own event trap_count:trap_count_reached records each
 * N-th trap of a vector on a CPU.
 *
 * The kernel exports neither tracepoint, so the module finds them by name.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

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
MODULE_PARM_DESC(every, "let trap_count_reached record each N-th trap (0: none)");

/*
 * The arguments are those of the event, after the pointer that was given when the
 * function was registered: here, none.
 *
 * This runs with interrupts disabled, in any context that can trap. That context
 * may hold any lock, or be an NMI: so take no lock here, allocate nothing and do
 * not sleep. A trap that this function raises itself is not traced.
 */
static void count_entry(void *data, struct pt_regs *regs, unsigned int vector,
			unsigned long error_code)
{
	unsigned long n;

	/* One instruction, as an NMI may do the same in between */
	n = this_cpu_inc_return(counts->entries[min(vector, VECTORS - 1)]);
	if (every && n % every == 0)
		trace_trap_count_reached(vector, n);
}

static void count_exit(void *data, struct pt_regs *regs, unsigned int vector,
		       unsigned long error_code)
{
	this_cpu_inc(counts->exits[min(vector, VECTORS - 1)]);
}

/* A handler may sleep, and its task go on with the exit on another CPU */
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

static struct tracepoint *trap_entry, *trap_exit;

static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "trap_entry"))
		trap_entry = tp;
	else if (!strcmp(tp->name, "trap_exit"))
		trap_exit = tp;
}

static int __init trap_count_init(void)
{
	int ret;

	/*
	 * A function is registered as a void *. These do nothing, but the compiler
	 * compares the type of their argument with the header of the event.
	 */
	check_trace_callback_type_trap_entry(count_entry);
	check_trace_callback_type_trap_exit(count_exit);

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	if (!trap_entry || !trap_exit) {
		pr_err("this kernel has no trace event %s\n",
		       trap_entry ? "trap_exit" : "trap_entry");
		return -ENODEV;
	}

	counts = alloc_percpu(struct trap_counts);
	if (!counts)
		return -ENOMEM;

	/* A trap that is under way now has an exit here, and no entry */
	ret = tracepoint_probe_register(trap_entry, count_entry, NULL);
	if (ret)
		goto free;
	ret = tracepoint_probe_register(trap_exit, count_exit, NULL);
	if (ret)
		goto unregister;

	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("counts", 0444, dir, NULL, &counts_fops);
	return 0;

unregister:
	tracepoint_probe_unregister(trap_entry, count_entry, NULL);
	tracepoint_synchronize_unregister();
free:
	free_percpu(counts);
	return ret;
}

static void __exit trap_count_exit(void)
{
	/* Waits until nobody reads the file */
	debugfs_remove(dir);

	tracepoint_probe_unregister(trap_entry, count_entry, NULL);
	tracepoint_probe_unregister(trap_exit, count_exit, NULL);
	/*
	 * A CPU may be in one of these functions, or about to call it. Wait until
	 * none is: only then may the data go, and the code when this returns.
	 */
	tracepoint_synchronize_unregister();
	free_percpu(counts);
}

module_init(trap_count_init);
module_exit(trap_count_exit);

MODULE_DESCRIPTION("Sample: count traps by probes of trap_entry and trap_exit");
MODULE_LICENSE("GPL");
