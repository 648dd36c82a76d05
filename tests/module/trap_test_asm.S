/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One function per trap, each with a label NAME_ip, the instruction pointer
 * that the trap handler sees, and a label NAME_resume after it, where the
 * trap continues if it cannot do so at NAME_ip.
 */
#include <linux/cfi_types.h>
#include <linux/linkage.h>
#include <linux/objtool.h>

#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/trapnr.h>

#ifdef CONFIG_X86_64
# define AX	%rax
#else
# define AX	%eax
#endif

	.section .text, "ax"

/* A label that IRET goes to, so no ENDBR */
.macro TRAP_TEST_LABEL name
SYM_INNER_LABEL(\name, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
.endm

/* Where the trap is taken, and where it continues */
.macro TRAP_TEST_TAIL name insn=nop
TRAP_TEST_LABEL trap_test_\name\()_ip
	\insn
TRAP_TEST_LABEL trap_test_\name\()_resume
	RET
.endm

.macro TRAP_TEST name before insn=nop
SYM_TYPED_FUNC_START(trap_test_\name)
	\before
	TRAP_TEST_TAIL \name "\insn"
SYM_FUNC_END(trap_test_\name)
.endm

TRAP_TEST de	"xorl %edx, %edx; xorl %ecx, %ecx; movl $1, %eax" "divl %ecx"
TRAP_TEST bp	int3
/* UD0: the others are BUG() and WARN(), and handle_bug() sees to them first. */
TRAP_TEST ud	"" ".byte 0x0f, 0xff"
/* A non-canonical address; on 32-bit, a selector after the end of the GDT */
#ifdef CONFIG_X86_64
TRAP_TEST gp	"movabsq $0x8000000000000000, %rax" "movq (%rax), %rax"
#else
TRAP_TEST gp	"movl $0xfff8, %eax" "movw %ax, %gs"
#endif

/* INT n pushes the address after the instruction, and never an error code. */
.macro TRAP_TEST_INT name vector
TRAP_TEST \name "int $\vector"
.endm

TRAP_TEST_INT of	X86_TRAP_OF
TRAP_TEST_INT br	X86_TRAP_BR
TRAP_TEST_INT old_mf	X86_TRAP_OLD_MF
TRAP_TEST_INT spurious	X86_TRAP_SPURIOUS
TRAP_TEST_INT mf	X86_TRAP_MF
TRAP_TEST_INT xf	X86_TRAP_XF

/*
 * INT n cannot raise a vector with an error code: the entry code would take
 * the instruction pointer for it. Push what the hardware pushes (SDM volume 3,
 * "64-Bit Mode Stack Frame"; on 32 bit, no stack pointer), with interrupts off
 * as behind an interrupt gate, and enter where the IDT points to.
 */
.macro TRAP_TEST_FRAME name vector error_code
SYM_TYPED_FUNC_START(trap_test_\name)
	STACK_FRAME_NON_STANDARD trap_test_\name
#ifdef CONFIG_X86_64
	movq	%rsp, %rax
	andq	$-16, %rsp
	pushq	$__KERNEL_DS
	pushq	%rax
	pushfq
	pushq	$__KERNEL_CS
	leaq	trap_test_\name\()_ip(%rip), %rax
	pushq	%rax
	pushq	$\error_code
#else
	pushfl
	pushl	$__KERNEL_CS
	pushl	$trap_test_\name\()_ip
	pushl	$\error_code
#endif
	cli
	ANNOTATE_RETPOLINE_SAFE
	jmp	*_ASM_RIP(trap_test_entry + \vector * __ASM_SEL(4, 8))
	TRAP_TEST_TAIL \name
SYM_FUNC_END(trap_test_\name)
.endm

TRAP_TEST_FRAME ts	X86_TRAP_TS	0x50
TRAP_TEST_FRAME np	X86_TRAP_NP	0x60
TRAP_TEST_FRAME ss	X86_TRAP_SS	0x68
TRAP_TEST_FRAME ac	X86_TRAP_AC	0
/* PROT | WRITE */
TRAP_TEST_FRAME pf_spurious X86_TRAP_PF	0x3
#ifdef CONFIG_X86_CET
TRAP_TEST_FRAME cp	X86_TRAP_CP	1
#endif

/* The handler warns, clears CR0.TS, and runs the instruction again. */
SYM_TYPED_FUNC_START(trap_test_nm)
	mov	%cr0, AX
	or	$(1 << 3), AX
	mov	AX, %cr0
TRAP_TEST_LABEL trap_test_nm_ip
	fnop
	RET
SYM_FUNC_END(trap_test_nm)

/* The last page of the address space is never mapped: ERR_PTR() lives there. */
SYM_TYPED_FUNC_START(trap_test_pf)
	mov	$-4096, AX
TRAP_TEST_LABEL trap_test_pf_ip
	mov	(AX), AX
TRAP_TEST_LABEL trap_test_pf_resume
	RET
	_ASM_EXTABLE(trap_test_pf_ip, trap_test_pf_resume)
SYM_FUNC_END(trap_test_pf)

/* It is called by name: so kCFI knows no type of it. */
SYM_FUNC_START(trap_test_pf_oops)
	xor	AX, AX
TRAP_TEST_LABEL trap_test_pf_oops_ip
	mov	8(AX), AX
TRAP_TEST_LABEL trap_test_pf_oops_resume
	RET
SYM_FUNC_END(trap_test_pf_oops)
