/* SPDX-License-Identifier: GPL-2.0 */
/* What "trapstat record" writes events to: a file of one of four formats */
#ifndef SINKS_H
#define SINKS_H

#include <stdio.h>
#include "print.h"

/* When the record began */
struct record_begin {
	unsigned long long monotonic, realtime;	/* ns of these clocks */
};

/* An event with all that is shown of it, as text */
struct shown {
	struct event event;
	unsigned long long begin;	/* of the record: 0 in it, by CLOCK_MONOTONIC */
	char trap[16], outcome[16], memory[64], place[64], code[256];
	const char *stack;		/* of -S, "outermost;...;innermost", or "" */
};

/* What is known at the end of a record */
struct record_end {
	char command[256];		/* "": all processes */
	char kernel[72];
	char source[16];
	struct record_begin begin;
	double seconds;
	bool is_cut;		/* as the file could not grow: "lost" is not known */
	unsigned long long events, lost, skipped;
	char losses[400];		/* what is missing, in lines of text */
};

/**
 * struct sink - A format
 * @suffix:	of the names of its files
 * @begin:	write the head
 * @add:	write an event, or add it up
 * @end:	write the rest; a truncated file can be read without
 *
 * The stream has the error of those that fail.
 */
struct sink {
	const char *suffix;
	void (*begin)(FILE *out);
	void (*add)(FILE *out, const struct shown *shown);
	void (*end)(FILE *out, const struct record_end *end);
};

extern const char page_html[];
extern const struct sink json_sink, csv_sink, page_sink, folded_sink;

const struct sink *sink_of(const char *path);
int view_report(const char *from, const char *to);

#endif
