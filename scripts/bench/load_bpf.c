// SPDX-License-Identifier: GPL-2.0
/*
 * load_bpf WAY: run the programs of programs.bpf.c whose names begin with WAY, until SIGINT, and
 * print what they have counted. Fails if that is nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "programs.skel.h"

int main(int argc, char **argv)
{
	int signal, cpus = libbpf_num_possible_cpus();
	unsigned long long *counts, total = 0;
	struct bpf_program *program;
	struct programs_bpf *bpf;
	sigset_t interrupt;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);

	bpf = argc == 2 && cpus > 0 ? programs_bpf__open() : NULL;
	if (!bpf)
		return 2;
	bpf_object__for_each_program(program, bpf->obj)
		bpf_program__set_autoload(program, !strncmp(bpf_program__name(program), argv[1],
							    strlen(argv[1])));
	if (programs_bpf__load(bpf) || programs_bpf__attach(bpf))
		return 1;
	sigwait(&interrupt, &signal);
	programs_bpf__detach(bpf);

	counts = calloc(cpus, sizeof(*counts));
	for (unsigned int key = 0; counts && key < bpf_map__max_entries(bpf->maps.counts); key++) {
		if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.counts), &key, counts))
			return 1;
		for (int cpu = 0; cpu < cpus; cpu++)
			total += counts[cpu];
	}
	printf("counted: %llu\n", total);
	return !total;
}
