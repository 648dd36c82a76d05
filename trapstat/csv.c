// SPDX-License-Identifier: GPL-2.0
/* A line for each event, with times of CLOCK_MONOTONIC */
#include "sinks.h"

static void csv_text(FILE *out, const char *text)
{
	fputs(",\"", out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void csv_begin(FILE *out)
{
	fputs("end_ns,duration_ns,pid,tid,si_code,error_code,order,address,ip,mode,", out);
	fputs("trap,outcome,memory,comm,place,instruction", out);
	for (int i = 0; i < WAITS; i++)
		fprintf(out, ",%s_ns", wait_names[i]);
	fputs(",stack\n", out);
}

static void csv_add(FILE *out, const struct shown *shown)
{
	const struct event *e = &shown->event;

	fprintf(out, "%llu,%llu,%u,%u,%u,", e->end, e->ns, e->pid, e->tid, e->si_code);
	if (e->error)
		fprintf(out, "%#x", e->error - 1);
	fputc(',', out);
	if (e->order)
		fprintf(out, "%u", e->order - 1);
	fprintf(out, ",%#llx,%#llx,%s", e->address, e->ip, mode_names[e->mode]);
	csv_text(out, shown->trap);
	csv_text(out, shown->outcome);
	csv_text(out, shown->memory);
	csv_text(out, text_plain(e->comm, COMM_SIZE).text);
	csv_text(out, shown->place);
	csv_text(out, shown->code);
	for (int i = 0; i < WAITS; i++) {
		fputc(',', out);
		if (e->waits)
			fprintf(out, "%llu", e->wait[i]);
	}
	csv_text(out, shown->stack);
	fputc('\n', out);
}

static void csv_end(FILE *out, const struct record_end *end)
{
	(void)out;
	(void)end;
}

const struct sink csv_sink = { ".csv", csv_begin, csv_add, csv_end };
