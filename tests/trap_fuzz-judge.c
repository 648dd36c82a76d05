// SPDX-License-Identifier: GPL-2.0
/* trap_fuzz: the state before and after, and whether events and traps agree */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trap_fuzz.h"

/*
 * Settings, which a round changes and restores
 */
static struct setting {
	const char *dir, *file, *value;	/* for the fuzz, if not NULL */
	char *old;
} settings[] = {
	{ TRACING, "tracing_on" },
	{ TRACING, "options/stacktrace" },
	{ TRACING, "options/userstacktrace" },
	{ "/proc/sys/debug", "kprobes-optimization" },
	{ "/proc/sys/vm", "nr_hugepages", "8" },
	{ FAIL_PAGE_ALLOC, "probability", "0" },
	{ FAIL_PAGE_ALLOC, "times", "0" },
	{ FAIL_PAGE_ALLOC, "task-filter", "Y" },
	{ FAIL_PAGE_ALLOC, "ignore-gfp-highmem", "N" },
	{ FAIL_PAGE_ALLOC, "ignore-gfp-wait", "N" },
	{ FAIL_PAGE_ALLOC, "min-order", "0" },
	{ FAIL_PAGE_ALLOC, "verbose", "0" },
	/* In a slow guest, the CPUs need more than a second to meet */
	{ "/sys/devices/system/machinecheck/machinecheck0", "monarch_timeout", "60000000" },
};

void change_settings(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		free(settings[i].old);
		settings[i].old = get(settings[i].dir, settings[i].file);
		if (settings[i].old && settings[i].value)
			put(settings[i].dir, settings[i].file, "%s", settings[i].value);
	}
}

static void restore_settings(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (settings[i].old)
			put(settings[i].dir, settings[i].file, "%s", settings[i].old);
}

/* The state of tracing, as text: name of a file, and what is in it */
char *state(void)
{
	static const char * const files[] = {
		"current_tracer", "tracing_on", "trace_options", "trace_clock", "tracing_cpumask",
		"buffer_size_kb", "set_event", "set_event_pid", "set_ftrace_filter",
		"set_ftrace_notrace", "set_graph_function", "enabled_functions", "dynamic_events",
		"kprobe_events", "uprobe_events", "synthetic_events",
		"events/trap/enable", "events/trap/filter", "events/pagefault/enable",
		"events/pagefault/filter", "events/exceptions/enable", "events/exceptions/filter",
	};
	static const char * const of_event[] = { "enable", "filter", "trigger" };
	char file[96], *text = NULL, *contents;
	struct dirent *d;
	size_t size = 0;
	FILE *f;
	DIR *dir;

	f = open_memstream(&text, &size);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		contents = get(TRACING, files[i]);
		fprintf(f, "%s: %s\n", files[i], contents ? contents : "none");
		free(contents);
	}
	for (size_t i = 0; i < EVENTS * ARRAY_SIZE(of_event); i++) {
		snprintf(file, sizeof(file), "events/%s/%s", events[i / ARRAY_SIZE(of_event)],
			 of_event[i % ARRAY_SIZE(of_event)]);
		contents = get(TRACING, file);
		fprintf(f, "%s: %s\n", file, contents ? contents : "none");
		free(contents);
	}
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		contents = get(settings[i].dir, settings[i].file);
		fprintf(f, "%s: %s\n", settings[i].file, contents ? contents : "none");
		free(contents);
	}
	contents = get("/sys/kernel/debug/kprobes", "list");
	fprintf(f, "kprobes: %s\n", contents ? contents : "none");
	free(contents);
	dir = opendir(TRACING "/instances");
	while (dir && (d = readdir(dir)))
		fprintf(f, "instance %s\n", d->d_name);
	if (dir)
		closedir(dir);
	fclose(f);
	return text;
}

