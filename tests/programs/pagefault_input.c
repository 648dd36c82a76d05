// SPDX-License-Identifier: GPL-2.0
/* Test page fault events that are switched in the middle of a fault */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

#define PAGES		50

static char *memory;		/* PAGES pages */
static size_t size;

static void enable(const char *event, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "events/pagefault/%senable", event);
	must(put(fault_instance, file, "%d", on), file);
}

static void touch(char *p, int pages)
{
	for (int i = 0; i < pages; i++)
		p[i * page_size] = 1;
}

/* Begin with an empty trace, and without a page in the memory */
static void begin(void)
{
	madvise(memory, size, MADV_DONTNEED);
	must(put(fault_instance, "trace", " "), "trace");
}

static void trace_memory(bool all)
{
	begin();
	if (all)
		trace_all_faults(memory, size);
	else
		trace_faults(memory, size);
}

struct counts {
	int entries, exits, wrong;
	unsigned long long longest, shortest;
	struct pagefault last;
};

/* Count the records; @wrong are exits with another outcome than @outcome */
static struct counts count(const char *outcome)
{
	struct counts c = { .shortest = ~0ULL };
	struct pagefault r;

	for_each_record(next_pagefault, &r, fault_instance, -1) {
		if (!strcmp(r.event, "entry")) {
			c.entries++;
			continue;
		}
		c.exits++;
		c.wrong += !!strcmp(r.outcome, outcome);
		if (r.duration < c.shortest)
			c.shortest = r.duration;
		if (r.duration > c.longest)
			c.longest = r.duration;
		c.last = r;
	}
	return c;
}

/* After each test, each CPU still traces each fault, with its duration */
static bool all_cpus_trace(void)
{
	bool good = true;
	struct counts c;

	for (int cpu = 0; cpu < cpus(); cpu++) {
		pin(cpu);
		trace_memory(false);
		touch(memory, PAGES);
		trace_end();
		c = count("MINOR");
		if (c.entries == PAGES && c.exits == PAGES && c.shortest && !c.wrong)
			continue;
		ksft_print_msg("CPU %d: %d entries, %d exits of %d; %llu ns, %d wrong\n",
			       cpu, c.entries, c.exits, PAGES, c.shortest, c.wrong);
		good = false;
	}
	return good;
}

static const struct switching {
	const char *name;
	bool on_before, entry_on;
	int exits;
} switchings[] = {
	{ "switched on in the middle of a fault", false, false, 0 },
	{ "switched on in the middle of a fault, with the entry on", false, true, 1 },
	{ "switched off and on in the middle of a fault", true, false, 0 },
	{ "switched off and on in the middle of a fault, with the entry on", true, true, 1 },
};

static bool off_first;

static bool switch_event(void)
{
	if (off_first)
		enable("pagefault_exit/", false);
	enable("pagefault_exit/", true);
	usleep(HOLD_MS * 1000);
	return true;
}

/* A fault has an exit event if one of the events has been on since the fault began */
static void test_switched_within(const struct switching *w)
{
	char *p = new_pages(page_size);
	struct server s = {
		.fd = wait_for_pages(p, page_size), .p = p, .first = switch_event,
	};
	struct counts c;
	bool good, major;

	if (s.fd < 0) {
		skip(w->name, "this kernel has no userfaultfd");
		return;
	}
	off_first = w->on_before;
	trace_all_faults(p, page_size);
	trace_end();
	enable("pagefault_exit/", w->on_before);
	enable("pagefault_entry/", w->entry_on);
	major = read_held(&s, p + 8);
	trace_end();

	c = count(major ? "MAJOR" : "MINOR");
	good = c.entries == w->entry_on && c.exits == w->exits && !c.wrong;
	if (c.exits)
		good &= c.last.address == (unsigned long)p + 8 && c.last.error_code == USER &&
			*c.last.ip && !strcmp(c.last.mode, "user") &&
			c.last.duration >= 2 * HOLD_MS * 1000000ULL;
	if (!good)
		ksft_print_msg("%d entries, %d exits, %d wrong: %s at 0x%llx, %llu ns\n",
			       c.entries, c.exits, c.wrong, c.last.outcome, c.last.address,
			       c.last.duration);
	result(good && all_cpus_trace(), w->name);
	close(s.fd);
}

int main(void)
{
	start_pagefaults("input");
	size = PAGES * page_size;
	memory = new_pages(size);
	ksft_set_plan(ARRAY_SIZE(switchings));
	for (size_t i = 0; i < ARRAY_SIZE(switchings); i++)
		test_switched_within(&switchings[i]);
	ksft_finished();
}
