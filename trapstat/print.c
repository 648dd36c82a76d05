// SPDX-License-Identifier: GPL-2.0
/* The tables and lines that several views share */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <jansson.h>

#include "buckets.h"
#include "groups.h"
#include "print.h"
#include "symbols.h"

/**
 * outcome_name - The name of an outcome
 * @s:		the sources
 * @outcome:	enum outcome; what has begun and got nowhere is ELSEWHERE, if a source has ends
 */
const char *outcome_name(const struct sources *s, unsigned int outcome)
{
	return outcome == OUTCOME_BEGUN && knows_ends(s) ? "ELSEWHERE" : outcome_names[outcome];
}

/**
 * knows_time - Whether the time in a trap is known
 * @s:		the sources
 * @row:	enum row
 */
bool knows_time(const struct sources *s, int row)
{
	return row == ROW_PF ? knows_durations(s) : row == ROW_NMI || (row != ROW_MCE && s->times);
}

/**
 * text_code - The instruction of an event: the function, or the place
 * @event:	the event
 * @s:		the sources
 */
struct long_text text_code(const struct event *event, const struct sources *s)
{
	const struct symbol *symbol = symbol_of(event->ip, &event->code, event->pid, s);
	struct long_text t;

	if (symbol && symbol->source[0])
		snprintf(t.text, sizeof(t.text), "%s (%s)", symbol->function, symbol->source);
	else
		snprintf(t.text, sizeof(t.text), "%s",
			 symbol ? symbol->function : text_place(&event->code).text);
	return t;
}

/**
 * add_waits - Add the cells of WAIT_COLUMNS
 * @t:		the table
 * @s:		the sources
 * @wait:	why tasks were off the CPU, in ns by enum wait
 * @share:	of what to show, in ns
 */
void add_waits(struct table *t, const struct sources *s, const unsigned long long *wait,
	       double share)
{
	double all = 0;

	for (int i = 0; i < WAITS; i++)
		all += wait[i];
	table_number(t, knows_waits(s), all / share);
	for (int i = 0; i < WAITS; i++)
		table_number(t, knows_waits(s), wait[i] / share);
}

/**
 * print_plain - Print a name without characters that a terminal obeys
 * @out:	where to
 * @name:	the name, which may have any characters
 * @size:	how many it has at most
 */
void print_plain(FILE *out, const char *name, size_t size)
{
	for (size_t i = 0; i < size && name[i]; i++)
		fputc(isprint((unsigned char)name[i]) ? name[i] : '?', out);
}

/**
 * print_begin - The first line of JSON: what the others come from
 * @out:	where to
 * @s:		the sources
 */
void print_begin(const struct output *out, const struct sources *s)
{
	struct utsname name = {};

	uname(&name);
	if (out->is_json)
		json_line(out, json_pack("{s:i, s:s, s:s, s:s}", "schema", 1, "trapstat",
					 TRAPSTAT_VERSION, "kernel", name.release, "source",
					 source_names[s->ends]), "begin");
}

/**
 * print_signals - The signals that traps have sent, in lines that fit
 * @out:	where to
 * @c:		of counts_read()
 * @s:		the sources
 * @rates:	per second; else the numbers, which JSON always has
 */
void print_signals(const struct output *out, const struct counts *c, const struct sources *s,
		   bool rates)
{
	const char *head = rates ? "signals/s: " : "signals: ", *separator = head;
	struct text name, number;
	int at = 0, n;

	if (is_filtered(s) || !s->signals)
		return;
	for (int i = 0; i < SIGNALS * SIGNAL_CODES; i++) {
		int signal = signal_numbers[i / SIGNAL_CODES], code = i % SIGNAL_CODES;

		if (!c->signal[i])
			continue;
		if (out->is_json) {
			json_line(out, json_pack("{s:s, s:s, s:i, s:I}", "signal",
						 signal_names[i / SIGNAL_CODES], "code",
						 code_name(signal, code).text, "si_code", code,
						 "count", (json_int_t)c->signal[i]), "signal");
			continue;
		}
		name = code_name(signal, code);
		number = rates ? text_rate(c->signal[i] / c->seconds) :
				 text_number(true, c->signal[i]);
		n = strlen(name.text) + strlen(number.text) + 4;
		if (at && out->width && at + n > out->width) {
			at = fprintf(out->file, ",\n%*s", (int)strlen(head), "") - 2;
			separator = "";
		}
		at += fprintf(out->file, "%s%s %s", separator, name.text, number.text);
		separator = ", ";
	}
	if (at)
		fputc('\n', out->file);
}

