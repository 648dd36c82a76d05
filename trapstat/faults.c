// SPDX-License-Identifier: GPL-2.0
/* trapstat faults: page faults by process, thread, cgroup or file */
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "print.h"
#include "screen.h"
#include "views.h"

/* Of a process, or what else they are counted by */
struct group {
	unsigned long long id;
	unsigned int dev;
	unsigned long long begun, reached, minor, major, other, kind[4], cow, swapin, refault;
	unsigned long long named;	/* by so many faults */
	char name[NAME_SIZE];
	struct fault_sum sum;
};

static int by_id(const void *a, const void *b)
{
	const struct fault_key *left = a, *right = b;

	if (left->dev != right->dev)
		return left->dev < right->dev ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

static unsigned long long all_of(const struct group *g)
{
	return g->sum.count + (g->begun > g->reached ? g->begun - g->reached : 0);
}

static void add_row(struct group *g, const struct fault_row *row)
{
	unsigned long long n = row->sum.count;
	unsigned int flags = row->key.flags;

	/* Some kinds of faults occur only before exec, when the process has another name */
	if (row->sum.name[0] && n > g->named) {
		g->named = n;
		memcpy(g->name, row->sum.name, NAME_SIZE);
	}
	if (row->key.outcome == OUTCOME_REACHED) {
		g->reached += n;
		return;
	}
	if (row->key.outcome == OUTCOME_BEGUN) {
		g->begun += n;
		return;
	}
	if (row->key.outcome == OUTCOME_MINOR)
		g->minor += n;
	else if (row->key.outcome == OUTCOME_MAJOR)
		g->major += n;
	else
		g->other += n;
	for (int i = 0; i < 4; i++)
		g->kind[i] += flags & 1 << i ? n : 0;
	g->cow += flags & FLAG_COW ? n : 0;
	g->swapin += flags & FLAG_SWAPIN ? n : 0;
	g->refault += flags & FLAG_REFAULT ? n : 0;
	sum_add(&g->sum, &row->sum);
}

static void add_group(struct group *to, const struct group *g)
{
	to->begun += g->begun;
	to->reached += g->reached;
	to->minor += g->minor;
	to->major += g->major;
	to->other += g->other;
	for (int i = 0; i < 4; i++)
		to->kind[i] += g->kind[i];
	to->cow += g->cow;
	to->swapin += g->swapin;
	to->refault += g->refault;
	sum_add(&to->sum, &g->sum);
}

#define COLUMNS(id, id_key, id_rank, name, name_key, least) {				\
	{ id, id_key, CELL_COUNT, id_rank },						\
	{ "FAULTS/s", "faults_per_s", CELL_RATE, 0 },					\
	{ "TIME%", "time_percent", CELL_PERCENT, 2 },					\
	{ "MEDIAN", "median_ns", CELL_NS, 3 }, { "P99", "p99_ns", CELL_NS, 4 },		\
	{ "LONGEST", "longest_ns", CELL_NS, 5 },					\
	{ "MINOR/s", "minor_per_s", CELL_RATE, 9 },					\
	{ "MAJOR/s", "major_per_s", CELL_RATE, 6 },					\
	{ "OTHER/s", "other_per_s", CELL_RATE, 7 },					\
	{ "ANON/s", "anon_per_s", CELL_RATE, 10 }, { "FILE/s", "file_per_s", CELL_RATE, 11 }, \
	{ "SHMEM/s", "shmem_per_s", CELL_RATE, 12 },					\
	{ "HUGETLB/s", "hugetlb_per_s", CELL_RATE, 13 },				\
	{ "COW/s", "cow_per_s", CELL_RATE, 14 }, { "SWAPIN/s", "swapin_per_s", CELL_RATE, 8 }, \
	{ "REFAULT/s", "refault_per_s", CELL_RATE, 8 },					\
	WAIT_COLUMN("OFF-CPU%", "off_cpu_percent"), WAIT_COLUMN("IO%", "io_percent"),	\
	WAIT_COLUMN("RECLAIM%", "reclaim_percent"),					\
	WAIT_COLUMN("COMPACT%", "compaction_percent"),					\
	WAIT_COLUMN("LOCK%", "mmap_lock_percent"), WAIT_COLUMN("UFFD%", "uffd_percent"),	\
	WAIT_COLUMN("PREEMPT%", "preempted_percent"), WAIT_COLUMN("OTHER%", "other_percent"),	\
	{ name, name_key, CELL_TEXT, 0, least },					\
}

enum { COLUMN_RATE = 1, COLUMNS = 17 + WAIT_CELLS };

static const struct column all_columns[][COLUMNS] = {
	[BY_NOTHING] = COLUMNS("PID", "pid", 0, "COMM", "comm", 15),
	[BY_PROCESS] = COLUMNS("PID", "pid", 0, "COMM", "comm", 15),
	[BY_THREAD] = COLUMNS("TID", "tid", 0, "COMM", "comm", 15),
	[BY_CGROUP] = COLUMNS("CGROUP", "cgroup", 15, "PATH", "path", 30),
	[BY_FILE] = COLUMNS("INODE", "inode", 15, "FILE", "file", 24),
};

