/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LISTEN_H
#define LISTEN_H

#include <stddef.h>

int listen_open(const char *where);
int listen_start(void);
void listen_give(char *text, size_t size);
void listen_stop(void);

#endif
