// SPDX-License-Identifier: GPL-2.0
/*
 * Tables. A column that is not known, or all zero, is left out; then those of the highest rank,
 * until the rest fits. The last column takes what is left. JSON has each column.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <jansson.h>

#include "table.h"
#include "text.h"

enum { MOST_COLUMNS = 1100 };		/* a column for each CPU */

/**
 * table_init - Begin a table
 * @t:		the table
 * @type:	of its lines in JSON
 * @columns:	its columns
 * @n:		how many there are
 */
void table_init(struct table *t, const char *type, const struct column *columns, int n)
{
	memset(t, 0, sizeof(*t));
	t->type = type;
	t->column = columns;
	t->columns = n < MOST_COLUMNS ? n : MOST_COLUMNS;
}

static struct cell *next_cell(struct table *t)
{
	static struct cell lost;
	struct cell *more;

	if (t->cells == t->room) {
		more = realloc(t->cell, (2 * t->room + 64) * sizeof(*more));
		if (!more)
			return &lost;
		t->cell = more;
		t->room = 2 * t->room + 64;
	}
	t->cell[t->cells] = (struct cell){ .n = NAN };
	return &t->cell[t->cells++];
}

/**
 * table_number - Add the next cell, which is a number. Behind the last one, the next row begins.
 * @t:		the table
 * @known:	whether a source has it
 * @n:		the number
 */
void table_number(struct table *t, bool known, double n)
{
	next_cell(t)->n = known ? n : NAN;
}

/**
 * table_text - Add the next cell, which is a text
 * @t:		the table
 * @text:	the text, with any characters; "" or "-" if it is not known
 */
