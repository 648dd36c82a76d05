// SPDX-License-Identifier: GPL-2.0
/* Names and numbers as text */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

const char * const row_names[ROWS] = {
	[0] = "#DE", [1] = "#DB", [2] = "NMI", [3] = "#BP", [4] = "#OF", [5] = "#BR",
	[6] = "#UD", [7] = "#NM", [8] = "#DF", [9] = "OLD_MF", [10] = "#TS", [11] = "#NP",
	[12] = "#SS", [13] = "#GP", [ROW_PF] = "#PF", [15] = "SPURIOUS", [16] = "#MF",
	[17] = "#AC", [18] = "#MC", [19] = "#XM", [20] = "#VE", [21] = "#CP", [29] = "#VC",
	[32] = "IRET", [ROW_NMI] = "NMI-HANDLER", [ROW_MCE] = "MCE-RECORD",
	[ROW_SPLIT_LOCK] = "SPLIT-LOCK", [ROW_BUS_LOCK] = "BUS-LOCK", [ROW_UMIP] = "UMIP",
	[ROW_SIGNAL] = "SIGNAL",
};

const char * const outcome_names[OUTCOMES] = {
	"MINOR", "MAJOR", "RETRY", "FAILED", "INTERRUPTED", "OOM", "FIXUP", "SIGNAL", "ARCH",
	"OOPS", "ERROR", "UNKNOWN", "-", "-",
};

const char * const mode_names[MODES] = { "kernel", "user", "noregs" };

const char * const signal_names[SIGNALS] = {
	"SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE", "SIGSEGV",
};

const char * const wait_names[WAITS] = {
	"io", "reclaim", "compaction", "mmap_lock", "uffd", "preempted", "other",
};

const int signal_numbers[SIGNALS] = SIGNAL_NUMBERS;

/**
 * row_name - The name of a trap
 * @row:	enum row
 */
struct text row_name(int row)
{
	struct text t;

	if (row_names[row])
		snprintf(t.text, sizeof(t.text), "%s", row_names[row]);
	else
		snprintf(t.text, sizeof(t.text), "vector %d", row);
	return t;
}

/**
 * code_name - The name of a si_code, which has that of the signal in it
 * @number:	of the signal
 * @code:	0 for SI_KERNEL and larger ones
 */
struct text code_name(int number, int code)
{
	static const struct {
		const char *signal;
		int number;
		const char * const code[11];
	} names[] = {
		{ "ILL", 4, { NULL, "ILLOPC", "ILLOPN", "ILLADR", "ILLTRP", "PRVOPC", "PRVREG",
			      "COPROC", "BADSTK", "BADIADDR" } },
		{ "TRAP", 5, { NULL, "BRKPT", "TRACE", "BRANCH", "HWBKPT", "UNK", "PERF" } },
		{ "BUS", 7, { NULL, "ADRALN", "ADRERR", "OBJERR", "MCEERR_AR", "MCEERR_AO" } },
		{ "FPE", 8, { NULL, "INTDIV", "INTOVF", "FLTDIV", "FLTOVF", "FLTUND", "FLTRES",
			      "FLTINV", "FLTSUB" } },
		{ "SEGV", 11, { NULL, "MAPERR", "ACCERR", "BNDERR", "PKUERR", "ACCADI", "ADIDERR",
				"ADIPERR", "MTEAERR", "MTESERR", "CPERR" } },
	};
	struct text t = { "-" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *name = code > 0 && code < 11 ? names[i].code[code] : NULL;

		if (names[i].number != number)
			continue;
		/* The kernel has no more to say of a #GP */
		if (!name && !code)
			snprintf(t.text, sizeof(t.text), "SIG%s", names[i].signal);
		else if (!name)
			snprintf(t.text, sizeof(t.text), "SIG%s %d", names[i].signal, code);
		else
			snprintf(t.text, sizeof(t.text), "%s_%s", names[i].signal, name);
	}
	return t;
}

/**
 * text_ns - A duration, with three digits
 * @ns:	the duration
 */
struct text text_ns(unsigned long long ns)
{
	static const char * const units[] = { "ns", "us", "ms", "s" };
	double n = ns;
	struct text t;
	int unit = 0;

