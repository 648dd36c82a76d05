// SPDX-License-Identifier: GPL-2.0
/* trapstat [interval [count]]: the table of traps */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <time.h>
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
	bool known, has_user;
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
		if (!user.count && !kernel.count && (row != ROW_PF || vector != ANY))
			continue;
		fprintf(out, "%-11s", row_name(row).text);
		known = row != ROW_PF || s->begins || knows_ends(s);
		has_user = known && row != ROW_NMI && row != ROW_MCE;
		print_rate(out, has_user && mode != MODE_KERNEL, user.count, seconds);
		print_rate(out, known && mode != MODE_USER, kernel.count, seconds);
		if (knows_time(s, row))
			fprintf(out, " %7.2f%%", (user.ns + kernel.ns) / all);
		else
			fprintf(out, " %8s", "-");
		for (int i = 0; i < cpus; i++) {
			cpu = counts_trap(c, row, MODE_USER, i);
			cpu.count += counts_trap(c, row, MODE_KERNEL, i).count;
			print_rate(out, known, cpu.count, seconds);
		}
		fputc('\n', out);
	}
	if (!s->traps && vector != ROW_PF)
		fprintf(out, "%-11s %10s %10s %8s\n", "others", "-", "-", "-");
}

/**
 * has_gone - Whether the process of -p has ended, with a message
 * @o:	the options
 */
bool has_gone(const struct options *o)
{
	struct pollfd process = { .fd = o->pidfd, .events = POLLIN };

	/* A zombie has ended, too */
	if (poll(&process, 1, 0) < 1)
		return false;
	fprintf(stderr, "trapstat: process %u has ended\n", o->config.pid);
	return true;
}

/**
 * next_interval - Whether there is another interval
 * @o:	the options
 * @n:	the intervals so far
 *
 * Return: false if there is none left, or if a signal has come
 */
bool next_interval(const struct options *o, long *n)
{
	if (ended || (o->count && *n == o->count))
		return false;
	if (has_gone(o))
		return false;
	(*n)++;
	return true;
}

/**
 * read_interval - Read what is counted in an interval
 * @c:	gets it
 * @s:	the sources
 * @o:	the options
 *
 * With many processes, it reads often, so that the maps of the kernel do not fill up.
 *
 * Return: 0, or -1 if there is no memory
 */
int read_interval(struct counts *c, struct sources *s, const struct options *o)
{
	struct pollfd process = { .fd = o->pidfd, .events = POLLIN };
	struct timespec rest = {};
	bool is_over = false;
	double left;

	counts_next(c);
	while (!ended && !is_over && (left = o->interval - counts_age(c)) > 0) {
		if (o->config.by && left > 0.25)
			left = 0.25;
		rest.tv_sec = left;
		rest.tv_nsec = (left - rest.tv_sec) * 1e9;
		is_over = ppoll(&process, 1, &rest, NULL) > 0;
		if (o->config.by && counts_read(c, s))
			return -1;
	}
	return counts_end(c, s);
}

/**
 * view_intervals - Print the counts, an interval after the other
 * @s:		the sources
 * @o:		the options
 * @print:	prints the counts of an interval; not 0 ends the view
 *
 * Return: the exit status
 */
int view_intervals(struct sources *s, const struct options *o,
		   int (*print)(FILE *out, struct counts *c, const struct sources *s,
				const struct options *o))
{
	struct counts c;
	int status = counts_init(&c, s) ? 1 : 0;
	size_t size;
	char *text;
	FILE *out;
	long n = 0;

	while (!status && next_interval(o, &n)) {
		out = open_memstream(&text, &size);
		if (read_interval(&c, s, o) || print(out, &c, s, o))
			status = 1;
		fclose(out);
		if (!status)
			status = screen_show(text);
		free(text);
	}
	counts_free(&c);
	return status;
}

static int print_interval(FILE *out, struct counts *c, const struct sources *s,
			  const struct options *o)
{
	print_lost(out, c, o->verbose);
	print_traps(out, c, s, true, o->per_cpu);
	print_signals(out, c, s);
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
