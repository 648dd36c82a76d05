// SPDX-License-Identifier: GPL-2.0
/*
 * Test the pagefault trace events at bad times and with bad input: switched in
 * the middle of a fault or all the time, with a full ring buffer, with good and
 * bad filters. And with tasks that end in a fault: by an OOM kill, or as their
 * process exits while a thread waits in its fault.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "lib.h"

#define PAGES		50
#define FLOOD		5000
#define TOGGLES		48
#define MEMORY_MAX	(8 << 20)

static const char *instance;
static void filter(const char *event, const char *text)
{
	char file[64];

	snprintf(file, sizeof(file), "events/pagefault/%sfilter", event);
	must(put(instance, file, "%s", text), text);
}

static void enable(const char *event, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "events/pagefault/%senable", event);
	must(put(instance, file, "%d", on), file);
}

static void clear(void)
{
	must(put(instance, "trace", " "), "trace");
}

static void touch(char *p, int pages)
{
	for (int i = 0; i < pages; i++)
		p[i * page_size] = 1;
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
	FILE *f;

	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		if (!strcmp(r.event, "entry")) {
			c.entries++;
			continue;
		}
		c.exits++;
		c.wrong += outcome && strcmp(r.outcome, outcome);
		if (r.duration < c.shortest)
			c.shortest = r.duration;
		if (r.duration > c.longest)
			c.longest = r.duration;
		c.last = r;
	}
	fclose(f);
	return c;
}

/* After each test, each CPU still traces each fault, with its duration */
static bool all_cpus_trace(void)
{
	char *p = new_pages(PAGES * page_size), text[160];
	bool good = true;
	struct counts c;

	snprintf(text, sizeof(text), "common_pid == %d && address >= 0x%lx && address < 0x%lx",
		 getpid(), (long)p, (long)p + PAGES * page_size);
	filter("", text);
	for (int cpu = 0; cpu < cpus(); cpu++) {
		pin(cpu);
		madvise(p, PAGES * page_size, MADV_DONTNEED);
		clear();
		enable("", true);
		touch(p, PAGES);
		enable("", false);
		c = count("MINOR");
		if (c.entries != PAGES || c.exits != PAGES || !c.shortest || c.wrong) {
			ksft_print_msg("CPU %d: %d entries, %d exits of %d; %llu ns, %d wrong\n",
				       cpu, c.entries, c.exits, PAGES, c.shortest, c.wrong);
			good = false;
		}
	}
	munmap(p, PAGES * page_size);
	return good;
}

/* Each is refused, and a good filter works afterwards */
static void test_bad_filters(void)
{
	static const char * const filters[] = {
		"no_such_field == 1", "outcome == NO_SUCH_OUTCOME", "outcome == major",
		"outcome == MAJOR &&", "outcome =", "duration > 1ms", "duration == unknown",
		"error_code & NOTHING", "flags == ANON|COW", "address == \"main\"",
		"(outcome == MAJOR", "outcome ~ \"M*\"",
	};
	bool good = true;
	char *text;

	filter("pagefault_exit/", "outcome == 1");
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		int ret = put(instance, "events/pagefault/pagefault_exit/filter", "%s",
			      filters[i]);

		if (ret >= 0)
			ksft_print_msg("'%s' was taken\n", filters[i]);
		good &= ret < 0;
	}
	filter("pagefault_exit/", "outcome == 1");
	text = get(instance, "events/pagefault/pagefault_exit/filter");
	good &= text && !strcmp(text, "outcome == 1\n");
	free(text);
	ksft_test_result(good && all_cpus_trace(), "bad filters\n");
}

