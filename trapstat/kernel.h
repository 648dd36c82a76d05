/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The types of the kernel that trapstat.bpf.c reads, with the fields it needs alone. libbpf
 * finds each field by its name in the BTF of the kernel that runs.
 */
#ifndef KERNEL_H
#define KERNEL_H

#define OF_KERNEL	__attribute__((preserve_access_index))

/* libbpf wants an enum where the kernel has one */
enum pagefault_outcome {
	PAGEFAULT_MINOR,
};

enum pagefault_kind {
	PAGEFAULT_NONE,
};

struct pagefault {
	unsigned long address, ip;
	unsigned long long duration;
	enum pagefault_outcome outcome;
	enum pagefault_kind kind;
	unsigned int flags, user_mode, order;
	unsigned long error_code;
} OF_KERNEL;

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
} OF_KERNEL;

struct inode {
	unsigned long i_ino;
	long long i_size;
	unsigned int i_generation;
	struct super_block *i_sb;
} OF_KERNEL;

struct address_space {
	struct inode *host;
} OF_KERNEL;

struct qstr {
	const unsigned char *name;
} OF_KERNEL;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
} OF_KERNEL;

struct path {
	struct dentry *dentry;
} OF_KERNEL;

struct file {
	struct path f_path;
	struct inode *f_inode;
	struct address_space *f_mapping;
} OF_KERNEL;

struct mm_struct {
	unsigned long start_code, start_brk, brk, start_stack;
	struct file *exe_file;
	int mm_lock_seq;
} OF_KERNEL;

struct seqcount {
	unsigned int sequence;
} OF_KERNEL;

struct mm_struct___6_14 {
	struct seqcount mm_lock_seq;
} OF_KERNEL;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct mm_struct *vm_mm;
	const void *vm_ops;
	struct file *vm_file;
} OF_KERNEL;

struct thread_struct {
	unsigned long cr2, trap_nr, error_code;		/* x86 */
	unsigned long fault_address, fault_code;	/* arm64 */
	unsigned long bad_cause;			/* riscv */
} OF_KERNEL;

struct pt_regs___kernel {
	int syscallno;					/* arm64 */
	unsigned long badaddr, cause;			/* riscv */
} OF_KERNEL;

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
} OF_KERNEL;

struct pid {
	unsigned int level;
	struct upid numbers[];
} OF_KERNEL;

struct sigaction {
	void *sa_handler;
} OF_KERNEL;

struct k_sigaction {
	struct sigaction sa;
} OF_KERNEL;

struct sighand_struct {
	struct k_sigaction action[64];
} OF_KERNEL;

struct task_struct {
	int pid;
	unsigned int ptrace;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct sighand_struct *sighand;
	struct mm_struct *mm;
	unsigned long min_flt, maj_flt;
	unsigned int in_iowait : 1;
	struct thread_struct thread;
} OF_KERNEL;

#endif
