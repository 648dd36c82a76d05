// SPDX-License-Identifier: GPL-2.0
/* A line for each stack, with the time of its page faults in ns, as flame graph tools read it */
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "sinks.h"

struct folded {
	unsigned long long ns;
	char stack[];
};

static void *all;

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct folded *)a)->stack, ((const struct folded *)b)->stack);
}

static void folded_begin(FILE *out)
{
	(void)out;
}

static void folded_add(FILE *out, const struct shown *shown)
{
	struct folded *one, **at;

	(void)out;
	if (shown->event.row != ROW_PF || !shown->event.ns)
		return;
	one = malloc(sizeof(*one) + strlen(shown->stack) + 1);
	if (!one)
		return;
	one->ns = 0;
	copy(one->stack, strlen(shown->stack) + 1, shown->stack);
	at = tsearch(one, &all, by_stack);
	if (!at || *at != one)
		free(one);
	if (at)
		(*at)->ns += shown->event.ns;
}

static FILE *to;

static void print(const void *node, VISIT visit, int depth)
{
	const struct folded *one = *(struct folded * const *)node;

	(void)depth;
	if (visit == postorder || visit == leaf)
		fprintf(to, "%s %llu\n", one->stack, one->ns);
}

static void folded_end(FILE *out, const struct record_end *end)
{
	(void)end;
	to = out;
	twalk(all, print);
	tdestroy(all, free);
	all = NULL;
}

const struct sink folded_sink = { ".folded", folded_begin, folded_add, folded_end };
