/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PAGEFAULT_TRACE_H
#define _LINUX_PAGEFAULT_TRACE_H

/*
 * For the page fault trace events, <trace/events/pagefault.h>: the
 * handler of a traced fault keeps a struct pagefault on its stack, and
 * current->pagefault points to it. pagefault_mark() and pagefault_note() record
 * there how the fault ends. Faults nest, in an interrupt, an NMI or a probe, so
 * the handler saves and restores the pointer. The task may sleep and migrate: the
 * stack and the pointer belong to it. A task can exit during a fault: seccomp can
 * kill it in a vsyscall. The pointer stays valid then, as do_exit() runs on the
 * same stack. An oops rewinds the stack, so make_task_dead() clears the pointer.
 */
#include <linux/jump_label.h>
#include <linux/mm_types.h>
#include <linux/ptrace.h>
#include <linux/timekeeping.h>

/**
 * enum pagefault_outcome - How a page fault ended; append only, for filters
 * @PAGEFAULT_MINOR:	handle_mm_fault() returned without an error, and
 *			mm_account_fault() counted it in min_flt
 * @PAGEFAULT_MAJOR:	the same, in maj_flt
 * @PAGEFAULT_RETRY:	pagefault_noregs: VM_FAULT_RETRY was returned
 * @PAGEFAULT_FAILED:	pagefault_noregs: VM_FAULT_ERROR was returned
 * @PAGEFAULT_INTERRUPTED: the task has to handle a signal before it can try again
 * @PAGEFAULT_OOM:	no memory, see pagefault_out_of_memory()
 * @PAGEFAULT_FIXUP:	the context continues at an exception fixup
 * @PAGEFAULT_SIGNAL:	the fault handler sent a signal
 * @PAGEFAULT_ARCH:	the default: the architecture handled it by itself
 * @PAGEFAULT_OOPS:	an oops. If it kills the task, there is no exit event
 */
enum pagefault_outcome {
	PAGEFAULT_MINOR,
	PAGEFAULT_MAJOR,
	PAGEFAULT_RETRY,
	PAGEFAULT_FAILED,
	PAGEFAULT_INTERRUPTED,
	PAGEFAULT_OOM,
	PAGEFAULT_FIXUP,
	PAGEFAULT_SIGNAL,
	PAGEFAULT_ARCH,
	PAGEFAULT_OOPS,
};

/**
 * enum pagefault_flags - Kind of memory, and what happened during the fault
 * @PAGEFAULT_ANON:	the VMA is anonymous memory
 * @PAGEFAULT_FILE:	the VMA maps a file
 * @PAGEFAULT_SHMEM:	the VMA is shmem: tmpfs, memfd, shared anonymous, SysV
 * @PAGEFAULT_HUGETLB:	the VMA is hugetlb
 * @PAGEFAULT_KIND:	mask of ANON, FILE, SHMEM and HUGETLB
 * @PAGEFAULT_COW:	a private page replaced a shared or a zero page
 * @PAGEFAULT_SWAPIN:	the page was in swap or in the swap cache
 * @PAGEFAULT_RETRIED_VMA: VM_FAULT_RETRY under the per-VMA lock
 * @PAGEFAULT_RETRIED_MMAP: VM_FAULT_RETRY under the mmap lock
 *
 * The last call of handle_mm_fault() sets the kind. A special mapping has none.
 */
enum pagefault_flags {
	PAGEFAULT_ANON		= 0x01,
	PAGEFAULT_FILE		= 0x02,
	PAGEFAULT_SHMEM		= 0x04,
	PAGEFAULT_HUGETLB	= 0x08,
	PAGEFAULT_KIND		= 0x0f,
	PAGEFAULT_COW		= 0x10,
	PAGEFAULT_SWAPIN	= 0x20,
	PAGEFAULT_RETRIED_VMA	= 0x40,
	PAGEFAULT_RETRIED_MMAP	= 0x80,
};

