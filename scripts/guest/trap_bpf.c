// SPDX-License-Identifier: GPL-2.0
/*
 * trap_bpf OBJECT PROGRAM ARGS...: load OBJECT, which is trap_bpf.bpf.c compiled, run
 * PROGRAM, and print the records that came, in the words of the trace, and how many traps
 * each vector had. What the kernel lacks for that is said in one line that begins with
 * "error: ".
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "trap_bpf.h"

#define TRACING	"/sys/kernel/tracing"
#define BTF	"/sys/kernel/btf/vmlinux"

#define die(fmt, ...) do {						\
	fflush(stdout);							\
	fprintf(stderr, "error: " fmt "\n", ##__VA_ARGS__);		\
	exit(1);							\
} while (0)

static int print_record(void *context, void *data, size_t size)
{
	static const char * const names[] = {
		"trap_entry", "trap_exit", "pagefault_entry", "pagefault_exit", "pagefault_noregs",
	};
	const struct record *r = data;

	(void)context;
	(void)size;
	printf("%s%s: ", r->of_argument ? "argument " : "", names[r->event]);
	if (r->event == TRAP_ENTRY || r->event == TRAP_EXIT)
		printf("vector=%u ", r->vector);
	else
		printf("address=0x%llx ", r->address);
	if (r->event == PAGEFAULT_NOREGS)
		printf("tgid=%d fault_flags=0x%x", r->tgid, r->fault_flags);
	else
		printf("error_code=0x%llx mode=%s ip=0x%llx", r->error_code,
		       r->user_mode ? "user" : "kernel", r->ip);
	if (r->event == PAGEFAULT_EXIT)
		printf(" signo=%d si_code=%d", r->signo, r->si_code);
	if (r->event == PAGEFAULT_EXIT || r->event == PAGEFAULT_NOREGS)
		printf(" outcome=%u flags=0x%x vm_fault=0x%x duration=%llu", r->outcome,
		       r->flags, r->vm_fault, r->duration);
	putchar('\n');
	return 0;
}

static bool has_member(const struct btf *btf, const struct btf_type *type, const char *name)
{
	const struct btf_member *m = btf_members(type);

	for (int i = 0; i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, m[i].name_off), name))
			return true;
	return false;
}

/*
 * What libbpf does not find in the kernel's BTF, it has the verifier complain of, with the
 * whole program in its log. So look before that.
 */
static void check_fields(const struct btf *ours)
{
	struct btf *kernel = btf__load_vmlinux_btf();

	if (!kernel)
		die("the BTF of this kernel cannot be read: %s", strerror(errno));
	for (unsigned int id = 1; id < btf__type_cnt(ours); id++) {
		const struct btf_type *type = btf__type_by_id(ours, id), *theirs;
		const char *name = btf__name_by_offset(ours, type->name_off);
		const struct btf_member *m;
		int id_there;

		if (!btf_is_struct(type) ||
		    (strncmp(name, "trace_event_raw_", 16) && strcmp(name, "pagefault")))
			continue;
		id_there = btf__find_by_name_kind(kernel, name, BTF_KIND_STRUCT);
		if (id_there < 0)
			die("no struct %s here: the program is for another kernel", name);
		theirs = btf__type_by_id(kernel, id_there);
		m = btf_members(type);
		for (int i = 0; i < btf_vlen(type); i++) {
			const char *field = btf__name_by_offset(ours, m[i].name_off);

			if (!has_member(kernel, theirs, field))
				die("no field %s in %s here: the program is for another kernel",
				    field, name);
		}
	}
	btf__free(kernel);
}

static int run(char **argv)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execvp(*argv, argv);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		die("%s: %s", *argv, strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct bpf_program *program;
	struct bpf_object *object;
	struct ring_buffer *ring;
	int counts, status;

	if (argc < 3)
		die("usage: trap_bpf OBJECT PROGRAM ARGS...");
	if (access(TRACING "/events", F_OK))
		die("no tracefs at " TRACING ": be root, mount it, have CONFIG_FTRACE=y");
	if (access(TRACING "/events/trap", F_OK) || access(TRACING "/events/pagefault", F_OK))
		die("this kernel has no events trap and pagefault: build it with the series");
	if (access(BTF, R_OK))
		die("this kernel has no " BTF ": build it with CONFIG_DEBUG_INFO_BTF=y");

	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		die("%s: %s", argv[1], strerror(errno));
	check_fields(bpf_object__btf(object));
	if (bpf_object__load(object))
		die("the kernel does not take %s: %s", argv[1], strerror(errno));
	bpf_object__for_each_program(program, object)
		if (!bpf_program__attach(program))
			die("%s: %s", bpf_program__name(program), strerror(errno));

	status = run(argv + 2);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "records"),
				print_record, NULL, NULL);
	if (!ring || ring_buffer__consume(ring) < 0)
		die("the records cannot be read: %s", strerror(errno));
	counts = bpf_object__find_map_fd_by_name(object, "counts");
	for (unsigned int vector = 0; vector < VECTORS; vector++) {
		unsigned long long n = 0;

		if (!bpf_map_lookup_elem(counts, &vector, &n) && n)
			printf("vector %u: %llu\n", vector, n);
	}
	return status;
}
