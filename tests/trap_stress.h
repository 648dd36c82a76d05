/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of trap_stress share */
#ifndef TESTS_TRAP_STRESS_H
#define TESTS_TRAP_STRESS_H

#include "lib.h"

#define MAX_CPUS	64
#define MAX_ACTORS	6
#define FRESH_PAGES	64

/* What each CPU writes to, how many pages at a time, and what all of them may have */
#define HOG_SIZE	(4UL << 20)
#define HOG_PAGES	64
#define GROUP_SIZE	"4M"

/*
 * The traps. The address of the instruction identifies those of user mode: only
 * an NMI can have the same. The faulting address identifies those of pages.
 */
enum page { NO_MEMORY, FORBIDDEN_PAGE, FRESH_PAGE };

#define TRAPS		8

struct trap {
	const char *name;
	unsigned int vector, error_code;
	bool user;
	enum page page;
	unsigned int outcome;		/* of a page fault */
	int signal;
};

/* What each child reports, in a place of its own */
struct worker {
	unsigned long raised[TRAPS], signals[TRAPS], nmis;
	unsigned long rounds;		/* that ended on the CPU that is meant */
};

struct shared {
	bool stop, stop_workers;
	struct worker workers[MAX_CPUS];
	unsigned long acts[MAX_ACTORS][MAX_CPUS];
	unsigned long monitor_nmis;
	/* Shows that the acts had an effect, see .effect of the scenario */
	unsigned long effect[MAX_CPUS];
};

/* The sums over all parts of a run */
struct figures {
	unsigned long raised[TRAPS], signals[TRAPS], counted[TRAPS];
	unsigned long trap_entries[TRAPS], trap_exits[TRAPS];
	unsigned long fault_entries[TRAPS], fault_exits[TRAPS];
	unsigned long stray, dropped;	/* events of no trap, and lost */
	unsigned long nmis[2][MAX_CPUS];	/* of the last part: entries, exits */
	unsigned long nmi_entries, nmi_exits;
	unsigned long rounds[MAX_CPUS];
	unsigned long acts[MAX_ACTORS][MAX_CPUS], effect;
	bool failed;
};

struct actor {
	const char *what;
	void (*act)(int n);		/* does it once */
	enum { ONE, PER_CPU } copies;
	/*
	 * How many acts each copy must do in a minute, on a slow machine; 0
	 * stands for 3. An act that waits for RCU or a probe is slow.
	 */
	unsigned int least;
};

struct scenario {
	const char *name;
	struct actor actors[MAX_ACTORS];
	const char *effect;
	void (*set_up)(void);
	/* Before the instances go; adds to the effect, and to what has failed */
	void (*judge)(struct figures *f, bool counted);
	void (*tear_down)(void);
	bool switches;			/* half of the time without the counter */
	const char *(*cannot)(void);	/* why it is not for this machine, or NULL */
};

/*
 * Memory, in KiB
 */
struct memory {
	long available, slab;
};

/* trap_stress.c */
extern const struct trap traps[TRAPS];
extern struct shared *shared;
extern const char *counter, *instance, *second, *third;
extern const char *tmpdir;
extern pid_t tester;
extern int ncpus, seconds, kept;
extern char *area, *hog;
extern int raise_file;
extern unsigned int seed;

/* trap_stress-traps.c */
extern bool cut_short;
extern char trap_filter[448], fault_filter[128];
void want(int ret, const char *what);
bool stopped(void);
void pause_ms(int most);
void work(int cpu);
void counter_on(void);
void counter_off(void);
unsigned long value(const char *line, const char *name);
void read_counter(struct figures *f);

/* trap_stress-actors.c */
extern const struct scenario scenarios[];
extern const int nr_scenarios;
void tear_down_made(void);
void all_online(void);
void remove_probes(void);
void remove_swap_and_group(void);

#endif
