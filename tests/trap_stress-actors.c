// SPDX-License-Identifier: GPL-2.0
/* trap_stress: the scenarios, and what their actors do to the events */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/magic.h>

#include "monitor.h"
#include "trap_stress.h"

/*
 * All events on
 */
static void all_on(const char *where)
{
	must(put(where, "events/trap/enable", "1"), "events/trap/enable");
	must(put(where, "events/pagefault/enable", "1"), "events/pagefault/enable");
}

static void all_off(const char *where)
{
	must(put(where, "events/trap/enable", "0"), "events/trap/enable");
	must(put(where, "events/pagefault/enable", "0"), "events/pagefault/enable");
}

/* All events of the ring buffers of all CPUs: recorded and lost ones */
static unsigned long buffer_sum(const char *where)
{
	return buffer_stat(where, "entries: ") + buffer_stat(where, "\noverrun: ") +
	       buffer_stat(where, "commit overrun: ") + buffer_stat(where, "dropped events: ");
}

static void set_up_instance(void)
{
	instance = make_instance("stress");
	all_on(instance);
}

static void judge_instance(struct figures *f, bool counted)
{
	(void)counted;
	f->effect += buffer_sum(instance);
}

static void tear_down_instance(void)
{
	remove_instance(instance);
}

/* In the top instance as well */
static void set_up_both(void)
{
	set_up_instance();
	all_on(TRACING);
}

static void tear_down_both(void)
{
	all_off(TRACING);
	must(put(TRACING, "trace", " "), "trace");
	remove_instance(instance);
}

/* With stack traces in one, whose probes fault */
static void set_up_all(void)
{
	set_up_both();
	must(put(instance, "options/stacktrace", "1"), "stacktrace");
	must(put(instance, "options/userstacktrace", "1"), "userstacktrace");
}

static void judge_all(struct figures *f, bool counted)
{
	(void)counted;
	f->effect += buffer_sum(instance) + buffer_sum(TRACING);
}

/*
 * Switches
 */
static void set_up_toggle(void)
{
	instance = make_instance("toggle");
}

/* On, and off again */
static void toggle(const char *where, const char *file)
{
	want(put(where, file, "1"), file);
	want(put(where, file, "0"), file);
}

static void toggle_traps(int n)
{
	(void)n;
	toggle(TRACING, "events/trap/enable");
}

static void toggle_pagefaults(int n)
{
	(void)n;
	toggle(TRACING, "events/pagefault/enable");
}

static void toggle_entry(int n)
{
	(void)n;
	toggle(instance, "events/trap/trap_entry/enable");
}

static void toggle_exit(int n)
{
	(void)n;
	toggle(instance, "events/pagefault/pagefault_exit/enable");
}

static void toggle_by_set_event(int n)
{
	(void)n;
	want(append(instance, "set_event", "trap:trap_exit\n"), "set_event");
	want(append(instance, "set_event", "!trap:trap_exit\n"), "set_event");
}

/*
 * Instances, removed with their events on
 */
static void made_path(int n, char *path, size_t size)
{
	snprintf(path, size, TRACING "/instances/trap_made%d.%d", n, tester);
}

static void make_and_remove(int n)
{
	unsigned long records;
	char path[200];

	made_path(n, path, sizeof(path));
	if (mkdir(path, 0755))
		give_up("mkdir %s: %s", path, strerror(errno));
	want(put(path, "events/trap/enable", "1"), "events/trap/enable");
	want(put(path, "events/pagefault/pagefault_exit/filter", "user_mode == 1"), "filter");
	want(put(path, "events/pagefault/enable", "1"), "events/pagefault/enable");
	pause_ms(20);
	records = buffer_sum(path);
	if (rmdir(path))
		give_up("rmdir %s: %s", path, strerror(errno));
	shared->effect[n] += records;
}

/* An actor that failed may have left one, with its events on */
void tear_down_made(void)
{
	char path[200];

	for (int n = 0; n < ncpus; n++) {
		made_path(n, path, sizeof(path));
		if (!put(path, "events/enable", "0"))
			rmdir(path);
	}
}

