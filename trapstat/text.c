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
	"OOPS", "ERROR", "-", "-",
};

const char * const mode_names[MODES] = { "kernel", "user", "noregs" };

const char * const signal_names[SIGNALS] = {
	"SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE", "SIGSEGV",
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
	static const char * const names[] = { "anon", "file", "shmem", "hugetlb", "cow", "swapin" };
	struct text t = { "" };

	if (!(flags & FLAG_KIND))
		snprintf(t.text, sizeof(t.text), "%s",
			 flags & FLAG_KIND_UNKNOWN || outcome > OUTCOME_FAILED ? "-" : "special");
	for (int i = 0; i < 6; i++) {
		if (!(flags & 1 << i))
			continue;
		if (t.text[0])
			strcat(t.text, ",");
		strcat(t.text, names[i]);
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
