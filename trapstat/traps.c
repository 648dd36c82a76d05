// SPDX-License-Identifier: GPL-2.0
/* trapstat [interval [count]]: the table of traps */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "screen.h"
#include "views.h"

enum { MOST_CPUS = 1024, COLUMN_CPU0 = 3 };

static struct column columns[COLUMN_CPU0 + MOST_CPUS + 2];
static char heads[MOST_CPUS][16], keys[MOST_CPUS][20];

static int by_size(const void *a, const void *b)
{
	const unsigned long long *left = a, *right = b;

	return (*left < *right) - (*left > *right);
}

/* If not all CPUs fit, those with the most traps do */
static void init_cpus(const struct counts *c, int cpus, bool rates)
{
	static unsigned long long sum[MOST_CPUS], sorted[MOST_CPUS];
	int rank;

	for (int i = 0; i < cpus; i++) {
		sum[i] = 0;
		for (int row = 0; row < ROWS && c->trap; row++)
			sum[i] += counts_trap(c, row, MODE_USER, i).count +
				  counts_trap(c, row, MODE_KERNEL, i).count;
	}
	memcpy(sorted, sum, sizeof(sorted));
	qsort(sorted, cpus, sizeof(*sorted), by_size);
	for (int i = 0; i < cpus; i++) {
		for (rank = 0; sorted[rank] > sum[i]; rank++)
			;
		snprintf(heads[i], sizeof(heads[i]), rates ? "CPU%d/s" : "CPU%d", i);
		snprintf(keys[i], sizeof(keys[i]), rates ? "cpu%d_per_s" : "cpu%d", i);
		columns[COLUMN_CPU0 + i] =
			(struct column){ heads[i], keys[i], CELL_RATE, 10 + rank };
	}
}

static int init_columns(const struct counts *c, bool rates, bool per_cpu)
{
	int cpus = !per_cpu ? 0 : c->cpus < MOST_CPUS ? c->cpus : MOST_CPUS;

	columns[0] = rates ? (struct column){ "USER/s", "user_per_s", CELL_RATE, 0 } :
		     (struct column){ "USER", "user", CELL_COUNT, 0 };
	columns[1] = rates ? (struct column){ "KERNEL/s", "kernel_per_s", CELL_RATE, 3 } :
		     (struct column){ "KERNEL", "kernel", CELL_COUNT, 3 };
	columns[2] = (struct column){ "TIME%", "time_percent", CELL_PERCENT, 4 };
	init_cpus(c, cpus, rates);
	columns[COLUMN_CPU0 + cpus] = (struct column){ "TRAP", "trap", CELL_TEXT };
	columns[COLUMN_CPU0 + cpus + 1] = (struct column){ NULL, "with_signal", CELL_BOOL };
	return cpus;
}

/**
 * trap_columns - The columns of the table of traps
 * @s:		the sources
 * @rates:	as for print_traps()
 * @per_cpu:	-C
 * @n:		gets how many there are
 */
const struct column *trap_columns(const struct sources *s, bool rates, bool per_cpu, int *n)
{
	*n = init_columns(&(struct counts){ .cpus = s->cpus }, rates, per_cpu) + COLUMN_CPU0 + 2;
	return columns;
}

/**
 * print_traps - The table of traps
 * @out:	where to
 * @c:		of counts_read()
 * @s:		the sources
 * @o:		the options
 * @rates:	per second, with the share of the time of all CPUs; else the numbers
 *
 * Return: how many rows it has
 */
int print_traps(const struct output *out, const struct counts *c, const struct sources *s,
		struct options *o, bool rates)
{
	double all = c->seconds * (rates ? sysconf(_SC_NPROCESSORS_ONLN) : 1) * 1e7;
	unsigned int vector = s->config->vector, mode = s->config->mode;
	int cpus = init_columns(c, rates, o->per_cpu), rows;
	struct trap_sum user, kernel, cpu;
	double seconds = rates ? c->seconds : 1;
	bool known, by_signal, has_user;
	struct table t;
	char name[64];

	table_init(&t, "trap", columns, COLUMN_CPU0 + cpus + 2);
	for (int row = 0; row < ROWS; row++) {
		user = counts_trap(c, row, MODE_USER, -1);
		kernel = counts_trap(c, row, MODE_KERNEL, -1);
		if (!user.count && !kernel.count && (row != ROW_PF || vector != WANT_ANY))
			continue;
		known = row != ROW_PF || s->begins || knows_ends(s);
		has_user = known && row != ROW_NMI && row != ROW_MCE;
		by_signal = s->traps_by_signal && row != ROW_PF && row != ROW_NMI && row != ROW_MCE;
		table_number(&t, has_user && mode != MODE_KERNEL, user.count / seconds);
		table_number(&t, known && !by_signal && mode != MODE_USER, kernel.count / seconds);
		table_number(&t, knows_time(s, row), (user.ns + kernel.ns) / all);
		for (int i = 0; i < cpus; i++) {
			cpu = counts_trap(c, row, MODE_USER, i);
			cpu.count += counts_trap(c, row, MODE_KERNEL, i).count;
			table_number(&t, known, cpu.count / seconds);
		}
		snprintf(name, sizeof(name), "%s%s", row_name(row).text,
			 by_signal && !out->is_json ? " (with a signal)" : "");
		table_text(&t, name);
		table_number(&t, true, by_signal);
	}
	sort_rows(&t, o, -1);
	table_print(out, &t);
	rows = table_rows(&t);
	table_free(&t);
	return rows;
}

/**
 * print_missing - The traps that no source has, in a line
 * @out:	where to
 * @s:		the sources
 */
void print_missing(const struct output *out, const struct sources *s)
{
	if (IS_X86 && !s->traps && s->config->vector != ROW_PF && s->config->outcome == WANT_ANY &&
	    !out->is_json)
		fprintf(out->file, "other traps: %s, see --capabilities\n",
			s->traps_by_signal ? "only those that send a signal" : "not known");
}

static int print_interval(const struct output *out, struct counts *c, const struct sources *s,
			  struct options *o)
{
	static bool is_said;

	print_lost(out, c, o->verbose);
	print_traps(out, c, s, o, true);
	print_signals(out, c, s, true);
	if (o->is_first && (!is_said || screen_fd() >= 0))
		sources_say(out->file, s);
	else if (!is_said || screen_fd() >= 0)
		print_missing(out, s);
	is_said = true;
	return 0;
}

/**
 * view_traps - Show the table of traps, an interval after the other
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status
 */
int view_traps(struct sources *s, struct options *o)
{
	const struct column *all;
	int n;

	all = trap_columns(s, true, o->per_cpu, &n);
	if (!check_sort(o, all, n))
		return 2;
	return view_intervals(s, o, print_interval);
}
