// SPDX-License-Identifier: GPL-2.0
/* trapstat -- command: the traps of the whole life of a command and its children */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <jansson.h>

#include "perf.h"
#include "print.h"
#include "screen.h"
#include "sinks.h"
#include "symbols.h"
#include "trapstat.skel.h"
#include "views.h"

enum { MOST_SLOW = 5 };

static pid_t child;
static bool *exec_failed;			/* shared with the child */
static unsigned long long began;			/* ns */
static __volatile__ unsigned long long ended_at;	/* ns, as of the last SIGCHLD */

static void pass_on(int number)
{
	if (child > 0)
		kill(child, number);
}

static void note_end(int number)
{
	(void)number;
	ended_at = now_ns();
}

static struct sigaction given[NSIG];
static sigset_t given_mask;

/**
 * dispositions_note - Note how each signal was disposed of, and blocked, when trapstat began
 */
void dispositions_note(void)
{
	sigprocmask(SIG_BLOCK, NULL, &given_mask);
	for (int number = 1; number < NSIG; number++)
		sigaction(number, NULL, &given[number]);
}

static void dispositions_restore(void)
{
	for (int number = 1; number < NSIG; number++)
		sigaction(number, &given[number], NULL);
	sigprocmask(SIG_SETMASK, &given_mask, NULL);
}

static void (*disposition_of(int number))(int)
{
	return given[number].sa_handler;
}

static const struct column columns[] = {
	{ "COUNT", "count", CELL_COUNT },
	{ "SHARE%", "share_percent", CELL_PERCENT, 2 },
	{ "TIME%", "time_percent", CELL_PERCENT, 3 },
	{ "MEDIAN", "median_ns", CELL_NS, 4 }, { "P99", "p99_ns", CELL_NS, 5 },
	{ "LONGEST", "longest_ns", CELL_NS, 6 },
	WAIT_COLUMN("OFF-CPU%", "off_cpu_percent"), WAIT_COLUMN("IO%", "io_percent"),
	WAIT_COLUMN("RECLAIM%", "reclaim_percent"), WAIT_COLUMN("COMPACT%", "compaction_percent"),
	WAIT_COLUMN("LOCK%", "mmap_lock_percent"), WAIT_COLUMN("UFFD%", "uffd_percent"),
	WAIT_COLUMN("PREEMPT%", "preempted_percent"), WAIT_COLUMN("OTHER%", "other_percent"),
	{ "OUTCOME", "outcome", CELL_TEXT }, { "MODE", "mode", CELL_TEXT },
	{ "MEMORY", "memory", CELL_TEXT },
};

enum { COLUMN_COUNT, COLUMN_TIME = 2, COLUMNS = sizeof(columns) / sizeof(*columns) };

static void add_row(struct table *t, const struct sources *s, const struct fault_key *key,
		    const struct fault_sum *sum, unsigned long long all, double seconds)
{
	bool timed = sum->ns;

	table_number(t, true, sum->count);
	table_number(t, true, 100.0 * sum->count / all);
	table_number(t, timed, sum->ns / seconds / 1e7);
	table_number(t, timed, sum_percentile(sum, 0.5));
	table_number(t, timed, sum_percentile(sum, 0.99));
	table_number(t, timed, sum->max);
	add_waits(t, s, sum->wait, seconds * 1e7);
	table_text(t, outcome_name(s, key->outcome));
	table_text(t, mode_names[key->mode]);
	table_text(t, text_flags(key->outcome, key->flags).text);
}

/* Half of the rows that stay have the most time: major faults may be few */
static void cut_rows(struct table *t, int rows)
{
	struct table rest = *t;

	table_sort(t, COLUMN_TIME);
	rest.cell += rows / 2 * COLUMNS;
	rest.cells -= rows / 2 * COLUMNS;
	table_sort(&rest, COLUMN_COUNT);
	table_cut(t, rows);
	table_sort(t, COLUMN_COUNT);
}

