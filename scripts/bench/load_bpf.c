// SPDX-License-Identifier: GPL-2.0
/* load_bpf OBJECT COMMAND...: run COMMAND while the BPF programs of OBJECT are attached */
#include <bpf/libbpf.h>
#include <sys/wait.h>
#include <unistd.h>

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
		if (!bpf_program__attach(program))
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
