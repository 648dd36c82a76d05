/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PAGEFAULT_HANDLER_H
#define _LINUX_PAGEFAULT_HANDLER_H

/* For the page fault handler of an architecture, which fires the events */
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/pagefault_trace.h>
#include <linux/ptrace.h>
#include <linux/timekeeping.h>
#include <trace/events/pagefault.h>

#ifdef CONFIG_PAGEFAULT_EVENTS
extern u64 pagefault_since;
extern atomic_t pagefault_suppressed;

/* In this state, a probe that hits a kprobe is a BUG(), see reenter_kprobe() */
static __always_inline bool kprobe_reentered(void)
{
#ifdef CONFIG_KPROBES
	return kprobe_running() &&
	       get_kprobe_ctlblk()->kprobe_status == KPROBE_REENTER;
#else
	return false;
#endif
}

/**
 * pagefault_begin - Begin to record a page fault, and fire pagefault_entry
 * @pf:		on the stack of the fault handler
 * @regs:	registers at the fault
 * @address:	address that was accessed
 * @error_code:	error code of the architecture
 *
 * Context: Fault handler, if pagefault_traced(), with interrupts disabled. The
 *	    caller must be notrace and NOKPROBE.
 */
static __always_inline void
pagefault_begin(struct pagefault *pf, struct pt_regs *regs,
		unsigned long address, unsigned long error_code)
{
	struct pagefault *outer = current->pagefault;

	lockdep_assert_irqs_disabled();
	/* Field by field: GCC uses the slow REP STOS to clear a whole struct */
	pf->address = address;
	pf->ip = instruction_pointer(regs);
	pf->error_code = error_code;
	pf->outcome = PAGEFAULT_ARCH;
	pf->kind = PAGEFAULT_NONE;
	pf->signo = 0;
	pf->si_code = 0;
	pf->flags = 0;
	pf->fault_flags = 0;
	pf->vm_fault = 0;
	pf->user_mode = user_mode(regs);
	pf->start = 0;
	pf->regs = regs;
	pf->outer = outer;
	/* Only faults on this stack read the record, so barrier() suffices */
	barrier();
	WRITE_ONCE(current->pagefault, pf);

	if (unlikely(outer && !outer->start) || unlikely(kprobe_reentered())) {
		atomic_inc(&pagefault_suppressed);
		return;
	}
	trace_pagefault_entry(pf);
	WRITE_ONCE(pf->start, ktime_get_mono_fast_ns());
}

/* Whether the fault is traced, and the events stayed on since. If so, set the duration */
static __always_inline bool pagefault_complete(struct pagefault *pf)
{
	lockdep_assert_irqs_disabled();
	/* If the fault was suppressed, a kprobe on the clock could be a BUG() */
	if (pf->start < READ_ONCE(pagefault_since))
		return false;
	/* In an NMI or on another CPU, this clock may step back by a few ns */
	pf->duration = max_t(s64, ktime_get_mono_fast_ns() - pf->start, 0);
	WRITE_ONCE(pf->start, 0);
	return true;
}

/**
 * pagefault_end - Fire pagefault_exit, and end the record
 * @pf:		what current->pagefault points to
 *
 * Context: Once after each pagefault_begin(), as that, even if the events are off by now.
 */
static __always_inline void pagefault_end(struct pagefault *pf)
{
	if (pagefault_complete(pf))
		trace_pagefault_exit(pf);
	barrier();
	WRITE_ONCE(current->pagefault, pf->outer);
}
#else
#define pagefault_begin(pf, ...)	((void)(pf))
#define pagefault_end(pf)		((void)(pf))
#endif

#endif /* _LINUX_PAGEFAULT_HANDLER_H */
