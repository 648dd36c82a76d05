// SPDX-License-Identifier: GPL-2.0
/* trapstat -- command: the traps of the whole life of a command and its children */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "perf.h"
#include "print.h"
#include "sinks.h"
#include "symbols.h"
#include "trapstat.skel.h"
#include "views.h"

enum { MOST_SLOW = 5 };

static pid_t child;
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

/**
 * dispositions_note - Note how each signal was disposed of when trapstat began
 */
void dispositions_note(void)
{
	for (int number = 1; number < NSIG; number++)
		sigaction(number, NULL, &given[number]);
}

static void dispositions_restore(void)
{
	for (int number = 1; number < NSIG; number++)
		sigaction(number, &given[number], NULL);
}

static void (*disposition_of(int number))(int)
{
	return given[number].sa_handler;
}

static int by_count(const void *a, const void *b)
{
	const struct fault_row *left = a, *right = b;

	return (left->sum.count < right->sum.count) - (left->sum.count > right->sum.count);
}

static void print_row(FILE *out, const char *outcome, const char *mode, const char *memory,
		      const struct fault_sum *sum, unsigned long long all, bool timed)
{
	fprintf(out, "%-11s %-6s %-14s %10llu %6.1f%%", outcome, mode, memory, sum->count,
		100.0 * sum->count / all);
	fprintf(out, " %8s %8s %8s\n", timed ? text_ns(sum_percentile(sum, 0.5)).text : "-",
		timed ? text_ns(sum_percentile(sum, 0.99)).text : "-",
		timed ? text_ns(sum->max).text : "-");
}

/* What only exceptions:page_fault_* has seen gets a row of its own, for each mode */
static void print_outcomes(FILE *out, struct counts *c, const struct sources *s, size_t rows)
{
	unsigned long long begun[2] = {}, reached[2] = {}, all = 0;
	struct fault_sum none = {};
	size_t kinds = 0;

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
	fprintf(out, "\n%-11s %-6s %-14s %10s %7s %8s %8s %8s\n", "PAGE FAULT", "MODE", "MEMORY",
		"COUNT", "SHARE", "MEDIAN", "P99", "LONGEST");
	qsort(c->fault, c->faults, sizeof(*c->fault), by_count);
	for (size_t i = 0; i < c->faults; i++) {
		const struct fault_key *key = &c->fault[i].key;

		if (key->outcome < OUTCOME_BEGUN && (!rows || kinds++ < rows))
			print_row(out, outcome_names[key->outcome], mode_names[key->mode],
				  text_flags(key->outcome, key->flags).text, &c->fault[i].sum,
				  all, c->fault[i].sum.ns);
	}
	if (kinds > rows)
		fprintf(out, "and %zu more (-n 0 shows all)\n", kinds - rows);
	for (int mode = MODE_USER; mode >= MODE_KERNEL; mode--) {
		none.count = begun[mode == MODE_USER];
		if (none.count)
			print_row(out, outcome_name(s, OUTCOME_BEGUN), mode_names[mode], "-",
				  &none, all, false);
	}
}

static void summarize(FILE *out, struct counts *c, const struct sources *s,
		      const struct options *o, int status, const struct rusage *usage)
{
	unsigned long long minor = 0, major = 0;
	bool known = knows_ends(s);

	fprintf(out, "\ntrapstat: %s, exit status %d:", text_ns(c->seconds * 1e9).text, status);
	for (char **word = o->command; *word; word++) {
		fputc(' ', out);
		print_plain(out, 0, *word, strlen(*word));
	}
	fputc('\n', out);
	if (s->config->outcome == WANT_ANY)
		print_traps(out, c, s, false, false);
	print_signals(out, c, s);
	print_missing(out, s);
	for (size_t i = 0; i < c->faults; i++) {
		minor += c->fault[i].key.outcome == OUTCOME_MINOR ? c->fault[i].sum.count : 0;
		major += c->fault[i].key.outcome == OUTCOME_MAJOR ? c->fault[i].sum.count : 0;
	}
	if (s->config->vector == WANT_ANY || s->config->vector == ROW_PF)
		print_outcomes(out, c, s, o->rows);
	print_slowest(out, c, s, MOST_SLOW);
	if (!is_filtered(s) && !s->config->comm[0] && !s->config->cgroup)
		fprintf(out, "counted: %s minor, %s major; getrusage: %ld minor, %ld major\n",
			text_number(known, minor).text, text_number(known, major).text,
			usage->ru_minflt, usage->ru_majflt);
	if (s->ends == ENDS_BY_PERF && !s->btf)
		fputs("not counted: faults of get_user_pages(), which getrusage has\n", out);
	print_lost(out, c, o->verbose);
}

/**
 * command_start - Run a command, and follow it and its children
 * @s:		the sources
 * @words:	the command
 *
 * Return: 0, or -1 with a message
 */
int command_start(struct sources *s, char **words)
{
	struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };

	/* A terminal sends these to the command as well */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	s->bpf->bss->spawner = syscall(SYS_gettid);
	began = now_ns();
	child = fork();
	if (!child) {
		dispositions_restore();
		perf_restore_limit();
		execvp(words[0], words);
		fprintf(stderr, "trapstat: %s: %s\n", words[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	s->bpf->bss->spawner = 0;
	sigaction(SIGTERM, &action, NULL);
	if (disposition_of(SIGHUP) != SIG_IGN)	/* as nohup does */
		sigaction(SIGHUP, &action, NULL);
	/* A server of debug information may take longer than a fault */
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

/**
 * view_command - Run a command, and sum up its traps and those of its children
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status of the command, or 128 and the number of the signal that ended it
 */
int view_command(struct sources *s, const struct options *o)
{
	struct sigaction action = { .sa_handler = note_end, .sa_flags = SA_NOCLDSTOP };
	FILE *out = o->file ? fopen(o->file, "we") : stderr;
	struct rusage usage = {};
	int status = 1, failed = 0;
	double age, last = 0;
	struct counts c;

	if (!out) {
		fprintf(stderr, "trapstat: %s: %s\n", o->file, strerror(errno));
		return 2;
	}
	sigaction(SIGCHLD, &action, NULL);
	if (!counts_init(&c, s) && !command_start(s, o->command)) {
		while (!failed) {
			/* SIGCHLD ends this */
			age = counts_age(&c);
			nanosleep(&(struct timespec){ .tv_nsec = age < 0.1 ? 1000000 : 20000000 },
				  NULL);
			if (command_has_ended(&status, &usage))
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
		} else {
			c.seconds = (ended_at - began) / 1e9;
			summarize(out, &c, s, o, status, &usage);
		}
	}
	counts_free(&c);
	if (o->file && close_file(out, o->file))
		status = 1;
	return status;
}
