// SPDX-License-Identifier: GPL-2.0
/*
 * The first program of a guest whose kernel has modules: loads /modules/, in the order of
 * their names, and becomes /init.vm, which is scripts/vm/init.c.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct dirent **names;
	char path[512];
	int n, fd;

	n = scandir("/modules", &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/modules/%s", names[i]->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
			fprintf(stderr, "%s: %s\n", path, strerror(errno));
		close(fd);
	}
	execv("/init.vm", argv);
	perror("/init.vm");
	return 1;
}
