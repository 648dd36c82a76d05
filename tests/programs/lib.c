// SPDX-License-Identifier: GPL-2.0
/*
 * What the project's own tests share, on top of the kselftest's common.c: traps in kernel
 * mode by the module trap_test, more ways to raise them in user mode, and a swap file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "lib.h"

void give_up(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ksft_print_msg("%s\n", text);
	_exit(KSFT_FAIL);
}

/* append - Like put() without O_TRUNC, which removes kprobes and triggers */
int append(const char *dir, const char *file, const char *fmt, ...)
{
	char path[256], text[512];
	va_list args;
	int fd, len;
	ssize_t n;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (len < 0 || len >= (int)sizeof(text))
		return -E2BIG;
	fd = open(path, O_WRONLY | O_APPEND);
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	len = n == len ? 0 : n < 0 ? -errno : -EIO;
	close(fd);
	return len;
}

/* remove_instance - Remove an instance now, and not at exit */
void remove_instance(const char *instance)
{
	must(put(instance, "events/enable", "0"), instance);
	if (rmdir(instance))
		ksft_exit_fail_msg("rmdir %s: %s\n", instance, strerror(errno));
	/* make_instance() may use this slot again */
	*(char *)instance = '\0';
}

/* buffer_stat - Sum one value of per_cpu/cpuN/stats over all CPUs */
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

/* close_trace - The end of for_each_record() */
bool close_trace(FILE *f)
{
	fclose(f);
	return false;
}

bool next_line(FILE *f, char *line)
{
	return fgets(line, LINE_SIZE, f);
}

/* count_lines - How many lines of the trace have @text */
int count_lines(const char *instance, const char *text)
{
	char line[LINE_SIZE];
	int n = 0;

	for_each_record(next_line, line, instance, -1)
		n += !!strstr(line, text);
	return n;
}

/* read_held - Read from a page that a thread serves. Return whether that was a major fault */
bool read_held(struct server *s, void *at)
{
	struct rusage before, after;
	pthread_t thread;

	getrusage(RUSAGE_THREAD, &before);
	if (pthread_create(&thread, NULL, serve_page, s))
		ksft_exit_fail_msg("pthread_create\n");
	raise_read(at);
	pthread_join(thread, NULL);
	getrusage(RUSAGE_THREAD, &after);
	return after.ru_majflt > before.ru_majflt;
}

/* trace_all_faults - Trace faults at these bytes, of all processes */
void trace_all_faults(const void *p, size_t size)
{
	unsigned long long first = (unsigned long)p;

	trace_faults(p, size);
	must(put(fault_instance, "events/pagefault/filter",
		 "address >= 0x%llx && address < 0x%llx", first, first + size), "filter");
}

static bool (*first_handler)(int signo, ucontext_t *context);
static void (*skip_handler)(int signo, siginfo_t *info, void *context);

static void on_signal(int signo, siginfo_t *info, void *context)
{
	clear_ac();
	trap_info = *info;
	if (!first_handler(signo, context))
		skip_handler(signo, info, context);
}

/*
 * call_first - Call @f before the handler of skip_traps(), or no longer if it is NULL. If @f
 * returns true, that handler is not called
 */
void call_first(bool (*f)(int signo, ucontext_t *context))
{
	static const int signals[] = { SIGFPE, SIGTRAP, SIGSEGV, SIGILL, SIGBUS, SIGUSR1 };
	struct sigaction sa;

	first_handler = f;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &sa);
		if (sa.sa_sigaction != on_signal)
			skip_handler = sa.sa_sigaction;
		sa.sa_sigaction = f ? on_signal : skip_handler;
		sigaction(signals[i], &sa, NULL);
	}
}

/*
 * touch_stack - Call this before kernel-mode events are counted
 *
 * After a fork(), the kernel's first write of a signal frame is a page fault in
 * kernel mode. No probe raises it.
 */
void touch_stack(void)
{
	char *frame = __builtin_frame_address(0);

	/* An OR with 0 writes, and changes nothing */
	for (size_t i = 1; i <= 32; i++)
		asm volatile("orb $0, (%0)" : : "r" (frame - i * 1024) : "memory", "cc");
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
	return put(TRAP_TEST, "raise", "%u", vector);
}

