// SPDX-License-Identifier: GPL-2.0
/*
 * Raise traps in kernel mode on demand, for tools/testing/selftests/trap.
 *
 * /sys/kernel/debug/x86_trap_test lists the traps that can be raised, a line
 * each: vector (decimal), error code (hex), instruction pointer at entry and at
 * exit (symbols, as in the trace). Write a vector to raise it once, on the CPU
 * of the writer.
 */
#include <linux/cpufeature.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include <asm/trapnr.h>

#include "trap_test.h"

struct trap_test {
	unsigned int	vector;
	unsigned int	error_code;
	void		(*raise)(void);
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

/*
 * The error codes are those which trap_test_64.S pushes. A trap continues at
 * its resume label where trap_test_notify() or an exception table entry moves
 * it there, else where it was taken.
 */
static const struct trap_test trap_tests[] = {
	TRAP_TEST(X86_TRAP_DE,		0,	de,		resume),
	TRAP_TEST(X86_TRAP_BP,		0,	bp,		resume),
	TRAP_TEST(X86_TRAP_OF,		0,	of,		resume),
	TRAP_TEST(X86_TRAP_BR,		0,	br,		resume),
	TRAP_TEST(X86_TRAP_UD,		0,	ud,		resume),
	TRAP_TEST(X86_TRAP_NM,		0,	nm,		ip),
	TRAP_TEST(X86_TRAP_OLD_MF,	0,	old_mf,		resume),
	TRAP_TEST(X86_TRAP_TS,		0x50,	ts,		resume),
	TRAP_TEST(X86_TRAP_NP,		0x60,	np,		resume),
	TRAP_TEST(X86_TRAP_SS,		0x68,	ss,		resume),
	TRAP_TEST(X86_TRAP_GP,		0,	gp,		resume),
	TRAP_TEST(X86_TRAP_PF,		0,	pf,		resume),
	TRAP_TEST(X86_TRAP_SPURIOUS,	0,	spurious,	ip),
	TRAP_TEST(X86_TRAP_MF,		0,	mf,		resume),
	TRAP_TEST(X86_TRAP_AC,		0,	ac,		resume),
	TRAP_TEST(X86_TRAP_XF,		0,	xf,		resume),
#ifdef CONFIG_X86_CET
	TRAP_TEST(X86_TRAP_CP,		1,	cp,		ip),
#endif
};

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
	unsigned int vector;
	int ret;

	ret = kstrtouint_from_user(buf, count, 10, &vector);
	if (ret)
		return ret;

	for (int i = 0; i < ARRAY_SIZE(trap_tests); i++) {
		if (trap_tests[i].vector == vector) {
			trap_test_raise(&trap_tests[i]);
			return count;
		}
	}
	return -EINVAL;
}

static int trap_test_show(struct seq_file *m, void *unused)
{
	for (int i = 0; i < ARRAY_SIZE(trap_tests); i++) {
		const struct trap_test *t = &trap_tests[i];

		seq_printf(m, "%u 0x%x %pS %pS\n", t->vector, t->error_code,
			   t->ip, t->resume);
	}
	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(trap_test);

static int __init trap_test_init(void)
{
	/* The hand-made frames and gates are those of the native IDT. */
	if (cpu_feature_enabled(X86_FEATURE_FRED) ||
	    cpu_feature_enabled(X86_FEATURE_XENPV))
		return 0;

	register_die_notifier(&trap_test_nb);
	debugfs_create_file("x86_trap_test", 0600, NULL, NULL, &trap_test_fops);
	return 0;
}
late_initcall(trap_test_init);
