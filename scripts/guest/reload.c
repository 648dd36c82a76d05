// SPDX-License-Identifier: GPL-2.0
/*
 * reload MODULE N: load the module of the sample and unload it, N times, each time once
 * it has counted #UD. Prints N then; the first error ends it.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNTS	"/sys/kernel/debug/trap_count/counts"

/* On any CPU */
static int has_counted(void)
{
	static const char want[] = "vector=6 entries=";
	char text[16384];
	int fd = open(COUNTS, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		err(1, COUNTS);
	close(fd);
	text[n] = '\0';
	for (const char *at = text; (at = strstr(at, want));) {
		at += strlen(want);
		if (*at != '0')
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) : 0;
	int fd;

	if (n < 1)
		errx(1, "usage: reload MODULE N");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		err(1, "%s", argv[1]);
	for (long i = 1; i <= n; i++) {
		if (syscall(SYS_finit_module, fd, "", 0))
			err(1, "load %ld", i);
		while (!has_counted())
			usleep(1000);
		if (syscall(SYS_delete_module, "trap_count", O_NONBLOCK))
			err(1, "unload %ld", i);
	}
	printf("%ld\n", n);
	return 0;
}
