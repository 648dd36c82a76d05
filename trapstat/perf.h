/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_H
#define PERF_H

#include "sources.h"

int perf_open(struct sources *s);
void perf_reopen(struct sources *s);
unsigned long long perf_missed(struct sources *s);
void perf_close(struct sources *s);
void perf_restore_limit(void);

#endif
