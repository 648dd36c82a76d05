// SPDX-License-Identifier: GPL-2.0
/*
 * raise [N]: on each CPU, raise as many #UD: N on the first, twice as many on the
 * second and so on. Without N, go on until a signal ends it, with page faults as well,
 * on all CPUs at the same time.
 *
 * raise each N: raise N of each kind of trap and page fault that there is below, each in a
 * function of its own, and print what they were, each kind in one line:
 *
 *	FUNCTION vector=V error_code=E mode=M ip=IP outcome=O signo=S si_code=C flags=F
 *		vm_fault=R address=FROM-TO tgid=PID count=N
 *
 * with "-" for what a kind does not have. A page fault of the process that is none of
 * these has another address, or another ip. To be built by
 * gcc -O0 -mno-red-zone -static: each function is in the stacks then.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <asm/ldt.h>

#define PAGES		16
#define EFLAGS_TF	0x100
#define NO_PAGE		0x002	/* VM_FAULT_SIGBUS */
#define LOCKED		0x200	/* VM_FAULT_LOCKED, from the file whose page is copied */

static long page_size;
static char *pages;

/* Of the kind that is being raised: where, where to go on after its signal, which signal */
static unsigned long ip, resume;
static int signo, si_code;
static const unsigned short unmasked_fcw = 0x37b;	/* a division by zero */

static void skip_ud2(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		err(1, "CPU %d", cpu);
}

static void go_on(void)
{
	for (;;) {
		for (int i = 0; i < 10; i++)
			asm volatile("ud2");
		if (madvise(pages, PAGES * page_size, MADV_DONTNEED))
			err(1, "madvise");
		for (int i = 0; i < PAGES; i++)
			pages[i * page_size] = 1;
		/* An emulator of one thread gives each CPU 100 ms, unless it idles */
		usleep(100);
	}
}

/* The signal comes at ip, which is @insn for a fault, and behind it for a trap */
#define RAISE_FAULT(before, insn, after, arg) ({				\
	asm volatile("lea 1f(%%rip), %%rax; mov %%rax, %[ip];"			\
		     "lea 2f(%%rip), %%rax; mov %%rax, %[resume];"		\
		     before "; 1: " insn "; 2: " after				\
		     : [ip] "=m" (ip), [resume] "=m" (resume)			\
		     : [at] "D" (arg), [fcw] "m" (unmasked_fcw)			\
		     : "rax", "rcx", "rdx", "memory", "cc"); \
})

#define RAISE_TRAP(insn, arg)	RAISE_FAULT(insn, "", "", arg)

static void divide(char *p)
{
	RAISE_FAULT("xor %%edx, %%edx; xor %%ecx, %%ecx", "div %%ecx", "", p);
}

/* EFLAGS.TF takes effect after the next instruction; the handler clears it */
static void single_step(char *p)
{
	RAISE_TRAP("pushfq; orq $0x100, (%%rsp); popfq; nop", p);
}

static void breakpoint(char *p)
{
	RAISE_TRAP("int3", p);
}

static void overflow(char *p)
{
	RAISE_TRAP("int $4", p);
}

static void undefined(char *p)
{
	RAISE_FAULT("", "ud2", "", p);
}

static void absent_segment(char *p)
{
	RAISE_FAULT("mov $7, %%eax", "mov %%ax, %%fs", "", p);
}

static void absent_stack(char *p)
{
	RAISE_FAULT("mov $7, %%eax", "mov %%ax, %%ss", "", p);
}

static void privileged(char *p)
{
	RAISE_FAULT("", "hlt", "", p);
}

static void x87(char *p)
{
	RAISE_FAULT("fninit; fldcw %[fcw]; fld1; fldz; fdivrp", "fwait", "fninit", p);
}

static void write_new(char *p)
{
	RAISE_FAULT("", "movb $1, (%[at])", "", p);
}

static void copy_page(char *p)
{
	RAISE_FAULT("", "movb $1, (%[at])", "", p);
}

static void read_nothing(char *p)
{
	RAISE_FAULT("", "movb (%[at]), %%al", "", p);
}

static void read_forbidden(char *p)
{
	RAISE_FAULT("", "movb (%[at]), %%al", "", p);
}

static void read_past_end(char *p)
{
	RAISE_FAULT("", "movb (%[at]), %%al", "", p);
}

/* The kernel writes there, and finds nothing */
static void kernel_write(char *p)
{
	if (syscall(SYS_getcpu, p, NULL, NULL) != -1 || errno != EFAULT)
		errx(1, "the kernel wrote to %p", p);
}

/* By get_user_pages() */
static void remote_read(char *p)
{
	char byte;
	struct iovec from = { p, 1 }, to = { &byte, 1 };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
		err(1, "process_vm_readv");
}

