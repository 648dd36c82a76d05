/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "sources.h"

/* What an instruction belongs to; source is "" if the file and line are not known */
struct symbol {
	char function[128], source[80];
};

const struct symbol *symbol_of(unsigned long long ip, const struct place *code, unsigned int pid,
			       const struct sources *s);
bool find_code(struct place *place, unsigned int pid, const struct sources *s);
bool is_code(const struct place *place, unsigned int pid, const struct sources *s);
void note_file(struct file_key key, unsigned int pid, unsigned long long start,
	       unsigned long long end, const char *path);
void symbols_free(void);

/* maps.c */
void locate_event(struct event *event);
bool locate(const struct event *event, unsigned long long address, struct place *place);
void note_maps(unsigned int pid);
void maps_free(void);

/* stacks.c: the frames of a stack, the innermost first */
enum { MOST_STACK = 2 * MOST_FRAMES };

struct frame {
	char name[128];
};

void stack_note(const struct event *event, const struct sources *s);
int stack_frames(const struct event *event, const struct sources *s, struct frame *frame);
void stacks_free(void);

#endif
