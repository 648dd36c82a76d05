// SPDX-License-Identifier: GPL-2.0
/*
 * Test the trap trace events with bad input and at bad times: filters on fields
 * that are missing, a ring buffer that is too small, events that are switched
 * during CPU hotplug. After each test, every CPU still traces all traps.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#define ROUNDS		50
#define FLOOD		20000
#define HOTPLUGS	5

static const char *instance;

static int count_events(unsigned int vector)
{
	struct event e;
	int n = 0;

	for_each_record(next_event, &e, instance, -1)
		n += e.user && e.vector == vector;
	return n;
}

static void raise_many(int n, const char *filter)
{
	trace_on(instance, filter);
	for (int i = 0; i < n; i++)
		raise_bp(NULL);
	trace_off(instance);
}

/* Whether each CPU has an entry and an exit of each trap */
static bool all_cpus_trace(void)
{
	char filter[64];
	bool good = true;
	int n;

	snprintf(filter, sizeof(filter), "common_pid == %d", getpid());
	for (int cpu = 0; cpu < cpus(); cpu++) {
		pin(cpu);
		raise_many(ROUNDS, filter);
		n = count_events(BP);
		if (n != 2 * ROUNDS)
			ksft_print_msg("CPU %d: %d events of %d\n", cpu, n, 2 * ROUNDS);
		good &= n == 2 * ROUNDS;
	}
	return good;
}

static void test_bad_filters(void)
{
	static const char * const filters[] = {
		"no_such_field == 1", "vector == #DE", "vector ==", "vector == 0x",
		"ip == ", "vector ~ \"*\"", "(vector == 3", NULL
	};

	result(refuses(instance, "events/trap/trap_entry/filter", "vector == 3", filters) &&
	       all_cpus_trace(), "bad filters");
}

static void test_bad_vectors(void)
{
	static const char * const filters[] = {
		"vector == 300", "vector > 32 && vector != 3", "vector == 255",
	};
	bool good = true;

	pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		raise_many(ROUNDS, filters[i]);
		good &= !count_events(BP);
	}
	if (!access(RAISE_FILE, W_OK))
		good &= raise_in_kernel(1) == -EINVAL && raise_in_kernel(256) == -EINVAL &&
			raise_in_kernel(4294967295U) == -EINVAL;
	result(good && all_cpus_trace(), "vectors out of range");
}

/* Recorded and lost events together are as many as were raised */
static void test_full_buffer(bool overwrite)
{
	unsigned long there, lost;
	char filter[64];

	snprintf(filter, sizeof(filter), "common_pid == %d && vector == 3", getpid());
	must(put(instance, "options/overwrite", "%d", overwrite), "overwrite");
	must(put(instance, "buffer_size_kb", "8"), "buffer_size_kb");
	pin(0);
	raise_many(FLOOD, filter);
	there = buffer_stat(instance, "entries: ");
	lost = buffer_stat(instance, overwrite ? "\noverrun: " : "dropped events: ");
	ksft_print_msg("%d events raised, %lu there, %lu lost\n", 2 * FLOOD, there, lost);
	must(put(instance, "options/overwrite", "1"), "overwrite");
	must(put(instance, "buffer_size_kb", "2048"), "buffer_size_kb");
	result(there && lost && there + lost == 2 * FLOOD && all_cpus_trace(),
	       overwrite ? "a full ring buffer, overwritten" :
	       "a full ring buffer, not overwritten");
}

static void test_hotplug(void)
{
	const int last = cpus() - 1;
	bool good = true;
	pid_t child;

	pin(0);
	if (!last || !plug(last, false)) {
		skip("CPU hotplug", "no CPU can be taken offline");
		return;
	}
	plug(last, true);

	/* Going offline and coming back while the events are switched */
	child = must_fork();
	for (int on = 0; !child; on = !on)
		put(instance, "events/trap/enable", "%d", on);
	for (int i = 0; i < HOTPLUGS; i++)
		good &= plug(last, false) && plug(last, true);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	trace_off(instance);
	good &= all_cpus_trace();

	/* Switched on and off while it is offline */
	pin(0);
	good &= plug(last, false);
	trace_on(instance, "0");
	good &= plug(last, true);
	good &= all_cpus_trace();
	pin(0);
	trace_on(instance, "0");
	good &= plug(last, false);
	trace_off(instance);
	good &= plug(last, true);
	result(good && all_cpus_trace(), "CPU hotplug");
}

int main(void)
{
	start("trap/trap_exit");
	skip_traps();
	instance = make_instance("input");

	ksft_set_plan(5);
	test_bad_filters();
	test_bad_vectors();
	test_full_buffer(true);
	test_full_buffer(false);
	test_hotplug();
	ksft_finished();
}
