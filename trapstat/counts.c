// SPDX-License-Identifier: GPL-2.0
/* Reads what the BPF programs have counted */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "buckets.h"
#include "counts.h"
#include "perf.h"
#include "symbols.h"
#include "trapstat.skel.h"
#include "util.h"

/**
 * counts_age - How long ago the interval began
 * @c:	of counts_next()
 *
 * Return: seconds
 */
double counts_age(const struct counts *c)
{
	return (now_ns() - c->begin) / 1e9;
}

/* As many rows of faults as there may be, with 0.7 KB each */
enum { MOST_ROWS = 1 << 17 };

/* The sum over all CPUs of each of the numbers at an offset in struct cpu_counts */
static void read_numbers(const struct sources *s, size_t offset, unsigned int n,
			 unsigned long long *number, unsigned long long *before)
{
	unsigned long long now;

	for (unsigned int i = 0; i < n; i++) {
		now = 0;
		for (int cpu = 0; cpu < s->cpus; cpu++)
			now += ((unsigned long long *)((char *)&s->count[cpu] + offset))[i];
		number[i] += now - before[i];
		before[i] = now;
	}
}

static void read_traps(struct counts *c, const struct sources *s)
{
	for (int cpu = 0; cpu < s->cpus; cpu++) {
		const struct trap_sum *now = &s->count[cpu].trap[0][0];

		for (int i = 0; i < ROWS * 2; i++) {
			struct trap_sum *sum = &c->trap[i * s->cpus + cpu];
			struct trap_sum *before = &c->trap_before[i * s->cpus + cpu];

			sum->count += now[i].count - before->count;
			sum->ns += now[i].ns - before->ns;
			*before = now[i];
		}
	}
}

/* What a program counts: a skip of the others loses an event */
static unsigned long long *skips_of(struct skips *skips, const char *program,
				    const struct config *config)
{
	if (!strncmp(program, "why_", 4))
		return &skips->waits;
	if (!strcmp(program, "trap_exit") && !config->record)
		return &skips->times;
	if (!strcmp(program, "wakeup_new"))
		return config->follow ? &skips->tasks : NULL;
	/* What these keep or forget is printed or forgotten later */
	return strcmp(program, "process_free") && strcmp(program, "signal_deliver") ?
	       &skips->calls : NULL;
}

/* A program that is preempted does not run for the next task */
static int read_skips(struct skips *skips, struct sources *s)
{
	struct bpf_program *program;
	unsigned long long *n;

	*skips = (struct skips){ .calls = perf_missed(s) };

	bpf_object__for_each_program(program, s->bpf->obj) {
		struct bpf_prog_info info = {};
		unsigned int size = sizeof(info);
		int fd = bpf_program__fd(program);

		n = skips_of(skips, bpf_program__name(program), s->config);
		if (!n || fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &size))
			return -1;
		*n += info.recursion_misses;
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fault_key));
}

/* Make one row of those that several readings have of the same */
static void fold(struct counts *c)
{
	size_t to = 0;

	qsort(c->fault, c->faults, sizeof(*c->fault), by_key);
	for (size_t i = 1; i < c->faults; i++) {
		if (!by_key(&c->fault[to].key, &c->fault[i].key))
			sum_add(&c->fault[to].sum, &c->fault[i].sum);
		else
			c->fault[++to] = c->fault[i];
	}
	c->faults = c->faults ? to + 1 : 0;
	for (; c->faults > MOST_ROWS; c->faults--)
		c->lost[LOST_FAULTS] += c->fault[c->faults - 1].sum.count;
}

static bool has_room(struct counts *c, size_t rows)
{
	struct fault_row *more;

	if (c->faults + rows <= c->room)
		return true;
	more = realloc(c->fault, 2 * (c->faults + rows) * sizeof(*more));
	if (!more)
		return false;
	c->fault = more;
	c->room = 2 * (c->faults + rows);
	return true;
}

/* So many at once, as a call of bpf() takes time and may keep a program from running */
enum { BATCH = 256 };

