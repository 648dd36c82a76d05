/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM trap

#if !defined(_TRACE_TRAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_TRAP_H

#include <linux/ptrace.h>
#include <linux/tracepoint.h>

#include <asm/trapnr.h>

/*
 * The mnemonics of the SDM, volume 3, "Protected-Mode Exceptions and
 * Interrupts". Vectors without a mnemonic have the names of
 * <asm/trapnr.h>.
 */
#define show_trap_vector(vector)			\
	__print_symbolic(vector,			\
		{ X86_TRAP_DE,		"#DE" },	\
		{ X86_TRAP_DB,		"#DB" },	\
		{ X86_TRAP_BP,		"#BP" },	\
		{ X86_TRAP_OF,		"#OF" },	\
		{ X86_TRAP_BR,		"#BR" },	\
		{ X86_TRAP_UD,		"#UD" },	\
		{ X86_TRAP_NM,		"#NM" },	\
		{ X86_TRAP_OLD_MF,	"OLD_MF" },	\
		{ X86_TRAP_TS,		"#TS" },	\
		{ X86_TRAP_NP,		"#NP" },	\
		{ X86_TRAP_SS,		"#SS" },	\
		{ X86_TRAP_GP,		"#GP" },	\
		{ X86_TRAP_SPURIOUS,	"SPURIOUS" },	\
		{ X86_TRAP_MF,		"#MF" },	\
		{ X86_TRAP_AC,		"#AC" },	\
		{ X86_TRAP_XF,		"#XM" },	\
		{ X86_TRAP_CP,		"#CP" },	\
		{ X86_TRAP_IRET,	"IRET" })

/*
 * @ip:		instruction pointer of the interrupted context
 * @error_code:	error code of the CPU, a bit mask that depends on @vector; 0 if
 *		the vector has none. #DB has DR6 here, with the polarity of
 *		debug_read_reset_dr6()
 * @vector:	number of the trap, X86_TRAP_*
 * @user_mode:	1 if the trap interrupted user mode, 0 for kernel mode
 */
DECLARE_EVENT_CLASS(trap,
	TP_PROTO(struct pt_regs *regs, unsigned int vector,
		 unsigned long error_code),
	TP_ARGS(regs, vector, error_code),

	TP_STRUCT__entry(
		__field(unsigned long, ip)
		__field(unsigned int, error_code)
		__field(unsigned short, vector)
		__field(unsigned short, user_mode)
	),

	TP_fast_assign(
		__entry->ip = instruction_pointer(regs);
		__entry->error_code = error_code;
		__entry->vector = vector;
		__entry->user_mode = !!user_mode(regs);
	),

	TP_printk("vector=%u(%s) error_code=0x%x mode=%s ip=%pS",
		__entry->vector,
		show_trap_vector(__entry->vector),
		__entry->error_code,
		__entry->user_mode ? "user" : "kernel",
		(void *)__entry->ip)
);

/*
 * Fires before a trap is handled, interrupts disabled. @ip is where the trap
 * was taken: at the instruction for a fault, after it for others such as #BP.
 */
DEFINE_EVENT(trap, trap_entry,
	TP_PROTO(struct pt_regs *regs, unsigned int vector,
		 unsigned long error_code),
	TP_ARGS(regs, vector, error_code)
);

/*
 * Fires after a trap was handled, interrupts disabled again, before signals are
 * delivered. @ip is where the context continues: an exception fixup moves it.
 * Does not fire for a trap whose handler does not return.
 */
DEFINE_EVENT(trap, trap_exit,
	TP_PROTO(struct pt_regs *regs, unsigned int vector,
		 unsigned long error_code),
	TP_ARGS(regs, vector, error_code)
);

#endif /* _TRACE_TRAP_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
