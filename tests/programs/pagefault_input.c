// SPDX-License-Identifier: GPL-2.0
/*
 * Test the format of the pagefault trace events, and these events at bad times: switched in
 * the middle of a fault, and in a fault within a fault.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>

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

/* The fields, and the names of the enums with their numbers, as tools need it */
static const struct {
	const char *event, *words[24];
} formats[] = {
	{ "pagefault_entry",
	  { "field:unsigned long address;", "field:unsigned long ip;",
	    "field:unsigned long error_code;", "field:unsigned int user_mode;" } },
	{ "pagefault_exit",
	  { "field:unsigned long long duration;", "field:unsigned long address;",
	    "field:unsigned long ip;", "field:unsigned long error_code;",
	    "field:unsigned int outcome;", "field:unsigned int kind;", "field:int signo;",
	    "field:int si_code;", "field:unsigned int flags;",
	    "field:unsigned int fault_flags;", "field:unsigned int vm_fault;",
	    "field:unsigned int order;", "field:unsigned int user_mode;",
	    "{ 1, \"MAJOR\" }", "{ 5, \"SIGNAL\" }",
	    "{ 3, \"SHMEM\" }", "{ 1, \"COW\" }", "{ 64, \"MIGRATION\" }",
	    "{ 64, \"USER\" }",
	    "{ 0x004000, \"COMPLETED\" }" } },
	{ "pagefault_noregs",
	  { "field:unsigned long long duration;", "field:unsigned long address;",
	    "field:unsigned int outcome;", "field:unsigned int kind;",
	    "field:unsigned int flags;", "field:unsigned int fault_flags;",
	    "field:unsigned int vm_fault;", "field:unsigned int order;",
	    "field:pid_t tgid;", "{ 7, \"RETRY\" }",
	    "{ 128, \"REMOTE\" }", "{ 2, \"SWAPIN\" }", "{ 0x000400, \"RETRY\" }" } },
};

static void test_format(void)
{
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		char file[64], *format;

		snprintf(file, sizeof(file), "events/pagefault/%s/format", formats[i].event);
		format = get(fault_instance, file);
		for (const char * const *word = formats[i].words; *word; word++) {
			if (format && strstr(format, *word))
				continue;
			ksft_print_msg("%s: no '%s' in the format\n", formats[i].event, *word);
			good = false;
		}
		if (format && strstr(format, "FAULT_")) {
			ksft_print_msg("%s: an enum without a number in the format\n",
				       formats[i].event);
			good = false;
		}
		free(format);
	}
	result(good, "format");
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

/* The frame pointer leads a stack walk to memory without a page */
static void write_from_frame(char *frame)
{
	for (char *p = memory; p < memory + size; p += page_size)
		asm volatile(ENTER_FRAME "movb $1, " AT_SI LEAVE_FRAME
			     : : "D" (frame), "S" (p) : "memory");
}

/*
 * A fault within a fault: perf walks the stack at each minor fault, when the page
 * is copied already. Each of the two faults has an end of its own.
 */
static void test_nested(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.sample_period = 1, .sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_kernel = 1,
	};
	char *frame = new_pages(page_size);
	int n = 0, wrong = 0, fd;
	struct pagefault r;

	fd = perf_open(&attr, 0, -1);
	if (fd < 0) {
		skip("a fault within a fault", strerror(errno));
		return;
	}
	begin();
	for (int i = 0; i < PAGES; i++)
		raise_read(memory + i * page_size);
	must(put(fault_instance, "events/pagefault/filter",
		 "common_pid == %d && (address == 0x%lx || (address >= 0x%lx && address < 0x%lx))",
		 getpid(), (long)frame, (long)memory, (long)memory + size), "filter");
	enable("", true);
	write_from_frame(frame);
	trace_end();
	close(fd);

	/* Entry, the entry and the exit of the inner one, exit */
	for_each_record(next_pagefault, &r, fault_instance, -1) {
		bool inner = n % 4 == 1 || n % 4 == 2, exit = n % 4 >= 2;
		char *at = inner ? frame : memory + n / 4 * page_size;

		n++;
		if (!strcmp(r.event, exit ? "exit" : "entry") &&
		    !strcmp(r.mode, inner ? "kernel" : "user") &&
		    r.address == (unsigned long)at && r.error_code == (inner ? 0 : 7) &&
		    (!exit || (!strcmp(r.outcome, inner ? "FIXUP" : "MINOR") &&
			       r.flags == (inner ? 0 : ANON | COW) && r.duration)))
			continue;
		if (!wrong++)
			ksft_print_msg("%d: %s, %s at 0x%llx, %s, flags 0x%x\n", n, r.event,
				       r.mode, r.address, r.outcome, r.flags);
	}
	ksft_print_msg("%d records of %d, %d wrong\n", n, 4 * PAGES, wrong);
	munmap(frame, page_size);
	result(n == 4 * PAGES && !wrong && all_cpus_trace(), "a fault within a fault");
}

int main(void)
{
	start_pagefaults("input");
	size = PAGES * page_size;
	memory = new_pages(size);
	ksft_set_plan(2 + ARRAY_SIZE(switchings));
	test_format();
	for (size_t i = 0; i < ARRAY_SIZE(switchings); i++)
		test_switched_within(&switchings[i]);
	test_nested();
	ksft_finished();
}
