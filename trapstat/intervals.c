// SPDX-License-Identifier: GPL-2.0
/* The loop of all views that print counts, an interval after the other */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "perf.h"
#include "print.h"
#include "screen.h"
#include "trapstat.skel.h"
#include "views.h"

/* The processes of -p, by pidfd_open(), and behind them the keys */
static struct pollfd watched[MOST_PIDS + 1];
static int pids, left;

/**
 * watch_pid - End the view when this process and all others of -p have ended
 * @pid:	the process
 *
 * Return: false if there is none
 */
bool watch_pid(unsigned int pid)
{
	watched[pids].fd = syscall(SYS_pidfd_open, pid, 0);
	watched[pids].events = POLLIN;
	if (watched[pids].fd < 0)
		return false;
	pids++;
	left++;
	return true;
}

/* Whether the processes of -p have ended, with a message for each */
static bool has_gone(struct sources *s, struct options *o)
{
	/* A zombie has ended, too */
	/* All have ended before */
	if (!pids || !left)
		return pids > 0;
	if (poll(watched, pids, 0) < 1)
		return false;
	for (int i = 0; i < pids; i++) {
		if (watched[i].fd < 0 || !watched[i].revents)
			continue;
		close(watched[i].fd);
		watched[i].fd = -1;
		left--;
		if (!left)
			screen_end();
		if (screen_fd() < 0)
			fprintf(stderr, "trapstat: process %u has ended\n", o->pid[i]);
		/* Another process may get its number */
		bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.pids), &o->pid[i]);
		o->pid[i] = NO_PID;
	}
	return !left;
}

/**
 * is_over - Whether a signal, --duration or the end of the processes of -p ends the view
 * @s:	the sources
 * @o:	the options
 */
bool is_over(struct sources *s, struct options *o)
{
	return ended || (o->until && now_ns() >= o->until) || has_gone(s, o);
}

/**
 * next_interval - Whether there is another interval
 * @s:	the sources
 * @o:	the options
 * @n:	the intervals so far
 *
 * Return: false if there is none left, or if a signal has come
 */
bool next_interval(struct sources *s, struct options *o, long *n)
{
	if ((o->count && *n == o->count) || is_over(s, o))
		return false;
	(*n)++;
	return true;
}

