// SPDX-License-Identifier: GPL-2.0
/*
 * trapstat export: counts and latency histograms. Standard output gets OpenMetrics text; a file
 * and the clients of --listen get the text format of Prometheus, which is all that the textfile
 * collector of node_exporter reads. There, the name of a counter has its suffix in the lines of
 * type and help too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "listen.h"
#include "print.h"
#include "views.h"

#define SECONDS	"trapstat_trap_seconds_total{trap=\"%s\",mode=\"%s\"} %.9f\n"

/* Of memory: anon, file, shmem, hugetlb, special, not known */
enum { MEMORIES = 6 };

static const char * const memory_names[MEMORIES] = {
	"anon", "file", "shmem", "hugetlb", "special", "unknown",
};

/* All since the start. Labels have no other values than these, so a series never ends. */
static struct {
	struct trap_sum trap[ROWS][2];
	struct histogram {
		unsigned long long all, timed, ns, bucket[BUCKETS];
	} fault[OUTCOMES][MODES][MEMORIES];
	unsigned long long signal[SIGNALS * SIGNAL_CODES], lost[LOSTS];
} all;

static unsigned int memory_of(const struct fault_key *key)
{
	for (int i = 0; i < 4; i++)
		if (key->flags & 1 << i)
			return i;
	return key->flags & FLAG_KIND_UNKNOWN || key->outcome > OUTCOME_FAILED ? 5 : 4;
}

static void add_sum(struct histogram *to, const struct fault_sum *sum)
{
	to->all += sum->count;
	to->ns += sum->ns;
	/* A fault whose duration is not known is in no bucket */
	for (int i = 0; i < BUCKETS; i++) {
		to->bucket[i] += sum->bucket[i];
		to->timed += sum->bucket[i];
	}
}

static void add(const struct counts *c)
{
	for (int row = 0; row < ROWS; row++) {
		for (int mode = 0; mode < 2; mode++) {
			struct trap_sum sum = counts_trap(c, row, mode, -1);

			all.trap[row][mode].count += sum.count;
			all.trap[row][mode].ns += sum.ns;
		}
	}
	for (size_t i = 0; i < c->faults; i++) {
		const struct fault_key *key = &c->fault[i].key;

		if (key->outcome < OUTCOMES && key->mode < MODES)
			add_sum(&all.fault[key->outcome][key->mode][memory_of(key)],
				&c->fault[i].sum);
	}
	for (int i = 0; i < SIGNALS * SIGNAL_CODES; i++)
		all.signal[i] += c->signal[i];
	for (int i = 0; i < LOSTS; i++)
		all.lost[i] += c->lost[i];
}

static bool is_open;			/* OpenMetrics */

static void print_type(FILE *out, const char *name, const char *type, const char *help)
{
	const char *suffix = !is_open && !strcmp(type, "counter") ? "_total" : "";

	fprintf(out, "# HELP trapstat_%s%s %s\n# TYPE trapstat_%s%s %s\n", name, suffix, help, name,
		suffix, type);
}

static void print_trap_counts(FILE *out, const struct sources *s)
{
	print_type(out, "traps", "counter", !IS_X86 ? "Page faults" : s->traps_by_signal ?
		   "Traps of the CPU: page faults, and others that sent a signal" :
		   "Traps of the CPU, by vector");
	for (int row = 0; row < ROWS; row++)
		for (int mode = 0; mode < 2; mode++)
			if (all.trap[row][mode].count)
				fprintf(out, "trapstat_traps_total{trap=\"%s\",mode=\"%s\"} %llu\n",
					row_name(row).text, mode_names[mode],
					all.trap[row][mode].count);
	print_type(out, "trap_seconds", "counter", "Time in traps");
	for (int row = 0; row < ROWS; row++)
		for (int mode = 0; mode < 2; mode++)
			if (all.trap[row][mode].count && knows_time(s, row))
				fprintf(out, SECONDS, row_name(row).text, mode_names[mode],
					all.trap[row][mode].ns / 1e9);
	if (!s->signals)
		return;
	print_type(out, "signals", "counter", "Signals that traps sent, by si_code (0: others)");
	for (int i = 0; i < SIGNALS * SIGNAL_CODES; i++)
		if (all.signal[i])
			fprintf(out, "trapstat_signals_total{signal=\"%s\",si_code=\"%d\"} %llu\n",
				signal_names[i / SIGNAL_CODES], i % SIGNAL_CODES, all.signal[i]);
}

/* A quarter of a power of two is too fine for a fleet: every second power, 256 ns to 17 s */
static void print_histogram(FILE *out, const struct histogram *sum, const char *labels)
{
	unsigned long long n = 0;
	int bucket = 0;

	for (int log = 8; log <= 34; log += 2) {
		for (; bucket < BUCKETS && bucket / 4 + 1 < log; bucket++)
			n += sum->bucket[bucket];
		fprintf(out, "trapstat_page_fault_seconds_bucket{%s,le=\"%.9g\"} %llu\n", labels,
			(1ULL << log) / 1e9, n);
	}
	fprintf(out, "trapstat_page_fault_seconds_bucket{%s,le=\"+Inf\"} %llu\n"
		"trapstat_page_fault_seconds_sum{%s} %.9f\n"
		"trapstat_page_fault_seconds_count{%s} %llu\n",
		labels, sum->timed, labels, sum->ns / 1e9, labels, sum->timed);
}

