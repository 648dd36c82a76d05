// SPDX-License-Identifier: GPL-2.0
/* trap_probes: switch events, count records, and add kprobes */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "trap_probes.h"

/*
 * Both families of events
 */

/* A trap behind each instruction while EFLAGS.TF is set: the NOPs and three more */
void raise_steps(void)
{
	asm volatile(ENTER_FRAME SET_TF "; .rept 50; nop; .endr; " CLEAR_TF LEAVE_FRAME
		     : : "D" (pages) : "memory", "cc");
}

/* The events can be there without an architecture that fires them */
bool pagefaults_fire(void)
{
	struct pagefault r;
	bool fired = false;

	if (put(instance, "events/pagefault/enable", "1"))
		return false;
	*new_pages(1) = 1;
	must(put(instance, "events/pagefault/enable", "0"), "disable");
	for_each_record(next_pagefault, &r, instance, -1)
		fired = true;
	must(put(instance, "trace", " "), "trace");
	return fired;
}

/* Enable both families for this process, or trap alone if there is no pagefault */
void all_on(const char *instance)
{
	touch_stack();
	trace_on(instance, mine);
	if (!pagefaults)
		return;
	must(put(instance, "events/pagefault/filter", "%s", mine), mine);
	must(put(instance, "events/pagefault/enable", "1"), "enable");
}

void all_off(const char *instance)
{
	if (pagefaults)
		must(put(instance, "events/pagefault/enable", "0"), "disable");
	trace_off(instance);
}

struct outcome count(const char *instance, unsigned int vector)
{
	struct outcome o = { 0 };
	bool in_fault = false;
	struct pagefault r;
	struct event e;

	for_each_record(next_event, &e, instance, -1) {
		if (e.user && e.vector == vector)
			++*(e.exit ? &o.exits : &o.entries);
		else if (!e.user && !o.nested++)
			ksft_print_msg("nested: %s %u(%s) ip %s\n",
				       e.exit ? "exit" : "entry", e.vector,
				       e.name, e.ip);
	}
	/* Those of the probes: each has an entry, and then an exit */
	for_each_record(next_pagefault, &r, instance, -1) {
		bool is_exit = !strcmp(r.event, "exit");

		if (strcmp(r.mode, "kernel"))
			continue;
		if (is_exit != in_fault && !o.nested++)
			ksft_print_msg("nested: page fault %s\n", r.event);
		in_fault = !is_exit;
		o.faults += is_exit;
	}
	return o;
}

/* exceptions:page_fault_kernel records the faults of the probes, and where */
bool watch_faults(bool on)
{
	return !put(instance, "events/exceptions/page_fault_kernel/filter", "%s", mine) &&
	       !put(instance, "events/exceptions/page_fault_kernel/enable", "%d", on);
}

void raise_many(int rounds)
{
	for (int i = 0; i < rounds; i++)
		raise_bp_in_frame(pages);
}

/* Raise @rounds INT3s with the events on in the first instance */
struct outcome measure(int rounds)
{
	unsigned long before = suppressed(), after;
	struct outcome o;

	all_on(instance);
	raise_many(rounds);
	all_off(instance);
	watch_faults(false);
	after = suppressed();
	o = count(instance, BP);
	o.suppressed = after - before;
	return o;
}

bool good(const struct outcome *o, int rounds)
{
	ksft_print_msg("%d raised, %d entries, %d exits, %d nested, %lu suppressed, %lu faults\n",
		       rounds, o->entries, o->exits, o->nested, o->suppressed, o->faults);
	return o->entries == rounds && o->exits == rounds && !o->nested;
}

bool option(const char *instance, const char *name, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "options/%s", name);
	return !put(instance, file, "%d", on);
}

/*
 * kprobes
 */

/*
 * A kprobe behind the place where the function tracer hooks in, so that it is an
 * INT3. Returns its offset, or 0.
 */
int add_kprobe(const char *name, const char *symbol)
{
	for (int offset = 9; offset < 80; offset++)
		if (!append(TRACING, "kprobe_events", "p:trap_test/%s %s+%d\n", name,
			    symbol, offset))
			return offset;
	ksft_print_msg("no kprobe on %s\n", symbol);
	return 0;
}

void remove_kprobes(void)
{
	if (instance)
		put(instance, "events/trap_test/enable", "0");
	put(TRACING, "events/trap_test/enable", "0");
	append(TRACING, "kprobe_events", "-:trap_test/\n");
}

/* How often the kprobes of a name were hit, whether or not they could be handled */
unsigned long kprobe_hits(const char *name)
{
	char *text = get(TRACING, "kprobe_profile"), *line, *rest = text;
	unsigned long hits, missed, sum = 0;
	char of[64];

	while (text && (line = strsep(&rest, "\n")))
		if (sscanf(line, "%63s %lu %lu", of, &hits, &missed) == 3 &&
		    !strcmp(of, name))
			sum += hits + missed;
	free(text);
	return sum;
}
