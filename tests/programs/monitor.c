// SPDX-License-Identifier: GPL-2.0
/* Traps from outside: the monitor of QEMU, at a serial port of the guest */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "monitor.h"

/* The affinity of each device interrupt before the monitor is opened */
static struct interrupt {
	int number;
	char *cpus;
} interrupts[64];
static bool interrupts_moved;
static pid_t interrupts_of;

/* Keep all of them off CPU 0, the monitor's included */
static void move_interrupts(void)
{
	char file[64];

	if (interrupts_moved)
		return;
	interrupts_moved = true;
	for (struct interrupt *i = interrupts; i->cpus; i++) {
		snprintf(file, sizeof(file), "%d/smp_affinity_list", i->number);
		put("/proc/irq", file, "%d", cpus() - 1);
	}
}

/* Restore the affinities that start_monitor() saved */
void restore_interrupts(void)
{
	char file[64];

	/* Only the parent restores them, also those that a child has moved */
	if (getpid() != interrupts_of)
		return;
	interrupts_moved = false;
	for (struct interrupt *i = interrupts; i->cpus; i++) {
		snprintf(file, sizeof(file), "%d/smp_affinity_list", i->number);
		put("/proc/irq", file, "%s", i->cpus);
	}
}

/* start_monitor - Before the first use, in the process that ends last */
void start_monitor(void)
{
	struct interrupt *i = interrupts;
	struct dirent *irq;
	char file[300];
	DIR *dir;

	if (!getenv("QEMU_MONITOR"))
		return;
	dir = opendir("/proc/irq");
	while (dir && (irq = readdir(dir)) && i < interrupts + ARRAY_SIZE(interrupts) - 1) {
		snprintf(file, sizeof(file), "%s/smp_affinity_list", irq->d_name);
		i->cpus = get("/proc/irq", file);
		if (i->cpus)
			i++->number = atoi(irq->d_name);
	}
	if (dir)
		closedir(dir);
	interrupts_of = getpid();
	atexit(restore_interrupts);
}

/* Send a command of QMP, and wait for the line that answers it */
static bool qmp(int fd, const char *command, const char *arguments)
{
	static int id;
	char text[512], answer[32], reply[4096] = "";
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;
	ssize_t got;
	int len;

	len = snprintf(text, sizeof(text),
		       "{\"execute\": \"%s\", \"arguments\": {%s}, \"id\": %d}\n",
		       command, arguments, getpid() * 100 + ++id);
	snprintf(answer, sizeof(answer), "\"id\": %d", getpid() * 100 + id);
	if (write(fd, text, len) != len)
		ksft_exit_fail_msg("QEMU_MONITOR: %s\n", strerror(errno));

	while (n < sizeof(reply) - 1 && poll(&p, 1, 10000) == 1) {
		got = read(fd, reply + n, sizeof(reply) - n - 1);
		if (got <= 0)
			break;
		n += got;
		reply[n] = '\0';
		if (strstr(reply, answer) && reply[n - 1] == '\n')
			return strstr(reply, "\"return\": ");
	}
	ksft_print_msg("the monitor said: %s\n", reply);
	return false;
}

/*
 * open_monitor - For many commands: a file descriptor, or -1 if there is none
 *
 * A serial port of the guest may be connected to the monitor of QEMU (-mon
 * mode=control): QEMU_MONITOR names it then.
 */
int open_monitor(void)
{
	const char *device = getenv("QEMU_MONITOR");
	struct termios tio;
	int fd;

	if (!device)
		return -1;
	fd = open(device, O_RDWR | O_NOCTTY);
	if (fd < 0 || tcgetattr(fd, &tio))
		ksft_exit_fail_msg("%s: %s\n", device, strerror(errno));
	cfmakeraw(&tio);
	tcsetattr(fd, TCSAFLUSH, &tio);
	move_interrupts();

	/* The port echoed what was said before: 0xff makes QMP forget it */
	if (write(fd, "\xff\n", 2) != 2)
		ksft_exit_fail_msg("%s: %s\n", device, strerror(errno));
	usleep(100000);
	tcflush(fd, TCIFLUSH);
	/* This is an error if an earlier user of the port has sent it */
	qmp(fd, "qmp_capabilities", "");
	return fd;
}

/* monitor_command - Run a command of QEMU's human monitor; open that for it if @fd is -1 */
bool monitor_command(int fd, const char *fmt, ...)
{
	int opened = fd < 0 ? open_monitor() : -1;
	char text[256], arguments[300];
	va_list args;
	bool done;

	if (fd < 0 && opened < 0)
		return false;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(arguments, sizeof(arguments), "\"command-line\": \"%s\"", text);
	done = qmp(fd < 0 ? opened : fd, "human-monitor-command", arguments);
	if (fd < 0)
		close(opened);
	return done;
}

/*
 * A page that nothing uses: the kernel takes it out of service. It is in the
 * middle of a free huge page, if there is one. The allocator uses such a page
 * last, so it is still free when the error comes.
 */
static unsigned long long free_page(void)
{
	const __u64 buddy = 1 << 10;		/* KPF_BUDDY */
	int fd = open("/proc/kpageflags", O_RDONLY);
	unsigned long long page = 0;
	__u64 flags[512];
	size_t free = 0;
	ssize_t got;

	for (off_t pfn = 1 << 16; free < ARRAY_SIZE(flags); pfn += ARRAY_SIZE(flags)) {
		got = pread(fd, flags, sizeof(flags), pfn * sizeof(*flags));
		if (got <= 0)
			break;
		free = 0;
		for (size_t i = 0; i < got / sizeof(*flags); i++) {
			if (flags[i] & buddy) {
				free++;
				page = page ?: pfn + i;
			}
		}
		if (free == ARRAY_SIZE(flags))
			page = pfn + free / 2;
	}
	close(fd);
	if (!page)
		ksft_exit_fail_msg("no free page in /proc/kpageflags\n");
	return page * sysconf(_SC_PAGESIZE);
}

/*
 * A memory error that the hardware found by itself, "action optional": SDM
 * volume 3, "Interpreting Machine Check Error Codes". It goes to all CPUs, as
 * on Intel: the handlers wait for each other.
 */
#define MCI_STATUS	"0xbd000000000000c0"
#define MCG_STATUS	"0x5"
#define MCI_MISC	"0x8c"

bool machine_check_from_qemu(void)
{
	return on_qemu_monitor("mce -b 0 4 " MCI_STATUS " " MCG_STATUS " 0x%llx "
			       MCI_MISC, free_page());
}