/* Whether two states are the same; else the first line that is not */
bool same_state(const char *before, const char *after, bool tell)
{
	if (!strcmp(before, after))
		return true;
	while (tell && *before && strcspn(before, "\n") == strcspn(after, "\n") &&
	       !strncmp(before, after, strcspn(before, "\n") + 1)) {
		before += strcspn(before, "\n") + 1;
		after += strcspn(after, "\n") + 1;
	}
	if (tell)
		ksft_print_msg("it was '%.*s', it is '%.*s'\n", (int)strcspn(before, "\n"), before,
			       (int)strcspn(after, "\n"), after);
	return false;
}

/* All triggers of an event, the last one first: one may refer to another */
static void remove_triggers(const char *dir, const char *event)
{
	char file[64], *text, *line;

	snprintf(file, sizeof(file), "events/%s/trigger", event);
	text = get(dir, file);
	while (text && *text) {
		if (text[strlen(text) - 1] == '\n')
			text[strlen(text) - 1] = '\0';
		line = strrchr(text, '\n');
		line = line ? line + 1 : text;
		if (*line != '#')
			put(dir, file, "!%s", line);
		*line = '\0';
	}
	free(text);
}

static void switch_off(const char *dir)
{
	char file[64];

	put(dir, "current_tracer", "nop");
	for (size_t i = 0; i < EVENTS; i++)
		remove_triggers(dir, events[i]);
	for (size_t i = 0; i < GROUPS; i++) {
		snprintf(file, sizeof(file), "events/%s/enable", groups[i]);
		put(dir, file, "0");
		snprintf(file, sizeof(file), "events/%s/filter", groups[i]);
		put(dir, file, "0");
	}
	put(dir, "events/" NAME "/enable", "0");
	put(dir, "events/" NAME "_e/enable", "0");
	put(dir, "set_ftrace_filter", " ");
	put(dir, "set_ftrace_notrace", " ");
	put(dir, "snapshot", "0");
}

/* What the fuzz may have left: once more if something was in use */
void switch_all_off(void)
{
	bool busy = true;
	char path[128];

	for (int round = 0; round < 3 && busy; round++) {
		busy = false;
		switch_off(TRACING);
		for (unsigned int i = 1; i <= INSTANCES; i++) {
			instance_path(i, path, sizeof(path));
			if (access(path, F_OK))
				continue;
			switch_off(path);
			busy |= rmdir(path);
		}
		busy |= append(TRACING, "dynamic_events", "-:" NAME "_e/\n") == -EBUSY;
		busy |= append(TRACING, "dynamic_events", "-:" NAME "/\n") == -EBUSY;
	}
	restore_settings();
}

/*
 * The histograms that have to agree with what was raised
 */
const char *watch;

#define UNTRACED	" || vector == 14 || vector == 18"

static const struct {
	const char *event, *keys, *also;
} watched[] = {
	{ "trap/trap_entry", "vector,user_mode", UNTRACED },
	{ "trap/trap_exit", "vector,user_mode", UNTRACED },
	{ "pagefault/pagefault_entry", "user_mode", "" },
	{ "pagefault/pagefault_exit", "signo,si_code,user_mode:vals=outcome", "" },
};

void watch_begin(void)
{
	static char path[128];
	char file[64];

	snprintf(path, sizeof(path), TRACING "/instances/" NAME ".%d.watch", main_pid);
	if (mkdir(path, 0755))
		ksft_exit_fail_msg("mkdir %s: %s\n", path, strerror(errno));
	watch = path;
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		snprintf(file, sizeof(file), "events/%s/trigger", watched[i].event);
		must(put(watch, file, "hist:keys=%s if COMM == \"" NAME "\"%s", watched[i].keys,
			 watched[i].also), file);
	}
}

void watch_end(void)
{
	if (!watch)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		remove_triggers(watch, watched[i].event);
	if (rmdir(watch))
		ksft_print_msg("rmdir %s: %s\n", watch, strerror(errno));
	watch = NULL;
}

#define BY_SIGNAL	"{ signo: %d, si_code: %d, user_mode: %u } hitcount: %lu outcome: %lu"

/*
 * Of the @i-th histogram, by vector or signal; false if it has lost some, or if
 * an outcome does not fit the signal
 */
