// SPDX-License-Identifier: GPL-2.0
/* trap_fuzz: the switchers, whose writes the kernel may refuse; and what comes from outside */
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

#define GROUPS	"trap", "pagefault", "exceptions"
#define EVENTS										\
	"trap/trap_entry", "trap/trap_exit", "pagefault/pagefault_entry",		\
	"pagefault/pagefault_exit", "pagefault/pagefault_noregs",			\
	"exceptions/page_fault_user", "exceptions/page_fault_kernel"

const char * const groups[] = { GROUPS, NULL };
const char * const events[] = { EVENTS, NULL };
static const char * const both[] = { GROUPS, GROUPS, EVENTS, NULL };

static const char * const probes[] = {
	"k0", "k1", "k2", "k3", "k4", "k5", "u0", "u1", "u2", "t0", "t1", "f0", "f1", NULL,
};

/*
 * On the events themselves. They are a group of their own, and for the top instance
 * only: of one that is enabled in two, and disabled first where it was enabled first,
 * Linux 7.3 leaves a trigger behind.
 */
static const char * const event_probes[] = {
	"e:" NAME "_e/e0 trap.trap_entry v=$vector:u16 ip=$ip:x64",
	"e:" NAME "_e/e1 pagefault.pagefault_exit o=$outcome:u32 if outcome > 1",
	"e:" NAME "_e/e2 trap.trap_exit v=$vector:u16", NULL,
};

/*
 * One to an event. Linux 7.3 frees one of two, by "-:event", while they are enabled,
 * and leaves its consumer to whoever runs into the breakpoint.
 */
static const char *uprobes[4];

char instances[INSTANCES + 1][128];

void set_up_switchers(void)
{
	const char *exe = "/proc/self/exe";
	/* The linker puts the text at the same offset in memory and in the file */
	unsigned long at = (unsigned long)probed - (unsigned long)__executable_start;
	char *text[3];

	snprintf(instances[0], sizeof(instances[0]), TRACING);
	for (int n = 1; n <= INSTANCES; n++)
		snprintf(instances[n], sizeof(instances[n]), TRACING "/instances/" NAME ".%d.%d",
			 main_pid, n);
	if (asprintf(&text[0], "p:" NAME "/u0 %s:0x%lx", exe, at) < 0 ||
	    asprintf(&text[1], "p:" NAME "/u1 %s:0x%lx", exe, at + 1) < 0 ||
	    asprintf(&text[2], "r:" NAME "/u2 %s:0x%lx", exe, at) < 0)
		ksft_exit_fail_msg("asprintf\n");
	memcpy(uprobes, text, sizeof(text));
}

int make_instance_to_fuzz(unsigned int n)
{
	if (mkdir(instances[n], 0755))
		return -errno;
	return put(instances[n], "set_ftrace_filter", SOME_FUNCTIONS);
}

static const char *one_of(struct thread *me, const char * const *list)
{
	unsigned int n = 0;

	while (list[n])
		n++;
	return list[draw(me, n)];
}

static int write_one(struct thread *me)
{
	const struct operation *o = me->doing;
	const unsigned int n = o->where == TOP ? 0 : o->where == BELOW ?
			       1 + draw(me, INSTANCES) : draw(me, INSTANCES + 1);
	const char * const *names = !n && o->names_on_top ? o->names_on_top : o->names;
	const char *name = names ? one_of(me, names) : "", *text = one_of(me, o->texts);
	const bool not = o->or_not && draw(me, 2);
	char file[96], formatted[128];

	snprintf(file, sizeof(file), o->file ?: text, name);
	snprintf(formatted, sizeof(formatted), text, name);
	text = formatted;
	if (!o->file) {
		text += strcspn(text, " ") + 1;
		*strchr(file, ' ') = '\0';
	}
	note(me, "echo '%s%s' >%u:%s", not ? "!" : "", text, n, file);
	if (!strcmp(file, "dynamic_events"))
		return append(instances[n], file, "%s\n", text);
	return put(instances[n], file, "%s%s", not ? "!" : "", text);
}

