// SPDX-License-Identifier: GPL-2.0
/*
 * trap_fuzz: the switchers, each of which returns 0, or a negative error if it was refused;
 * and what comes from outside
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "monitor.h"
#include "trap_fuzz.h"

const char * const groups[GROUPS] = { "trap", "pagefault", "exceptions" };
const char * const events[EVENTS] = {
	"trap/trap_entry", "trap/trap_exit", "pagefault/pagefault_entry",
	"pagefault/pagefault_exit", "pagefault/pagefault_noregs",
	"exceptions/page_fault_user", "exceptions/page_fault_kernel",
};

/* Instance 0 is the top one */
static const char *instance_name(unsigned int n)
{
	static const char * const names[] = { "top", "1", "2", "3", "4" };

	return names[n];
}

void instance_path(unsigned int n, char *path, size_t size)
{
	if (n)
		snprintf(path, size, TRACING "/instances/" NAME ".%d.%u", main_pid, n);
	else
		snprintf(path, size, TRACING);
}

/* Write to a file of a tracing instance */
static int put_in(struct thread *me, unsigned int n, const char *file, const char *text)
{
	char path[128];

	note(me, "echo '%s' >%s:%s", text, instance_name(n), file);
	instance_path(n, path, sizeof(path));
	return put(path, file, "%s", text);
}

/* One draw per call: the compiler chooses the order of arguments */
static int put_anywhere(struct thread *me, const char *file, const char *text)
{
	return put_in(me, draw(me, INSTANCES + 1), file, text);
}

static int put_below(struct thread *me, const char *file, const char *text)
{
	return put_in(me, 1 + draw(me, INSTANCES), file, text);
}

static const char *event_or_group(struct thread *me)
{
	if (draw(me, 2))
		return groups[draw(me, GROUPS)];
	return events[draw(me, EVENTS)];
}

int switch_event(struct thread *me)
{
	const char *event = event_or_group(me);
	char file[64];

	snprintf(file, sizeof(file), "events/%s/enable", event);
	return put_anywhere(me, file, draw(me, 3) ? "1" : "0");
}

int set_event(struct thread *me)
{
	static const char * const lines[] = {
		"trap:*", "pagefault:*", "!trap:*", "!pagefault:*", "trap_entry", "*:trap_exit",
		"!trap:trap_entry", "exceptions:", "!exceptions:", "trap:no_such_event",
	};

	return put_below(me, "set_event", lines[draw(me, ARRAY_SIZE(lines))]);
}

int set_filter(struct thread *me)
{
	static const char * const filters[] = {
		"0", "0", "0", "1", "user_mode == 1", "user_mode == 0", "error_code & 2",
		"ip > 4096", "common_pid > 1 && user_mode == 1", "COMM == \"" NAME "\"",
		"vector == 14", "vector != 14 && (user_mode == 1 || error_code != 0)",
		"outcome == MAJOR", "outcome == MINOR && duration > 1000", "flags & COW",
		"outcome >= SIGNAL || flags & FILE", "ip.function == handle_mm_fault",
		"CPU & CPUS{0-1}", "no_such_field == 1", "vector ==", "(vector == 1",
		"outcome == NO_SUCH_OUTCOME", "common_preempt_count > 0",
	};
	const char *event = event_or_group(me);
	char file[64];

	snprintf(file, sizeof(file), "events/%s/filter", event);
	return put_anywhere(me, file, filters[draw(me, ARRAY_SIZE(filters))]);
}

static const char * const triggers[] = {
	"hist:keys=vector,user_mode", "hist:keys=vector.log2:vals=hitcount:sort=hitcount",
	"hist:keys=outcome,duration.log2", "hist:keys=common_stacktrace:size=128",
	"hist:keys=ip.sym,common_pid.execname:size=128", "hist:keys=address.hex:size=128",
	"hist:keys=common_cpu if user_mode == 1", "hist:keys=vector:pause",
	"hist:keys=vector:clear",
	"stacktrace", "stacktrace:3 if user_mode == 1", "traceon", "traceoff:2", "snapshot:1",
	"enable_event:exceptions:page_fault_user", "disable_event:exceptions:page_fault_user:5",
	"enable_event:trap:trap_exit:1", "enable_hist:trap:trap_entry", "hist:keys=no_such_field",
	"no_such_trigger", "hist:keys=", "stacktrace:-1",
};

int set_trigger(struct thread *me)
{
	const char *event = events[draw(me, EVENTS)];
	const char *trigger = triggers[draw(me, ARRAY_SIZE(triggers))];
	const bool add = draw(me, 2);
	char file[64], text[96];

	snprintf(file, sizeof(file), "events/%s/trigger", event);
	snprintf(text, sizeof(text), "%s%s", add ? "" : "!", trigger);
	return put_anywhere(me, file, text);
}

