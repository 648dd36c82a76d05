// SPDX-License-Identifier: GPL-2.0
/* trapstat faults: page faults by process, thread, cgroup or file */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "print.h"
#include "symbols.h"
#include "trapstat.skel.h"
#include "views.h"

#define FILEID_KERNFS	0xfe	/* include/linux/exportfs.h */

/* Of a process, or what else they are counted by */
struct group {
	unsigned long long id;
	unsigned int dev;
	unsigned long long begun, reached, minor, major, other, kind[4], cow, swapin;
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

static int by_number(const void *a, const void *b)
{
	unsigned long long left = all_of(a), right = all_of(b);

	return (left < right) - (left > right);
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
	sum_add(&to->sum, &g->sum);
}

static void print_head(FILE *out, enum by by)
{
	static const char * const names[] = { "", "PID", "TID", "CGROUP", "INODE" };

	fprintf(out, "%10s %-16s %9s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n",
		names[by], by == BY_FILE ? "FILE" : by == BY_CGROUP ? "PATH" : "COMM", "FAULTS/s",
		"MINOR", "MAJOR", "OTHER", "ANON", "FILE", "SHMEM", "HUGETLB", "COW", "SWAPIN",
		"MEDIAN", "P99", "LONGEST", "TIME");
}

static void print_group(FILE *out, const struct group *g, const char *id, const char *name,
			const struct counts *c, const struct sources *s)
{
	unsigned long long all = all_of(g);
	bool ends = knows_ends(s), timed = knows_durations(s) && g->sum.max;
	double other = g->other + (all - g->sum.count);
	const unsigned long long what[] = { g->minor, g->major, other };

	fprintf(out, "%10s ", id);
	print_plain(out, 16, name, 256);
	fprintf(out, " %9.*f", all < 10 * c->seconds && all ? 1 : 0, all / c->seconds);
	for (int i = 0; i < 3; i++)
		fprintf(out, " %8s", text_number(ends, what[i]).text);
	for (int i = 0; i < 4; i++)
		fprintf(out, " %8s", text_number(knows_kinds(s), g->kind[i]).text);
	fprintf(out, " %8s %8s", text_number(knows_copies(s), g->cow).text,
		text_number(knows_copies(s), g->swapin).text);
	fprintf(out, " %8s %8s %8s", timed ? text_ns(sum_percentile(&g->sum, 0.5)).text : "-",
		timed ? text_ns(sum_percentile(&g->sum, 0.99)).text : "-",
		timed ? text_ns(g->sum.max).text : "-");
	if (knows_durations(s))
		fprintf(out, " %7.2f%%\n", g->sum.ns / c->seconds / 1e7);
	else
		fprintf(out, " %8s\n", "-");
}

/**
 * group_root - Where the control groups of version 2 are, or NULL
 */
const char *group_root(void)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	static char path[256];
	struct mntent *mount;

	while (f && !path[0] && (mount = getmntent(f)))
		if (!strcmp(mount->mnt_type, "cgroup2"))
			copy(path, sizeof(path), mount->mnt_dir);
	if (f)
		endmntent(f);
	return path[0] ? path : NULL;
}

/* The number of a control group is what a handle of its folder has */
static const char *group_name(unsigned long long id)
{
	static char path[256];
	struct {
		struct file_handle handle;
		unsigned char id[8];
	} h = { .handle = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	const char *folder = group_root();
	int root = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, fd;
	size_t size = folder ? strlen(folder) : 0;
	char link[64];
	ssize_t n = -1;

	memcpy(h.handle.f_handle, &id, sizeof(id));
	fd = root < 0 ? -1 : open_by_handle_at(root, &h.handle, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, sizeof(path) - 1);
		close(fd);
	}
	if (root >= 0)
		close(root);
	path[n > 0 ? n : 0] = '\0';
	if (n <= 0 || strncmp(path, folder, size))
		return "";
	return path[size] ? path + size : "/";
}

static const char *name_of(const struct group *g, enum by by)
{
	if (by == BY_CGROUP)
		return group_name(g->id);
	return by == BY_FILE && !g->id ? "[no file]" : g->name;
}

static int print_faults(FILE *out, struct counts *c, const struct sources *s,
			const struct options *o)
{
	struct group *groups = calloc(c->faults + 1, sizeof(*groups)), total = {};
	enum by by = o->config.by;
	int n = -1, rows;

	if (!groups) {
		fprintf(stderr, "trapstat: out of memory\n");
		return -1;
	}
	qsort(c->fault, c->faults, sizeof(*c->fault), by_id);
	for (size_t i = 0; i < c->faults; i++) {
		if (n < 0 || by_id(&c->fault[i - 1].key, &c->fault[i].key)) {
			n++;
			groups[n].id = c->fault[i].key.id;
			groups[n].dev = c->fault[i].key.dev;
		}
		add_row(&groups[n], &c->fault[i]);
	}
	n++;
	qsort(groups, n, sizeof(*groups), by_number);
	rows = o->rows && o->rows < n ? o->rows : n;
	print_lost(out, c, o->verbose);
	print_head(out, by);
	for (int i = 0; i < n; i++) {
		struct group *g = &groups[i];

		add_group(&total, g);
		if (i < rows)
			print_group(out, g, text_number(by != BY_FILE || g->id, g->id).text,
				    name_of(g, by), c, s);
	}
	if (rows < n)
		fprintf(out, "%10s and %d more\n", "", n - rows);
	print_group(out, &total, "", "total", c, s);
	print_slowest(out, c, s, SLOWEST);
	fputc('\n', out);
	free(groups);
	return 0;
}

/**
 * view_faults - Show the page faults of each process, an interval after the other
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status
 */
int view_faults(struct sources *s, const struct options *o)
{
	if (o->config.by == BY_CGROUP && !group_root())
		fputs("trapstat: no control groups of version 2 are mounted; -g has no others\n",
		      stderr);
	return view_intervals(s, o, print_faults);
}

static bool detached;

static int on_slow(void *context, void *data, size_t size)
{
	struct event event;

	if (size < sizeof(event))
		return 0;
	event = *(struct event *)data;
	locate_event(&event);
	print_slow(stdout, &event, context);
	/* They may come faster than they are printed: no poll would end then */
	return ended && !detached ? -1 : 0;
}

/**
 * view_slow - Print each slow fault as it happens
 * @s:	the sources
 * @o:	the options
 *
 * Return: the exit status
 */
int view_slow(struct sources *s, const struct options *o)
{
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.events), on_slow, s,
						    NULL);
	unsigned long long lost = 0;
	double last = 0, age;
	struct counts c;

	if (!ring || counts_init(&c, s)) {
		fprintf(stderr, "trapstat: out of memory\n");
		return 1;
	}
	print_slow_head(stdout);
	fflush(stdout);
	while (!ended && !has_gone(o) && (!o->count || counts_age(&c) < o->interval * o->count)) {
		ring_buffer__poll(ring, 100);
		age = counts_age(&c);
		if (age - last >= 1) {
			last = age;
			if (counts_end(&c, s))
				break;
		}
		/* As soon as it grows */
		if (lost_of(&c) + skipped_of(&c) != lost) {
			lost = lost_of(&c) + skipped_of(&c);
			print_lost(stdout, &c, false);
		}
		if (ferror(stdout) || fflush(stdout))
			break;
	}
	counts_end(&c, s);
	sources_detach(s);
	detached = true;
	ring_buffer__consume(ring);
	print_lost(stdout, &c, o->verbose);
	counts_free(&c);
	ring_buffer__free(ring);
	return flush_stdout();
}
