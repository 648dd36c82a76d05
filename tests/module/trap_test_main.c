// SPDX-License-Identifier: GPL-2.0
/*
 * Raise traps in kernel mode on demand, for the programs of tests/programs/.
 *
 * This module is for kernels that run tests. It stays loaded once it has raised an
 * oops, as the task that died was in its code.
 *
 * /sys/kernel/debug/x86_trap_test/raise lists the traps that can be raised, a
 * line each, with tabs between: vector (decimal), error code (hex), instruction
 * pointer at entry and at exit (symbols, as in the trace). Those of an NMI are
 * known when it was raised. Write a vector to raise it once, on the CPU of the writer.
 *
 * /sys/kernel/debug/x86_trap_test/probe attaches a probe to the trap_entry and
 * trap_exit trace events, which at each event of the writer's
 *
 *	V		raises vector V
 *	2 V		raises an NMI, whose handler raises vector V, and then V itself
 *	oops		oopses, once
 *
 * until "off" is written or the file is closed. A kernel without these events
 * has no such file.
 *
 * Writing MS to /sys/kernel/debug/x86_trap_test/cr2 waits for MS milliseconds as page
 * fault handlers do that have not read CR2 yet. It fails if CR2 has changed then.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpufeature.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include <asm/apic.h>
#include <asm/desc.h>
#include <asm/irq_vectors.h>
#include <asm/nmi.h>
#include <asm/special_insns.h>
#include <asm/trapnr.h>

#include "trap_test.h"

/* Where the gates of the IDT lead: no entry point is exported */
unsigned long trap_test_entry[FIRST_EXTERNAL_VECTOR] __ro_after_init;

struct trap_test {
	unsigned int	vector;
	unsigned int	error_code;
	asmlinkage void	(*raise)(void);
	const char	*ip;
	const char	*resume;
};

#define TRAP_TEST(_vector, _error_code, name, _resume)		\
	{							\
		.vector		= _vector,			\
		.error_code	= _error_code,			\
		.raise		= trap_test_##name,		\
		.ip		= trap_test_##name##_ip,	\
		.resume		= trap_test_##name##_##_resume,	\
	}

static asmlinkage void trap_test_nmi(void);

#define GP_ERROR_CODE	(IS_ENABLED(CONFIG_X86_32) ? 0xfff8 : 0)

/*
 * The error codes are those which trap_test_asm.S pushes. A trap continues at
 * its resume label where trap_test_notify() or an exception table entry moves
 * it there, else where it was taken.
 */
static const struct trap_test trap_tests[] = {
	TRAP_TEST(X86_TRAP_DE,		0,	de,		resume),
	{ .vector = X86_TRAP_NMI,	.raise = trap_test_nmi },
	TRAP_TEST(X86_TRAP_BP,		0,	bp,		resume),
	TRAP_TEST(X86_TRAP_OF,		0,	of,		resume),
	TRAP_TEST(X86_TRAP_BR,		0,	br,		resume),
	TRAP_TEST(X86_TRAP_UD,		0,	ud,		resume),
	TRAP_TEST(X86_TRAP_NM,		0,	nm,		ip),
	TRAP_TEST(X86_TRAP_OLD_MF,	0,	old_mf,		resume),
	TRAP_TEST(X86_TRAP_TS,		0x50,	ts,		resume),
	TRAP_TEST(X86_TRAP_NP,		0x60,	np,		resume),
	TRAP_TEST(X86_TRAP_SS,		0x68,	ss,		resume),
	TRAP_TEST(X86_TRAP_GP,	GP_ERROR_CODE,	gp,		resume),
	TRAP_TEST(X86_TRAP_PF,		0,	pf,		resume),
	TRAP_TEST(X86_TRAP_SPURIOUS,	0,	spurious,	ip),
	TRAP_TEST(X86_TRAP_MF,		0,	mf,		resume),
	TRAP_TEST(X86_TRAP_AC,		0,	ac,		resume),
	TRAP_TEST(X86_TRAP_XF,		0,	xf,		resume),
#ifdef CONFIG_X86_CET
	TRAP_TEST(X86_TRAP_CP,		1,	cp,		ip),
#endif
};

