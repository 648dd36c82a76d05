// SPDX-License-Identifier: GPL-2.0
/* trapstat record: each event, into a file */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "perf.h"
#include "sinks.h"
#include "symbols.h"
#include "trapstat.skel.h"
#include "views.h"

struct recorder {
	const struct sink *sink;
	const struct sources *s;
	const struct options *o;
	const struct counts *c;
	bool detached;			/* no more events come */
	struct event *queue;		/* those that came, and have no symbols yet */
	size_t done, queued, room;
	FILE *out;
	struct record_begin begin;
	/* The file is whole up to there; with the first one, there is room for its end */
	struct mark {
		long at;
		unsigned long long events;
	} safe, good;
	int error;			/* errno of the write that failed */
	unsigned long long events;
};

/**
 * sink_of - The format of a file
 * @path:	its name
 *
 * Return: the format, or NULL if there is none for the suffix
 */
const struct sink *sink_of(const char *path)
{
	const struct sink * const sinks[] = { &json_sink, &csv_sink, &page_sink, &folded_sink };
	const char *suffix = strcmp(path, "-") ? strrchr(path, '.') : ".json";

	for (int i = 0; i < 4 && suffix; i++)
		if (!strcmp(suffix, sinks[i]->suffix))
			return sinks[i];
	return NULL;
}

/* As flame graph tools read it: a frame without a function has the name of its file alone */
static const char *fold_stack(const struct event *event, const struct sources *s)
{
	static char text[MOST_STACK * sizeof(struct frame) + 64];
	static struct frame frame[MOST_STACK];
	int frames = stack_frames(event, s, frame);
	const char *last = "";
	char *at = text;

	at += sprintf(at, "%s", text_plain(event->comm, COMM_SIZE).text);
	for (char *c = text; *c; c++)
		if (*c == ';')
			*c = ':';
	while (frames--) {
		char *name = frame[frames].name, *offset = strstr(name, "+0x");

		if (offset)
			*offset = '\0';
		if (!strncmp(name, "0x", 2))
			copy(name, sizeof(frame->name), "[unknown]");
		if (!strcmp(name, last))
			continue;
		last = name;
		*at++ = ';';
		for (const char *c = name; *c; c++)
			*at++ = *c == ';' ? ':' : *c;
	}
	*at = '\0';
	return text;
}

/* An event as text */
static void shown_of(struct shown *shown, const struct event *event, const struct sources *s)
{
	int i;

	memset(shown, 0, sizeof(*shown));
	shown->event = *event;
	shown->stack = s->config->stacks ? fold_stack(event, s) : "";
	for (i = 0; i < SIGNALS && event->row == ROW_SIGNAL; i++)
		if (signal_numbers[i] == event->signal)
			copy(shown->trap, sizeof(shown->trap), signal_names[i]);
	if (event->row != ROW_SIGNAL)
		copy(shown->trap, sizeof(shown->trap), row_name(event->row).text);
	copy(shown->place, sizeof(shown->place), "-");
	copy(shown->code, sizeof(shown->code), text_code(event, s).text);
	if (event->row != ROW_PF || event->outcome >= OUTCOMES)
		return;
	copy(shown->outcome, sizeof(shown->outcome), outcome_name(s, event->outcome));
	copy(shown->memory, sizeof(shown->memory), text_flags(event->outcome, event->flags).text);
	copy(shown->place, sizeof(shown->place), text_place(&event->place).text);
}

enum { ROOM = 2048 };		/* for the end of a file */

/* What is in the file now stays */
static bool flush(struct recorder *r)
{
	struct mark now;

	if (r->error)
		return false;
	errno = EIO;		/* for a failure before */
	if (fflush(r->out) || ferror(r->out)) {
		r->error = errno;
		return false;
	}
	now.at = r->out == stdout ? 0 : ftell(r->out);
	now.events = r->events;
	if (!r->events) {
		r->safe = now;
		r->good = now;
	} else if (now.at - r->good.at >= ROOM) {
		r->safe = r->good;
		r->good = now;
	}
	return true;
}

/* Events may come faster than they are written: no poll would end then */
static bool is_finished(const struct recorder *r)
{
	const struct options *o = r->o;

	return !r->detached && (ended || (o->count && counts_age(r->c) >= o->interval * o->count));
}

static void add_event(struct recorder *r, const struct event *event)
{
	struct shown shown;

	shown_of(&shown, event, r->s);
	shown.begin = r->begin.monotonic;
	r->sink->add(r->out, &shown);
	r->events++;
	if (r->events % 16 == 0)
		flush(r);
}

/* To read the symbols of a program may take seconds: so not while events come */
enum { MOST_QUEUED = 1 << 20, AT_ONCE = 64 };

static void drain(struct recorder *r, size_t most)
{
	for (; most && r->done < r->queued && !r->error; most--)
		add_event(r, &r->queue[r->done++]);
	if (r->done == r->queued) {
		r->done = 0;
		r->queued = 0;
	}
}

static bool has_room(struct recorder *r)
{
	struct event *more;

	if (r->queued < r->room)
		return true;
	if (r->room >= MOST_QUEUED)
		return false;
	more = realloc(r->queue, (2 * r->room + 1024) * sizeof(*more));
	if (!more)
		return false;
	r->queue = more;
	r->room = 2 * r->room + 1024;
	return true;
}

