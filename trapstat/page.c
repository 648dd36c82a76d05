// SPDX-License-Identifier: GPL-2.0
/* The page of a record: adds events up in tables of a fixed size, for page.html to draw */
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "sinks.h"

enum { BINS = 240, SERIES = 48, LOGS = 36, TOPS = 5, MOST = 5000, OTHERS = 200 };

/* So many of each are in the page, those with the most time, and the most events */
static const struct {
	const char *name;
	unsigned int shown;
} tables[TOPS] = {
	{ "processes", 60 }, { "places", 60 }, { "instructions", 60 }, { "stacks", 1500 },
	{ "waits", WAITS },
};

struct bin {
	unsigned int count;
	unsigned long long ns, max;
};

struct top {
	struct bin all, bin[BINS];
	char name[];
};

static struct {
	unsigned long long start, bin;		/* ns; bin: how long one is */
	struct {
		char name[16];
		unsigned int count[BINS];
	} series[SERIES];
	unsigned int heat[OUTCOMES][BINS][LOGS];
	struct top *top[TOPS][MOST + OTHERS + 1];	/* in any order */
	void *tree[TOPS];
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

static void add_bin(struct bin *to, const struct bin *cell)
{
	to->count += cell->count;
	to->ns += cell->ns;
	to->max = cell->max > to->max ? cell->max : to->max;
}

static void widen_top(struct bin *bin)
{
	struct bin none = {}, sum;

	for (int i = 0; i < BINS; i++) {
		sum = none;
		if (2 * i + 1 < BINS) {
			add_bin(&sum, &bin[2 * i]);
			add_bin(&sum, &bin[2 * i + 1]);
		}
		bin[i] = sum;
	}
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
	for (int which = 0; which < TOPS; which++)
		for (unsigned int i = 0; i < page.tops[which]; i++)
			widen_top(page.top[which][i]->bin);
}

/* The sums of a name, which is new if there is room */
static struct top *find_top(int which, const char *name, unsigned int most)
{
	struct top *top = calloc(1, sizeof(*top) + strlen(name) + 1), **at;

	if (!top)
		return NULL;
	copy(top->name, strlen(name) + 1, name);
	at = tfind(top, &page.tree[which], by_name);
	if (at || page.tops[which] >= most) {
		free(top);
		return at ? *at : NULL;
	}
	tsearch(top, &page.tree[which], by_name);
	page.top[which][page.tops[which]++] = top;
	return top;
}

static void count_top(int which, const char *name, size_t bin, unsigned long long ns)
{
	struct bin one = { .count = 1, .ns = ns, .max = ns };
	struct top *top = find_top(which, name, MOST);
	char others[64];

	/* Of a stack, the name of the task stays */
	if (!top) {
		snprintf(others, sizeof(others), "%.*s[others]",
			 strchr(name, ';') ? (int)strcspn(name, ";") + 1 : 0, name);
		top = find_top(which, others, MOST + OTHERS) ?:
			find_top(which, "[others]", MOST + OTHERS + 1);
	}
	if (!top)
		return;
	add_bin(&top->all, &one);
	add_bin(&top->bin[bin], &one);
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
	count_top(0, name, bin, e->ns);
	if (e->row == ROW_PF) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(shown->place, "+"), shown->place);
		count_top(1, name, bin, e->ns);
		if (*shown->stack && e->ns)
			count_top(3, shown->stack, bin, e->ns);
		for (i = 0; i < WAITS; i++)
			if (e->wait[i])
				count_top(4, wait_names[i], bin, e->wait[i]);
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
	count_top(2, name, bin, e->ns);
}

static int by_time(const void *a, const void *b)
{
	const struct bin *left = &(*(struct top * const *)a)->all;
	const struct bin *right = &(*(struct top * const *)b)->all;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return (left->count < right->count) - (left->count > right->count);
}

static json_t *cell_of(int bin, const struct bin *cell)
{
	return json_pack("[i, I, I, I]", bin, (json_int_t)cell->count, (json_int_t)cell->ns,
			 (json_int_t)cell->max);
}

/* [name, [[bin, count, ns, longest]...]] */
static json_t *top_of(int which)
{
	json_t *list = json_array(), *cells;

	qsort(page.top[which], page.tops[which], sizeof(*page.top[which]), by_time);
	for (unsigned int i = 0; i < page.tops[which]; i++) {
		struct top *top = page.top[which][i];

		cells = json_array();
		for (int bin = 0; bin < BINS && i < tables[which].shown; bin++)
			if (top->bin[bin].count)
				json_array_append_new(cells, cell_of(bin, &top->bin[bin]));
		if (i < tables[which].shown)
			json_array_append_new(list, json_pack("[s, o]", top->name, cells));
		else
			json_decref(cells);
	}
	tdestroy(page.tree[which], free);
	page.tree[which] = NULL;
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
	json_t *json = json_pack("{s:s, s:s, s:s, s:f, s:I, s:s, s:I, s:i, s:o, s:o}",
				 "command", end->command, "kernel", end->kernel,
				 "source", end->source, "seconds", end->seconds, "events",
				 (json_int_t)end->events, "losses", end->losses, "bin",
				 (json_int_t)page.bin, "bins", BINS, "series", series(),
				 "heat", heat());
	char *text;

	for (int i = 0; i < TOPS; i++)
		json_object_set_new(json, tables[i].name, top_of(i));
	text = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(json);
	fwrite(page_html, 1, data - page_html, out);
	write_escaped(out, text ? text : "null");
	fputs(data + strlen("@DATA@"), out);
	free(text);
}

const struct sink page_sink = { ".html", begin, add, end };
