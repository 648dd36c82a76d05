/* SPDX-License-Identifier: GPL-2.0 */
#ifndef COUNTS_H
#define COUNTS_H

#include <stddef.h>
#include "sources.h"

struct fault_row {
	struct fault_key key;
	struct fault_sum sum;
};

/* All since counts_next() */
struct counts {
	int cpus;
	bool knows_skips;			/* whether the kernel counts skipped programs */
	bool is_partial;			/* skipped programs may be for what is left out */
	double seconds;				/* from then to the last reading */
	struct trap_sum *trap, *trap_before;	/* [ROWS][2][cpus] */
	unsigned long long signal[SIGNALS * SIGNAL_CODES], signal_before[SIGNALS * SIGNAL_CODES];
	unsigned long long lost[LOSTS], lost_before[LOSTS];
	unsigned long long failed[FAILURES], failed_before[FAILURES];
	struct skips {
		unsigned long long calls, times, tasks, waits;
	} skips_before;
	struct fault_row *fault;
	size_t faults, room;
	struct event slow[SLOWEST];		/* the slowest first */
	int slows;
	unsigned long long begin, last;		/* ns of CLOCK_MONOTONIC; last: reading */
};

int counts_init(struct counts *c, struct sources *s);
void counts_next(struct counts *c);
int counts_end(struct counts *c, struct sources *s);
int counts_read(struct counts *c, struct sources *s);
int counts_add(struct counts *to, const struct counts *c);
void counts_free(struct counts *c);
struct trap_sum counts_trap(const struct counts *c, int row, int mode, int cpu);
void sum_add(struct fault_sum *to, const struct fault_sum *sum);
unsigned long long sum_percentile(const struct fault_sum *sum, double share);
double counts_age(const struct counts *c);

#endif
