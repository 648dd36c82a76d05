/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TRACE_EVENTS_PAGEFAULT_OUTCOME_H
#define _TRACE_EVENTS_PAGEFAULT_OUTCOME_H

/*
 * What the trace events of page faults say about the end of a fault. No events
 * here: the architecture has those of the faults that trap, see pagefault.h,
 * and mm/memory.c has that of the others, see pagefault_notrap.h.
 */
#include <linux/hugetlb_inline.h>
#include <linux/mm.h>
#include <linux/shmem_fs.h>
#include <linux/signal.h>
#include <linux/timekeeping.h>

/**
 * enum pagefault_outcome - How a page fault ended
 *
 * The values are what the events record. They do not change, new ones are
 * added.
 *
 * The page is there, and getrusage() counts the fault, see mm_account_fault():
 * @PAGEFAULT_MINOR:		in ru_minflt
 * @PAGEFAULT_MAJOR:		in ru_majflt: storage was read, or the fault was
 *				retried
 *
 * No trap, so the caller of handle_mm_fault() decides what follows:
 * @PAGEFAULT_RETRY:		the caller is to try again; the lock was dropped,
 *				unless FAULT_FLAG_RETRY_NOWAIT forbade it
 * @PAGEFAULT_FAILED:		the vm_fault_t says why
 *
 * Nothing was mapped, the instruction may run again:
 * @PAGEFAULT_SIGNAL:		a signal or task work comes first
 * @PAGEFAULT_FATAL_SIGNAL:	a fatal signal is pending, the task is to exit
 * @PAGEFAULT_OOM:		no memory, see pagefault_out_of_memory()
 *
 * The architecture has handled it without the mm:
 * @PAGEFAULT_SPURIOUS:		stale TLB entry of a kernel address
 * @PAGEFAULT_VMALLOC:		page table entry copied from init_mm (32 bit)
 * @PAGEFAULT_KMMIO:		traced MMIO access
 * @PAGEFAULT_KPROBE:		handled by a kprobe
 * @PAGEFAULT_VSYSCALL:		vsyscall emulated, or refused by a signal
 * @PAGEFAULT_FIXUP:		kernel mode goes on at its exception fixup
 * @PAGEFAULT_VDSO_FIXUP:	user mode goes on at the fixup of the vDSO
 * @PAGEFAULT_ERRATA:		a bug of the CPU; that of F00F is made a SIGILL
 * @PAGEFAULT_KFENCE:		handled by KFENCE
 * @PAGEFAULT_BPF_ARENA:	an access of a BPF program to its arena
 * @PAGEFAULT_OOPS:		oops for want of a fixup, which the task survived,
 *				see notify_die(). Else the fault does not end
 *
 * A signal was sent, its si_addr is the address of the fault:
 * @PAGEFAULT_SIGBUS:		SIGBUS, BUS_ADRERR
 * @PAGEFAULT_HWPOISON:		SIGBUS, BUS_MCEERR_AR: the memory is broken
 * @PAGEFAULT_SEGV_SHSTK:	SIGSEGV, SEGV_ACCERR of a shadow stack access
 * @PAGEFAULT_SEGV:		to this, the si_code is added:
 * @PAGEFAULT_SEGV_MAPERR:	SIGSEGV, SEGV_MAPERR: no mapping
 * @PAGEFAULT_SEGV_ACCERR:	SIGSEGV, SEGV_ACCERR: not allowed by the mapping
 * @PAGEFAULT_SEGV_PKUERR:	SIGSEGV, SEGV_PKUERR: nor by the protection key
 */
enum pagefault_outcome {
	PAGEFAULT_MINOR		= 0,
	PAGEFAULT_MAJOR		= 1,
	PAGEFAULT_RETRY		= 2,
	PAGEFAULT_FAILED	= 3,
	PAGEFAULT_SIGNAL	= 4,
	PAGEFAULT_FATAL_SIGNAL	= 5,
	PAGEFAULT_OOM		= 6,
	PAGEFAULT_SPURIOUS	= 7,
	PAGEFAULT_VMALLOC	= 8,
	PAGEFAULT_KMMIO		= 9,
	PAGEFAULT_KPROBE	= 10,
	PAGEFAULT_VSYSCALL	= 11,
	PAGEFAULT_FIXUP		= 12,
	PAGEFAULT_VDSO_FIXUP	= 13,
	PAGEFAULT_ERRATA	= 14,
	PAGEFAULT_KFENCE	= 15,
	PAGEFAULT_BPF_ARENA	= 16,
	PAGEFAULT_OOPS		= 17,
	PAGEFAULT_SIGBUS	= 18,
	PAGEFAULT_HWPOISON	= 19,
	PAGEFAULT_SEGV_SHSTK	= 20,
	PAGEFAULT_SEGV		= 32,
	PAGEFAULT_SEGV_MAPERR	= PAGEFAULT_SEGV + SEGV_MAPERR,
	PAGEFAULT_SEGV_ACCERR	= PAGEFAULT_SEGV + SEGV_ACCERR,
	PAGEFAULT_SEGV_PKUERR	= PAGEFAULT_SEGV + SEGV_PKUERR,
};