static struct text text_clock(const struct output *out)
{
	time_t when = out->time;
	struct text t;

	strftime(t.text, sizeof(t.text), "%H:%M:%S", localtime(&when));
	return t;
}

/* No line of a stream would fill this column */
static void leave_out(struct column *column, const char *head)
{
	while (!column->head || strcmp(column->head, head))
		column++;
	column->head = NULL;
}

static const struct column slow_columns[] = {
	{ "TIME", "clock", CELL_TEXT, 4, 0, 8 },	/* of a stream */
	{ "DURATION", "duration_ns", CELL_NS, 0, 0, 8 },
	{ "OUTCOME", "outcome", CELL_TEXT, 1, 0, 9 },
	{ "MODE", "mode", CELL_TEXT, 7, 0, 6 },
	{ "MEMORY", "memory", CELL_TEXT, 6, 0, 8 },
	{ "ORDER", "order", CELL_COUNT, 10, 0, 5 },
	{ "ADDRESS", "address", CELL_TEXT, 9, 0, 14 },
	{ "MAPPING", "mapping", CELL_TEXT, 2, 16, 20 },
	{ "INSTRUCTION", "instruction", CELL_TEXT, 3, 18, 24 },
	{ "PID", "pid", CELL_COUNT, 8, 0, 7 },
	{ "TID", "tid", CELL_COUNT, 5, 0, 7 },
	{ "COMM", "comm", CELL_TEXT, 4, 0, 15 },
	/* Of --why */
	{ NULL, "io_ns", CELL_NS }, { NULL, "reclaim_ns", CELL_NS },
	{ NULL, "compaction_ns", CELL_NS }, { NULL, "mmap_lock_ns", CELL_NS },
	{ NULL, "uffd_ns", CELL_NS }, { NULL, "preempted_ns", CELL_NS },
	{ NULL, "other_ns", CELL_NS },
	{ "OFF-CPU", "off_cpu_ns", CELL_NS, 1, 0, 7 },
	{ "WHY", "why", CELL_TEXT, 1, 16, 30 },
};

static void init_slow(struct table *t, const struct sources *s, const struct output *stream)
{
	static struct column columns[sizeof(slow_columns) / sizeof(*slow_columns)];
	int n = sizeof(columns) / sizeof(*columns) - !stream;

	memcpy(columns, slow_columns, sizeof(columns));
	if (stream && stream->has_stamps)
		columns[0].rank = 0;
	if (stream && !knows_copies(s))
		leave_out(columns, "ORDER");
	if (stream && !knows_kinds(s) && !s->refaults)
		leave_out(columns, "MEMORY");
	table_init(t, "slow_fault", columns + !stream, s->config->why ? n : n - WAITS - 2);
}

static void add_slow(struct table *t, const struct event *event, const struct sources *s)
{
	struct long_text code = text_code(event, s);
	unsigned long long off = 0;
	struct text address;

	if (!strcmp(code.text, "-") && event->ip)
		snprintf(code.text, sizeof(code.text), "%#llx", event->ip);
	snprintf(address.text, sizeof(address.text), "%#llx", event->address);
	table_number(t, event->ns, event->ns);
	table_text(t, outcome_name(s, event->outcome < OUTCOMES ? event->outcome : OUTCOME_BEGUN));
	table_text(t, mode_names[event->mode]);
	table_text(t, text_flags(event->outcome, event->flags).text);
	table_number(t, event->order, event->order - 1.0);
	table_text(t, address.text);
	table_text(t, text_place(&event->place).text);
	table_text(t, code.text);
	table_number(t, true, event->pid);
	table_number(t, true, event->tid);
	table_text(t, text_plain(event->comm, COMM_SIZE).text);
	if (!s->config->why)
		return;
	for (int i = 0; i < WAITS; i++) {
		table_number(t, event->waits, event->wait[i]);
		off += event->wait[i];
	}
	table_number(t, event->waits, off);
	table_text(t, text_waits(event->wait).text);
}

/**
 * print_slow_head - The head of a table of slow faults
 * @out:	where to
 * @s:		the sources
 */
void print_slow_head(const struct output *out, const struct sources *s)
{
	struct table t;

	init_slow(&t, s, out);
	table_head(out, &t);
}

/**
 * print_slow - A line of that table
 * @out:	where to
 * @event:	the fault
 * @s:		the sources
 */