/* Each lets through what it says: of first writes, copies, and one access to NULL */
static void test_filters(void)
{
	static const struct {
		const char *text;
		int events;
	} filters[] = {
		{ "outcome == 0 && duration > 0", 2 * PAGES },
		{ "outcome == 0 && duration > 10000000000000", 0 },
		{ "outcome == 1 || outcome >= 7", 1 },
		{ "signo == 11 && si_code == 1 && address < 4096", 1 },
		{ "outcome != 7 && flags & 0x1", 2 * PAGES },
		{ "outcome == 0 && error_code & 0x2 && !(error_code & 0x1)", PAGES },
		{ "flags & 0x10", PAGES },
		{ "flags == 0x11 && vm_fault == 0 && user_mode == 1", PAGES },
		{ "outcome == 4 || outcome == 5", 0 },
	};
	char *p = new_pages(2 * PAGES * page_size), text[320];
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct counts c;
		int ret;

		madvise(p, 2 * PAGES * page_size, MADV_DONTNEED);
		/* The second half has the zero page for a start */
		for (int j = PAGES; j < 2 * PAGES; j++)
			asm volatile("" : : "r" (p[j * page_size]));
		snprintf(text, sizeof(text),
			 "common_pid == %d && (address < 4096 || (address >= 0x%lx && address < 0x%lx)) && (%s)",
			 getpid(), (long)p, (long)p + 2 * PAGES * page_size, filters[i].text);
		ret = put(instance, "events/pagefault/pagefault_exit/filter", "%s", text);
		if (ret < 0) {
			ksft_print_msg("'%s' was refused\n", filters[i].text);
			good = false;
			continue;
		}
		clear();
		enable("pagefault_exit/", true);
		touch(p, 2 * PAGES);
		raise_read((void *)8);
		enable("pagefault_exit/", false);
		c = count(NULL);
		if (c.exits != filters[i].events) {
			ksft_print_msg("'%s': %d events of %d\n", filters[i].text, c.exits,
				       filters[i].events);
			good = false;
		}
	}
	munmap(p, 2 * PAGES * page_size);
	ksft_test_result(good, "filters\n");
}

/* The fields, and the names of the enums with their numbers, as tools need it */
static bool format_has(const char *event, const char * const *words, size_t n)
{
	char file[64], *format;
	bool good;

	snprintf(file, sizeof(file), "events/pagefault/%s/format", event);
	format = get(instance, file);
	good = format;
	for (size_t i = 0; format && i < n; i++) {
		if (strstr(format, words[i]))
			continue;
		ksft_print_msg("%s: no '%s' in the format\n", event, words[i]);
		good = false;
	}
	if (format && strstr(format, "FAULT_")) {
		ksft_print_msg("%s: an enum without a number in the format\n", event);
		good = false;
	}
	free(format);
	return good;
}

static void test_format(void)
{
	static const char * const of_entry[] = {
		"field:unsigned long address;", "field:unsigned long ip;",
		"field:unsigned long error_code;", "field:unsigned int user_mode;",
	};
	static const char * const of_exit[] = {
		"field:unsigned long long duration;", "field:unsigned long address;",
		"field:unsigned long ip;", "field:unsigned long error_code;",
		"field:unsigned int outcome;", "field:int signo;", "field:int si_code;",
		"field:unsigned int flags;", "field:unsigned int vm_fault;",
		"field:unsigned int user_mode;", "{ 1, \"MAJOR\" }", "{ 7, \"SIGNAL\" }",
		"{ 16, \"COW\" }", "{ 0x004000, \"COMPLETED\" }",
	};
	static const char * const of_noregs[] = {
		"field:unsigned long long duration;", "field:unsigned long address;",
		"field:unsigned int fault_flags;", "field:unsigned int outcome;",
		"field:unsigned int flags;", "field:unsigned int vm_fault;",
		"field:pid_t tgid;", "{ 2, \"RETRY\" }", "{ 128, \"REMOTE\" }",
		"{ 32, \"SWAPIN\" }", "{ 0x000400, \"RETRY\" }",
	};
	bool good;

	good = format_has("pagefault_entry", of_entry, ARRAY_SIZE(of_entry));
	good &= format_has("pagefault_exit", of_exit, ARRAY_SIZE(of_exit));
	good &= format_has("pagefault_noregs", of_noregs, ARRAY_SIZE(of_noregs));
	ksft_test_result(good, "format\n");
}

