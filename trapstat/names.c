// SPDX-License-Identifier: GPL-2.0
/*
 * What the numbers of pagefault:pagefault_exit mean in the kernel that runs: by the names of
 * its enums, from BTF or, without that, from the "format" of the event, which has its fields too.
 */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "sources.h"
#include "text.h"

static const struct {
	const char *name;
	unsigned int flag;
} flag_names[] = {
	{ "ANON", FLAG_ANON }, { "FILE", FLAG_FILE }, { "SHMEM", FLAG_SHMEM },
	{ "HUGETLB", FLAG_HUGETLB }, { "COW", FLAG_COW }, { "SWAPIN", FLAG_SWAPIN },
	{ "NUMA_HINT", FLAG_NUMA_HINT }, { "USERFAULTFD", FLAG_USERFAULTFD },
	{ "MIGRATION", FLAG_MIGRATION }, { "NONE", 0 }, { "SPECIAL", 0 },
};

/* Older events have the kind of memory in the flags. A name that is not known is left out */
static void note(struct config *c, int field, const char *name, unsigned long number)
{
	if (field == FIELD_OUTCOME && number < OUTCOME_NUMBERS)
		for (int i = 0; i < OUTCOMES; i++)
			if (!strcmp(name, outcome_names[i]))
				c->outcomes[number] = i;
	for (unsigned int i = 0; i < sizeof(flag_names) / sizeof(*flag_names); i++) {
		if (strcmp(name, flag_names[i].name))
			continue;
		if (field == FIELD_KIND && number < KIND_NUMBERS)
			c->kinds[number] = flag_names[i].flag;
		for (int bit = 0; field == FIELD_FLAGS && bit < FLAG_BITS; bit++)
			if (number == 1UL << bit)
				c->flags[bit] = flag_names[i].flag;
	}
}

static const struct {
	const char *type, *list;
	int field;
} enums[] = {
	{ "pagefault_outcome", "(REC->outcome, ", FIELD_OUTCOME },
	{ "pagefault_kind", "(REC->kind, ", FIELD_KIND },
	{ "pagefault_flags", "(REC->flags, ", FIELD_FLAGS },
};

static void from_btf(struct config *c, const struct btf *btf, int which)
{
	int id = btf__find_by_name_kind(btf, enums[which].type, BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_enum(type)[i].name_off);

		if (!strncmp(name, "PAGEFAULT_", 10))
			note(c, enums[which].field, name + 10,
			     (unsigned int)btf_enum(type)[i].val);
	}
}

/* A list of the print format: { 0, "MINOR" }, { 1, "MAJOR" }) */
static void from_format(struct config *c, const char *format, int which)
{
	const char *at = strstr(format, enums[which].list), *end = at ? strstr(at, "})") : NULL;
	unsigned long number;
	char name[32];

	for (at = end ? strchr(at, '{') : NULL; at && at < end; at = strchr(at + 1, '{'))
		if (sscanf(at, "{ %li, \"%31[^\"]\"", &number, name) == 2)
			note(c, enums[which].field, name, number);
}

/**
 * names_read - Read what the outcomes, kinds and flags of pagefault_exit are
 * @c:		outcomes, kinds and flags are set
 * @btf:	of the kernel, or NULL
 * @format:	of the event, or NULL if it is not needed
 */
void names_read(struct config *c, const struct btf *btf, const char *format)
{
	memset(c->outcomes, OUTCOME_UNKNOWN, sizeof(c->outcomes));
	for (int i = 0; i < KIND_NUMBERS; i++)
		c->kinds[i] = FLAG_KIND_UNKNOWN;
	memset(c->flags, 0, sizeof(c->flags));
	for (int i = 0; i < 3; i++) {
		if (btf)
			from_btf(c, btf, i);
		else if (format)
			from_format(c, format, i);
	}
}

/* The sizes are those that exit_record() and noregs_record() read */
static const struct {
	const char *name;
	int size;
	bool is_optional;	/* older events do not have it */
	bool needs_regs;	/* pagefault_noregs does not */
} fields[FIELDS] = {
	[FIELD_DURATION] = { "duration", 8 }, [FIELD_ADDRESS] = { "address", 8 },
	[FIELD_IP] = { "ip", 8, .needs_regs = true }, [FIELD_OUTCOME] = { "outcome", 4 },
	[FIELD_FLAGS] = { "flags", 4 }, [FIELD_KIND] = { "kind", 4, .is_optional = true },
	[FIELD_MODE] = { "user_mode", 4, .needs_regs = true },
	[FIELD_ERROR] = { "error_code", 8, .needs_regs = true },
	[FIELD_ORDER] = { "order", 4, .is_optional = true },
};

/**
 * fields_read - Read where the fields of an event are
 * @at:		their offsets, or NO_FIELD
 * @format:	of the event, or NULL
 * @has_regs:	the event is pagefault_exit, not pagefault_noregs
 *
 * Return: whether the programs that read its record know all they need; a message if it is newer
 */
bool fields_read(unsigned int at[FIELDS], const char *format, bool has_regs)
{
	static bool is_said;
	const char *found;
	char want[64];
	int size;

	for (int i = 0; i < FIELDS; i++) {
		at[i] = NO_FIELD;
		if (fields[i].needs_regs && !has_regs)
			continue;
		snprintf(want, sizeof(want), " %s;\toffset:", fields[i].name);
		found = format ? strstr(format, want) : NULL;
		if (!found && fields[i].is_optional)
			continue;
		if (!found || sscanf(found + strlen(want), "%u; size:%d", &at[i], &size) != 2)
			return false;
		if (size == fields[i].size)
			continue;
		if (!is_said)
			fprintf(stderr, "trapstat: newer events: "
				"%s has %d bytes, not %d; using another source\n",
				fields[i].name, size, fields[i].size);
		is_said = true;
		return false;
	}
	return true;
}
