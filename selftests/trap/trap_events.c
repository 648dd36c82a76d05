// SPDX-License-Identifier: GPL-2.0
/*
 * Test the trap_entry and trap_exit trace events: raise each vector a known
 * number of times on each CPU, and compare what the trace holds.
 *
 * From user mode, an instruction raises the trap, and a signal handler continues
 * behind it. In kernel mode, the debugfs file of CONFIG_X86_TRAP_TEST raises it.
 * NMI and #MC in user mode come from the monitor of QEMU.
 *
 * Built for 64 and for 32 bit; the latter is for 32-bit kernels and for the
 * programs of compatibility mode.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <asm/ldt.h>

#include "common.h"

/* How often each is raised on each CPU; some log a warning, or cost a page */
#define ROUNDS		25
#define ROUNDS_FEW	2
#define ROUNDS_MC	4

/* Bits of the page fault error code, SDM volume 3, "Page-Fault Exceptions" */
#define PF_PROT		0x1
#define PF_WRITE	0x2
#define PF_USER		0x4
#define PF_INSTR	0x10

/* Bits of DR6, SDM volume 3, "Debug Status Register (DR6)" */
#define DR6_B0		0x1
#define DR6_BS		0x4000

#define EFLAGS_TF	0x100L
#define EFLAGS_NT	0x4000L

/* Error code for LDT entry 0: its selector, 7, without the RPL */
#define LDT_ERROR_CODE	4

#ifdef __x86_64__
#define REG_IP		REG_RIP
#define CLOBBERED	"rax", "rcx", "rdx"
#define LABELS		"lea 1f(%%rip), %%rax; mov %%rax, %[ip];"	\
			"lea 2f(%%rip), %%rax; mov %%rax, %[resume];"
#define SET_FLAG(bit)	"pushfq; orq $" bit ", (%%rsp); popfq"
#define CLEAR_FLAG(bit)	"pushfq; andq $~" bit ", (%%rsp); popfq"
#else
#define REG_IP		REG_EIP
#define CLOBBERED	"eax", "ecx", "edx"
#define LABELS		"movl $1f, %[ip]; movl $2f, %[resume];"
#define SET_FLAG(bit)	"pushfl; orl $" bit ", (%%esp); popfl"
#define CLEAR_FLAG(bit)	"pushfl; andl $~" bit ", (%%esp); popfl"
#endif

struct expect {
	unsigned int vector, error_code, either;	/* @either: bits that may differ */
	const char *name;
	bool user;
	char entry_ip[IP_SIZE], exit_ip[IP_SIZE];
	int rounds;
};

static const char *instance;

/* Whether the trace of @cpu holds what @x says, in turn, and no other has any */
static bool trace_matches(const struct expect *x, int cpu)
{
	int entries = 0, exits = 0, wrong = 0, elsewhere = 0;
	struct event e;
	FILE *f;

	f = open_trace(instance, cpu);
	while (next_event(f, &e)) {
		int *count = e.exit ? &exits : &entries;
		const char *ip = e.exit ? x->exit_ip : x->entry_ip;

		++*count;
		if (e.vector == x->vector &&
		    (e.error_code | x->either) == (x->error_code | x->either) &&
		    !strcmp(e.name, x->name) && e.user == x->user &&
		    !strcmp(e.ip, ip) && exits == entries - !e.exit)
			continue;
		if (wrong++)
			continue;
		ksft_print_msg("%s %d: %u(%s) error code 0x%x %s ip %s\n",
			       e.exit ? "exit" : "entry", *count, e.vector,
			       e.name, e.error_code,
			       e.user ? "user" : "kernel", e.ip);
		ksft_print_msg("expected: %u(%s) error code 0x%x %s ip %s\n",
			       x->vector, x->name, x->error_code,
			       x->user ? "user" : "kernel", ip);
	}
	fclose(f);

	f = open_trace(instance, -1);
	while (next_event(f, &e))
		elsewhere += e.cpu != cpu;
	fclose(f);

	if (entries != x->rounds || exits != x->rounds || elsewhere)
		ksft_print_msg("CPU %d: %d raised, %d entries, %d exits, %d events of other CPUs\n",
			       cpu, x->rounds, entries, exits, elsewhere);
	return entries == x->rounds && exits == x->rounds && !wrong && !elsewhere;
}