/* What only exceptions:page_fault_* has seen gets a row of its own, for each mode */
static void print_outcomes(const struct output *out, struct counts *c, const struct sources *s,
			   struct options *o, int rows)
{
	unsigned long long begun[2] = {}, reached[2] = {}, all = 0;
	struct fault_sum none = {};
	struct table t;
	bool is_asked;

	for (size_t i = 0; i < c->faults; i++) {
		const struct fault_key *key = &c->fault[i].key;
		unsigned long long n = c->fault[i].sum.count;

		if (key->outcome == OUTCOME_BEGUN)
			begun[key->mode == MODE_USER] += n;
		else if (key->outcome == OUTCOME_REACHED)
			reached[key->mode == MODE_USER] += n;
		else
			all += n;
	}
	for (int i = 0; i < 2; i++) {
		begun[i] -= reached[i] < begun[i] ? reached[i] : begun[i];
		all += begun[i];
	}
	table_init(&t, "page_fault", columns, COLUMNS);
	for (size_t i = 0; i < c->faults; i++)
		if (c->fault[i].key.outcome < OUTCOME_BEGUN)
			add_row(&t, s, &c->fault[i].key, &c->fault[i].sum, all, c->seconds);
	for (unsigned int mode = MODE_KERNEL; mode <= MODE_USER; mode++) {
		struct fault_key key = {
			.outcome = OUTCOME_BEGUN, .mode = mode, .flags = FLAG_KIND_UNKNOWN,
		};

		none.count = begun[mode];
		if (none.count)
			add_row(&t, s, &key, &none, all, c->seconds);
	}
	is_asked = o->sort && table_column(columns, COLUMNS, o->sort) >= 0;
	sort_rows(&t, o, COLUMN_COUNT);
	if (!out->is_json)
		fputs("\nPAGE FAULTS\n", out->file);
	if (rows && table_rows(&t) > rows && !out->is_json) {
		int more = table_rows(&t) - rows;

		if (!is_asked && knows_durations(s))
			cut_rows(&t, rows);
		else
			table_cut(&t, rows);
		table_print(out, &t);
		fprintf(out->file, "and %d more (-n 0 shows all)\n", more);
	} else {
		table_print(out, &t);
	}
	table_free(&t);
}

static void print_command(const struct output *out, const struct counts *c,
			  const struct options *o, int status)
{
	char line[256] = "";
	size_t n = 0;
	int left;

	if (out->is_json) {
		for (char **word = o->command; *word && n < sizeof(line); word++)
			n += snprintf(line + n, sizeof(line) - n, "%s%s", n ? " " : "",
				      text_plain(*word, 64).text);
		json_line(out, json_pack("{s:s, s:o}", "command", line, "status",
					 status < 0 ? json_null() : json_integer(status)),
			  "command");
		return;
	}
	left = out->width - fprintf(out->file, status < 0 ? "\ntrapstat: %s, goes on:" :
				    "\ntrapstat: %s, exit status %d:",
				    text_ns(c->seconds * 1e9).text, status) + 1;
	for (char **word = o->command; *word; word++) {
		int size = strlen(*word);
		bool is_cut = out->width && size + (word[1] ? 5 : 1) > left;

		if (is_cut)
			size = left > 4 ? left - 4 : 0;
		fputc(' ', out->file);
		print_plain(out->file, *word, size);
		if (is_cut) {
			fputs("...", out->file);
			break;
		}
		left -= size + 1;
	}
	fputc('\n', out->file);
}

static void print_usage(const struct output *out, const struct counts *c, const struct sources *s,
			const struct rusage *usage)
{
	unsigned long long minor = 0, major = 0, used = usage->ru_minflt + usage->ru_majflt;
	bool known = knows_ends(s);

	for (size_t i = 0; i < c->faults; i++) {
		minor += c->fault[i].key.outcome == OUTCOME_MINOR ? c->fault[i].sum.count : 0;
		major += c->fault[i].key.outcome == OUTCOME_MAJOR ? c->fault[i].sum.count : 0;
	}
	if (out->is_json)
		json_line(out, json_pack("{s:I, s:I, s:I, s:I}", "minor", (json_int_t)minor,
					 "major", (json_int_t)major, "rusage_minor",
					 (json_int_t)usage->ru_minflt, "rusage_major",
					 (json_int_t)usage->ru_majflt), "usage");
	else
		fprintf(out->file, "counted: %s minor, %s major; getrusage: %ld minor, %ld major\n",
			text_number(known, minor).text, text_number(known, major).text,
			usage->ru_minflt, usage->ru_majflt);
	if (known && minor + major > used && !out->is_json)
		fprintf(out->file,
			"getrusage lacks %llu: of children that no parent has waited for\n",
			minor + major - used);
	if (s->ends == ENDS_BY_PERF && !s->btf && !out->is_json)
		fputs("faults of get_user_pages() are not counted, but getrusage includes them\n",
		      out->file);
}

