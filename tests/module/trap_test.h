/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TRAP_TEST_H
#define TRAP_TEST_H

#include <linux/linkage.h>
#include <linux/seq_file.h>

/* Linux 6.1 does not have this */
#ifndef DEFINE_SHOW_STORE_ATTRIBUTE
#define DEFINE_SHOW_STORE_ATTRIBUTE(name)				\
static int name##_open(struct inode *inode, struct file *file)		\
{									\
	return single_open(file, name##_show, inode->i_private);	\
}									\
									\
static const struct file_operations name##_fops = {			\
	.owner		= THIS_MODULE,					\
	.open		= name##_open,					\
	.read		= seq_read,					\
	.write		= name##_write,					\
	.llseek		= seq_lseek,					\
	.release	= single_release,				\
}
#endif

/* What trap_test_asm.S defines for each trap */
#define TRAP_TEST_DECLARE(name)				\
	asmlinkage void trap_test_##name(void);		\
	extern const char trap_test_##name##_ip[];	\
	extern const char trap_test_##name##_resume[]

TRAP_TEST_DECLARE(de);
TRAP_TEST_DECLARE(bp);
TRAP_TEST_DECLARE(of);
TRAP_TEST_DECLARE(br);
TRAP_TEST_DECLARE(ud);
TRAP_TEST_DECLARE(nm);
TRAP_TEST_DECLARE(old_mf);
TRAP_TEST_DECLARE(ts);
TRAP_TEST_DECLARE(np);
TRAP_TEST_DECLARE(ss);
TRAP_TEST_DECLARE(gp);
TRAP_TEST_DECLARE(pf);
TRAP_TEST_DECLARE(spurious);
TRAP_TEST_DECLARE(mf);
TRAP_TEST_DECLARE(ac);
TRAP_TEST_DECLARE(xf);
TRAP_TEST_DECLARE(cp);
TRAP_TEST_DECLARE(pf_spurious);
TRAP_TEST_DECLARE(pf_oops);

extern unsigned long trap_test_entry[];

struct dentry;

void trap_test_fault_in_nmi(void);
void pagefault_test_init(struct dentry *dir);

#endif /* TRAP_TEST_H */