/* Recorded and lost events together are as many as were raised */
static void test_full_buffer(void)
{
	char *p = new_pages(FLOOD * page_size), text[160];
	unsigned long there, lost;

	snprintf(text, sizeof(text), "common_pid == %d && address >= 0x%lx && address < 0x%lx",
		 getpid(), (long)p, (long)p + FLOOD * page_size);
	filter("", text);
	must(put(instance, "buffer_size_kb", "8"), "buffer_size_kb");
	pin(0);
	clear();
	enable("", true);
	touch(p, FLOOD);
	enable("", false);
	there = buffer_stat(instance, "entries: ");
	lost = buffer_stat(instance, "\noverrun: ");
	ksft_print_msg("%d events, %lu there, %lu lost\n", 2 * FLOOD, there, lost);
	must(put(instance, "buffer_size_kb", "2048"), "buffer_size_kb");
	munmap(p, FLOOD * page_size);
	ksft_test_result(there && lost && there + lost == 2 * FLOOD && all_cpus_trace(),
			 "a full ring buffer\n");
}

static const struct switching {
	const char *name;
	bool on_before, entry_on;
	int exits;
} switchings[] = {
	{ "switched on in the middle of a fault", false, false, 0 },
	{ "switched on in the middle of a fault, with the entry on", false, true, 0 },
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

/*
 * A fault has an exit event if that was on when the fault began, and one of the
 * events has been on ever since.
 */
static void test_switched_within(const struct switching *w)
{
	char *p = new_pages(page_size), text[160];
	struct server s = {
		.fd = wait_for_pages(p, page_size), .p = p, .first = switch_event,
	};
	struct rusage before, after;
	pthread_t thread;
	struct counts c;
	bool good;

	if (s.fd < 0) {
		ksft_test_result_skip("%s: this kernel has no userfaultfd\n", w->name);
		return;
	}
	off_first = w->on_before;
	snprintf(text, sizeof(text), "address >= 0x%lx && address < 0x%lx",
		 (long)p, (long)p + page_size);
	filter("", text);
	clear();
	enable("pagefault_exit/", w->on_before);
	enable("pagefault_entry/", w->entry_on);
	getrusage(RUSAGE_THREAD, &before);
	if (pthread_create(&thread, NULL, serve_page, &s))
		ksft_exit_fail_msg("pthread_create\n");
	asm volatile("movb (%0), %%al" : : "r" (p + 8) : "eax", "memory");
	pthread_join(thread, NULL);
	getrusage(RUSAGE_THREAD, &after);
	enable("", false);

	c = count(after.ru_majflt > before.ru_majflt ? "MAJOR" : "MINOR");
	good = c.entries == w->entry_on && c.exits == w->exits && !c.wrong;
	if (c.exits)
		good &= c.last.address == (unsigned long)p + 8 && c.last.error_code == 4 &&
			*c.last.ip && !strcmp(c.last.mode, "user") &&
			c.last.duration >= 2 * HOLD_MS * 1000000ULL;
	if (!good)
		ksft_print_msg("%d entries, %d exits, %d wrong: %s at 0x%llx, %llu ns\n",
			       c.entries, c.exits, c.wrong, c.last.outcome, c.last.address,
			       c.last.duration);
	ksft_test_result(good && all_cpus_trace(), "%s\n", w->name);
	close(s.fd);
}

/*
 * Switch the events all the time, while each CPU faults: each outcome and each
 * duration is right. A duration is less than the time of the whole test, and it
 * is not 0, which a start in the future would give.
 */
static void test_toggle(void)
{
	char *p = new_pages(PAGES * page_size), text[96];
	struct timespec t0, t1;
	unsigned long long ns;
	struct counts c;
	pid_t group;

	clear();
	clock_gettime(CLOCK_MONOTONIC, &t0);
	group = must_fork();
	if (!group) {
		setpgid(0, 0);
		for (int cpu = 0; cpu < cpus(); cpu++) {
			if (must_fork())
				continue;
			pin(cpu);
			for (;;) {
				touch(p, PAGES);
				madvise(p, PAGES * page_size, MADV_DONTNEED);
			}
		}
		pause();
		_exit(0);
	}
	setpgid(group, group);
	snprintf(text, sizeof(text), "address >= 0x%lx && address < 0x%lx",
		 (long)p, (long)p + PAGES * page_size);
	filter("", text);
	for (int i = 0; i < TOGGLES; i++) {
		enable(i % 3 ? "pagefault_exit/" : "pagefault_entry/", i & 1);
		usleep(1000);
	}
	kill(-group, SIGKILL);
	waitpid(group, NULL, 0);
	enable("", false);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	ns = (t1.tv_sec - t0.tv_sec) * 1000000000ULL + t1.tv_nsec - t0.tv_nsec;
	munmap(p, PAGES * page_size);
	c = count("MINOR");
	ksft_print_msg("%d entries, %d exits, %d not MINOR, %llu to %llu ns of %llu\n",
		       c.entries, c.exits, c.wrong, c.shortest, c.longest, ns);
	ksft_test_result(c.exits && c.longest < ns && c.shortest && !c.wrong &&
			 all_cpus_trace(), "switched all the time\n");
}

/* A cgroup with little memory: the fault beyond the limit ends in a kill */
static void test_oom_kill(void)
{
	char *p = new_pages(8 * MEMORY_MAX), dir[300] = "", text[64];
	struct counts c;
	int go[2], status;
	bool good;
	pid_t child;

	if (!mount_cgroup() || make_group(dir, sizeof(dir), "killed") ||
	    put(dir, "memory.max", "%d", MEMORY_MAX)) {
		ksft_test_result_skip("OOM kill: this kernel has no cgroup for memory\n");
		goto out;
	}
	put(dir, "memory.swap.max", "0");
	if (pipe(go))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	child = must_fork();
	if (!child) {
		char byte;

		if (read(go[0], &byte, 1) == 1)
			touch(p, 8 * MEMORY_MAX / page_size);
		_exit(0);
	}
	must(put(dir, "cgroup.procs", "%d", child), "cgroup.procs");
	snprintf(text, sizeof(text), "common_pid == %d", child);
	filter("", text);
	clear();
	enable("", true);
	if (write(go[1], "", 1) != 1)
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	waitpid(child, &status, 0);
	enable("", false);
	c = count(NULL);
	ksft_print_msg("OOM kill: %d entries, %d exits, the last %s\n", c.entries, c.exits,
		       c.last.outcome);
	good = c.entries == c.exits && c.exits >= MEMORY_MAX / page_size / 2;
	ksft_test_result(good && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
			 all_cpus_trace(), "OOM kill\n");
	close(go[0]);
	close(go[1]);
out:
	rmdir(dir);
	unmount_cgroup();
	munmap(p, 8 * MEMORY_MAX);
}

static void *wait_in_fault(void *p)
{
	*(char *)p = 1;
	return NULL;
}

/* A process exits while a thread of it waits for a page that never comes */
static void test_exit(void)
{
	const char *name = "exit in the middle of a fault";
	int ready[2], status, good = 0, exits = 0;
	char *p = new_pages(page_size), byte, text[160];
	struct pagefault r;
	pid_t child;
	FILE *f;

	if (pipe(ready))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	snprintf(text, sizeof(text), "address >= 0x%lx && address < 0x%lx",
		 (long)p, (long)p + page_size);
	filter("", text);
	clear();
	enable("", true);
	child = must_fork();
	if (!child) {
		pthread_t thread;

		if (wait_for_pages(p, page_size) < 0)
			_exit(KSFT_SKIP);
		if (pthread_create(&thread, NULL, wait_in_fault, p))
			_exit(1);
		usleep(HOLD_MS * 1000);
		_exit(write(ready[1], "", 1) == 1 ? 0 : 1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) < 0)
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	waitpid(child, &status, 0);
	enable("", false);
	close(ready[0]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP) {
		ksft_test_result_skip("%s: this kernel has no userfaultfd\n", name);
		return;
	}
	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		if (strcmp(r.event, "exit"))
			continue;
		exits++;
		good += !strcmp(r.outcome, "INTERRUPTED") &&
			r.duration >= HOLD_MS / 2 * 1000000ULL;
		if (!good)
			ksft_print_msg("%s, %llu ns\n", r.outcome, r.duration);
	}
	fclose(f);
	ksft_test_result(exits == 1 && good == 1 && status == 0 && all_cpus_trace(),
			 "%s\n", name);
}

