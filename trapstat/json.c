// SPDX-License-Identifier: GPL-2.0
/*
 * The trace event format of Chrome, which Perfetto reads: an array with an event in each line.
 * A page fault is a complete slice, if its duration is known. What is nested in time is nested
 * in the picture.
 */
#include <string.h>
#include <jansson.h>

#include "sinks.h"

#define FORMAT	(JSON_COMPACT | JSON_REAL_PRECISION(15))

static void write_json(FILE *out, json_t *json)
{
	if (!json || json_dumpf(json, out, FORMAT))
		fputs("null", out);
	json_decref(json);
}

static void write_event(FILE *out, json_t *json)
{
	write_json(out, json);
	fputs(",\n", out);
}

static json_t *hex(unsigned long long n)
{
	char text[32];

	snprintf(text, sizeof(text), "%#llx", n);
	return json_string(text);
}

static void write_name(FILE *out, const struct event *event, const char *what, const char *name)
{
	write_event(out, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", what, "pid",
				   event->pid, "tid", event->tid, "args", "name", name));
}

/* The process and the thread have the name that the last event of each gives them */
static void write_names(FILE *out, const struct event *event)
{
	static struct {
		unsigned int tid;
		char comm[COMM_SIZE];
	} seen[1024];
	char name[COMM_SIZE];
	unsigned int i = event->tid % 1024;

	snprintf(name, sizeof(name), "%s", text_plain(event->comm, COMM_SIZE).text);
	if (seen[i].tid == event->tid && !strcmp(seen[i].comm, name))
		return;
	seen[i].tid = event->tid;
	copy(seen[i].comm, COMM_SIZE, name);
	if (event->pid == event->tid)
		write_name(out, event, "process_name", name);
	write_name(out, event, "thread_name", name);
}

static void json_begin(FILE *out)
{
	fputs("[\n", out);
}

static const char *category(const struct event *e)
{
	return e->row == ROW_PF ? "pagefault" : e->row == ROW_SIGNAL ? "signal" : "trap";
}

/* One that had begun already has a negative time */
static long long start_of(const struct shown *shown)
{
	return shown->event.end - shown->event.ns - shown->begin;
}

static void json_add(FILE *out, const struct shown *shown)
{
	const struct event *e = &shown->event;
	json_t *args, *json;
	json_int_t off = 0;
	char name[40], key[32];

	write_names(out, e);
	snprintf(name, sizeof(name), "%s%s%s", shown->trap, shown->outcome[0] ? " " : "",
		 shown->outcome);
	args = json_pack("{s:s, s:s, s:s, s:o, s:s}", "trap", shown->trap, "mode",
			 mode_names[e->mode], "comm", text_plain(e->comm, COMM_SIZE).text, "ip",
			 hex(e->ip), "instruction", shown->code);
	if (e->row == ROW_PF)
		json_object_update_new(args, json_pack("{s:s, s:s, s:o, s:s}", "outcome",
						       shown->outcome, "memory", shown->memory,
						       "address", hex(e->address), "place",
						       shown->place));
	else if (e->row == ROW_SIGNAL)
		json_object_update_new(args, json_pack("{s:i, s:o}", "si_code", e->si_code,
						       "address", hex(e->address)));
	if (e->error)
		json_object_set_new(args, "error_code", hex(e->error - 1));
	if (e->order)
		json_object_set_new(args, "order", json_integer(e->order - 1));
	if (e->waits) {
		for (int i = 0; i < WAITS; i++) {
			snprintf(key, sizeof(key), "%s_ns", wait_names[i]);
			json_object_set_new(args, key, json_integer(e->wait[i]));
			off += e->wait[i];
		}
		json_object_update_new(args, json_pack("{s:I, s:s}", "off_cpu_ns", off, "why",
						       text_waits(e->wait).text));
	}
	if (*shown->stack)
		json_object_set_new(args, "stack", json_string(shown->stack));
	json = json_pack("{s:s, s:s, s:i, s:i, s:f, s:o}", "name", name, "cat", category(e), "pid",
			 e->pid, "tid", e->tid, "ts", start_of(shown) / 1e3, "args", args);
	if (e->ns)
		json_object_update_new(json, json_pack("{s:s, s:f}", "ph", "X", "dur",
						       e->ns / 1e3));
	else
		json_object_update_new(json, json_pack("{s:s, s:s}", "ph", "i", "s", "t"));
	write_event(out, json);
}

/* Strings, as a number in JSON need not have more than 53 bits */
static json_t *decimal(unsigned long long n)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", n);
	return json_string(text);
}

static void json_end(FILE *out, const struct record_end *end)
{
	json_t *args = json_pack("{s:s, s:s, s:s, s:f, s:I, s:o, s:I, s:s, s:o, s:o}", "command",
				 end->command, "kernel", end->kernel, "source", end->source,
				 "seconds", end->seconds, "events", (json_int_t)end->events, "lost",
				 end->is_cut ? json_null() : json_integer(end->lost), "skipped",
				 (json_int_t)end->skipped, "losses", end->losses,
				 "begin_monotonic_ns", decimal(end->begin.monotonic),
				 "begin_realtime_ns",
				 decimal(end->begin.realtime));

	write_json(out, json_pack("{s:s, s:s, s:i, s:o}", "ph", "M", "name", "trapstat", "pid", 0,
				  "args", args));
	fputs("\n]\n", out);
}

const struct sink json_sink = { ".json", json_begin, json_add, json_end };
