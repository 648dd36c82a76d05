// SPDX-License-Identifier: GPL-2.0
/*
 * Test the trap_entry and trap_exit trace events: raise each vector a known
 * number of times, and compare what the trace holds.
 *
 * The tests share a tracing instance of their own, which records the events of
 * this process only. From user mode, an instruction raises the trap, and a
 * signal handler continues behind it. In kernel mode, the debugfs file of
 * CONFIG_X86_TRAP_TEST raises it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <asm/ldt.h>

#include "kselftest.h"

#define TRACING		"/sys/kernel/tracing"
#define WITNESS		"events/exceptions/page_fault_kernel"
#define RAISE_FILE	"/sys/kernel/debug/x86_trap_test"

/* How often each trap is raised; #NM in kernel mode logs a warning each time */
#define ROUNDS		25
#define ROUNDS_NM	2
#define ROUNDS_GUARD	100

/* Bits of the page fault error code, SDM volume 3, "Page-Fault Exceptions" */
#define PF_WRITE	0x2
#define PF_USER		0x4

/* Error code for LDT entry 0: its selector, 7, without the RPL */
#define LDT_ERROR_CODE	4

/* An instruction pointer as printed: a number, or a symbol of the kernel */
#define IP_SIZE		160

struct event {
	unsigned int vector, error_code;
	char name[16];
	bool exit, user;
	char ip[IP_SIZE];
};

#define EVENT_FORMAT ": trap_%15[a-z]: vector=%u(%15[^)]) error_code=0x%x mode=%15s ip=%159s"

struct expect {
	unsigned int vector, error_code;
	const char *name;
	bool user;
	char entry_ip[IP_SIZE], exit_ip[IP_SIZE];
	int rounds;
};

static char instance[128];

static __printf(2, 3) int
write_trace_file(const char *file, const char *fmt, ...)
{
	char path[256], text[256];
	va_list args;
	int fd, len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);

	snprintf(path, sizeof(path), "%s/%s", instance, file);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != len)
		len = -errno;
	close(fd);
	return len < 0 ? len : 0;
}

static void make_instance(void)
{
	snprintf(instance, sizeof(instance), TRACING "/instances/trap_events.%d",
		 getpid());
	if (mkdir(instance, 0755))
		ksft_exit_fail_msg("mkdir %s: %s\n", instance, strerror(errno));
}

static void remove_instance(void)
{
	rmdir(instance);
}

/* Switch both events on for this process, as far as @filter lets them through */
static __printf(1, 2) void trace_on(const char *filter, ...)
{
	char text[128];
	va_list args;

	va_start(args, filter);
	vsnprintf(text, sizeof(text), filter, args);
	va_end(args);

	if (write_trace_file("trace", " ") ||
	    write_trace_file("events/trap/filter", "common_pid == %d && (%s)",
			     getpid(), text) ||
	    write_trace_file("events/trap/enable", "1"))
		ksft_exit_fail_msg("cannot enable the events\n");
}

static void trace_off(void)
{
	if (write_trace_file("events/trap/enable", "0"))
		ksft_exit_fail_msg("cannot disable the events\n");
}

static bool next_event(FILE *f, struct event *e)
{
	char line[512], which[16], mode[16];
	char *at;

	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, ": trap_e");
		if (!at || sscanf(at, EVENT_FORMAT, which, &e->vector, e->name,
				  &e->error_code, mode, e->ip) != 6)
			continue;
		e->exit = !strcmp(which, "exit");
		e->user = !strcmp(mode, "user");
		return true;
	}
	return false;
}

static FILE *open_trace(void)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", instance);
	f = fopen(path, "r");
	if (!f)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	return f;
}