/**
 * enum pagefault_flags - What is known of a page fault besides its outcome
 * @PAGEFAULT_ANON:		in anonymous memory
 * @PAGEFAULT_FILE:		in a mapped file
 * @PAGEFAULT_SHMEM:		in shared memory: shmem, tmpfs, memfd, System V
 * @PAGEFAULT_HUGETLB:		in hugetlb memory
 * @PAGEFAULT_COW:		a private page took the place of another one
 * @PAGEFAULT_SWAPIN:		the page was in swap or in the swap cache
 * @PAGEFAULT_COMPLETED:	handle_mm_fault() dropped the lock and completed
 * @PAGEFAULT_RETRIED_VMA:	handle_mm_fault() gave up the per-VMA lock, and had
 *				to be called again
 * @PAGEFAULT_RETRIED_MMAP:	... the mmap lock, ...
 *
 * One of the first four, of the VMA that handle_mm_fault() was called for last; or
 * none, if it was not called, or for a special mapping.
 */
enum pagefault_flags {
	PAGEFAULT_ANON		= 0x001,
	PAGEFAULT_FILE		= 0x002,
	PAGEFAULT_SHMEM		= 0x004,
	PAGEFAULT_HUGETLB	= 0x008,
	PAGEFAULT_COW		= 0x010,
	PAGEFAULT_SWAPIN	= 0x020,
	PAGEFAULT_COMPLETED	= 0x040,
	PAGEFAULT_RETRIED_VMA	= 0x080,
	PAGEFAULT_RETRIED_MMAP	= 0x100,
};

/* One of these at most: a fault that is retried may find another mapping */
#define PAGEFAULT_MAPPING	(PAGEFAULT_ANON | PAGEFAULT_FILE |	\
				 PAGEFAULT_SHMEM | PAGEFAULT_HUGETLB)

/**
 * struct pagefault_start - What has to be noted before a fault is handled
 * @time:	when it began, by ktime_get_mono_fast_ns(); 0 if the event was
 *		off then. The other members are valid only if this is not 0
 * @ip:		instruction that faulted: a fixup moves it
 * @flags:	enum pagefault_flags: the VMA may be freed by the handling
 */
struct pagefault_start {
	u64		time;
	unsigned long	ip;
	unsigned int	flags;
};

/**
 * struct pagefault_end - What an event tells about the end of a fault
 * @duration:	in ns, of CLOCK_MONOTONIC; 0 if it is not known
 * @ip:		instruction that faulted
 * @outcome:	enum pagefault_outcome
 * @flags:	enum pagefault_flags
 * @fault:	what handle_mm_fault() returned last; 0 if it was not called, or
 *		not again, as the mapping was gone or forbade the access then
 */
struct pagefault_end {
	u64			duration;
	unsigned long		ip;
	unsigned int		outcome;
	unsigned int		flags;
	vm_fault_t		fault;
};

/**
 * pagefault_duration - Time since a fault began
 * @start:	what was noted then
 *
 * The clock is one that can be read in any context, as a fault may interrupt
 * the update of the timekeeper, and the same on all CPUs, as a task that sleeps
 * in a fault may wake up on another. It is the one that user space measures the
 * time with around a fault.
 *
 * Context: Any.
 *
 * Return: Nanoseconds, at least 1: the clock may be as coarse as a jiffy, and
 *	   while it is updated it may step back by a few ns. 0 for unknown, if the
 *	   event was off when the fault began.
 */
static inline u64 pagefault_duration(const struct pagefault_start *start)
{
	s64 delta;

	if (!start->time)
		return 0;

	delta = ktime_get_mono_fast_ns() - start->time;
	return delta > 0 ? delta : 1;
}

/**
 * pagefault_vma_flags - What a VMA tells about a fault in it
 * @vma:	the VMA
 *
 * Context: The VMA is locked, by its own or by the mmap lock: that is before
 *	    handle_mm_fault(), which may drop either.
 *
 * Return: enum pagefault_flags
 */
static inline unsigned int pagefault_vma_flags(struct vm_area_struct *vma)
{
	if (is_vm_hugetlb_page(vma))
		return PAGEFAULT_HUGETLB;
	if (vma_is_anonymous(vma))
		return PAGEFAULT_ANON;
	if (!vma->vm_file)
		return 0;
	/* Not vma_is_shmem(): System V shared memory has operations of its own */
	if (shmem_mapping(vma->vm_file->f_mapping))
		return PAGEFAULT_SHMEM;
	return PAGEFAULT_FILE;
}

/**
 * pagefault_fault_flags - What handle_mm_fault() tells about a fault
 * @fault:	its return value
 *
 * Return: enum pagefault_flags
 */