void print_slow(const struct output *out, const struct event *event, const struct sources *s)
{
	struct table t;

	init_slow(&t, s, out);
	table_text(&t, text_clock(out).text);
	add_slow(&t, event, s);
	table_line(out, &t);
}

/**
 * print_slowest - The table of the slowest faults
 * @out:	where to
 * @c:		of counts_read()
 * @s:		the sources
 * @most:	how many
 * @frames:	as for print_stack()
 */
void print_slowest(const struct output *out, const struct counts *c, const struct sources *s,
		   int most, int frames)
{
	struct table t;

	if (!knows_ends(s) || !c->slows || most < 1)
		return;
	if (!out->is_json)
		fputc('\n', out->file);
	init_slow(&t, s, NULL);
	for (int i = 0; i < c->slows && i < most; i++)
		add_slow(&t, &c->slow[i], s);
	table_print(out, &t);
	table_free(&t);
	for (int i = 0; i < c->slows && i < most && s->config->stacks; i++) {
		if (!out->is_json && c->slow[i].stack[1])
			fprintf(out->file, "\n%s, TID %u\n", text_ns(c->slow[i].ns).text,
				c->slow[i].tid);
		print_stack(out, &c->slow[i], s, frames);
	}
}

static const struct column crash_columns[] = {
	{ "TIME", "clock", CELL_TEXT, 4, 0, 8 },
	{ NULL, "signal", CELL_TEXT },
	{ NULL, "si_code", CELL_COUNT },
	{ "SIGNAL", "code", CELL_TEXT, 0, 0, 11 },
	{ "FATAL", "fatal", CELL_TEXT, 6, 0, 5 },
	{ "TRAP", "vector", CELL_TEXT, 8, 0, 4 },
	{ "PID", "pid", CELL_COUNT, 0, 0, 7 },
	{ NULL, "tid", CELL_COUNT },
	{ "OWN-PID", "own_pid", CELL_COUNT, 10, 0, 7 },
	{ "COMM", "comm", CELL_TEXT, 1, 12, 15 },
	{ "ADDRESS", "address", CELL_TEXT, 3, 0, 14 },
	{ "MAPPING", "mapping", CELL_TEXT, 9, 0, 20 },
	{ "ERROR", "error", CELL_TEXT, 5, 7, 29 },
	{ NULL, "error_code", CELL_COUNT },
	{ NULL, "ip", CELL_TEXT },
	{ NULL, "ip_mapping", CELL_TEXT },
	{ "INSTRUCTION", "instruction", CELL_TEXT, 2, 15, 30 },
	{ "CGROUP", "cgroup", CELL_TEXT, 11, 20, 40 },
};

static void init_crash(struct table *t, const struct sources *s)
{
	static const char * const of_regs[] = {
		"FATAL", "TRAP", "ADDRESS", "MAPPING", "ERROR", "INSTRUCTION",
	};
	static struct column columns[sizeof(crash_columns) / sizeof(*crash_columns)];

	memcpy(columns, crash_columns, sizeof(columns));
	for (int i = 0; i < 6 && !s->has_regs; i++)
		leave_out(columns, of_regs[i]);
	if (!s->btf)
		leave_out(columns, "OWN-PID");
	table_init(t, "crash", columns, sizeof(columns) / sizeof(*columns));
}

/**
 * print_crash_head - The head of the table of signals
 * @out:	where to
 * @s:		the sources
 */
void print_crash_head(const struct output *out, const struct sources *s)
{
	struct table t;

	init_crash(&t, s);
	table_head(out, &t);
}

/**
 * print_crash - A line of that table
 * @out:	where to
 * @event:	the signal
 * @s:		the sources
 */
