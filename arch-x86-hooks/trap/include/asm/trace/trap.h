/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TRACE_TRAP_H
#define _ASM_X86_TRACE_TRAP_H

#include <asm/trapnr.h>

int trap_trace_reg(void);
void trap_trace_unreg(void);

/*
 * The mnemonics of the Intel SDM, volume 3, table "Protected-Mode Exceptions
 * and Interrupts", and #VC of the AMD APM, volume 2, chapter "Exceptions and
 * Interrupts". Vectors 9 and 15 have none there, and 32 is a number of the
 * kernel's own: these carry the names of <asm/trapnr.h>.
 */
#define show_trap_vector(vector)			\
	__print_symbolic(vector,			\
		{ X86_TRAP_DE,		"#DE" },	\
		{ X86_TRAP_DB,		"#DB" },	\
		{ X86_TRAP_NMI,		"NMI" },	\
		{ X86_TRAP_BP,		"#BP" },	\
		{ X86_TRAP_OF,		"#OF" },	\
		{ X86_TRAP_BR,		"#BR" },	\
		{ X86_TRAP_UD,		"#UD" },	\
		{ X86_TRAP_NM,		"#NM" },	\
		{ X86_TRAP_DF,		"#DF" },	\
		{ X86_TRAP_OLD_MF,	"OLD_MF" },	\
		{ X86_TRAP_TS,		"#TS" },	\
		{ X86_TRAP_NP,		"#NP" },	\
		{ X86_TRAP_SS,		"#SS" },	\
		{ X86_TRAP_GP,		"#GP" },	\
		{ X86_TRAP_PF,		"#PF" },	\
		{ X86_TRAP_SPURIOUS,	"SPURIOUS" },	\
		{ X86_TRAP_MF,		"#MF" },	\
		{ X86_TRAP_AC,		"#AC" },	\
		{ X86_TRAP_MC,		"#MC" },	\
		{ X86_TRAP_XF,		"#XM" },	\
		{ X86_TRAP_VE,		"#VE" },	\
		{ X86_TRAP_CP,		"#CP" },	\
		{ X86_TRAP_VC,		"#VC" },	\
		{ X86_TRAP_IRET,	"IRET" })

/*
 * Whether an address is in the kernel's part of the address space. For
 * TP_printk(), so in terms that libtraceevent knows how to evaluate.
 */
#ifdef CONFIG_X86_64
#define trap_ip_in_kernel(ip)	((ip) >> 63)
#else
#define trap_ip_in_kernel(ip)	((ip) >= CONFIG_PAGE_OFFSET)
#endif

#endif /* _ASM_X86_TRACE_TRAP_H */