/**
 * struct pagefault - A page fault that is traced
 * @address:	address that was accessed
 * @ip:		instruction that faulted
 * @error_code:	error code of the architecture
 * @outer:	the fault that this one interrupted
 * @start:	begin, CLOCK_MONOTONIC in ns; 0 if the exit is not traced
 * @duration:	ns from @start to the exit
 * @outcome:	how it ended
 * @signo:	number of the signal for outcome SIGNAL, else 0
 * @si_code:	si_code of that signal
 * @flags:	bit mask, enum pagefault_flags
 * @vm_fault:	what handle_mm_fault() returned last, 0 if it was not called
 * @user_mode:	1 if the fault interrupted user mode, 0 for kernel mode
 */
struct pagefault {
	unsigned long		address;
	unsigned long		ip;
	unsigned long		error_code;
	struct pagefault	*outer;
	u64			start;
	u64			duration;
	enum pagefault_outcome	outcome;
	int			signo;
	int			si_code;
	unsigned int		flags;
	vm_fault_t		vm_fault;
	unsigned int		user_mode;
};

void __pagefault_mark(enum pagefault_outcome outcome, int signo, int si_code);
void __pagefault_note(enum pagefault_flags flag);

#ifdef CONFIG_HAVE_PAGEFAULT_EVENTS
DECLARE_STATIC_KEY_FALSE(pagefault_key);
extern u64 pagefault_since;

#define pagefault_traced()	static_branch_unlikely(&pagefault_key)
#define pagefault_forget(tsk)	((tsk)->pagefault = NULL)

/**
 * pagefault_begin - Begin to record a page fault
 * @pf:		on the stack of the fault handler
 * @regs:	registers at the fault
 * @address:	address that was accessed
 * @error_code:	error code of the architecture
 *
 * The caller then fires pagefault_entry and, if pagefault_exit is on, sets
 * @pf->start. It does neither if its recursion guard suppresses the entry.
 *
 * Context: Fault handler, if pagefault_traced().
 */
static inline void pagefault_begin(struct pagefault *pf, struct pt_regs *regs,
				   unsigned long address,
				   unsigned long error_code)
{
	*pf = (struct pagefault) {
		.address	= address,
		.ip		= instruction_pointer(regs),
		.error_code	= error_code,
		.outer		= current->pagefault,
		.outcome	= PAGEFAULT_ARCH,
		.user_mode	= user_mode(regs),
	};
	current->pagefault = pf;
}

/**
 * pagefault_end - A page fault was handled
 * @pf:		what current->pagefault points to
 *
 * Context: As for pagefault_begin(); or handle_mm_fault() without registers.
 *
 * Return: true if the exit has to be traced
 */
static inline bool pagefault_end(struct pagefault *pf)
{
	current->pagefault = pf->outer;
	if (pf->start < READ_ONCE(pagefault_since))
		return false;

	/* In an NMI or on another CPU, this clock may step back by a few ns */
	pf->duration = max_t(s64, ktime_get_mono_fast_ns() - pf->start, 0);
	return true;
}

#else
#define pagefault_traced()	false
static inline void pagefault_forget(struct task_struct *tsk) { }
static inline void pagefault_begin(struct pagefault *pf, struct pt_regs *regs,
				   unsigned long address, unsigned long code) { }
static inline bool pagefault_end(struct pagefault *pf) { return false; }
#endif

/**
 * pagefault_mark - Note how the current page fault ends
 * @outcome:	FIXUP, SIGNAL or OOPS. handle_mm_fault() records the others
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
 * pagefault_note - Note what handle_mm_fault() does for the current page fault
 * @flag:	PAGEFAULT_COW or PAGEFAULT_SWAPIN
 *
 * Context: Any, below handle_mm_fault().
 */
static __always_inline void pagefault_note(enum pagefault_flags flag)
{
	if (pagefault_traced())
		__pagefault_note(flag);
}

#endif /* _LINUX_PAGEFAULT_TRACE_H */