/*
 * Filters and triggers, by turns, and each time another one first
 */
static const char *next_of(const char * const *texts, unsigned int of)
{
	static unsigned int turn;

	if (!turn)
		turn = rand_r(&seed) % of;
	return texts[turn++ % of];
}

static void change_trap_filter(int n)
{
	static const char * const filters[] = {
		"vector == 14", "user_mode == 1 && ip > 4096", "0",
		"(vector == 0 || vector == 6) && error_code == 0 && common_pid != 1",
	};

	const char *filter = next_of(filters, ARRAY_SIZE(filters));

	(void)n;
	want(put(instance, "events/trap/trap_entry/filter", "%s", filter), filter);
}

/* Of both events at once */
static void change_pagefault_filter(int n)
{
	static const char * const filters[] = {
		"address > 4096", "error_code & 4", "0", "user_mode == 0 && ip != 0",
	};

	const char *filter = next_of(filters, ARRAY_SIZE(filters));

	(void)n;
	want(put(instance, "events/pagefault/filter", "%s", filter), filter);
}

static void change_trap_trigger(int n)
{
	static const char * const triggers[] = {
		"hist:keys=vector,user_mode:vals=error_code", "stacktrace:3 if vector == 6",
		"enable_event:pagefault:pagefault_exit:9", "traceoff:1 if vector == 99",
	};

	const char *trigger = next_of(triggers, ARRAY_SIZE(triggers));

	(void)n;
	want(append(instance, "events/trap/trap_exit/trigger", "%s", trigger), trigger);
	pause_ms(3);
	want(append(instance, "events/trap/trap_exit/trigger", "!%s", trigger), trigger);
}

static void change_pagefault_trigger(int n)
{
	static const char * const triggers[] = {
		"hist:keys=outcome,duration.log2", "snapshot:1 if address == 1",
		"stacktrace if outcome == 6",
	};

	const char *trigger = next_of(triggers, ARRAY_SIZE(triggers));

	(void)n;
	want(append(instance, "events/pagefault/pagefault_exit/trigger", "%s", trigger), trigger);
	pause_ms(3);
	want(append(instance, "events/pagefault/pagefault_exit/trigger", "!%s", trigger), trigger);
}

/*
 * Readers, which do not live long
 */
static void read_and_die(const char *where, const char *file, int n)
{
	unsigned long before = __atomic_load_n(&shared->effect[n], __ATOMIC_RELAXED);
	pid_t reader = must_fork();
	char path[256], text[4096];
	int fd, status, ended = 0;
	ssize_t got;

	if (!reader) {
		snprintf(path, sizeof(path), "%s/%s", where, file);
		/* A trace has an end, a trace_pipe has none */
		for (;;) {
			fd = open(path, O_RDONLY);
			/* The head of a trace is no record */
			while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
				if (*text != '#')
					__atomic_add_fetch(&shared->effect[n], got,
							   __ATOMIC_RELAXED);
			if (fd < 0 || got < 0)
				give_up("%s: %s", path, strerror(errno));
			close(fd);
		}
	}
	while (!stopped() && __atomic_load_n(&shared->effect[n], __ATOMIC_RELAXED) == before) {
		usleep(1000);
		ended = waitpid(reader, &status, WNOHANG);
		if (ended)
			break;
	}
	cut_short = __atomic_load_n(&shared->effect[n], __ATOMIC_RELAXED) == before;
	if (!ended) {
		pause_ms(20);
		kill(reader, SIGKILL);
		ended = waitpid(reader, &status, 0);
	}
	/* If it ended by itself, it has said why */
	if (ended != reader || !WIFSIGNALED(status))
		_exit(KSFT_FAIL);
}

static void kill_cpu_reader(int cpu)
{
	char file[64];

	snprintf(file, sizeof(file), "per_cpu/cpu%d/trace_pipe%s", cpu,
		 rand_r(&seed) & 1 ? "" : "_raw");
	read_and_die(instance, file, cpu);
}