int set_option(struct thread *me)
{
	static const char * const options[] = {
		"stacktrace", "userstacktrace", "overwrite", "irq-info", "record-tgid",
		"sym-userobj", "sym-addr", "raw", "hex", "bin", "verbose", "latency-format",
		"disable_on_free", "event-fork", "function-fork", "markers", "pause-on-trace",
		"hash-ptr", "fields", "trace_printk_dest", "copy_trace_marker",
	};
	/* In the top instance, only the two options that are restored */
	const unsigned int n = draw(me, INSTANCES + 1);
	char file[64];

	snprintf(file, sizeof(file), "options/%s", options[draw(me, n ? ARRAY_SIZE(options) : 2)]);
	return put_in(me, n, file, draw(me, 2) ? "1" : "0");
}

/* Whether an instance has a filter for functions */
static bool some_functions(const char *path)
{
	char *text = get(path, "set_ftrace_filter");
	bool some = text && *text && *text != '#';

	free(text);
	return some;
}

/* They make all slow, so none stays for long */
int set_tracer(struct thread *me)
{
	static const char * const tracers[] = {
		"nop", "nop", "nop", "function", "function_graph", "wakeup", "irqsoff",
		"preemptoff", "no_such_tracer",
	};
	const char *tracer = tracers[draw(me, ARRAY_SIZE(tracers))];
	const unsigned int n = draw(me, INSTANCES + 1), wait_us = draw(me, 20000);
	char path[128];
	int ret;

	note(me, "echo '%s' >%s:current_tracer, for %u us", tracer, instance_name(n), wait_us);
	instance_path(n, path, sizeof(path));
	if (!strcmp(tracer, "nop"))
		return put(path, "current_tracer", "nop");
	pthread_mutex_lock(&tracer_mutex);
	ret = some_functions(path) ? put(path, "current_tracer", "%s", tracer) : -EPERM;
	if (!ret) {
		usleep(wait_us);
		put(path, "current_tracer", "nop");
	}
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

int set_functions(struct thread *me)
{
	static const char * const functions[] = {
		SOME_FUNCTIONS, "*trap*", "ring_buffer_*", "do_*", "handle_mm_fault",
		"force_sig*",
	};
	/*
	 * Never all that one of these has: Linux 7.3 takes what is left of such a
	 * filter for none, and function_graph traces all functions then.
	 */
	static const char * const without[] = {
		"*_fault_*", "*trap_*", "ring_buffer_read*", "do_sys*", "force_sig_fault*",
	};
	const bool some = draw(me, 3);
	const char *pattern;
	int ret;

	if (some)
		pattern = functions[draw(me, ARRAY_SIZE(functions))];
	else
		pattern = without[draw(me, ARRAY_SIZE(without))];
	pthread_mutex_lock(&tracer_mutex);
	ret = put_anywhere(me, some ? "set_ftrace_filter" : "set_ftrace_notrace", pattern);
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

/*
 * Not buffer_subbuf_size_kb: Linux 7.3 still counts the entries that were
 * there. A reader of trace_pipe then looks for them for ever, in the kernel.
 */
int set_buffer(struct thread *me)
{
	static const char * const writes[][2] = {
		{ "buffer_size_kb", "4" }, { "buffer_size_kb", "64" },
		{ "buffer_size_kb", "1024" },
		{ "per_cpu/cpu0/buffer_size_kb", "128" }, { "trace", " " },
		{ "per_cpu/cpu0/trace", " " },
		{ "tracing_on", "0" }, { "tracing_on", "1" }, { "tracing_on", "1" },
		{ "snapshot", "0" }, { "snapshot", "1" }, { "snapshot", "2" },
		{ "trace_clock", "local" }, { "trace_clock", "global" },
		{ "trace_clock", "counter" }, { "trace_clock", "mono" },
		{ "trace_clock", "x86-tsc" }, { "trace_clock", "nonsense" },
		{ "tracing_cpumask", "1" }, { "tracing_cpumask", "f" },
		{ "trace_marker", "fuzz" }, { "set_event_pid", "1" }, { "set_event_pid", "" },
		{ "set_event_notrace_pid", "" },
		{ "buffer_percent", "50" }, { "free_buffer", "" },
	};
	const char * const *write = writes[draw(me, ARRAY_SIZE(writes))];

	return put_below(me, write[0], write[1]);
}

int read_file(struct thread *me)
{
	static const char * const files[] = {
		"trace", "trace_pipe", "per_cpu/cpu0/trace_pipe_raw", "per_cpu/cpu1/stats",
		"per_cpu/cpu0/trace_pipe", "snapshot", "events/trap/trap_entry/hist",
		"events/trap/trap_exit/hist", "events/pagefault/pagefault_exit/hist",
		"events/pagefault/pagefault_exit/format", "events/trap/filter",
		"events/trap/trap_entry/trigger", "set_event", "enabled_functions", "error_log",
		"../debug/x86/trap_suppressed", "kprobe_profile", "dynamic_events",
		"set_ftrace_filter", "trace_stat/function0",
	};
	const unsigned int n = draw(me, INSTANCES + 1), reads = 1 + draw(me, 8);
	const char *file = files[draw(me, ARRAY_SIZE(files))];
	char path[256], text[4096];
	int fd;

	note(me, "read %s:%s, %u times", instance_name(n), file, reads);
	instance_path(n, path, sizeof(path));
	strcat(path, "/");
	strcat(path, file);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	for (unsigned int i = 0; i < reads; i++)
		if (read(fd, text, sizeof(text)) <= 0)
			break;
	close(fd);
	return 0;
}

int make_or_remove(struct thread *me)
{
	const unsigned int n = 1 + draw(me, INSTANCES);
	const bool make = draw(me, 2);
	char path[128];
	int ret;

	note(me, "%s %s", make ? "mkdir" : "rmdir", instance_name(n));
	instance_path(n, path, sizeof(path));
	pthread_mutex_lock(&tracer_mutex);
	ret = (make ? mkdir(path, 0755) : rmdir(path)) ? -errno : 0;
	if (make && !ret)
		put(path, "set_ftrace_filter", SOME_FUNCTIONS);
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

int add_kprobe(struct thread *me)
{
	static const char * const symbols[] = {
		"handle_mm_fault", "bad_area_nosemaphore", "do_error_trap", "fixup_exception",
		"force_sig_fault", "do_sys_openat2", "vfs_write",
		/* The tracer's: from IN_TRACER on */
		"ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
		"trace_event_buffer_reserve", "stack_trace_save_user", "arch_stack_walk",
		"event_triggers_call", "filter_match_preds", "__traceiter_trap_entry",
		"__traceiter_pagefault_exit", "copy_from_user_nofault",
		/* These are refused */
		"__trap_trace_entry", "exc_page_fault", "no_such_symbol",
	};
	enum { IN_TRACER = 7 };
	const unsigned int n = draw(me, 6), offset = draw(me, 3) ? draw(me, 64) : 0;
	const unsigned int number = draw(me, ARRAY_SIZE(symbols));
	const bool at_return = !draw(me, 4);
	const char *symbol = symbols[number];
	int ret = 0;

	note(me, "%s k%u on %s+%u", at_return ? "kretprobe" : "kprobe", n, symbol,
	     at_return ? 0 : offset);
	if (at_return)
		ret = append(TRACING, "dynamic_events", "r:" NAME "/k%u %s ret=$retval\n", n,
			     symbol);

	/* Find the next instruction: the kernel refuses other addresses */
	for (unsigned int i = 0; !at_return && i < 15; i++) {
		ret = append(TRACING, "dynamic_events", "p:" NAME "/k%u %s+%u stack=$stack0\n", n,
			     symbol, offset + i);
		if (ret != -EILSEQ)
			break;
	}
	if (!ret && number >= IN_TRACER)
		shared->tracer_probed = true;
	return ret;
}

/*
 * One to an event. Linux 7.3 frees one of two, by "-:event", while they are enabled,
 * and leaves its consumer to whoever runs into the breakpoint.
 */
int add_uprobe(struct thread *me)
{
	static const struct {
		char type;
		unsigned int offset;
	} probes[] = { { 'p', 0 }, { 'p', 1 }, { 'r', 0 } };
	const unsigned int n = draw(me, ARRAY_SIZE(probes));

	note(me, "uprobe u%u on our own code", n);
	if (!probed_at)
		return -EOPNOTSUPP;
	return append(TRACING, "dynamic_events", "%c:" NAME "/u%u %s:0x%lx\n", probes[n].type,
		      n, exe, probed_at + probes[n].offset);
}

int add_function_probe(struct thread *me)
{
	static const char * const probes[] = {
		"t:" NAME "/t0 trap_entry", "t:" NAME "/t1 pagefault_exit",
		"f:" NAME "/f0 handle_mm_fault", "f:" NAME "/f1 handle_mm_fault%return",
	};
	const char *probe = probes[draw(me, ARRAY_SIZE(probes))];

	note(me, "%s", probe);
	return append(TRACING, "dynamic_events", "%s\n", probe);
}

static const char * const probe_names[] = {
	"k0", "k1", "k2", "k3", "k4", "k5", "u0", "u1", "u2", "t0", "t1", "f0", "f1",
};

int remove_probe(struct thread *me)
{
	const char *name = probe_names[draw(me, ARRAY_SIZE(probe_names))];

	note(me, "remove probe %s", name);
	return append(TRACING, "dynamic_events", "-:" NAME "/%s\n", name);
}

/*
 * On the events themselves. They are a group of their own, and for the top instance
 * only: of one that is enabled in two, and disabled first where it was enabled first,
 * Linux 7.3 leaves a trigger behind.
 */
static int make_event_probe(unsigned int n)
{
	static const char * const probes[EVENT_PROBES] = {
		"trap.trap_entry v=$vector:u16 ip=$ip:x64",
		"pagefault.pagefault_exit o=$outcome:u32 if outcome > 1",
		"trap.trap_exit v=$vector:u16",
	};

	return append(TRACING, "dynamic_events", "e:" NAME "_e/e%u %s\n", n, probes[n]);
}

int add_event_probe(struct thread *me)
{
	const unsigned int n = draw(me, EVENT_PROBES);

	note(me, "add event probe e%u", n);
	return make_event_probe(n);
}

/* These two are drawn rarely, so they make the probe that they need */
int switch_event_probe(struct thread *me)
{
	const unsigned int n = draw(me, EVENT_PROBES);
	const bool on = draw(me, 2);
	char file[64];

	note(me, "event probe e%u %s", n, on ? "on" : "off");
	make_event_probe(n);
	snprintf(file, sizeof(file), "events/" NAME "_e/e%u/enable", n);
	return put(TRACING, file, "%d", on);
}

int remove_event_probe(struct thread *me)
{
	const unsigned int n = draw(me, EVENT_PROBES);

	note(me, "remove event probe e%u", n);
	make_event_probe(n);
	return append(TRACING, "dynamic_events", "-:" NAME "_e/e%u\n", n);
}

int switch_probe(struct thread *me)
{
	const bool all = !draw(me, 4);
	const char *name = probe_names[draw(me, ARRAY_SIZE(probe_names))];
	char file[64];

	snprintf(file, sizeof(file), "events/" NAME "/%s%senable", all ? "" : name,
		 all ? "" : "/");
	return put_anywhere(me, file, draw(me, 3) ? "1" : "0");
}

int optimize_kprobes(struct thread *me)
{
	const bool on = draw(me, 2);

	note(me, "kprobes-optimization %d", on);
	return put("/proc/sys/debug", "kprobes-optimization", "%d", on);
}

/* Events of perf, on a CPU each, with call chains: a few at a time in each thread */
#define PERF_PAGES	9

int open_perf(struct thread *me)
{
	static __thread struct { int fd; void *ring; } slots[4];
	const unsigned int slot = draw(me, ARRAY_SIZE(slots)), cpu = draw(me, cpus());
	const char *event = events[draw(me, EVENTS)];
	const bool open = draw(me, 4), ring = draw(me, 2);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = event_id(event), .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN,
	};
	void *memory;
	int fd;

	note(me, "perf slot %u: %s %s on CPU %u, %s ring", slot, open ? "open" : "close", event,
	     cpu, ring ? "with" : "no");
	if (slots[slot].ring)
		munmap(slots[slot].ring, PERF_PAGES * page_size);
	if (slots[slot].fd)
		close(slots[slot].fd);
	memset(&slots[slot], 0, sizeof(slots[slot]));
	if (!open)
		return 0;

	fd = perf_open(&attr, -1, cpu);
	if (fd < 0)
		return -errno;
	slots[slot].fd = fd;
	if (!ring)
		return 0;
	memory = mmap(NULL, PERF_PAGES * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	slots[slot].ring = memory;
	return 0;
}

/*
 * From outside: NMIs and, less often, machine checks, of which a CPU takes one at a
 * time
 */
int raise_outside(struct thread *me)
{
	const bool check = !draw(me, 16);
	const unsigned int nmis = 1 + draw(me, 4), wait_ms = draw(me, check ? 2000 : 500);

	note(me, "%u of the monitor's %s, then %u ms", check ? 1 : nmis, check ? "#MCs" : "NMIs",
	     wait_ms);
	if (!getenv("QEMU_MONITOR")) {
		usleep(10000);
		return -EOPNOTSUPP;
	}
	if (check && !machine_check_from_qemu())
		wrong(me, "no #MC");
	for (unsigned int i = 0; i < nmis && !check; i++)
		if (!on_qemu_monitor("nmi"))
			wrong(me, "no NMI");
	for (unsigned int i = 0; i < wait_ms + (check ? 1000 : 0) && !stopped(); i += 50)
		usleep(50000);
	return 0;
}
