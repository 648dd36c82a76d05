/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "sources.h"

/* What an instruction belongs to; source is "" if the file and line are not known */
struct symbol {
	char function[80], source[80];
};

const struct symbol *symbol_of(const struct event *event, const struct sources *s);
void symbols_free(void);

#endif
