// SPDX-License-Identifier: GPL-2.0
/* Trace events of page faults, see <linux/pagefault_trace.h> */
#include <linux/hugetlb_inline.h>
#include <linux/pagefault_trace.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>

#define CREATE_TRACE_POINTS
#include <trace/events/pagefault.h>

#include "internal.h"

DEFINE_STATIC_KEY_FALSE(pagefault_key);
u64 pagefault_since = U64_MAX;

int pagefault_reg(void)
{
	static_branch_inc(&pagefault_key);
	if (pagefault_since == U64_MAX)
		WRITE_ONCE(pagefault_since, ktime_get_mono_fast_ns() + 1);
	return 0;
}

/*
 * While the key is off, pagefault_mark() does nothing. So the exit of a fault
 * that was in progress then is not traced. Called under tracepoints_mutex.
 */
void pagefault_unreg(void)
{
	if (static_key_count(&pagefault_key.key) == 1)
		WRITE_ONCE(pagefault_since, U64_MAX);
	static_branch_dec(&pagefault_key);
}

void __pagefault_mark(enum pagefault_outcome outcome, int signo, int si_code)
{
	struct pagefault *pf = current->pagefault;

	/* A second signal is lost while the first one is pending */
	if (!pf || pf->signo)
		return;
	if (signo && fatal_signal_pending(current)) {
		/* A dying task does not get the signal */
		outcome = PAGEFAULT_INTERRUPTED;
		signo = 0;
		si_code = 0;
	}
	pf->outcome = outcome;
	pf->signo = signo;
	pf->si_code = si_code;
}

void __pagefault_note(enum pagefault_flags flag)
{
	if (current->pagefault)
		current->pagefault->flags |= flag;
}

static pid_t pagefault_owner(struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	struct task_struct *owner;

	guard(rcu)();
	owner = rcu_dereference(mm->owner);
	return owner ? task_tgid_nr(owner) : 0;
#else
	return mm == current->mm && !(current->flags & PF_KTHREAD) ?
	       task_tgid_nr(current) : 0;
#endif
}

static unsigned int pagefault_kind(struct vm_area_struct *vma)
{
	if (vma_is_anonymous(vma))
		return PAGEFAULT_ANON;
	if (is_vm_hugetlb_page(vma))
		return PAGEFAULT_HUGETLB;
	if (!vma->vm_file)
		return 0;

	/* vma_is_shmem() does not know System V shared memory */
	return shmem_mapping(vma->vm_file->f_mapping) ? PAGEFAULT_SHMEM :
							PAGEFAULT_FILE;
}

/* MINOR and MAJOR are what mm_account_fault() counts */
static enum pagefault_outcome pagefault_done(vm_fault_t ret, unsigned int flags)
{
	return fault_is_major(ret, flags) ? PAGEFAULT_MAJOR : PAGEFAULT_MINOR;
}

static noinline void pagefault_unusual(struct pagefault *pf, vm_fault_t ret,
				       unsigned int flags, bool regs)
{
	if (ret & VM_FAULT_DONE_COW)
		pf->flags |= PAGEFAULT_COW;

	if (ret & VM_FAULT_RETRY) {
		pf->outcome = regs ? PAGEFAULT_INTERRUPTED : PAGEFAULT_RETRY;
		pf->flags |= flags & FAULT_FLAG_VMA_LOCK ?
			     PAGEFAULT_RETRIED_VMA : PAGEFAULT_RETRIED_MMAP;
	} else if (!(ret & VM_FAULT_ERROR)) {
		pf->outcome = pagefault_done(ret, flags);
	} else if (!regs) {
		pf->outcome = PAGEFAULT_FAILED;
	} else {
		pf->outcome = ret & VM_FAULT_OOM ?
			      PAGEFAULT_OOM : PAGEFAULT_ARCH;
	}
}

static __always_inline vm_fault_t
handle_mm_fault_in(struct pagefault *pf, unsigned int kind,
		   struct vm_area_struct *vma, unsigned long address,
		   unsigned int flags, struct pt_regs *regs)
{
	vm_fault_t ret;

	pf->flags = (pf->flags & ~PAGEFAULT_KIND) | kind;
	ret = do_handle_mm_fault(vma, address, flags, regs);
	pf->vm_fault = ret;
	if (likely(!(ret & (VM_FAULT_ERROR | VM_FAULT_RETRY |
			    VM_FAULT_DONE_COW))))
		pf->outcome = pagefault_done(ret, flags);
	else
		pagefault_unusual(pf, ret, flags, regs);
	return ret;
}

static noinline vm_fault_t
handle_mm_fault_any(struct pagefault *pf, struct vm_area_struct *vma,
		    unsigned long address, unsigned int flags,
		    struct pt_regs *regs)
{
	return handle_mm_fault_in(pf, pagefault_kind(vma), vma, address, flags,
				  regs);
}

static noinline vm_fault_t
handle_mm_fault_noregs(struct vm_area_struct *vma, unsigned long address,
		       unsigned int flags)
{
	struct pagefault *outer = current->pagefault;
	vm_fault_t ret;

	if (trace_pagefault_noregs_enabled()) {
		struct pagefault pf = {
			.address	= address,
			.fault_flags	= flags,
			.tgid		= pagefault_owner(vma->vm_mm),
			.outer		= outer,
			.start		= ktime_get_mono_fast_ns(),
		};

		current->pagefault = &pf;
		ret = handle_mm_fault_any(&pf, vma, address, flags, NULL);
		if (pagefault_end(&pf))
			trace_pagefault_noregs(&pf);
		return ret;
	}

	/* pagefault_note() must not change the outer fault */
	current->pagefault = NULL;
	ret = do_handle_mm_fault(vma, address, flags, NULL);
	current->pagefault = outer;
	return ret;
}

/*
 * handle_mm_fault() calls this while an event is on. For anonymous memory, it
 * makes no call before do_handle_mm_fault(), so it saves few registers.
 */
vm_fault_t handle_mm_fault_traced(struct vm_area_struct *vma,
				  unsigned long address, unsigned int flags,
				  struct pt_regs *regs)
{
	struct pagefault *pf = current->pagefault;

	if (!regs)
		return handle_mm_fault_noregs(vma, address, flags);
	/* No event was on when the fault began */
	if (!pf)
		return do_handle_mm_fault(vma, address, flags, regs);
	if (!vma_is_anonymous(vma))
		return handle_mm_fault_any(pf, vma, address, flags, regs);

	return handle_mm_fault_in(pf, PAGEFAULT_ANON, vma, address, flags,
				  regs);
}
