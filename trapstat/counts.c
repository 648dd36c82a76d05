// SPDX-License-Identifier: GPL-2.0
/* Reads what the BPF programs have counted */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "counts.h"
#include "trapstat.skel.h"

/* The difference of COUNT since the reading before, which this one replaces */
static void since(unsigned long long *count, unsigned long long *before)
{
	unsigned long long now = *count;

	*count = now - *before;
	*before = now;
}

static void read_traps(struct counts *c, int map)
{
	struct trap_sum *sum, *before;

	for (unsigned int key = 0; key < ROWS * 2; key++) {
		sum = c->trap + key * c->cpus;
		before = c->trap_before + key * c->cpus;
		bpf_map_lookup_elem(map, &key, sum);
		for (int cpu = 0; cpu < c->cpus; cpu++) {
			since(&sum[cpu].count, &before[cpu].count);
			since(&sum[cpu].ns, &before[cpu].ns);
		}
	}
}

/* The sum over all CPUs of each element of an array of numbers */
static void read_numbers(int cpus, int map, unsigned int n, unsigned long long *number,
			 unsigned long long *before)
{
	unsigned long long each[cpus];

	for (unsigned int key = 0; key < n; key++) {
		number[key] = 0;
		if (!bpf_map_lookup_elem(map, &key, each))
			for (int cpu = 0; cpu < cpus; cpu++)
				number[key] += each[cpu];
		since(&number[key], &before[key]);
	}
}

/* A program that is preempted does not run for the next task */
static unsigned long long missed_calls(struct sources *s)
{
	struct bpf_program *program;
	unsigned long long n = 0;

	bpf_object__for_each_program(program, s->bpf->obj) {
		struct bpf_prog_info info = {};
		unsigned int size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			n += info.recursion_misses;
	}
	return n;
}

static int read_faults(struct counts *c, int map)
{
	struct fault_key key, next;
	struct fault_row *row;
	bool more;

	c->faults = 0;
	more = !bpf_map_get_next_key(map, NULL, &next);
	while (more) {
		key = next;
		if (c->faults == c->room) {
			c->room = c->room ? 2 * c->room : 64;
			row = realloc(c->fault, c->room * sizeof(*row));
			if (!row)
				return -1;
			c->fault = row;
		}
		row = &c->fault[c->faults];
		row->key = key;
		if (!bpf_map_lookup_elem(map, &key, &row->sum))
			c->faults++;
		row->sum.name[NAME - 1] = '\0';
		more = !bpf_map_get_next_key(map, &key, &next);
		bpf_map_delete_elem(map, &key);
	}
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct event *left = a, *right = b;

	return (left->ns < right->ns) - (left->ns > right->ns);
}

static int read_slowest(struct counts *c, int map, unsigned int key)
{
	struct slowest *each = calloc(c->cpus, sizeof(*each));
	struct event *all = calloc(c->cpus * SLOWEST, sizeof(*all));
	int n = 0;

	if (!each || !all) {
		free(each);
		free(all);
		return -1;
	}
	if (!bpf_map_lookup_elem(map, &key, each))
		for (int cpu = 0; cpu < c->cpus; cpu++)
			for (int i = 0; i < SLOWEST; i++)
				if (each[cpu].fault[i].ns)
					all[n++] = each[cpu].fault[i];
	qsort(all, n, sizeof(*all), by_ns);
	c->slows = n < SLOWEST ? n : SLOWEST;
	memcpy(c->slow, all, c->slows * sizeof(*all));
	memset(each, 0, c->cpus * sizeof(*each));
	bpf_map_update_elem(map, &key, each, BPF_ANY);
	free(each);
	free(all);
	return 0;
}

/**
 * counts_read - Read what was counted since the reading before
 * @c:	gets it
 * @s:	the sources
 *
 * Faults go into the other map from now on. Once that map is in place, the kernel has
 * waited for all programs that use this one, so it is whole.
 *
 * Return: 0, or -1 if there is no memory
 */
