// SPDX-License-Identifier: GPL-2.0
/* load_bpf OBJECT COMMAND...: run COMMAND while the BPF programs of OBJECT are attached */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* To the software events for page faults, on each CPU */
static bool attach_to_perf(struct bpf_program *program)
{
	bool is_major = !strcmp(bpf_program__name(program), "perf_major");
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .sample_period = 1,
		.config = is_major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN,
	};
	int fd;

	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0 || !bpf_program__attach_perf_event(program, fd))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct bpf_program *program;
	struct bpf_object *object;
	int status;
	pid_t pid;

	if (argc < 3)
		return 2;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(program, object)
		if (bpf_program__type(program) == BPF_PROG_TYPE_PERF_EVENT ?
		    !attach_to_perf(program) : !bpf_program__attach(program))
			return 1;
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
