/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TRAP_GUARD_H
#define _ASM_X86_TRAP_GUARD_H

/*
 * The guard that keeps a probe from tracing its own traps, for all events that
 * fire in a trap handler. The rules are in arch/x86/kernel/trap_trace.c.
 */
#include <linux/context_tracking.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

/* What a probe must not find as the interrupted context has left it */
struct trap_guard {
#ifdef CONFIG_KPROBES
	struct kprobe_ctlblk	ctlblk;
#endif
};

#ifdef CONFIG_TRACEPOINTS

DECLARE_PER_CPU(struct task_struct *, trap_trace_busy);
DECLARE_PER_CPU(unsigned long, trap_trace_suppressed);

#ifdef CONFIG_KPROBES
void trap_guard_save(struct trap_guard *guard);
void trap_guard_restore(struct trap_guard *guard);
#else
static __always_inline void trap_guard_save(struct trap_guard *guard)
{
}

static __always_inline void trap_guard_restore(struct trap_guard *guard)
{
}
#endif

/*
 * A CPU may have left the kernel for context tracking, with nohz_full, and fault before
 * it does: in an ERETU of FRED (where IRET faults, that is made a fault of user mode),
 * or in what enters a guest, when a reboot has switched virtualization off. Of such a
 * trap from kernel mode, irqentry_enter() does not make RCU watch again.
 */
static __always_inline bool trap_guard_rcu_watches(void)
{
#if defined(CONFIG_CONTEXT_TRACKING_USER) && defined(CONFIG_CONTEXT_TRACKING_IDLE)
	return rcu_is_watching_curr_cpu();
#else
	return true;
#endif
}

/**
 * trap_guard_refuses - Whether a trap is one that a probe has raised itself, or
 *			one in which none can run
 * @regs:	Registers of the context that the trap interrupted
 *
 * To be asked before anything else is done for an event, and inline, for what a probe
 * raises to cost next to nothing. The caller, and what it calls until the probes run,
 * is notrace and NOKPROBE, and registers its events by trap_trace_reg().
 *
 * Context: Interrupts disabled, from here to trap_guard_end().
 *
 * Return: true if no event is to fire, but trap_guard_suppress() to be told so.
 */
static __always_inline bool trap_guard_refuses(struct pt_regs *regs)
{
	lockdep_assert_irqs_disabled();

	return !user_mode(regs) &&
	       (__this_cpu_read(trap_trace_busy) == current || !trap_guard_rcu_watches());
}

/**
 * trap_guard_suppress - Count an event that the guard does not let happen
 *
 * Context: As for trap_guard_refuses(), which returned true.
 */
static __always_inline void trap_guard_suppress(void)
{
	__this_cpu_inc(trap_trace_suppressed);
}

/**
 * trap_guard_in_kprobe - Whether a trap came while a kprobe is processed
 * @regs:	Registers of the context that the trap interrupted
 *
 * None is while user mode runs: that is all that most traps have to ask.
 *
 * Context: As for trap_guard_refuses(), which returned false.
 *
 * Return: true if trap_guard_save() has to come before trap_guard_begin(). That is for
 *	   a function of its own: what it saves takes more stack than all else.
 */
static __always_inline bool trap_guard_in_kprobe(struct pt_regs *regs)
{
	return !user_mode(regs) && unlikely(kprobe_running());
}

/**
 * trap_guard_begin - Enter the probes of an event
 *
 * Context: As for trap_guard_refuses(), which returned false.
 */
static __always_inline void trap_guard_begin(void)
{
	__this_cpu_write(trap_trace_busy, current);
	/* A probe that traps finds it set: same CPU, compiler order only */
	barrier();
}

/**
 * trap_guard_end - Leave the probes of an event
 *
 * Context: As for trap_guard_refuses().
 */
static __always_inline void trap_guard_end(void)
{
	barrier();
	__this_cpu_write(trap_trace_busy, NULL);
}

#else /* !CONFIG_TRACEPOINTS: there are no probes */

static inline bool trap_guard_refuses(struct pt_regs *regs)
{
	return true;
}

static inline void trap_guard_suppress(void)
{
}

static inline bool trap_guard_in_kprobe(struct pt_regs *regs)
{
	return false;
}

static inline void trap_guard_save(struct trap_guard *guard)
{
}

static inline void trap_guard_restore(struct trap_guard *guard)
{
}

static inline void trap_guard_begin(void)
{
}

static inline void trap_guard_end(void)
{
}

#endif /* CONFIG_TRACEPOINTS */

#endif /* _ASM_X86_TRAP_GUARD_H */
