// SPDX-License-Identifier: GPL-2.0
/* The loop of all views that print counts, an interval after the other */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "perf.h"
#include "print.h"
#include "views.h"

/**
 * has_gone - Whether the process of -p has ended, with a message
 * @o:	the options
 */
bool has_gone(const struct options *o)
{
	struct pollfd process = { .fd = o->pidfd, .events = POLLIN };

	/* A zombie has ended, too */
	if (poll(&process, 1, 0) < 1)
		return false;
	fprintf(stderr, "trapstat: process %u has ended\n", o->config.pid);
	return true;
}

/**
 * next_interval - Whether there is another interval
 * @o:	the options
 * @n:	the intervals so far
 *
 * Return: false if there is none left, or if a signal has come
 */
bool next_interval(const struct options *o, long *n)
{
	if (ended || (o->count && *n == o->count))
		return false;
	if (has_gone(o))
		return false;
	(*n)++;
	return true;
}

/**
 * read_interval - Read what is counted in an interval
 * @c:	gets it
 * @s:	the sources
 * @o:	the options
 *
 * With many processes, it reads often, so that the maps of the kernel do not fill up.
 *
 * Return: 0, or -1 if there is no memory
 */
int read_interval(struct counts *c, struct sources *s, const struct options *o)
{
	struct pollfd process = { .fd = o->pidfd, .events = POLLIN };
	struct timespec rest = {};
	bool is_over = false;
	double left;

	counts_next(c);
	while (!ended && !is_over && (left = o->interval - counts_age(c)) > 0) {
		if ((o->config.by || s->perf) && left > 0.25)
			left = 0.25;
		rest.tv_sec = left;
		rest.tv_nsec = (left - rest.tv_sec) * 1e9;
		is_over = ppoll(&process, 1, &rest, NULL) > 0;
		perf_reopen(s);
		if (o->config.by && counts_read(c, s))
			return -1;
	}
	return counts_end(c, s);
}

/**
 * view_intervals - Print the counts, an interval after the other
 * @s:		the sources
 * @o:		the options
 * @print:	prints the counts of an interval; not 0 ends the view
 *
 * Return: the exit status
 */
int view_intervals(struct sources *s, const struct options *o,
		   int (*print)(FILE *out, struct counts *c, const struct sources *s,
				const struct options *o))
{
	struct counts c;
	int status = counts_init(&c, s) ? 1 : 0;
	size_t size;
	char *text;
	FILE *out;
	long n = 0;

	while (!status && next_interval(o, &n)) {
		out = open_memstream(&text, &size);
		if (read_interval(&c, s, o) || print(out, &c, s, o))
			status = 1;
		fclose(out);
		if (!status)
			status = screen_show(text);
		free(text);
	}
	counts_free(&c);
	return status;
}
