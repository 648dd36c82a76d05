// SPDX-License-Identifier: GPL-2.0
/* Events one by one, as they happen: "trapstat crashes", and slow faults */
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "print.h"
#include "screen.h"
#include "symbols.h"
#include "trapstat.skel.h"
#include "views.h"

struct stream {
	struct output out;
	const struct sources *s;
	bool detached;			/* no more events come */
};

static int on_event(void *context, void *data, size_t size)
{
	struct stream *stream = context;
	struct event event;

	if (size < sizeof(event))
		return 0;
	event = *(struct event *)data;
	locate_event(&event);
	stream->out.time = now_real() - (now_ns() - event.end) / 1e9;
	if (event.row == ROW_SIGNAL)
		print_crash(&stream->out, &event, stream->s);
	else
		print_slow(&stream->out, &event, stream->s);
	print_stack(&stream->out, &event, stream->s, 0);
	/* They may come faster than they are printed: no poll would end then */
	return ended && !stream->detached ? -1 : 0;
}

/* Signals of tasks that were stopped before they got them */
static void show_undelivered(struct stream *stream)
{
	int map = bpf_map__fd(stream->s->bpf->maps.undelivered);
	unsigned long long task;
	struct event event;

	while (!bpf_map_get_next_key(map, NULL, &task)) {
		if (!bpf_map_lookup_elem(map, &task, &event))
			on_event(stream, &event, sizeof(event));
		if (bpf_map_delete_elem(map, &task))
			break;
	}
}

/* -v has what BPF could not look up; there is no table to spoil in JSON */
static void show_lost(const struct stream *stream, const struct counts *c, bool is_verbose)
{
	static bool is_repeated;
	struct output out = stream->out;

	out.file = out.is_json || !stream->s->config->crashes ? stdout : stderr;
	out.time = now_real();
	out.seconds = c->seconds;
	out.is_repeated = is_repeated;
	is_repeated = true;
	print_lost(&out, c, is_verbose);
}

/**
 * view_stream - Print each slow fault or signal of a trap as it happens
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status, that of the command if there is one
 */
int view_stream(struct sources *s, struct options *o)
{
	struct stream stream = { .s = s, .out = {
		.file = stdout, .is_json = o->is_json, .has_stamps = o->has_stamps,
	} };
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.events), on_event,
						    &stream, NULL);
	unsigned long long lost[LOSTS] = {};
	struct rusage usage;
	double last = 0, age;
	struct counts c;
	int status = 0, failed;

	if (!ring || counts_init(&c, s)) {
		fprintf(stderr, "trapstat: out of memory\n");
		return 1;
	}
	screen_size(&stream.out, STDOUT_FILENO);
	stream.out.time = now_real();
	if (!o->command && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))
		fputs("trapstat: a line for each, as it happens; Ctrl-C ends it\n", stderr);
	print_begin(&stream.out, s);
	if (o->config.crashes)
		print_crash_head(&stream.out, s);
	else
		print_slow_head(&stream.out, s);
	failed = flush_stdout();
	if (o->command && command_start(s, o))
		return 1;
	while (!failed && !is_over(s, o) &&
	       (!o->count || counts_age(&c) < o->interval * o->count)) {
		ring_buffer__poll(ring, o->command ? 20 : 100);
		age = counts_age(&c);
		if (age - last >= 1) {
			last = age;
			if (counts_end(&c, s))
				break;
		}
		/* As soon as it grows */
		if (memcmp(lost, c.lost, sizeof(lost))) {
			memcpy(lost, c.lost, sizeof(lost));
			show_lost(&stream, &c, false);
		}
		failed = flush_stdout();
		if (o->command && command_has_ended(&status, &usage))
			break;
	}
	if (counts_end(&c, s))
		status = 1;
	sources_detach(s);
	if (o->command && failed)
		command_wait(&status, &usage);
	stream.detached = true;
	ring_buffer__consume(ring);
	show_undelivered(&stream);
	show_lost(&stream, &c, o->verbose);
	counts_free(&c);
	ring_buffer__free(ring);
	return failed || flush_stdout() ? 1 : status;
}