/* exceptions:page_fault_user is unchanged: the same faults, the same fields */
static void test_older_event(void)
{
	char *p = new_pages(PAGES * page_size), text[160], line[512];
	const char *name = "exceptions:page_fault_user is unchanged";
	int older = 0, same = 0, at = 0;
	unsigned long long entries[PAGES];
	struct pagefault r;
	FILE *f;

	snprintf(text, sizeof(text), "common_pid == %d && address >= 0x%lx && address < 0x%lx",
		 getpid(), (long)p, (long)p + PAGES * page_size);
	filter("", text);
	must(put(instance, "events/exceptions/page_fault_user/filter", "%s", text), "filter");
	clear();
	enable("pagefault_entry/", true);
	must(put(instance, "events/exceptions/page_fault_user/enable", "1"), "enable");
	touch(p, PAGES);
	must(put(instance, "events/exceptions/page_fault_user/enable", "0"), "enable");
	enable("", false);

	f = open_trace(instance, -1);
	while (at < PAGES && next_pagefault(f, &r))
		entries[at++] = r.address;
	fclose(f);
	f = open_trace(instance, -1);
	while (fgets(line, sizeof(line), f)) {
		char *address = strstr(line, ": page_fault_user: address=0x");

		if (!address)
			continue;
		if (older < at &&
		    strtoull(strstr(address, "=") + 1, NULL, 16) == entries[older] &&
		    strstr(line, " error_code=0x6\n"))
			same++;
		older++;
	}
	fclose(f);
	if (older != PAGES || same != PAGES || at != PAGES)
		ksft_print_msg("%d of the older event, %d entries, %d the same of %d\n", older,
			       at, same, PAGES);
	munmap(p, PAGES * page_size);
	ksft_test_result(older == PAGES && same == PAGES && at == PAGES, "%s\n", name);
}

