/* SPDX-License-Identifier: GPL-2.0-only */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM pagefault

#if !defined(LTTNG_TRACE_PAGEFAULT_H) || defined(TRACE_HEADER_MULTI_READ)
#define LTTNG_TRACE_PAGEFAULT_H

#include <lttng/tracepoint-event.h>
#include <linux/ptrace.h>
#include <trace/events/pagefault_outcome.h>

/* The names that the kernel's own events print */
LTTNG_TRACEPOINT_ENUM(pagefault_outcome,
	TP_ENUM_VALUES(
		ctf_enum_value("MINOR",		PAGEFAULT_MINOR)
		ctf_enum_value("MAJOR",		PAGEFAULT_MAJOR)
		ctf_enum_value("RETRY",		PAGEFAULT_RETRY)
		ctf_enum_value("FAILED",	PAGEFAULT_FAILED)
		ctf_enum_value("SIGNAL",	PAGEFAULT_SIGNAL)
		ctf_enum_value("FATAL_SIGNAL",	PAGEFAULT_FATAL_SIGNAL)
		ctf_enum_value("OOM",		PAGEFAULT_OOM)
		ctf_enum_value("SPURIOUS",	PAGEFAULT_SPURIOUS)
		ctf_enum_value("VMALLOC",	PAGEFAULT_VMALLOC)
		ctf_enum_value("KMMIO",		PAGEFAULT_KMMIO)
		ctf_enum_value("KPROBE",	PAGEFAULT_KPROBE)
		ctf_enum_value("VSYSCALL",	PAGEFAULT_VSYSCALL)
		ctf_enum_value("FIXUP",		PAGEFAULT_FIXUP)
		ctf_enum_value("VDSO_FIXUP",	PAGEFAULT_VDSO_FIXUP)
		ctf_enum_value("ERRATA",	PAGEFAULT_ERRATA)
		ctf_enum_value("KFENCE",	PAGEFAULT_KFENCE)
		ctf_enum_value("BPF_ARENA",	PAGEFAULT_BPF_ARENA)
		ctf_enum_value("OOPS",		PAGEFAULT_OOPS)
		ctf_enum_value("SIGBUS",	PAGEFAULT_SIGBUS)
		ctf_enum_value("HWPOISON",	PAGEFAULT_HWPOISON)
		ctf_enum_value("SEGV_SHSTK",	PAGEFAULT_SEGV_SHSTK)
		ctf_enum_value("SEGV_MAPERR",	PAGEFAULT_SEGV_MAPERR)
		ctf_enum_value("SEGV_ACCERR",	PAGEFAULT_SEGV_ACCERR)
		ctf_enum_value("SEGV_PKUERR",	PAGEFAULT_SEGV_PKUERR)
	)
)

/*
 * The fields of all of these have the names and the widths of the kernel's own record.
 * Bit masks are numbers: what their bits mean is in the kernel's
 * <trace/events/pagefault_outcome.h>.
 */
LTTNG_TRACEPOINT_EVENT(pagefault_entry,

	TP_PROTO(struct pt_regs *regs, unsigned long address, unsigned long error_code),

	TP_ARGS(regs, address, error_code),

	TP_FIELDS(
		ctf_integer_hex(unsigned long, address, address)
		ctf_integer_hex(unsigned long, ip, instruction_pointer(regs))
		ctf_integer_hex(unsigned int, error_code, error_code)
		ctf_integer(unsigned short, user_mode, !!user_mode(regs))
	)
)

/* The duration is in ns, and 0 if it is unknown */
LTTNG_TRACEPOINT_EVENT(pagefault_exit,

	TP_PROTO(struct pt_regs *regs, unsigned long address, unsigned long error_code,
		 const struct pagefault_end *end),

	TP_ARGS(regs, address, error_code, end),

	TP_FIELDS(
		ctf_integer_hex(unsigned long, address, address)
		ctf_integer_hex(unsigned long, ip, end->ip)
		ctf_integer(unsigned long long, duration, end->duration)
		ctf_integer_hex(unsigned int, error_code, error_code)
		ctf_integer_hex(unsigned int, vm_fault, (__force unsigned int)end->fault)
		ctf_integer_hex(unsigned int, flags, end->flags)
		ctf_enum(pagefault_outcome, unsigned short, outcome, end->outcome)
		ctf_integer(unsigned short, user_mode, !!user_mode(regs))
	)
)

LTTNG_TRACEPOINT_EVENT(pagefault_notrap,

	TP_PROTO(unsigned long address, unsigned int fault_flags,
		 const struct pagefault_end *end),

	TP_ARGS(address, fault_flags, end),

	TP_FIELDS(
		ctf_integer(unsigned long long, duration, end->duration)
		ctf_integer_hex(unsigned long, address, address)
		ctf_integer_hex(unsigned int, fault_flags, fault_flags)
		ctf_integer_hex(unsigned int, vm_fault, (__force unsigned int)end->fault)
		ctf_integer_hex(unsigned int, flags, end->flags)
		ctf_enum(pagefault_outcome, unsigned short, outcome, end->outcome)
	)
)

#endif /* LTTNG_TRACE_PAGEFAULT_H */

/* This part must be outside protection */
#include <lttng/define_trace.h>