int counts_read(struct counts *c, struct sources *s)
{
	int outer = bpf_map__fd(s->bpf->maps.faults);
	int map[] = { bpf_map__fd(s->bpf->maps.faults_0), bpf_map__fd(s->bpf->maps.faults_1) };
	unsigned int zero = 0, used = s->map;
	struct timespec now;
	unsigned long long ns;

	s->map = !used;
	s->bpf->bss->generation = s->map;
	bpf_map_update_elem(outer, &zero, &map[s->map], BPF_ANY);
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	c->seconds = (ns - c->when) / 1e9;
	c->when = ns;
	read_traps(c, bpf_map__fd(s->bpf->maps.traps));
	read_numbers(c->cpus, bpf_map__fd(s->bpf->maps.signals), SIGNALS * CODES, c->signal,
		     c->signal_before);
	if (read_faults(c, map[used]) ||
	    read_slowest(c, bpf_map__fd(s->bpf->maps.slowest_faults), used)) {
		fprintf(stderr, "trapstat: out of memory\n");
		return -1;
	}
	read_numbers(c->cpus, bpf_map__fd(s->bpf->maps.losses), LOST_CALLS, c->lost,
		     c->lost_before);
	c->lost[LOST_CALLS] = missed_calls(s);
	since(&c->lost[LOST_CALLS], &c->lost_before[LOST_CALLS]);
	return 0;
}

/**
 * counts_init - Begin to read
 * @c:	for counts_read()
 * @s:	the sources
 *
 * What was counted up to now is forgotten.
 *
 * Return: 0, or -1 if there is no memory
 */
int counts_init(struct counts *c, struct sources *s)
{
	memset(c, 0, sizeof(*c));
	c->cpus = libbpf_num_possible_cpus();
	c->trap = calloc(c->cpus * ROWS * 2, sizeof(*c->trap));
	c->trap_before = calloc(c->cpus * ROWS * 2, sizeof(*c->trap));
	if (c->cpus < 1 || !c->trap || !c->trap_before)
		return -1;
	return counts_read(c, s);
}

/**
 * counts_age - How long ago the last reading was
 * @c:	of counts_read()
 *
 * Return: seconds
 */
double counts_age(const struct counts *c)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec * 1000000000ULL + now.tv_nsec - c->when) / 1e9;
}

/**
 * counts_free - End to read
 * @c:	of counts_init()
 */
void counts_free(struct counts *c)
{
	free(c->trap);
	free(c->trap_before);
	free(c->fault);
}

/**
 * counts_trap - The traps of a row of the table
 * @c:		of counts_read()
 * @row:	enum row
 * @mode:	MODE_USER or MODE_KERNEL
 * @cpu:	a CPU, or -1 for all of them
 *
 * Return: their number and time
 */
struct trap_sum counts_trap(const struct counts *c, int row, int mode, int cpu)
{
	const struct trap_sum *each = c->trap + (row * 2 + mode) * c->cpus;
	struct trap_sum sum = {};

	if (cpu >= 0)
		return each[cpu];
	for (cpu = 0; cpu < c->cpus; cpu++) {
		sum.count += each[cpu].count;
		sum.ns += each[cpu].ns;
	}
	return sum;
}

/**
 * has_trap - Whether a fault is a trap that exceptions:page_fault_* has counted, too
 * @key:	kind of fault
 */
bool has_trap(const struct fault_key *key)
{
	return key->mode != MODE_NONE && key->outcome != BEGUN;
}

/**
 * sum_add - Add two sums of faults
 * @to:		one, and the result
 * @sum:	the other
 */
void sum_add(struct fault_sum *to, const struct fault_sum *sum)
{
	to->count += sum->count;
	to->ns += sum->ns;
	if (sum->max > to->max)
		to->max = sum->max;
	for (int i = 0; i < BUCKETS; i++)
		to->bucket[i] += sum->bucket[i];
	if (!to->name[0])
		memcpy(to->name, sum->name, NAME);
}

/* The middle of a bucket, see bucket_of() */
static unsigned long long middle(unsigned int bucket)
{
	unsigned int log = bucket / 4 + 1;

	if (bucket < 4)
		return bucket;
	return ((4ULL + bucket % 4) << (log - 2)) + (1ULL << (log - 2)) / 2;
}

/**
 * sum_percentile - How long at most a share of the faults took
 * @sum:	these faults
 * @share:	0.5 for the median
 *
 * Return: ns, up to an eighth more or less
 */
unsigned long long sum_percentile(const struct fault_sum *sum, double share)
{
	unsigned long long n = 0, seen = 0, want;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++)
		n += sum->bucket[i];
	want = n * share;
	for (i = 0; i < BUCKETS; i++) {
		seen += sum->bucket[i];
		if (seen > want)
			break;
	}
	if (!n || i == BUCKETS)
		return sum->max;
	return middle(i) < sum->max ? middle(i) : sum->max;
}
