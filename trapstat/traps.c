// SPDX-License-Identifier: GPL-2.0
/* trapstat [interval [count]]: the table of traps */
#include <unistd.h>

#include "print.h"
#include "views.h"

static void print_rate(FILE *out, bool known, unsigned long long n, double seconds)
{
	if (!known)
		fprintf(out, " %10s", "-");
	else if (seconds)
		fprintf(out, " %10.*f", n && n < 10 * seconds ? 1 : 0, n / seconds);
	else
		fprintf(out, " %10llu", n);
}

/**
 * print_traps - The table of traps
 * @out:	where to
 * @c:		of counts_read()
 * @s:		the sources
 * @rates:	per second, with the share of the time of all CPUs; else the numbers
 * @per_cpu:	with a column for each CPU
 */
void print_traps(FILE *out, const struct counts *c, const struct sources *s, bool rates,
		 bool per_cpu)
{
	double seconds = rates ? c->seconds : 0;
	double all = c->seconds * (rates ? sysconf(_SC_NPROCESSORS_ONLN) : 1) * 1e7;
	unsigned int vector = s->config->vector, mode = s->config->mode;
	struct trap_sum user, kernel, cpu;
	bool known, by_signal, has_user;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	/* A machine may have far fewer CPUs than are possible */
	if (!per_cpu || cpus > c->cpus)
		cpus = per_cpu ? c->cpus : 0;
	fprintf(out, "%-11s %10s %10s %8s", "TRAP", rates ? "user/s" : "user",
		rates ? "kernel/s" : "kernel", "TIME");
	for (int i = 0; i < cpus; i++)
		fprintf(out, " %*scpu%d", i < 10 ? 6 : i < 100 ? 5 : 4, "", i);
	fputc('\n', out);
	for (int row = 0; row < ROWS; row++) {
		user = counts_trap(c, row, MODE_USER, -1);
		kernel = counts_trap(c, row, MODE_KERNEL, -1);
		if (!user.count && !kernel.count && (row != ROW_PF || vector != WANT_ANY))
			continue;
		fprintf(out, "%-11s", row_name(row).text);
		known = row != ROW_PF || s->begins || knows_ends(s);
		has_user = known && row != ROW_NMI && row != ROW_MCE;
		print_rate(out, has_user && mode != MODE_KERNEL, user.count, seconds);
		by_signal = s->traps_by_signal && row != ROW_PF && row != ROW_NMI && row != ROW_MCE;
		print_rate(out, known && !by_signal && mode != MODE_USER, kernel.count, seconds);
		if (knows_time(s, row))
			fprintf(out, " %7.2f%%", (user.ns + kernel.ns) / all);
		else
			fprintf(out, " %8s", "-");
		for (int i = 0; i < cpus; i++) {
			cpu = counts_trap(c, row, MODE_USER, i);
			cpu.count += counts_trap(c, row, MODE_KERNEL, i).count;
			print_rate(out, known, cpu.count, seconds);
		}
		fputs(by_signal ? "  with a signal\n" : "\n", out);
	}
}

/**
 * print_missing - The traps that no source has, in a line
 * @out:	where to
 * @s:		the sources
 */
void print_missing(FILE *out, const struct sources *s)
{
	if (IS_X86 && !s->traps && s->config->vector != ROW_PF && s->config->outcome == WANT_ANY)
		fprintf(out, "other traps: not known%s, see trapstat --capabilities\n",
			s->traps_by_signal ? " without a signal" : "");
}

static int print_interval(FILE *out, struct counts *c, const struct sources *s,
			  const struct options *o)
{
	static bool is_said;

	print_lost(out, c, o->verbose);
	print_traps(out, c, s, true, o->per_cpu);
	print_signals(out, c, s);
	/* Once, as a terminal that is redrawn has it */
	if (!is_said || is_redrawn())
		print_missing(out, s);
	is_said = true;
	fputc('\n', out);
	return 0;
}

/**
 * view_traps - Show the table of traps, an interval after the other
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status
 */
int view_traps(struct sources *s, const struct options *o)
{
	return view_intervals(s, o, print_interval);
}
