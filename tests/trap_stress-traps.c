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

#define BY_CPU	"hist:keys=common_cpu if vector == 2"

static const struct {
	const char *event, *keys, *filter;
} counters[EVENTS] = {
	{ "trap/trap_entry", "vector,error_code,user_mode", trap_filter },
	{ "trap/trap_exit", "vector,error_code,user_mode", trap_filter },
	{ "pagefault/pagefault_entry", "error_code,user_mode", fault_filter },
	/* Three keys are the most that a histogram has, so two are values */
	{ "pagefault/pagefault_exit", "error_code,outcome,si_code:vals=user_mode,signo",
	  fault_filter },
};

static const char *counter;

void counter_on(void)
{
	char file[64];

	counter = make_instance("counter");
	for (int i = 0; i < EVENTS; i++) {
		snprintf(file, sizeof(file), "events/%s/trigger", counters[i].event);
		must(append(counter, file, "hist:keys=%s if %s", counters[i].keys,
			    counters[i].filter), file);
		if (counters[i].filter == trap_filter)
			must(append(counter, file, BY_CPU), file);
	}
}

void counter_off(void)
{
	char file[64];

	for (int i = 0; i < EVENTS; i++) {
		snprintf(file, sizeof(file), "events/%s/trigger", counters[i].event);
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

static void add_hits(int event, const char *line)
{
	unsigned long hits = value(line, "hitcount:");
	bool known = false;

	if (strstr(line, "common_cpu:")) {
		sums.nmis[event & 1][value(line, "common_cpu:") % MAX_CPUS] += hits;
		return;
	}
	for (int i = 0; i < TRAPS; i++) {
		if (is_of(&traps[i], event, line, hits)) {
			sums.events[event][i] += hits;
			known = true;
		}
	}
	if (known)
		return;
	say("of no trap, %s: %s", counters[event].event, line);
	sums.stray += hits;
}

void read_counter(void)
{
	char file[100], *text, *line, *rest;

	memset(sums.nmis, 0, sizeof(sums.nmis));
	for (int i = 0; i < EVENTS; i++) {
		snprintf(file, sizeof(file), "events/%s/hist", counters[i].event);
		text = get(counter, file);
		rest = text;
		while (text && (line = strsep(&rest, "\n"))) {
			sums.dropped += value(line, "Dropped:");
			if (*line == '{')
				add_hits(i, line);
		}
		free(text);
	}
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		sums.nmi_entries += sums.nmis[0][cpu];
		sums.nmi_exits += sums.nmis[1][cpu];
		sums.failed |= sums.nmis[0][cpu] != sums.nmis[1][cpu];
	}
}

/* Where the instructions of the traps are, which is the same in all processes */
void set_filters(void)
{
	size_t n;

	skip_traps();
	n = snprintf(trap_filter, sizeof(trap_filter),
		     "vector == 14 || vector == 18 || (user_mode == 0 && vector == 0)");
	for (int i = 0; i < TRAPS; i++) {
		if (!traps[i].user || traps[i].page)
			continue;
		find_user_trap(traps[i].vector)->raise(NULL);
		n += snprintf(trap_filter + n, sizeof(trap_filter) - n,
			      " || (vector != 2 && user_mode == 1 && ip == 0x%lx)", trap_ip);
	}
	snprintf(fault_filter, sizeof(fault_filter), "address >= 0x%lx && address < 0x%lx",
		 (long)area, (long)area + (1 + FRESH_PAGES) * page_size);
}
