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

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/* trap_probes.c */
extern const char *instance, *second;
extern const char *why;		/* the test cannot be run */
extern bool pagefaults;
extern char mine[64];		/* the filter for this process */
extern char *pages;
extern sig_atomic_t signals;
int count_faults(void);
int kernel_breakpoint(const char *symbol);

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
bool open_ring(struct ring *r, const char *event);
void read_ring(struct ring *r, int *outer, int *others, int *lost);
int bpf_counter(void);
int bpf_faulting_program(int map);
__u64 bpf_count(int map);
int attach_bpf(const char *event, int program);
int open_perf(const char *event, __u64 sample_type, pid_t pid);
int add_kprobe(const char *name, const char *symbol);
void remove_kprobes(void);
unsigned long kprobe_hits(const char *name);

/* trap_probes-stress.c */
bool test_nmi_outside(void);
bool test_mc_outside(void);
bool test_mc_kprobe(void);
bool test_stress(void);

#endif
