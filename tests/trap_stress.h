/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of trap_stress share */
#ifndef TESTS_TRAP_STRESS_H
#define TESTS_TRAP_STRESS_H

#include "lib.h"

#define MAX_CPUS	64
#define MAX_ACTORS	6
#define FRESH_PAGES	64
#define TRAPS		8
#define EVENTS		4	/* entry and exit of trap, then of pagefault */

#define LIST(...)	((const char * const []){ __VA_ARGS__, NULL })

/*
 * The traps. The address of the instruction identifies those of user mode: only
 * an NMI can have the same. The faulting address identifies those of pages.
 */
struct trap {
	const char *name;
	unsigned int vector, error_code;
	bool user;
	enum { NO_MEMORY, FORBIDDEN_PAGE, FRESH_PAGE } page;
	unsigned int outcome;		/* of a page fault */
	int signal;
};

struct shared {
	bool stop, stop_workers;
	/* What the worker of each CPU reports */
	struct worker {
		unsigned long raised[TRAPS], signals[TRAPS], nmis;
		unsigned long rounds;		/* that ended on the CPU that is meant */
	} workers[MAX_CPUS];
	/* Of each copy of an actor. The effect shows that its acts had one */
	unsigned long acts[MAX_ACTORS][MAX_CPUS], effect[MAX_ACTORS][MAX_CPUS];
};

/* The sums over all parts of a run */
struct sums {
	unsigned long raised[TRAPS], signals[TRAPS];
	unsigned long counted[TRAPS], events[EVENTS][TRAPS];
	unsigned long stray, dropped;		/* events of no trap, and lost */
	unsigned long nmis[2][MAX_CPUS];	/* of the last part: entries, exits */
	unsigned long nmi_entries, nmi_exits;
	unsigned long rounds[MAX_CPUS], acts[MAX_ACTORS][MAX_CPUS], effect;
	bool failed;
};

struct actor {
	const char *what;
	void (*act)(const struct actor *a, int n);	/* does it once */
	enum { ONE, PER_CPU } copies;
	/*
	 * How many acts each copy must do in a minute, on a slow machine; 0
	 * stands for 3. An act that waits for RCU or a probe is slow.
	 */
	unsigned int least;
	const char **where, *file;
	const char * const *texts;
};

struct scenario {
	const char *name;
	struct actor actors[MAX_ACTORS];
	const char *effect;
	enum { NONE, MADE, ON, ON_IN_BOTH } instance;	/* and are the events on? */
	void (*set_up)(void);
	/* Before the instances go; adds to the effect, and to what has failed */
	void (*judge)(bool counted);
	const char *(*cannot)(void);	/* why it is not for this machine, or NULL */
	bool switches;			/* half of the time without the counter */
};

/* trap_stress.c */
extern const struct trap traps[TRAPS];
extern struct shared *shared;
extern struct sums sums;
extern const struct scenario *scenario;
extern int ncpus;
extern char *area;
extern int raise_file;
extern unsigned int seed;
#define say(fmt, ...)	ksft_print_msg("%s: " fmt "\n", scenario->name, ##__VA_ARGS__)

/* trap_stress-traps.c */
void set_filters(void);
extern char trap_filter[448], fault_filter[128];
void work(int cpu);
void counter_on(void);
void counter_off(void);
unsigned long value(const char *line, const char *name);
void read_counter(void);

/* trap_stress-actors.c */
extern const struct scenario scenarios[];
extern unsigned long *my_effect;
extern bool cut_short;
bool stopped(void);
void make_hog(void);
void set_up(void);
void clean_up(void);
void remove_stressed(void);

#endif
