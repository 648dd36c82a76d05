/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of trap_probes share */
#ifndef TESTS_TRAP_PROBES_H
#define TESTS_TRAP_PROBES_H

#include "lib.h"

#define ROUNDS		100
#define STEPS		50

/* What the instances show of this process */
struct outcome {
	int entries, exits;	/* of the outer traps */
	int nested;		/* traps of kernel mode, or page faults in one */
	unsigned long suppressed;
	unsigned long faults;	/* page faults of kernel mode */
};

/* trap_probes.c */
extern const char *instance;
extern const char *why;		/* the test cannot be run */
extern bool pagefaults;
extern char mine[64];		/* the filter for this process */
extern char *pages;

/* trap_probes-means.c */
void raise_many(int rounds);
void raise_steps(void);
bool pagefaults_fire(void);
void all_on(const char *instance);
void all_off(const char *instance);
struct outcome count(const char *instance, unsigned int vector);
bool watch_faults(bool on);
struct outcome measure(int rounds);
bool good(const struct outcome *o, int rounds);
bool option(const char *instance, const char *name, bool on);
int add_kprobe(const char *name, const char *symbol);
void remove_kprobes(void);
unsigned long kprobe_hits(const char *name);

/* trap_probes-outside.c */
bool test_nmi_outside(void);
bool test_mc_outside(void);
bool test_mc_kprobe(void);

#endif