/* usage: NULL if the command goes on */
static void print_summary(const struct output *out, struct counts *c, const struct sources *s,
			  struct options o, int status, const struct rusage *usage, int rows,
			  int slow)
{
	print_begin(out, s);
	print_command(out, c, &o, status);
	if (s->config->outcome == WANT_ANY)
		print_traps(out, c, s, &o, false);
	print_signals(out, c, s, false);
	print_missing(out, s);
	if (s->config->vector == WANT_ANY || s->config->vector == ROW_PF)
		print_outcomes(out, c, s, &o, rows);
	if (o.is_histogram)
		print_histograms(out, c, s, 0);
	print_slowest(out, c, s, slow, 0);
	if (usage && !is_filtered(s) && !s->config->comm[0] && !s->config->cgroup)
		print_usage(out, c, s, usage);
	print_lost(out, c, o.verbose);
}

/* With fewer and fewer rows, until it fits; what -n, -H and -S ask for need not fit */
static int summarize(FILE *file, struct counts *c, const struct sources *s,
		     const struct options *o, int status, const struct rusage *usage)
{
	struct output out = { .is_json = o->is_json, .time = now_real(), .seconds = c->seconds };
	int rows = o->rows < 0 ? 20 : o->rows, slow = MOST_SLOW;
	bool fits = false;
	char *text;
	size_t size;

	screen_size(&out, fileno(file));
	while (!fits) {
		out.file = open_memstream(&text, &size);
		if (!out.file)
			return -1;
		print_summary(&out, c, s, *o, status, usage, rows, slow);
		fclose(out.file);
		/* The prompt of a shell takes a line */
		fits = !out.height || lines_of(text) < out.height || (rows <= 1 && !slow) ||
			o->rows >= 0 || o->is_json || o->is_histogram || s->config->stacks;
		if (fits)
			fputs(text, file);
		else if (rows > slow)
			rows--;
		else
			slow--;
		free(text);
	}
	return 0;
}

/**
 * command_check - Whether there is such a command; else say so, before a file is written
 * @name:	the command
 *
 * Return: 0, or the exit status that a shell would have
 */
int command_check(const char *name)
{
	const char *path = strchr(name, '/') || !*name ? "" : getenv("PATH") ?: "/usr/bin:/bin";
	int error = ENOENT;
	struct stat file;
	char *full;
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, ":");
		if (asprintf(&full, "%.*s%s%s", (int)len, path, len ? "/" : "", name) < 0)
			return 126;
		if (!stat(full, &file))
			error = S_ISREG(file.st_mode) && !access(full, X_OK) ? 0 : EACCES;
		else if (*name && errno != ENOENT && (errno != ENOTDIR || !*path))
			error = errno;
		free(full);
		if (!error)
			return 0;
		if (!path[len])
			break;
	}
	fprintf(stderr, "trapstat: %s: %s\n", name, strerror(error));
	return error == ENOENT ? 127 : 126;
}

/**
 * command_start - Run a command, and follow it and its children
 * @s:		the sources
 * @o:		the options, with the command
 *
 * Return: 0, or -1 with a message
 */
