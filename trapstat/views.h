/* SPDX-License-Identifier: GPL-2.0 */
#ifndef VIEWS_H
#define VIEWS_H

#include <signal.h>
#include <sys/resource.h>
#include "counts.h"

struct options {
	double interval;
	long count;			/* of intervals, 0: until a signal comes */
	bool per_cpu, verbose;
	int rows;			/* of faults, 0: all */
	int pidfd;			/* of the process of -p, or -1 */
	const char *file;		/* to write to, or NULL */
	const char *listen;		/* address and port, or NULL */
	struct config config;
	char **command;
};

int view_intervals(struct sources *s, const struct options *o,
		   int (*print)(FILE *out, struct counts *c, const struct sources *s,
				const struct options *o));
int view_traps(struct sources *s, const struct options *o);
const char *group_root(void);
int view_faults(struct sources *s, const struct options *o);
int view_slow(struct sources *s, const struct options *o);
int view_command(struct sources *s, const struct options *o);
int view_record(struct sources *s, const struct options *o);
int view_export(struct sources *s, const struct options *o);

void dispositions_note(void);
int command_start(struct sources *s, char **words);
bool command_has_ended(int *status, struct rusage *usage);
void command_wait(int *status, struct rusage *usage);

void print_traps(FILE *out, const struct counts *c, const struct sources *s, bool rates,
		 bool per_cpu);
void print_missing(FILE *out, const struct sources *s);
int read_interval(struct counts *c, struct sources *s, const struct options *o);
bool has_gone(const struct options *o);
bool next_interval(const struct options *o, long *n);

#endif