static inline unsigned int pagefault_fault_flags(vm_fault_t fault)
{
	unsigned int flags = 0;

	if (!(fault & (VM_FAULT_DONE_COW | VM_FAULT_SWAPIN | VM_FAULT_COMPLETED)))
		return 0;
	if (fault & VM_FAULT_DONE_COW)
		flags |= PAGEFAULT_COW;
	if (fault & VM_FAULT_SWAPIN)
		flags |= PAGEFAULT_SWAPIN;
	if (fault & VM_FAULT_COMPLETED)
		flags |= PAGEFAULT_COMPLETED;
	return flags;
}

/**
 * pagefault_counted_outcome - Outcome of a fault that getrusage() counts
 * @fault:		what handle_mm_fault() returned, without VM_FAULT_RETRY
 *			and VM_FAULT_ERROR
 * @tried:		whether it was called with FAULT_FLAG_TRIED
 *
 * Return: PAGEFAULT_MAJOR or PAGEFAULT_MINOR, as mm_account_fault() decides
 */
static inline enum pagefault_outcome
pagefault_counted_outcome(vm_fault_t fault, bool tried)
{
	return (fault & VM_FAULT_MAJOR) || tried ? PAGEFAULT_MAJOR : PAGEFAULT_MINOR;
}

#define show_pagefault_outcome(outcome)					\
	__print_symbolic(outcome,					\
		{ PAGEFAULT_MINOR,		"MINOR" },		\
		{ PAGEFAULT_MAJOR,		"MAJOR" },		\
		{ PAGEFAULT_RETRY,		"RETRY" },		\
		{ PAGEFAULT_FAILED,		"FAILED" },		\
		{ PAGEFAULT_SIGNAL,		"SIGNAL" },		\
		{ PAGEFAULT_FATAL_SIGNAL,	"FATAL_SIGNAL" },	\
		{ PAGEFAULT_OOM,		"OOM" },		\
		{ PAGEFAULT_SPURIOUS,		"SPURIOUS" },		\
		{ PAGEFAULT_VMALLOC,		"VMALLOC" },		\
		{ PAGEFAULT_KMMIO,		"KMMIO" },		\
		{ PAGEFAULT_KPROBE,		"KPROBE" },		\
		{ PAGEFAULT_VSYSCALL,		"VSYSCALL" },		\
		{ PAGEFAULT_FIXUP,		"FIXUP" },		\
		{ PAGEFAULT_VDSO_FIXUP,		"VDSO_FIXUP" },		\
		{ PAGEFAULT_ERRATA,		"ERRATA" },		\
		{ PAGEFAULT_KFENCE,		"KFENCE" },		\
		{ PAGEFAULT_BPF_ARENA,		"BPF_ARENA" },		\
		{ PAGEFAULT_OOPS,		"OOPS" },		\
		{ PAGEFAULT_SIGBUS,		"SIGBUS" },		\
		{ PAGEFAULT_HWPOISON,		"HWPOISON" },		\
		{ PAGEFAULT_SEGV_SHSTK,		"SEGV_SHSTK" },		\
		{ PAGEFAULT_SEGV_MAPERR,	"SEGV_MAPERR" },	\
		{ PAGEFAULT_SEGV_ACCERR,	"SEGV_ACCERR" },	\
		{ PAGEFAULT_SEGV_PKUERR,	"SEGV_PKUERR" })

#define show_pagefault_flags(flags)					\
	__print_flags(flags, "|",					\
		{ PAGEFAULT_ANON,		"ANON" },		\
		{ PAGEFAULT_FILE,		"FILE" },		\
		{ PAGEFAULT_SHMEM,		"SHMEM" },		\
		{ PAGEFAULT_HUGETLB,		"HUGETLB" },		\
		{ PAGEFAULT_COW,		"COW" },		\
		{ PAGEFAULT_SWAPIN,		"SWAPIN" },		\
		{ PAGEFAULT_COMPLETED,		"COMPLETED" },		\
		{ PAGEFAULT_RETRIED_VMA,	"RETRIED_VMA" },	\
		{ PAGEFAULT_RETRIED_MMAP,	"RETRIED_MMAP" })

/*
 * Enum vm_fault_reason, in numbers: no tool can evaluate the casts of
 * VM_FAULT_RESULT_TRACE in the format of an event. mm/memory.c asserts that they
 * are right.
 */
#define show_pagefault_vm_fault(fault)					\
	__print_flags(fault, "|",					\
		{ 0x0001,	"OOM" },				\
		{ 0x0002,	"SIGBUS" },				\
		{ 0x0004,	"MAJOR" },				\
		{ 0x0010,	"HWPOISON" },				\
		{ 0x0020,	"HWPOISON_LARGE" },			\
		{ 0x0040,	"SIGSEGV" },				\
		{ 0x0100,	"NOPAGE" },				\
		{ 0x0200,	"LOCKED" },				\
		{ 0x0400,	"RETRY" },				\
		{ 0x0800,	"FALLBACK" },				\
		{ 0x1000,	"DONE_COW" },				\
		{ 0x2000,	"NEEDDSYNC" },				\
		{ 0x4000,	"COMPLETED" },				\
		{ 0x8000,	"SWAPIN" })

#endif /* _TRACE_EVENTS_PAGEFAULT_OUTCOME_H */
