// SPDX-License-Identifier: GPL-2.0
/*
 * The demo of "make run": raises each of a few traps a known number of times,
 * with a handler, and says how often.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static sig_atomic_t handled;

/* Continue behind the instruction: its length is in %r8, 0 for a trap */
static void on_signal(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	regs[REG_RIP] += regs[REG_R8];
	handled++;
}

static void divide_by_zero(void)
{
	asm volatile("mov $2, %%r8; xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx"
		     ::: "rax", "rcx", "rdx", "r8");
}

static void breakpoint(void)
{
	asm volatile("mov $0, %%r8; int3" ::: "r8");
}

static void invalid_opcode(void)
{
	asm volatile("mov $2, %%r8; ud2" ::: "r8");
}

static void general_protection(void)
{
	asm volatile("mov $1, %%r8; hlt" ::: "r8");
}

static void no_mapping(void)
{
	asm volatile("mov $8, %%r8; movb 8, %%al" ::: "rax", "r8");
}

static char *page;
static void new_page(void)
{
	asm volatile("movb $1, (%0)" : : "r" (page) : "memory");
	page += sysconf(_SC_PAGESIZE);
}

static void demo(const char *what, int times, void (*raise)(void))
{
	handled = 0;
	for (int i = 0; i < times; i++)
		raise();
	asm volatile("" : : : "memory");	/* on_signal() has counted */
	printf("%-36s %d times, %d signals\n", what, times, (int)handled);
}

int main(void)
{
	static const int signals[] = { SIGFPE, SIGTRAP, SIGILL, SIGSEGV };
	struct sigaction sa = {
		.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO,
	};

	for (unsigned int i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
	page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 1;

	demo("#DE, division by zero", 2, divide_by_zero);
	demo("#BP, int3", 3, breakpoint);
	demo("#UD, ud2", 2, invalid_opcode);
	demo("#GP, hlt in user mode", 2, general_protection);
	demo("#PF, read of address 8", 2, no_mapping);
	demo("#PF, first write to a page", 4, new_page);
	return 0;
}
