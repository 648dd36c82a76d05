// SPDX-License-Identifier: GPL-2.0
/*
 * Test the trap_entry and trap_exit trace events: raise each vector that an
 * instruction of user mode can raise on most models of CPU (so not #CP), ROUNDS
 * times on each of MAX_CPUS CPUs, and compare the trace. And a #DB of kernel mode.
 *
 * Built for 64-bit and 32-bit: i386 kernels, and compatibility mode.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trap.h"
#include "user_traps.h"

/* How often each is raised on each CPU */
#define ROUNDS		25
/* No hook depends on the CPU, and each takes some grace periods of RCU */
#define MAX_CPUS	8

/* A system call that this task makes in test_kernel_mode() only */
#ifdef __x86_64__
#define GETPPID		"__x64_sys_getppid"
#else
#define GETPPID		"__ia32_sys_getppid"
#endif

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
	if (!*raised && !t->optional)
		ksft_print_msg("CPU %d: no signal\n", cpu);
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

/* A trap of kernel mode: a perf breakpoint. A function may have several names */
static void test_kernel_mode(void)
{
	uint64_t address = kernel_symbol(GETPPID);
	int fd, entries = 0, exits = 0, wrong = 0;
	char filter[64], ip[IP_SIZE] = "", *at;
	struct event e;
	FILE *f;

	fd = breakpoint(address, true);
	if (fd < 0) {
		ksft_test_result_skip("kernel DB: no breakpoint at " GETPPID "()\n");
		return;
	}
	snprintf(filter, sizeof(filter), "common_pid == %d && vector == 1", getpid());
	trace_on(instance, filter);
	for (int i = 0; i < ROUNDS; i++)
		syscall(SYS_getppid);
	trace_off(instance);
	close(fd);

	f = open_trace(instance, -1);
	while (next_event(f, &e)) {
		++*(e.exit ? &exits : &entries);
		if (!*ip)
			snprintf(ip, sizeof(ip), "%s", e.ip);
		wrong += e.user || strcmp(e.name, "#DB") || exits != entries - !e.exit ||
			 strcmp(e.ip, ip);
	}
	fclose(f);
	ksft_print_msg("at %s\n", ip);
	at = strstr(ip, "+0x0/");
	if (at)
		*at = '\0';
	wrong += !at || kernel_symbol(ip) != address;
	ksft_print_msg("%d entries, %d exits, %d wrong\n", entries, exits, wrong);
	ksft_test_result(entries == ROUNDS && exits == ROUNDS && !wrong,
			 "kernel DB, breakpoint at a system call\n");
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

	ksft_set_plan(nr_user_traps + 2);
	for (size_t i = 0; i < nr_user_traps; i++)
		test_user_trap(&user_traps[i]);
	test_kernel_mode();
	test_filter();
	ksft_finished();
}