static int read_faults(struct counts *c, int map)
{
	static struct fault_key key[BATCH];
	static struct fault_sum sum[BATCH];
	unsigned int n, at = 0;
	size_t before = c->faults;
	struct fault_row *row;
	bool more, first = true;

	do {
		n = BATCH;
		more = !bpf_map_lookup_and_delete_batch(map, first ? NULL : &at, &at, key, sum, &n,
							NULL);
		if (!more && errno != ENOENT)
			return -1;
		first = false;
		if (!has_room(c, n))
			return -1;
		for (unsigned int i = 0; i < n; i++) {
			row = &c->fault[c->faults++];
			row->key = key[i];
			row->sum = sum[i];
			row->sum.name[NAME_SIZE - 1] = '\0';
		}
	} while (more);
	if (before)
		fold(c);
	return 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct event *left = a, *right = b;

	return (left->ns < right->ns) - (left->ns > right->ns);
}

static int read_slowest(struct counts *c, struct sources *s, int used)
{
	struct event *all = calloc((s->cpus + 1) * SLOWEST, sizeof(*all));
	struct slowest *slowest;
	int n = c->slows;

	if (!all)
		return -1;
	memcpy(all, c->slow, n * sizeof(*all));
	for (int cpu = 0; cpu < s->cpus; cpu++) {
		slowest = &s->slowest[cpu * 2 + used];
		for (int i = 0; i < SLOWEST; i++)
			if (slowest->fault[i].ns)
				all[n++] = slowest->fault[i];
		memset(slowest, 0, sizeof(*slowest));
	}
	qsort(all, n, sizeof(*all), by_ns);
	c->slows = n < SLOWEST ? n : SLOWEST;
	for (int i = 0; i < c->slows; i++) {
		locate_event(&all[i]);
		stack_note(&all[i], s);
	}
	memcpy(c->slow, all, c->slows * sizeof(*all));
	free(all);
	return 0;
}

/**
 * counts_next - Begin an interval
 * @c:	of counts_init()
 *
 * What was read up to now is forgotten. The interval begins at the last reading.
 */
void counts_next(struct counts *c)
{
	memset(c->trap, 0, c->cpus * ROWS * 2 * sizeof(*c->trap));
	memset(c->signal, 0, sizeof(c->signal));
	memset(c->lost, 0, sizeof(c->lost));
	memset(c->failed, 0, sizeof(c->failed));
	c->faults = 0;
	c->slows = 0;
	c->seconds = 0;
	c->begin = c->last;
}

/**
 * counts_read - Add what was counted since the reading before
 * @c:	to these
 * @s:	the sources
 *
 * Faults go into the other map from now on. Once that map is in place, the kernel has
 * waited for all programs that use this one, so it is whole.
 *
 * Return: 0, or -1 with a message
 */
int counts_read(struct counts *c, struct sources *s)
{
	int outer = bpf_map__fd(s->bpf->maps.faults);
	int map[] = { bpf_map__fd(s->bpf->maps.faults_0), bpf_map__fd(s->bpf->maps.faults_1) };
	unsigned int zero = 0, used = s->map;

	s->bpf->bss->generation = !used;
	if (bpf_map_update_elem(outer, &zero, &map[!used], BPF_ANY)) {
		fprintf(stderr, "trapstat: cannot switch the map of faults: %s\n", strerror(errno));
		return -1;
	}
	s->map = !used;
	c->last = now_ns();
	c->seconds = (c->last - c->begin) / 1e9;
	perf_reopen(s);
	read_traps(c, s);
	read_numbers(s, offsetof(struct cpu_counts, signal), SIGNALS * SIGNAL_CODES, c->signal,
		     c->signal_before);
	if (read_faults(c, map[used]) || read_slowest(c, s, used)) {
		fprintf(stderr, "trapstat: out of memory\n");
		return -1;
	}
	read_numbers(s, offsetof(struct cpu_counts, lost), LOST_CALLS, c->lost, c->lost_before);
	read_numbers(s, offsetof(struct cpu_counts, failed), FAILURES, c->failed, c->failed_before);
	return 0;
}

/**
 * counts_end - Add what was counted since the reading before, and all that is shown of it
 * @c:	to these
 * @s:	the sources
 *
 * It takes a call of bpf() for each program, so an interval has it once.
 *
 * Return: 0, or -1 with a message
 */
