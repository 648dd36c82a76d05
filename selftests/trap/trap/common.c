// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests of the trap and page fault trace events share: tracing
 * instances of their own, what is in the trace, traps in kernel mode by
 * the module trap_test, and those from outside by the monitor of QEMU.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>

#include "common.h"

#define EVENT_FORMAT ": trap_%15[a-z]: vector=%u(%15[^)]) error_code=0x%x mode=%15s ip=%159[^\n]"

static char instances[8][128];

static int write_to(const char *dir, const char *file, int flags, const char *fmt,
		    va_list args)
{
	char path[256], text[512];
	int fd, len, ret = 0;
	ssize_t n;

	len = vsnprintf(text, sizeof(text), fmt, args);
	if (len < 0 || len >= (int)sizeof(text))
		return -E2BIG;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | flags);
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n != len)
		ret = n < 0 ? -errno : -EIO;
	close(fd);
	return ret;
}

/* put - Write a line to a file: 0, or a negative error */
int put(const char *dir, const char *file, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = write_to(dir, file, O_TRUNC, fmt, args);
	va_end(args);
	return ret;
}

/* append - The same, where a file that is truncated loses what it has: kprobes, triggers */
int append(const char *dir, const char *file, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = write_to(dir, file, O_APPEND, fmt, args);
	va_end(args);
	return ret;
}

/* Memory with its pages: the kernel does not fault when it writes there, to be counted */
static char *grow(char *text, size_t from, size_t to)
{
	text = realloc(text, to);
	if (text)
		explicit_bzero(text + from, to - from);
	return text;
}

/* get - What is in a file, for the caller to free; NULL if it cannot be read */
char *get(const char *dir, const char *file)
{
	size_t size = 0, room = 1 << 16;
	char path[256], *text;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return NULL;
	text = grow(NULL, 0, room);
	while (text && (n = read(fd, text + size, room - size - 1)) > 0) {
		size += n;
		if (size == room - 1) {
			text = grow(text, room, 2 * room);
			room *= 2;
		}
	}
	close(fd);
	if (text)
		text[size] = '\0';
	return text;
}

void must(int ret, const char *what)
{
	if (ret)
		ksft_exit_fail_msg("%s: %s\n", what, strerror(-ret));
}

static pid_t owner;

static void remove_instances(void)
{
	/* Not when a child ends */
	if (getpid() != owner)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(instances); i++) {
		if (!*instances[i])
			continue;
		put(instances[i], "events/enable", "0");
		rmdir(instances[i]);
	}
}

/* make_instance - A tracing instance that is removed at the end */
const char *make_instance(const char *name)
{
	if (!owner)
		atexit(remove_instances);
	owner = getpid();

	for (size_t i = 0; i < ARRAY_SIZE(instances); i++) {
		if (*instances[i])
			continue;
		snprintf(instances[i], sizeof(instances[i]),
			 TRACING "/instances/trap_%s.%d", name, getpid());
		if (mkdir(instances[i], 0755))
			ksft_exit_fail_msg("mkdir %s: %s\n", instances[i],
					   strerror(errno));
		must(put(instances[i], "buffer_size_kb", "2048"),
		     "buffer_size_kb");
		return instances[i];
	}
	ksft_exit_fail_msg("too many instances\n");
}

/* remove_instance - Before the end, which would do it, too */
void remove_instance(const char *instance)
{
	char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(instances); i++)
		if (instances[i] == instance)
			name = instances[i];
	must(put(instance, "events/enable", "0"), instance);
	if (!name || rmdir(name))
		ksft_exit_fail_msg("rmdir %s: %s\n", instance, strerror(errno));
	*name = '\0';
}

/*
 * After a fork(), the kernel's first write of a signal frame is a page fault, in
 * kernel mode, that no probe has raised
 */
static void touch_stack(void)
{
	char *frame = __builtin_frame_address(0);

	/* To OR with 0 is to write, and leaves all as it is */
	for (size_t i = 1; i <= 32; i++)
		asm volatile("orb $0, (%0)" : : "r" (frame - i * 1024) : "memory", "cc");
}

