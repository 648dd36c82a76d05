/* SPDX-License-Identifier: GPL-2.0 */
/* Traps that an instruction in user mode raises, see user_traps.c */
#ifndef TRAP_USER_TRAPS_H
#define TRAP_USER_TRAPS_H

#include <stdbool.h>
#include <stddef.h>

/* Bits of DR6, SDM volume 3, "Debug Status Register (DR6)" */
#define DR6_B0		0x1
#define DR6_BS		0x4000

/* What the caller passes as @arg */
enum argument {
	NO_PAGE,
	OLD_PAGE,		/* memory with a page */
	WATCHED,		/* memory that the caller watches */
};

struct user_trap {
	unsigned int vector, error_code;
	const char *name, *what;
	void (*raise)(void *arg);
	int signal;		/* 0 if it sends none */
	enum argument argument;
	bool optional;		/* an emulated CPU may not raise it */
};

extern const struct user_trap user_traps[];
extern const size_t nr_user_traps;

void raise_bp(void *arg);

void set_up_user_traps(void);
const char *cannot_raise(const struct user_trap *t);
int raise_user_trap(const struct user_trap *t, void *arg);

#endif
