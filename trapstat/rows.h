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

enum { LAST_VECTOR = 32 };

/**
 * vector_of_signal - The trap of user mode that a signal is of
 * @last:	the vector that the task has noted
 * @number:	of the signal
 * @si_code:	its code; 0 for SI_KERNEL
 *
 * A few signals leave the vector of an older trap where it was.
 *
 * Return: the vector, or NO_VECTOR
 */
static inline unsigned int
vector_of_signal(unsigned long long last, unsigned int number, unsigned int si_code)
{
	static const struct {
		unsigned char number;
		unsigned short codes;	/* a bit for each */
	} sent[LAST_VECTOR + 1] = {
		[0] = { 8, 1 << 1 },				/* SIGFPE, FPE_INTDIV */
		[1] = { 5, 1 << 1 | 1 << 2 | 1 << 4 },		/* SIGTRAP, TRAP_BRKPT... */
		[3] = { 5, 1 << 0 },
		[4] = { 11, 1 << 0 },				/* SIGSEGV */
		[5] = { 11, 1 << 0 },
		[6] = { 4, 1 << 2 },				/* SIGILL, ILL_ILLOPN */
		[9] = { 8, 1 << 0 },
		[10] = { 11, 1 << 0 },
		[11] = { 7, 1 << 0 },				/* SIGBUS */
		[12] = { 7, 1 << 0 },
		[13] = { 11, 1 << 0 },
		[ROW_PF] = { 11, 1 << 1 | 1 << 2 | 1 << 4 },	/* SEGV_MAPERR... */
		[16] = { 8, 0xf8 },				/* FPE_FLTDIV... */
		[17] = { 7, 1 << 1 },				/* BUS_ADRALN */
		[19] = { 8, 0xf8 },
		[20] = { 11, 1 << 0 },
		[21] = { 11, 1 << 10 },				/* SEGV_CPERR */
		[32] = { 4, 1 << 8 },				/* ILL_BADSTK */
	};

	/* SIGILL, ILL_ILLOPC: #NM of AMX without permission, which is not noted */
	if (number == 4 && si_code == 1)
		return 7;
	/* SIGBUS, BUS_OBJERR: #VC, which is not noted either */
	if (number == 7 && si_code == 3)
		return 29;
	if (last > LAST_VECTOR || si_code >= SIGNAL_CODES)
		return NO_VECTOR;
	/* SIGBUS, BUS_ADRERR */
	if (last == ROW_PF && number == 7 && si_code == 2)
		return last;
	return sent[last].number == number && sent[last].codes >> si_code & 1 ? last : NO_VECTOR;
}

#endif
