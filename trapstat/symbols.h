/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "sources.h"

/* What an instruction belongs to; source is "" if the file and line are not known */
struct symbol {
	char function[80], source[80];
};

const struct symbol *symbol_of(const struct event *event, const struct sources *s);
void note_file(struct file_key key, unsigned int pid, unsigned long long start,
	       unsigned long long end, const char *path);
void symbols_free(void);

/* maps.c */
void locate_event(struct event *event);
void note_maps(unsigned int pid);
void maps_free(void);

#endif
