/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PRINT_H
#define PRINT_H

#include <stdio.h>
#include "counts.h"
#include "text.h"

struct long_text { char text[256]; };

const char *outcome_name(const struct sources *s, unsigned int outcome);
bool knows_time(const struct sources *s, int row);
struct long_text text_code(const struct event *event, const struct sources *s);
void print_plain(FILE *out, int width, const char *name, size_t size);

void print_signals(FILE *out, const struct counts *c, const struct sources *s);
void print_slow_head(FILE *out);
void print_slow(FILE *out, const struct event *event, const struct sources *s);
void print_slowest(FILE *out, const struct counts *c, const struct sources *s, int most);
unsigned long long lost_of(const struct counts *c);
unsigned long long skipped_of(const struct counts *c);
void print_lost(FILE *out, const struct counts *c, bool is_verbose);
bool is_redrawn(void);
int screen_show(const char *text);

#endif
