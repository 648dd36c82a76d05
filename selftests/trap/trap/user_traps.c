// SPDX-License-Identifier: GPL-2.0
/* Traps that an instruction in user mode raises */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <asm/ldt.h>

#include "trap.h"
#include "user_traps.h"

/* Error code for LDT entry 0: its selector, 7, without the RPL */
#define LDT_ERROR_CODE	4

#ifdef __x86_64__
#define SET_FLAG(bit)	"pushfq; orq $" bit ", (%%rsp); popfq"
#define CLEAR_FLAG(bit)	"pushfq; andq $~" bit ", (%%rsp); popfq"
#else
#define SET_FLAG(bit)	"pushfl; orl $" bit ", (%%esp); popfl"
#define CLEAR_FLAG(bit)	"pushfl; andl $~" bit ", (%%esp); popfl"
#endif

/* The ip of a fault is at its instruction, that of a trap is after it */
#define RAISE_FAULT	RAISE
#define RAISE_TRAP(before, insn, after, arg)	RAISE(before "; " insn, "", after, arg)

/* Control words that unmask division by zero */
static const unsigned short unmasked_fcw = 0x37b;
static const unsigned int unmasked_mxcsr = 0x1d80, default_mxcsr = 0x1f80;

static void raise_de(void *arg)
{
	RAISE_FAULT("xor %%edx, %%edx; xor %%ecx, %%ecx", "div %%ecx", "", arg);
}

/* EFLAGS.TF takes effect after the next instruction; the handler clears it */
static void raise_step(void *arg)
{
	RAISE_TRAP(SET_FLAG("0x100"), "nop", "", arg);
}

void raise_bp(void *arg)
{
	RAISE_TRAP("", "int3", "", arg);
}

static void raise_int4(void *arg)
{
	RAISE_TRAP("", "int $4", "", arg);
}

static void raise_ud(void *arg)
{
	RAISE_FAULT("", "ud2", "", arg);
}

static void raise_np(void *arg)
{
	RAISE_FAULT("mov $7, %%eax", "mov %%ax, %%fs", "", arg);
}

static void raise_ss(void *arg)
{
	RAISE_FAULT("mov $7, %%eax", "mov %%ax, %%ss", "", arg);
}

static void raise_gp(void *arg)
{
	RAISE_FAULT("", "hlt", "", arg);
}

static void raise_mf(void *arg)
{
	RAISE_FAULT("fninit; fldcw %[fcw]; fld1; fldz; fdivrp", "fwait", "fninit", arg,
		    [fcw] "m" (unmasked_fcw));
}

static void raise_xm(void *arg)
{
	RAISE_FAULT("ldmxcsr %[mxcsr]; mov $1, %%eax; cvtsi2ss %%eax, %%xmm0;"
		    "xorps %%xmm1, %%xmm1", "divss %%xmm1, %%xmm0",
		    "ldmxcsr %[mxcsr_default]", arg,
		    [mxcsr] "m" (unmasked_mxcsr), [mxcsr_default] "m" (default_mxcsr));
}

/* Set EFLAGS.AC, then load unaligned. PUSHF needs -mno-red-zone */
static void raise_ac(void *arg)
{
	RAISE_FAULT(SET_FLAG("0x40000"), "movl (%[at]), %%eax", CLEAR_FLAG("0x40000"),
		    (char *)arg + 1);
}

/* A watchpoint traps after the store. perf sends no signal */
static void raise_watch(void *arg)
{
	RAISE_TRAP("", "movb $0, (%[at])", "", arg);
}

#ifndef __x86_64__
/* BOUND and INTO exist in 32-bit code only */
static int limits[2] = { 0, 1 };

static void raise_br(void *arg)
{
	RAISE_FAULT("mov $5, %%eax", "bound %%eax, (%[at])", "", limits);
}

/* With EFLAGS.NT, IRET switches to a task that does not exist */
static void raise_ts(void *arg)
{
	RAISE_FAULT(SET_FLAG("0x4000"), "iret", "", arg);
}

/* The greatest integer plus one sets EFLAGS.OF */
static void raise_into(void *arg)
{
	RAISE_TRAP("mov $0x7fffffff, %%eax; add $1, %%eax", "into", "", arg);
}
#endif

const struct user_trap user_traps[] = {
	{ 0, 0, "#DE", "div by zero", raise_de, SIGFPE },
	{ 1, DR6_BS, "#DB", "single step", raise_step, SIGTRAP },
	{ 1, DR6_B0, "#DB", "watchpoint", raise_watch, 0, WATCHED, true },
	{ 3, 0, "#BP", "int3", raise_bp, SIGTRAP },
	{ 4, 0, "#OF", "int $4", raise_int4, SIGSEGV },
#ifndef __x86_64__
	{ 4, 0, "#OF", "into", raise_into, SIGSEGV },
	{ 5, 0, "#BR", "bound", raise_br, SIGSEGV },
#endif
	{ 6, 0, "#UD", "ud2", raise_ud, SIGILL },
#ifndef __x86_64__
	{ 10, 0, "#TS", "iret with EFLAGS.NT", raise_ts, SIGSEGV },
#endif
	{ 11, LDT_ERROR_CODE, "#NP", "absent segment in %fs", raise_np, SIGBUS },
	{ 12, LDT_ERROR_CODE, "#SS", "absent segment in %ss", raise_ss, SIGBUS },
	{ 13, 0, "#GP", "hlt", raise_gp, SIGSEGV },
	{ 14, 0, "#PF", "write where nothing is mapped", raise_write, SIGSEGV },
	{ 16, 0, "#MF", "fwait", raise_mf, SIGFPE },
	{ 17, 0, "#AC", "unaligned load", raise_ac, SIGBUS, OLD_PAGE, true },
	{ 19, 0, "#XM", "divss by zero", raise_xm, SIGFPE, NO_PAGE, true },
};

const size_t nr_user_traps = ARRAY_SIZE(user_traps);

static bool have_ldt;

/* set_up_user_traps - Install the handler and an absent LDT segment */
void set_up_user_traps(void)
{
	struct user_desc absent = {
		.entry_number = 0, .limit = 0xfff, .limit_in_pages = 1,
		.seg_32bit = 1, .seg_not_present = 1,
	};

	skip_traps();
	have_ldt = !syscall(SYS_modify_ldt, 1, &absent, sizeof(absent));
}

/* cannot_raise - Why this machine cannot raise @t, or NULL if it can */
const char *cannot_raise(const struct user_trap *t)
{
	if ((t->raise == raise_np || t->raise == raise_ss) && !have_ldt)
		return "no modify_ldt()";
#ifndef __x86_64__
	if (t->raise == raise_ts && kernel_of_64_bit())
		return "this kernel is 64-bit";
#endif
	return NULL;
}

/* raise_user_trap - Number of signals, or the negative of an unexpected one */
int raise_user_trap(const struct user_trap *t, void *arg)
{
	trap_signals = 0;
	t->raise(arg);
	if (trap_signals && trap_info.si_signo != t->signal)
		return -trap_info.si_signo;
	return trap_signals;
}
