/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PRINT_H
#define PRINT_H

#include <stdio.h>
#include "counts.h"
#include "table.h"
#include "text.h"

/* A reason why tasks were off the CPU, as a share of elapsed time; add_waits() adds all */
#define WAIT_COLUMN(head, key)	{ head, key, CELL_PERCENT, 1 }

enum { WAIT_CELLS = WAITS + 1 };

struct long_text { char text[256]; };

const char *outcome_name(const struct sources *s, unsigned int outcome);
bool knows_time(const struct sources *s, int row);
struct long_text text_code(const struct event *event, const struct sources *s);
void print_plain(FILE *out, const char *name, size_t size);

void add_waits(struct table *t, const struct sources *s, const unsigned long long *wait,
	       double share);
void print_begin(const struct output *out, const struct sources *s);
void print_signals(const struct output *out, const struct counts *c, const struct sources *s,
		   bool rates);
void print_crash_head(const struct output *out, const struct sources *s);
void print_crash(const struct output *out, const struct event *event, const struct sources *s);
void print_stack(const struct output *out, const struct event *event, const struct sources *s,
		 int most);
void print_slow_head(const struct output *out, const struct sources *s);
void print_slow(const struct output *out, const struct event *event, const struct sources *s);
void print_slowest(const struct output *out, const struct counts *c, const struct sources *s,
		   int most, int frames);
void print_histograms(const struct output *out, const struct counts *c, const struct sources *s,
		      int most);
unsigned long long lost_of(const struct counts *c);
unsigned long long skipped_of(const struct counts *c);
void print_lost(const struct output *out, const struct counts *c, bool is_verbose);

#endif
