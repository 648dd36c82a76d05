/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between machines: registers, and what a task notes of its last trap */
#ifndef ARCH_BPF_H
#define ARCH_BPF_H

#include <bpf/bpf_tracing.h>

#include "maps.bpf.h"
#include "rows.h"

#ifdef __TARGET_ARCH_x86
#define REGS_STATUS(regs)	((regs)->cs)
#define RETURN_SIZE		sizeof(long)	/* of the return address on the stack */

static __always_inline __u32 mode_in(__u64 status)
{
	return status & 3 ? MODE_USER : MODE_KERNEL;
}

/* The row of the table; see row_of_trap() */
static __always_inline __u32 row_of(const struct pt_regs *regs, __u32 vector, __u32 mode,
				    __u64 error_code)
{
	__u64 flags = 0, ip = 0, code = 0;

	if (vector == 17)
		read_kernel(&flags, sizeof(flags), &regs->eflags);
	if (vector == 13 && mode == MODE_USER && !error_code) {
		read_kernel(&ip, sizeof(ip), &regs->rip);
		/* The page may end */
		if (bpf_probe_read_user(&code, sizeof(code), (void *)ip) &&
		    bpf_probe_read_user(&code, 3, (void *)ip))
			fail(FAILED_CODE);
	}
	return row_of_trap(vector, mode, error_code, flags, code);
}

/* A system call leaves its number there */
static __always_inline bool is_of_trap(const struct pt_regs *regs)
{
	long orig_ax = 0;

	read_kernel(&orig_ax, sizeof(orig_ax), &regs->orig_rax);
	return orig_ax == -1;
}

/* The trap, by what the kernel notes in the task before it sends the signal */
static __always_inline bool find_trap(struct fault *trap, const struct pt_regs *regs,
				      __u32 number, __u32 si_code)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 error_code = task->thread.error_code;
	__u32 vector = vector_of_signal(task->thread.trap_nr, number, si_code);

	if (vector == NO_VECTOR)
		return false;
	trap->row = row_of(regs, vector, MODE_USER, error_code);
	trap->vector = vector;
	trap->error = vector == task->thread.trap_nr ? error_code + 1 : 0;
	if (vector == ROW_PF)
		trap->address = task->thread.cr2;
	return true;
}

#else
static __always_inline __u32 row_of(const struct pt_regs *regs, __u32 vector, __u32 mode,
				    __u64 error_code)
{
	return vector;
}
#endif

#ifdef __TARGET_ARCH_arm64	/* struct pt_regs begins with that of user space */
#define REGS_STATUS(regs)	(__PT_REGS_CAST(regs)->pstate)
#define RETURN_SIZE		0

static __always_inline __u32 mode_in(__u64 status)
{
	return status & 0xf ? MODE_KERNEL : MODE_USER;
}

static __always_inline bool is_of_trap(const struct pt_regs *regs)
{
	return BPF_CORE_READ((const struct pt_regs___kernel *)regs, syscallno) == -1;
}

/* Page faults alone: an abort of an instruction or of data at EL0, by its class in ESR_EL1 */
static __always_inline bool find_trap(struct fault *trap, const struct pt_regs *regs,
				      __u32 number, __u32 si_code)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 class = task->thread.fault_code >> 26;

	if ((number != 7 && number != 11) || (class != 0x20 && class != 0x24))
		return false;
	trap->row = ROW_PF;
	trap->vector = ROW_PF;
	trap->address = task->thread.fault_address;
	return true;
}

#elif defined(__TARGET_ARCH_riscv)	/* the same; kernel addresses are the upper half */
#define REGS_STATUS(regs)	(__PT_REGS_CAST(regs)->pc)
#define RETURN_SIZE		0

static __always_inline __u32 mode_in(__u64 status)
{
	return status >> 63 ? MODE_KERNEL : MODE_USER;
}

static __always_inline bool is_of_trap(const struct pt_regs *regs)
{
	return BPF_CORE_READ((const struct pt_regs___kernel *)regs, cause) != 8;
}

/* Page faults alone: of an instruction, a load or a store, by scause */
static __always_inline bool find_trap(struct fault *trap, const struct pt_regs *regs,
				      __u32 number, __u32 si_code)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cause = task->thread.bad_cause;

	if ((number != 7 && number != 11) || (cause != 12 && cause != 13 && cause != 15))
		return false;
	trap->row = ROW_PF;
	trap->vector = ROW_PF;
	trap->address = BPF_CORE_READ((const struct pt_regs___kernel *)regs, badaddr);
	return true;
}
#endif

#endif
