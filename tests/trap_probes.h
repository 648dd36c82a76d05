/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of trap_probes share */
#ifndef TESTS_TRAP_PROBES_H
#define TESTS_TRAP_PROBES_H

#include <linux/perf_event.h>

#include "lib.h"

#define ROUNDS		100
#define MANY_ROUNDS	100000
#define STEPS		50
#define STRESS_SECONDS	10
#define STRESS_ROUNDS	5

/* What the instances show of this process */
struct outcome {
	int entries, exits;	/* of the outer traps */
	int nested;		/* traps of kernel mode */
	unsigned long suppressed;
};

/*
 * perf
 */
struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/* trap_probes.c has result(), as kselftest.h counts the results of each file */
void result(bool good, const char *what);
void skipped(const char *what, const char *why);
extern const char *instance, *second;
extern bool pagefaults;
extern char walk[IP_SIZE];
extern char *pages;
extern sig_atomic_t signals;
int count_faults(void);
int kernel_breakpoint(const char *symbol);

/* trap_probes-count.c */
void on_sigtrap(int signal);
void raise_steps(void);
void mine(char *filter, size_t size);
bool have_pagefaults(void);
bool pagefaults_fire(void);
void all_on(const char *instance, const char *filter);
void all_off(const char *instance);
struct outcome count(const char *instance, unsigned int vector);
bool watch_faults(bool on);
struct outcome measure(const char *instance, int rounds);
bool good(const struct outcome *o, int rounds);
bool option(const char *instance, const char *name, bool on);

/* trap_probes-means.c */
bool open_ring(struct ring *r, const char *event);
void read_ring(struct ring *r, int *outer, int *others, int *lost);
int bpf_counter(void);
int bpf_faulting_program(int map);
__u64 bpf_count(int map);
int attach_bpf(const char *event, int program);
int add_kprobe(const char *name, const char *symbol);
void remove_kprobes(void);
unsigned long kprobe_hits(const char *name);

/* trap_probes-stress.c */
void test_nmi_outside(void);
void test_mc_outside(void);
void test_stress(void);

#endif
