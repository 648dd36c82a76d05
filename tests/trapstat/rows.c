// SPDX-License-Identifier: GPL-2.0
/* Tests trapstat/rows.h: the traps that no emulated CPU raises have a row of their own */
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

int main(void)
{
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