/* Whether the trace holds what @x says, entry and exit in turn, and no more */
static bool trace_matches(const struct expect *x)
{
	int entries = 0, exits = 0, wrong = 0;
	struct event e;
	FILE *f;

	f = open_trace();
	while (next_event(f, &e)) {
		int *count = e.exit ? &exits : &entries;
		const char *ip = e.exit ? x->exit_ip : x->entry_ip;

		++*count;
		if (e.vector == x->vector && e.error_code == x->error_code &&
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

	if (entries != x->rounds || exits != x->rounds)
		ksft_print_msg("%d raised, %d entries, %d exits\n",
			       x->rounds, entries, exits);
	return entries == x->rounds && exits == x->rounds && !wrong;
}

/*
 * User mode
 *
 * What raises a trap says where: trap_ip is what the handler of the trap sees,
 * and resume_ip where the signal handler continues.
 */
static unsigned long trap_ip, resume_ip;

/* @insn is a fault: the instruction pointer is at it. %rdi holds @arg. */
#define RAISE_FAULT(before, insn, after, arg) ({			\
	asm volatile("lea 1f(%%rip), %%rax; mov %%rax, %[ip];"		\
		     "lea 2f(%%rip), %%rax; mov %%rax, %[resume];"	\
		     before "; 1: " insn "; 2: " after			\
		     : [ip] "=m" (trap_ip), [resume] "=m" (resume_ip)	\
		     : "D" (arg), [fcw] "m" (unmasked_fcw),		\
		       [mxcsr] "m" (unmasked_mxcsr),			\
		       [mxcsr_default] "m" (default_mxcsr)		\
		     : "rax", "rcx", "rdx", "xmm0", "xmm1", "memory", "cc"); \
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

static void raise_bp(void *arg)
{
	RAISE_TRAP("", "int3", "", arg);
}

static void raise_of(void *arg)
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
	RAISE_FAULT("", "movb $0, (%%rdi)", "", arg);
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
	RAISE_FAULT("pushfq; orl $0x40000, (%%rsp); popfq",
		    "movl (%%rdi), %%eax",
		    "pushfq; andl $~0x40000, (%%rsp); popfq", (char *)arg + 1);
}

/*
 * The probe of an event with userstacktrace follows the frame pointer: let it
 * point at @arg
 */
static void raise_bp_with_frame(void *arg)
{
	RAISE_TRAP("push %%rbp; mov %%rdi, %%rbp", "int3", "pop %%rbp", arg);
}

/*
 * BOUND exists in 32-bit code only, and 64-bit code gets there by sigreturn().
 * The code and what it refers to are at an address below 4 GiB.
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

enum argument { NO_PAGE, NEW_PAGE, OLD_PAGE };

static const struct user_trap {
	unsigned int vector, error_code;
	const char *name, *what;
	void (*raise)(void *arg);
	int signal;
	enum argument argument;
	bool optional;		/* an emulated CPU may not raise it */
} user_traps[] = {
	{ 0, 0, "#DE", "div by zero", raise_de, SIGFPE },
	{ 3, 0, "#BP", "int3", raise_bp, SIGTRAP },
	{ 4, 0, "#OF", "int $4", raise_of, SIGSEGV },
	{ 5, 0, "#BR", "bound in 32-bit code", raise_br, SIGSEGV },
	{ 6, 0, "#UD", "ud2", raise_ud, SIGILL },
	{ 11, LDT_ERROR_CODE, "#NP", "absent segment in %fs", raise_np, SIGBUS },
	{ 12, LDT_ERROR_CODE, "#SS", "absent segment in %ss", raise_ss, SIGBUS },
	{ 13, 0, "#GP", "hlt", raise_gp, SIGSEGV },
	{ 14, PF_USER | PF_WRITE, "#PF", "write to a new page", raise_pf, 0,
	  NEW_PAGE },
	{ 14, PF_USER | PF_WRITE, "#PF", "write where nothing is mapped",
	  raise_pf, SIGSEGV },
	{ 16, 0, "#MF", "fwait", raise_mf, SIGFPE },
	{ 17, 0, "#AC", "unaligned load", raise_ac, SIGBUS, OLD_PAGE, true },
	{ 19, 0, "#XM", "divss by zero", raise_xm, SIGFPE, NO_PAGE, true },
};

static const struct user_trap guard_trap = {
	.vector = 3, .raise = raise_bp_with_frame, .signal = SIGTRAP,
};

/* The asm clobbers memory: no need for volatile */
static const struct user_trap *current_trap;
static sig_atomic_t signals;
static sigjmp_buf unexpected;
static bool have_ldt;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	const struct user_trap *t = current_trap;
	ucontext_t *uc = context;
	greg_t *regs = uc->uc_mcontext.gregs;

	(void)info;
	if (t && t->raise == raise_br && signal == SIGUSR1) {
		before_br = *uc;
		/* The lowest 16 bits are CS: the kernel's __USER32_CS */
		regs[REG_CSGSFS] = (regs[REG_CSGSFS] & ~0xffffL) | 0x23;
		regs[REG_RIP] = trap_ip;
		regs[REG_RAX] = 5;
		regs[REG_RCX] = (unsigned long)low->limits;
		return;
	}
	if (!t || signal != t->signal ||
	    (unsigned long)regs[REG_RIP] != trap_ip) {
		if (t)
			siglongjmp(unexpected, signal);
		/* Not ours at all: die of it */
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL },
			  NULL);
		return;
	}
	if (t->raise == raise_br)
		memcpy(regs, before_br.uc_mcontext.gregs,
		       sizeof(before_br.uc_mcontext.gregs));
	else
		regs[REG_RIP] = resume_ip;
	signals++;
}