/* trace_on - Both events, as far as @filter lets them through */
void trace_on(const char *instance, const char *filter)
{
	touch_stack();
	must(put(instance, "trace", " "), "trace");
	must(put(instance, "events/trap/filter", "%s", filter), filter);
	must(put(instance, "events/trap/enable", "1"), "enable");
}

void trace_off(const char *instance)
{
	must(put(instance, "events/trap/enable", "0"), "disable");
}

/* open_trace - The trace of a CPU, in the order of time; of all, if @cpu is -1 */
FILE *open_trace(const char *instance, int cpu)
{
	char path[256];
	FILE *f;

	if (cpu < 0)
		snprintf(path, sizeof(path), "%s/trace", instance);
	else
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace", instance, cpu);
	f = fopen(path, "r");
	if (!f)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	return f;
}

bool next_event(FILE *f, struct event *e)
{
	char line[512], which[16], mode[16];
	char *at, *cpu;

	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, ": trap_e");
		if (!at || sscanf(at, EVENT_FORMAT, which, &e->vector, e->name,
				  &e->error_code, mode, e->ip) != 6)
			continue;
		e->exit = !strcmp(which, "exit");
		e->user = !strcmp(mode, "user");
		cpu = strstr(line, " [");
		e->cpu = cpu && cpu < at ? atoi(cpu + 2) : -1;
		return true;
	}
	return false;
}

/* The value of "name=" in a record, 0 without one */
static unsigned long long number(const char *record, const char *name)
{
	const char *at = strstr(record, name);

	return at ? strtoull(at + strlen(name), NULL, 0) : 0;
}

static void word(const char *record, const char *name, char *text, size_t size)
{
	const char *at = strstr(record, name);

	snprintf(text, size, "%.*s", at ? (int)strcspn(at + strlen(name), "\n ") : 0,
		 at ? at + strlen(name) : "");
}

/* next_pagefault - The next record of the pagefault events */
bool next_pagefault(FILE *f, struct pagefault *r)
{
	char line[512], *at;

	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, ": pagefault_");
		if (!at)
			continue;
		memset(r, 0, sizeof(*r));
		at += strlen(": pagefault_");
		snprintf(r->event, sizeof(r->event), "%.*s", (int)strcspn(at, ":"), at);
		r->address = number(at, ": address=");
		r->error_code = number(at, " error_code=");
		r->fault_flags = number(at, " fault_flags=");
		r->flags = number(at, " flags=");
		r->vm_fault = number(at, " vm_fault=");
		r->signo = number(at, " signo=");
		r->si_code = number(at, " si_code=");
		r->tgid = number(at, " tgid=");
		r->duration = number(at, " duration=");
		word(at, " ip=", r->ip, sizeof(r->ip));
		word(at, " mode=", r->mode, sizeof(r->mode));
		word(at, " outcome=", r->outcome, sizeof(r->outcome));
		return true;
	}
	return false;
}

/* buffer_stat - What the stats of the ring buffers say under a name, of all CPUs */
unsigned long buffer_stat(const char *instance, const char *name)
{
	unsigned long sum = 0;
	char file[64];

	for (int cpu = 0; cpu < cpus(); cpu++) {
		char *text, *at;

		snprintf(file, sizeof(file), "per_cpu/cpu%d/stats", cpu);
		text = get(instance, file);
		at = text ? strstr(text, name) : NULL;
		if (at)
			sum += strtoul(at + strlen(name), NULL, 10);
		free(text);
	}
	return sum;
}

/* suppressed - How many events the guard has suppressed, on all CPUs */
unsigned long suppressed(void)
{
	unsigned long n, sum = 0;
	char line[64];
	FILE *f;

	f = fopen(SUPPRESSED, "r");
	if (!f)
		ksft_exit_fail_msg("%s: %s\n", SUPPRESSED, strerror(errno));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%*d %lu", &n) == 1)
			sum += n;
	fclose(f);
	return sum;
}