void table_text(struct table *t, const char *text)
{
	struct cell *cell = next_cell(t);

	if (!*text || !strcmp(text, "-"))
		return;
	free(cell->text);
	cell->text = strdup(text);
	for (char *at = cell->text; at && *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
}

/**
 * table_rows - How many rows a table has
 * @t:	the table
 */
int table_rows(const struct table *t)
{
	return t->cells / t->columns;
}

static const struct cell *cell_of(const struct table *t, int row, int column)
{
	return &t->cell[row * t->columns + column];
}

/**
 * table_column - The column of a name, such as "time" for TIME%
 * @columns:	the columns
 * @n:		how many there are
 * @name:	of one
 *
 * Return: its number, or -1
 */
int table_column(const struct column *columns, int n, const char *name)
{
	for (int i = 0; i < n; i++) {
		size_t size = columns[i].head ? strcspn(columns[i].head, "%/") : 0;

		if (!size)
			continue;
		if (!strcasecmp(columns[i].head, name) || !strcasecmp(columns[i].key, name) ||
		    (strlen(name) == size && !strncasecmp(columns[i].head, name, size)))
			return i;
	}
	return -1;
}

static int sort_column;

static int by_cell(const void *a, const void *b)
{
	const struct cell *left = (const struct cell *)a + sort_column;
	const struct cell *right = (const struct cell *)b + sort_column;

	if (left->text || right->text)
		return strcmp(left->text ?: "", right->text ?: "");
	if (isnan(left->n) || isnan(right->n))
		return isnan(left->n) - isnan(right->n);
	return (left->n < right->n) - (left->n > right->n);
}

/**
 * table_sort - Sort the rows: numbers from the largest on, texts by the alphabet
 * @t:		the table
 * @column:	to sort by
 */
void table_sort(struct table *t, int column)
{
	sort_column = column;
	qsort(t->cell, table_rows(t), t->columns * sizeof(*t->cell), by_cell);
}

/**
 * table_next - The next column with numbers that are not all 0
 * @t:		the table
 * @column:	the one before, or -1
 *
 * Return: its number, or -1
 */
int table_next(const struct table *t, int column)
{
	for (int i = 0; i < t->columns; i++) {
		column = (column + 1) % t->columns;
		for (int row = 0; row < table_rows(t); row++)
			if (t->column[column].head && cell_of(t, row, column)->n > 0)
				return column;
	}
	return -1;
}

/**
 * table_cut - Leave out the last rows
 * @t:		the table
 * @rows:	how many stay
 */
void table_cut(struct table *t, int rows)
{
	while (t->cells > rows * t->columns)
		free(t->cell[--t->cells].text);
}

static struct text text_cell(const struct cell *cell, enum cell_type type)
{
	struct text t = { "-" };
	double n = cell->n;

	if (isnan(n))
		return t;
	switch (type) {
	case CELL_NS:
		return text_ns(n);
	case CELL_PERCENT:
		snprintf(t.text, sizeof(t.text), n && n < 9.995 ? "%.2f" : "%.1f", n);
		break;
	case CELL_RATE:
		return text_rate(n);
	default:
		snprintf(t.text, sizeof(t.text), "%.0f", n);
		break;
	}
	return t;
}

static int width_of(const struct table *t, int row, int column)
{
	const struct cell *cell = cell_of(t, row, column);

	if (t->column[column].type != CELL_TEXT)
		return strlen(text_cell(cell, t->column[column].type).text);
	return cell->text ? strlen(cell->text) : 1;
}

/* The columns that are shown have a width */
struct layout {
	int width[MOST_COLUMNS];
	int last;
	bool is_whole;		/* a text may be wider */
};

static int least_of(const struct column *c, int width)
{
	int head = c->head ? strlen(c->head) : 0, least = c->least > head ? c->least : head;

	return c->least && least < width ? least : width;
}

static void fit(struct layout *l, const struct table *t, int limit)
{
	int sum, left, first, *width = l->width;

	do {
		sum = -1;
		first = -1;
		for (int i = 0; i < t->columns; i++) {
			if (!width[i])
				continue;
			l->last = i;
			sum += least_of(&t->column[i], width[i]) + 1;
			if (t->column[i].rank &&
			    (first < 0 || t->column[i].rank >= t->column[first].rank))
				first = i;
		}
		if (limit && sum > limit && first >= 0)
			width[first] = 0;
	} while (limit && sum > limit && first >= 0);
	left = limit ? limit - sum : 1 << 20;
	/* What is left goes to the texts that were cut */
	for (int i = 0; i < t->columns; i++) {
		int least = least_of(&t->column[i], width[i]);

		sum = width[i] - least < left ? width[i] - least : left;
		if (sum > 0) {
			width[i] = least + sum;
			left -= sum;
		} else {
			width[i] = least;
		}
	}
}

static struct layout *lay_out(const struct table *t, int rows, int limit)
{
	static struct layout l;

	memset(&l, 0, sizeof(l));
	for (int i = 0; i < t->columns; i++) {
		bool is_shown = !t->column[i].rank;

		if (!t->column[i].head)
			continue;
		for (int row = 0; row < rows; row++) {
			const struct cell *cell = cell_of(t, row, i);
			int width = width_of(t, row, i);

			l.width[i] = width > l.width[i] ? width : l.width[i];
			is_shown |= cell->text || (!isnan(cell->n) && cell->n);
		}
		if ((int)strlen(t->column[i].head) > l.width[i])
			l.width[i] = strlen(t->column[i].head);
		if (!is_shown)
			l.width[i] = 0;
	}
	fit(&l, t, limit);
	return &l;
}

/* A source line and the end of an error code go first; the middle of a path says the least */
static void print_text(FILE *out, const char *text, int width, bool is_last)
{
	int size = strlen(text), begin = (width - 3) / 2;
	const char *more = size > width ? strstr(text, " (") : NULL;

	if (more)
		size = more - text;
	while (size > width && (more = memrchr(text, ',', size)) && more[1] == ' ' &&
	       !memchr(text, '<', size))
		size = more - text;
	if (size <= width)
		fprintf(out, "%.*s%*s", size, text, is_last ? 0 : width - size, "");
	else if (width < 8)
		fprintf(out, "%.*s", width, text);
	else
		fprintf(out, "%.*s...%.*s", begin, text, width - 3 - begin,
			text + size - (width - 3 - begin));
}

static void print_heads(FILE *out, const struct table *t, const struct layout *l)
{
	for (int i = 0; i < t->columns; i++) {
		const struct column *c = &t->column[i];

		if (!l->width[i])
			continue;
		if (c->type == CELL_TEXT)
			print_text(out, c->head, l->width[i], i == l->last);
		else
			fprintf(out, "%*s", l->width[i], c->head);
		fputc(i == l->last ? '\n' : ' ', out);
	}
}

static void print_row(FILE *out, const struct table *t, const struct layout *l, int row)
{
	for (int i = 0; i < t->columns; i++) {
		const struct cell *cell = cell_of(t, row, i);
		const char *text = cell->text ?: "-";
		int width = l->width[i];

		if (!width)
			continue;
		if (l->is_whole && (int)strlen(text) > width)
			width = strlen(text);
		if (t->column[i].type == CELL_TEXT)
			print_text(out, text, width, i == l->last);
		else
			fprintf(out, "%*s", l->width[i], text_cell(cell, t->column[i].type).text);
		fputc(i == l->last ? '\n' : ' ', out);
	}
}

/**
 * json_line - Print a line of JSON
 * @out:	where to
 * @object:	what it has; it is freed
 * @type:	of the line
 */
void json_line(const struct output *out, struct json_t *object, const char *type)
{
	json_t *line = json_pack("{s:s, s:f, s:f}", "type", type, "time", out->time, "seconds",
				 out->seconds);

	if (line && !json_object_update(line, object) &&
	    !json_dumpf(line, out->file, JSON_COMPACT | JSON_REAL_PRECISION(15)))
		fputc('\n', out->file);
	json_decref(line);
	json_decref(object);
}

static void json_row(const struct output *out, const struct table *t, int row)
{
	json_t *object = json_object(), *value;

	for (int i = 0; i < t->columns; i++) {
		const struct cell *cell = cell_of(t, row, i);

		if (cell->text)
			value = json_string(cell->text);
		else if (isnan(cell->n))
			value = json_null();
		else if (t->column[i].type == CELL_BOOL)
			value = json_boolean(cell->n);
		else if (t->column[i].type == CELL_COUNT || t->column[i].type == CELL_NS)
			value = json_integer(cell->n);
		else
			value = json_real(cell->n);
		json_object_set_new(object, t->column[i].key, value);
	}
	json_line(out, object, t->type);
}

/**
 * table_print - Print a table
 * @out:	where to
 * @t:		the table
 */
void table_print(const struct output *out, const struct table *t)
{
	int rows = table_rows(t);
	struct layout *l;

	if (out->is_json) {
		for (int row = 0; row < rows; row++)
			json_row(out, t, row);
		return;
	}
	l = lay_out(t, rows, out->width);
	print_heads(out->file, t, l);
	for (int row = 0; row < rows; row++)
		print_row(out->file, t, l, row);
}

/* What comes later is not known: each column has the width that it mostly needs */
static struct layout *lay_out_ahead(const struct table *t, int limit)
{
	static struct layout l;

	memset(&l, 0, sizeof(l));
	for (int i = 0; i < t->columns; i++) {
		if (!t->column[i].head)
			continue;
		l.width[i] = t->column[i].width;
		if ((int)strlen(t->column[i].head) > l.width[i])
			l.width[i] = strlen(t->column[i].head);
	}
	fit(&l, t, limit);
	l.is_whole = !limit;
	return &l;
}

/**
 * table_head - Print the head of a table whose rows come one by one
 * @out:	where to
 * @t:		the table
 */
void table_head(const struct output *out, const struct table *t)
{
	if (!out->is_json)
		print_heads(out->file, t, lay_out_ahead(t, out->width));
}

/**
 * table_line - Print the only row of such a table, and take it out
 * @out:	where to
 * @t:		the table
 */
void table_line(const struct output *out, struct table *t)
{
	if (out->is_json)
		json_row(out, t, 0);
	else
		print_row(out->file, t, lay_out_ahead(t, out->width), 0);
	table_free(t);
}

/**
 * table_free - Free the rows of a table
 * @t:	the table
 */
void table_free(struct table *t)
{
	for (int i = 0; i < t->cells; i++)
		free(t->cell[i].text);
	free(t->cell);
	t->cell = NULL;
	t->cells = 0;
	t->room = 0;
}
