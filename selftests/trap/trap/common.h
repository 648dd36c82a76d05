/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of the trap and page fault trace events, see common.c */
#ifndef TRAP_COMMON_H
#define TRAP_COMMON_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <ucontext.h>
#include <linux/perf_event.h>

#include "kselftest.h"

#define TRACING		"/sys/kernel/tracing"

#define IP_SIZE		160	/* a number as printed, or a symbol of the kernel */

/* Files */
__printf(3, 4) int put(const char *dir, const char *file, const char *fmt, ...);
char *get(const char *dir, const char *file);
void must(int ret, const char *what);

/* Tracing */
const char *make_instance(const char *name);
FILE *open_trace(const char *instance, int cpu);

/* The kernel and perf */
bool kernel_of_64_bit(void);
uint64_t kernel_symbol(const char *name);
int event_id(const char *event);
int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu);

/* Processes and CPUs */
void start(const char *event);
void pin(int cpu);
int cpus(void);

/*
 * Traps in user mode
 *
 * The signal handler of skip_traps() continues after the instruction that trapped. That is
 * in the first TRAP_IP_SIZE bytes from trap_ip.
 */
extern __thread unsigned long trap_ip, resume_ip;
extern __thread sig_atomic_t trap_signals;
extern __thread siginfo_t trap_info;

void skip_traps(void);
void raise_read(void *arg);
void raise_write(void *arg);

#ifdef __x86_64__
#define REG_IP		REG_RIP
#define NOTE_LABELS	"lea 1f(%%rip), %%rax; mov %%rax, %[ip];"	\
			"lea 2f(%%rip), %%rax; mov %%rax, %[resume];"
#define CLOBBERED	"rax", "rcx", "rdx", "xmm0", "xmm1", "memory", "cc"
#elif defined(__i386__)
#define REG_IP		REG_EIP
#define NOTE_LABELS	"movl $1f, %[ip]; movl $2f, %[resume];"
#define CLOBBERED	"eax", "ecx", "edx", "xmm0", "xmm1", "memory", "cc"
#endif

#ifndef REG_IP
/* On other architectures, trap_ip is the C function with the access */
#define TRAP_IP_SIZE	256
#else
#define TRAP_IP_SIZE	1

/*
 * RAISE() records the addresses of @insn and @after, where the handler continues. %[at] is
 * @arg, in register DI
 */
#define RAISE(before, insn, after, arg, ...) ({					\
	asm volatile(NOTE_LABELS before "; 1: " insn "; 2: " after		\
		     : [ip] "=m" (trap_ip), [resume] "=m" (resume_ip)		\
		     : [at] "D" (arg), ##__VA_ARGS__ : CLOBBERED);		\
})

/* The kernel keeps EFLAGS.AC in a signal handler, and GCC copies structs unaligned */
static inline void clear_ac(void)
{
#ifdef __x86_64__
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~0x40000UL);
#else
	__builtin_ia32_writeeflags_u32(__builtin_ia32_readeflags_u32() & ~0x40000UL);
#endif
	asm volatile("" : : : "memory");
}
#endif

#endif
