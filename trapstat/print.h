/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PRINT_H
#define PRINT_H

#include <stdio.h>
#include "counts.h"

extern const char * const row_names[ROWS];
extern const char * const outcome_names[OUTCOMES];
extern const char * const mode_names[MODES];

struct text { char text[64]; };

struct text text_ns(unsigned long long ns);
struct text text_number(bool known, unsigned long long n);
struct text text_flags(unsigned int outcome, unsigned int flags);
void print_plain(FILE *out, int width, const char *name, size_t size);

void print_signals(FILE *out, const struct counts *c, const struct sources *s);
void print_slow_head(FILE *out);
void print_slow(FILE *out, const struct slow *slow);
void print_slowest(FILE *out, const struct counts *c, const struct sources *s);
void print_lost(FILE *out, const struct counts *c);
void screen_show(char *text);

#endif
