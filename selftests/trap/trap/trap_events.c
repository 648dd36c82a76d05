// SPDX-License-Identifier: GPL-2.0
/*
 * Test the trap_entry and trap_exit trace events: on MAX_CPUS CPUs, raise each
 * vector that an instruction of user mode raises on most CPUs, ROUNDS times, and
 * compare the trace. #CP is not among them.
 *
 * Built for 64-bit and 32-bit: i386 kernels, and compatibility mode.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "user_traps.h"

/* How often each is raised on each CPU */
#define ROUNDS		25
/* No hook depends on the CPU, and each takes some grace periods of RCU */
#define MAX_CPUS	8

static const char *instance;
static char mine[64];		/* the filter for this process, without NMIs */
static unsigned long memory;

static bool raise_on_cpu(const struct user_trap *t, int cpu, bool *raised)
{
	struct expect_traps x = {
		.vector = t->vector, .error_code = t->error_code, .name = t->name, .user = true,
		.rounds = t->vector == PF ? 0 : ROUNDS,
	};
	bool matches = false;
	int n, signals = 0, watch = -1;
	void *arg = t->argument == NO_PAGE ? NULL : &memory;

	pin(cpu);
	if (t->argument == WATCHED) {
		watch = breakpoint((unsigned long)&memory, false);
		if (watch < 0) {
			ksft_print_msg("watchpoint: %s\n", strerror(errno));
			*raised = false;
			goto out;
		}
	}
	n = raise_user_trap(t, arg);
	*raised = n || !t->signal;
	if (n < 0 || !*raised)
		goto unexpected;

	trace_on(instance, mine);
	for (int i = 0; i < ROUNDS && n >= 0; i++) {
		n = raise_user_trap(t, arg);
		signals += n;
	}
	trace_off(instance);
	if (n < 0)
		goto unexpected;

	/* trap_exit fires before the signal is delivered, so ip is the same */
	snprintf(x.entry_ip, sizeof(x.entry_ip), "0x%lx", trap_ip);
	snprintf(x.exit_ip, sizeof(x.exit_ip), "0x%lx", trap_ip);
	matches = traps_match(instance, &x, cpu) && (!t->signal || signals == ROUNDS);
unexpected:
	if (n < 0)
		ksft_print_msg("unexpected signal: %s\n", strsignal(-n));
out:
	if (watch >= 0)
		close(watch);
	return matches;
}

static void test_user_trap(const struct user_trap *t)
{
	const char *why = cannot_raise(t);
	bool matches = true, raised = true;

	for (int cpu = 0; cpu < cpus() && cpu < MAX_CPUS && !why && matches; cpu++) {
		matches = raise_on_cpu(t, cpu, &raised);
		if (!raised && t->optional)
			why = t->argument == WATCHED ? "no free watchpoint" :
						       "this CPU does not raise it";
	}
	if (why)
		ksft_test_result_skip("user %s, %s: %s\n", t->name + 1,
				      t->what, why);
	else
		ksft_test_result(matches, "user %s, %s%s\n", t->name + 1,
				 t->what, t->vector == PF ? ", untraced" : "");
}

static int count_events(void)
{
	struct event e;
	int n = 0;
	FILE *f;

	f = open_trace(instance, -1);
	while (next_event(f, &e))
		n++;
	fclose(f);
	return n;
}

/* A filter for kernel mode rejects all traps of user mode */
static void test_filter(void)
{
	char filter[256];

	snprintf(filter, sizeof(filter), "common_pid == %d && vector == 3 && user_mode == 0",
		 getpid());
	trace_on(instance, filter);
	for (int i = 0; i < ROUNDS; i++)
		raise_bp(NULL);
	trace_off(instance);
	ksft_test_result(!count_events(), "no event if the filter rejects all\n");
}

int main(void)
{
	start("trap/trap_exit");
	instance = make_instance("events");
	snprintf(mine, sizeof(mine), "common_pid == %d && vector != 2", getpid());
	set_up_user_traps();

	ksft_set_plan(nr_user_traps + 1);
	for (size_t i = 0; i < nr_user_traps; i++)
		test_user_trap(&user_traps[i]);
	test_filter();
	ksft_finished();
}
