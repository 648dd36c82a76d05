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

/* What each CPU writes to, how many pages at a time, and what all of them may have */
#define HOG_SIZE	(4UL << 20)
#define HOG_PAGES	64
#define GROUP_SIZE	"4M"

/* Set by an act that was cut short, and does not count */
bool cut_short;
unsigned long *my_effect;

static const char *top = TRACING, *instance, *second, *third;
static char *hog;

static void want(int ret, const char *what)
{
	if (ret)
		give_up("%s: %s", what, strerror(-ret));
}

/* stopped - Whether the actors are to end; a short act is finished first */
bool stopped(void)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

static void pause_ms(int most)
{
	usleep(1 + rand_r(&seed) % (most * 1000));
}

static void switch_all(const char *where, const char *on)
{
	must(put(where, "events/trap/enable", "%s", on), "events/trap/enable");
	must(put(where, "events/pagefault/enable", "%s", on), "events/pagefault/enable");
}

/* All events of the ring buffers of all CPUs: recorded and lost ones */
static unsigned long buffer_sum(const char *where)
{
	return buffer_stat(where, "entries: ") + buffer_stat(where, "\noverrun: ") +
	       buffer_stat(where, "commit overrun: ") + buffer_stat(where, "dropped events: ");
}

static void judge_records(bool counted)
{
	(void)counted;
	sums.effect += buffer_sum(instance);
}

/* Stack traces, whose probes fault */
static void set_up_all(void)
{
	must(put(instance, "options/stacktrace", "1"), "stacktrace");
	must(put(instance, "options/userstacktrace", "1"), "userstacktrace");
}

/*
 * Writes to a file: all texts in turn; or one, and each time another one; or
 * such a trigger, which is removed again
 */
static void write_all(const struct actor *a, int n)
{
	(void)n;
	for (int i = 0; a->texts[i]; i++)
		want(append(*a->where, a->file, "%s\n", a->texts[i]), a->file);
}

static const char *next_text(const struct actor *a)
{
	static unsigned int turn;
	unsigned int of = 0;

	while (a->texts[of])
		of++;
	if (!turn)
		turn = rand_r(&seed) % of;
	return a->texts[turn++ % of];
}

static void write_next(const struct actor *a, int n)
{
	const char *text = next_text(a);

	(void)n;
	want(append(*a->where, a->file, "%s\n", text), text);
}

static void trigger_next(const struct actor *a, int n)
{
	const char *text = next_text(a);

	(void)n;
	want(append(*a->where, a->file, "%s\n", text), text);
	pause_ms(3);
	want(append(*a->where, a->file, "!%s\n", text), text);
}

/*
 * Instances, removed with their events on
 */
static void made_path(int n, char *path, size_t size)
{
	snprintf(path, size, TRACING "/instances/trap_made%d", n);
}

static void make_and_remove(const struct actor *a, int n)
{
	char path[200];

	(void)a;
	made_path(n, path, sizeof(path));
	if (mkdir(path, 0755))
		give_up("mkdir %s: %s", path, strerror(errno));
	want(put(path, "events/trap/enable", "1"), "events/trap/enable");
	want(put(path, "events/pagefault/pagefault_exit/filter", "user_mode == 1"), "filter");
	want(put(path, "events/pagefault/enable", "1"), "events/pagefault/enable");
	pause_ms(20);
	*my_effect += buffer_sum(path);
	if (rmdir(path))
		give_up("rmdir %s: %s", path, strerror(errno));
}

/*
 * Readers, which do not live long
 */
static void kill_reader(const struct actor *a, int n)
{
	unsigned long before = __atomic_load_n(my_effect, __ATOMIC_RELAXED);
	char name[64], path[256], text[4096];
	int fd, status, ended = 0;
	pid_t reader;
	ssize_t got;

	snprintf(name, sizeof(name), next_text(a), n);
	snprintf(path, sizeof(path), "%s/%s", *a->where, name);
	reader = must_fork();
	/* A trace has an end, a trace_pipe has none */
	while (!reader) {
		fd = open(path, O_RDONLY);
		/* The head of a trace is no record */
		while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
			if (*text != '#')
				__atomic_add_fetch(my_effect, got, __ATOMIC_RELAXED);
		if (fd < 0 || got < 0)
			give_up("%s: %s", path, strerror(errno));
		close(fd);
	}
	do {
		usleep(1000);
		ended = waitpid(reader, &status, WNOHANG);
		cut_short = __atomic_load_n(my_effect, __ATOMIC_RELAXED) == before;
	} while (!ended && cut_short && !stopped());
	if (!ended) {
		pause_ms(20);
		kill(reader, SIGKILL);
		ended = waitpid(reader, &status, 0);
	}
	/* If it ended by itself, it has said why */
	if (ended != reader || !WIFSIGNALED(status))
		_exit(KSFT_FAIL);
}