static const char * const types[] = { "process", "process", "thread", "cgroup", "file" };

static void add_cells(struct table *t, const struct group *g, bool has_id, const char *name,
		      const struct counts *c, const struct sources *s)
{
	bool ends = knows_ends(s), timed = knows_durations(s) && g->sum.max;
	bool kinds = knows_kinds(s), copies = knows_copies(s);
	unsigned long long all = all_of(g);
	double seconds = c->seconds;

	table_number(t, has_id, g->id);
	table_number(t, true, all / seconds);
	table_number(t, knows_durations(s), g->sum.ns / seconds / 1e7);
	table_number(t, timed, sum_percentile(&g->sum, 0.5));
	table_number(t, timed, sum_percentile(&g->sum, 0.99));
	table_number(t, timed, g->sum.max);
	table_number(t, ends, g->minor / seconds);
	table_number(t, ends, g->major / seconds);
	table_number(t, ends, (g->other + (all - g->sum.count)) / seconds);
	for (int i = 0; i < 4; i++)
		table_number(t, kinds, g->kind[i] / seconds);
	table_number(t, copies, g->cow / seconds);
	table_number(t, copies, g->swapin / seconds);
	table_number(t, s->refaults, g->refault / seconds);
	add_waits(t, s, g->sum.wait, seconds * 1e7);
	table_text(t, name);
}

static const char *name_of(const struct group *g, enum by by)
{
	if (by == BY_CGROUP)
		return group_name(g->id);
	return by == BY_FILE && !g->id ? "[no file]" : g->name;
}

static int group_rows(struct group *groups, struct counts *c)
{
	int n = -1;

	qsort(c->fault, c->faults, sizeof(*c->fault), by_id);
	for (size_t i = 0; i < c->faults; i++) {
		if (n < 0 || by_id(&c->fault[i - 1].key, &c->fault[i].key)) {
			n++;
			groups[n].id = c->fault[i].key.id;
			groups[n].dev = c->fault[i].key.dev;
		}
		add_row(&groups[n], &c->fault[i]);
	}
	return n + 1;
}

/* Of the stack of a slow fault, with -S on a terminal */
enum { FRAMES = 8 };

/* Losses, a row for each group, a total and the slowest faults: as many as fit */
static int print_faults(const struct output *out, struct counts *c, const struct sources *s,
			struct options *o)
{
	struct group *groups = calloc(c->faults + 1, sizeof(*groups)), total = {};
	int rows = o->rows < 0 ? 20 : o->rows ? o->rows : c->faults, slow = SLOWEST, n;
	enum by by = o->config.by;
	char name[64] = "total";
	struct table t;

	if (!groups) {
		fprintf(stderr, "trapstat: out of memory\n");
		return -1;
	}
	n = group_rows(groups, c);
	table_init(&t, types[by], all_columns[by], COLUMNS);
	for (int i = 0; i < n; i++) {
		add_group(&total, &groups[i]);
		add_cells(&t, &groups[i], by != BY_FILE || groups[i].id,
			  name_of(&groups[i], by), c, s);
	}
	free(groups);
	sort_rows(&t, o, COLUMN_RATE);
	/* Losses, head and total take a line each; the slowest faults, two more */
	if (out->height) {
		slow = out->height < 22 ? 3 : out->height < 36 ? 5 : SLOWEST;
		if (o->config.stacks)
			slow = out->height < 36 ? 1 : 3;
		slow = c->slows < slow ? c->slows : slow;
		if (o->rows < 0)
			rows = out->height - 3 - (slow ? slow + 2 : 0) -
			       (o->config.stacks ? slow * (2 + FRAMES) : 0);
		rows = rows < 1 ? 1 : rows;
	}
	table_cut(&t, rows);
	if (table_rows(&t) < n)
		snprintf(name, sizeof(name), "total of %d", n);
	print_lost(out, c, o->verbose);
	if (out->is_json) {
		table_print(out, &t);
		table_free(&t);
		t.type = "total";
	}
	add_cells(&t, &total, false, name, c, s);
	table_print(out, &t);
	table_free(&t);
	print_slowest(out, c, s, slow, out->height ? FRAMES : 0);
	return 0;
}

static int print_durations(const struct output *out, struct counts *c, const struct sources *s,
			   struct options *o)
{
	print_lost(out, c, o->verbose);
	print_histograms(out, c, s, screen_fd() < 0 ? 0 : out->height - 1);
	return 0;
}

/**
 * view_faults - Show the page faults of each process, an interval after the other
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status
 */
int view_faults(struct sources *s, struct options *o)
{
	if (o->config.by == BY_CGROUP && !group_root())
		fputs("trapstat: cgroup v2 is not mounted; -g cannot show others\n", stderr);
	if (!check_sort(o, all_columns[o->config.by], COLUMNS))
		return 2;
	return view_intervals(s, o, o->is_histogram ? print_durations : print_faults);
}