/* read_kernel_trap - What to expect of a trap that raise_in_kernel() raises */
bool read_kernel_trap(unsigned int vector, struct kernel_trap *t)
{
	unsigned int v;
	bool found = false;
	char line[512];
	FILE *f;

	f = fopen(RAISE_FILE, "r");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%u %x %159[^\t] %159[^\n]", &v, &t->error_code,
			       t->entry_ip, t->exit_ip) == 4 && v == vector;
	fclose(f);
	return found;
}

int raise_in_kernel(unsigned int vector)
{
	return put("/sys/kernel/debug/x86_trap_test", "raise", "%u", vector);
}

/* warnings_panic - Raising #NM and #CP makes a WARN(), and that may be fatal */
bool warnings_panic(void)
{
	char *text = get("/proc/sys/kernel", "panic_on_warn");
	bool panics = text && *text != '0';

	free(text);
	return panics;
}

/* kernel_symbol - Its address, also of a 64-bit kernel in a 32-bit program */
uint64_t kernel_symbol(const char *name)
{
	unsigned long long address, found = 0;
	char line[256], symbol[128];
	FILE *f;

	f = fopen("/proc/kallsyms", "r");
	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %127s", &address, symbol) == 2 &&
		    !strcmp(symbol, name))
			found = address;
	fclose(f);
	return found;
}

/*
 * breakpoint - At an instruction of the kernel, or a write to a byte of our own
 *
 * The length of the former is that of the kernel's long, which may not be ours.
 */
int breakpoint(uint64_t address, bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr),
		.bp_type = kernel ? HW_BREAKPOINT_X : HW_BREAKPOINT_W,
		.bp_addr = address, .bp_len = kernel ? 8 : 1,
		.exclude_kernel = !kernel, .exclude_user = kernel,
	};
	int fd;

	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && kernel) {
		attr.bp_len = 4;
		fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			     PERF_FLAG_FD_CLOEXEC);
	}
	return fd;
}

/* Where the interrupts of devices go, before a monitor of QEMU is asked for something */
static struct interrupt {
	int number;
	char *cpus;
} interrupts[64];
static bool interrupts_moved;
static pid_t interrupts_of;

static void save_interrupts(void)
{
	struct interrupt *i = interrupts;
	struct dirent *irq;
	char file[300];
	DIR *dir;

	dir = opendir("/proc/irq");
	while (dir && (irq = readdir(dir)) && i < interrupts + ARRAY_SIZE(interrupts) - 1) {
		snprintf(file, sizeof(file), "%s/smp_affinity_list", irq->d_name);
		i->cpus = get("/proc/irq", file);
		if (i->cpus)
			i++->number = atoi(irq->d_name);
	}
	if (dir)
		closedir(dir);
}

/* Keep them, the monitor's among them, off CPU 0 */
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

/* restore_interrupts - Let them go where they went before a monitor was opened */
void restore_interrupts(void)
{
	char file[64];

	/* Not when a child ends; it may be one that has moved them */
	if (getpid() != interrupts_of)
		return;
	interrupts_moved = false;
	for (struct interrupt *i = interrupts; i->cpus; i++) {
		snprintf(file, sizeof(file), "%d/smp_affinity_list", i->number);
		put("/proc/irq", file, "%s", i->cpus);
	}
}

/* start - Print the header, and see that the events and the CPUs are there */
void start(void)
{
	cpu_set_t allowed;

	ksft_print_header();
	if (getuid())
		ksft_exit_skip("needs root\n");
	if (access(TRACING "/events/trap/trap_exit", F_OK))
		ksft_exit_skip("no trap events in " TRACING "\n");
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < cpus(); cpu++)
		if (!CPU_ISSET(cpu, &allowed))
			ksft_exit_skip("CPU %d is offline or not allowed\n", cpu);
	if (getenv("QEMU_MONITOR")) {
		save_interrupts();
		interrupts_of = getpid();
		atexit(restore_interrupts);
	}
}

