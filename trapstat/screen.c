// SPDX-License-Identifier: GPL-2.0
/* The terminal: its size, and the live view on its alternate screen, with keys */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "screen.h"
#include "util.h"

#define ENTER	"\033[?1049h\033[?25l"
#define LEAVE	"\033[?25h\033[?1049l"

static bool is_live, has_keys;
static struct termios before;

/**
 * screen_size - The size of a terminal
 * @out:	gets it: 0 for what is not known, as for a pipe
 * @fd:		open to it
 *
 * COLUMNS and LINES are for pipes, and for serial lines, which have no size.
 */
void screen_size(struct output *out, int fd)
{
	const char *columns = getenv("COLUMNS"), *lines = getenv("LINES");
	bool is_terminal = isatty(fd);
	struct winsize size = {};

	if (is_terminal && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_row && size.ws_col) {
		out->width = size.ws_col;
		out->height = size.ws_row;
		return;
	}
	out->width = columns && atoi(columns) > 0 ? atoi(columns) : is_terminal ? 80 : 0;
	out->height = lines && atoi(lines) > 0 ? atoi(lines) : is_terminal ? 24 : 0;
}

static void set(const char *sequence, bool raw)
{
	struct termios now = before;

	if (write(STDOUT_FILENO, sequence, strlen(sequence)) < 0)
		return;
	if (!has_keys)
		return;
	if (raw)
		now.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
}

/* A shell gets its terminal back as it was */
static void stop(int number)
{
	set(LEAVE, false);
	signal(number, SIG_DFL);
	raise(number);
}

static void go_on(int number)
{
	(void)number;
	if (!is_live)
		return;
	signal(SIGTSTP, stop);
	set(ENTER, true);
}

/**
 * screen_begin - Begin a live view, if standard output is a terminal that can
 */
bool screen_begin(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
		return false;
	if (is_live)
		return true;
	is_live = true;
	has_keys = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &before);
	set(ENTER, true);
	signal(SIGTSTP, stop);
	signal(SIGCONT, go_on);
	return true;
}

/**
 * screen_fd - What to poll for keys, or -1
 */
int screen_fd(void)
{
	return is_live && has_keys ? STDIN_FILENO : -1;
}

/**
 * screen_key - The key that was pressed, or 0
 */
int screen_key(void)
{
	struct pollfd keys = { .fd = screen_fd(), .events = POLLIN };
	char key;

	if (poll(&keys, 1, 0) < 1)
		return 0;
	if (read(keys.fd, &key, 1) == 1)
		return key;
	has_keys = false;		/* the terminal is gone */
	return 0;
}

/**
 * screen_show - Show a text in place of the last one
 * @text:	the text, of which there is as much as there is room for
 * @last:	the last line of the screen
 *
 * Return: 0, or 1 with a message
 */
int screen_show(const char *text, const char *last)
{
	struct output size;
	int row = 1, n;

	screen_size(&size, STDOUT_FILENO);
	fputs("\033[H", stdout);
	for (const char *line = text; *line && row < size.height; line += n + !!line[n], row++) {
		n = strcspn(line, "\n");
		printf("%.*s\033[K\n", n < size.width ? n : size.width, line);
	}
	printf("\033[J\033[%d;1H\033[7m%.*s\033[0m", size.height, size.width, last);
	return flush_stdout();
}

/**
 * screen_end - End the live view
 */
void screen_end(void)
{
	if (is_live)
		set(LEAVE, false);
	is_live = false;
}
