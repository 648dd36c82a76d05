// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU for scripts/bench/run: counts what instructions of the guest's kernel
 * are executed, and which cache lines several of its CPUs write, between marks of
 * tests/trap_cost.c. Those are nopl instructions, which do nothing elsewhere:
 *
 *	nopl 0x70726900(%rax)	what follows is of another section
 *	nopl 0x70726901(%rax)	count from here
 *	nopl 0x70726902(%rax)	stop; starts nest, and the last stop counts
 *
 *	qemu-system-x86_64 -plugin count.so,out=FILE
 *
 * FILE gets lines of fields with a tab between them:
 *
 *	count	SECTION	ADDRESS	TIMES	0 for all of user mode
 *	shared	SECTION	ADDRESS	TIMES	a store to a line that several CPUs write all the time
 *
 * Sections are numbered from 1. All CPUs have to run in one thread, as under -icount.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"

EXPORT int qemu_plugin_version = 1;

#define MARK		0x70726900
#define IN_KERNEL(a)	((a) >> 63)
#define LINE(a)		((a) >> 6)

/* An instruction: how often it ran, in all and when counting began, and in the section */
struct place {
	u64 address, ran, began, counted;
	struct place *next;
};

/* How often an instruction has stored to a line, in the section, on the first CPU that did */
struct store {
	u64 line, address, first, others;
	unsigned int cpu;
	struct store *next;
};

/* Less often, another CPU had the thread whose stack that is, before it was moved */
#define ALL_THE_TIME	100

#define BUCKETS		0x40000
static struct place *places[BUCKETS];
static struct store *stores[BUCKETS];
static struct place user;
static unsigned int section, counting;
static FILE *out;

static unsigned int bucket(u64 n)
{
	return n * 0x9e3779b97f4a7c15 >> 46;
}

static void *zalloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

static struct place *place_of(u64 address)
{
	struct place **at = &places[bucket(address)];

	if (!IN_KERNEL(address))
		return &user;
	while (*at && (*at)->address != address)
		at = &(*at)->next;
	if (!*at) {
		*at = zalloc(sizeof(**at));
		(*at)->address = address;
	}
	return *at;
}

static void each_place(void (*what)(struct place *p))
{
	what(&user);
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct place *p = places[i]; p; p = p->next)
			what(p);
}

static void begin(struct place *p)
{
	p->began = p->ran;
}

static void end(struct place *p)
{
	p->counted += p->ran - p->began;
}

static void print(struct place *p)
{
	if (p->counted)
		fprintf(out, "count\t%u\t%016llx\t%llu\n", section,
			p->address, p->counted);
	p->counted = 0;
}

/* Whether two CPUs write the line all the time. All that is of it is in one bucket */
static bool shared(const struct store *in, u64 line)
{
	u64 first = 0, others = 0;
	unsigned int cpu = 0;

	for (const struct store *s = in; s; s = s->next) {
		if (s->line != line)
			continue;
		if (!first)
			cpu = s->cpu;
		first += s->cpu == cpu ? s->first : s->others;
		others += s->cpu == cpu ? s->others : s->first;
	}
	return first >= ALL_THE_TIME && others >= ALL_THE_TIME;
}

static void print_shared(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++) {
		for (const struct store *s = stores[i]; s; s = s->next)
			if (shared(stores[i], s->line))
				fprintf(out, "shared\t%u\t%016llx\t%llu\n", section,
					s->address, s->first + s->others);
		while (stores[i]) {
			struct store *s = stores[i];

			stores[i] = s->next;
			free(s);
		}
	}
}

static void on_mark(unsigned int cpu, void *data)
{
	(void)cpu;
	switch ((unsigned long)data) {
	case 0:
		each_place(print);
		print_shared();
		section++;
		break;
	case 1:
		if (!counting++)
			each_place(begin);
		break;
	case 2:
		if (!--counting)
			each_place(end);
		break;
	}
}

static void count_store(unsigned int cpu, unsigned int info, u64 to, void *data)
{
	const struct place *p = data;
	struct store **at = &stores[bucket(LINE(to))];

	/* Version 7.2 calls for loads as well */
	if (!counting || !IN_KERNEL(to) || !qemu_plugin_mem_is_store(info))
		return;
	while (*at && ((*at)->line != LINE(to) || (*at)->address != p->address))
		at = &(*at)->next;
	if (!*at) {
		*at = zalloc(sizeof(**at));
		(*at)->line = LINE(to);
		(*at)->address = p->address;
		(*at)->cpu = cpu;
	}
	if (cpu == (*at)->cpu)
		(*at)->first++;
	else
		(*at)->others++;
}

static void on_translation(u64 id, struct qemu_plugin_tb *tb)
{
	static const unsigned char nopl[] = { 0x0f, 0x1f, 0x80 };

	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		struct place *p = place_of(qemu_plugin_insn_vaddr(insn));
		const unsigned char *code = qemu_plugin_insn_data(insn);
		unsigned int n;

		qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							   &p->ran, 1);
		if (p != &user) {
			qemu_plugin_register_vcpu_mem_cb(insn, count_store,
							 QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_W, p);
			continue;
		}
		if (qemu_plugin_insn_size(insn) != 7 || memcmp(code, nopl, sizeof(nopl)))
			continue;
		memcpy(&n, code + sizeof(nopl), sizeof(n));
		if (n - MARK <= 2)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(unsigned long)(n - MARK));
	}
}

static void on_exit_of_qemu(u64 id, void *data)
{
	(void)id;
	(void)data;
	each_place(print);
	print_shared();
	fclose(out);
}

EXPORT int qemu_plugin_install(u64 id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return 1;
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
