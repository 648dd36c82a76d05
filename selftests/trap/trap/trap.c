// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests of the trap trace events: they switch the events on, parse and
 * compare the trace, read the count of the guard, and set breakpoints.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <linux/hw_breakpoint.h>

#include "trap.h"

#define EVENT_FORMAT ": trap_%15[a-z]: vector=%u(%15[^)]) error_code=0x%x mode=%15s ip=%159[^\n]"

/* trace_on - Enable both events, with @filter */
void trace_on(const char *instance, const char *filter)
{
	must(put(instance, "trace", " "), "trace");
	must(put(instance, "events/trap/filter", "%s", filter), filter);
	must(put(instance, "events/trap/enable", "1"), "enable");
}

void trace_off(const char *instance)
{
	must(put(instance, "events/trap/enable", "0"), "disable");
}

bool next_event(FILE *f, struct event *e)
{
	char line[512], which[16], mode[16];
	char *at, *cpu;

	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, ": trap_e");
		if (!at || sscanf(at, EVENT_FORMAT, which, &e->vector, e->name,
				  &e->error_code, mode, e->ip) != 6)
			continue;
		e->exit = !strcmp(which, "exit");
		e->user = !strcmp(mode, "user");
		cpu = strstr(line, " [");
		e->cpu = cpu && cpu < at ? atoi(cpu + 2) : -1;
		return true;
	}
	return false;
}

/* traps_match - Whether @cpu has the events of @x, and no other CPU has any */
bool traps_match(const char *instance, const struct expect_traps *x, int cpu)
{
	int entries = 0, exits = 0, wrong = 0, elsewhere = 0;
	struct event e;
	FILE *f;

	f = open_trace(instance, cpu);
	while (next_event(f, &e)) {
		int *count = e.exit ? &exits : &entries;
		const char *ip = e.exit ? x->exit_ip : x->entry_ip;

		++*count;
		if (e.vector == x->vector && e.error_code == x->error_code &&
		    !strcmp(e.name, x->name) && e.user == x->user &&
		    !strcmp(e.ip, ip) && exits == entries - !e.exit)
			continue;
		if (wrong++)
			continue;
		ksft_print_msg("%s %d: %u(%s) error code 0x%x %s ip %s\n",
			       e.exit ? "exit" : "entry", *count, e.vector, e.name, e.error_code,
			       e.user ? "user" : "kernel", e.ip);
		ksft_print_msg("expected: %u(%s) error code 0x%x %s ip %s\n", x->vector, x->name,
			       x->error_code, x->user ? "user" : "kernel", ip);
	}
	fclose(f);

	f = open_trace(instance, -1);
	while (next_event(f, &e))
		elsewhere += e.cpu != cpu;
	fclose(f);

	if (entries == x->rounds && exits == x->rounds && !wrong && !elsewhere)
		return true;
	ksft_print_msg("CPU %d: %d expected, %d entries, %d exits, %d elsewhere\n", cpu,
		       x->rounds, entries, exits, elsewhere);
	return false;
}

/* suppressed - How many events the guard has suppressed on this CPU. Call pin() before. */
unsigned long suppressed(void)
{
	int cpu, mine = sched_getcpu();
	unsigned long n, found = 0;
	char line[64];
	FILE *f;

	f = fopen(SUPPRESSED, "r");
	if (!f)
		ksft_exit_fail_msg("%s: %s\n", SUPPRESSED, strerror(errno));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%d %lu", &cpu, &n) == 2 && cpu == mine)
			found = n;
	fclose(f);
	return found;
}

/*
 * breakpoint - Break at a kernel instruction, or on a write to a byte of ours
 *
 * A kernel breakpoint is as long as the kernel's long, which may not be ours.
 */
int breakpoint(uint64_t address, bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = kernel ? HW_BREAKPOINT_X : HW_BREAKPOINT_W,
		.bp_addr = address, .bp_len = kernel ? 8 : 1,
		.exclude_kernel = !kernel, .exclude_user = kernel,
	};
	int fd;

	/* The address of a symbol is 0 with kptr_restrict=2 */
	if (kernel && !address)
		return -1;
	fd = perf_open(&attr, 0, -1);
	if (fd < 0 && kernel) {
		attr.bp_len = 4;
		fd = perf_open(&attr, 0, -1);
	}
	return fd;
}