/* Seconds to the end of the interval, or of --duration */
static double left_of(const struct counts *c, const struct options *o)
{
	double left = o->interval - counts_age(c), of_all;

	of_all = o->until ? ((double)o->until - now_ns()) / 1e9 : left;
	return left < of_all ? left : of_all;
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
int read_interval(struct counts *c, struct sources *s, struct options *o)
{
	struct timespec rest = {};
	bool has_ended = false;
	double left;

	counts_next(c);
	watched[pids] = (struct pollfd){ .fd = screen_fd(), .events = POLLIN };
	while (!ended && !has_ended && (left = left_of(c, o)) > 0) {
		if ((o->config.by || s->perf) && left > 0.25)
			left = 0.25;
		rest.tv_sec = left;
		rest.tv_nsec = (left - rest.tv_sec) * 1e9;
		has_ended = ppoll(watched, pids + 1, &rest, NULL) > 0 &&
			(watched[pids].revents || !o->count || has_gone(s, o));
		perf_reopen(s);
		if (o->config.by && counts_read(c, s))
			return -1;
	}
	return counts_end(c, s);
}

/**
 * check_sort - Whether a table has the column of --sort, with a message
 * @o:		the options
 * @columns:	the columns
 * @n:		how many there are
 */
bool check_sort(const struct options *o, const struct column *columns, int n)
{
	if (!o->sort || table_column(columns, n, o->sort) >= 0)
		return true;
	fprintf(stderr, "trapstat: unknown column '%s'; this view has", o->sort);
	for (int i = 0; i < n; i++)
		if (columns[i].head)
			fprintf(stderr, " %s", columns[i].head);
	fputc('\n', stderr);
	return false;
}

/**
 * sort_rows - Sort a table as --sort or the key s asks for
 * @t:		the table
 * @o:		the options
 * @usual:	the column to sort by, if they do not; -1: leave the rows where they are
 */
void sort_rows(struct table *t, struct options *o, int usual)
{
	int column = o->sort ? table_column(t->column, t->columns, o->sort) : -1;

	/* A command has two tables */
	if (column < 0)
		column = usual;
	if (o->sort_next)
		column = table_next(t, column);
	o->sort_next = false;
	if (column < 0)
		return;
	o->sort = t->column[column].head;
	table_sort(t, column);
}

static void print_stamped(const char *text, const char *stamp)
{
	for (size_t n; *text; text += n) {
		n = strcspn(text, "\n") + 1;
		printf("%s%.*s", n > 1 ? stamp : "", (int)n, text);
	}
	putchar('\n');
}

static const char help[] =
	"\nFAULTS/s  faults per second; those that ended as MINOR, MAJOR or OTHER\n"
	"TIME%     time in faults, with waiting; of all CPUs for traps\n"
	"MEDIAN P99 LONGEST  duration of half of the faults, of 99 of 100, of all\n"
	"ANON FILE SHMEM HUGETLB  kind of memory; COW copies, SWAPIN reads from swap\n"
	"lost      not counted; man trapstat says why\n"
	"Keys: q quit, s sort by the next column, h this help; faults by\n"
	"p process, t thread, g control group, f file; v traps, by vector\n";

struct view {
	const struct sources *s;
	struct options *o;
	int (*print)(const struct output *out, struct counts *c, const struct sources *s,
		     struct options *o);
	bool is_live, is_helped, is_repeated;
};

/* Whether the view goes on */
static bool obey(struct view *v)
{
	int key = screen_key();

	if (key == 'q') {
		ended = 1;
	} else if (key == 's' && !v->o->is_histogram && !v->is_helped) {
		v->o->sort_next = true;
	} else if (key == 'h') {
		v->is_helped = !v->is_helped;
	} else if (key && strchr("ptgfv", key)) {
		v->o->key = key;
		return false;
	}
	return true;
}

static int show_counts(struct view *v, struct counts *c, const char *stamp)
{
	struct output out = {
		.is_json = v->o->is_json, .time = now_real(), .seconds = c->seconds,
		.is_repeated = v->is_repeated,
	};
	char *text = NULL, last[128];
	size_t size;
	int status;

	out.file = open_memstream(&text, &size);
	if (!out.file)
		return 1;
	screen_size(&out, STDOUT_FILENO);
	out.width -= out.width ? strlen(stamp) : 0;
	out.height -= out.height ? 1 : 0;
	if (v->is_helped)
		fputs(help, out.file);
	status = v->is_helped ? 0 : v->print(&out, c, v->s, v->o);
	v->is_repeated = true;
	fclose(out.file);
	if (!status && v->is_live) {
		snprintf(last, sizeof(last),
			 " q quit%s%s%s  h help  p process t thread g cgroup f file v traps",
			 v->o->is_histogram ? "" : "  s sort", v->o->sort ? " by " : "",
			 v->o->sort ?: "");
		status = screen_show(text, last);
	} else if (!status) {
		if (out.is_json)
			fputs(text, stdout);
		else
			print_stamped(text, stamp);
		status = flush_stdout();
	}
	free(text);
	return status;
}

/**
 * view_intervals - Print the counts, an interval after the other, and the average of COUNT
 * @s:		the sources
 * @o:		the options
 * @print:	prints the counts of an interval; not 0 ends the view
 *
 * Return: the exit status
 */
int view_intervals(struct sources *s, struct options *o,
		   int (*print)(const struct output *out, struct counts *c,
				const struct sources *s, struct options *o))
{
	bool scrolls = o->count || o->is_batch || o->is_json || o->has_stamps;
	struct view v = { .s = s, .o = o, .print = print, .is_live = !scrolls && screen_begin() };
	struct output begin = { .file = stdout, .is_json = o->is_json, .time = now_real() };
	struct counts c, total = {};
	int status = counts_init(&c, s) ? 1 : 0;
	char stamp[16] = "";
	time_t now;
	long n = 0;

	print_begin(&begin, s);
	while (!status && obey(&v) && next_interval(s, o, &n)) {
		if (read_interval(&c, s, o) || (o->count > 1 && counts_add(&total, &c))) {
			status = 1;
			break;
		}
		now = time(NULL);
		if (o->has_stamps)
			strftime(stamp, sizeof(stamp), "%H:%M:%S  ", localtime(&now));
		status = show_counts(&v, &c, stamp);
	}
	if (!status && n > 1 && n == o->count && !o->is_json)
		status = show_counts(&v, &total, "Average:  ");
	counts_free(&c);
	counts_free(&total);
	return status;
}
