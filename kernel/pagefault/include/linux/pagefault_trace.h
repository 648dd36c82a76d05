/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PAGEFAULT_TRACE_H
#define _LINUX_PAGEFAULT_TRACE_H

/*
 * For the page fault trace events, <trace/events/pagefault.h>: the handler of a
 * traced fault keeps a struct pagefault on its stack, and current->pagefault
 * points to it. Faults nest, in an interrupt, an NMI or a probe, so the handler
 * saves and restores the pointer. Both belong to the task, which may sleep and
 * migrate. An oops rewinds the stack, so make_task_dead() clears the pointer.
 *
 * The record is the recursion guard, too. Probes of these events can fault, e.g. in
 * a stack walk. They run with interrupts disabled, while @start is 0. So a fault that
 * finds @start == 0 in the record of the fault that it interrupts comes from a probe,
 * or from an NMI in one: it fires no event and is counted in pagefault_suppressed in
 * debugfs. Its @start stays 0, so faults in its handler are suppressed, too. A fault
 * in user mode finds no record: the kernel stack was empty. Faults are also
 * suppressed while a kprobe is handled that was hit inside another one.
 */
#include <linux/jump_label.h>
#include <linux/mm_types.h>
#include <linux/sched.h>

struct pt_regs;

/* How a page fault ended */
enum pagefault_outcome {
	PAGEFAULT_MINOR,	/* no error; mm_account_fault() counted it in min_flt */
	PAGEFAULT_MAJOR,	/* the same, in maj_flt */
	PAGEFAULT_INTERRUPTED,	/* gave up for a signal or task work that is pending */
	PAGEFAULT_OOM,		/* no memory, see pagefault_out_of_memory() */
	PAGEFAULT_FIXUP,	/* the context continues at an exception fixup */
	PAGEFAULT_SIGNAL,	/* the fault handler sent a signal */
	PAGEFAULT_ARCH,		/* the default: the architecture handled it by itself */
};

/* The VMA in the last call of handle_mm_fault() */
enum pagefault_kind {
	PAGEFAULT_NONE,		/* handle_mm_fault() was not called */
	PAGEFAULT_ANON,
	PAGEFAULT_FILE,
	PAGEFAULT_SHMEM,	/* tmpfs, memfd, shared anonymous, System V */
	PAGEFAULT_HUGETLB,
	PAGEFAULT_SPECIAL,	/* memory of a driver, or the vDSO */
};

/* What happened during the fault */
enum pagefault_flags {
	PAGEFAULT_COW		= 0x01,	/* mapped a private copy of a page */
	PAGEFAULT_SWAPIN	= 0x02,	/* from swap or the swap cache */
	PAGEFAULT_RETRIED_VMA	= 0x04,	/* VM_FAULT_RETRY under the per-VMA lock */
	PAGEFAULT_RETRIED_MMAP	= 0x08,	/* VM_FAULT_RETRY under the mmap lock */
};

/* A page fault that is traced */
struct pagefault {
	/* In the order of pagefault_exit: GCC then copies two u32 at once */
	u64			duration;	/* ns from @start to the exit */
	unsigned long		address;	/* that was accessed */
	unsigned long		ip;		/* instruction that faulted */
	unsigned long		error_code;	/* of the architecture */
	enum pagefault_outcome	outcome;
	enum pagefault_kind	kind;
	int			signo;		/* for outcome SIGNAL, else 0 */
	int			si_code;	/* of that signal */
	u32			flags;		/* bit mask, enum pagefault_flags */
	u32			fault_flags;	/* of the last call of handle_mm_fault() */
	vm_fault_t		vm_fault;	/* what that returned, 0 if there was none */
	u32			user_mode;	/* 1 for user mode, 0 for kernel mode */

	u64			start;		/* CLOCK_MONOTONIC in ns; 0: see above */
	struct pt_regs		*regs;		/* of the trap, as handle_mm_fault() gets them */
	struct pagefault	*outer;		/* the fault that this one interrupted */
};

void pagefault_vma(struct vm_area_struct *vma, struct pt_regs *regs,
		   unsigned int fault_flags);
void pagefault_result(struct pt_regs *regs, vm_fault_t ret);
void __pagefault_mark(enum pagefault_outcome outcome, int signo, int si_code);
void __pagefault_note(enum pagefault_flags flag);

#ifdef CONFIG_PAGEFAULT_EVENTS
DECLARE_STATIC_KEY_FALSE(pagefault_key);

#define pagefault_traced()	static_branch_unlikely(&pagefault_key)
#define pagefault_forget(tsk)	((tsk)->pagefault = NULL)
#else
#define pagefault_traced()	false
#define pagefault_forget(tsk)	((void)(tsk))
#endif

/**
 * pagefault_mark - Record how the current page fault ends
 * @outcome:	FIXUP or SIGNAL. The others need no mark
 * @signo:	number of the signal, 0 without one
 * @si_code:	its si_code
 *
 * Context: Any, in a page fault handler. Before the signal is sent.
 */
static __always_inline void pagefault_mark(enum pagefault_outcome outcome,
					   int signo, int si_code)
{
	if (pagefault_traced())
		__pagefault_mark(outcome, signo, si_code);
}

/**
 * pagefault_note - Record what handle_mm_fault() does for the current page fault
 * @flag:	PAGEFAULT_COW or PAGEFAULT_SWAPIN
 *
 * Context: Any. Does nothing if the task is not in a traced fault.
 */
static __always_inline void pagefault_note(enum pagefault_flags flag)
{
	if (pagefault_traced())
		__pagefault_note(flag);
}

#endif /* _LINUX_PAGEFAULT_TRACE_H */