/* attach_probe - To the trap events, until the fd is closed; -1 if it fails */
int attach_probe(const char *what)
{
	int fd = open(PROBE_FILE, O_WRONLY);

	if (fd < 0)
		return -1;
	if (write(fd, what, strlen(what)) != (ssize_t)strlen(what)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* warnings_panic - Whether a WARN() is fatal, as #NM and #CP make one */
bool warnings_panic(void)
{
	char *text = get("/proc/sys/kernel", "panic_on_warn");
	bool panics = text && *text != '0';

	free(text);
	return panics;
}

/* The fault is at the target of the call. A RET may be there */
void raise_jump(void *arg)
{
	RAISE("mov %[at], %[ip]; mov " SP ", " CX, "call *%[at]", "mov " CX ", " SP, arg);
}

/* raise_bp_in_frame - With a frame pointer to @arg, which stack walks read */
void raise_bp_in_frame(void *arg)
{
	RAISE(ENTER_FRAME "int3", "", LEAVE_FRAME, arg);
}

/* find_user_trap - The first one of a vector */
const struct user_trap *find_user_trap(unsigned int vector)
{
	for (size_t i = 0; i < nr_user_traps; i++)
		if (user_traps[i].vector == vector)
			return &user_traps[i];
	ksft_exit_fail_msg("no trap of vector %u\n", vector);
}

#ifdef __x86_64__
/*
 * BOUND exists in 32-bit code only, and 64-bit code gets there by sigreturn(). The code
 * and what it refers to are at an address below 4 GiB.
 */
static struct low {
	unsigned char bound_ecx[16];
	int limits[2];
} *low;
static __thread ucontext_t before_br;

static void raise_bound(void *arg)
{
	trap_ip = (unsigned long)low->bound_ecx;
	raise(SIGUSR1);
}

/* From SIGUSR1 to 32-bit code, and from its #BR back */
static bool go_to_bound(int signo, ucontext_t *uc)
{
	greg_t *regs = uc->uc_mcontext.gregs;

	if (!low || trap_ip != (unsigned long)low->bound_ecx)
		return false;
	if (signo == SIGUSR1) {
		before_br = *uc;
		/* The lowest 16 bits are CS: the kernel's __USER32_CS */
		regs[REG_CSGSFS] = (regs[REG_CSGSFS] & ~0xffffL) | 0x23;
		regs[REG_RIP] = trap_ip;
		regs[REG_RAX] = 5;
		regs[REG_RCX] = (unsigned long)low->limits;
		return true;
	}
	memcpy(regs, before_br.uc_mcontext.gregs, sizeof(before_br.uc_mcontext.gregs));
	trap_signals++;
	return true;
}

const struct user_trap bound_trap = {
	5, 0, "#BR", "bound in 32-bit code", raise_bound, SIGSEGV
};

/* set_up_bound - Prepare bound_trap, which only 64-bit programs have */
void set_up_bound(void)
{
	low = mmap(NULL, sizeof(*low), PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	memcpy(low->bound_ecx, "\x62\x01", 2);	/* bound %eax, (%ecx) */
	low->limits[1] = 1;
	call_first(go_to_bound);
}
#endif

/* plug - Take a CPU online or offline */
bool plug(int cpu, bool online)
{
	char file[32];

	snprintf(file, sizeof(file), "cpu%d/online", cpu);
	return !put("/sys/devices/system/cpu", file, "%d", online);
}

/*
 * make_swap - Swap to a new file in $TMPDIR: 0, or a negative error
 *
 * The header is what mkswap(8) writes, and the file has no holes.
 */
int make_swap(char *path, size_t path_size, size_t size)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	/* From mmap(), as the heap would keep the memory */
	char *data = new_pages(size);
	unsigned int *header = (unsigned int *)(data + 1024);
	int fd, ret = 0;

	snprintf(path, path_size, "%s/tests.swap.%d", getenv("TMPDIR") ?: ".", getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	header[0] = 1;				/* version */
	header[1] = size / page - 1;		/* last page */
	memcpy(data + page - 10, "SWAPSPACE2", 10);
	errno = 0;
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || fsync(fd) || swapon(path, 0)) {
		ret = errno ? -errno : -ENOSPC;
		unlink(path);
		*path = '\0';
	}
	if (fd >= 0)
		close(fd);
	munmap(data, size);
	return ret;
}

void remove_swap(char *path)
{
	if (!*path)
		return;
	swapoff(path);
	unlink(path);
	*path = '\0';
}
