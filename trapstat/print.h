/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PRINT_H
#define PRINT_H

#include <stdio.h>
#include "counts.h"

extern const char * const row_names[ROWS];
extern const char * const outcome_names[OUTCOMES];
extern const char * const mode_names[MODES];
extern const char * const signal_names[SIGNALS];
extern const int signal_numbers[SIGNALS];

struct text { char text[64]; };
struct long_text { char text[256]; };

struct text row_name(int row);
bool knows_time(const struct sources *s, int row);
void lower(char *to, const char *from);
void copy(char *to, size_t size, const char *from);
struct text text_ns(unsigned long long ns);
struct text text_number(bool known, unsigned long long n);
struct text text_flags(unsigned int outcome, unsigned int flags);
struct text text_plain(const char *name, size_t size);
struct text text_place(const struct place *place);
struct long_text text_code(const struct event *event, const struct sources *s);
void print_plain(FILE *out, int width, const char *name, size_t size);

void print_signals(FILE *out, const struct counts *c, const struct sources *s);
void print_slow_head(FILE *out);
void print_slow(FILE *out, const struct event *event, const struct sources *s);
void print_slowest(FILE *out, const struct counts *c, const struct sources *s, int most);
unsigned long long lost_of(const struct counts *c);
void print_lost(FILE *out, const struct counts *c, bool is_verbose);
int screen_show(const char *text);
int flush_stdout(void);

#endif
