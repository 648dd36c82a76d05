/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SOURCES_H
#define SOURCES_H

#include <stdbool.h>
#include <stdio.h>
#include "trapstat.h"

/* Where the ends of page faults come from, the best first */
enum ends {
	ENDS_BY_EVENT,		/* pagefault:pagefault_exit, by its argument */
	ENDS_BY_RECORD,		/* the same, by its record */
	ENDS_BY_FENTRY,		/* fentry and fexit of handle_mm_fault() */
	ENDS_BY_KPROBE,		/* kprobe and kretprobe of it */
	ENDS_BY_PERF,		/* the software events of perf: see perf.bpf.h */
	ENDS_UNKNOWN,
};

extern const char * const source_names[];

struct perf_cpu;
struct trapstat_bpf;
struct bpf_link;

struct sources {
	struct trapstat_bpf *bpf;
	const struct config *config;
	enum ends ends;
	bool btf, find_vma, has_regs, is_verbose;
	bool traps, times, begins, signals, nmi, mce, follow;
	bool waits, refaults;		/* of --why */
	bool traps_by_signal;		/* no more of them than have a signal */
	struct bpf_link *link[40];
	int links, map;		/* map: which of the two maps of faults is in use */
	int cpus;			/* those that are possible */
	struct cpu_counts *count;	/* [cpus] */
	struct perf_cpu *perf;		/* [cpus], or NULL */
	struct slowest *slowest;	/* [cpus][2] */
};

int sources_open(struct sources *s, const struct config *config, const unsigned int *pid,
		 bool verbose);
void sources_detach(struct sources *s);
void sources_close(struct sources *s);
void sources_print(const struct sources *s);
void sources_say(FILE *out, const struct sources *s);

/* Whether one of --vector, --outcome, -u and -k leaves faults out */
static inline bool is_filtered(const struct sources *s)
{
	return s->config->vector != WANT_ANY || s->config->outcome != WANT_ANY ||
		s->config->mode != WANT_ANY;
}

/* Whether something leaves tasks out, as -p does */
static inline bool is_of_some_tasks(const struct sources *s)
{
	return s->config->pids || s->config->cgroup || s->config->comm[0] || s->config->follow;
}

/* Whether the outcome of a fault is known */
static inline bool knows_ends(const struct sources *s)
{
	return s->ends != ENDS_UNKNOWN;
}

/* Whether a begin and an end make a duration */
static inline bool knows_durations(const struct sources *s)
{
	return knows_ends(s) && (s->ends != ENDS_BY_PERF || s->begins);
}

/* Whether copies and swap-ins are */
static inline bool knows_copies(const struct sources *s)
{
	return s->ends <= ENDS_BY_RECORD;
}

/* Whether it is known why a task was off the CPU in the course of a fault */
static inline bool knows_waits(const struct sources *s)
{
	return s->waits && knows_durations(s);
}

static inline bool knows_kinds(const struct sources *s)
{
	return s->ends < ENDS_BY_KPROBE || (s->ends == ENDS_BY_KPROBE && s->btf) ||
		(s->ends == ENDS_BY_PERF && s->find_vma);
}

struct btf;
void names_read(struct config *c, const struct btf *btf, const char *format);
bool fields_read(unsigned int at[FIELDS], const char *format, bool has_regs);

#endif
