/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of the trap trace events, see trap.c */
#ifndef TRAP_H
#define TRAP_H

#include "common.h"

#define SUPPRESSED	"/sys/kernel/debug/x86/trap_suppressed"

/* Numbers of vectors, SDM volume 3, "Exception and Interrupt Reference" */
#define BP	3
#define PF	14

/* A record of the trap events */
struct event {
	unsigned int vector, error_code;
	char name[16];
	bool exit, user;
	char ip[IP_SIZE];
	int cpu;
};

/* Expected trace of a CPU: entries and exits in turn */
struct expect_traps {
	unsigned int vector, error_code;
	const char *name;
	bool user;
	char entry_ip[IP_SIZE], exit_ip[IP_SIZE];
	int rounds;
};

void trace_on(const char *instance, const char *filter);
void trace_off(const char *instance);
bool next_event(FILE *f, struct event *e);
bool traps_match(const char *instance, const struct expect_traps *x, int cpu);
unsigned long suppressed(void);
int breakpoint(uint64_t address, bool kernel);

#endif