/* Whether an instance has a filter for functions */
static bool some_functions(const char *instance)
{
	char *text = get(instance, "set_ftrace_filter");
	bool some = text && *text && *text != '#';

	free(text);
	return some;
}

/* They make all slow, so none stays for long */
static int set_tracer(struct thread *me)
{
	const char *tracer = one_of(me, me->doing->texts);
	const unsigned int n = draw(me, INSTANCES + 1), wait_us = draw(me, 20000);
	int ret;

	note(me, "echo '%s' >%u:current_tracer, for %u us", tracer, n, wait_us);
	if (!strcmp(tracer, "nop"))
		return put(instances[n], "current_tracer", "nop");
	pthread_mutex_lock(&tracer_mutex);
	ret = some_functions(instances[n]) ?
	      put(instances[n], "current_tracer", "%s", tracer) : -EPERM;
	if (!ret) {
		usleep(wait_us);
		put(instances[n], "current_tracer", "nop");
	}
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

static int set_functions(struct thread *me)
{
	int ret;

	pthread_mutex_lock(&tracer_mutex);
	ret = write_one(me);
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

static int read_file(struct thread *me)
{
	const unsigned int n = draw(me, INSTANCES + 1), reads = 1 + draw(me, 8);
	const char *name = one_of(me, me->doing->names);
	char path[256], text[4096];
	int fd;

	note(me, "read %u:%s, %u times", n, name, reads);
	snprintf(path, sizeof(path), "%s/%s", instances[n], name);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	for (unsigned int i = 0; i < reads && read(fd, text, sizeof(text)) > 0; i++)
		;
	close(fd);
	return 0;
}

static int make_or_remove(struct thread *me)
{
	const unsigned int n = 1 + draw(me, INSTANCES);
	const bool make = draw(me, 2);
	int ret;

	note(me, "%s %u", make ? "mkdir" : "rmdir", n);
	pthread_mutex_lock(&tracer_mutex);
	ret = make ? make_instance_to_fuzz(n) : rmdir(instances[n]) ? -errno : 0;
	pthread_mutex_unlock(&tracer_mutex);
	return ret;
}

static int add_kprobe(struct thread *me)
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
	int ret = -EILSEQ;

	note(me, "%s k%u on %s+%u", at_return ? "kretprobe" : "kprobe", n, symbol,
	     at_return ? 0 : offset);
	if (at_return)
		ret = append(TRACING, "dynamic_events", "r:" NAME "/k%u %s ret=$retval\n", n,
			     symbol);
	/* Find the next instruction: the kernel refuses other addresses */
	for (unsigned int i = 0; !at_return && ret == -EILSEQ && i < 15; i++)
		ret = append(TRACING, "dynamic_events", "p:" NAME "/k%u %s+%u stack=$stack0\n", n,
			     symbol, offset + i);
	if (!ret && number >= IN_TRACER)
		shared->tracer_probed = true;
	return ret;
}

/* Switching and removing are drawn rarely, so they make the probe that they need */
static int use_event_probe(struct thread *me)
{
	const unsigned int n = draw(me, 3);
	const char *what = one_of(me, me->doing->texts);
	char file[64];

	note(me, "event probe e%u: %s", n, what);
	append(TRACING, "dynamic_events", "%s\n", event_probes[n]);
	if (!strcmp(what, "remove"))
		return append(TRACING, "dynamic_events", "-:" NAME "_e/e%u\n", n);
	snprintf(file, sizeof(file), "events/" NAME "_e/e%u/enable", n);
	return put(TRACING, file, "%s", what);
}

/* Events of perf, on a CPU each, with call chains: a few at a time in each thread */
#define PERF_PAGES	9

static int open_perf(struct thread *me)
{
	static __thread struct { int fd; void *ring; } slots[4];
	const unsigned int slot = draw(me, ARRAY_SIZE(slots)), cpu = draw(me, cpus());
	const char *event = one_of(me, events);
	const bool open = draw(me, 4), ring = draw(me, 2);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .config = event_id(event), .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN,
	};
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
	if (ring) {
		void *memory = mmap(NULL, PERF_PAGES * page_size, PROT_READ | PROT_WRITE,
				    MAP_SHARED, fd, 0);

		if (memory == MAP_FAILED)
			return -errno;
		slots[slot].ring = memory;
	}
	return 0;
}