	while (n >= 999.5 && unit < 3) {
		n /= 1000;
		unit++;
	}
	snprintf(t.text, sizeof(t.text), "%.*f%s", unit && n < 99.95 ? n < 9.995 ? 2 : 1 : 0, n,
		 units[unit]);
	return t;
}

/**
 * text_rate - How often in a second
 * @n:		the number
 */
struct text text_rate(double n)
{
	struct text t;

	snprintf(t.text, sizeof(t.text), "%.*f", n && n < 9.95 ? 1 : 0, n);
	return t;
}

/**
 * text_number - A number, or "-"
 * @known:	whether a source has it
 * @n:		the number
 */
struct text text_number(bool known, unsigned long long n)
{
	struct text t = { "-" };

	if (known)
		snprintf(t.text, sizeof(t.text), "%llu", n);
	return t;
}

/**
 * text_flags - Kind of memory, and what happened in a fault
 * @outcome:	enum outcome; those without memory mostly found no mapping
 * @flags:	enum flags
 */
struct text text_flags(unsigned int outcome, unsigned int flags)
{
	static const char * const names[] = {
		"anon", "file", "shmem", "hugetlb", "cow", "swapin", NULL, NULL, NULL,
		"numa", "uffd", "migration", "refault",
	};
	struct text t = { "" };

	if (!(flags & FLAG_KIND))
		snprintf(t.text, sizeof(t.text), "%s",
			 flags & FLAG_KIND_UNKNOWN || outcome > OUTCOME_FAILED ? "-" : "special");
	for (int i = 0; i < 13; i++) {
		if (!(flags & 1 << i) || !names[i])
			continue;
		if (t.text[0])
			strcat(t.text, ",");
		strcat(t.text, names[i]);
	}
	return t;
}

/**
 * text_waits - Why a task was off the CPU: the three longest
 * @wait:	for how long, by enum wait
 */
struct text text_waits(const unsigned long long *wait)
{
	unsigned long long left[WAITS];
	struct text t = { "" };
	int most, size = 0;

	memcpy(left, wait, sizeof(left));
	for (int n = 0; n < 3; n++) {
		most = 0;
		for (int i = 1; i < WAITS; i++)
			most = left[i] > left[most] ? i : most;
		if (!left[most])
			break;
		size += snprintf(t.text + size, sizeof(t.text) - size, "%s%s %s", n ? ", " : "",
				 wait_names[most], text_ns(left[most]).text);
		left[most] = 0;
	}
	return t;
}

/**
 * text_error - An error code in words
 * @vector:	of the trap
 * @code:	the error code
 */
struct text text_error(int vector, unsigned int code)
{
	static const char * const bits[] = {
		[3] = ", reserved bit", [5] = ", protection key", [6] = ", shadow stack",
		[15] = ", SGX",
	};
	static const char * const tables[] = { "GDT", "IDT", "LDT", "IDT" };
	struct text t = { "-" };

	if (vector == ROW_PF) {
		snprintf(t.text, sizeof(t.text), "%s, %s, page %s",
			 code & 16 ? "execute" : code & 2 ? "write" : "read",
			 code & 4 ? "user" : "kernel", code & 1 ? "present" : "not present");
		for (int i = 0; i < 16; i++)
			if (code & 1 << i && bits[i])
				strcat(t.text, bits[i]);
	} else if (vector >= 10 && vector <= 13 && code) {
		snprintf(t.text, sizeof(t.text), "selector %#x of the %s", code & 0xfff8,
			 tables[code >> 1 & 3]);
	} else if (vector == 21 || vector == 17) {
		snprintf(t.text, sizeof(t.text), "%#x", code);
	}
	return t;
}

/**
 * text_plain - A name without characters that a terminal obeys
 * @name:	the name, which may have any characters
 * @size:	how many it has at most
 */
struct text text_plain(const char *name, size_t size)
{
	struct text t = { "" };

	for (size_t i = 0; i < size && i < sizeof(t.text) - 1 && name[i]; i++)
		t.text[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
	return t;
}

/**
 * text_place - A mapping, and the offset in it
 * @place:	the place; "-" if it is not known
 */
struct text text_place(const struct place *place)
{
	struct text t = { "-" };

	if (place->name[0])
		snprintf(t.text, sizeof(t.text), "%s+%#llx",
			 text_plain(place->name, NAME_SIZE).text, place->offset);
	return t;
}