static void kill_top_reader(int n)
{
	(void)n;
	read_and_die(TRACING, "trace_pipe", MAX_CPUS - 1);
}

static void kill_trace_reader(int n)
{
	(void)n;
	read_and_die(TRACING, "trace", MAX_CPUS - 2);
}

/* Each trace_pipe gave something. The top instance has the last place */
static void judge_readers(struct figures *f, bool counted)
{
	for (int i = 0; counted && i < MAX_CPUS; i++) {
		if ((i >= ncpus && i != MAX_CPUS - 1) || shared->effect[i])
			continue;
		if (i < ncpus)
			ksft_print_msg("readers: nothing in the trace_pipe of CPU %d\n", i);
		else
			ksft_print_msg("readers: nothing in the trace_pipe of all CPUs\n");
		f->failed = true;
	}
}

/*
 * CPUs taken offline, all but the first
 */
void all_online(void)
{
	for (int cpu = 1; cpu < ncpus; cpu++)
		plug(cpu, true);
}

/* An actor that failed may have left one offline */
static void tear_down_hotplug(void)
{
	all_online();
	tear_down_instance();
}

static void take_offline(int n)
{
	int cpu = 1 + rand_r(&seed) % (ncpus - 1);

	(void)n;
	if (!plug(cpu, false))
		give_up("CPU %d does not go offline: %s", cpu, strerror(errno));
	if (sysconf(_SC_NPROCESSORS_ONLN) == ncpus - 1)
		shared->effect[0]++;
	pause_ms(20);
	if (!plug(cpu, true))
		give_up("CPU %d does not come back: %s", cpu, strerror(errno));
	pause_ms(20);
}

/*
 * NMIs: from outside, which come to the first CPU, and on all CPUs
 */
static const char *cannot_nmi(void)
{
	return getenv("QEMU_MONITOR") ? NULL : "no QEMU_MONITOR";
}

static void monitor_nmi(int n)
{
	static int monitor = -2;

	(void)n;
	if (monitor == -2)
		monitor = open_monitor();
	if (monitor < 0 || !monitor_command(monitor, "nmi"))
		give_up("QEMU_MONITOR takes no NMI");
	shared->monitor_nmis++;
}

static void kernel_nmi(int cpu)
{
	pin(cpu);
	if (write(raise_file, "2", 1) != 1)
		give_up(RAISE_FILE ": %s", strerror(errno));
	shared->workers[cpu].nmis++;
	usleep(500);
}

/*
 * While an NMI of the monitor is pending, the next one is lost; but not all of
 * them may be lost. The other CPUs get only the NMIs of the program.
 */
static void judge_nmis(struct figures *f, bool counted)
{
	for (int cpu = 0; counted && cpu < ncpus; cpu++) {
		unsigned long own = shared->workers[cpu].nmis, entries = f->nmis[0][cpu];
		unsigned long others = cpu ? 0 : shared->monitor_nmis;

		if (entries >= own + !!others && entries <= own + others) {
			f->effect += entries - own;
			continue;
		}
		ksft_print_msg("nmi: CPU %d: %lu entries, %lu of the program, %lu of the monitor\n",
			       cpu, entries, own, others);
		f->failed = true;
	}
}

static void tear_down_nmi(void)
{
	restore_interrupts();
	tear_down_instance();
}

/*
 * Ring buffers that are full: one overwrites, one drops, one changes its size
 */
static void filter_as_counted(const char *where)
{
	must(put(where, "events/trap/filter", "%s", trap_filter), trap_filter);
	must(put(where, "events/pagefault/filter", "%s", fault_filter), fault_filter);
}

static void set_up_overwrite(void)
{
	instance = make_instance("overwriting");
	second = make_instance("dropping");
	third = make_instance("resized");
	must(put(instance, "buffer_size_kb", "8"), "buffer_size_kb");
	must(put(second, "buffer_size_kb", "8"), "buffer_size_kb");
	must(put(second, "options/overwrite", "0"), "overwrite");
	filter_as_counted(instance);
	filter_as_counted(second);
	all_on(instance);
	all_on(second);
	all_on(third);
}

