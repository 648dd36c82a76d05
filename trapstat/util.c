// SPDX-License-Identifier: GPL-2.0
/* What several files need, and none of them is about */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "util.h"

__volatile__ sig_atomic_t ended;

/**
 * now_ns - The time of CLOCK_MONOTONIC, in ns
 */
unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/**
 * now_real - The time of day, in seconds since 1970
 */
double now_real(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/**
 * lower - Copy a name in small letters
 * @to:		where to, with room for it
 * @from:	the name
 */
void lower(char *to, const char *from)
{
	while (*from)
		*to++ = tolower((unsigned char)*from++);
	*to = '\0';
}

/**
 * copy - Copy a text, as much of it as there is room for
 * @to:		where to
 * @size:	how much room there is
 * @from:	the text
 */
void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

/**
 * close_file - Write what is left of a file, and close it
 * @out:	the file
 * @path:	its name
 *
 * Return: 0, or 1 with a message
 */
int close_file(FILE *out, const char *path)
{
	bool failed = ferror(out);

	errno = 0;
	if (failed)
		fputc('\n', out);	/* fails again, and sets errno */
	failed |= fflush(out) != 0;
	if (failed)
		fprintf(stderr, "trapstat: %s: %s\n", path, strerror(errno ?: EIO));
	fclose(out);
	return failed;
}

/**
 * lines_of - How many lines a text has
 * @text:	the text
 */
int lines_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/**
 * flush_stdout - Write what standard output has buffered
 *
 * Return: 0, or 1 with a message
 */
int flush_stdout(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	perror("trapstat: standard output");
	return 1;
}
