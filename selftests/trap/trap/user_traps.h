/* SPDX-License-Identifier: GPL-2.0 */
/* The traps that an instruction of a program raises: see user_traps.c */
#ifndef TRAP_USER_TRAPS_H
#define TRAP_USER_TRAPS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of the page fault error code, SDM volume 3, "Page-Fault Exceptions" */
#define PF_PROT		0x1
#define PF_WRITE	0x2
#define PF_USER		0x4
#define PF_INSTR	0x10

/* Bits of DR6, SDM volume 3, "Debug Status Register (DR6)" */
#define DR6_B0		0x1
#define DR6_BS		0x4000

/* What the caller is to hand over */
enum argument {
	NO_PAGE,
	NEW_PAGE,		/* memory without a page yet */
	OLD_PAGE,		/* memory with a page */
	WATCHED,		/* memory with a watchpoint of the caller's */
	KERNEL_TEXT,		/* kernel_text */
};

struct user_trap {
	unsigned int vector, error_code;
	const char *name, *what;
	void (*raise)(void *arg);
	int signal;		/* 0: none comes of it */
	enum argument argument;
	bool optional;		/* an emulated CPU may not raise it */
};

extern const struct user_trap user_traps[];
extern const size_t nr_user_traps;

/*
 * Of the last one of this thread: where it was taken, where a signal handler has to
 * continue, and what its signal said
 */
extern __thread unsigned long trap_ip, resume_ip;
extern __thread siginfo_t user_trap_info;

extern bool have_ldt;
extern uint64_t kernel_text;

/* For the tables of others */
void raise_read(void *arg);
void raise_write(void *arg);
void raise_jump(void *arg);
void raise_bp_in_frame(void *arg);
void raise_de(void *arg);
void raise_bp(void *arg);
void raise_ud(void *arg);

void set_up_user_traps(void);
void set_up_signal_stack(void);
const char *cannot_raise(const struct user_trap *t);
int raise_user_trap(const struct user_trap *t, void *arg);
bool kernel_of_64_bit(void);

#endif