/* Twice as often on as off */
#define ON(event)	"events/" event "/enable 1"
#define OFF(event)	"events/" event "/enable 0"

const struct operation switchers[OPERATIONS] = {
	{ 40, "switch_event", write_one, ANY, NULL, both, LIST(ON("%s"), ON("%s"), OFF("%s")) },
	{ 5, "set_event", write_one, BELOW, "set_event", .texts = LIST("trap:*",
		"pagefault:*", "!trap:*", "!pagefault:*", "trap_entry", "*:trap_exit",
		"!trap:trap_entry", "exceptions:", "!exceptions:", "trap:no_such_event") },
	{ 20, "set_filter", write_one, ANY, "events/%s/filter", both, LIST("0",
		"0", "0", "1", "user_mode == 1", "user_mode == 0", "error_code & 2",
		"ip > 4096", "common_pid > 1 && user_mode == 1", "COMM == \"" NAME "\"",
		"vector == 14", "vector != 14 && (user_mode == 1 || error_code != 0)",
		"outcome == MAJOR", "outcome == MINOR && duration > 1000", "flags & COW",
		"outcome >= SIGNAL || flags & FILE", "ip.function == handle_mm_fault",
		"CPU & CPUS{0-1}", "no_such_field == 1", "vector ==", "(vector == 1",
		"outcome == NO_SUCH_OUTCOME", "common_preempt_count > 0") },
	{ 20, "set_trigger", write_one, ANY, "events/%s/trigger", events, LIST("traceon",
		"hist:keys=vector,user_mode", "hist:keys=vector.log2:vals=hitcount:sort=hitcount",
		"hist:keys=outcome,duration.log2", "hist:keys=common_stacktrace:size=128",
		"hist:keys=ip.sym,common_pid.execname:size=128", "hist:keys=address.hex:size=128",
		"hist:keys=common_cpu if user_mode == 1", "hist:keys=vector:pause",
		"hist:keys=vector:clear", "stacktrace", "stacktrace:3 if user_mode == 1",
		"traceoff:2", "snapshot:1", "enable_event:exceptions:page_fault_user",
		"disable_event:exceptions:page_fault_user:5", "enable_event:trap:trap_exit:1",
		"enable_hist:trap:trap_entry", "hist:keys=no_such_field", "no_such_trigger",
		"hist:keys=", "stacktrace:-1"), .or_not = true },
	/* In the top instance, only the two options that are restored */
	{ 15, "set_option", write_one, ANY, "options/%s", LIST("stacktrace",
		"userstacktrace", "overwrite", "irq-info", "record-tgid",
		"sym-userobj", "sym-addr", "raw", "hex", "bin", "verbose", "latency-format",
		"disable_on_free", "event-fork", "function-fork", "markers", "pause-on-trace",
		"hash-ptr", "fields", "trace_printk_dest", "copy_trace_marker"),
	  LIST("0", "1"), LIST("stacktrace", "userstacktrace") },
	{ 3, "set_tracer", set_tracer, .texts = LIST("nop", "nop", "nop", "function",
		"function_graph", "wakeup", "irqsoff", "preemptoff", "no_such_tracer") },
	/*
	 * Never all that one of these has: Linux 7.3 takes what is left of such a
	 * filter for none, and function_graph traces all functions then.
	 */
	{ 3, "set_functions", set_functions, ANY, .texts = LIST("set_ftrace_filter " SOME_FUNCTIONS,
		"set_ftrace_filter " SOME_FUNCTIONS,
		"set_ftrace_filter *trap*", "set_ftrace_filter ring_buffer_*",
		"set_ftrace_filter do_*", "set_ftrace_filter handle_mm_fault",
		"set_ftrace_filter force_sig*", "set_ftrace_notrace *_fault_*",
		"set_ftrace_notrace *trap_*", "set_ftrace_notrace ring_buffer_read*",
		"set_ftrace_notrace do_sys*", "set_ftrace_notrace force_sig_fault*") },
	/*
	 * Not buffer_subbuf_size_kb: Linux 7.3 still counts the entries that were
	 * there. A reader of trace_pipe then looks for them for ever, in the kernel.
	 */
	{ 20, "set_buffer", write_one, BELOW, .texts = LIST("buffer_size_kb 4",
		"buffer_size_kb 64", "buffer_size_kb 1024",
		"per_cpu/cpu0/buffer_size_kb 128", "trace  ", "per_cpu/cpu0/trace  ",
		"tracing_on 0", "tracing_on 1", "tracing_on 1", "snapshot 0", "snapshot 1",
		"snapshot 2", "trace_clock local", "trace_clock global", "trace_clock counter",
		"trace_clock mono", "trace_clock x86-tsc", "trace_clock nonsense",
		"tracing_cpumask 1", "tracing_cpumask f", "trace_marker fuzz", "set_event_pid 1",
		"set_event_pid ", "set_event_notrace_pid ", "buffer_percent 50", "free_buffer ") },
	{ 20, "read_file", read_file, .names = LIST("trace",
		"trace_pipe", "per_cpu/cpu0/trace_pipe_raw", "per_cpu/cpu1/stats",
		"per_cpu/cpu0/trace_pipe", "snapshot", "events/trap/trap_entry/hist",
		"events/trap/trap_exit/hist", "events/pagefault/pagefault_exit/hist",
		"events/pagefault/pagefault_exit/format", "events/trap/filter",
		"events/trap/trap_entry/trigger", "set_event", "enabled_functions", "error_log",
		"../debug/x86/trap_suppressed", "kprobe_profile", "dynamic_events",
		"set_ftrace_filter", "trace_stat/function0") },
	{ 10, "make_or_remove", make_or_remove },
	{ 10, "add_kprobe", add_kprobe },
	{ 5, "add_uprobe", write_one, TOP, "dynamic_events", .texts = uprobes },
	{ 5, "add_function_probe", write_one, TOP, "dynamic_events", .texts = LIST("t:"
		NAME "/t0 trap_entry", "t:" NAME "/t1 pagefault_exit",
		"f:" NAME "/f0 handle_mm_fault", "f:" NAME "/f1 handle_mm_fault%%return") },
	{ 3, "add_event_probe", write_one, TOP, "dynamic_events", .texts = event_probes },
	{ 10, "remove_probe", write_one, TOP, "dynamic_events", probes, LIST("-:" NAME "/%s") },
	{ 10, "switch_probe", write_one, ANY, NULL, probes,
	  LIST(ON(NAME "/%s"), ON(NAME "/%s"), ON(NAME "/%s"), ON(NAME "/%s"), ON(NAME), ON(NAME),
	       OFF(NAME "/%s"), OFF(NAME "/%s"), OFF(NAME)) },
	{ 3, "switch_event_probe", use_event_probe, .texts = LIST("0", "1") },
	{ 3, "remove_event_probe", use_event_probe, .texts = LIST("remove") },
	{ 2, "optimize_kprobes", write_one, TOP, "../../../proc/sys/debug/kprobes-optimization",
	  .texts = LIST("0", "1") },
	{ 10, "open_perf", open_perf },
};

/* NMIs and, less often, machine checks, of which a CPU takes one at a time */
static int raise_outside(struct thread *me)
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

const struct operation outside[OPERATIONS] = { { 1, "raise_outside", raise_outside } };
