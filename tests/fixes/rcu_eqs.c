// SPDX-License-Identifier: GPL-2.0
/*
 * x86/entry: a fault on the way into a guest is handled without RCU
 *
 * Needs CONFIG_CONTEXT_TRACKING_USER_FORCE=y, or nohz_full= and a load on such a CPU.
 * Takes a #UD, with an exception table entry, in the state in which KVM runs VMRUN or
 * VMLAUNCH, and asks from a die notifier whether RCU watches. To build it:
 * make -C KERNEL O=OUT M=THIS_FOLDER modules
 *
 * Base: loading fails with EIO, "RCU not watching" is in the log, and with
 * CONFIG_PROVE_RCU "suspicious RCU usage" as well. With the fix: it loads.
 * Loading fails with EOPNOTSUPP where this CPU's context is not tracked.
 */
#include <linux/context_tracking.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <asm/asm.h>
#include <asm/trapnr.h>

static struct task_struct *task;
static bool trapped, watching;

static int on_die(struct notifier_block *block, unsigned long val, void *data)
{
	struct die_args *args = data;

	if (val == DIE_TRAP && args->trapnr == X86_TRAP_UD && current == task) {
		trapped = true;
		watching = rcu_is_watching();
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_die };

static noinstr bool trap_as_guest(void)
{
	bool tracked;

	tracked = context_tracking_guest_enter();
	asm volatile("1: ud2; 2:" _ASM_EXTABLE(1b, 2b));
	context_tracking_guest_exit();
	return tracked;
}

static int __init rcu_eqs_init(void)
{
	bool tracked;

	task = current;
	register_die_notifier(&notifier);
	local_irq_disable();
	tracked = trap_as_guest();
	local_irq_enable();
	unregister_die_notifier(&notifier);

	if (!tracked)
		return -EOPNOTSUPP;
	pr_info("trapped: %d, RCU %swatching\n", trapped, watching ? "" : "not ");
	return trapped && watching ? 0 : -EIO;
}
module_init(rcu_eqs_init);

static void __exit rcu_eqs_exit(void)
{
}
module_exit(rcu_eqs_exit);

MODULE_DESCRIPTION("A fault on the way into a guest, and whether RCU watches");
MODULE_LICENSE("GPL");
