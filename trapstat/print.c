// SPDX-License-Identifier: GPL-2.0
/* The tables and lines that several views share */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "print.h"
#include "symbols.h"

/**
 * outcome_name - The name of an outcome
 * @s:		the sources
 * @outcome:	enum outcome; what has begun and got nowhere is ELSEWHERE, if a source has ends
 */
const char *outcome_name(const struct sources *s, unsigned int outcome)
{
	return outcome == OUTCOME_BEGUN && knows_ends(s) ? "ELSEWHERE" : outcome_names[outcome];
}

/**
 * knows_time - Whether the time in a trap is known
 * @s:		the sources
 * @row:	enum row
 */
bool knows_time(const struct sources *s, int row)
{
	return row == ROW_PF ? knows_durations(s) : row == ROW_NMI || (row != ROW_MCE && s->times);
}

/**
 * text_code - The instruction of an event: the function, or the place
 * @event:	the event
 * @s:		the sources
 */
struct long_text text_code(const struct event *event, const struct sources *s)
{
	const struct symbol *symbol = symbol_of(event, s);
	struct long_text t;

	if (symbol && symbol->source[0])
		snprintf(t.text, sizeof(t.text), "%s (%s)", symbol->function, symbol->source);
	else
		snprintf(t.text, sizeof(t.text), "%s",
			 symbol ? symbol->function : text_place(&event->code).text);
	return t;
}

/**
 * print_plain - Print a name without characters that a terminal obeys
 * @out:	where to
 * @width:	how wide it is at least
 * @name:	the name, which may have any characters
 * @size:	how many it has at most
 */
void print_plain(FILE *out, int width, const char *name, size_t size)
{
	size_t i;

	for (i = 0; i < size && name[i]; i++)
		fputc(isprint((unsigned char)name[i]) ? name[i] : '?', out);
	if (!i)
		i = fprintf(out, "-");
	fprintf(out, "%*s", (int)i < width ? width - (int)i : 0, "");
}

/**
 * print_signals - The signals that traps have sent, in a line
 * @out:	where to
 * @c:		of counts_read()
 * @s:		the sources
 */
void print_signals(FILE *out, const struct counts *c, const struct sources *s)
{
	const char *separator = " ";

	if (is_filtered(s))
		return;
	fprintf(out, "signals:");
	for (int i = 0; i < SIGNALS * SIGNAL_CODES; i++) {
		if (!c->signal[i])
			continue;
		fprintf(out, "%s%s", separator, signal_names[i / SIGNAL_CODES]);
		if (i % SIGNAL_CODES)
			fprintf(out, " (si_code %d)", i % SIGNAL_CODES);
		fprintf(out, " %llu", c->signal[i]);
		separator = ", ";
	}
	fprintf(out, "%s\n", !s->signals ? " -" : *separator == ' ' ? " 0" : "");
}

/**
 * print_slow_head - The head of a table of slow faults
 * @out:	where to
 */
void print_slow_head(FILE *out)
{
	fprintf(out, "%8s %-11s %-6s %-11s %14s %-20s %-24s %7s %s\n", "DURATION", "OUTCOME",
		"MODE", "MEMORY", "ADDRESS", "MAPPING", "INSTRUCTION", "TID", "COMM");
}

/**
 * print_slow - A line of that table
 * @out:	where to
 * @event:	the fault
 * @s:		the sources
 */
void print_slow(FILE *out, const struct event *event, const struct sources *s)
{
	struct long_text code = text_code(event, s);

	if (!strcmp(code.text, "-") && event->ip)
		snprintf(code.text, sizeof(code.text), "%#llx", event->ip);
	fprintf(out, "%8s %-11s %-6s %-11s %#14llx %-20s %-24s %7u ", text_ns(event->ns).text,
		outcome_names[event->outcome < OUTCOMES ? event->outcome : OUTCOME_BEGUN],
		mode_names[event->mode], text_flags(event->outcome, event->flags).text,
		event->address, text_place(&event->place).text, code.text, event->tid);
	print_plain(out, 0, event->comm, COMM_SIZE);
	fputc('\n', out);
}

/**
 * print_slowest - The table of the slowest faults
 * @out:	where to
 * @c:		of counts_read()
 * @s:		the sources
 * @most:	how many
 */
void print_slowest(FILE *out, const struct counts *c, const struct sources *s, int most)
{
	if (!knows_ends(s) || !c->slows)
		return;
	fputc('\n', out);
	print_slow_head(out);
	for (int i = 0; i < c->slows && i < most; i++)
		print_slow(out, &c->slow[i], s);
}

/**
 * skipped_of - How many programs the kernel skipped that may be for what is left out
 * @c:		of counts_read()
 */
unsigned long long skipped_of(const struct counts *c)
{
	return c->is_partial ? c->lost[LOST_CALLS] : 0;
}

/**
 * lost_of - How much was not counted; not what skipped_of() has
 * @c:		of counts_read()
 */
unsigned long long lost_of(const struct counts *c)
{
	unsigned long long n = 0;

	for (int i = 0; i < LOSTS; i++)
		n += c->lost[i];
	return n - skipped_of(c);
}

/**
 * print_lost - How much was not counted, and why; with -v, also what BPF could not look up
 * @out:	where to
 * @c:		of counts_read()
 * @is_verbose:	-v
 */
void print_lost(FILE *out, const struct counts *c, bool is_verbose)
{
	static const char * const names[LOSTS] = {
		"faults", "times of traps", "events", "tasks", "skipped programs",
	};
	static const char * const failures[FAILURES] = {
		"mappings", "paths of files", "names", "memory of the kernel", "instructions",
	};
	unsigned long long n = lost_of(c), skipped = skipped_of(c);

	fprintf(out, "%llu ", n);
	if (skipped)
		fprintf(out, "to %llu ", n + skipped);
	fputs("lost", out);
	for (int i = 0; i < LOSTS; i++)
		if (c->lost[i])
			fprintf(out, ", %s %llu", names[i], c->lost[i]);
	if (skipped)
		fputs(" in the whole system", out);
	if (!c->knows_skips)
		fputs(", skipped kprobes not known (before Linux 6.7)", out);
	fprintf(out, "%s\n", n + skipped ? ": the counts are at least so high" : "");
	for (int i = 0; i < FAILURES && is_verbose; i++)
		if (c->failed[i])
			fprintf(out, "not found by BPF: %s %llu\n", failures[i], c->failed[i]);
}

/**
 * is_redrawn - Whether an interval takes the place of the last one, in a terminal
 */
bool is_redrawn(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
}

/**
 * screen_show - Print a text; in a terminal, in place of the last one
 * @text:	the text
 *
 * A terminal shows as much of it as there is room for.
 *
 * Return: 0, or 1 with a message
 */
int screen_show(const char *text)
{
	const char *line = text;
	struct winsize size;
	int row = 1, n;

	if (!is_redrawn()) {
		fputs(text, stdout);
		goto out;
	}
	/* A serial line has no size */
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 25, .ws_col = 80 };
	fputs("\033[H", stdout);
	for (; *line && row < size.ws_row; line += n + !!line[n], row++) {
		n = strcspn(line, "\n");
		printf("%.*s\033[K\n", n < size.ws_col ? n : size.ws_col, line);
	}
	fputs("\033[J", stdout);
out:
	return flush_stdout();
}
