/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include "trapstat.h"
#include "util.h"

extern const char * const row_names[ROWS];
extern const char * const outcome_names[OUTCOMES];
extern const char * const mode_names[MODES];
extern const char * const wait_names[WAITS];
extern const char * const signal_names[SIGNALS];
extern const int signal_numbers[SIGNALS];

struct text { char text[64]; };

struct text row_name(int row);
struct text code_name(int number, int code);
struct text text_error(int vector, unsigned int code);
struct text text_ns(unsigned long long ns);
struct text text_rate(double n);
struct text text_number(bool known, unsigned long long n);
struct text text_flags(unsigned int outcome, unsigned int flags);
struct text text_waits(const unsigned long long *wait);
struct text text_plain(const char *name, size_t size);
struct text text_place(const struct place *place);

#endif