static bool read_hist(size_t i, unsigned long counts[2][VECTORS])
{
	unsigned long n, outcomes, dropped = 0;
	unsigned int key, user;
	char file[64], *text;
	int signo, si_code;
	bool whole;

	memset(counts, 0, 2 * VECTORS * sizeof(**counts));
	snprintf(file, sizeof(file), "events/%s/hist", watched[i].event);
	text = get(watch, file);
	whole = text && strstr(text, "Dropped: ") &&
		sscanf(strstr(text, "Dropped: "), "Dropped: %lu", &dropped) == 1 && !dropped;
	for (char *at = text; at && (at = strstr(at, "{ ")); at++) {
		key = 0;
		if (sscanf(at, BY_SIGNAL, &signo, &si_code, &user, &n, &outcomes) == 5) {
			key = fault_signal(signo, si_code);
			whole &= !signo || outcomes == n * OUTCOME_SIGNAL;
		} else if (sscanf(at, "{ vector: %u, user_mode: %u } hitcount: %lu",
				  &key, &user, &n) != 3 &&
			   sscanf(at, "{ user_mode: %u } hitcount: %lu", &user, &n) != 2) {
			continue;
		}
		if (key < VECTORS && user < 2)
			counts[user][key] += n;
	}
	free(text);
	return whole;
}

static unsigned long all_raised(bool user, unsigned int vector)
{
	unsigned long sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += shared->threads[i].raised[user][vector];
	return sum;
}

static unsigned long all_signals(size_t signal)
{
	unsigned long sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += shared->threads[i].signals[signal];
	return sum;
}

/* Others, like kprobes, uprobes and the monitor, raise these as well */
static bool raised_by_others(unsigned int vector)
{
	return vector == DB || vector == NMI || vector == BP;
}

/* These have no trap events, and page faults have events of their own */
static bool untraced(unsigned int vector)
{
	return vector == PF || vector == MC;
}

/* The numbers at the beginning of the round */
static unsigned long raised_before[2][VECTORS], signals_before[FAULT_SIGNALS];
static unsigned long suppressed_before;

void remember_raised(void)
{
	for (unsigned int vector = 0; vector < VECTORS; vector++)
		for (int user = 0; user < 2; user++)
			raised_before[user][vector] = all_raised(user, vector);
	for (size_t i = 0; i < FAULT_SIGNALS; i++)
		signals_before[i] = all_signals(i);
	suppressed_before = suppressed();
	shared->tracer_probed = false;
}

/*
 * Whether each entry has its exit. Events are suppressed while a kprobe is
 * handled inside another one, as for kprobes on the tracer. So a #BP of kernel
 * mode may have only one of its two events.
 */
static bool paired(unsigned long entries, unsigned long exits, bool of_kprobe)
{
	unsigned long alone = entries > exits ? entries - exits : exits - entries;

	if (!alone)
		return true;
	if (!of_kprobe || !shared->tracer_probed || alone > suppressed() - suppressed_before)
		return false;
	ksft_print_msg("kprobes: %lu entries, %lu exits\n", entries, exits);
	return true;
}

