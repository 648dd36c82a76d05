// SPDX-License-Identifier: GPL-2.0
/* trapstat report: makes the page of a record that json.c has written */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "sinks.h"

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static unsigned long long ns_of(json_t *object, const char *key)
{
	double ns = json_number_value(json_object_get(object, key)) * 1e3 + 0.5;

	return ns > 0 ? ns : 0;
}

static bool read_event(struct shown *shown, json_t *json)
{
	json_t *args = json_object_get(json, "args");
	struct event *e = &shown->event;
	char key[32];

	memset(shown, 0, sizeof(*shown));
	if (!*text_of(args, "trap"))
		return false;
	copy(shown->trap, sizeof(shown->trap), text_of(args, "trap"));
	copy(shown->outcome, sizeof(shown->outcome), text_of(args, "outcome"));
	copy(shown->memory, sizeof(shown->memory), text_of(args, "memory"));
	copy(shown->place, sizeof(shown->place), text_of(args, "place"));
	copy(shown->code, sizeof(shown->code), text_of(args, "instruction"));
	shown->stack = text_of(args, "stack");
	copy(e->comm, COMM_SIZE, text_of(args, "comm"));
	e->pid = json_integer_value(json_object_get(json, "pid"));
	e->tid = json_integer_value(json_object_get(json, "tid"));
	e->ns = ns_of(json, "dur");
	/* The page has no time before its begin */
	e->end = ns_of(json, "ts") + e->ns;
	e->ip = strtoull(text_of(args, "ip"), NULL, 0);
	e->row = !strcmp(text_of(json, "cat"), "signal") ? ROW_SIGNAL :
		 *shown->outcome ? ROW_PF : 0;
	for (int i = 0; i < WAITS; i++) {
		snprintf(key, sizeof(key), "%s_ns", wait_names[i]);
		e->wait[i] = json_integer_value(json_object_get(args, key));
	}
	for (e->outcome = 0; e->outcome < OUTCOMES - 1; e->outcome++)
		if (!strcmp(shown->outcome, outcome_names[e->outcome]))
			break;
	return true;
}

static void read_end(struct record_end *end, json_t *args)
{
	copy(end->command, sizeof(end->command), text_of(args, "command"));
	copy(end->kernel, sizeof(end->kernel), text_of(args, "kernel"));
	copy(end->source, sizeof(end->source), text_of(args, "source"));
	end->seconds = json_number_value(json_object_get(args, "seconds"));
	snprintf(end->losses, sizeof(end->losses), "%lld lost, skipped programs %lld\n",
		 (long long)json_integer_value(json_object_get(args, "lost")),
		 (long long)json_integer_value(json_object_get(args, "skipped")));
	if (json_object_get(args, "losses"))
		copy(end->losses, sizeof(end->losses), text_of(args, "losses"));
}

/**
 * view_report - Make the page of a record
 * @from:	the record, a file that json_sink has written
 * @to:		the page
 *
 * A record that was cut off has no end. Its last line is left out if it is not whole.
 *
 * Return: the exit status
 */
int view_report(const char *from, const char *to)
{
	struct record_end end = { .command = "?", .losses = "how many were lost is not known\n" };
	FILE *in = fopen(from, "r"), *out;
	bool whole = false;
	struct shown shown;
	char *line = NULL;
	size_t room = 0;
	ssize_t size;
	json_t *json;

	if (!in) {
		fprintf(stderr, "trapstat: %s: %s\n", from, strerror(errno));
		return 2;
	}
	page_sink.begin(NULL);
	while ((size = getline(&line, &room, in)) > 0) {
		while (size && strchr(",\n", line[size - 1]))
			line[--size] = '\0';
		json = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
		if (read_event(&shown, json)) {
			page_sink.add(NULL, &shown);
			end.events++;
		} else if (!strcmp(text_of(json, "name"), "trapstat")) {
			read_end(&end, json_object_get(json, "args"));
			whole = true;
		}
		json_decref(json);
	}
	free(line);
	fclose(in);
	if (!end.events && !whole) {
		fprintf(stderr, "trapstat: %s: not a record of \"trapstat record -o FILE.json\"\n",
			from);
		return 2;
	}
	if (!whole)
		fprintf(stderr, "trapstat: %s: it was cut off after %llu events\n", from,
			end.events);
	out = fopen(to, "w");
	if (!out) {
		fprintf(stderr, "trapstat: %s: %s\n", to, strerror(errno));
		return 2;
	}
	page_sink.end(out, &end);
	if (close_file(out, to))
		return 1;
	fprintf(stderr, "trapstat: %s: %llu events\n", to, end.events);
	return 0;
}
