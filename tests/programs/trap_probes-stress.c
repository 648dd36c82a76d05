// SPDX-License-Identifier: GPL-2.0
/* trap_probes: NMIs and machine checks from outside, and all at once on all CPUs */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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

/*
 * A child that has the monitor of QEMU raise an NMI or a #MC soon after a byte is written to
 * @ready. The caller is on CPU 0 then.
 */
static pid_t raise_later(unsigned int vector, int *ready)
{
	int fds[2];
	pid_t child;
	char byte;

	if (!getenv("QEMU_MONITOR") || cpus() < 2 || access(PROBE_FILE, W_OK)) {
		why = access(PROBE_FILE, W_OK) ? NO_TRAP_TEST : "no QEMU_MONITOR, or a single CPU";
		return 0;
	}
	if (pipe(fds))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	child = must_fork();
	if (!child) {
		close(fds[1]);
		pin(cpus() - 1);
		if (read(fds[0], &byte, 1) != 1)
			_exit(1);
		usleep(100000);
		_exit(vector == NMI ? !on_qemu_monitor("nmi") : !machine_check_from_qemu());
	}
	close(fds[0]);
	*ready = fds[1];
	pin(0);
	return child;
}

/*
 * An NMI or #MC that the monitor of QEMU raises while a probe waits. Returns how many events
 * are suppressed, or -1 if it is not raised, or is traced.
 */
static int raise_outside(unsigned int vector)
{
	int traced = 0, ready, fd, status;
	unsigned long before;
	struct event e;
	pid_t child;

	child = raise_later(vector, &ready);
	if (!child)
		return -1;
	before = suppressed();
	trace_on(instance, mine);
	fd = attach_probe("delay 2500");
	if (fd >= 0 && write(ready, "", 1) == 1)
		raise_bp_in_frame(pages);
	close(fd);
	close(ready);
	trace_off(instance);
	waitpid(child, &status, 0);
	before = suppressed() - before;

	for_each_record(next_event, &e, instance, -1)
		traced += e.vector == vector;
	ksft_print_msg("%d traced, %lu suppressed, status 0x%x\n", traced, before, status);
	return status || traced ? -1 : (int)before;
}

bool test_nmi_outside(void)
{
	int events = 0;

	/* On a busy host, the probe may end before the NMI comes */
	for (int i = 0; i < 5 && !events; i++)
		events = raise_outside(NMI);
	return events >= 2;
}

/* A #MC has no events */
bool test_mc_outside(void)
{
	return raise_outside(MC) >= 0;
}

/* A system call with a frame pointer to memory that has no page */
static long write_in_frame(int fd, const char *text, size_t length)
{
	long ret = SYS_write;

#ifdef __x86_64__
	asm volatile("push %%rbp; mov %[frame], %%rbp; syscall; pop %%rbp"
		     : "+a" (ret) : "D" (fd), "S" (text), "d" (length), [frame] "r" (pages)
		     : "rcx", "r11", "memory");
#else
	asm volatile("push %%ebp; mov %[frame], %%ebp; int $0x80; pop %%ebp"
		     : "+a" (ret) : "b" (fd), "c" (text), "d" (length), [frame] "S" (pages)
		     : "memory");
#endif
	return ret;
}

/*
 * A kprobe in the handler of a #MC that comes before a page fault handler has read CR2.
 * perf walks the stack of the user for the kprobe, and faults. The #BP has no trap event,
 * whose probes would walk it as well.
 */
bool test_mc_kprobe(void)
{
	static const char delay[] = "1000";
	int ready, perf, status, traced = 0, fd = open(CR2_FILE, O_WRONLY);
	unsigned long before;
	struct event e;
	__u64 hits = 0;
	pid_t child;
	long ret = strlen(delay);

	child = raise_later(MC, &ready);
	if (!child)
		return false;
	/* mce_log() calls it, and is often inlined itself */
	if (!add_kprobe("mc", "mce_gen_pool_add"))
		ksft_exit_fail_msg("no kprobe in mce_gen_pool_add()\n");
	perf = open_perf("trap_test/mc", PERF_SAMPLE_CALLCHAIN, 0);
	option(instance, "userstacktrace", true);
	before = suppressed();
	trace_on(instance, mine);
	must(put(instance, "events/trap_test/enable", "1"), "kprobe");
	if (write(ready, "", 1) != 1)
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	/* The child needs this CPU now and then */
	for (int i = 0; i < 30 && !hits && ret == (long)strlen(delay); i++) {
		ret = write_in_frame(fd, delay, strlen(delay));
		if (read(perf, &hits, sizeof(hits)) != sizeof(hits))
			ksft_exit_fail_msg("perf: %s\n", strerror(errno));
	}
	trace_off(instance);
	before = suppressed() - before;
	close(perf);
	close(fd);
	close(ready);
	waitpid(child, &status, 0);
	option(instance, "userstacktrace", false);
	remove_kprobes();

	for_each_record(next_event, &e, instance, -1)
		traced += !e.user && e.vector == BP;
	ksft_print_msg("%llu hits, %d traced, %lu suppressed, CR2 is %s, status 0x%x\n",
		       (unsigned long long)hits, traced, before, ret < 0 ? "lost" : "kept", status);
	return !status && hits && !traced && before >= 2 * hits && ret == (long)strlen(delay);
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
