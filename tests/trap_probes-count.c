// SPDX-License-Identifier: GPL-2.0
/* trap_probes: switch both families of events, and count their records */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "trap_probes.h"

void on_sigtrap(int signal)
{
	(void)signal;
	signals++;
}

/* A trap behind each instruction while EFLAGS.TF is set: the NOPs and three more */
void raise_steps(void)
{
	asm volatile(ENTER_FRAME SET_TF "; .rept 50; nop; .endr; " CLEAR_TF LEAVE_FRAME
		     : : "D" (pages) : "memory", "cc");
}

void mine(char *filter, size_t size)
{
	snprintf(filter, size, "common_pid == %d", getpid());
}

bool have_pagefaults(void)
{
	return pagefaults;
}

/* The events can be there without an architecture that fires them */
bool pagefaults_fire(void)
{
	struct pagefault r;
	bool fired;
	FILE *f;

	if (put(instance, "events/pagefault/enable", "1"))
		return false;
	*new_pages(1) = 1;
	must(put(instance, "events/pagefault/enable", "0"), "disable");
	f = open_trace(instance, -1);
	fired = next_pagefault(f, &r);
	fclose(f);
	must(put(instance, "trace", " "), "trace");
	return fired;
}

/* Enable both families with @filter, or trap alone if there is no pagefault */
void all_on(const char *instance, const char *filter)
{
	touch_stack();
	trace_on(instance, filter);
	if (!have_pagefaults())
		return;
	must(put(instance, "events/pagefault/filter", "%s", filter), filter);
	must(put(instance, "events/pagefault/enable", "1"), "enable");
}

void all_off(const char *instance)
{
	if (have_pagefaults())
		must(put(instance, "events/pagefault/enable", "0"), "disable");
	trace_off(instance);
}

struct outcome count(const char *instance, unsigned int vector)
{
	struct outcome o = { 0 };
	struct pagefault r;
	struct event e;
	FILE *f;

	f = open_trace(instance, -1);
	while (next_event(f, &e)) {
		if (e.user && e.vector == vector)
			++*(e.exit ? &o.exits : &o.entries);
		else if (!e.user && !o.nested++)
			ksft_print_msg("nested: %s %u(%s) ip %s\n",
				       e.exit ? "exit" : "entry", e.vector,
				       e.name, e.ip);
	}
	fclose(f);
	f = open_trace(instance, -1);
	while (next_pagefault(f, &r))
		if (!strcmp(r.mode, "kernel") && !o.nested++)
			ksft_print_msg("nested: page fault %s\n", r.event);
	fclose(f);
	return o;
}

/* exceptions:page_fault_kernel records the faults of the probes, and where */
bool watch_faults(bool on)
{
	char filter[64];

	mine(filter, sizeof(filter));
	return !put(instance, "events/exceptions/page_fault_kernel/filter", "%s", filter) &&
	       !put(instance, "events/exceptions/page_fault_kernel/enable", "%d", on);
}

/* Raise @rounds INT3s with the events on in @instance */
struct outcome measure(const char *instance, int rounds)
{
	unsigned long before, after;
	struct outcome o;
	char filter[64];

	mine(filter, sizeof(filter));
	before = suppressed();
	all_on(instance, filter);
	for (int i = 0; i < rounds; i++)
		raise_bp_in_frame(pages);
	all_off(instance);
	watch_faults(false);
	after = suppressed();
	o = count(instance, BP);
	o.suppressed = after - before;
	return o;
}

bool good(const struct outcome *o, int rounds)
{
	ksft_print_msg("%d raised, %d entries, %d exits, %d nested, %lu suppressed\n",
		       rounds, o->entries, o->exits, o->nested, o->suppressed);
	return o->entries == rounds && o->exits == rounds && !o->nested;
}

bool option(const char *instance, const char *name, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "options/%s", name);
	return !put(instance, file, "%d", on);
}
