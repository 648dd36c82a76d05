/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of trap_fuzz share */
#ifndef TESTS_TRAP_FUZZ_H
#define TESTS_TRAP_FUZZ_H

#include <pthread.h>
#include <sched.h>

#include "lib.h"

#define RAISERS		4
#define SWITCHERS	3
#define THREADS		(RAISERS + SWITCHERS + 1)
#define INSTANCES	4
#define VECTORS		33
#define OPERATIONS	24		/* at most, of each role, and an empty one */
#define LAST		6		/* operations that a thread remembers */
#define LINE		160
#define MAX_PAGES	8
#define SHARED_PAGES	16

/* The name by which the histograms know the traps of the fuzz */
#define NAME		"trap_fuzz"
#define FAIL_PAGE_ALLOC	"/sys/kernel/debug/fail_page_alloc"

/*
 * Trace some functions, and never all. A new instance traces all, and so does
 * one that has refused a filter. With a kprobe in the ring buffer and stack
 * traces, a tracer of the stack walk is busy for hours, in a single trap.
 */
#define SOME_FUNCTIONS	"*fault*"

#define LIST(...)	((const char * const []){ __VA_ARGS__, NULL })

struct thread;

struct operation {
	unsigned int weight;
	const char *name;
	int (*run)(struct thread *me);	/* 0, or a negative error if it was not done */
	/*
	 * What write_one() draws: an instance, what %s stands for in the file and in
	 * the text, and the text, which begins with the file if that is NULL
	 */
	enum { TOP, ANY, BELOW } where;
	const char *file;
	const char * const *names, * const *texts, * const *names_on_top;
	bool or_not;			/* half of the time, "!" and the text */
};

/* The signals of page faults */
#define FAULT_SIGNALS	4

/* Shared with the process that does the round */
struct thread {
	enum role { RAISER, SWITCHER, OUTSIDE, ROLES } role;
	unsigned int number, cpu;
	unsigned long long begun, limit, digest, random;
	const struct operation *doing;
	/* Of this round: in kernel mode, in user mode */
	unsigned long raised[2][VECTORS], signals[FAULT_SIGNALS];
	unsigned long done[OPERATIONS], refused[OPERATIONS], failures;
	double seconds[OPERATIONS], since;
	char failure[2 * LINE], last[LAST][LINE];
};

struct shared {
	struct thread threads[THREADS];
	bool stop, tracer_probed;
	unsigned long warnings, poisoned;
};

/* trap_fuzz.c */
extern struct shared *shared;
extern pid_t main_pid;
extern cpu_set_t allowed;
unsigned int draw(struct thread *me, unsigned int n);
__printf(2, 3) void note(struct thread *me, const char *fmt, ...);
__printf(2, 3) void wrong(struct thread *me, const char *fmt, ...);
bool stopped(void);

/* trap_fuzz-raise.c */
extern const struct operation raisers[OPERATIONS];
extern int uffd, file;
extern char *shared_pages;
extern __u64 kernel_text, tracer_function;
extern pthread_mutex_t tracer_mutex;
extern const struct fault_signal { int signo, si_code; } fault_signals[FAULT_SIGNALS];
size_t fault_signal(int signo, int si_code);
long probed(long n);
extern const char __executable_start[];	/* by the linker */

/* trap_fuzz-switch.c */
extern const struct operation switchers[OPERATIONS], outside[OPERATIONS];
extern const char * const groups[], * const events[];
extern char instances[INSTANCES + 1][128];	/* of tracing: the first is the top one */
void set_up_switchers(void);
int make_instance_to_fuzz(unsigned int n);

/* trap_fuzz-judge.c */
extern const char *check_instance, *watch;
void change_settings(void);
char *state(void);
bool same_state(const char *before, const char *after, bool tell);
void switch_all_off(void);
void begin_count(bool watched);
void watch_end(void);
bool watch_agrees(unsigned long *agreed);
bool counts_exactly(void);
bool guards(unsigned long *counted);

#endif
