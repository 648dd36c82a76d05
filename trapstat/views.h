/* SPDX-License-Identifier: GPL-2.0 */
#ifndef VIEWS_H
#define VIEWS_H

#include <signal.h>
#include <sys/resource.h>
#include "counts.h"
#include "table.h"
#include "util.h"

struct options {
	double interval;
	long count;			/* of intervals, 0: until a signal comes */
	double duration;		/* seconds, 0: no limit */
	unsigned long long until;	/* ns: the end of that, or 0 */
	bool per_cpu, verbose, is_json, is_batch, has_stamps, is_histogram;
	bool debuginfod;		/* may be asked, which takes longer than a fault */
	bool is_first;			/* there was no argument: say what is known here */
	int rows;			/* of faults, 0: all; -1: as many as fit */
	const char *sort;		/* name of a column, or NULL */
	bool sort_next;			/* by the column behind that */
	unsigned int pid[MOST_PIDS];	/* of -p; config.pids of them */
	int key;			/* that was pressed and asks for another view, or 0 */
	const char *file;		/* to write to, or NULL */
	const char *listen;		/* address and port, or NULL */
	struct config config;
	char **command;
};

int view_intervals(struct sources *s, struct options *o,
		   int (*print)(const struct output *out, struct counts *c, const struct sources *s,
				struct options *o));
int view_traps(struct sources *s, struct options *o);
int view_faults(struct sources *s, struct options *o);
int view_stream(struct sources *s, struct options *o);
int view_command(struct sources *s, struct options *o);
int view_record(struct sources *s, struct options *o);
int view_export(struct sources *s, struct options *o);

void dispositions_note(void);
int command_check(const char *name);
int command_start(struct sources *s, const struct options *o);
bool command_has_ended(int *status, struct rusage *usage);
void command_wait(int *status, struct rusage *usage);

const struct column *trap_columns(const struct sources *s, bool rates, bool per_cpu, int *n);
int print_traps(const struct output *out, const struct counts *c, const struct sources *s,
		struct options *o, bool rates);
void print_missing(const struct output *out, const struct sources *s);
bool check_sort(const struct options *o, const struct column *columns, int n);
void sort_rows(struct table *t, struct options *o, int usual);
int read_interval(struct counts *c, struct sources *s, struct options *o);
bool watch_pid(unsigned int pid);
bool is_over(struct sources *s, struct options *o);
bool next_interval(struct sources *s, struct options *o, long *n);

#endif