static const struct trap_test *trap_test_find(unsigned int vector)
{
	for (int i = 0; i < ARRAY_SIZE(trap_tests); i++) {
		if (trap_tests[i].vector == vector)
			return &trap_tests[i];
	}
	return NULL;
}

/* Claim the traps raised here before their handlers call die(). */
static int trap_test_notify(struct notifier_block *nb, unsigned long action,
			    void *data)
{
	struct die_args *args = data;
	struct pt_regs *regs = args->regs;

	if (action == DIE_OOPS || !regs || user_mode(regs))
		return NOTIFY_DONE;

	for (int i = 0; i < ARRAY_SIZE(trap_tests); i++) {
		const struct trap_test *t = &trap_tests[i];

		if (args->trapnr == t->vector && t->ip != t->resume &&
		    regs->ip == (unsigned long)t->ip) {
			regs->ip = (unsigned long)t->resume;
			return NOTIFY_STOP;
		}
	}
	return NOTIFY_DONE;
}
NOKPROBE_SYMBOL(trap_test_notify);

static struct notifier_block trap_test_nb = {
	.notifier_call	= trap_test_notify,
	.priority	= INT_MAX,
};

/* An NMI raised here is pending on this CPU, and what it is to raise in turn */
static DEFINE_PER_CPU(bool, trap_test_nmi_pending);
static DEFINE_PER_CPU(const struct trap_test *, trap_test_in_nmi);

/* The probe raises its second trap: if that is traced, it raises no more */
static DEFINE_PER_CPU(bool, trap_test_after_nmi);

/* Where the last one was taken, for the reader of the file */
static unsigned long trap_test_nmi_ip;

static int trap_test_nmi_handler(unsigned int cmd, struct pt_regs *regs)
{
	const struct trap_test *t = __this_cpu_read(trap_test_in_nmi);

	if (!__this_cpu_read(trap_test_nmi_pending))
		return NMI_DONE;

	WRITE_ONCE(trap_test_nmi_ip, regs->ip);
	if (t)
		t->raise();
	__this_cpu_write(trap_test_nmi_pending, false);
	return NMI_HANDLED;
}

/* Preemption is disabled; an APIC may take its time to deliver the NMI. */
static asmlinkage void trap_test_nmi(void)
{
	__this_cpu_write(trap_test_nmi_pending, true);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	apic->send_IPI_mask(cpumask_of(smp_processor_id()), NMI_VECTOR);
#else
	__apic_send_IPI_mask(cpumask_of(smp_processor_id()), NMI_VECTOR);
#endif
	for (int i = 0; i < USEC_PER_SEC; i++) {
		if (!__this_cpu_read(trap_test_nmi_pending))
			return;
		udelay(1);
	}
	__this_cpu_write(trap_test_nmi_pending, false);
}

/* trap_test_fault_in_nmi - Raise an NMI whose handler faults. Interrupts are disabled */
void trap_test_fault_in_nmi(void)
{
	__this_cpu_write(trap_test_in_nmi, trap_test_find(X86_TRAP_PF));
	trap_test_nmi();
	__this_cpu_write(trap_test_in_nmi, NULL);
}

static void trap_test_raise(const struct trap_test *t)
{
	/*
	 * CR0.TS belongs to this CPU, and an interrupt may use the FPU. The
	 * others are to be raised with interrupts enabled, as most traps are,
	 * but on the CPU of the writer.
	 */
	if (t->vector == X86_TRAP_NM) {
		guard(irqsave)();
		t->raise();
	} else {
		guard(preempt)();
		t->raise();
	}
}