/* Both events of this process, as far as they are of @vector */
static void trace_vector(unsigned int vector, const char *more)
{
	char filter[256];

	snprintf(filter, sizeof(filter), "common_pid == %d && vector == %u%s",
		 getpid(), vector, more);
	trace_on(instance, filter);
}

/*
 * User mode
 *
 * What raises a trap says where: trap_ip is what the handler of the trap sees,
 * and resume_ip where the signal handler continues.
 */
static unsigned long trap_ip, resume_ip;

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

static void raise_de(void *arg)
{
	RAISE_FAULT("xor %%edx, %%edx; xor %%ecx, %%ecx", "div %%ecx", "", arg);
}

/* EFLAGS.TF takes effect after the next instruction; the handler clears it */
static void raise_step(void *arg)
{
	RAISE_TRAP(SET_FLAG("0x100"), "nop", "", arg);
}

static void raise_bp(void *arg)
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

static void raise_pf(void *arg)
{
	RAISE_FAULT("", "movb $0, (%[at])", "", arg);
}

/* A jump to an address of the kernel: the fault is where it went */
static void raise_jump(void *arg)
{
	RAISE_FAULT("", "jmp *%[at]", "", arg);
	trap_ip = (unsigned long)arg;
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

/* A watchpoint on it causes a trap behind the store, and no signal */
static unsigned long watched;

static void raise_watch(void *arg)
{
	RAISE_TRAP("", "movb $0, (%[at])", "", &watched);
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
static ucontext_t before_br;

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

enum argument { NO_PAGE, NEW_PAGE, OLD_PAGE, KERNEL_TEXT };

static const struct user_trap {
	unsigned int vector, error_code;
	const char *name, *what;
	void (*raise)(void *arg);
	int signal;
	enum argument argument;
	bool optional;		/* an emulated CPU may not raise it */
} user_traps[] = {
	{ 0, 0, "#DE", "div by zero", raise_de, SIGFPE },
	{ 1, DR6_BS, "#DB", "single step", raise_step, SIGTRAP },
	{ 1, DR6_B0, "#DB", "watchpoint", raise_watch, 0 },
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
	{ 14, PF_USER | PF_WRITE, "#PF", "write to a new page", raise_pf, 0,
	  NEW_PAGE },
	{ 14, PF_USER | PF_WRITE, "#PF", "write where nothing is mapped",
	  raise_pf, SIGSEGV },
	{ 14, PF_USER | PF_INSTR, "#PF", "jump to a symbol of the kernel",
	  raise_jump, SIGSEGV, KERNEL_TEXT },
	{ 16, 0, "#MF", "fwait", raise_mf, SIGFPE },
	{ 17, 0, "#AC", "unaligned load", raise_ac, SIGBUS, OLD_PAGE, true },
	{ 19, 0, "#XM", "divss by zero", raise_xm, SIGFPE, NO_PAGE, true },
};

/* The asm clobbers memory: no need for volatile */
static const struct user_trap *current_trap;
static sig_atomic_t signals;
static sigjmp_buf unexpected;
static bool have_ldt;
static uint64_t kernel_text;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	const struct user_trap *t = current_trap;
	ucontext_t *uc = context;
	greg_t *regs = uc->uc_mcontext.gregs;
	unsigned long ip = regs[REG_IP];

	(void)info;
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
	if (t && t->argument == KERNEL_TEXT)
		trap_ip = kernel_text;
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

static void set_up_user_traps(void)
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
	stack_t stack = { .ss_size = 1 << 16 };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (stack.ss_sp == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
#ifdef __x86_64__
	low = mmap(NULL, sizeof(*low), PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	memcpy(low->bound_ecx, "\x62\x01", 2);	/* bound %eax, (%ecx) */
	low->limits[1] = 1;
#endif

	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
		sigaction(handled[i], &sa, NULL);

	have_ldt = !syscall(SYS_modify_ldt, 1, &absent, sizeof(absent));
	kernel_text = kernel_symbol("_stext");
}

/* The argument of the @i-th round; round 0 comes before tracing */
static void *argument(const struct user_trap *t, char *pages, int i)
{
	switch (t->argument) {
	case NEW_PAGE:
		return pages + i * sysconf(_SC_PAGESIZE);
	case OLD_PAGE:
		*pages = 1;
		return pages;
	case KERNEL_TEXT:
		return (void *)(unsigned long)kernel_text;
	default:
		return NULL;
	}
}

#ifndef __x86_64__
static bool kernel_of_64_bit(void)
{
	struct utsname uts;

	return uname(&uts) || !strcmp(uts.machine, "x86_64");
}
#endif

static const char *cannot_raise(const struct user_trap *t)
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

static bool raise_on_cpu(const struct user_trap *t, int cpu, bool *raised)
{
	const size_t size = (ROUNDS + 1) * sysconf(_SC_PAGESIZE);
	struct expect x = {
		.vector = t->vector, .error_code = t->error_code,
		.name = t->name, .user = true, .rounds = ROUNDS,
	};
	bool matches = false;
	char more[64] = "";
	int signal, watch = -1;
	char *pages;

	/* Page table isolation decides whether it is there */
	if (t->argument == KERNEL_TEXT)
		x.either = PF_PROT;
	pin(cpu);
	pages = new_pages(size);
	if (t->raise == raise_watch) {
		watch = breakpoint((unsigned long)&watched, false);
		if (watch < 0) {
			ksft_print_msg("watchpoint: %s\n", strerror(errno));
			*raised = false;
			goto out;
		}
	}
	signal = sigsetjmp(unexpected, 1);
	if (signal) {
		trace_off(instance);
		ksft_print_msg("unexpected signal: %s\n", strsignal(signal));
		goto out;
	}
	current_trap = t;
	signals = 0;
	t->raise(argument(t, pages, 0));
	*raised = signals || !t->signal;
	if (!*raised)
		goto out;

	signals = 0;
	/* A page fault may be somebody else's; the others may not */
	if (t->vector == PF)
		snprintf(more, sizeof(more), " && ip == 0x%lx", trap_ip);
	trace_vector(t->vector, more);
	for (int i = 1; i <= ROUNDS; i++)
		t->raise(argument(t, pages, i));
	trace_off(instance);

	/* No signal is delivered before trap_exit, so nothing moves it */
	snprintf(x.entry_ip, sizeof(x.entry_ip), "0x%lx", trap_ip);
	snprintf(x.exit_ip, sizeof(x.exit_ip), "0x%lx", trap_ip);
	if (t->signal && signals != ROUNDS)
		ksft_print_msg("%d of %d signals\n", (int)signals, ROUNDS);
	matches = trace_matches(&x, cpu) && (!t->signal || signals == ROUNDS);
out:
	current_trap = NULL;
	if (watch >= 0)
		close(watch);
	munmap(pages, size);
	return matches;
}

static void test_user_trap(const struct user_trap *t)
{
	const char *why = cannot_raise(t);
	bool matches = true, raised = true;

	for (int cpu = 0; cpu < cpus() && !why && matches; cpu++) {
		matches = raise_on_cpu(t, cpu, &raised);
		if (!raised && t->optional)
			why = "this CPU does not raise it";
	}
	if (why)
		ksft_test_result_skip("user %s, %s: %s\n", t->name, t->what, why);
	else
		ksft_test_result(matches, "user %s, %s\n", t->name, t->what);
}

/*
 * Kernel mode
 */
static const struct {
	unsigned int vector;
	const char *name;
} kernel_traps[] = {
	{ 0, "#DE" }, { 2, "NMI" }, { 3, "#BP" }, { 4, "#OF" }, { 5, "#BR" },
	{ 6, "#UD" }, { 7, "#NM" }, { 9, "OLD_MF" }, { 10, "#TS" },
	{ 11, "#NP" }, { 12, "#SS" }, { 13, "#GP" }, { 14, "#PF" },
	{ 15, "SPURIOUS" }, { 16, "#MF" }, { 17, "#AC" }, { 19, "#XM" },
	{ 21, "#CP" },
};

/* As @x says; where an NMI was taken is known afterwards, so trace each alone */
static bool raise_kernel_trap(struct expect *x, int cpu)
{
	const int rounds = x->vector == NMI ? 1 : x->rounds;
	struct kernel_trap t;
	bool matches = true;

	pin(cpu);
	for (int i = 0; i < x->rounds && matches; i += rounds) {
		struct expect some = *x;

		trace_vector(x->vector, x->vector == PF ? " && user_mode == 0" : "");
		for (int j = 0; j < rounds; j++)
			must(raise_in_kernel(x->vector), RAISE_FILE);
		trace_off(instance);

		some.rounds = rounds;
		read_kernel_trap(x->vector, &t);
		some.error_code = t.error_code;
		strcpy(some.entry_ip, t.entry_ip);
		strcpy(some.exit_ip, t.exit_ip);
		matches = trace_matches(&some, cpu);
	}
	return matches;
}

static void test_kernel_trap(unsigned int vector, const char *name)
{
	struct expect x = {
		.vector = vector, .name = name,
		.rounds = vector == NM || vector == CP ? ROUNDS_FEW : ROUNDS,
	};
	struct kernel_trap t;
	bool matches = true;

	if ((vector == NM || vector == CP) && warnings_panic()) {
		ksft_test_result_skip("kernel %s: it would panic on a warning\n",
				      name);
		return;
	}
	if (!read_kernel_trap(vector, &t)) {
		ksft_test_result_skip("kernel %s: the kernel has no means to raise it\n",
				      name);
		return;
	}
	for (int cpu = 0; cpu < cpus() && matches; cpu++)
		matches = raise_kernel_trap(&x, cpu);
	ksft_test_result(matches, "kernel %s\n", name);
}

/* A breakpoint on the instruction that raises #DE in kernel mode comes first */
static void test_kernel_breakpoint(void)
{
	struct expect x = {
		.vector = DB, .name = "#DB", .error_code = DR6_B0,
		.rounds = ROUNDS,
	};
	uint64_t address = kernel_symbol("trap_test_de_ip");
	struct kernel_trap t;
	bool matches = true;
	int fd;

	fd = address ? breakpoint(address, true) : -1;
	if (fd < 0 || !read_kernel_trap(DE, &t)) {
		close(fd);
		ksft_test_result_skip("kernel #DB, breakpoint: no breakpoint in the kernel\n");
		return;
	}
	strcpy(x.entry_ip, t.entry_ip);
	strcpy(x.exit_ip, t.entry_ip);
	for (int cpu = 0; cpu < cpus() && matches; cpu++) {
		pin(cpu);
		trace_vector(DB, "");
		for (int i = 0; i < ROUNDS; i++)
			must(raise_in_kernel(DE), RAISE_FILE);
		trace_off(instance);
		matches = trace_matches(&x, cpu);
	}
	close(fd);
	ksft_test_result(matches, "kernel #DB, breakpoint\n");
}

/*
 * IRET to a segment that is not there: the fault is in kernel mode at the IRET,
 * and a kernel of 32 bit makes a trap of user mode of it.
 */
#ifndef __x86_64__
static sig_atomic_t bad_returns;

static void on_iret_signal(int signal, siginfo_t *info, void *context)
{
	static greg_t good_ss, good_esp;
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)info;
	if (signal == SIGUSR2) {
		good_ss = regs[REG_SS];
		good_esp = regs[REG_UESP];
		regs[REG_SS] = 7;
		return;
	}
	bad_returns++;
	regs[REG_SS] = good_ss;
	regs[REG_UESP] = good_esp;
}

static void test_iret(void)
{
	struct sigaction sa = {
		.sa_sigaction = on_iret_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	}, old[3];
	static const int of[] = { SIGUSR2, SIGILL, SIGSEGV };
	int entries = 0, exits = 0, wrong = 0;
	struct event e;
	FILE *f;

	if (kernel_of_64_bit() || !have_ldt) {
		ksft_test_result_skip("user IRET, absent segment: %s\n",
				      have_ldt ? "this kernel has 64 bit" :
						 "no modify_ldt()");
		return;
	}
	pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		sigaction(of[i], &sa, &old[i]);
	trace_vector(IRET, "");
	for (int i = 0; i < ROUNDS; i++)
		raise(SIGUSR2);
	trace_off(instance);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		sigaction(of[i], &old[i], NULL);

	f = open_trace(instance, 0);
	while (next_event(f, &e)) {
		++*(e.exit ? &exits : &entries);
		wrong += strcmp(e.name, "IRET") || e.error_code || !e.user ||
			 exits != entries - !e.exit;
	}
	fclose(f);
	ksft_print_msg("%d signals, %d entries, %d exits, %d wrong\n",
		       (int)bad_returns, entries, exits, wrong);
	ksft_test_result(bad_returns == ROUNDS && entries == ROUNDS &&
			 exits == ROUNDS && !wrong,
			 "user IRET, absent segment\n");
}
#else
static void test_iret(void)
{
	ksft_test_result_skip("user IRET, absent segment: this program has 64 bit\n");
}
#endif

/*
 * From outside
 *
 * A child spins in one instruction, which then is where the trap is taken; for
 * kernel mode, it is the idle task that is interrupted.
 */
void spin(void);
asm(".pushsection .text; .globl spin; spin: jmp spin; .popsection");

/*
 * What is on @cpu. In a timer interrupt of CPU 0, a trap is one of kernel mode:
 * @strays counts these.
 */
static bool outside_matches(unsigned int vector, const char *name, bool user,
			    int cpu, int rounds, int *strays)
{
	int entries = 0, exits = 0, wrong = 0;
	char ip[IP_SIZE];
	struct event e;
	FILE *f;

	snprintf(ip, sizeof(ip), "0x%lx", (unsigned long)spin);
	f = open_trace(instance, cpu);
	while (next_event(f, &e)) {
		++*(e.exit ? &exits : &entries);
		if (!cpu && user && !e.user)
			++*strays;
		if (e.vector == vector && !strcmp(e.name, name) && !e.error_code &&
		    (cpu || user || !e.user) && (!e.user || cpu || !strcmp(e.ip, ip)) &&
		    exits == entries - !e.exit)
			continue;
		if (!wrong++)
			ksft_print_msg("CPU %d: %s %u(%s) error code 0x%x %s ip %s\n",
				       cpu, e.exit ? "exit" : "entry", e.vector,
				       e.name, e.error_code,
				       e.user ? "user" : "kernel", e.ip);
	}
	fclose(f);
	if (entries != rounds || exits != rounds)
		ksft_print_msg("CPU %d: %d raised, %d entries, %d exits\n", cpu,
			       rounds, entries, exits);
	return entries == rounds && exits == rounds && !wrong;
}

static void test_outside(unsigned int vector, const char *name, bool user)
{
	const int rounds = vector == NMI ? ROUNDS : ROUNDS_MC;
	int status, strays = 0, last = cpus() - 1;
	bool matches = true;
	pid_t child = 0;

	if (!getenv("QEMU_MONITOR") || !last) {
		ksft_test_result_skip("%s %s from outside: no QEMU_MONITOR, or a single CPU\n",
				      user ? "user" : "kernel", name);
		return;
	}
	pin(last);
	if (user) {
		child = must_fork();
		if (!child) {
			pin(0);
			spin();
		}
		usleep(100000);
	}

	trace_on(instance, vector == NMI ? "vector == 2" : "vector == 18");
	for (int i = 0; i < rounds && matches; i++) {
		matches = vector == NMI ? on_qemu_monitor("nmi") :
					  machine_check_from_qemu();
		usleep(20000);
	}
	trace_off(instance);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}

	/*
	 * The monitor's NMI comes through LINT1 of the APIC, which is masked on
	 * all CPUs but the first
	 */
	for (int cpu = 0; cpu <= last; cpu++)
		matches &= outside_matches(vector, name, user, cpu,
					   vector == NMI && cpu ? 0 : rounds,
					   &strays);
	ksft_print_msg("%d of %d events in an interrupt\n", strays, 2 * rounds);
	ksft_test_result(matches && strays <= rounds, "%s %s from outside\n",
			 user ? "user" : "kernel", name);
}

int main(void)
{
	start();
	instance = make_instance("events");
	set_up_user_traps();

	ksft_set_plan(ARRAY_SIZE(user_traps) + ARRAY_SIZE(kernel_traps) + 6);
	for (size_t i = 0; i < ARRAY_SIZE(user_traps); i++)
		test_user_trap(&user_traps[i]);
	test_iret();
	for (size_t i = 0; i < ARRAY_SIZE(kernel_traps); i++)
		test_kernel_trap(kernel_traps[i].vector, kernel_traps[i].name);
	test_kernel_breakpoint();
	test_outside(NMI, "NMI", true);
	test_outside(NMI, "NMI", false);
	test_outside(MC, "#MC", true);
	test_outside(MC, "#MC", false);
	ksft_finished();
}