void print_crash(const struct output *out, const struct event *event, const struct sources *s)
{
	bool known = event->vector != NO_VECTOR;
	struct long_text code = text_code(event, s);
	char address[32] = "-", ip[32] = "-";
	struct text error = { "-" };
	struct table t;
	int i = 0;

	while (i < SIGNALS - 1 && signal_numbers[i] != event->signal)
		i++;
	if (event->vector == ROW_PF)
		snprintf(address, sizeof(address), "%#llx", event->address);
	if (event->ip)
		snprintf(ip, sizeof(ip), "%#llx", event->ip);
	if (known && event->error)
		error = text_error(event->vector, event->error - 1);
	init_crash(&t, s);
	table_text(&t, text_clock(out).text);
	table_text(&t, signal_names[i]);
	table_number(&t, true, event->si_code);
	table_text(&t, code_name(event->signal, event->si_code).text);
	table_text(&t, !s->has_regs ? "-" : event->is_fatal ? "yes" : "no");
	table_text(&t, known ? row_name(event->vector).text : "-");
	table_number(&t, true, event->pid);
	table_number(&t, true, event->tid);
	table_number(&t, event->own_pid, event->own_pid);
	table_text(&t, text_plain(event->comm, COMM_SIZE).text);
	table_text(&t, address);
	table_text(&t, text_place(&event->place).text);
	table_text(&t, error.text);
	table_number(&t, known && event->error, event->error - 1);
	table_text(&t, ip);
	table_text(&t, text_place(&event->code).text);
	table_text(&t, strcmp(code.text, "-") ? code.text : ip);
	table_text(&t, group_name(event->cgroup));
	table_line(out, &t);
}

/**
 * print_stack - The stack of an event, a line for each frame, if there is one
 * @out:	where to
 * @event:	the event
 * @s:		the sources
 * @most:	how many lines it may take, 0: any number; JSON has all frames
 */
void print_stack(const struct output *out, const struct event *event, const struct sources *s,
		 int most)
{
	static struct frame frame[MOST_STACK];
	int n = s->config->stacks ? stack_frames(event, s, frame) : 0;
	int width = out->width > 10 ? out->width - 9 : sizeof(frame->name);
	int shown = most && n > most ? most - 1 : n;
	json_t *frames;

	if (out->is_json && n) {
		frames = json_array();
		for (int i = 0; i < n; i++)
			json_array_append_new(frames, json_string(frame[i].name));
		json_line(out, json_pack("{s:i, s:i, s:o}", "pid", event->pid, "tid", event->tid,
					 "frames", frames), "stack");
		return;
	}
	for (int i = 0; i < shown; i++)
		fprintf(out->file, "         %.*s\n", width, frame[i].name);
	if (shown < n)
		fprintf(out->file, "         and %d more\n", n - shown);
}

enum { LOGS = BUCKETS / 4 + 2 };

/* A bucket is a quarter of a power of two */
static int log_of(int bucket)
{
	return bucket < 2 ? 0 : bucket < 4 ? 1 : bucket / 4 + 1;
}

static void print_histogram(const struct output *out, const char *outcome,
			    const struct fault_sum *sum)
{
	unsigned long long n[LOGS] = {}, most = 0, all = 0;
	int first = LOGS, last = 0, width = out->width ? out->width - 29 : 40;
	json_t *buckets = json_array();
	char bar[200];

	memset(bar, '@', sizeof(bar));
	width = width < 10 ? 10 : width > (int)sizeof(bar) ? (int)sizeof(bar) : width;
	for (int i = 0; i < BUCKETS; i++)
		n[log_of(i)] += sum->bucket[i];
	for (int i = 0; i < LOGS; i++) {
		if (!n[i])
			continue;
		first = first < i ? first : i;
		last = i;
		all += n[i];
		most = n[i] > most ? n[i] : most;
		json_array_append_new(buckets, json_pack("{s:I, s:I, s:I}", "from_ns",
							 (json_int_t)(i ? 1ULL << i : 0), "to_ns",
							 (json_int_t)(2ULL << i), "count",
							 (json_int_t)n[i]));
	}
	if (out->is_json) {
		json_line(out, json_pack("{s:s, s:I, s:I, s:O}", "outcome", outcome, "count",
					 (json_int_t)all, "longest_ns", (json_int_t)sum->max,
					 "buckets", buckets), "histogram");
	} else if (all) {
		fprintf(out->file, "\n%s: %llu page faults, median %s, P99 %s, longest %s\n",
			outcome, all, text_ns(sum_percentile(sum, 0.5)).text,
			text_ns(sum_percentile(sum, 0.99)).text, text_ns(sum->max).text);
		for (int i = first; i <= last; i++)
			fprintf(out->file, "%7s to %7s %7llu |%-*.*s|\n",
				text_ns(i ? 1ULL << i : 0).text, text_ns(2ULL << i).text, n[i],
				width, (int)((n[i] * width + most - 1) / most), bar);
	}
	json_decref(buckets);
}

/**
 * print_histograms - A histogram of durations for each outcome
 * @out:	where to
 * @c:		of counts_read()
 * @s:		the sources
 * @most:	how many lines it may take, 0: any number
 */