static ssize_t trap_test_write(struct file *file, const char __user *buf,
			       size_t count, loff_t *ppos)
{
	const struct trap_test *t;
	unsigned int vector;
	int ret;

	ret = kstrtouint_from_user(buf, count, 10, &vector);
	if (ret)
		return ret;

	t = trap_test_find(vector);
	if (!t)
		return -EINVAL;
	trap_test_raise(t);
	return count;
}

static int trap_test_show(struct seq_file *m, void *unused)
{
	for (int i = 0; i < ARRAY_SIZE(trap_tests); i++) {
		const struct trap_test *t = &trap_tests[i];
		const void *nmi_ip = (void *)READ_ONCE(trap_test_nmi_ip);
		bool nmi = t->vector == X86_TRAP_NMI;

		seq_printf(m, "%u\t0x%x\t%pS\t%pS\n", t->vector, t->error_code,
			   nmi ? nmi_ip : t->ip, nmi ? nmi_ip : t->resume);
	}
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(trap_test);

static ssize_t trap_cr2_write(struct file *file, const char __user *buf,
			      size_t count, loff_t *ppos)
{
	const unsigned long address = 0x12345000;
	unsigned int delay;
	int ret;

	ret = kstrtouint_from_user(buf, count, 10, &delay);
	if (ret)
		return ret;

	guard(irqsave)();
	write_cr2(address);
	mdelay(min(delay, 5000U));
	return read_cr2() == address ? count : -EIO;
}

static const struct file_operations trap_cr2_fops = {
	.owner	= THIS_MODULE,
	.write	= trap_cr2_write,
};

/*
 * The probe. Only its owner's events matter: what it raises in turn must not
 * be traced, so a test sees when a probe is called for its own trap.
 */
static struct tracepoint *trap_entry_event __ro_after_init;
static struct tracepoint *trap_exit_event __ro_after_init;
static DEFINE_MUTEX(trap_probe_mutex);
static struct task_struct *trap_probe_task;
static const struct trap_test *trap_probe_raise, *trap_probe_in_nmi;
static bool trap_probe_oops;

/*
 * A probe that never returns leaves an SRCU reader behind. A wait for that
 * reader never ends, so the probe stays attached.
 */
static bool trap_probe_lost;

static void trap_test_probe(void *data, struct pt_regs *regs,
			    unsigned int vector, unsigned long error_code)
{
	/* The NMI is part of what the probe does: leave that alone */
	if (READ_ONCE(trap_probe_task) != current || vector == X86_TRAP_NMI ||
	    __this_cpu_read(trap_test_nmi_pending) ||
	    __this_cpu_read(trap_test_after_nmi))
		return;

	if (trap_probe_oops) {
		trap_probe_lost = true;
		trap_probe_task = NULL;
		__module_get(THIS_MODULE);
		trap_test_pf_oops();
	}
	if (trap_probe_raise) {
		__this_cpu_write(trap_test_in_nmi, trap_probe_in_nmi);
		trap_probe_raise->raise();
		__this_cpu_write(trap_test_in_nmi, NULL);
	}
	if (trap_probe_in_nmi) {
		__this_cpu_write(trap_test_after_nmi, true);
		trap_probe_in_nmi->raise();
		__this_cpu_write(trap_test_after_nmi, false);
	}
}

/* With trap_probe_mutex held */
static void trap_probe_off(void)
{
	if (trap_probe_lost)
		return;
	if (trap_probe_task) {
		tracepoint_probe_unregister(trap_entry_event, trap_test_probe, NULL);
		tracepoint_probe_unregister(trap_exit_event, trap_test_probe, NULL);
		tracepoint_synchronize_unregister();
	}
	trap_probe_task = NULL;
	trap_probe_raise = NULL;
	trap_probe_in_nmi = NULL;
	trap_probe_oops = false;
}

static int trap_probe_on(void)
{
	int ret;

	trap_probe_task = current;
	ret = tracepoint_probe_register(trap_entry_event, trap_test_probe, NULL);
	if (ret) {
		trap_probe_task = NULL;
		return ret;
	}
	ret = tracepoint_probe_register(trap_exit_event, trap_test_probe, NULL);
	if (ret) {
		tracepoint_probe_unregister(trap_entry_event, trap_test_probe, NULL);
		trap_probe_task = NULL;
	}
	return ret;
}

static ssize_t trap_probe_write(struct file *file, const char __user *buf,
				size_t count, loff_t *ppos)
{
	const struct trap_test *raise, *in_nmi = NULL;
	unsigned int vector, nmi_vector;
	char text[32];
	int n, ret;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	text[count] = '\0';

	guard(mutex)(&trap_probe_mutex);
	if (trap_probe_lost)
		return -EBUSY;
	trap_probe_off();
	if (sysfs_streq(text, "off"))
		return count;

	if (sysfs_streq(text, "oops")) {
		trap_probe_oops = true;
	} else {
		n = sscanf(text, "%u %u", &vector, &nmi_vector);
		if (n < 1)
			return -EINVAL;
		raise = trap_test_find(vector);
		if (n == 2 && vector == X86_TRAP_NMI)
			in_nmi = trap_test_find(nmi_vector);
		if (!raise || (n == 2 && !in_nmi))
			return -EINVAL;
		trap_probe_raise = raise;
		trap_probe_in_nmi = in_nmi;
	}

	ret = trap_probe_on();
	return ret ? ret : count;
}

static int trap_probe_release(struct inode *inode, struct file *file)
{
	guard(mutex)(&trap_probe_mutex);
	trap_probe_off();
	return 0;
}

static const struct file_operations trap_probe_fops = {
	.owner		= THIS_MODULE,
	.write		= trap_probe_write,
	.release	= trap_probe_release,
};

static void __init trap_test_find_event(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "trap_entry"))
		trap_entry_event = tp;
	else if (!strcmp(tp->name, "trap_exit"))
		trap_exit_event = tp;
}

