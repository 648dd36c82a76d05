// SPDX-License-Identifier: GPL-2.0
/*
 * Test that an oops in a probe of a trap trace event does not silence its CPU:
 * the recursion guard is left behind then. The oops taints the kernel,
 * and leaves an SRCU reader of the tracepoints behind: switching the events off
 * would wait for it for ever. So the events stay on, and the kernel is thrown
 * away.
 *
 * Only traps of kernel mode count: the guard does not stop those of user mode.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#define ROUNDS	10

int main(void)
{
	int status, entries = 0, exits = 0, user = 0, raise;
	const char *instance = TRACING;
	struct event e;
	pid_t child;

	start("trap/trap_exit");
	ksft_set_plan(1);
	raise = open(RAISE_FILE, O_WRONLY);
	if (raise < 0)
		ksft_exit_skip(NO_TRAP_TEST "\n");

	/* From here on, no page fault of user mode may clear the guard */
	pin(0);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		ksft_exit_fail_msg("mlockall: %s\n", strerror(errno));
	trace_on(instance, "vector == 3 || user_mode == 1");

	/* vfork(), as the page faults after fork() could clear the guard */
	child = vfork();
	if (!child) {
		if (attach_probe("oops") < 0)
			_exit(1);
		asm volatile("int3");
		_exit(2);
	}
	if (waitpid(child, &status, 0) != child)
		ksft_exit_fail_msg("waitpid: %s\n", strerror(errno));
	/* An oops switches the recording off */
	must(put(instance, "tracing_on", "1"), "tracing_on");
	must(put(instance, "trace", " "), "trace");
	for (int i = 0; i < ROUNDS; i++)
		if (write(raise, "3", 1) != 1)
			ksft_exit_fail_msg("%s: %s\n", RAISE_FILE, strerror(errno));

	for_each_record(next_event, &e, instance, 0) {
		user += e.user;
		exits += !e.user && e.exit;
		entries += !e.user && !e.exit;
	}
	ksft_print_msg("status 0x%x, %d entries, %d exits, %d events of user mode\n",
		       status, entries, exits, user);
	result(WIFSIGNALED(status) && entries == ROUNDS && exits == ROUNDS && !user,
	       "a probe that oopses");
	ksft_finished();
}