static char *new_pages(size_t size)
{
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	/* One fault a page */
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
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
	low = mmap(NULL, sizeof(*low), PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (stack.ss_sp == MAP_FAILED || low == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	memcpy(low->bound_ecx, "\x62\x01", 2);	/* bound %eax, (%ecx) */
	low->limits[1] = 1;

	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
		sigaction(handled[i], &sa, NULL);

	have_ldt = !syscall(SYS_modify_ldt, 1, &absent, sizeof(absent));
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
	default:
		return NULL;
	}
}

static void test_user_trap(const struct user_trap *t)
{
	const size_t size = (ROUNDS + 1) * sysconf(_SC_PAGESIZE);
	struct expect x = {
		.vector = t->vector, .error_code = t->error_code,
		.name = t->name, .user = true, .rounds = ROUNDS,
	};
	int signal;
	char *pages;

	if (t->error_code == LDT_ERROR_CODE && t->signal == SIGBUS && !have_ldt) {
		ksft_test_result_skip("user %s, %s: no modify_ldt()\n",
				      t->name, t->what);
		return;
	}
	pages = new_pages(size);
	signal = sigsetjmp(unexpected, 1);
	if (signal) {
		trace_off();
		ksft_print_msg("unexpected signal: %s\n", strsignal(signal));
		ksft_test_result_fail("user %s, %s\n", t->name, t->what);
		goto out;
	}
	current_trap = t;
	signals = 0;
	t->raise(argument(t, pages, 0));
	if (t->optional && !signals) {
		ksft_test_result_skip("user %s, %s: this CPU does not raise it\n",
				      t->name, t->what);
		goto out;
	}

	signals = 0;
	/* A page fault may be somebody else's; the others may not */
	if (t->vector == 14)
		trace_on("vector == 14 && ip == 0x%lx", trap_ip);
	else
		trace_on("vector == %d", t->vector);
	for (int i = 1; i <= ROUNDS; i++)
		t->raise(argument(t, pages, i));
	trace_off();

	/* No signal is delivered before trap_exit, so nothing moves it */
	snprintf(x.entry_ip, sizeof(x.entry_ip), "0x%lx", trap_ip);
	snprintf(x.exit_ip, sizeof(x.exit_ip), "0x%lx", trap_ip);
	if (t->signal && signals != ROUNDS)
		ksft_print_msg("%d of %d signals\n", (int)signals, ROUNDS);
	ksft_test_result(trace_matches(&x) &&
			 (!t->signal || signals == ROUNDS),
			 "user %s, %s\n", t->name, t->what);
out:
	current_trap = NULL;
	munmap(pages, size);
}

/*
 * Kernel mode
 */
static const struct kernel_trap {
	unsigned int vector;
	const char *name;
} kernel_traps[] = {
	{ 0, "#DE" }, { 3, "#BP" }, { 4, "#OF" }, { 5, "#BR" }, { 6, "#UD" },
	{ 7, "#NM" }, { 9, "OLD_MF" }, { 10, "#TS" }, { 11, "#NP" },
	{ 12, "#SS" }, { 13, "#GP" }, { 14, "#PF" }, { 15, "SPURIOUS" },
	{ 16, "#MF" }, { 17, "#AC" }, { 19, "#XM" }, { 21, "#CP" },
};

static bool read_kernel_trap(struct expect *x)
{
	unsigned int vector;
	bool found = false;
	char line[512];
	FILE *f;

	f = fopen(RAISE_FILE, "r");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%u %x %159s %159s", &vector,
			       &x->error_code, x->entry_ip, x->exit_ip) == 4 &&
			vector == x->vector;
	fclose(f);
	return found;
}