static int count_lines(const char *event)
{
	char line[512];
	int n = 0;
	FILE *f;

	f = open_trace(instance, -1);
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, event);
	fclose(f);
	return n;
}

/* The frame pointer leads a stack walk to memory without a page */
static void write_from_frame(char *p, char *frame)
{
	asm volatile(ENTER_FRAME "movb $1, " AT_SI LEAVE_FRAME : : "D" (frame), "S" (p) : "memory");
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
	char *p = new_pages(PAGES * page_size), *frame = new_pages(page_size), text[160];
	int n = 0, wrong = 0, fd;
	struct pagefault r;
	FILE *f;

	fd = perf_open(&attr, 0, -1);
	if (fd < 0) {
		ksft_test_result_skip("a fault within a fault: %s\n", strerror(errno));
		return;
	}
	for (int i = 0; i < PAGES; i++)
		asm volatile("" : : "r" (p[i * page_size]));
	snprintf(text, sizeof(text),
		 "common_pid == %d && (address == 0x%lx || (address >= 0x%lx && address < 0x%lx))",
		 getpid(), (long)frame, (long)p, (long)p + PAGES * page_size);
	filter("", text);
	clear();
	enable("", true);
	for (int i = 0; i < PAGES; i++)
		write_from_frame(p + i * page_size, frame);
	enable("", false);
	close(fd);

	/* Entry, the entry and the exit of the inner one, exit */
	f = open_trace(instance, -1);
	while (next_pagefault(f, &r)) {
		bool inner = n % 4 == 1 || n % 4 == 2, exit = n % 4 >= 2;
		char *at = inner ? frame : p + n / 4 * page_size;

		n++;
		if (!strcmp(r.event, exit ? "exit" : "entry") &&
		    !strcmp(r.mode, inner ? "kernel" : "user") &&
		    r.address == (unsigned long)at && r.error_code == (inner ? 0 : 7) &&
		    (!exit || (!strcmp(r.outcome, inner ? "FIXUP" : "MINOR") &&
			       r.flags == (inner ? 0 : 0x11) && r.duration)))
			continue;
		if (!wrong++)
			ksft_print_msg("%d: %s, %s at 0x%llx, %s, flags 0x%x\n", n, r.event,
				       r.mode, r.address, r.outcome, r.flags);
	}
	fclose(f);
	ksft_print_msg("%d records of %d, %d wrong\n", n, 4 * PAGES, wrong);
	munmap(frame, page_size);
	munmap(p, PAGES * page_size);
	ksft_test_result(n == 4 * PAGES && !wrong && all_cpus_trace(),
			 "a fault within a fault\n");
}

