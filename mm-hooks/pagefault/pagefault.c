// SPDX-License-Identifier: GPL-2.0
/* Trace events of page faults, see <linux/pagefault_trace.h> */
#include <linux/hugetlb_inline.h>
#include <linux/magic.h>
#include <linux/pagefault_trace.h>
#include <linux/sched/signal.h>

#define CREATE_TRACE_POINTS
#include <trace/events/pagefault.h>

#include "internal.h"

DEFINE_STATIC_KEY_FALSE(pagefault_key);
u64 pagefault_since __read_mostly = U64_MAX;

int pagefault_reg(void)
{
	static_branch_inc(&pagefault_key);
	if (pagefault_since == U64_MAX)
		WRITE_ONCE(pagefault_since, ktime_get_mono_fast_ns() + 1);
	return 0;
}

/* Under tracepoints_mutex. Faults in flight may miss marks, so they get no exit */
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
	pf->outcome = outcome;
	if (signo && fatal_signal_pending(current)) {
		/* A dying task does not get the signal */
		pf->outcome = PAGEFAULT_INTERRUPTED;
		return;
	}
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

/* handle_mm_fault() calls this while an event is on */
vm_fault_t handle_mm_fault_traced(struct vm_area_struct *vma, unsigned long address,
				  unsigned int flags, struct pt_regs *regs)
{
	struct pagefault *pf = current->pagefault;
	unsigned int kind = 0;
	vm_fault_t ret;

	/* The events were off when this fault began */
	if (!pf)
		return do_handle_mm_fault(vma, address, flags, regs);

	/* A call of shmem_mapping() would make each traced fault push registers */
	if (vma_is_anonymous(vma))
		kind = PAGEFAULT_ANON;
	else if (is_vm_hugetlb_page(vma))
		kind = PAGEFAULT_HUGETLB;
	else if (vma->vm_file)
		kind = S_ISREG(file_inode(vma->vm_file)->i_mode) &&
		       file_inode(vma->vm_file)->i_sb->s_magic == TMPFS_MAGIC ?
		       PAGEFAULT_SHMEM : PAGEFAULT_FILE;
	pf->flags = (pf->flags & ~PAGEFAULT_KIND) | kind;

	ret = do_handle_mm_fault(vma, address, flags, regs);
	pf->vm_fault = ret;
	/* What mm_account_fault() counts */
	pf->outcome = fault_is_major(ret, flags) ? PAGEFAULT_MAJOR : PAGEFAULT_MINOR;
	if (likely(!(ret & (VM_FAULT_ERROR | VM_FAULT_RETRY))))
		return ret;

	pf->outcome = ret & VM_FAULT_OOM ? PAGEFAULT_OOM : PAGEFAULT_ARCH;
	if (ret & VM_FAULT_RETRY) {
		pf->outcome = PAGEFAULT_INTERRUPTED;
		pf->flags |= flags & FAULT_FLAG_VMA_LOCK ?
			     PAGEFAULT_RETRIED_VMA : PAGEFAULT_RETRIED_MMAP;
	}
	return ret;
}

vm_fault_t handle_mm_fault_noregs(struct vm_area_struct *vma,
				  unsigned long address, unsigned int flags)
{
	struct pagefault pf = { .address = address, .outer = current->pagefault };
	struct mm_struct *mm = vma->vm_mm;
	vm_fault_t ret;

	current->pagefault = &pf;
	if (trace_pagefault_noregs_enabled())
		pf.start = ktime_get_mono_fast_ns();
	ret = handle_mm_fault_traced(vma, address, flags, NULL);
	if (ret & (VM_FAULT_RETRY | VM_FAULT_ERROR))
		pf.outcome = ret & VM_FAULT_RETRY ? PAGEFAULT_RETRY : PAGEFAULT_FAILED;
	if (pagefault_end(&pf))
		trace_pagefault_noregs(&pf, flags, pagefault_owner(mm));
	return ret;
}
