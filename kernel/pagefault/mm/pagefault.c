// SPDX-License-Identifier: GPL-2.0
/* Trace events of page faults, see <linux/pagefault_trace.h> */
#include <linux/debugfs.h>
#include <linux/hugetlb_inline.h>
#include <linux/pagefault_handler.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>

#define CREATE_TRACE_POINTS
#include <trace/events/pagefault.h>

DEFINE_STATIC_KEY_FALSE(pagefault_key);
u64 pagefault_since __read_mostly = U64_MAX;
atomic_t pagefault_suppressed;

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

/* At the start of each handle_mm_fault(). @vma may be gone at its end */
void pagefault_vma(struct vm_area_struct *vma, struct pt_regs *regs,
		   unsigned int fault_flags)
{
	struct pagefault *pf = current->pagefault;

	/* There is no record if the events were off when the fault began */
	if (!pf || pf->regs != regs)
		return;

	pf->fault_flags = fault_flags;
	pf->vm_fault = 0;
	/* As in mm_account_fault(), a retry is major. pagefault_result() may change it */
	pf->outcome = fault_flags & FAULT_FLAG_TRIED ? PAGEFAULT_MAJOR : PAGEFAULT_MINOR;
	if (vma_is_anonymous(vma))
		pf->kind = PAGEFAULT_ANON;
	else if (is_vm_hugetlb_page(vma))
		pf->kind = PAGEFAULT_HUGETLB;
	else if (!vma->vm_file || vma->vm_flags & (VM_IO | VM_PFNMAP))
		pf->kind = PAGEFAULT_SPECIAL;
	else
		pf->kind = shmem_mapping(vma->vm_file->f_mapping) ?
			   PAGEFAULT_SHMEM : PAGEFAULT_FILE;
}

/* At the end of handle_mm_fault(), if @ret is not 0, after mm_account_fault() */
void pagefault_result(struct pt_regs *regs, vm_fault_t ret)
{
	struct pagefault *pf = current->pagefault;

	if (!pf || pf->regs != regs)
		return;

	pf->vm_fault = ret;
	if (ret & VM_FAULT_DONE_COW)
		pf->flags |= PAGEFAULT_COW;
	if (ret & VM_FAULT_RETRY) {
		pf->outcome = PAGEFAULT_INTERRUPTED;
		pf->flags |= pf->fault_flags & FAULT_FLAG_VMA_LOCK ?
			     PAGEFAULT_RETRIED_VMA : PAGEFAULT_RETRIED_MMAP;
	} else if (ret & VM_FAULT_ERROR) {
		pf->outcome = ret & VM_FAULT_OOM ? PAGEFAULT_OOM : PAGEFAULT_ARCH;
	} else if (ret & VM_FAULT_MAJOR) {
		pf->outcome = PAGEFAULT_MAJOR;
	}
}

void __pagefault_mark(enum pagefault_outcome outcome, int signo, int si_code)
{
	struct pagefault *pf = current->pagefault;

	/* Keep the first signal: a second one is lost while it is pending */
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

static int __init pagefault_init(void)
{
	debugfs_create_atomic_t("pagefault_suppressed", 0400, NULL,
				&pagefault_suppressed);
	return 0;
}
late_initcall(pagefault_init);