static int on_event(void *context, void *data, size_t size)
{
	struct recorder *r = context;

	/* What ended before the record began is not of it */
	if (size < sizeof(struct event) || r->error ||
	    ((struct event *)data)->end < r->begin.monotonic)
		return is_finished(r) ? -1 : 0;
	if (!has_room(r))
		drain(r, r->queued);
	if (has_room(r)) {
		r->queue[r->queued] = *(struct event *)data;
		locate_event(&r->queue[r->queued]);
		stack_note(&r->queue[r->queued++], r->s);
	}
	return is_finished(r) ? -1 : 0;
}

/* @width: of a line */
static void print_losses(FILE *out, int width, const struct recorder *r, bool is_verbose)
{
	const struct counts *c = r->c;
	unsigned long long noregs = 0;

	print_lost(&(struct output){ .file = out, .width = width }, c, is_verbose);
	for (size_t i = 0; i < c->faults; i++)
		noregs += c->fault[i].key.mode == MODE_NONE ? c->fault[i].sum.count : 0;
	if (r->s->ends == ENDS_BY_PERF && !r->s->btf && r->s->config->mode == WANT_ANY &&
	    (r->s->config->vector == WANT_ANY || r->s->config->vector == ROW_PF))
		fputs("faults of get_user_pages() are missing: perf counts them with BTF alone\n",
		      out);
	else if (noregs && r->s->ends == ENDS_BY_PERF)
		fprintf(out, "%llu faults of get_user_pages() are missing: perf only counts them\n",
			noregs);
}

static void fill_end(struct record_end *end, const struct recorder *r, const struct options *o)
{
	const struct counts *c = r->c;
	struct utsname name;
	FILE *text;
	size_t n = 0;

	memset(end, 0, sizeof(*end));
	for (char **word = o->command; word && *word && n < sizeof(end->command); word++)
		n += snprintf(end->command + n, sizeof(end->command) - n, "%s%s", n ? " " : "",
			      text_plain(*word, 64).text);
	if (!uname(&name))
		snprintf(end->kernel, sizeof(end->kernel), "%s", name.release);
	copy(end->source, sizeof(end->source), source_names[r->s->ends]);
	end->begin = r->begin;
	end->seconds = c->seconds;
	end->events = r->events;
	end->lost = lost_of(c) + c->lost[LOST_TASKS];	/* each has one event at least */
	end->skipped = skipped_of(c);
	text = fmemopen(end->losses, sizeof(end->losses) - 1, "w");
	if (!text)
		return;
	print_losses(text, 1000, r, false);
	fclose(text);
}

/* The file cannot grow: cut it after a whole event, so that there is room for the end */
static void cut_off(struct recorder *r, const char *path)
{
	fprintf(stderr, "trapstat: %s: %s: it ends after %llu of %llu events\n", path,
		strerror(r->error), r->safe.events, r->events);
	if (r->out == stdout)
		return;
	if (ftruncate(fileno(r->out), r->safe.at))
		fprintf(stderr, "trapstat: %s: %s\n", path, strerror(errno));
	clearerr(r->out);
	fseek(r->out, r->safe.at, SEEK_SET);
	r->events = r->safe.events;
}

/* All that ends from then on is in the record */
static void note_begin(struct record_begin *begin, const struct counts *c)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	begin->monotonic = c->begin;
	begin->realtime = now.tv_sec * 1000000000ULL + now.tv_nsec - (now_ns() - c->begin);
}

/**
 * view_record - Write each event to a file, until the command or the time ends
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status, that of the command if there is one
 */
int view_record(struct sources *s, struct options *o)
{
	struct counts c = {};
	struct recorder r = { .s = s, .o = o, .c = &c, .sink = sink_of(o->file) };
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.events), on_event, &r,
						    NULL);
	struct record_end end;
	int status = 0, failed, not_read;
	struct rusage usage = {};

	r.out = strcmp(o->file, "-") ? fopen(o->file, "w+e") : stdout;
	if (!r.out || !ring || counts_init(&c, s)) {
		fprintf(stderr, "trapstat: %s: %s\n", o->file, strerror(errno));
		return 2;
	}
	note_begin(&r.begin, &c);
	r.sink->begin(r.out);
	failed = !flush(&r);
	if (!failed && o->command && command_start(s, o))
		return 1;
	while (!failed && !is_finished(&r) && !is_over(s, o)) {
		if (!ring_buffer__poll(ring, r.queued ? 0 : 50))
			drain(&r, AT_ONCE);
		perf_reopen(s);
		failed = !flush(&r);
		if (o->command && command_has_ended(&status, &usage))
			break;
	}
	not_read = counts_end(&c, s);
	sources_detach(s);
	r.detached = true;
	ring_buffer__consume(ring);
	drain(&r, r.queued);
	fill_end(&end, &r, o);
	if (failed || !flush(&r)) {
		cut_off(&r, o->file);
		end.events = r.events;
		end.is_cut = true;
		copy(end.losses, sizeof(end.losses),
		     "cut off: the file could not grow, later events are missing\n");
		failed = 1;
	}
	r.sink->end(r.out, &end);
	/* cut_off() has said why */
	failed |= (failed ? fclose(r.out) : close_file(r.out, o->file)) || not_read;
	if (o->command && failed)
		command_wait(&status, &usage);
	fprintf(stderr, "trapstat: %s: %llu events in %.3f s\n", o->file, end.events, end.seconds);
	if (!end.is_cut)
		print_losses(stderr, 80, &r, o->verbose);
	ring_buffer__free(ring);
	free(r.queue);
	counts_free(&c);
	return failed ? 1 : status;
}