/* Each trace_pipe gave something: those of the CPUs, and that of the top instance */
static void judge_readers(bool counted)
{
	for (int i = 0; counted && i <= ncpus; i++) {
		if (i < ncpus ? shared->effect[0][i] : shared->effect[1][0])
			continue;
		say("nothing in trace_pipe number %d, of the CPUs and then of the top", i);
		sums.failed = true;
	}
}

/* A CPU taken offline, but the first */
static void take_offline(const struct actor *a, int n)
{
	int cpu = 1 + rand_r(&seed) % (ncpus - 1);

	(void)a;
	(void)n;
	if (!plug(cpu, false))
		give_up("CPU %d does not go offline: %s", cpu, strerror(errno));
	*my_effect += sysconf(_SC_NPROCESSORS_ONLN) == ncpus - 1;
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

static void monitor_nmi(const struct actor *a, int n)
{
	static int monitor = -2;

	(void)a;
	(void)n;
	if (monitor == -2)
		monitor = open_monitor();
	if (monitor < 0 || !monitor_command(monitor, "nmi"))
		give_up("QEMU_MONITOR takes no NMI");
}

static void kernel_nmi(const struct actor *a, int cpu)
{
	(void)a;
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
static void judge_nmis(bool counted)
{
	for (int cpu = 0; counted && cpu < ncpus; cpu++) {
		unsigned long own = shared->workers[cpu].nmis, entries = sums.nmis[0][cpu];
		unsigned long others = cpu ? 0 : shared->acts[0][0];

		if (entries >= own + !!others && entries <= own + others) {
			sums.effect += entries - own;
			continue;
		}
		say("CPU %d: %lu entries, %lu of the program, %lu of the monitor", cpu, entries,
		    own, others);
		sums.failed = true;
	}
}

/*
 * Ring buffers that are full: one overwrites, one drops, one changes its size
 */
static void set_up_overwrite(void)
{
	const char **full[] = { &instance, &second };

	second = make_instance("dropping");
	third = make_instance("resized");
	must(put(second, "options/overwrite", "0"), "overwrite");
	for (size_t i = 0; i < ARRAY_SIZE(full); i++) {
		must(put(*full[i], "buffer_size_kb", "8"), "buffer_size_kb");
		must(put(*full[i], "events/trap/filter", "%s", trap_filter), trap_filter);
		must(put(*full[i], "events/pagefault/filter", "%s", fault_filter), fault_filter);
		switch_all(*full[i], "1");
	}
	switch_all(third, "1");
}

static void clear_trace(const struct actor *a, int n)
{
	(void)n;
	want(put(*a->where, "trace", " "), "trace");
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

static void judge_overwrite(bool counted)
{
	unsigned long overwritten = buffer_stat(instance, "\noverrun: ");
	unsigned long dropped = buffer_stat(second, "dropped events: ");
	unsigned long raised = 0;

	for (int i = 0; i < TRAPS; i++)
		for (int cpu = 0; cpu < ncpus; cpu++)
			raised += shared->workers[cpu].raised[i] * 2;
	say("%lu events: %lu and %lu there, %lu overwritten, %lu dropped", raised,
	    buffer_stat(instance, "entries: "), buffer_stat(second, "entries: "), overwritten,
	    dropped);
	sums.effect += overwritten + dropped;
	sums.failed |= buffer_sum(instance) != raised || buffer_sum(second) != raised ||
		       /* The warm-up may be too short for that */
		       (counted && (!lost_on_each_cpu(instance, "\noverrun: ") ||
				    !lost_on_each_cpu(second, "dropped events: ")));
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
static void add_and_remove_probes(const struct actor *a, int n)
{
	unsigned long before;

	(void)a;
	(void)n;
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		want(add_probe(&probes[i], probes[i].offset), probes[i].symbol);
	want(put(TRACING, "events/trap_stress/enable", "1"), "events/trap_stress/enable");
	while (!stopped() && !tracer_on())
		pause_ms(10);
	before = probe_hits();
	pause_ms(500);
	if (tracer_on())
		*my_effect += probe_hits() - before;
	else
		cut_short = stopped();
	want(put(TRACING, "events/trap_stress/enable", "0"), "events/trap_stress/enable");
	want(append(TRACING, "kprobe_events", "-:trap_stress/\n"), "kprobe_events");
}

static void change_tracer(const struct actor *a, int n)
{
	(void)n;
	for (int i = 0; a->texts[i]; i++) {
		want(put(TRACING, "current_tracer", "%s", a->texts[i]), a->texts[i]);
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

/*
 * Memory pressure: more than fits into a group, on each CPU
 */
static char swap_file[256], group[300];

void make_hog(void)
{
	hog = new_pages(HOG_SIZE);
}

/* Histograms count the faults of the hogs: their number is not known before */
static void set_up_memory(void)
{
	char in[128];

	/* Room for the memory of all hogs, and of two more */
	must(make_swap(swap_file, sizeof(swap_file), (ncpus + 2) * HOG_SIZE), "swap file");
	mount_cgroup();
	must(make_group(group, sizeof(group), "pressed"), "cgroup");
	must(put(group, "memory.max", GROUP_SIZE), "memory.max");
	snprintf(in, sizeof(in), "address >= 0x%lx && address < 0x%lx", (long)hog,
		 (long)hog + HOG_SIZE);
	must(append(instance, "events/pagefault/pagefault_entry/trigger",
		    "hist:keys=user_mode if %s", in), "hist");
	must(append(instance, "events/pagefault/pagefault_exit/trigger",
		    "hist:keys=flags if %s", in), "hist");
}

static const char *cannot_press(void)
{
	struct statfs fs;
	bool memory = mount_cgroup();

	unmount_cgroup();
	if (!memory || access("/proc/swaps", F_OK))
		return "no memory cgroup, or no swap";
	if (statfs(getenv("TMPDIR") ?: "/tmp", &fs) || fs.f_type == TMPFS_MAGIC)
		return "no swap file on a tmpfs: set TMPDIR";
	return NULL;
}

static void press(const struct actor *a, int cpu)
{
	static bool in_group;

	(void)a;
	if (!in_group) {
		pin(cpu);
		want(put(group, "cgroup.procs", "%d", getpid()), "cgroup.procs");
		in_group = true;
	}
	for (int n = 0; n < HOG_PAGES; n++)
		hog[rand_r(&seed) % (HOG_SIZE / page_size) * page_size]++;
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

static void judge_memory(bool counted)
{
	unsigned long entries, exits, none, swapins;

	(void)counted;
	entries = hist_hits("pagefault_entry", 0, &none);
	exits = hist_hits("pagefault_exit", SWAPIN, &swapins);
	say("%lu entries, %lu exits of the hogs, %lu from swap", entries, exits, swapins);
	sums.effect += swapins;
	sums.failed |= entries != exits;
}

/*
 * Before a part of a scenario, and after it
 */
void set_up(void)
{
	if (scenario->instance)
		instance = make_instance("stress");
	if (scenario->set_up)
		scenario->set_up();
	if (scenario->instance >= ON)
		switch_all(instance, "1");
	if (scenario->instance == ON_IN_BOTH)
		switch_all(top, "1");
}

/* What any scenario has made, or an actor that failed has left, outside of instances */
void clean_up(void)
{
	char path[200];

	for (int cpu = 1; cpu < ncpus; cpu++)
		plug(cpu, true);
	restore_interrupts();
	for (int n = 0; n < ncpus; n++) {
		made_path(n, path, sizeof(path));
		if (!put(path, "events/enable", "0"))
			rmdir(path);
	}
	/* Without a filter, the tracer traces all */
	put(top, "current_tracer", "nop");
	put(top, "set_ftrace_filter", "%s", "");
	put(top, "events/trap_stress/enable", "0");
	append(top, "kprobe_events", "-:trap_stress/\n");
	switch_all(top, "0");
	must(put(top, "trace", " "), "trace");
	if (*swap_file) {
		remove_swap(swap_file);
		rmdir(group);
		unmount_cgroup();
	}
}

void remove_stressed(void)
{
	const char **all[] = { &instance, &second, &third };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!*all[i])
			continue;
		/* O_TRUNC removes the histograms */
		must(put(*all[i], "events/pagefault/pagefault_entry/trigger", "%s", ""), "trigger");
		must(put(*all[i], "events/pagefault/pagefault_exit/trigger", "%s", ""), "trigger");
		remove_instance(*all[i]);
		*all[i] = NULL;
	}
}

const struct scenario scenarios[] = {
	{ "all", { }, "records", ON_IN_BOTH, set_up_all, judge_records },
	{ "toggle", {
		{ "switches of trap in the top instance", write_all, ONE, 0,
		  &top, "events/trap/enable", LIST("1", "0") },
		{ "switches of pagefault in the top instance", write_all, ONE, 0,
		  &top, "events/pagefault/enable", LIST("1", "0") },
		{ "switches of trap_entry in another", write_all, ONE, 12,
		  &instance, "events/trap/trap_entry/enable", LIST("1", "0") },
		{ "switches of pagefault_exit in another", write_all, ONE, 12,
		  &instance, "events/pagefault/pagefault_exit/enable", LIST("1", "0") },
		{ "switches of trap_exit by set_event", write_all, ONE, 0,
		  &instance, "set_event", LIST("trap:trap_exit", "!trap:trap_exit") },
	}, "records", MADE, .judge = judge_records, .switches = true },
	{ "instances", {
		{ "instances made and removed", make_and_remove, PER_CPU },
	}, "records", .switches = true },
	{ "filters", {
		{ "filters of trap_entry", write_next, ONE, 0,
		  &instance, "events/trap/trap_entry/filter",
		  LIST("vector == 14", "user_mode == 1 && ip > 4096", "0",
		       "(vector == 0 || vector == 6) && error_code == 0 && common_pid != 1") },
		/* Of both events at once */
		{ "filters of pagefault", write_next, ONE, 0,
		  &instance, "events/pagefault/filter",
		  LIST("address > 4096", "error_code & 4", "0", "user_mode == 0 && ip != 0") },
		{ "triggers of trap_exit", trigger_next, ONE, 0,
		  &instance, "events/trap/trap_exit/trigger",
		  LIST("hist:keys=vector,user_mode:vals=error_code", "stacktrace:3 if vector == 6",
		       "enable_event:pagefault:pagefault_exit:9", "traceoff:1 if vector == 99") },
		{ "triggers of pagefault_exit", trigger_next, ONE, 0,
		  &instance, "events/pagefault/pagefault_exit/trigger",
		  LIST("hist:keys=outcome,duration.log2", "snapshot:1 if address == 1",
		       "stacktrace if outcome == 6") },
	}, "records", ON, NULL, judge_records },
	{ "readers", {
		{ "readers of a CPU's trace_pipe killed", kill_reader, PER_CPU, 15, &instance,
		  .texts = LIST("per_cpu/cpu%d/trace_pipe", "per_cpu/cpu%d/trace_pipe_raw") },
		{ "readers of trace_pipe killed", kill_reader, ONE, 12, &top,
		  .texts = LIST("trace_pipe") },
		{ "readers of trace killed", kill_reader, ONE, 12, &top,
		  .texts = LIST("trace") },
	}, "bytes", ON_IN_BOTH, NULL, judge_readers },
	{ "hotplug", {
		{ "times that a CPU was offline", take_offline, ONE, 12 },
	}, "times that it was missing", ON },
	{ "nmi", {
		{ "NMIs from the monitor", monitor_nmi, ONE, 60 },
		{ "NMIs on all CPUs", kernel_nmi, PER_CPU, 150 },
	}, "NMIs from the monitor traced", ON, NULL, judge_nmis, cannot_nmi },
	{ "overwrite", {
		{ "rounds of four sizes", write_all, ONE, 0,
		  &third, "buffer_size_kb", LIST("8", "256", "64", "1024") },
		{ "times that a trace was cleared", clear_trace, ONE, 0, &third },
	}, "records lost", MADE, set_up_overwrite, judge_overwrite },
	{ "probes", {
		{ "rounds of five kprobes", add_and_remove_probes },
		{ "rounds of two function tracers", change_tracer, ONE, 0,
		  .texts = LIST("function", "function_graph") },
	}, "hits beside a tracer", ON_IN_BOTH, set_up_probes, NULL, cannot_probe },
	{ "memory", {
		{ "times that 64 pages were written to", press, PER_CPU },
	}, "faults that found their page in swap", ON, set_up_memory, judge_memory, cannot_press },
	{ }
};
