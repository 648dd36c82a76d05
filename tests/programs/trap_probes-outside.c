// SPDX-License-Identifier: GPL-2.0
/* trap_probes: NMIs and machine checks from outside */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .wakeup_events = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
	};
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
	attr.config = event_id("trap_test/mc");
	perf = perf_open(&attr, 0, -1);
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
