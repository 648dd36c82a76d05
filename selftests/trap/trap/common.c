// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests of the trap and page fault trace events: access to
 * tracefs, tracing instances, parsing of the trace, and a signal handler that
 * continues after the instruction that trapped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common.h"

#define EFLAGS_TF	0x100L
#define EFLAGS_NT	0x4000L

static char instances[8][128];

/* put - Write a line to a file: 0, or a negative error */
int put(const char *dir, const char *file, const char *fmt, ...)
{
	char path[256], text[512];
	int fd, len, ret = 0;
	va_list args;
	ssize_t n;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0 || len >= (int)sizeof(text))
		return -E2BIG;
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n != len)
		ret = n < 0 ? -errno : -EIO;
	close(fd);
	return ret;
}

/* get - Read a file. The caller frees the text. Return NULL on error */
char *get(const char *dir, const char *file)
{
	char path[256], *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "r");
	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

void must(int ret, const char *what)
{
	if (ret)
		ksft_exit_fail_msg("%s: %s\n", what, strerror(-ret));
}

static pid_t owner;

/* At exit, and for signals of the user and of the test runner */
static void remove_instances(void)
{
	/* A child must leave the instances of its parent */
	if (getpid() != owner)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(instances); i++) {
		if (!*instances[i])
			continue;
		put(instances[i], "events/enable", "0");
		rmdir(instances[i]);
	}
}

static void on_end(int signo)
{
	remove_instances();
	_exit(128 + signo);
}

/* make_instance - Create a tracing instance. It is removed at exit. */
const char *make_instance(const char *name)
{
	static const char * const formats[] = {
		"options/fields", "options/raw", "options/hex", "options/bin",
	};

	if (!owner) {
		atexit(remove_instances);
		signal(SIGINT, on_end);
		signal(SIGTERM, on_end);
	}
	owner = getpid();

	for (size_t i = 0; i < ARRAY_SIZE(instances); i++) {
		if (*instances[i])
			continue;
		snprintf(instances[i], sizeof(instances[i]),
			 TRACING "/instances/trap_%s.%d", name, getpid());
		if (mkdir(instances[i], 0755))
			ksft_exit_fail_msg("mkdir %s: %s\n", instances[i],
					   strerror(errno));
		/* It has the options of the top level. The tests parse the text */
		for (size_t j = 0; j < ARRAY_SIZE(formats); j++)
			put(instances[i], formats[j], "0");
		return instances[i];
	}
	ksft_exit_fail_msg("too many instances\n");
}

/* open_trace - Open the trace of @cpu, or of all CPUs if @cpu is -1 */
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

bool kernel_of_64_bit(void)
{
	struct utsname uts;

	return uname(&uts) || strstr(uts.machine, "64");
}

/* kernel_symbol - Its address, with 64 bits even in a 32-bit program */
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

/* event_id - ID of "SYSTEM/EVENT" for perf, or -1 */
int event_id(const char *event)
{
	char file[100], *text;
	int id;

	snprintf(file, sizeof(file), "events/%s/id", event);
	text = get(TRACING, file);
	id = text ? atoi(text) : -1;
	free(text);
	return id;
}

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* start - Print the header. Skip without root, @event or one of the CPUs */
void start(const char *event)
{
	cpu_set_t allowed;

	ksft_print_header();
	if (getuid())
		ksft_exit_skip("needs root\n");
	if (event_id(event) < 0)
		ksft_exit_skip("no %s in " TRACING ", or lockdown hides it\n", event);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		ksft_exit_skip("sched_getaffinity: %s\n", strerror(errno));
	for (int cpu = 0; cpu < cpus(); cpu++)
		if (!CPU_ISSET(cpu, &allowed))
			ksft_exit_skip("CPU %d is offline or not allowed\n", cpu);
}

/* cpus - Number of online CPUs. start() checks that they are 0 to N - 1 */
int cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		ksft_exit_fail_msg("CPU %d: %s\n", cpu, strerror(errno));
}

__thread unsigned long trap_ip, resume_ip;
__thread sig_atomic_t trap_signals;
__thread siginfo_t trap_info;

#ifdef RAISE
static void on_trap(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *regs = uc->uc_mcontext.gregs;

	clear_ac();
	trap_info = *info;
	if (!trap_ip || (unsigned long)regs[REG_IP] != trap_ip) {
		/* RAISE() did not raise it: let it kill us */
		remove_instances();
		signal(signo, SIG_DFL);
		return;
	}
	trap_signals++;
	regs[REG_IP] = resume_ip;
	/* Set to raise a single step, and a #TS by IRET */
	regs[REG_EFL] &= ~(EFLAGS_TF | EFLAGS_NT);
}

void raise_read(void *arg)
{
	RAISE("", "movb (%[at]), %%al", "", arg);
}

void raise_write(void *arg)
{
	RAISE("", "movb $1, (%[at])", "", arg);
}
#else
static __thread sigjmp_buf after_access;
static __thread bool accessing;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	trap_info = *info;
	if (!accessing) {
		remove_instances();
		signal(signo, SIG_DFL);
		return;
	}
	trap_signals++;
	siglongjmp(after_access, 1);
}

/* The handler blocks no signal, so there is no mask to restore */
void raise_read(void *arg)
{
	trap_ip = (unsigned long)raise_read;
	accessing = true;
	if (!sigsetjmp(after_access, 0))
		asm volatile("" : : "r" (*(char *)arg) : "memory");
	accessing = false;
}

void raise_write(void *arg)
{
	trap_ip = (unsigned long)raise_write;
	accessing = true;
	if (!sigsetjmp(after_access, 0))
		*(char *)arg = 1;
	asm volatile("" : : : "memory");
	accessing = false;
}
#endif

/* skip_traps - Install the handler that continues after a trap */
void skip_traps(void)
{
	static const int handled[] = { SIGFPE, SIGTRAP, SIGSEGV, SIGILL, SIGBUS, SIGUSR1 };
	struct sigaction sa = {
		.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	stack_t stack = { .ss_size = 1 << 16 };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (stack.ss_sp == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
		sigaction(handled[i], &sa, NULL);
}
