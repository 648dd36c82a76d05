/* SPDX-License-Identifier: GPL-2.0 */
/* Tables: text that fits the terminal, or JSON lines */
#ifndef TABLE_H
#define TABLE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* Where a view prints */
struct output {
	FILE *file;
	bool is_json;
	bool has_stamps;		/* -T: a narrow stream has the time, too */
	bool is_repeated;		/* what is so for the whole run was said before */
	int width, height;		/* of the terminal; 0: no limit */
	double time, seconds;		/* of JSON: the end of the interval, and its length */
};

enum cell_type { CELL_TEXT, CELL_COUNT, CELL_RATE, CELL_PERCENT, CELL_NS, CELL_BOOL };

struct column {
	const char *head, *key;		/* NULL: for JSON alone; key: of JSON */
	enum cell_type type;
	unsigned short rank;		/* too wide: the highest is left out first; 0: none is */
	unsigned char least;		/* too wide: a text is cut down to this first */
	unsigned char width;		/* of a table whose rows are printed one by one */
};

struct cell {
	double n;			/* NAN: not known */
	char *text;			/* NULL: not known */
};

struct table {
	const char *type;		/* of its JSON lines */
	const struct column *column;
	int columns, cells, room;
	struct cell *cell;
};

void table_init(struct table *t, const char *type, const struct column *columns, int n);
void table_number(struct table *t, bool known, double n);
void table_text(struct table *t, const char *text);
int table_rows(const struct table *t);
int table_column(const struct column *columns, int n, const char *name);
void table_sort(struct table *t, int column);
int table_next(const struct table *t, int column);
void table_cut(struct table *t, int rows);
void table_print(const struct output *out, const struct table *t);
void table_head(const struct output *out, const struct table *t);
void table_line(const struct output *out, struct table *t);
void table_free(struct table *t);

struct json_t;
void json_line(const struct output *out, struct json_t *object, const char *type);

#endif