/* A probe that faults: its fault is counted once, and not traced */
static void test_probe_faults(void)
{
	const char *name = "faults of a probe are counted and not traced";
	char *p = new_pages(PAGES * page_size), *frame = new_pages(page_size), text[64];
	const char *older = "events/exceptions/page_fault_kernel";
	int outer = 0, nested = 0, faults;
	unsigned long before;
	struct pagefault r;
	char file[128];
	FILE *f;

	if (put(instance, "options/userstacktrace", "1")) {
		ksft_test_result_skip("%s: this kernel has no userstacktrace\n", name);
		return;
	}
	snprintf(text, sizeof(text), "common_pid == %d", getpid());
	snprintf(file, sizeof(file), "%s/filter", older);
	must(put(instance, file, "%s", text), "filter");
	snprintf(file, sizeof(file), "%s/enable", older);
	filter("", text);
	clear();
	must(put(instance, file, "1"), "enable");
	before = suppressed();
	enable("", true);
	for (int i = 0; i < PAGES; i++)
		write_from_frame(p + i * page_size, frame);
	enable("", false);
	before = suppressed() - before;
	must(put(instance, file, "0"), "enable");
	must(put(instance, "options/userstacktrace", "0"), "userstacktrace");
	faults = count_lines(": page_fault_kernel: ");
	f = open_trace(instance, -1);
	while (next_pagefault(f, &r))
		++*(strcmp(r.mode, "user") ? &nested : &outer);
	fclose(f);
	ksft_print_msg("%d records of %d, %d nested; %d faults of probes, %lu suppressed\n",
		       outer, 2 * PAGES, nested, faults, before);
	munmap(frame, page_size);
	munmap(p, PAGES * page_size);
	ksft_test_result(outer >= 2 * PAGES && !nested && faults >= 2 * PAGES &&
			 before == (unsigned long)faults && all_cpus_trace(), "%s\n", name);
}

int main(void)
{
	start_pagefaults("pagefault");
	instance = fault_instance;
	ksft_set_plan(10 + ARRAY_SIZE(switchings));
	test_format();
	test_bad_filters();
	test_filters();
	test_full_buffer();
	for (size_t i = 0; i < ARRAY_SIZE(switchings); i++)
		test_switched_within(&switchings[i]);
	test_toggle();
	test_oom_kill();
	test_exit();
	test_older_event();
	test_nested();
	test_probe_faults();
	ksft_finished();
}