static void resize(int n)
{
	static const int sizes[] = { 8, 256, 64, 1024 };

	(void)n;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		want(put(third, "buffer_size_kb", "%d", sizes[i]), "buffer_size_kb");
}

static void clear_trace(int n)
{
	(void)n;
	want(put(third, "trace", " "), "trace");
	pause_ms(10);
}

static bool lost_on_each_cpu(const char *where, const char *name)
{
	char file[64], *text, *at;
	bool lost = true;

	for (int cpu = 0; cpu < ncpus; cpu++) {
		snprintf(file, sizeof(file), "per_cpu/cpu%d/stats", cpu);
		text = get(where, file);
		at = text ? strstr(text, name) : NULL;
		lost &= at && strtoul(at + strlen(name), NULL, 10);
		free(text);
	}
	return lost;
}

static void judge_overwrite(struct figures *f, bool counted)
{
	unsigned long overwritten = buffer_stat(instance, "\noverrun: ");
	unsigned long dropped = buffer_stat(second, "dropped events: ");
	unsigned long raised = 0;

	for (int i = 0; i < TRAPS; i++)
		for (int cpu = 0; cpu < ncpus; cpu++)
			raised += shared->workers[cpu].raised[i] * 2;
	ksft_print_msg("overwrite: %lu events: %lu and %lu there, %lu overwritten, %lu dropped\n",
		       raised, buffer_stat(instance, "entries: "),
		       buffer_stat(second, "entries: "), overwritten, dropped);
	f->effect += overwritten + dropped;
	if (buffer_sum(instance) != raised || buffer_sum(second) != raised)
		f->failed = true;
	/* The warm-up may be too short for that */
	if (counted && (!lost_on_each_cpu(instance, "\noverrun: ") ||
			!lost_on_each_cpu(second, "dropped events: ")))
		f->failed = true;
}

static void tear_down_overwrite(void)
{
	remove_instance(instance);
	remove_instance(second);
	remove_instance(third);
}

/*
 * Function tracers, and kprobes on functions that the events call or are in
 */
static struct probe {
	const char *symbol;
	int offset;
} probes[] = {
	{ "trace_event_buffer_reserve" }, { "__traceiter_trap_entry" },
	{ "stack_trace_save_user" }, { "handle_mm_fault" }, { "force_sig_fault" },
};

/* To trace all functions takes many seconds to begin, and to end */
static const char * const traced[] = {
	"*fault*\n", "*signal*\n", "*trap*\n", "*kprobe*\n",
};

static int add_probe(const struct probe *p, int offset)
{
	return append(TRACING, "kprobe_events", "p:trap_stress/%s %s+%d\n", p->symbol,
		      p->symbol, offset);
}

/*
 * INT3s, so behind the place where the function tracer hooks in. None is on what the
 * function tracer calls: it traces the handling of kprobes, too, and a kprobe in there
 * is one too many for the kernel, with the events off as well.
 */
static void set_up_probes(void)
{
	struct probe *p;

	for (p = probes; p < probes + ARRAY_SIZE(probes); p++) {
		for (int offset = 9; !p->offset && offset < 80; offset++)
			if (!add_probe(p, offset))
				p->offset = offset;
		if (!p->offset)
			ksft_exit_fail_msg("no kprobe on %s\n", p->symbol);
	}
	append(TRACING, "kprobe_events", "-:trap_stress/\n");
	for (size_t i = 0; i < ARRAY_SIZE(traced); i++)
		must(append(TRACING, "set_ftrace_filter", "%s", traced[i]), traced[i]);
	set_up_both();
}

static unsigned long probe_hits(void)
{
	char *text = get(TRACING, "kprobe_profile"), *line, *rest = text;
	unsigned long hits, sum = 0;

	while (text && (line = strsep(&rest, "\n")))
		if (sscanf(line, "%*s %lu", &hits) == 1)
			sum += hits;
	free(text);
	return sum;
}

static bool tracer_on(void)
{
	char *text = get(TRACING, "current_tracer");
	bool on = text && strncmp(text, "nop", 3);

	free(text);
	return on;
}

