/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SCREEN_H
#define SCREEN_H

#include "table.h"

void screen_size(struct output *out, int fd);
bool screen_begin(void);
int screen_fd(void);
int screen_key(void);
int screen_show(const char *text, const char *last);
void screen_end(void);

#endif
