// SPDX-License-Identifier: GPL-2.0
/*
 * Raise page faults in kernel mode that end in ways which no program can bring
 * about, for the programs of tests/programs/.
 *
 * /sys/kernel/debug/x86_trap_test/fault lists them, a line each. Write a name to
 * raise it once. The write fails with EOPNOTSUPP if the CPU or the
 * configuration lacks it.
 *
 *	spurious	a write which the page table allows
 *	kfence		an access to a guard page of KFENCE, which reports it: once,
 *			as it may leave the page accessible
 *	oops		a NULL pointer: ends the writer
 *	reenter		an instruction with a kprobe, which another kprobe's handler
 *			runs: the fault comes in state KPROBE_REENTER
 *
 * /sys/kernel/debug/x86_trap_test/fault_probe attaches a probe to pagefault_entry
 * and pagefault_exit, which at each event of the writer's, if interrupts are
 * disabled,
 *
 *	fault		faults
 *	nmi		raises an NMI, whose handler faults, and then faults itself
 *	oops		oopses, once
 *
 * until "off" is written or the file is closed. A kernel without these events has
 * no such file.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kfence.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

#include <asm/trapnr.h>

#include "trap_test.h"

/* For CFI: clang emits the type of an assembler function only if C code takes its address */
__ADDRESSABLE(trap_test_pf_spurious)

/* The frame is made by hand, so the address is not where the CPU puts it */
static int pagefault_test_spurious(void)
{
	static unsigned long writable;

	guard(irqsave)();
	native_write_cr2((unsigned long)&writable);
	trap_test_pf_spurious();
	return 0;
}

static int pagefault_test_kfence(void)
{
#ifdef CONFIG_KFENCE
	if (!__kfence_pool)
		return -EOPNOTSUPP;
	READ_ONCE(__kfence_pool[PAGE_SIZE]);
	return 0;
#else
	return -EOPNOTSUPP;
#endif
}

static int pagefault_test_oops(void)
{
	__module_get(THIS_MODULE);
	trap_test_pf_oops();
	return 0;
}

static int pagefault_test_read(struct kprobe *p, struct pt_regs *regs)
{
	trap_test_pf();
	return 0;
}

static noinline void pagefault_test_probed(void)
{
	barrier();
}

/* A kprobe with such a handler is stepped, and not boosted */
static void pagefault_test_stepped(struct kprobe *p, struct pt_regs *regs,
				   unsigned long flags)
{
}

static int pagefault_test_reenter(void)
{
	struct kprobe outer = {
		.addr = (kprobe_opcode_t *)pagefault_test_probed,
		.pre_handler = pagefault_test_read,
	};
	struct kprobe inner = {
		.addr = (kprobe_opcode_t *)trap_test_pf_ip,
		.post_handler = pagefault_test_stepped,
	};
	int ret;

	ret = register_kprobe(&inner);
	if (ret)
		return ret;
	ret = register_kprobe(&outer);
	if (!ret) {
		pagefault_test_probed();
		ret = outer.nmissed || inner.nmissed != 1 ? -EIO : 0;
		unregister_kprobe(&outer);
	}
	unregister_kprobe(&inner);
	return ret;
}

static const struct {
	const char	*name;
	int		(*raise)(void);
} pagefault_tests[] = {
	{ "spurious",		pagefault_test_spurious },
	{ "kfence",		pagefault_test_kfence },
	{ "oops",		pagefault_test_oops },
	{ "reenter",		pagefault_test_reenter },
};

static ssize_t pagefault_test_write(struct file *file, const char __user *buf,
				    size_t count, loff_t *ppos)
{
	char text[32];
	int ret;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	text[count] = '\0';

	for (int i = 0; i < ARRAY_SIZE(pagefault_tests); i++) {
		if (sysfs_streq(text, pagefault_tests[i].name)) {
			ret = pagefault_tests[i].raise();
			return ret ? ret : count;
		}
	}
	return -EINVAL;
}

static int pagefault_test_show(struct seq_file *m, void *unused)
{
	for (int i = 0; i < ARRAY_SIZE(pagefault_tests); i++)
		seq_printf(m, "%s\n", pagefault_tests[i].name);
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(pagefault_test);

/*
 * The probe. Its name is what it does, "off" if it is not attached. A probe that
 * never returns leaves an SRCU reader behind, so it stays attached.
 */
static struct tracepoint *fault_probe_events[2] __ro_after_init;
static struct task_struct *fault_probe_task;
static DEFINE_MUTEX(fault_probe_mutex);
static char fault_probe_does[8] = "off";

static void fault_probe(void *data, const void *pf)
{
	if (READ_ONCE(fault_probe_task) != current || !irqs_disabled())
		return;

	if (!strcmp(fault_probe_does, "oops")) {
		fault_probe_task = NULL;
		__module_get(THIS_MODULE);
		trap_test_pf_oops();
	}
	if (!strcmp(fault_probe_does, "nmi"))
		trap_test_fault_in_nmi();
	trap_test_pf();
}

/* With fault_probe_mutex held */
static int fault_probe_off(void)
{
	if (!strcmp(fault_probe_does, "off"))
		return 0;
	if (!fault_probe_task)
		return -EBUSY;
	for (int i = 0; i < ARRAY_SIZE(fault_probe_events); i++)
		tracepoint_probe_unregister(fault_probe_events[i], fault_probe, NULL);
	tracepoint_synchronize_unregister();
	fault_probe_task = NULL;
	strscpy(fault_probe_does, "off", sizeof(fault_probe_does));
	return 0;
}

static ssize_t fault_probe_write(struct file *file, const char __user *buf,
				 size_t count, loff_t *ppos)
{
	char text[sizeof(fault_probe_does)] = "";
	int ret;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;

	guard(mutex)(&fault_probe_mutex);
	ret = fault_probe_off();
	if (ret || !strcmp(text, "off"))
		return ret ?: count;
	if (strcmp(text, "fault") && strcmp(text, "nmi") && strcmp(text, "oops"))
		return -EINVAL;

	fault_probe_task = current;
	strscpy(fault_probe_does, text, sizeof(fault_probe_does));
	for (int i = 0; i < ARRAY_SIZE(fault_probe_events) && !ret; i++)
		ret = tracepoint_probe_register(fault_probe_events[i], fault_probe, NULL);
	if (ret)
		fault_probe_off();
	return ret ?: count;
}

static int fault_probe_release(struct inode *inode, struct file *file)
{
	guard(mutex)(&fault_probe_mutex);
	fault_probe_off();
	return 0;
}

static const struct file_operations fault_probe_fops = {
	.owner		= THIS_MODULE,
	.write		= fault_probe_write,
	.release	= fault_probe_release,
};

static void __init fault_probe_find(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "pagefault_entry"))
		fault_probe_events[0] = tp;
	else if (!strcmp(tp->name, "pagefault_exit"))
		fault_probe_events[1] = tp;
}

void __init pagefault_test_init(struct dentry *dir)
{
	debugfs_create_file("fault", 0600, dir, NULL, &pagefault_test_fops);
	for_each_kernel_tracepoint(fault_probe_find, NULL);
	if (fault_probe_events[0] && fault_probe_events[1])
		debugfs_create_file("fault_probe", 0200, dir, NULL, &fault_probe_fops);
}