int command_start(struct sources *s, const struct options *o)
{
	struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };

	sigset_t ends, before;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	/* A signal came while the programs were loaded */
	if (ended) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return -1;
	}
	/* A terminal sends these to the command as well */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	s->bpf->bss->spawner = syscall(SYS_gettid);
	exec_failed = mmap(NULL, sizeof(*exec_failed), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	began = now_ns();
	child = exec_failed == MAP_FAILED ? -1 : fork();
	if (!child) {
		dispositions_restore();
		perf_restore_limit();
		execvp(o->command[0], o->command);
		*exec_failed = true;
		fprintf(stderr, "trapstat: %s: %s\n", o->command[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	s->bpf->bss->spawner = 0;
	sigaction(SIGTERM, &action, NULL);
	if (disposition_of(SIGHUP) != SIG_IGN)	/* as nohup does */
		sigaction(SIGHUP, &action, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!o->debuginfod)
		unsetenv("DEBUGINFOD_URLS");
	if (child < 0) {
		fprintf(stderr, "trapstat: fork: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

static bool wait_for(int *status, struct rusage *usage, int flags)
{
	int state;
	pid_t pid;

	do
		pid = wait4(child, &state, flags, usage);
	while (pid < 0 && errno == EINTR);
	if (pid != child)
		return false;
	child = 0;
	*status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
	return true;
}

/**
 * command_has_ended - Whether the command has ended
 * @status:	its exit status, or 128 and the number of the signal that ended it
 * @usage:	what it has used
 */
bool command_has_ended(int *status, struct rusage *usage)
{
	return wait_for(status, usage, WNOHANG);
}

/**
 * command_wait - Wait for the end of the command
 * @status:	its exit status, or 128 and the number of the signal that ended it
 * @usage:	what it has used
 */
void command_wait(int *status, struct rusage *usage)
{
	wait_for(status, usage, 0);
}

/* Either table may have the column of --sort */
static bool can_sort(const struct sources *s, const struct options *o)
{
	struct column both[COLUMNS + 8];
	int n;

	memcpy(both, trap_columns(s, false, false, &n), 8 * sizeof(*both));
	memcpy(both + n, columns, sizeof(columns));
	return check_sort(o, both, n + COLUMNS);
}

/**
 * view_command - Run a command, and sum up its traps and those of its children
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status of the command, or 128 and the number of the signal that ended it; 0 if
 * --duration ends before it
 */
int view_command(struct sources *s, struct options *o)
{
	struct sigaction action = { .sa_handler = note_end, .sa_flags = SA_NOCLDSTOP };
	FILE *out = stderr;
	struct rusage usage = {};
	int status = 1, failed = 0;
	sigset_t child_ends;
	bool goes_on = false;
	double age, last = 0;
	struct counts c;

	if (!can_sort(s, o))
		return 2;
	if (o->file)
		out = fopen(o->file, "we");
	if (!out) {
		fprintf(stderr, "trapstat: %s: %s\n", o->file, strerror(errno));
		return 2;
	}
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&child_ends);
	sigaddset(&child_ends, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &child_ends, NULL);
	if (!counts_init(&c, s) && !command_start(s, o)) {
		while (!failed) {
			/* SIGCHLD ends this */
			age = counts_age(&c);
			nanosleep(&(struct timespec){ .tv_nsec = age < 0.1 ? 1000000 : 20000000 },
				  NULL);
			if (command_has_ended(&status, &usage))
				break;
			goes_on = o->until && now_ns() >= o->until;
			if (goes_on)
				break;
			/* At the end of a fault, perf.bpf.h may look up one mapping, of two */
			if (!s->find_vma || s->ends == ENDS_BY_PERF)
				note_maps(child);
			/* The mappings of a slow fault are looked up while the process is there */
			if (age - last >= 0.05) {
				last = age;
				failed = counts_read(&c, s);
			}
		}
		if (failed || counts_end(&c, s)) {
			status = 1;
		} else if (!*exec_failed) {
			status = goes_on ? -1 : status;
			c.seconds = ((goes_on ? now_ns() : ended_at) - began) / 1e9;
			if (summarize(out, &c, s, o, status, goes_on ? NULL : &usage))
				status = 1;
			status = status < 0 ? 0 : status;
		}
	}
	counts_free(&c);
	if (o->file && close_file(out, o->file))
		status = 1;
	return status;
}
