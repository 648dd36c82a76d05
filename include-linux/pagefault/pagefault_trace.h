/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PAGEFAULT_TRACE_H
#define _LINUX_PAGEFAULT_TRACE_H

/*
 * Data of the page fault trace events, see <trace/events/pagefault.h>.
 *
 * The handler of a traced fault keeps a struct pagefault on its stack, and
 * current->pagefault points to it. pagefault_mark() and pagefault_note() record
 * in it how the fault ends. Faults nest: one can come during another one, in an
 * interrupt, an NMI or a probe. So the handler saves and restores the pointer.
 * The stack and the pointer belong to the task, so it may sleep and migrate
 * during a fault. A task that exits during a fault, which seccomp can do in a
 * vsyscall, leaves the pointer: nothing reads it later. After an oops, the stack
 * is rewound, so make_task_dead() clears the pointer. A task never forks during
 * a fault.
 */
#include <linux/jump_label.h>
#include <linux/mm_types.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

/**
 * enum pagefault_outcome - How a page fault ended
 * @PAGEFAULT_MINOR:	handle_mm_fault() returned without an error, and
 *			mm_account_fault() counted it in min_flt
 * @PAGEFAULT_MAJOR:	the same, in maj_flt
 * @PAGEFAULT_RETRY:	without registers: VM_FAULT_RETRY was returned
 * @PAGEFAULT_FAILED:	without registers: VM_FAULT_ERROR was returned
 * @PAGEFAULT_INTERRUPTED: a signal has to be handled first
 * @PAGEFAULT_OOM:	no memory, see pagefault_out_of_memory()
 * @PAGEFAULT_FIXUP:	the context continues at an exception fixup
 * @PAGEFAULT_SIGNAL:	the fault handler sent a signal
 * @PAGEFAULT_ARCH:	the architecture handled it without the mm
 * @PAGEFAULT_OOPS:	an oops that the task survived. Other oopses: no exit
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
 * @PAGEFAULT_FILE:	... a file
 * @PAGEFAULT_SHMEM:	... shmem: tmpfs, memfd, shared anonymous, System V
 * @PAGEFAULT_HUGETLB:	... hugetlb
 * @PAGEFAULT_KIND:	mask of these
 * @PAGEFAULT_COW:	a private copy of a page was mapped
 * @PAGEFAULT_SWAPIN:	the page was in swap or in the swap cache
 * @PAGEFAULT_RETRIED_VMA: VM_FAULT_RETRY under the per-VMA lock
 * @PAGEFAULT_RETRIED_MMAP: VM_FAULT_RETRY under the mmap lock
 *
 * The kind is that of the last call of handle_mm_fault(). Without a call, and
 * for a special mapping, there is none.
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
 * @start:	CLOCK_MONOTONIC in ns, 0 if the end is not to be traced
 * @duration:	ns since then
 * @outcome:	how it ended
 * @flags:	bit mask, enum pagefault_flags
 * @vm_fault:	what handle_mm_fault() returned last, 0 if it was not called
 * @signo:	number of the signal for outcome SIGNAL, else 0
 * @si_code:	si_code of that signal
 * @user_mode:	1 if the fault interrupted user mode, 0 for kernel mode
 * @fault_flags: without registers: bit mask, enum fault_flag
 * @tgid:	without registers: owner of the memory, 0 if it is not known
 * @outer:	the fault that this one interrupted
 */
struct pagefault {
	unsigned long		address;
	unsigned long		ip;
	unsigned long		error_code;
	u64			start;
	u64			duration;
	enum pagefault_outcome	outcome;
	unsigned int		flags;
	vm_fault_t		vm_fault;
	int			signo;
	int			si_code;
	unsigned int		user_mode;
	unsigned int		fault_flags;
	pid_t			tgid;
	struct pagefault	*outer;
};

void __pagefault_mark(enum pagefault_outcome outcome, int signo, int si_code);
void __pagefault_note(enum pagefault_flags flag);

#ifdef CONFIG_TRACEPOINTS
DECLARE_STATIC_KEY_FALSE(pagefault_key);
extern u64 pagefault_since;

#define pagefault_traced()	static_branch_unlikely(&pagefault_key)
#define pagefault_forget()	(current->pagefault = NULL)

static inline void pagefault_push(struct pagefault *pf)
{
	pf->outcome = PAGEFAULT_ARCH;
	pf->flags = 0;
	pf->vm_fault = 0;
	pf->signo = 0;
	pf->si_code = 0;
	pf->start = 0;
	pf->outer = current->pagefault;
	current->pagefault = pf;
}

/**
 * pagefault_begin - Begin to record a page fault
 * @pf:		on the stack of the fault handler
 * @regs:	registers at the fault
 * @address:	address that was accessed
 * @error_code:	error code of the architecture
 *
 * Then trace the entry and set @pf->start, except for a fault of a probe.
 *
 * Context: Fault handler, if pagefault_traced().
 */
static inline void pagefault_begin(struct pagefault *pf, struct pt_regs *regs,
				   unsigned long address,
				   unsigned long error_code)
{
	pagefault_push(pf);
	pf->address = address;
	pf->ip = instruction_pointer(regs);
	pf->error_code = error_code;
	pf->user_mode = user_mode(regs);
}

/**
 * pagefault_end - A page fault was handled
 * @pf:		as for pagefault_begin()
 *
 * Context: As pagefault_begin().
 *
 * Return: true if the exit has to be traced
 */
static inline bool pagefault_end(struct pagefault *pf)
{
	current->pagefault = pf->outer;
	if (pf->start < READ_ONCE(pagefault_since))
		return false;

	/* In an NMI, this clock may step back by a few ns */
	pf->duration = max_t(s64, ktime_get_mono_fast_ns() - pf->start, 0);
	return true;
}

#else
#define pagefault_traced()	false
#define pagefault_forget()	do { } while (0)
static inline void pagefault_begin(struct pagefault *pf, struct pt_regs *regs,
				   unsigned long address,
				   unsigned long error_code) { }
static inline bool pagefault_end(struct pagefault *pf) { return false; }
#endif

/**
 * pagefault_mark - Note how the current page fault ends
 * @outcome:	FIXUP, SIGNAL or OOPS. handle_mm_fault() notes what it returns
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