/* Raising #NM and #CP in kernel mode makes a WARN(), and that may be fatal */
static bool warnings_panic(void)
{
	char c = '0';
	FILE *f;

	f = fopen("/proc/sys/kernel/panic_on_warn", "r");
	if (f) {
		c = fgetc(f);
		fclose(f);
	}
	return c != '0';
}

static void test_kernel_trap(const struct kernel_trap *t)
{
	struct expect x = {
		.vector = t->vector, .name = t->name,
		.rounds = t->vector == 7 ? ROUNDS_NM : ROUNDS,
	};
	char text[16];
	int fd, len;

	if ((t->vector == 7 || t->vector == 21) && warnings_panic()) {
		ksft_test_result_skip("kernel %s: it would panic on a warning\n",
				      t->name);
		return;
	}
	fd = read_kernel_trap(&x) ? open(RAISE_FILE, O_WRONLY) : -1;
	if (fd < 0) {
		ksft_test_result_skip("kernel %s: the kernel has no means to raise it\n",
				      t->name);
		return;
	}
	len = snprintf(text, sizeof(text), "%u", t->vector);

	if (t->vector == 14)
		trace_on("vector == 14 && user_mode == 0");
	else
		trace_on("vector == %d", t->vector);
	for (int i = 0; i < x.rounds; i++)
		if (write(fd, text, len) != len)
			ksft_print_msg("write: %s\n", strerror(errno));
	trace_off();
	close(fd);

	ksft_test_result(trace_matches(&x), "kernel %s\n", t->name);
}

/*
 * The guard: with userstacktrace, the probe of each event follows the frame
 * pointer to a page which is not there. The probe faults in kernel mode, and
 * this must not be traced. The older event for page faults shows that it did.
 */
static void test_guard(void)
{
	const size_t page_size = sysconf(_SC_PAGESIZE);
	int entries = 0, exits = 0, nested = 0, faults = 0;
	char line[512];
	struct event e;
	char *pages;
	FILE *f;

	if (write_trace_file("options/userstacktrace", "1") ||
	    write_trace_file(WITNESS "/filter", "common_pid == %d", getpid()) ||
	    write_trace_file(WITNESS "/enable", "1")) {
		ksft_test_result_skip("guard: no userstacktrace, or no " WITNESS "\n");
		return;
	}
	pages = new_pages(ROUNDS_GUARD * page_size);
	current_trap = &guard_trap;
	signals = 0;
	trace_on("vector >= 0");
	for (int i = 0; i < ROUNDS_GUARD; i++)
		raise_bp_with_frame(pages + i * page_size);
	trace_off();
	current_trap = NULL;
	write_trace_file("options/userstacktrace", "0");
	write_trace_file(WITNESS "/enable", "0");

	f = open_trace();
	while (next_event(f, &e)) {
		if (e.vector == 3)
			++*(e.exit ? &exits : &entries);
		else if (!e.user)
			nested++;
	}
	rewind(f);
	while (fgets(line, sizeof(line), f))
		faults += !!strstr(line, ": page_fault_kernel:");
	fclose(f);
	munmap(pages, ROUNDS_GUARD * page_size);

	ksft_print_msg("%d raised, %d entries, %d exits, %d faults, %d nested events\n",
		       ROUNDS_GUARD, entries, exits, faults, nested);
	ksft_test_result(!nested && faults >= ROUNDS_GUARD && entries == ROUNDS_GUARD &&
			 exits == ROUNDS_GUARD,
			 "guard: a stack walk that faults is not traced\n");
}

int main(void)
{
	cpu_set_t one;

	ksft_print_header();
	if (getuid())
		ksft_exit_skip("needs root\n");
	if (access(TRACING "/events/trap/trap_exit", F_OK))
		ksft_exit_skip("no trap events in " TRACING "\n");

	/* On one CPU, the trace has entry and exit in the order of time */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		ksft_exit_fail_msg("sched_setaffinity: %s\n", strerror(errno));

	make_instance();
	atexit(remove_instance);
	if (write_trace_file("buffer_size_kb", "1024"))
		ksft_exit_fail_msg("buffer_size_kb: %s\n", strerror(errno));
	set_up_user_traps();

	ksft_set_plan(ARRAY_SIZE(user_traps) + ARRAY_SIZE(kernel_traps) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(user_traps); i++)
		test_user_trap(&user_traps[i]);
	for (size_t i = 0; i < ARRAY_SIZE(kernel_traps); i++)
		test_kernel_trap(&kernel_traps[i]);
	test_guard();
	ksft_finished();
}
