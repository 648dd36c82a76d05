// SPDX-License-Identifier: GPL-2.0
/*
 * Tests trapstat/rows.h: the traps that no emulated CPU raises have a row of their own, and
 * signals have the vector of their trap
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "../../trapstat/rows.h"

static int failed;

static void check(const char *what, unsigned int want, unsigned int vector, unsigned int mode,
		  unsigned long long error_code, unsigned long long flags, const char *bytes,
		  size_t size)
{
	unsigned long long code = 0;
	unsigned int row;

	memcpy(&code, bytes, size);
	row = row_of_trap(vector, mode, error_code, flags, code);
	if (row != want) {
		printf("%s: row %u, not %u\n", what, row, want);
		failed = 1;
	}
}

#define is(what, row, vector, mode, error_code, flags, bytes) \
	check(what, row, vector, mode, error_code, flags, bytes, sizeof(bytes) - 1)

static void sent(const char *what, unsigned int want, unsigned int last, unsigned int number,
		 unsigned int si_code)
{
	unsigned int vector = vector_of_signal(last, number, si_code);

	if (vector != want) {
		printf("%s: vector %u, not %u\n", what, vector, want);
		failed = 1;
	}
}

int main(void)
{
	sent("a division", 0, 0, SIGFPE, FPE_INTDIV);
	sent("x87", 16, 16, SIGFPE, FPE_FLTDIV);
	sent("SSE", 19, 19, SIGFPE, FPE_FLTINV);
	sent("a step", 1, 1, SIGTRAP, TRAP_TRACE);
	sent("int3", 3, 3, SIGTRAP, 0);
	sent("ud2", 6, 6, SIGILL, ILL_ILLOPN);
	sent("into", 4, 4, SIGSEGV, 0);
	sent("hlt", 13, 13, SIGSEGV, 0);
	sent("a stack segment", 12, 12, SIGBUS, 0);
	sent("alignment", 17, 17, SIGBUS, BUS_ADRALN);
	sent("nothing mapped", 14, 14, SIGSEGV, SEGV_MAPERR);
	sent("behind the end of a file", 14, 14, SIGBUS, BUS_ADRERR);
	sent("a shadow stack", 21, 21, SIGSEGV, 10);
	sent("AMX", 7, 6, SIGILL, ILL_ILLOPC);
	sent("an event of perf, after a step", NO_VECTOR, 1, SIGTRAP, 6);
	sent("a stack without room for a frame, after a page fault", NO_VECTOR, 14, SIGSEGV, 0);
	sent("bad memory, after alignment", NO_VECTOR, 17, SIGBUS, BUS_MCEERR_AR);
	sent("SIGFPE of POLL_HUP, after a division", NO_VECTOR, 0, SIGFPE, 6);
	sent("a large code", NO_VECTOR, 0, SIGFPE, 16);
	sent("a vector that there is none of", NO_VECTOR, 33, SIGFPE, FPE_INTDIV);
	is("a bus lock", ROW_BUS_LOCK, 1, MODE_USER, 0x800, 0, "");
	is("a bus lock and a step", ROW_BUS_LOCK, 1, MODE_USER, 0x4800, 0, "");
	is("a step", 1, 1, MODE_USER, 0x4000, 0, "");
	is("a split lock", ROW_SPLIT_LOCK, 17, MODE_USER, 0, 0x246, "");
	is("a split lock of the kernel", ROW_SPLIT_LOCK, 17, MODE_KERNEL, 0, EFLAGS_AC, "");
	is("a check of alignment", 17, 17, MODE_USER, 0, EFLAGS_AC | 0x246, "");
	is("sgdt (%rax)", ROW_UMIP, 13, MODE_USER, 0, 0, "\x0f\x01\x01");
	is("sidt (%rcx)", ROW_UMIP, 13, MODE_USER, 0, 0, "\x0f\x01\x09");
	is("smsw %eax", ROW_UMIP, 13, MODE_USER, 0, 0, "\x0f\x01\xe0");
	is("sldt %eax", ROW_UMIP, 13, MODE_USER, 0, 0, "\x0f\x00\xc0");
	is("str %rax", ROW_UMIP, 13, MODE_USER, 0, 0, "\x48\x0f\x00\xc8");
	is("sgdt %gs:(%r9), two prefixes", ROW_UMIP, 13, MODE_USER, 0, 0, "\x65\x41\x0f\x01\x01");
	is("four prefixes", ROW_UMIP, 13, MODE_USER, 0, 0, "\x66\x67\x2e\x40\x0f\x01\x01");
	is("lldt %ax", 13, 13, MODE_USER, 0, 0, "\x0f\x00\xd0");
	is("lgdt (%rcx)", 13, 13, MODE_USER, 0, 0, "\x0f\x01\x11");
	is("vmcall", 13, 13, MODE_USER, 0, 0, "\x0f\x01\xc1");
	is("hlt", 13, 13, MODE_USER, 0, 0, "\xf4");
	is("an error code", 13, 13, MODE_USER, 0x18, 0, "\x0f\x01\x01");
	is("of the kernel", 13, 13, MODE_KERNEL, 0, 0, "\x0f\x01\x01");
	is("a division", 0, 0, MODE_USER, 0, 0, "\xf7\xf1");
	return failed;
}
