// SPDX-License-Identifier: GPL-2.0
/* trap_probes: NMIs and machine checks from outside, and all at once on all CPUs */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor.h"
#include "trap_probes.h"

/* An NMI or #MC that the monitor of QEMU raises while a probe waits */
static bool test_outside(unsigned int vector)
{
	/* No probe may run in a #MC: it has no event */
	const int wanted = vector == MC ? 0 : 1;
	int entries = 0, exits = 0, ready[2], fd, status;
	bool in_probe = false;
	struct event e;
	pid_t child;
	char byte;

	if (!getenv("QEMU_MONITOR") || cpus() < 2 || access(PROBE_FILE, W_OK)) {
		why = access(PROBE_FILE, W_OK) ? NO_TRAP_TEST : "no QEMU_MONITOR, or a single CPU";
		return false;
	}
	if (pipe(ready))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	child = must_fork();
	if (!child) {
		close(ready[1]);
		pin(cpus() - 1);
		if (read(ready[0], &byte, 1) != 1)
			_exit(1);
		usleep(100000);
		_exit(vector == NMI ? !on_qemu_monitor("nmi") : !machine_check_from_qemu());
	}
	close(ready[0]);
	pin(0);
	trace_on(instance, mine);
	fd = attach_probe("delay 2500");
	if (fd >= 0 && write(ready[1], "", 1) == 1)
		raise_bp_in_frame(pages);
	close(fd);
	close(ready[1]);
	trace_off(instance);
	waitpid(child, &status, 0);

	/*
	 * The probe waits after the entry of the breakpoint is recorded, and
	 * after its exit is. For the rest of the time, the task is in user
	 * mode, but for microseconds.
	 */
	for_each_record(next_event, &e, instance, 0) {
		if (e.vector != vector)
			in_probe = true;
		if (e.vector != vector || e.user)
			continue;
		if (in_probe)
			++*(e.exit ? &exits : &entries);
		else
			ksft_print_msg("at %s\n", e.ip);
	}
	ksft_print_msg("%d entries, %d exits, status 0x%x\n", entries, exits, status);
	return !status && entries == wanted && exits == wanted;
}

bool test_nmi_outside(void)
{
	return test_outside(NMI);
}

bool test_mc_outside(void)
{
	return test_outside(MC);
}

/*
 * All at once, on all CPUs, with the events switched on and off all the time.
 * Afterwards, each CPU traces and guards as before.
 */
static void stress_worker(int cpu, int program, int ready, int *rounds)
{
	static const unsigned int vectors[] = { 0, 3, 6, 13, 14 };
	struct ring rings[2];

	pin(cpu);
	open_ring(&rings[0], "trap/trap_entry");
	open_ring(&rings[1], "trap/trap_exit");
	attach_bpf("trap/trap_entry", program);
	attach_bpf("trap/trap_exit", program);
	kernel_breakpoint("trace_event_buffer_lock_reserve");
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;; ++*rounds) {
		for (size_t i = 0; i < ARRAY_SIZE(vectors); i++)
			raise_in_kernel(vectors[i]);
		raise_many(20);
		raise_steps();
		syscall(SYS_getppid);
	}
}

static void stress_toggler(int *rounds)
{
	for (unsigned int i = 0; ; i++, ++*rounds) {
		put(instance, "events/trap/trap_entry/enable", "%d", !(i & 1));
		put(second, "events/trap/enable", "%d", !(i & 2));
		put(instance, "events/trap/trap_exit/enable", "%d", !(i & 4));
		put(instance, "events/pagefault/enable", "%d", !(i & 1));
		option(second, "stacktrace", i & 8);
		put(TRACING, "events/trap_test/enable", "%d", !(i & 3));
		usleep(100);
	}
}

#define STRESS_SECONDS	10
#define STRESS_ROUNDS	5

bool test_stress(void)
{
	const int n = cpus();
	pid_t children[n + 1];
	int map = bpf_counter(), program = bpf_faulting_program(map);
	unsigned long before = suppressed();
	int status, ready[2], *rounds;
	bool all_good = true;
	struct pollfd p;
	__u64 hits;
	char line[1];

	option(instance, "userstacktrace", true);
	option(second, "userstacktrace", true);

	put(instance, "events/trap/filter", "0");
	put(second, "events/trap/filter", "0");
	add_kprobe("stress0", "ring_buffer_lock_reserve");
	add_kprobe("stress1", "__traceiter_trap_entry");
	add_kprobe("stress2", "stack_trace_save_user");

	rounds = (int *)must_map(MAP_SHARED | MAP_ANONYMOUS, -1, 4096);
	if (pipe(ready))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));

	/* Each worker but the last, which is the toggler, says when it is ready */
	for (int i = 0; i <= n; i++) {
		children[i] = must_fork();
		if (!children[i] && i < n)
			stress_worker(i, program, ready[1], &rounds[i]);
		else if (!children[i])
			stress_toggler(&rounds[i]);
		p.fd = ready[0];
		p.events = POLLIN;
		if (i < n && (poll(&p, 1, 60000) != 1 || read(ready[0], line, 1) != 1))
			ksft_exit_fail_msg("worker %d does not start\n", i);
	}
	/* Longer on a slow machine */
	for (int second = 0; second < 10 * STRESS_SECONDS; second++) {
		bool enough = second >= STRESS_SECONDS;

		for (int i = 0; i <= n; i++)
			enough &= __atomic_load_n(&rounds[i], __ATOMIC_RELAXED) >=
				  STRESS_ROUNDS;
		if (enough)
			break;
		sleep(1);
	}
	for (int i = 0; i <= n; i++) {
		if (waitpid(children[i], &status, WNOHANG)) {
			ksft_print_msg("child %d ended: 0x%x\n", i, status);
			all_good = false;
			continue;
		}
		kill(children[i], SIGKILL);
		waitpid(children[i], &status, 0);
	}
	put(instance, "events/enable", "0");
	put(second, "events/enable", "0");
	put(TRACING, "events/trap_test/enable", "0");
	remove_kprobes();
	option(instance, "userstacktrace", false);
	option(second, "userstacktrace", false);
	option(second, "stacktrace", false);
	hits = bpf_count(map);
	close(program);
	close(map);
	ksft_print_msg("%llu reads failed, %lu events suppressed\n", (unsigned long long)hits,
		       suppressed() - before);
	for (int i = 0; i <= n; i++) {
		ksft_print_msg("%s %d: %d rounds\n", i < n ? "CPU" : "toggler",
			       i, rounds[i]);
		all_good &= rounds[i] >= STRESS_ROUNDS;
	}
	all_good &= suppressed() != before && (hits || program < 0);
	munmap(rounds, 4096);
	close(ready[0]);
	close(ready[1]);

	for (int cpu = 0; cpu < n; cpu++) {
		struct outcome o;

		pin(cpu);
		option(instance, "userstacktrace", true);
		o = measure(ROUNDS);
		option(instance, "userstacktrace", false);
		all_good &= good(&o, ROUNDS) && o.faults >= 2 * ROUNDS;
	}
	return all_good;
}