/* cpus - How many CPUs are online; start() sees that their numbers have no gaps */
int cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

/* must_fork - A child that does not outlive its parent */
pid_t must_fork(void)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return child;
}

void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		ksft_exit_fail_msg("CPU %d: %s\n", cpu, strerror(errno));
}

/* new_pages - Memory without pages yet: one page fault each */
char *new_pages(size_t size)
{
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

/* wait_for_pages - Memory whose faults wait until served; -1 without userfaultfd */
int wait_for_pages(void *p, size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (unsigned long)p, size }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * A serial port of the guest may be connected to the monitor of QEMU (-mon
 * mode=control): QEMU_MONITOR names it then.
 */
static int open_qemu_monitor(void)
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
	return fd;
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

/* open_monitor - For many commands: a file descriptor, or -1 if there is none */
int open_monitor(void)
{
	int fd = open_qemu_monitor();

	/* Somebody may have said hello before: then this is an error */
	if (fd >= 0)
		qmp(fd, "qmp_capabilities", "");
	return fd;
}

static bool monitor_vcommand(int fd, const char *fmt, va_list args)
{
	char text[256], arguments[300];

	vsnprintf(text, sizeof(text), fmt, args);
	snprintf(arguments, sizeof(arguments), "\"command-line\": \"%s\"", text);
	return qmp(fd, "human-monitor-command", arguments);
}

/* monitor_command - Have the monitor of QEMU do a command of its own */
bool monitor_command(int fd, const char *fmt, ...)
{
	va_list args;
	bool done;

	va_start(args, fmt);
	done = monitor_vcommand(fd, fmt, args);
	va_end(args);
	return done;
}

/* on_qemu_monitor - The same, for a single one */
bool on_qemu_monitor(const char *fmt, ...)
{
	int fd = open_monitor();
	va_list args;
	bool done;

	if (fd < 0)
		return false;
	va_start(args, fmt);
	done = monitor_vcommand(fd, fmt, args);
	va_end(args);
	close(fd);
	return done;
}

/*
 * Memory that nothing uses: the kernel takes the page out of service. It is in the
 * middle of a free huge page, if there is one, as that is the last to be given to
 * somebody before the error comes.
 */
static unsigned long long free_page(void)
{
	const uint64_t buddy = 1 << 10;		/* KPF_BUDDY */
	unsigned long long page = 0;
	uint64_t flags[512];
	size_t got, free;
	ssize_t n;
	int fd;

	fd = open("/proc/kpageflags", O_RDONLY);
	for (off_t pfn = 1 << 16; ; pfn += ARRAY_SIZE(flags)) {
		n = pread(fd, flags, sizeof(flags), pfn * sizeof(*flags));
		if (n <= 0)
			break;
		got = n / sizeof(*flags);
		free = 0;
		for (size_t i = 0; i < got; i++) {
			if (!(flags[i] & buddy))
				continue;
			free++;
			if (!page)
				page = (pfn + i) * sysconf(_SC_PAGESIZE);
		}
		if (free == ARRAY_SIZE(flags)) {
			page = (pfn + free / 2) * sysconf(_SC_PAGESIZE);
			break;
		}
	}
	close(fd);
	if (!page)
		ksft_exit_fail_msg("no free page in /proc/kpageflags\n");
	return page;
}

/*
 * A memory error that the hardware found by itself, "action optional": SDM
 * volume 3, "Interpreting Machine Check Error Codes". On all CPUs, as Intel's
 * do it: the handlers wait for each other.
 */
#define MCI_STATUS	"0xbd000000000000c0"
#define MCG_STATUS	"0x5"
#define MCI_MISC	"0x8c"

bool machine_check_from_qemu(void)
{
	return on_qemu_monitor("mce -b 0 4 " MCI_STATUS " " MCG_STATUS " 0x%llx "
			       MCI_MISC, free_page());
}
