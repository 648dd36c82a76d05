// SPDX-License-Identifier: GPL-2.0
/* The page of a record: adds events up in tables of a fixed size, for page.html to draw */
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "sinks.h"

enum { BINS = 240, SERIES = 48, LOGS = 36, TOPS = 3, MOST = 20000, SHOWN = 15 };

static const char * const top_names[TOPS] = { "processes", "places", "instructions" };

struct top {
	char name[336];
	unsigned long long count, ns, max;
};

static struct {
	unsigned long long start, bin;		/* ns; bin: how long one is */
	struct {
		char name[16];
		unsigned int count[BINS];
	} series[SERIES];
	unsigned int heat[OUTCOMES][BINS][LOGS];
	void *top[TOPS];
	unsigned int tops[TOPS];
} page;

asm(".pushsection .rodata\n.globl page_html\n"
	"page_html:\n.incbin \"page.html\"\n.byte 0\n.popsection");

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct top *)a)->name, ((const struct top *)b)->name);
}

static void begin(FILE *out)
{
	(void)out;
	memset(&page, 0, sizeof(page));
	page.bin = 1000000;
}

/* Double the width of the bins by merging pairs */
static void widen_bins(void)
{
	page.bin *= 2;
	for (int i = 0; i < BINS; i++) {
		for (int s = 0; s < SERIES; s++) {
			unsigned int *count = page.series[s].count;

			count[i] = 2 * i + 1 < BINS ? count[2 * i] + count[2 * i + 1] : 0;
		}
		for (int o = 0; o < OUTCOMES * LOGS; o++) {
			unsigned int (*heat)[LOGS] = page.heat[o / LOGS];
			int log = o % LOGS;

			heat[i][log] = 2 * i + 1 < BINS ?
				heat[2 * i][log] + heat[2 * i + 1][log] : 0;
		}
	}
}

static void count_top(int which, const char *name, unsigned long long ns)
{
	struct top want, *top, **at;

	snprintf(want.name, sizeof(want.name), "%s", name);
	at = tfind(&want, &page.top[which], by_name);
	if (!at && page.tops[which] == MOST) {
		copy(want.name, sizeof(want.name), "[others]");
		at = tfind(&want, &page.top[which], by_name);
	}
	if (!at) {
		top = calloc(1, sizeof(*top));
		if (!top)
			return;
		copy(top->name, sizeof(top->name), want.name);
		at = tsearch(top, &page.top[which], by_name);
		page.tops[which] += page.tops[which] < MOST;
	}
	(*at)->count++;
	(*at)->ns += ns;
	if (ns > (*at)->max)
		(*at)->max = ns;
}

static void add(FILE *out, const struct shown *shown)
{
	const struct event *e = &shown->event;
	unsigned long long begun = e->end - e->ns;
	char name[400];
	size_t bin;
	int i, log = 0;

	(void)out;
	if (!page.start)
		page.start = begun;
	while (begun > page.start && (begun - page.start) / page.bin >= BINS)
		widen_bins();
	bin = begun > page.start ? (begun - page.start) / page.bin : 0;
	for (i = 0; i < SERIES - 1; i++)
		if (!page.series[i].name[0] || !strcmp(page.series[i].name, shown->trap))
			break;
	copy(page.series[i].name, sizeof(page.series[i].name), shown->trap);
	page.series[i].count[bin]++;
	if (e->row == ROW_SIGNAL)
		return;
	snprintf(name, sizeof(name), "%s (%u)", text_plain(e->comm, COMM_SIZE).text, e->pid);
	count_top(0, name, e->ns);
	if (e->row == ROW_PF) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(shown->place, "+"), shown->place);
		count_top(1, name, e->ns);
		for (unsigned long long ns = e->ns; ns > 1 && log < LOGS - 1; ns >>= 1)
			log++;
		if (e->outcome < OUTCOMES && e->ns)
			page.heat[e->outcome][bin][log]++;
	}
	if (!e->ip)
		return;
	if (shown->code[0] && shown->code[0] != '-')
		snprintf(name, sizeof(name), "%s", shown->code);
	else
		snprintf(name, sizeof(name), "%#llx of %s", e->ip,
			 text_plain(e->comm, COMM_SIZE).text);
	count_top(2, name, e->ns);
}

static struct top *all_tops;
static size_t tops;

static void take(const void *node, VISIT visit, int depth)
{
	(void)depth;
	if (visit == postorder || visit == leaf)
		all_tops[tops++] = **(struct top * const *)node;
}

static int by_count(const void *a, const void *b)
{
	const struct top *left = a, *right = b;

	return (left->count < right->count) - (left->count > right->count);
}

static json_t *top_of(int which)
{
	json_t *list = json_array();

	all_tops = calloc(MOST + 1, sizeof(*all_tops));
	tops = 0;
	if (!all_tops)
		return list;
	twalk(page.top[which], take);
	qsort(all_tops, tops, sizeof(*all_tops), by_count);
	for (size_t i = 0; i < tops && i < SHOWN; i++)
		json_array_append_new(list, json_pack("[s, I, I, I]", all_tops[i].name,
						      (json_int_t)all_tops[i].count,
						      (json_int_t)all_tops[i].ns,
						      (json_int_t)all_tops[i].max));
	free(all_tops);
	tdestroy(page.top[which], free);
	page.top[which] = NULL;
	return list;
}

static json_t *series(void)
{
	json_t *list = json_array(), *values;

	for (int s = 0; s < SERIES && page.series[s].name[0]; s++) {
		values = json_array();
		for (int bin = 0; bin < BINS; bin++)
			json_array_append_new(values, json_integer(page.series[s].count[bin]));
		json_array_append_new(list, json_pack("[s, o]", page.series[s].name, values));
	}
	return list;
}

/* [outcome, [[bin, log2 of ns, count]...]] for each outcome that occurred */
static json_t *heat(void)
{
	json_t *list = json_array(), *cells, *cell;
	unsigned int n;

	for (int o = 0; o < OUTCOMES; o++) {
		cells = json_array();
		for (int i = 0; i < BINS * LOGS; i++) {
			n = page.heat[o][i / LOGS][i % LOGS];
			cell = json_pack("[i, i, I]", i / LOGS, i % LOGS, (json_int_t)n);
			if (n)
				json_array_append(cells, cell);
			json_decref(cell);
		}
		if (json_array_size(cells))
			json_array_append_new(list, json_pack("[s, o]", outcome_names[o], cells));
		else
			json_decref(cells);
	}
	return list;
}

/* No name may end the script that it is in */
static void write_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("\\u003c", out);
		else
			fputc(*text, out);
	}
}

static void end(FILE *out, const struct record_end *end)
{
	const char *data = strstr(page_html, "@DATA@");
	json_t *json = json_pack("{s:s, s:s, s:s, s:f, s:I, s:I, s:I, s:I, s:i, s:o, s:o}",
				 "command", end->command, "kernel", end->kernel,
				 "source", end->source, "seconds", end->seconds, "events",
				 (json_int_t)end->events, "lost", (json_int_t)end->lost, "skipped",
				 (json_int_t)end->skipped, "bin", (json_int_t)page.bin, "bins",
				 BINS, "series", series(), "heat", heat());
	char *text;

	for (int i = 0; i < TOPS; i++)
		json_object_set_new(json, top_names[i], top_of(i));
	text = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(json);
	fwrite(page_html, 1, data - page_html, out);
	write_escaped(out, text ? text : "null");
	fputs(data + strlen("@DATA@"), out);
	free(text);
}

const struct sink page_sink = { ".html", begin, add, end };
