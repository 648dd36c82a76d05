/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TRAP_GUARD_H
#define _ASM_X86_TRAP_GUARD_H

/*
 * The guard that keeps a probe from tracing its own traps, for all events that
 * fire in a trap handler. The rules are in arch/x86/kernel/trap_trace.c.
 */
#include <linux/kprobes.h>

struct pt_regs;

/* What a probe must not find as the interrupted context has left it. */
struct trap_guard {
#ifdef CONFIG_KPROBES
	bool			kprobe;
	struct kprobe_ctlblk	ctlblk;
#endif
};

#ifdef CONFIG_TRACEPOINTS

bool trap_guard_begin(struct pt_regs *regs, struct trap_guard *guard,
		      unsigned int events);
void trap_guard_end(struct trap_guard *guard);

#else /* !CONFIG_TRACEPOINTS: there are no probes */

static inline bool trap_guard_begin(struct pt_regs *regs,
				    struct trap_guard *guard,
				    unsigned int events)
{
	return false;
}

static inline void trap_guard_end(struct trap_guard *guard)
{
}

#endif /* CONFIG_TRACEPOINTS */

#endif /* _ASM_X86_TRAP_GUARD_H */
