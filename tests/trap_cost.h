/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of trap_cost share */
#ifndef TESTS_TRAP_COST_H
#define TESTS_TRAP_COST_H

#include "lib.h"

/* How many traps come after another; between two of these batches, memory is emptied */
#define BATCH		500
#define AROUND		16		/* pages that a fault maps around it */
#define MAX_TRAPS	100000
#define MAX_THREADS	64
#define WARM_UP		200
#define BLOCK_DEVICE	"/dev/ram0"
#define SWAP_DEVICE	"/dev/ram1"
#define RAMFS_SIZE	(48 << 20)	/* of a file in its place */
#define BUFFER_KB	"16384"		/* for a round: what is lost has another price */
#define MAX_INSTANCES	8

#define CONTROL		0x1
#define SIGNALS		0x2
#define FAULTS		0x4		/* that the mm resolves */
#define BAD_FAULTS	0x8
#define OTHER_FAULTS	0x10		/* if asked for by name only */
#define WALKS		0x20
#define PAGE_FAULTS	(FAULTS | BAD_FAULTS | OTHER_FAULTS)
#define ALL		(CONTROL | SIGNALS | PAGE_FAULTS)

struct kind {
	const char *name;
	unsigned int sort;
	void (*raise)(long i);
	void (*again)(void);
	bool file;
	int share;		/* only one of so many */
	int pages;		/* that it touches, if it is a loop: the price is of a page */
	const char *counter;	/* of /proc/vmstat: one more with each */
};

#define SHARED_LINE	"shared_line"

struct setting {
	const char *file, *on, *off;	/* below TRACING; off in the opposite order */
};

struct way {
	const char *name;
	unsigned int sorts;
	const char *tells;
	struct setting settings[MAX_INSTANCES + 1];
	const char *program, *command;	/* or what runs beside, by a shell */
	const char *check, *why;	/* what has to succeed for that */
};

struct round {
	double mean, median, tenth;	/* the tenth percentile */
};

static inline unsigned long long tsc(void)
{
	unsigned int low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return low | (unsigned long long)high << 32;
}

/* trap_cost.c */
extern char *memory, *file, *private, *mapped, *unmapped, *frame;
extern size_t page, file_size;
extern int rounds, traps, block_device, own_memory;
extern char *only;
__printf(3, 4)
void print_fail(const char *way, const char *kind, const char *why, ...);
void clear_buffer(void);
struct round overhead(void);

/* trap_cost-rates.c */
void measure_rates(const struct way *w, const char *rates, const char *buffers);

/* trap_cost-kinds.c */
extern const struct kind kinds[];
extern const size_t nr_kinds;
void no_trap(long i);
void zero_page(long i);
void major(long i);
void no_memory(void);
const struct kind *find_kind(const char *name);
bool asked_for(const struct kind *k);

/* trap_cost-ways.c */
extern const struct way ways[];
extern const size_t nr_ways;

#endif
