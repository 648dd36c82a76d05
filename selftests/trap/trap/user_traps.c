// SPDX-License-Identifier: GPL-2.0
/*
 * The traps that an instruction of a program raises: the instructions, and the
 * signal handler that continues behind them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <ucontext.h>
#include <unistd.h>
#include <asm/ldt.h>

#include "common.h"
#include "user_traps.h"

#define EFLAGS_TF	0x100L
#define EFLAGS_NT	0x4000L

/* Error code for LDT entry 0: its selector, 7, without the RPL */
#define LDT_ERROR_CODE	4

#ifdef __x86_64__
#define REG_IP		REG_RIP
#define CLOBBERED	"rax", "rcx", "rdx"
#define FRAME_AT_DI	"push %%rbp; mov %%rdi, %%rbp"
#define END_OF_FRAME	"pop %%rbp"
#define LABELS		"lea 1f(%%rip), %%rax; mov %%rax, %[ip];"	\
			"lea 2f(%%rip), %%rax; mov %%rax, %[resume];"
#define SET_FLAG(bit)	"pushfq; orq $" bit ", (%%rsp); popfq"
#define CLEAR_FLAG(bit)	"pushfq; andq $~" bit ", (%%rsp); popfq"
#else
#define REG_IP		REG_EIP
#define CLOBBERED	"eax", "ecx", "edx"
#define FRAME_AT_DI	"push %%ebp; mov %%edi, %%ebp"
#define END_OF_FRAME	"pop %%ebp"
#define LABELS		"movl $1f, %[ip]; movl $2f, %[resume];"
#define SET_FLAG(bit)	"pushfl; orl $" bit ", (%%esp); popfl"
#define CLEAR_FLAG(bit)	"pushfl; andl $~" bit ", (%%esp); popfl"
#endif

/*
 * What raises a trap says where: trap_ip is what the handler of the trap sees,
 * and resume_ip where the signal handler continues. Each thread has its own.
 */
__thread unsigned long trap_ip;
__thread unsigned long resume_ip;

/* @insn is a fault: the instruction pointer is at it. "D" holds @arg. */
#define RAISE_FAULT(before, insn, after, arg) ({			\
	asm volatile(LABELS before "; 1: " insn "; 2: " after		\
		     : [ip] "=m" (trap_ip), [resume] "=m" (resume_ip)	\
		     : [at] "D" (arg), [fcw] "m" (unmasked_fcw),	\
		       [mxcsr] "m" (unmasked_mxcsr),			\
		       [mxcsr_default] "m" (default_mxcsr)		\
		     : CLOBBERED, "xmm0", "xmm1", "memory", "cc"); \
})

/* @insn is a trap: the instruction pointer is behind it */
#define RAISE_TRAP(before, insn, after, arg)				\
	RAISE_FAULT(before "; " insn, "", after, arg)

/* With the exception for a division by zero not masked */
static const unsigned short unmasked_fcw = 0x37b;
static const unsigned int unmasked_mxcsr = 0x1d80, default_mxcsr = 0x1f80;

void raise_de(void *arg)
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

void raise_ud(void *arg)
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

void raise_write(void *arg)
{
	RAISE_FAULT("", "movb $0, (%[at])", "", arg);
}

void raise_read(void *arg)
{
	RAISE_FAULT("", "movb (%[at]), %%al", "", arg);
}

/* The fault is where it went */
void raise_jump(void *arg)
{
	RAISE_FAULT("", "jmp *%[at]", "", arg);
	trap_ip = (unsigned long)arg;
}

/* With a frame pointer to @arg: who walks the stack reads there */
void raise_bp_in_frame(void *arg)
{
	RAISE_TRAP(FRAME_AT_DI, "int3", END_OF_FRAME, arg);
}

static void raise_mf(void *arg)
{
	RAISE_FAULT("fninit; fldcw %[fcw]; fld1; fldz; fdivrp", "fwait",
		    "fninit", arg);
}

static void raise_xm(void *arg)
{
	RAISE_FAULT("ldmxcsr %[mxcsr]; mov $1, %%eax; cvtsi2ss %%eax, %%xmm0;"
		    "xorps %%xmm1, %%xmm1", "divss %%xmm1, %%xmm0",
		    "ldmxcsr %[mxcsr_default]", arg);
}

/* EFLAGS.AC on, and an unaligned load; compiled with -mno-red-zone */
static void raise_ac(void *arg)
{
	RAISE_FAULT(SET_FLAG("0x40000"), "movl (%[at]), %%eax",
		    CLEAR_FLAG("0x40000"), (char *)arg + 1);
}

/* A watchpoint there causes a trap behind the store, and no signal */
static void raise_watch(void *arg)
{
	RAISE_TRAP("", "movb $0, (%[at])", "", arg);
}

#ifdef __x86_64__
/*
 * BOUND and INTO exist in 32-bit code only, and 64-bit code gets there by
 * sigreturn(). The code and what it refers to are at an address below 4 GiB.
 */
static struct low {
	unsigned char bound_ecx[16];
	int limits[2];
} *low;
static __thread ucontext_t before_br;

static void raise_br(void *arg)
{
	(void)arg;
	trap_ip = (unsigned long)low->bound_ecx;
	raise(SIGUSR1);
}
#else
static int limits[2] = { 0, 1 };

static void raise_br(void *arg)
{
	RAISE_FAULT("mov $5, %%eax", "bound %%eax, (%[at])", "", limits);
}

/* EFLAGS.NT makes a task switch of IRET, to a task that there is not */
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
	{ 1, DR6_B0, "#DB", "watchpoint", raise_watch, 0,
	  WATCHED },
	{ 3, 0, "#BP", "int3", raise_bp, SIGTRAP },
	{ 4, 0, "#OF", "int $4", raise_int4, SIGSEGV },
