/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of trap_fuzz share */
#ifndef TESTS_TRAP_FUZZ_H
#define TESTS_TRAP_FUZZ_H

#include <pthread.h>
#include <sched.h>

#include "lib.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif
#ifndef SEGV_PKUERR
#define SEGV_PKUERR		4
#endif

/* Threads of each kind. -n is for a raiser; the others do a part of that */
#define RAISERS		4
#define SWITCHERS	3
#define THREADS		(RAISERS + SWITCHERS + 1)
#define SWITCHERS_DO	4
#define OUTSIDE_DOES	50

#define INSTANCES	4
#define VECTORS		33
#define EVENT_PROBES	3
#define OPERATIONS	64
#define LAST		6		/* operations that a thread remembers */
#define LINE		160
#define MAX_PAGES	8
#define SHARED_PAGES	16

/* Limits for what costs something: a warning on the console, a page */
#define MAX_WARNINGS	8
#define MAX_POISON	24

#define CHECK_TRAPS	1000
#define PROBED_TRAPS	100

/* The name by which the histograms know the traps of the fuzz */
#define NAME		"trap_fuzz"
#define TAINT_DIE	0x80
#define TRAP_TEST	"/sys/kernel/debug/x86_trap_test"
#define FAIL_PAGE_ALLOC	"/sys/kernel/debug/fail_page_alloc"

enum role { RAISER, SWITCHER, OUTSIDE };

/* The signals of page faults */
#define FAULT_SIGNALS	4

struct fault_signal {
	int signo, si_code;
};

/* Shared with the process that does the round */
struct thread {
	enum role role;
	unsigned int number, cpu;
	unsigned long long begun, limit;
	unsigned long long digest, random;
	unsigned long raised[2][VECTORS];	/* in kernel mode, in user mode */
	unsigned long signals[FAULT_SIGNALS];
	unsigned long done[OPERATIONS], refused[OPERATIONS];
	double seconds[OPERATIONS];
	unsigned long failures;
	char failure[2 * LINE];
	char last[LAST][LINE];
};

struct shared {
	struct thread threads[THREADS];
	bool stop, tracer_probed;
	unsigned long warnings, poisoned;
};

enum memory {
	ANONYMOUS, ZERO_PAGE, READ_ONLY, NO_ACCESS, NOT_EXECUTABLE, UNMAPPED, GUARD, KERNEL,
	PROTECTION_KEY, SHARED_FILE, PRIVATE_FILE, DISK_FILE, BEYOND_END, SHARED_MEMORY, HUGE, THP,
	HELD,
};

/*
 * Switchers: what they write may be refused, and what they read is not looked at
 */
#define GROUPS		3
#define EVENTS		7

/*
 * Trace some functions, and never all. A new instance traces all, and so does
 * one that has refused a filter. With a kprobe in the ring buffer and stack
 * traces, a tracer of the stack walk is busy for hours, in a single trap.
 */
#define SOME_FUNCTIONS	"*fault*"

/* trap_fuzz.c */
extern const struct fault_signal fault_signals[FAULT_SIGNALS];
extern struct shared *shared;
extern pid_t main_pid;
extern cpu_set_t allowed;
extern const char *check_instance;
extern __u64 kernel_text;
unsigned int draw(struct thread *me, unsigned int n);
void note(struct thread *me, const char *fmt, ...) __printf(2, 3);
void wrong(struct thread *me, const char *fmt, ...) __printf(2, 3);
bool once_more(unsigned long *count, unsigned long limit);
bool stopped(void);

/* trap_fuzz-raise.c */
extern int uffd, file;
extern char *shared_pages;
extern char exe[128];
extern unsigned long probed_at;
extern __u64 tracer_function;
extern bool have_nx, have_vsyscall;
extern pthread_mutex_t tracer_mutex;
size_t fault_signal(int signo, int si_code);
int raise_user(struct thread *me);
int raise_in_frame(struct thread *me);
int raise_burst(struct thread *me);
int raise_access(struct thread *me);
int raise_in_syscall(struct thread *me);
int without_trap(struct thread *me);
int raise_kernel(struct thread *me);
int raise_warning(struct thread *me);
int raise_kernel_fault(struct thread *me);
int raise_in_probe(struct thread *me);
int fork_and_write(struct thread *me);
int fork_and_kill(struct thread *me);
int poison_page(struct thread *me);
int no_memory(struct thread *me);
int access_shared(struct thread *me);
int change_shared(struct thread *me);
long probed(long n);
int run_probed(struct thread *me);
int run_vsyscall(struct thread *me);
int break_in_tracer(struct thread *me);

/* trap_fuzz-switch.c */
extern const char * const groups[GROUPS];
extern const char * const events[EVENTS];
void instance_path(unsigned int n, char *path, size_t size);
int switch_event(struct thread *me);
int set_event(struct thread *me);
int set_filter(struct thread *me);
int set_trigger(struct thread *me);
int set_option(struct thread *me);
int set_tracer(struct thread *me);
int set_functions(struct thread *me);
int set_buffer(struct thread *me);
int read_file(struct thread *me);
int make_or_remove(struct thread *me);
int add_kprobe(struct thread *me);
int add_uprobe(struct thread *me);
int add_function_probe(struct thread *me);
int remove_probe(struct thread *me);
int add_event_probe(struct thread *me);
int switch_event_probe(struct thread *me);
int remove_event_probe(struct thread *me);
int switch_probe(struct thread *me);
int optimize_kprobes(struct thread *me);
int open_perf(struct thread *me);
int raise_outside(struct thread *me);

/* trap_fuzz-judge.c */
extern const char *watch;
void change_settings(void);
char *state(void);
bool same_state(const char *before, const char *after, bool tell);
void switch_all_off(void);
void watch_begin(void);
void watch_end(void);
void remember_raised(void);
bool watch_agrees(unsigned long *agreed);
bool counts_exactly(void);
bool guards(unsigned long *counted);

#endif
