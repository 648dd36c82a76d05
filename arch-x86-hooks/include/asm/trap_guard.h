/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TRAP_GUARD_H
#define _ASM_X86_TRAP_GUARD_H

/*
 * The guard that keeps a probe from tracing its own traps, for all events that
 * fire in a trap handler. The rules are in arch/x86/kernel/trap_trace.c.
 */
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

/*
 * What a probe must not find as the interrupted context has left it. Mostly there is
 * nothing of it, so callers have it __uninitialized: to clear it would cost more than
 * the rest of the guard does.
 */
struct trap_guard {
#ifdef CONFIG_KPROBES
	struct kprobe_ctlblk	ctlblk;		/* valid if kprobe_running() */
#endif
};

#ifdef CONFIG_TRACEPOINTS

DECLARE_PER_CPU(struct task_struct *, trap_trace_busy);
DECLARE_PER_CPU(unsigned long, trap_trace_suppressed);

void trap_guard_save(struct trap_guard *guard);
void trap_guard_restore(struct trap_guard *guard);

/**
 * trap_guard_begin - Enter a probe of a trap event, unless one runs already
 * @regs:	Registers of the context that the trap interrupted
 * @guard:	To be given to trap_guard_end()
 *
 * The caller is notrace and NOKPROBE itself, and registers its events by
 * trap_trace_reg().
 *
 * Context: Interrupts disabled, RCU watching.
 *
 * Return: true if the caller has to call the probes, then trap_guard_end(); false
 *	   if it has to tell trap_guard_suppress() how many events it does not fire.
 */
static __always_inline bool trap_guard_begin(struct pt_regs *regs,
					     struct trap_guard *guard)
{
	lockdep_assert_irqs_disabled();

	if (!user_mode(regs) && __this_cpu_read(trap_trace_busy) == current)
		return false;

	__this_cpu_write(trap_trace_busy, current);
	/* A probe that traps finds it set: same CPU, compiler order only */
	barrier();
	if (unlikely(kprobe_running()))
		trap_guard_save(guard);
	return true;
}

/**
 * trap_guard_suppress - Count events that the guard does not let happen
 * @events:	How many
 *
 * Context: As for trap_guard_begin(), which returned false.
 */
static __always_inline void trap_guard_suppress(unsigned int events)
{
	__this_cpu_add(trap_trace_suppressed, events);
}

/**
 * trap_guard_end - Leave a probe of a trap event
 * @guard:	As trap_guard_begin() has filled it
 *
 * Context: As for trap_guard_begin(), which returned true.
 */
static __always_inline void trap_guard_end(struct trap_guard *guard)
{
	/* As it was at the beginning: a kprobe that a probe has hit is done by now */
	if (unlikely(kprobe_running()))
		trap_guard_restore(guard);
	barrier();
	__this_cpu_write(trap_trace_busy, NULL);
}

#else /* !CONFIG_TRACEPOINTS: there are no probes */

static inline bool trap_guard_begin(struct pt_regs *regs,
				    struct trap_guard *guard)
{
	return false;
}

static inline void trap_guard_suppress(unsigned int events)
{
}

static inline void trap_guard_end(struct trap_guard *guard)
{
}

#endif /* CONFIG_TRACEPOINTS */

#endif /* _ASM_X86_TRAP_GUARD_H */
