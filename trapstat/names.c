// SPDX-License-Identifier: GPL-2.0
/*
 * What the numbers of pagefault:pagefault_exit mean in the kernel that runs: by the names of
 * its enums, from BTF or, without that, from the "format" of the event.
 */
#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
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
	{ "MIGRATION", FLAG_MIGRATION },
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
			note(c, enums[which].field, name + 10, btf_enum(type)[i].val);
	}
}

/* A list of the print format: { 0, "MINOR" }, { 1, "MAJOR" } */
static void from_format(struct config *c, const char *format, int which)
{
	const char *at = strstr(format, enums[which].list);
	unsigned long number;
	char name[32];
	int length;

	at = at ? strchr(at, '{') : NULL;
	while (at && sscanf(at, "{ %li, \"%31[A-Z_]\" }%n", &number, name, &length) == 2) {
		note(c, enums[which].field, name, number);
		at += length;
		at = strncmp(at, ", ", 2) ? NULL : at + 2;
	}
}

/**
 * names_read - Read what the outcomes, kinds and flags of pagefault_exit are
 * @c:		outcomes, kinds and flags are set
 * @btf:	of the kernel, or NULL
 * @format:	of the event, or NULL if it is not needed
 */
void names_read(struct config *c, const struct btf *btf, const char *format)
{
	memset(c->outcomes, OUTCOME_ARCH, sizeof(c->outcomes));
	for (int i = 0; i < 3; i++) {
		if (btf)
			from_btf(c, btf, i);
		else if (format)
			from_format(c, format, i);
	}
}