/* All that the histograms say of the round that was; how many traps they agree on */
bool watch_agrees(unsigned long *agreed)
{
	unsigned long counts[ARRAY_SIZE(watched)][2][VECTORS], signals = 0;
	bool good = true;

	for (size_t i = 0; i < FAULT_SIGNALS; i++)
		signals += all_signals(i) - signals_before[i];
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		if (read_hist(i, counts[i]))
			continue;
		ksft_print_msg("the histogram of %s is not whole\n", watched[i].event);
		good = false;
	}
	for (unsigned int vector = 0; vector < VECTORS; vector++) {
		for (int user = 0; user < 2; user++) {
			unsigned long raised = untraced(vector) ? 0 : all_raised(user, vector) -
					       raised_before[user][vector];
			unsigned long entry = counts[0][user][vector];
			unsigned long exit = counts[1][user][vector];

			if (paired(entry, exit, !user && vector == BP) &&
			    (raised_by_others(vector) ? entry >= raised : entry == raised)) {
				*agreed += exit;
				continue;
			}
			ksft_print_msg("vector %u of %s mode: %lu raised, %lu entries, %lu exits\n",
				       vector, user ? "user" : "kernel", raised, entry, exit);
			good = false;
		}
	}
	for (int user = 0; user < 2; user++) {
		unsigned long entries = counts[2][user][0], exits = 0;
		/* Some pages are there already when they are touched */
		unsigned long least = user ? signals : all_raised(0, PF) - raised_before[0][PF];

		for (unsigned int i = 0; i < VECTORS; i++)
			exits += counts[3][user][i];
		if (entries == exits && entries >= least) {
			*agreed += exits;
			continue;
		}
		ksft_print_msg("page faults of %s mode: %lu at least, %lu entries, %lu exits\n",
			       user ? "user" : "kernel", least, entries, exits);
		good = false;
	}
	for (size_t i = 0; i < FAULT_SIGNALS; i++) {
		unsigned long raised = all_signals(i) - signals_before[i];
		unsigned long exits = counts[3][0][i] + counts[3][1][i];

		if (exits == raised)
			continue;
		ksft_print_msg("signal %d, code %d: %lu raised, %lu exits\n",
			       fault_signals[i].signo, fault_signals[i].si_code, raised, exits);
		good = false;
	}
	return good;
}

/*
 * A known number of traps, on all CPUs, after all is switched off
 */
bool counts_exactly(void)
{
	int entries = 0, exits = 0, signals = 0, others = 0;
	char filter[64];
	struct event e;
	FILE *f;
	const struct user_trap *t;

	t = find_user_trap(UD);
	snprintf(filter, sizeof(filter), "common_pid == %d && vector == %u", getpid(), UD);
	trace_on(check_instance, filter);
	for (int i = 0; i < CHECK_TRAPS; i++) {
		if (i * cpus() / CHECK_TRAPS != (i - 1) * cpus() / CHECK_TRAPS || !i)
			pin(i * cpus() / CHECK_TRAPS);
		signals += raise_user_trap(t, NULL) == 1;
	}
	/* The threads of the next round inherit it */
	sched_setaffinity(0, sizeof(allowed), &allowed);
	trace_off(check_instance);
	f = open_trace(check_instance, -1);
	while (next_event(f, &e)) {
		if (e.vector == UD && e.user)
			++*(e.exit ? &exits : &entries);
		else
			others++;
	}
	fclose(f);
	if (signals == CHECK_TRAPS && entries == CHECK_TRAPS && exits == CHECK_TRAPS && !others)
		return true;
	ksft_print_msg("%d #UD: %d signals, %d entries, %d exits, %d others\n", CHECK_TRAPS,
		       signals, entries, exits, others);
	return false;
}

/* A probe raises #DE at each event of a #UD: not traced, and counted twice */
bool guards(unsigned long *counted)
{
	int nested = 0, entries = 0, fd;
	unsigned long before;
	char filter[64];
	struct event e;
	FILE *f;
	const struct user_trap *t;

	t = find_user_trap(UD);
	fd = open(PROBE_FILE, O_WRONLY);
	must(fd < 0 ? -errno : 0, PROBE_FILE);
	snprintf(filter, sizeof(filter), "common_pid == %d", getpid());
	before = suppressed();
	trace_on(check_instance, filter);
	must(write(fd, "0", 1) == 1 ? 0 : -errno, PROBE_FILE);
	for (int i = 0; i < PROBED_TRAPS; i++)
		raise_user_trap(t, NULL);
	close(fd);
	trace_off(check_instance);
	*counted = suppressed() - before;
	f = open_trace(check_instance, -1);
	while (next_event(f, &e)) {
		nested += e.vector == DE || untraced(e.vector);
		entries += e.vector == UD && e.user && !e.exit;
	}
	fclose(f);
	if (!nested && entries == PROBED_TRAPS && *counted >= 4 * PROBED_TRAPS)
		return true;
	ksft_print_msg("%d traps with a probe: %d entries, %d nested, %lu suppressed\n",
		       PROBED_TRAPS, entries, nested, *counted);
	return false;
}
