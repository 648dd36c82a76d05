/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UTIL_H
#define UTIL_H

#include <signal.h>
#include <stdio.h>

extern __volatile__ sig_atomic_t ended;		/* by a signal */

unsigned long long now_ns(void);
double now_real(void);
void lower(char *to, const char *from);
void copy(char *to, size_t size, const char *from);
int lines_of(const char *text);
int close_file(FILE *out, const char *path);
int flush_stdout(void);

#endif