static const struct kind {
	const char *function;
	void (*raise)(char *p);
	int vector, error_code;		/* -1: no trap */
	int mode;			/* 1: of user mode */
	const char *outcome;		/* the rest is of page faults only */
	int signo, si_code, flags, vm_fault;
	enum { NOWHERE, NEW, COPY, NOTHING, FORBIDDEN, PAST_END, BAD, REMOTE } where;
} kinds[] = {
	{ "divide", divide, 0, 0, 1 },
	{ "single_step", single_step, 1, 0x4000, 1 },
	{ "breakpoint", breakpoint, 3, 0, 1 },
	{ "overflow", overflow, 4, 0, 1 },
	{ "undefined", undefined, 6, 0, 1 },
	{ "absent_segment", absent_segment, 11, 4, 1 },
	{ "absent_stack", absent_stack, 12, 4, 1 },
	{ "privileged", privileged, 13, 0, 1 },
	{ "x87", x87, 16, 0, 1 },
	{ "write_new", write_new, 14, 0x6, 1, "MINOR", 0, 0, 0x1, 0, NEW },
	{ "copy_page", copy_page, 14, 0x6, 1, "MINOR", 0, 0, 0x14, LOCKED, COPY },
	{ "read_nothing", read_nothing, 14, 0x4, 1, "SIGNAL", SIGSEGV, SEGV_MAPERR, 0, 0, NOTHING },
	{ "read_forbidden", read_forbidden, 14, 0x4, 1, "SIGNAL", SIGSEGV, SEGV_ACCERR, 0, 0,
	  FORBIDDEN },
	{ "read_past_end", read_past_end, 14, 0x4, 1, "SIGNAL", SIGBUS, BUS_ADRERR, 0x4, NO_PAGE,
	  PAST_END },
	{ "kernel_write", kernel_write, 14, 0x2, 0, "FIXUP", 0, 0, 0, 0, BAD },
	{ "remote_read", remote_read, -1, 0, 0, "MINOR", 0, 0, 0x1, 0, REMOTE },
};

static void go_on_behind(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	signo = signal;
	si_code = info->si_code;
	if ((unsigned long)regs[REG_RIP] != ip)
		errx(1, "signal %d at %#llx, not %#lx", signal, regs[REG_RIP], ip);
	regs[REG_RIP] = resume;
	regs[REG_EFL] &= ~EFLAGS_TF;
}

static char *map(int prot, int fd, long n)
{
	int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
	/* A page without access on either side, so that no other mapping comes near */
	char *p = mmap(NULL, (n + 2) * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED ||
	    mmap(p + page_size, n * page_size, prot, flags | MAP_FIXED, fd, 0) == MAP_FAILED)
		err(1, "mmap");
	p += page_size;
	if (fd < 0)
		madvise(p, n * page_size, MADV_NOHUGEPAGE);
	return p;
}

static void raise_each(long n)
{
	static const int signals[] = { SIGFPE, SIGTRAP, SIGSEGV, SIGILL, SIGBUS };
	struct sigaction sa = { .sa_sigaction = go_on_behind, .sa_flags = SA_SIGINFO };
	struct user_desc absent = {
		.limit = 0xfff, .limit_in_pages = 1, .seg_32bit = 1, .seg_not_present = 1,
	};
	int fd = memfd_create("raise", 0), empty = memfd_create("empty", 0);
	char *where[REMOTE + 1] = { [BAD] = (char *)16 };
	const int prot = PROT_READ | PROT_WRITE;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
	if (fd < 0 || empty < 0 || syscall(SYS_modify_ldt, 1, &absent, sizeof(absent)))
		err(1, "memfd_create, modify_ldt");
	for (long i = 0; i < n; i++)
		if (pwrite(fd, "x", 1, i * page_size) != 1)
			err(1, "memfd");
	where[NEW] = map(prot, -1, n);
	where[COPY] = map(prot, fd, n);
	where[REMOTE] = map(prot, -1, n);
	where[FORBIDDEN] = map(PROT_NONE, -1, n);
	where[PAST_END] = map(prot, empty, n);
	where[NOTHING] = map(prot, -1, n);
	munmap(where[NOTHING], n * page_size);

	printf("pid %d\n", getpid());
	fflush(stdout);
	for (const struct kind *k = kinds; k < kinds + sizeof(kinds) / sizeof(*kinds); k++) {
		char *from = where[k->where];
		long step = k->where == NOWHERE || k->where == BAD ? 0 : page_size;

		ip = 0;
		signo = 0;
		si_code = 0;
		for (long i = 0; i < n; i++)
			k->raise(from + i * step);
		if (k->vector == 14 && (signo != k->signo || si_code != k->si_code))
			errx(1, "%s: signal %d with %d", k->function, signo, si_code);

		printf("%s vector=%d error_code=0x%x mode=%s ", k->function, k->vector,
		       k->error_code, k->vector < 0 ? "-" : k->mode ? "user" : "kernel");
		if (ip)
			printf("ip=0x%lx ", ip);
		else
			printf("ip=- ");
		if (k->where == NOWHERE) {
			printf("outcome=- address=- ");
		} else {
			printf("outcome=%s signo=%d si_code=%d flags=0x%x vm_fault=0x%x ",
			       k->outcome, k->signo, k->si_code, k->flags, k->vm_fault);
			printf("address=0x%lx-0x%lx tgid=%d ", (long)from,
			       (long)from + (step ? n * step : 1), getpid());
		}
		printf("count=%ld\n", n);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = skip_ud2, .sa_flags = SA_SIGINFO };
	int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int each = argc == 3 && !strcmp(argv[1], "each");
	long n = argc > 1 ? atol(argv[argc - 1]) : 0;

	if (argc > 3 || (argc == 3 && !each) || (argc > 1 && n < 1))
		errx(1, "usage: raise [[each] N]");
	page_size = sysconf(_SC_PAGESIZE);
	if (each) {
		raise_each(n);
		return 0;
	}
	pages = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || sigaction(SIGILL, &sa, NULL))
		err(1, "memory");

	for (int cpu = 0; cpu < cpus; cpu++) {
		if (!n && !fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pin(cpu);
			go_on();
		}
		for (long i = 0; i < n * (cpu + 1); i++) {
			if (!i)
				pin(cpu);
			asm volatile("ud2");
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
