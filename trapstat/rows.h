/* SPDX-License-Identifier: GPL-2.0 */
/* The traps that have a name of their own beside their vector */
#ifndef ROWS_H
#define ROWS_H

#include "trapstat.h"

#define DR6_BUS_LOCK	0x800
#define EFLAGS_AC	0x40000

static inline int is_prefix(unsigned char c)
{
	return c == 0x66 || c == 0x67 || c == 0xf2 || c == 0xf3 || c == 0x2e || c == 0x36 ||
		c == 0x3e || c == 0x26 || c == 0x64 || c == 0x65 || (c & 0xf0) == 0x40;
}

/*
 * SGDT, SIDT, SLDT, SMSW and STR, behind at most four prefixes (SDM volume 2). The first byte is
 * the lowest: the verifier does not follow an index that clang 14 makes.
 */
static inline int is_umip(unsigned long long code)
{
	unsigned int reg;

	for (int i = 0; i < 4 && is_prefix(code); i++)
		code >>= 8;
	reg = code >> 19 & 7;
	if ((code & 0xffff) == 0x000f)
		return reg <= 1;
	return (code & 0xffff) == 0x010f && (reg == 4 || (reg <= 1 && (code >> 16 & 0xff) < 0xc0));
}

/**
 * row_of_trap - The row that a trap is counted in
 * @vector:	its vector
 * @mode:	MODE_USER or MODE_KERNEL
 * @error_code:	its error code, as the event trap_entry has it; for #DB, DR6
 * @flags:	EFLAGS, for #AC
 * @code:	eight bytes of the instruction, for #GP of user mode with error code 0
 *
 * The kernel takes the same #AC for a split lock, see exc_alignment_check().
 *
 * Return: the vector, or ROW_SPLIT_LOCK, ROW_BUS_LOCK or ROW_UMIP
 */
static inline unsigned int
row_of_trap(unsigned int vector, unsigned int mode, unsigned long long error_code,
	    unsigned long long flags, unsigned long long code)
{
	if (vector == 1 && error_code & DR6_BUS_LOCK)
		return ROW_BUS_LOCK;
	if (vector == 17 && (mode == MODE_KERNEL || !(flags & EFLAGS_AC)))
		return ROW_SPLIT_LOCK;
	if (vector == 13 && mode == MODE_USER && !error_code && is_umip(code))
		return ROW_UMIP;
	return vector;
}

#endif