int counts_end(struct counts *c, struct sources *s)
{
	struct skips now;

	if (read_skips(&now, s)) {
		fprintf(stderr, "trapstat: cannot read how many programs were skipped: %s\n",
			strerror(errno));
		return -1;
	}
	c->lost[LOST_CALLS] += now.calls - c->skips_before.calls;
	c->lost[LOST_TIMES] += now.times - c->skips_before.times;
	c->lost[LOST_TASKS] += now.tasks - c->skips_before.tasks;
	c->failed[FAILED_WAIT] += now.waits - c->skips_before.waits;
	c->skips_before = now;
	return counts_read(c, s);
}

/* Those of kprobes and of records of events, since 6.7; all others */
static bool knows_skips(const struct sources *s)
{
	struct utsname name;
	int major, minor;

	if (s->ends != ENDS_BY_KPROBE && s->ends != ENDS_BY_RECORD)
		return true;
	return !uname(&name) && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
		(major > 6 || (major == 6 && minor >= 7));
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
	c->cpus = s->cpus;
	c->knows_skips = knows_skips(s);
	c->is_partial = is_filtered(s) || is_of_some_tasks(s);
	c->trap = calloc(c->cpus * ROWS * 2, sizeof(*c->trap));
	c->trap_before = calloc(c->cpus * ROWS * 2, sizeof(*c->trap));
	if (c->cpus < 1 || !c->trap || !c->trap_before)
		return -1;
	if (counts_end(c, s))
		return -1;
	counts_next(c);
	if (s->is_verbose)
		fprintf(stderr, "trapstat: counting\n");
	return 0;
}

/**
 * counts_add - Add the counts of an interval to those of others
 * @to:	the others; all zero for none
 * @c:	of counts_read()
 *
 * Return: 0, or -1 if there is no memory
 */
int counts_add(struct counts *to, const struct counts *c)
{
	struct event all[2 * SLOWEST];

	if (!to->trap)
		to->trap = calloc(c->cpus * ROWS * 2, sizeof(*to->trap));
	if (!to->trap || !has_room(to, c->faults)) {
		fprintf(stderr, "trapstat: out of memory\n");
		return -1;
	}
	to->cpus = c->cpus;
	to->knows_skips = c->knows_skips;
	to->is_partial = c->is_partial;
	to->seconds += c->seconds;
	for (int i = 0; i < c->cpus * ROWS * 2; i++) {
		to->trap[i].count += c->trap[i].count;
		to->trap[i].ns += c->trap[i].ns;
	}
	for (int i = 0; i < SIGNALS * SIGNAL_CODES; i++)
		to->signal[i] += c->signal[i];
	for (int i = 0; i < LOSTS; i++)
		to->lost[i] += c->lost[i];
	for (int i = 0; i < FAILURES; i++)
		to->failed[i] += c->failed[i];
	if (c->faults)
		memcpy(to->fault + to->faults, c->fault, c->faults * sizeof(*c->fault));
	to->faults += c->faults;
	fold(to);
	memcpy(all, to->slow, to->slows * sizeof(*all));
	memcpy(all + to->slows, c->slow, c->slows * sizeof(*all));
	qsort(all, to->slows + c->slows, sizeof(*all), by_ns);
	to->slows = to->slows + c->slows < SLOWEST ? to->slows + c->slows : SLOWEST;
	memcpy(to->slow, all, to->slows * sizeof(*all));
	return 0;
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
	for (int i = 0; i < WAITS; i++)
		to->wait[i] += sum->wait[i];
	/* A process may have had another name before */
	if (sum->name[0])
		memcpy(to->name, sum->name, NAME_SIZE);
}

/**
 * sum_percentile - The duration that a share of the faults did not exceed
 * @sum:	these faults
 * @share:	0.5 for the median
 *
 * Return: ns, up to an eighth more or less
 */
unsigned long long sum_percentile(const struct fault_sum *sum, double share)
{
	unsigned long long n = 0, seen = 0;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++)
		n += sum->bucket[i];
	for (i = 0; i < BUCKETS; i++) {
		seen += sum->bucket[i];
		if (seen >= n * share)
			break;
	}
	if (!n || i == BUCKETS)
		return sum->max;
	return middle_of(i) < sum->max ? middle_of(i) : sum->max;
}