#ifndef __x86_64__
	{ 4, 0, "#OF", "into", raise_into, SIGSEGV },
#endif
	{ 5, 0, "#BR", "bound in 32-bit code", raise_br, SIGSEGV },
	{ 6, 0, "#UD", "ud2", raise_ud, SIGILL },
#ifndef __x86_64__
	{ 10, 0, "#TS", "iret with EFLAGS.NT", raise_ts, SIGSEGV },
#endif
	{ 11, LDT_ERROR_CODE, "#NP", "absent segment in %fs", raise_np, SIGBUS },
	{ 12, LDT_ERROR_CODE, "#SS", "absent segment in %ss", raise_ss, SIGBUS },
	{ 13, 0, "#GP", "hlt", raise_gp, SIGSEGV },
	{ 14, PF_USER | PF_WRITE, "#PF", "write to a new page", raise_write, 0,
	  NEW_PAGE },
	{ 14, PF_USER | PF_WRITE, "#PF", "write where nothing is mapped",
	  raise_write, SIGSEGV },
	{ 14, PF_USER | PF_INSTR, "#PF", "jump to a symbol of the kernel",
	  raise_jump, SIGSEGV, KERNEL_TEXT },
	{ 16, 0, "#MF", "fwait", raise_mf, SIGFPE },
	{ 17, 0, "#AC", "unaligned load", raise_ac, SIGBUS, OLD_PAGE, true },
	{ 19, 0, "#XM", "divss by zero", raise_xm, SIGFPE, NO_PAGE, true },
};

const size_t nr_user_traps = ARRAY_SIZE(user_traps);

/* The asm clobbers memory: no need for volatile */
static __thread const struct user_trap *current_trap;
static __thread unsigned long current_argument;
static __thread sig_atomic_t signals;
static __thread sigjmp_buf unexpected;
__thread siginfo_t user_trap_info;

bool have_ldt;
uint64_t kernel_text;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	const struct user_trap *t = current_trap;
	ucontext_t *uc = context;
	greg_t *regs = uc->uc_mcontext.gregs;
	unsigned long ip = regs[REG_IP];

	user_trap_info = *info;
#ifdef __x86_64__
	if (t && t->raise == raise_br && signal == SIGUSR1) {
		before_br = *uc;
		/* The lowest 16 bits are CS: the kernel's __USER32_CS */
		regs[REG_CSGSFS] = (regs[REG_CSGSFS] & ~0xffffL) | 0x23;
		regs[REG_RIP] = trap_ip;
		regs[REG_RAX] = 5;
		regs[REG_RCX] = (unsigned long)low->limits;
		return;
	}
#endif
	if (t && t->raise == raise_jump)
		trap_ip = current_argument;
	if (!t || signal != t->signal || ip != trap_ip) {
		if (t)
			siglongjmp(unexpected, signal);
		/* Not ours at all: die of it */
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL },
			  NULL);
		return;
	}
#ifdef __x86_64__
	if (t->raise == raise_br) {
		memcpy(regs, before_br.uc_mcontext.gregs,
		       sizeof(before_br.uc_mcontext.gregs));
		signals++;
		return;
	}
#endif
	regs[REG_IP] = resume_ip;
	regs[REG_EFL] &= ~(EFLAGS_TF | EFLAGS_NT);
	signals++;
}

/* set_up_signal_stack - Each thread needs one of its own */
void set_up_signal_stack(void)
{
	stack_t stack = { .ss_size = 1 << 16 };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (stack.ss_sp == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	sigaltstack(&stack, NULL);
}

/* set_up_user_traps - For this thread and those that it starts */
void set_up_user_traps(void)
{
	static const int handled[] = {
		SIGFPE, SIGTRAP, SIGSEGV, SIGILL, SIGBUS, SIGUSR1
	};
	struct sigaction sa = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	struct user_desc absent = {
		.entry_number = 0, .limit = 0xfff, .limit_in_pages = 1,
		.seg_32bit = 1, .seg_not_present = 1,
	};

#ifdef __x86_64__
	low = mmap(NULL, sizeof(*low), PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	memcpy(low->bound_ecx, "\x62\x01", 2);	/* bound %eax, (%ecx) */
	low->limits[1] = 1;
#endif

	set_up_signal_stack();
	for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
		sigaction(handled[i], &sa, NULL);

	have_ldt = !syscall(SYS_modify_ldt, 1, &absent, sizeof(absent));
	kernel_text = kernel_symbol("_stext");
}

bool kernel_of_64_bit(void)
{
	struct utsname uts;

	return uname(&uts) || !strcmp(uts.machine, "x86_64");
}

/* cannot_raise - Why not, or NULL if nobody knows a reason */
const char *cannot_raise(const struct user_trap *t)
{
	if ((t->raise == raise_np || t->raise == raise_ss) && !have_ldt)
		return "no modify_ldt()";
	if (t->raise == raise_jump &&
	    (!kernel_text || kernel_text != (unsigned long)kernel_text))
		return "no address of the kernel in /proc/kallsyms";
#ifndef __x86_64__
	if (t->raise == raise_ts && kernel_of_64_bit())
		return "this kernel has 64 bit";
#endif
	return NULL;
}

/* raise_user_trap - How many signals came of it, or -1 times one that should not */
int raise_user_trap(const struct user_trap *t, void *arg)
{
	int signal;

	signal = sigsetjmp(unexpected, 1);
	if (signal) {
		current_trap = NULL;
		return -signal;
	}
	current_argument = (unsigned long)arg;
	signals = 0;
	current_trap = t;
	t->raise(arg);
	current_trap = NULL;
	return signals;
}