/* Hits count if a tracer was on before and after them */
static void add_and_remove_probes(int n)
{
	unsigned long before;

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		want(add_probe(&probes[i], probes[i].offset), probes[i].symbol);
	want(put(TRACING, "events/trap_stress/enable", "1"), "events/trap_stress/enable");
	while (!stopped() && !tracer_on())
		pause_ms(10);
	before = probe_hits();
	pause_ms(500);
	if (tracer_on())
		shared->effect[n] += probe_hits() - before;
	else
		cut_short = stopped();
	want(put(TRACING, "events/trap_stress/enable", "0"), "events/trap_stress/enable");
	want(append(TRACING, "kprobe_events", "-:trap_stress/\n"), "kprobe_events");
}

static void change_tracer(int n)
{
	static const char * const tracers[] = { "function", "function_graph" };

	(void)n;
	for (size_t i = 0; i < ARRAY_SIZE(tracers); i++) {
		want(put(TRACING, "current_tracer", "%s", tracers[i]), tracers[i]);
		for (int tenths = 0; tenths < 20 && !stopped(); tenths++)
			usleep(100000);
		cut_short |= stopped();
		want(put(TRACING, "current_tracer", "nop"), "nop");
		pause_ms(200);
	}
}

static const char *cannot_probe(void)
{
	return access(TRACING "/kprobe_events", W_OK) ||
	       access(TRACING "/set_ftrace_filter", W_OK) ?
	       "no kprobes, or no function tracer" : NULL;
}

void remove_probes(void)
{
	put(TRACING, "events/trap_stress/enable", "0");
	append(TRACING, "kprobe_events", "-:trap_stress/\n");
}

static void tear_down_probes(void)
{
	/* What an actor that failed has left: without a filter, the tracer traces all */
	put(TRACING, "current_tracer", "nop");
	remove_probes();
	must(put(TRACING, "set_ftrace_filter", "%s", ""), "set_ftrace_filter");
	tear_down_both();
}

/*
 * Memory pressure: more than fits into a group, on each CPU
 */
static char swap_file[256], group[300];

/* Histograms count the faults of the hogs: their number is not known before */
static void set_up_memory(void)
{
	char in[128];

	/* Room for the memory of all hogs, and of two more */
	must(make_swap(swap_file, sizeof(swap_file), (ncpus + 2) * HOG_SIZE), "swap file");
	mount_cgroup();
	must(make_group(group, sizeof(group), "pressed"), "cgroup");
	must(put(group, "memory.max", GROUP_SIZE), "memory.max");
	set_up_instance();
	snprintf(in, sizeof(in), "address >= 0x%lx && address < 0x%lx", (long)hog,
		 (long)hog + HOG_SIZE);
	must(append(instance, "events/pagefault/pagefault_entry/trigger",
		    "hist:keys=user_mode if %s", in), "hist");
	must(append(instance, "events/pagefault/pagefault_exit/trigger",
		    "hist:keys=flags if %s", in), "hist");
}

void remove_swap_and_group(void)
{
	if (!*swap_file)
		return;
	remove_swap(swap_file);
	rmdir(group);
	unmount_cgroup();
}

static const char *cannot_press(void)
{
	struct statfs fs;
	bool memory = mount_cgroup();

	unmount_cgroup();
	if (!memory || access("/proc/swaps", F_OK))
		return "no memory cgroup, or no swap";
	if (statfs(tmpdir, &fs) || fs.f_type == TMPFS_MAGIC)
		return "no swap file on a tmpfs: set TMPDIR";
	return NULL;
}

static void press(int cpu)
{
	static bool in_group;
	unsigned long i;

	if (!in_group) {
		pin(cpu);
		want(put(group, "cgroup.procs", "%d", getpid()), "cgroup.procs");
		in_group = true;
	}
	for (int n = 0; n < HOG_PAGES; n++) {
		i = rand_r(&seed) % (HOG_SIZE / page_size);
		hog[i * page_size]++;
	}
}

