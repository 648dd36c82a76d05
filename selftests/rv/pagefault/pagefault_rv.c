// SPDX-License-Identifier: GPL-2.0
/*
 * Test that the RV monitor rtapp/pagefault reports the page faults of a real-time
 * task that map a page, and no others.  It must not report pages that mlock() maps.
 *
 * The monitor reports the first fault of a task only, so each test is a task.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pagefault.h"

#define MONITOR		TRACING "/rv/monitors/rtapp/pagefault"
#define ERROR_EVENT	"rv/error_pagefault"

static bool write_page(char *page)
{
	raise_write(page);
	return true;
}

/* get_user_pages() maps the page, as O_DIRECT does: that is no page fault */
static bool lock_page(char *page)
{
	return !mlock(page, 1) && write_page(page);
}

/* The kernel faults on the pointer, and its exception fixup returns EFAULT */
static bool bad_pointer(char *page)
{
	return sysinfo((void *)page) == -1 && errno == EFAULT;
}

static const struct test {
	const char *name;
	bool (*run)(char *page);
	int prot, flags;
	int policy;
	long long errors;
} tests[] = {
	{ "page fault", write_page, PROT_WRITE, 0, SCHED_FIFO, 1 },
	{ "bad pointer", bad_pointer, PROT_NONE, 0, SCHED_FIFO, 0 },
	{ "page that mlock() maps", lock_page, PROT_WRITE, 0, SCHED_FIFO, 0 },
	{ "populated page", write_page, PROT_WRITE, MAP_POPULATE, SCHED_FIFO, 0 },
	{ "page fault of a task without real-time priority", write_page, PROT_WRITE, 0,
	  SCHED_OTHER, 0 },
};

static void give_up(const char *what)
{
	ksft_print_msg("%s: %s\n", what, strerror(errno));
	_exit(1);
}

/* The child: 0 if the monitor reported what it has to */
static int child(const struct test *t)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = event_id(ERROR_EVENT),
	};
	struct sched_param param = { .sched_priority = t->policy == SCHED_FIFO };
	long long before, after;
	char *page;
	bool good;
	int fd;

	fd = perf_open(&attr, 0, -1);
	if (fd < 0)
		give_up("perf_event_open");
	/* The calls below must not fault: map all of libc, and break COW */
	if (mlockall(MCL_CURRENT))
		give_up("mlockall");
	page = mmap(NULL, sysconf(_SC_PAGESIZE), t->prot,
		    MAP_PRIVATE | MAP_ANONYMOUS | t->flags, -1, 0);
	if (page == MAP_FAILED)
		give_up("mmap");
	if (sched_setscheduler(0, t->policy, &param)) {
		ksft_print_msg("sched_setscheduler: %s\n", strerror(errno));
		_exit(errno == EPERM ? KSFT_SKIP : 1);
	}
	if (read(fd, &before, sizeof(before)) != sizeof(before))
		give_up("perf counter");
	good = t->run(page);
	if (read(fd, &after, sizeof(after)) != sizeof(after))
		give_up("perf counter");
	param.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &param);
	if (!good || before || after != t->errors)
		ksft_print_msg("%lld reports before, %lld after, call %s\n", before, after,
			       good ? "succeeded" : "failed");
	return !good || before || after != t->errors;
}

static pid_t tester;

/* At exit, and for signals of the user and of the test runner */
static void disable_monitor(void)
{
	if (getpid() == tester)
		put(MONITOR, "enable", "0");
}

static void on_end(int signo)
{
	disable_monitor();
	_exit(128 + signo);
}

int main(void)
{
	int status, old;
	char *text;
	pid_t pid;

	start(ERROR_EVENT);
	text = get(MONITOR, "enable");
	if (!text)
		ksft_exit_skip("no " MONITOR "\n");
	old = atoi(text);
	free(text);
	text = get(MONITOR, "reactors");
	if (text && strstr(text, "[panic]"))
		ksft_exit_skip("the reactor is panic\n");
	free(text);
	if (put(MONITOR, "enable", "1"))
		ksft_exit_skip("cannot enable the monitor, other monitors may be in use\n");
	if (!old) {
		tester = getpid();
		atexit(disable_monitor);
		signal(SIGINT, on_end);
		signal(SIGTERM, on_end);
	}
	ksft_set_plan(ARRAY_SIZE(tests));
	for (const struct test *t = tests; t < tests + ARRAY_SIZE(tests); t++) {
		pid = must_fork();
		if (!pid)
			_exit(child(t));
		if (waitpid(pid, &status, 0) != pid)
			ksft_exit_fail_msg("waitpid: %s\n", strerror(errno));
		if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
			ksft_test_result_skip("%s: no real-time priority\n", t->name);
		else
			ksft_test_result(!status, "%s\n", t->name);
	}
	ksft_finished();
}
