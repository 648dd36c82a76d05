// SPDX-License-Identifier: GPL-2.0
/* trap_fuzz: the state before and after, and whether events and traps agree */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trap_fuzz.h"

#define CHECK_TRAPS	1000
#define PROBED_TRAPS	100

/* Settings, which a round changes and restores */
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

/* The state of tracing, as lines of a file's name and what is in it */
char *state(void)
{
	static const char * const files[] = {
		"events/*/trap_*/[eft][nir]*", "events/*/page*/[eft][nir]*",
		"events/trap/[ef]*", "events/pagefault/[ef]*", "events/exceptions/[ef]*",
		"current_tracer", "tracing_on", "trace_options", "trace_clock", "tracing_cpumask",
		"buffer_size_kb", "set_event", "set_event_pid", "set_ftrace_filter",
		"set_ftrace_notrace", "set_graph_function", "enabled_functions", "dynamic_events",
		"kprobe_events", "uprobe_events", "synthetic_events",
		"/sys/kernel/debug/kprobes/list",
	};
	char command[2048] = "exec 2>&1; cd " TRACING "; ls instances; grep -a ''";
	size_t size = 0, n = strlen(command);
	char *text = NULL;
	FILE *f;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		n += snprintf(command + n, sizeof(command) - n, " %s", files[i]);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		n += snprintf(command + n, sizeof(command) - n, " %s/%s", settings[i].dir,
			      settings[i].file);
	f = popen(command, "r");
	if (!f || getdelim(&text, &size, '\0', f) < 0)
		ksft_exit_fail_msg("tracing cannot be read\n");
	pclose(f);
	return text;
}

/* Whether two states are the same; else tell the first line that is not */
bool same_state(const char *before, const char *after, bool tell)
{
	size_t line = 0;

	if (!strcmp(before, after))
		return true;
	for (size_t i = 0; before[i] == after[i]; i++)
		if (before[i] == '\n')
			line = i + 1;
	before += line;
	after += line;
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
	for (int i = 0; events[i]; i++)
		remove_triggers(dir, events[i]);
	for (int i = 0; groups[i]; i++) {
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

	for (int round = 0; round < 3 && busy; round++) {
		busy = false;
		for (int i = 0; i <= INSTANCES; i++) {
			if (access(instances[i], F_OK))
				continue;
			switch_off(instances[i]);
			busy |= i && rmdir(instances[i]);
		}
		busy |= append(TRACING, "dynamic_events", "-:" NAME "_e/\n") == -EBUSY;
		busy |= append(TRACING, "dynamic_events", "-:" NAME "/\n") == -EBUSY;
	}
	restore_settings();
}

/*
 * The histograms that have to agree with what was raised
 */
const char *check_instance, *watch;
static unsigned long suppressed_before;

#define UNTRACED	" || vector == 14 || vector == 18"

static const struct {
	const char *event, *keys, *also;
} watched[] = {
	{ "trap/trap_entry", "vector,user_mode", UNTRACED },
	{ "trap/trap_exit", "vector,user_mode", UNTRACED },
	{ "pagefault/pagefault_entry", "user_mode", "" },
	{ "pagefault/pagefault_exit", "signo,si_code,user_mode:vals=outcome", "" },
};

/* Before a round; @watched_round: and switch on the histograms */
void begin_count(bool watched_round)
{
	static char path[128];
	char file[64];

	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &shared->threads[i];

		memset(t->raised, 0, sizeof(t->raised));
		memset(t->signals, 0, sizeof(t->signals));
	}
	suppressed_before = suppressed();
	shared->tracer_probed = false;
	if (!watched_round)
		return;

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

static bool agree(bool good, const char *what, int n, int also, unsigned long raised,
		  unsigned long entries, unsigned long exits)
{
	if (!good)
		ksft_print_msg("%s %d, %d: %lu raised, %lu entries, %lu exits\n", what, n, also,
			       raised, entries, exits);
	return good;
}

/* All that the histograms say of the round that was; how many traps they agree on */
bool watch_agrees(unsigned long *agreed)
{
	unsigned long counts[ARRAY_SIZE(watched)][2][VECTORS];
	unsigned long raised[2][VECTORS] = { 0 }, signals[FAULT_SIGNALS] = { 0 };
	unsigned long all_signals = 0;
	bool good = true;

	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &shared->threads[i];

		for (int n = 0; n < 2 * VECTORS; n++)
			raised[n / VECTORS][n % VECTORS] += t->raised[n / VECTORS][n % VECTORS];
		for (int n = 0; n < FAULT_SIGNALS; n++) {
			signals[n] += t->signals[n];
			all_signals += t->signals[n];
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		if (read_hist(i, counts[i]))
			continue;
		ksft_print_msg("the histogram of %s is not whole\n", watched[i].event);
		good = false;
	}
	for (int user = 0; user < 2; user++) {
		unsigned long entries = counts[2][user][0], exits = 0;
		/* Some pages are there already when they are touched */
		unsigned long least = user ? all_signals : raised[0][PF];

		for (int vector = 0; vector < VECTORS; vector++) {
			unsigned long all = untraced(vector) ? 0 : raised[user][vector];
			unsigned long entry = counts[0][user][vector];
			unsigned long exit = counts[1][user][vector];

			good &= agree(paired(entry, exit, !user && vector == BP) &&
				      (raised_by_others(vector) ? entry >= all : entry == all),
				      "vector, user", vector, user, all, entry, exit);
			*agreed += exit;
			exits += counts[3][user][vector];
		}
		good &= agree(entries == exits && entries >= least, "page faults, user", PF, user,
			      least, entries, exits);
		*agreed += exits;
	}
	for (int i = 0; i < FAULT_SIGNALS; i++) {
		unsigned long exits = counts[3][0][i] + counts[3][1][i];

		good &= agree(exits == signals[i], "signal, code", fault_signals[i].signo,
			      fault_signals[i].si_code, signals[i], exits, exits);
	}
	return good;
}

/* A known number of #UD, on all CPUs, after all is switched off: each has its two events */
static bool counts_ud(int traps, const char *also)
{
	int signals = 0, entries = 0, exits = 0, others = 0;
	const struct user_trap *t = find_user_trap(UD);
	char filter[96];
	struct event e;
	FILE *f;

	snprintf(filter, sizeof(filter), "common_pid == %d && %s", getpid(), also);
	trace_on(check_instance, filter);
	for (int i = 0; i < traps; i++) {
		pin(i * cpus() / traps);
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
	if (signals == traps && entries == traps && exits == traps && !others)
		return true;
	ksft_print_msg("%d #UD: %d signals, %d entries, %d exits, %d others\n", traps, signals,
		       entries, exits, others);
	return false;
}

bool counts_exactly(void)
{
	return counts_ud(CHECK_TRAPS, "vector == 6");
}

/* A probe raises #DE at each event of a #UD: not traced, and counted twice */
bool guards(unsigned long *counted)
{
	const unsigned long before = suppressed();
	int fd = attach_probe("0");
	bool good;

	must(fd < 0 ? -errno : 0, PROBE_FILE);
	good = counts_ud(PROBED_TRAPS, "vector != 1 && vector != 2 && vector != 3");
	close(fd);
	*counted = suppressed() - before;
	if (*counted >= 4 * PROBED_TRAPS)
		return good;
	ksft_print_msg("%lu suppressed of %d traps with a probe\n", *counted, PROBED_TRAPS);
	return false;
}
