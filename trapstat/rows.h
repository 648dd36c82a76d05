/* SPDX-License-Identifier: GPL-2.0 */
/* The traps that have a name of their own beside their vector */
#ifndef ROWS_H
#define ROWS_H

#include "trapstat.h"

#define DR6_BUS_LOCK	0x800
#define EFLAGS_AC	0x40000

enum { CODE = 8 };	/* bytes of an instruction to look at */

/* SGDT, SIDT, SLDT, SMSW and STR, behind at most four prefixes (SDM volume 2) */
static inline int is_umip(const unsigned char code[CODE])
{
	unsigned int prefixes = 0, reg;

	for (int i = 0; i < 4; i++) {
		unsigned char c = code[i];

		if (prefixes == (unsigned int)i &&
		    (c == 0x66 || c == 0x67 || c == 0xf2 || c == 0xf3 || c == 0x2e || c == 0x36 ||
		     c == 0x3e || c == 0x26 || c == 0x64 || c == 0x65 || (c & 0xf0) == 0x40))
			prefixes++;
	}
	/* An index that the verifier can follow */
	for (unsigned int i = 0; i <= 4; i++) {
		if (i != prefixes || code[i] != 0x0f)
			continue;
		reg = code[i + 2] >> 3 & 7;
		if (code[i + 1] == 0)
			return reg <= 1;
		if (code[i + 1] == 1)
			return reg == 4 || (reg <= 1 && code[i + 2] < 0xc0);
	}
	return 0;
}

/**
 * row_of_trap - The row that a trap is counted in
 * @vector:	its vector
 * @mode:	MODE_USER or MODE_KERNEL
 * @error_code:	its error code, as the event trap_entry has it; for #DB, DR6
 * @flags:	EFLAGS, for #AC
 * @code:	the instruction, for #GP of user mode with error code 0
 *
 * The kernel takes the same #AC for a split lock, see exc_alignment_check().
 *
 * Return: the vector, or ROW_SPLIT_LOCK, ROW_BUS_LOCK or ROW_UMIP
 */
static inline unsigned int
row_of_trap(unsigned int vector, unsigned int mode, unsigned long long error_code,
	    unsigned long long flags, const unsigned char code[CODE])
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