void print_histograms(const struct output *out, const struct counts *c, const struct sources *s,
		      int most)
{
	struct output one = *out;
	int left = most - 1, hidden = 0;
	char *text = NULL, *first = NULL;
	size_t size;

	for (unsigned int outcome = 0; outcome < OUTCOME_BEGUN; outcome++) {
		struct fault_sum sum = {};

		for (size_t i = 0; i < c->faults; i++)
			if (c->fault[i].key.outcome == outcome)
				sum_add(&sum, &c->fault[i].sum);
		if (!sum.max)
			continue;
		one.file = open_memstream(&text, &size);
		if (!one.file)
			return;
		print_histogram(&one, outcome_name(s, outcome), &sum);
		fclose(one.file);
		if (!most || lines_of(text) <= left) {
			fputs(text, out->file);
			left -= lines_of(text);
		} else if (!hidden++) {
			first = text;
			continue;
		}
		free(text);
	}
	/* The upper part of one is better than nothing */
	if (first && left == most - 1) {
		fputs(first, out->file);
		hidden--;
	}
	free(first);
	if (hidden)
		fprintf(out->file, "more outcomes than fit: %d; --outcome NAME shows one\n",
			hidden);
}

/**
 * skipped_of - How many programs the kernel skipped that may be for what is left out
 * @c:		of counts_read()
 */
unsigned long long skipped_of(const struct counts *c)
{
	return c->is_partial ? c->lost[LOST_CALLS] : 0;
}

/**
 * lost_of - How many events were not counted at least; not what skipped_of() has
 * @c:		of counts_read()
 */
unsigned long long lost_of(const struct counts *c)
{
	return c->lost[LOST_FAULTS] + c->lost[LOST_EVENTS] + c->lost[LOST_CALLS] - skipped_of(c);
}

/**
 * print_lost - How much was not counted, and why; with -v, also all that BPF could not look up
 * @out:	where to
 * @c:		of counts_read()
 * @is_verbose:	-v
 */
void print_lost(const struct output *out, const struct counts *c, bool is_verbose)
{
	static const char * const names[LOSTS] = {
		"faults", "times of traps", "events", "tasks", "skipped programs",
	};
	static const char * const keys[LOSTS] = {
		"faults", "times", "events", "tasks", "skipped_programs",
	};
	static const char * const failures[FAILURES] = {
		"mappings", "paths of files", "names", "memory of the kernel", "instructions",
		"stacks", "waits", "error codes", "room for slow faults",
	};
	unsigned long long n = lost_of(c), skipped = skipped_of(c);
	/* How many events a task has that is not followed, nobody knows */
	bool has_most = c->knows_skips && !c->lost[LOST_TASKS];
	int width = out->width ? out->width : 80, at;
	char text[80];
	json_t *json;

	if (out->is_json) {
		json = json_pack("{s:I, s:o}", "least", (json_int_t)n, "most",
				 has_most ? json_integer(n + skipped) : json_null());
		for (int i = 0; i < LOSTS; i++)
			json_object_set_new(json, keys[i], json_integer(c->lost[i]));
		json_object_set_new(json, "stacks", json_integer(c->failed[FAILED_STACK]));
		json_line(out, json, "lost");
		return;
	}
	at = fprintf(out->file, "%s%llu ", has_most ? "" : "at least ", n);
	if (skipped && has_most)
		at += fprintf(out->file, "to %llu ", n + skipped);
	at += fprintf(out->file, "lost");
	for (int i = 0; i < LOSTS; i++) {
		if (!c->lost[i])
			continue;
		snprintf(text, sizeof(text), "%s %llu%s", names[i], c->lost[i],
			 i == LOST_CALLS && skipped ? " in the whole system" : "");
		fputc(',', out->file);
		if (at + strlen(text) + 3 > width)
			at = fprintf(out->file, "\n    ");
		at += 1 + fprintf(out->file, " %s", text);
	}
	fputc('\n', out->file);
	if (!c->knows_skips && !out->is_repeated)
		fputs("Linux before 6.7 does not count skipped kprobes\n", out->file);
	if (c->failed[FAILED_STACK])
		fprintf(out->file, "%llu stacks are missing: others had their places\n",
			c->failed[FAILED_STACK]);
	for (int i = 0; i < FAILURES && is_verbose; i++)
		if (c->failed[i])
			fprintf(out->file, "not found by BPF: %s %llu\n", failures[i],
				c->failed[i]);
}