static void print_faults(FILE *out, const struct sources *s, bool is_timed)
{
	static unsigned long long elsewhere[MODES][MEMORIES];
	const int each = MODES * MEMORIES;
	char labels[128], outcome[16];

	for (int i = 0; i < (OUTCOME_BEGUN + 1) * each; i++) {
		int mode = i % each / MEMORIES, memory = i % MEMORIES;
		const struct histogram *sum = &all.fault[i / each][mode][memory];
		unsigned long long n = sum->all, reached;

		/* ELSEWHERE: they have got no further. One on its way must not lower it later */
		if (i / each == OUTCOME_BEGUN) {
			reached = all.fault[OUTCOME_REACHED][mode][memory].all;
			n -= reached < n ? reached : n;
			if (n < elsewhere[mode][memory])
				n = elsewhere[mode][memory];
			elsewhere[mode][memory] = n;
		}
		lower(outcome, outcome_name(s, i / each));
		snprintf(labels, sizeof(labels), "outcome=\"%s\",mode=\"%s\",memory=\"%s\"",
			 outcome, mode_names[mode], memory_names[memory]);
		if (is_timed && sum->timed)
			print_histogram(out, sum, labels);
		else if (!is_timed && n)
			fprintf(out, "trapstat_page_faults_total{%s} %llu\n", labels, n);
	}
}

static void print_all(FILE *out, const struct sources *s)
{
	static const char * const names[LOSTS] = {
		"faults", "times", "events", "tasks", "skipped_programs_of_any_task",
	};

	if (s->config->outcome == WANT_ANY)
		print_trap_counts(out, s);
	if (knows_ends(s)) {
		print_type(out, "page_faults", "counter", "Page faults, by outcome");
		print_faults(out, s, false);
	}
	if (knows_durations(s)) {
		print_type(out, "page_fault_seconds", "histogram",
			   "Duration of page faults, by outcome, if it is known");
		print_faults(out, s, true);
	}
	print_type(out, "lost", "counter", "What was not counted");
	for (int i = 0; i < LOSTS; i++)
		fprintf(out, "trapstat_lost_total{what=\"%s\"} %llu\n", names[i], all.lost[i]);
	if (is_open)
		fputs("# EOF\n", out);
}

/* A reader finds the old file or the new one, whole */
static int replace(const char *path, const struct sources *s)
{
	mode_t mask = umask(0);
	char new[4096];
	bool bad;
	struct stat st;
	FILE *out;
	int fd;

	umask(mask);
	if (!lstat(path, &st) && !S_ISREG(st.st_mode)) {
		out = fopen(path, "we");
		if (!out)
			goto failed;
		print_all(out, s);
		return close_file(out, path) ? -1 : 0;
	}
	if (snprintf(new, sizeof(new), "%s.XXXXXX", path) >= (int)sizeof(new)) {
		errno = ENAMETOOLONG;
		goto failed;
	}
	fd = mkostemp(new, O_CLOEXEC);
	if (fd < 0)
		goto failed;
	out = fdopen(fd, "w");
	if (!out || fchmod(fd, 0666 & ~mask)) {
		close(fd);
		unlink(new);
		goto failed;
	}
	print_all(out, s);
	bad = fflush(out) || ferror(out);
	if (fclose(out) || bad || rename(new, path)) {
		unlink(new);
		goto failed;
	}
	return 0;
failed:
	fprintf(stderr, "trapstat: %s: %s\n", path, strerror(errno));
	return -1;
}

static int give(const struct sources *s)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool bad;

	if (!out)
		return -1;
	print_all(out, s);
	bad = ferror(out);
	if (fclose(out) || bad)
		return -1;
	listen_give(text, size);
	return 0;
}

/**
 * view_export - Write all counts since the start, an interval after the other
 * @s:	the sources
 * @o:	the options; to a file, to clients, or to standard output
 *
 * Return: the exit status
 */
int view_export(struct sources *s, struct options *o)
{
	struct counts c;
	int status = counts_init(&c, s) ? 1 : 0, failed = 0;
	long n = 0;

	is_open = !o->file && !o->listen;
	if (!status && o->listen && (give(s) || listen_start()))
		status = 1;
	while (!status && next_interval(s, o, &n)) {
		if (read_interval(&c, s, o)) {
			status = 1;
			break;
		}
		add(&c);
		if (o->listen)
			failed |= give(s);
		if (o->file)
			failed |= replace(o->file, s);	/* there may be room next time */
		if (is_open) {
			print_all(stdout, s);
			status = flush_stdout();
		}
	}
	if (o->listen)
		listen_stop();
	counts_free(&c);
	return failed ? 1 : status;
}
