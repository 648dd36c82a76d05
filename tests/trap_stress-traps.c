// SPDX-License-Identifier: GPL-2.0
/* trap_stress: the workers that raise traps, and the counter of their events */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trap_stress.h"

/* Of the worker that this process is */
static struct worker *mine;

void want(int ret, const char *what)
{
	if (ret)
		give_up("%s: %s", what, strerror(-ret));
}

/* stopped - Whether the actors are to end; a short act is finished first */
bool stopped(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

/* Set by an act that was cut short, and does not count */
bool cut_short;

void pause_ms(int most)
{
	usleep(1 + rand_r(&seed) % (most * 1000));
}

/*
 * Workers
 */
static void raise_in_user_mode(const struct trap *t, char *at)
{
	trap_signals = 0;
	if (t->page == FORBIDDEN_PAGE)
		raise_read(at);
	else if (t->page == FRESH_PAGE)
		raise_write(at);
	else
		find_user_trap(t->vector)->raise(NULL);
	if (trap_signals && trap_info.si_signo != t->signal)
		give_up("unexpected: %s at 0x%lx", strsignal(trap_info.si_signo), trap_ip);
	mine->signals[t - traps] += trap_signals;
}

static void raise_trap(const struct trap *t)
{
	unsigned long i = mine->raised[t - traps]++ % FRESH_PAGES;
	char *at = area;

	if (t->page == FRESH_PAGE) {
		if (!i && madvise(area + page_size, FRESH_PAGES * page_size, MADV_DONTNEED))
			give_up("madvise: %s", strerror(errno));
		at += (1 + i) * page_size;
	}
	if (t->user)
		raise_in_user_mode(t, at);
	else if (t->page && (ioctl(raise_file, FIONBIO, area) != -1 || errno != EFAULT))
		give_up("FIONBIO with a bad address: %s", strerror(errno));
	else if (!t->page && write(raise_file, "0", 1) != 1)
		give_up(RAISE_FILE ": %s", strerror(errno));
}

void work(int cpu)
{
	cpu_set_t one;

	mine = &shared->workers[cpu];
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	skip_traps();
	while (!__atomic_load_n(&shared->stop_workers, __ATOMIC_RELAXED)) {
		/* Fails while the CPU is offline, and moves us back later */
		sched_setaffinity(0, sizeof(one), &one);
		for (int t = 0; t < TRAPS; t++)
			raise_trap(&traps[t]);
		mine->rounds += sched_getcpu() == cpu;
		/* An emulator of one thread gives each CPU 100 ms, unless it idles */
		usleep(100);
	}
	_exit(0);
}

/*
 * The counter: it counts the events of the traps above, and any trap event of
 * #PF and #MC, of all processes. There must be none of these.
 */
char trap_filter[448], fault_filter[128];

#define NMI_HIST	"hist:keys=common_cpu if vector == 2"
#define TRAP_HIST	"hist:keys=vector,error_code,user_mode if %s"
#define ENTRY_HIST	"hist:keys=error_code,user_mode if %s"
/* Three keys are the most that a histogram has, so two are values */
#define EXIT_HIST	"hist:keys=error_code,outcome,si_code:vals=user_mode,signo if %s"

static const char * const counted_events[] = {
	"trap/trap_entry", "trap/trap_exit", "pagefault/pagefault_entry",
	"pagefault/pagefault_exit",
};

void counter_on(void)
{
	counter = make_instance("counter");
	must(append(counter, "events/trap/trap_entry/trigger", TRAP_HIST, trap_filter), "hist");
	must(append(counter, "events/trap/trap_exit/trigger", TRAP_HIST, trap_filter), "hist");
	must(append(counter, "events/trap/trap_entry/trigger", NMI_HIST), "hist");
	must(append(counter, "events/trap/trap_exit/trigger", NMI_HIST), "hist");
	must(append(counter, "events/pagefault/pagefault_entry/trigger", ENTRY_HIST,
		    fault_filter), "hist");
	must(append(counter, "events/pagefault/pagefault_exit/trigger", EXIT_HIST,
		    fault_filter), "hist");
}

void counter_off(void)
{
	char file[100];

	for (size_t i = 0; i < ARRAY_SIZE(counted_events); i++) {
		snprintf(file, sizeof(file), "events/%s/trigger", counted_events[i]);
		/* O_TRUNC removes the triggers */
		must(put(counter, file, "%s", ""), file);
	}
	remove_instance(counter);
	counter = NULL;
}

/* The number behind a name in a line of a histogram */
unsigned long value(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* An exit with another outcome or signal is not one of this trap */
static bool is_of(const struct trap *t, int event, const char *line, unsigned long hits)
{
	const bool of_trap = event < 2;

	if (of_trap != !t->page || value(line, "error_code:") != t->error_code)
		return false;
	if (event != 3)
		return value(line, "user_mode:") == t->user &&
		       (!of_trap || value(line, "vector:") == t->vector);
	return value(line, "user_mode:") == t->user * hits &&
	       value(line, "outcome:") == t->outcome &&
	       value(line, "signo:") == t->signal * hits &&
	       value(line, "si_code:") == (t->signal ? SEGV_ACCERR : 0);
}

static void add_hits(struct figures *f, int event, const char *line)
{
	const bool of_trap = event < 2, exit = event & 1;
	unsigned long *sums, hits = value(line, "hitcount:");
	bool known = false;

	if (strstr(line, "common_cpu:")) {
		f->nmis[exit][value(line, "common_cpu:") % MAX_CPUS] += hits;
		return;
	}

	if (of_trap)
		sums = exit ? f->trap_exits : f->trap_entries;
	else
		sums = exit ? f->fault_exits : f->fault_entries;

	for (int i = 0; i < TRAPS; i++) {
		if (is_of(&traps[i], event, line, hits)) {
			sums[i] += hits;
			known = true;
		}
	}
	if (known)
		return;
	ksft_print_msg("of no trap, %s: %s\n", counted_events[event], line);
	f->stray += hits;
}

void read_counter(struct figures *f)
{
	char file[100], *text, *line, *rest;

	memset(f->nmis, 0, sizeof(f->nmis));
	for (int i = 0; i < (int)ARRAY_SIZE(counted_events); i++) {
		snprintf(file, sizeof(file), "events/%s/hist", counted_events[i]);
		text = get(counter, file);
		rest = text;
		while (text && (line = strsep(&rest, "\n"))) {
			f->dropped += value(line, "Dropped:");
			if (*line == '{')
				add_hits(f, i, line);
		}
		free(text);
	}
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		f->nmi_entries += f->nmis[0][cpu];
		f->nmi_exits += f->nmis[1][cpu];
		f->failed |= f->nmis[0][cpu] != f->nmis[1][cpu];
	}
}
