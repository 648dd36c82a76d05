/* SPDX-License-Identifier: GPL-2.0-only */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM trap

#if !defined(LTTNG_TRACE_TRAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define LTTNG_TRACE_TRAP_H

#include <lttng/tracepoint-event.h>
#include <linux/ptrace.h>
#include <asm/trapnr.h>

/*
 * The names that the kernel's own events print, see <trace/events/trap.h>. A vector
 * without a name is recorded as a number.
 */
LTTNG_TRACEPOINT_ENUM(trap_vector,
	TP_ENUM_VALUES(
		ctf_enum_value("#DE",		X86_TRAP_DE)
		ctf_enum_value("#DB",		X86_TRAP_DB)
		ctf_enum_value("NMI",		X86_TRAP_NMI)
		ctf_enum_value("#BP",		X86_TRAP_BP)
		ctf_enum_value("#OF",		X86_TRAP_OF)
		ctf_enum_value("#BR",		X86_TRAP_BR)
		ctf_enum_value("#UD",		X86_TRAP_UD)
		ctf_enum_value("#NM",		X86_TRAP_NM)
		ctf_enum_value("#DF",		X86_TRAP_DF)
		ctf_enum_value("OLD_MF",	X86_TRAP_OLD_MF)
		ctf_enum_value("#TS",		X86_TRAP_TS)
		ctf_enum_value("#NP",		X86_TRAP_NP)
		ctf_enum_value("#SS",		X86_TRAP_SS)
		ctf_enum_value("#GP",		X86_TRAP_GP)
		ctf_enum_value("SPURIOUS",	X86_TRAP_SPURIOUS)
		ctf_enum_value("#MF",		X86_TRAP_MF)
		ctf_enum_value("#AC",		X86_TRAP_AC)
		ctf_enum_value("#XM",		X86_TRAP_XF)
		ctf_enum_value("#VE",		X86_TRAP_VE)
		ctf_enum_value("#CP",		X86_TRAP_CP)
		ctf_enum_value("#VC",		X86_TRAP_VC)
		ctf_enum_value("IRET",		X86_TRAP_IRET)
	)
)

/*
 * The fields have the names and the widths of the kernel's own record. That is all of
 * the error code: no vector has one of more than 32 bits, nor DR6, which is in its
 * place for a debug exception.
 */
LTTNG_TRACEPOINT_EVENT_CLASS(trap_class,

	TP_PROTO(struct pt_regs *regs, unsigned int vector, unsigned long error_code),

	TP_ARGS(regs, vector, error_code),

	TP_FIELDS(
		ctf_integer_hex(unsigned long, ip, instruction_pointer(regs))
		ctf_integer_hex(unsigned int, error_code, error_code)
		ctf_enum(trap_vector, unsigned short, vector, vector)
		ctf_integer(unsigned short, user_mode, !!user_mode(regs))
	)
)

LTTNG_TRACEPOINT_EVENT_INSTANCE(trap_class, trap_entry,

	TP_PROTO(struct pt_regs *regs, unsigned int vector, unsigned long error_code),

	TP_ARGS(regs, vector, error_code)
)

LTTNG_TRACEPOINT_EVENT_INSTANCE(trap_class, trap_exit,

	TP_PROTO(struct pt_regs *regs, unsigned int vector, unsigned long error_code),

	TP_ARGS(regs, vector, error_code)
)

#endif /* LTTNG_TRACE_TRAP_H */

/* This part must be outside protection */
#include <lttng/define_trace.h>