/* The hits of a histogram: all, and those with a bit of @mask in the flags */
static unsigned long hist_hits(const char *event, unsigned int mask, unsigned long *with)
{
	char file[100], *text, *line, *rest;
	unsigned long hits, sum = 0;

	snprintf(file, sizeof(file), "events/pagefault/%s/hist", event);
	text = get(instance, file);
	rest = text;
	*with = 0;
	while (text && (line = strsep(&rest, "\n"))) {
		hits = value(line, "hitcount:");
		sum += hits;
		*with += value(line, "flags:") & mask ? hits : 0;
	}
	free(text);
	return sum;
}

static void judge_memory(struct figures *f, bool counted)
{
	unsigned long entries, exits, none, swapins;

	(void)counted;
	entries = hist_hits("pagefault_entry", 0, &none);
	exits = hist_hits("pagefault_exit", SWAPIN, &swapins);
	ksft_print_msg("memory: %lu entries, %lu exits of the hogs, %lu from swap\n", entries,
		       exits, swapins);
	f->effect += swapins;
	if (entries != exits)
		f->failed = true;
}

static void tear_down_memory(void)
{
	must(put(instance, "events/pagefault/pagefault_entry/trigger", "%s", ""), "trigger");
	must(put(instance, "events/pagefault/pagefault_exit/trigger", "%s", ""), "trigger");
	remove_instance(instance);
	remove_swap_and_group();
}

const struct scenario scenarios[] = {
	{ "all", { }, "records", set_up_all, judge_all, tear_down_both },
	{ "toggle", {
		{ "switches of trap in the top instance", toggle_traps },
		{ "switches of pagefault in the top instance", toggle_pagefaults },
		{ "switches of trap_entry in another", toggle_entry, ONE, 12 },
		{ "switches of pagefault_exit in another", toggle_exit, ONE, 12 },
		{ "switches of trap_exit by set_event", toggle_by_set_event },
	}, "records", set_up_toggle, judge_instance, tear_down_both, true },
	{ "instances", {
		{ "instances made and removed", make_and_remove, PER_CPU },
	}, "records", NULL, NULL, tear_down_made, true },
	{ "filters", {
		{ "filters of trap_entry", change_trap_filter },
		{ "filters of pagefault", change_pagefault_filter },
		{ "triggers of trap_exit", change_trap_trigger },
		{ "triggers of pagefault_exit", change_pagefault_trigger },
	}, "records", set_up_instance, judge_instance, tear_down_instance },
	{ "readers", {
		{ "readers of a CPU's trace_pipe killed", kill_cpu_reader, PER_CPU, 15 },
		{ "readers of trace_pipe killed", kill_top_reader, ONE, 12 },
		{ "readers of trace killed", kill_trace_reader, ONE, 12 },
	}, "bytes", set_up_both, judge_readers, tear_down_both },
	{ "hotplug", {
		{ "times that a CPU was offline", take_offline, ONE, 12 },
	}, "times that it was missing", set_up_instance, NULL, tear_down_hotplug },
	{ "nmi", {
		{ "NMIs from the monitor", monitor_nmi, ONE, 60 },
		{ "NMIs on all CPUs", kernel_nmi, PER_CPU, 150 },
	}, "NMIs from the monitor traced", set_up_instance, judge_nmis, tear_down_nmi,
	  .cannot = cannot_nmi },
	{ "overwrite", {
		{ "rounds of four sizes", resize },
		{ "times that a trace was cleared", clear_trace },
	}, "records lost", set_up_overwrite, judge_overwrite, tear_down_overwrite },
	{ "probes", {
		{ "rounds of five kprobes", add_and_remove_probes },
		{ "rounds of two function tracers", change_tracer },
	}, "hits beside a tracer", set_up_probes, NULL, tear_down_probes,
	  .cannot = cannot_probe },
	{ "memory", {
		{ "times that 64 pages were written to", press, PER_CPU },
	}, "faults that found their page in swap", set_up_memory, judge_memory, tear_down_memory,
	  .cannot = cannot_press },
};

const int nr_scenarios = ARRAY_SIZE(scenarios);