static void __init trap_test_read_idt(void)
{
	const gate_desc *gates;
	struct desc_ptr idt;

	store_idt(&idt);
	gates = (const gate_desc *)idt.address;
	for (int i = 0; i < ARRAY_SIZE(trap_test_entry); i++)
		trap_test_entry[i] = gate_offset(&gates[i]);
}

static struct dentry *trap_test_dir;

static int __init trap_test_init(void)
{
	bool native_idt = !cpu_feature_enabled(X86_FEATURE_XENPV);

	/* Linux 6.1 does not know FRED */
#ifdef X86_FEATURE_FRED
	native_idt &= !cpu_feature_enabled(X86_FEATURE_FRED);
#endif
	if (!native_idt) {
		pr_err("the hand-made frames need the native IDT: not for FRED and Xen PV\n");
		return -ENODEV;
	}

	trap_test_read_idt();
	for_each_kernel_tracepoint(trap_test_find_event, NULL);

	register_die_notifier(&trap_test_nb);
	register_nmi_handler(NMI_LOCAL, trap_test_nmi_handler, NMI_FLAG_FIRST,
			     "trap_test");
	trap_test_dir = debugfs_create_dir("x86_trap_test", NULL);
	debugfs_create_file("raise", 0600, trap_test_dir, NULL, &trap_test_fops);
	debugfs_create_file("cr2", 0200, trap_test_dir, NULL, &trap_cr2_fops);
	if (trap_entry_event && trap_exit_event)
		debugfs_create_file("probe", 0200, trap_test_dir, NULL, &trap_probe_fops);
	else
		pr_info("no file probe: this kernel has no events trap_entry and trap_exit\n");
	pagefault_test_init(trap_test_dir);
	return 0;
}
module_init(trap_test_init);

static void __exit trap_test_exit(void)
{
	debugfs_remove(trap_test_dir);
	unregister_nmi_handler(NMI_LOCAL, "trap_test");
	unregister_die_notifier(&trap_test_nb);
}
module_exit(trap_test_exit);

MODULE_DESCRIPTION("Raise traps in kernel mode, for the tests of the trap events");
MODULE_LICENSE("GPL");
