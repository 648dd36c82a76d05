/* SPDX-License-Identifier: GPL-2.0-only */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM pagefault

#if !defined(LTTNG_TRACE_PAGEFAULT_H) || defined(TRACE_HEADER_MULTI_READ)
#define LTTNG_TRACE_PAGEFAULT_H

#include <lttng/tracepoint-event.h>
#include <linux/pagefault_trace.h>

/* The names that the kernel's own events print */
LTTNG_TRACEPOINT_ENUM(pagefault_outcome,
	TP_ENUM_VALUES(
		ctf_enum_value("MINOR",		PAGEFAULT_MINOR)
		ctf_enum_value("MAJOR",		PAGEFAULT_MAJOR)
		ctf_enum_value("INTERRUPTED",	PAGEFAULT_INTERRUPTED)
		ctf_enum_value("OOM",		PAGEFAULT_OOM)
		ctf_enum_value("FIXUP",		PAGEFAULT_FIXUP)
		ctf_enum_value("SIGNAL",	PAGEFAULT_SIGNAL)
		ctf_enum_value("ARCH",		PAGEFAULT_ARCH)
		ctf_enum_value("RETRY",		PAGEFAULT_RETRY)
		ctf_enum_value("FAILED",	PAGEFAULT_FAILED)
	)
)

LTTNG_TRACEPOINT_ENUM(pagefault_kind,
	TP_ENUM_VALUES(
		ctf_enum_value("NONE",		PAGEFAULT_NONE)
		ctf_enum_value("ANON",		PAGEFAULT_ANON)
		ctf_enum_value("FILE",		PAGEFAULT_FILE)
		ctf_enum_value("SHMEM",		PAGEFAULT_SHMEM)
		ctf_enum_value("HUGETLB",	PAGEFAULT_HUGETLB)
		ctf_enum_value("SPECIAL",	PAGEFAULT_SPECIAL)
	)
)

/*
 * The fields have the names and the widths of the kernel's own record. Bit masks are
 * numbers: <linux/pagefault_trace.h> of the kernel says what their bits mean.
 */
LTTNG_TRACEPOINT_EVENT(pagefault_entry,

	TP_PROTO(const struct pagefault *pf),

	TP_ARGS(pf),

	TP_FIELDS(
		ctf_integer_hex(unsigned long, address, pf->address)
		ctf_integer_hex(unsigned long, ip, pf->ip)
		ctf_integer_hex(unsigned long, error_code, pf->error_code)
		ctf_integer(unsigned int, user_mode, pf->user_mode)
	)
)

/* The duration is in ns */
LTTNG_TRACEPOINT_EVENT(pagefault_exit,

	TP_PROTO(const struct pagefault *pf),

	TP_ARGS(pf),

	TP_FIELDS(
		ctf_integer(unsigned long long, duration, pf->duration)
		ctf_integer_hex(unsigned long, address, pf->address)
		ctf_integer_hex(unsigned long, ip, pf->ip)
		ctf_integer_hex(unsigned long, error_code, pf->error_code)
		ctf_enum(pagefault_outcome, unsigned int, outcome, pf->outcome)
		ctf_enum(pagefault_kind, unsigned int, kind, pf->kind)
		ctf_integer(int, signo, pf->signo)
		ctf_integer(int, si_code, pf->si_code)
		ctf_integer_hex(unsigned int, flags, pf->flags)
		ctf_integer_hex(unsigned int, fault_flags, pf->fault_flags)
		ctf_integer_hex(unsigned int, vm_fault, (__force unsigned int)pf->vm_fault)
		ctf_integer(unsigned int, order, pf->order)
		ctf_integer(unsigned int, user_mode, pf->user_mode)
	)
)

LTTNG_TRACEPOINT_EVENT(pagefault_noregs,

	TP_PROTO(const struct pagefault *pf),

	TP_ARGS(pf),

	TP_FIELDS(
		ctf_integer(unsigned long long, duration, pf->duration)
		ctf_integer_hex(unsigned long, address, pf->address)
		ctf_enum(pagefault_outcome, unsigned int, outcome, pf->outcome)
		ctf_enum(pagefault_kind, unsigned int, kind, pf->kind)
		ctf_integer_hex(unsigned int, flags, pf->flags)
		ctf_integer_hex(unsigned int, fault_flags, pf->fault_flags)
		ctf_integer_hex(unsigned int, vm_fault, (__force unsigned int)pf->vm_fault)
		ctf_integer(unsigned int, order, pf->order)
		ctf_integer(pid_t, tgid, pf->tgid)
	)
)

#endif /* LTTNG_TRACE_PAGEFAULT_H */

/* This part must be outside protection */
#include <lttng/define_trace.h>
