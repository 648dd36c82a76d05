// SPDX-License-Identifier: GPL-2.0
/*
 * The price of the trap and page fault trace events, and of what else shows traps
 * and page faults, in instructions: under QEMU's "-icount shift=0", an instruction
 * takes one tick of the guest's TSC. Anywhere else, the ticks are time.
 *
 *	trap_price [-m] [-r ROUNDS] [-n TRAPS] [-k KIND,...] [-t THREADS] [-e RATE,...] [WAY]...
 *
 * For each way to see a trap (all, if none is given: see ways[] below), raises TRAPS
 * traps of each kind that it shows (or of those that are asked for), ROUNDS times, and
 * prints lines of fields with a tab between them:
 *
 *	kind	KIND	TRAPS		how many of it make a round
 *	way	WAY	TELLS		what the way tells of a trap
 *	price	WAY	KIND	ROUND	MEAN	MEDIAN
 *	bytes	WAY	KIND	BYTES	of a trap, in the buffer that the way records to
 *	hits	WAY	KIND	HITS	of the recursion guard, for each trap
 *	scale	WAY	THREADS	ROUND	MEAN
 *	section	WAY	KIND	NUMBER	TRAPS	(-m) begins with the next MARK(0)
 *	rate	WAY	ASKED	TAKEN	MEAN	EVENTS	LOST
 *	skip	WAY	KIND	WHY	KIND is "-" for all
 *	fail	WAY	KIND	WHY
 *
 * It ends with 1 if there is a "fail": what could not be measured, or is not what it is
 * taken for. It has no opinion on the figures.
 *
 * MEAN is of a round, with all that happens meanwhile, the timer's interrupts for one;
 * MEDIAN is the one of its traps. What reading the clock takes is not in them. The mean
 * of "scale" is of page faults that so many threads take at once, each on a CPU and in
 * memory of its own: what all of the CPUs do is in it, for under icount there is one
 * clock, which all of them drive.
 *
 * "rate" is of page faults at so many a second (0: as fast as it goes) on one CPU, while
 * the small ring buffer is read on another, or (RATE "full") is not read and drops what
 * is new: so many were taken, and so many EVENTS recorded and LOST. A second is 10^9
 * clocks, as under icount.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/fs.h>

#include "lib.h"

/* How many traps come after another; between two of these batches, memory is emptied */
#define BATCH		500
#define AROUND		16		/* pages that a fault maps around it */
#define MAX_TRAPS	100000
#define MAX_THREADS	64
#define WARM_UP		200
#define BLOCK_DEVICE	"/dev/ram0"
#define BUFFER_KB	"16384"		/* for a round: what is lost has another price */
#define SECOND		TRACING "/instances/price"

/* The clock of a guest under icount runs ahead while it waits for the host */
#define PATIENCE	3600		/* seconds */

static char *memory, *file, *private, *mapped, *unmapped, *frame;
static size_t page, file_size;
static int rounds = 5, traps = 20000, block_device = -1, own_memory = -1;
static unsigned int ticks[MAX_TRAPS];
static char *only;

/*
 * Marks, which do nothing. An emulator that counts what is executed and what is written
 * to can know by them when: 0 begins a section, 1 begins to count, and 2 ends it.
 */
#ifdef __x86_64__
#define MARK_AT		"(%%rax)"
#else
#define MARK_AT		"(%%eax)"
#endif
#define MARK(n)		({ asm volatile("nopl 0x7072690" #n MARK_AT : : : "memory"); })

static int section;
static bool tell_sections, failed;

static __printf(3, 4)
void print_fail(const char *way, const char *kind, const char *why, ...)
{
	va_list args;

	printf("fail\t%s\t%s\t", way, kind);
	va_start(args, why);
	vprintf(why, args);
	va_end(args);
	putchar('\n');
	failed = true;
}

static void new_section(const char *way, const char *kind, int n)
{
	MARK(0);
	section++;
	if (tell_sections)
		printf("section\t%s\t%s\t%d\t%d\n", way, kind, section, n);
}

static inline unsigned long long tsc(void)
{
	unsigned int low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return low | (unsigned long long)high << 32;
}

/*
 * The kinds of traps
 */
static void no_trap(long i)
{
	(void)i;
}

static void getppid_control(long i)
{
	(void)i;
	syscall(SYS_getppid);
}

static void int3(long i)
{
	(void)i;
	raise_bp(NULL);
}

static void ud2(long i)
{
	(void)i;
	raise_ud(NULL);
}

static void divide(long i)
{
	(void)i;
	raise_de(NULL);
}

static void zero_page(long i)
{
	raise_read(memory + i * page);
}

static void first_write(long i)
{
	raise_write(memory + i * page);
}

/* Of a file in the page cache */
static void page_cache(long i)
{
	raise_read(file + i * AROUND * page);
}

/* The same, but it is not there */
static void major(long i)
{
	raise_read(file + i * page);
}

/* The kernel writes: its fault is under the mmap lock */
static void kernel_write(long i)
{
	syscall(SYS_clock_getres, CLOCK_MONOTONIC, memory + i * page);
}

/* The kernel cannot write: its fault is fixed up */
static void fixup(long i)
{
	(void)i;
	syscall(SYS_clock_getres, CLOCK_MONOTONIC, unmapped);
}

static void segv(long i)
{
	(void)i;
	raise_read(unmapped);
}

/* Something is there, but may not be written to */
static void segv_access(long i)
{
	(void)i;
	raise_write(file);
}

/* Behind the end of the device */
static void sigbus(long i)
{
	(void)i;
	raise_read(file + file_size);
}

/* The mm's own hot paths: what marks in them take while they are off */
static void private_write(long i)
{
	raise_write(private + i * page);
}

static void get_user_pages(long i)
{
	char c;

	if (pread(own_memory, &c, 1, (uintptr_t)(memory + i * page)) != 1)
		ksft_exit_fail_msg("/proc/self/mem: %s\n", strerror(errno));
}

static void unmap(long i)
{
	munmap(mapped + i * page, page);
}

static void fork_pages(long i)
{
	pid_t child = must_fork();

	(void)i;
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* With a frame pointer to memory that has no page, or that has one: for stack walks */
static void walk_fault(long i)
{
	(void)i;
	raise_bp_in_frame(memory);
}

static void walk_page(long i)
{
	(void)i;
	raise_bp_in_frame(frame);
}

static void no_memory(void)
{
	madvise(memory, BATCH * page, MADV_DONTNEED);
}

static void no_mapping(void)
{
	madvise(file, file_size, MADV_DONTNEED);
}

/* Nor a page cache; and no read ahead, so each page is a fault */
static void no_cache(void)
{
	no_mapping();
	posix_fadvise(block_device, 0, 0, POSIX_FADV_DONTNEED);
}

static void zero_pages(void)
{
	no_memory();
	for (int i = 0; i < BATCH; i++)
		raise_read(memory + i * page);
}

static void written_pages(void)
{
	no_memory();
	memset(memory, 1, BATCH * page);
}

/* A child had them as well: each is written to in its place */
static void formerly_shared_pages(void)
{
	written_pages();
	fork_pages(0);
}

/* A child has them as well: each is copied */
static void shared_pages(void)
{
	static pid_t child;

	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	written_pages();
	child = must_fork();
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void no_private(void)
{
	madvise(private, BATCH * page, MADV_DONTNEED);
}

static void mapped_pages(void)
{
	mapped = mmap(mapped, BATCH * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (mapped == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	memset(mapped, 1, BATCH * page);
}

#define CONTROL		0x1
#define SIGNALS		0x2
#define FAULTS		0x4		/* that the mm resolves */
#define BAD_FAULTS	0x8
#define OTHER_FAULTS	0x10		/* if asked for by name only */
#define WALKS		0x20
#define PAGE_FAULTS	(FAULTS | BAD_FAULTS | OTHER_FAULTS)
#define ALL		(CONTROL | SIGNALS | PAGE_FAULTS)

struct kind {
	const char *name;
	unsigned int sort;
	void (*raise)(long i);
	void (*again)(void);
	bool file;
	int share;		/* only one of so many */
};

static const struct kind kinds[] = {
	{ "getppid", CONTROL, getppid_control },
	{ "int3", SIGNALS, int3 },
	{ "ud2", SIGNALS, ud2 },
	{ "divide", SIGNALS, divide },
	{ "zero_page", FAULTS, zero_page, no_memory },
	{ "first_write", FAULTS, first_write, no_memory },
	{ "page_cache", FAULTS, page_cache, no_mapping, true },
	{ "major", FAULTS, major, no_cache, true },
	{ "segv", BAD_FAULTS, segv },
	{ "kernel_write", OTHER_FAULTS, kernel_write, no_memory },
	{ "fixup", OTHER_FAULTS, fixup },
	{ "segv_access", OTHER_FAULTS, segv_access, NULL, true },
	{ "sigbus", OTHER_FAULTS, sigbus, NULL, true },
	{ "zero_write", OTHER_FAULTS, first_write, zero_pages },
	{ "copy_on_write", OTHER_FAULTS, first_write, shared_pages },
	{ "reuse", OTHER_FAULTS, first_write, formerly_shared_pages },
	{ "private_file", OTHER_FAULTS, private_write, no_private, true },
	{ "get_user_pages", OTHER_FAULTS, get_user_pages, no_memory },
	{ "munmap", OTHER_FAULTS, unmap, mapped_pages },
	{ "fork", OTHER_FAULTS, fork_pages, written_pages, false, 100 },
	{ "walk_fault", WALKS, walk_fault, no_memory },
	{ "walk_page", WALKS, walk_page },
};

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	ksft_exit_fail_msg("no kind of trap is called %s\n", name);
}

static bool asked_for(const struct kind *k)
{
	size_t length = strlen(k->name);

	if (!only)
		return k->sort != OTHER_FAULTS;
	for (const char *at = only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, k->name, length) && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

/*
 * The ways to see them
 */
#define PAGEFAULT	"events/pagefault/"
#define EXCEPTIONS	"events/exceptions/page_fault_user/"
#define DYNAMIC		"dynamic_events"
#define ENTER		"events/price/enter/enable", "1", "0"
#define LEAVE		"events/price/leave/enable", "1", "0"
#define MM		"handle_mm_fault"
#define MM_ENTER	" " MM " address=$arg2 flags=$arg3:u32"
#define FORCE		"force_sig_info_to_task"
#define FORCE_ENTER	" " FORCE " info=$arg1 task=$arg2"
#define RETURNS		" ret=$retval"

#define MM_LATENCY	"kprobe:" MM " { @since[tid] = nsecs; } "		\
			"kretprobe:" MM " /@since[tid]/ { "			\
			"@ns = hist(nsecs - @since[tid]); delete(@since[tid]); }"
#define EXIT_LATENCY	"tracepoint:pagefault:pagefault_exit { @ns = hist(args->duration); }"
#define PERF_RECORD	"perf record -q -c 1 -m 4096 -p $PID -o $RECORD -e "
/* What it has recorded goes into one file, and nothing may have been left out */
#define LTTNG(probe, event)							\
	"HOME=/tmp; export HOME; pid=/var/run/lttng/lttng-sessiond.pid; "	\
	"lttng-sessiond -d --kmod-probes=" probe " && "				\
	"lttng create --output=$RECORD.lttng && "				\
	"lttng enable-channel -k --subbuf-size=4M --num-subbuf=8 all && "	\
	"lttng enable-event -k -c all " event " && "				\
	"trap 'lttng destroy >$RECORD.said; kill $(cat $pid); "			\
	"find $RECORD.lttng -type f -exec cat {} + >$RECORD; "			\
	"while [ -e $pid ]; do sleep 0.1; done; cat $RECORD.said; "		\
	"! grep -qi discarded $RECORD.said; status=$?; "			\
	"rm -rf $RECORD.lttng $RECORD.said; exit $status' INT && "		\
	"lttng start && while :; do sleep 1; done"
#define LTTNG_CHECK	"modprobe -q lttng-tracer", "no lttng-modules for this kernel"

#define SHARED_LINE	"shared_line"

struct setting {
	const char *file, *on, *off;	/* below TRACING; off in the opposite order */
};

struct way {
	const char *name;
	unsigned int sorts;
	const char *tells;
	struct setting settings[5];
	const char *program, *command;	/* or what runs beside, by a shell */
	const char *check, *why;	/* what has to succeed for that */
};

static const struct way ways[] = {
	{ "off", ALL, "nothing" },
	{ SHARED_LINE, 0, "(to see that a store to a line of all CPUs is seen)" },
	{ "trap", ALL, "each trap: vector, error code, mode, ip; entry and exit",
	  { { "events/trap/enable", "1", "0" } } },
	{ "pagefault", CONTROL | PAGE_FAULTS,
	  "each page fault: address, ip, error code, mode, outcome, signal, duration; when it began",
	  { { PAGEFAULT "pagefault_entry/enable", "1", "0" },
	    { PAGEFAULT "pagefault_exit/enable", "1", "0" } } },
	{ "pagefault_exit", CONTROL | PAGE_FAULTS,
	  "each page fault: address, ip, error code, mode, outcome, signal, duration",
	  { { PAGEFAULT "pagefault_exit/enable", "1", "0" } } },
	{ "all", ALL, "all of these",
	  { { "events/trap/enable", "1", "0" }, { PAGEFAULT "enable", "1", "0" } } },
	{ "hist", CONTROL | PAGE_FAULTS, "how many took how long",
	  { { PAGEFAULT "pagefault_exit/trigger", "hist:keys=duration.log2",
	      "!hist:keys=duration.log2" } } },
	{ "hist_outcome", CONTROL | PAGE_FAULTS, "how many took how long, by outcome",
	  { { PAGEFAULT "pagefault_exit/trigger", "hist:keys=outcome,duration.log2",
	      "!hist:keys=outcome,duration.log2" } } },
	{ "pagefault_exit_perf", CONTROL | PAGE_FAULTS, "what pagefault_exit does",
	  { { PAGEFAULT "pagefault_exit/id" } },
	  "perf", PERF_RECORD "pagefault:pagefault_exit" },
	{ "pagefault_exit_bpftrace", CONTROL | PAGE_FAULTS, "how many took how long",
	  { { PAGEFAULT "pagefault_exit/id" } },
	  "bpftrace", "bpftrace -q -e '" EXIT_LATENCY "'" },
	{ "pagefault_exit_lttng", CONTROL | PAGE_FAULTS, "what pagefault_exit does",
	  { { PAGEFAULT "pagefault_exit/id" } },
	  "lttng", LTTNG("pagefault", "pagefault_exit"), LTTNG_CHECK },
	/*
	 * A page fault of a stack walk: in a probe that the guard does not know, and in
	 * one of a trap event. The second instance is for exits, and walks no stack
	 */
	{ "walk", WALKS, "(to tell the price of the guard)",
	  { { PAGEFAULT "pagefault_exit/id" },
	    { "events/signal/signal_generate/enable", "1", "0" },
	    { "options/userstacktrace", "1", "0" } } },
	{ "walk_guarded", WALKS, "(to tell the price of the guard)",
	  { { "events/trap/trap_entry/enable", "1", "0" },
	    { "options/userstacktrace", "1", "0" },
	    { "instances/price/" PAGEFAULT "pagefault_entry/enable", "1", "0" } } },
	{ "page_fault_user", CONTROL | PAGE_FAULTS, "address, ip, error code",
	  { { EXCEPTIONS "enable", "1", "0" } } },
	{ "page_fault_user_hist", CONTROL | PAGE_FAULTS, "how many",
	  { { EXCEPTIONS "trigger", "hist:keys=error_code", "!hist:keys=error_code" } } },
	{ "kprobe", CONTROL | FAULTS, "address; not faults that fail before",
	  { { DYNAMIC, "p:price/enter" MM_ENTER, "-:price/enter" }, { ENTER } } },
	{ "kretprobe", CONTROL | FAULTS,
	  "address, duration, VM_FAULT_*; not error code and ip, faults that fail before",
	  { { DYNAMIC, "p:price/enter" MM_ENTER, "-:price/enter" },
	    { DYNAMIC, "r:price/leave " MM RETURNS, "-:price/leave" },
	    { ENTER }, { LEAVE } } },
	{ "fprobe", CONTROL | FAULTS, "the same",
	  { { DYNAMIC, "f:price/enter" MM_ENTER, "-:price/enter" },
	    { DYNAMIC, "f:price/leave " MM "%return" RETURNS, "-:price/leave" },
	    { ENTER }, { LEAVE } } },
	{ "function_graph", CONTROL | FAULTS, "duration only",
	  { { "set_ftrace_filter", MM, "!" MM },
	    { "current_tracer", "function_graph", "nop" } } },
	{ "page_fault_user_perf", CONTROL | PAGE_FAULTS, "address, ip, error code",
	  { { EXCEPTIONS "id" } },
	  "perf", PERF_RECORD "exceptions:page_fault_user" },
	{ "kretprobe_bpftrace", CONTROL | FAULTS, "how many took how long",
	  { { DYNAMIC } }, "bpftrace", "bpftrace -q -e '" MM_LATENCY "'" },
	{ "lttng", CONTROL | PAGE_FAULTS, "address, ip, some of the error code",
	  { { EXCEPTIONS "id" } },
	  "lttng", LTTNG("x86-exceptions", "x86_exceptions_page_fault_user"), LTTNG_CHECK },
	{ "signal_generate", CONTROL | SIGNALS | BAD_FAULTS,
	  "signal, si_code; not vector, error code, ip; not traps without a signal",
	  { { "events/signal/signal_generate/enable", "1", "0" } } },
	{ "signal_kprobe", CONTROL | SIGNALS | BAD_FAULTS, "that there is a signal",
	  { { DYNAMIC, "p:price/enter" FORCE_ENTER, "-:price/enter" }, { ENTER } } },
	{ "signal_kretprobe", CONTROL | SIGNALS | BAD_FAULTS, "the same, and how long it took",
	  { { DYNAMIC, "p:price/enter" FORCE_ENTER, "-:price/enter" },
	    { DYNAMIC, "r:price/leave " FORCE RETURNS, "-:price/leave" },
	    { ENTER }, { LEAVE } } },
};

static char log_file[PATH_MAX], record[PATH_MAX];
static pid_t beside;

/* Why the way cannot be taken here, or NULL */
static const char *missing(const struct way *w)
{
	static char why[300];
	const char *path = getenv("PATH") ?: "";
	struct stat st;

	for (const struct setting *s = w->settings; s->file; s++) {
		snprintf(why, sizeof(why), TRACING "/%s", s->file);
		/* Those of dynamic events are not there yet */
		if (!strncmp(s->file, "events/price/", 13) || !stat(why, &st))
			continue;
		snprintf(why, sizeof(why), "this kernel has no %s", s->file);
		return why;
	}
	if (!w->program)
		return NULL;
	while (*path) {
		snprintf(why, sizeof(why), "%.*s/%s", (int)strcspn(path, ":"), path,
			 w->program);
		if (!access(why, X_OK))
			return w->check && system(w->check) ? w->why : NULL;
		path += strcspn(path, ":");
		path += *path == ':';
	}
	snprintf(why, sizeof(why), "%s is not there", w->program);
	return why;
}

/*
 * Measuring
 */
struct round {
	double mean, median;
};

static int by_size(const void *a, const void *b)
{
	return *(const unsigned int *)a < *(const unsigned int *)b ? -1 :
	       *(const unsigned int *)a > *(const unsigned int *)b;
}

static struct round raise_all(const struct kind *k, int n)
{
	unsigned long long begin, at, total = 0;
	struct round r;
	int done = 0;

	while (done < n) {
		int batch = n - done < BATCH ? n - done : BATCH;

		if (k->again)
			k->again();
		MARK(1);
		begin = tsc();
		for (int i = 0; i < batch; i++) {
			at = tsc();
			k->raise(i);
			ticks[done + i] = tsc() - at;
		}
		total += tsc() - begin;
		MARK(2);
		done += batch;
	}
	qsort(ticks, n, sizeof(*ticks), by_size);
	r.mean = (double)total / n;
	r.median = (ticks[(n - 1) / 2] + ticks[n / 2]) / 2.0;
	return r;
}

/* What the clock and the loop take */
static struct round overhead(void)
{
	static const struct kind none = { "none", 0, no_trap };
	static struct round r;

	if (!r.mean) {
		raise_all(&none, MAX_TRAPS);
		r = raise_all(&none, MAX_TRAPS);
	}
	return r;
}

static void clear_buffer(void)
{
	must(put(TRACING, "trace", " "), "trace");
}

static void fill_cache(void)
{
	static char pages[1 << 16];

	for (size_t at = 0; at < file_size; at += sizeof(pages))
		if (pread(block_device, pages, sizeof(pages), at) < 0)
			ksft_exit_fail_msg(BLOCK_DEVICE ": %s\n", strerror(errno));
}

static void print_bytes(const struct way *w, const struct kind *k)
{
	const int n = 1000;

	clear_buffer();
	raise_all(k, n);
	must(put(TRACING, "tracing_on", "0"), "tracing_on");
	printf("bytes\t%s\t%s\t%.1f\n", w->name, k->name,
	       (double)buffer_stat(TRACING, "bytes: ") / n);
	must(put(TRACING, "tracing_on", "1"), "tracing_on");
}

static void print_hits(const struct way *w, const struct kind *k)
{
	unsigned long before = suppressed();
	const int n = 1000;

	raise_all(k, n);
	printf("hits\t%s\t%s\t%.3f\n", w->name, k->name, (double)(suppressed() - before) / n);
}

/* As getrusage() counts the faults that the mm resolves, but for some of the program's own */
static void check_faults(const struct way *w, const struct kind *k, int n,
			 const struct rusage *before)
{
	struct rusage after;
	long faults;

	getrusage(RUSAGE_SELF, &after);
	faults = k->raise == major ? after.ru_majflt - before->ru_majflt :
				     after.ru_minflt - before->ru_minflt;
	if (k->sort == FAULTS &&
	    (faults < n || faults > n + n / 100 + 20))
		print_fail(w->name, k->name, "%ld page faults of this kind, not %d", faults, n);
}

static int traps_of(const struct kind *k)
{
	return k->share ? traps / k->share : traps;
}

static void measure(const struct way *w, const struct kind *k)
{
	int n = traps_of(k);
	struct round r, none = overhead();
	struct rusage before;

	if (k->file && !file) {
		printf("skip\t%s\t%s\tno " BLOCK_DEVICE "\n", w->name, k->name);
		return;
	}
	if (k->file)
		fill_cache();
	/* Unless a slab, say, is what it will be, the first round differs */
	raise_all(k, WARM_UP);
	for (int i = 0; i < rounds; i++) {
		clear_buffer();
		new_section(w->name, k->name, n);
		getrusage(RUSAGE_SELF, &before);
		r = raise_all(k, n);
		check_faults(w, k, n, &before);
		printf("price\t%s\t%s\t%d\t%.2f\t%.1f\n", w->name, k->name, i + 1,
		       r.mean - none.mean, r.median - none.median);
	}
	new_section("-", "-", 0);
	if (buffer_stat(TRACING, "overrun: "))
		print_fail(w->name, k->name, "the ring buffer is too small");
	if (!w->command && w->settings[0].file && k->sort != WALKS)
		print_bytes(w, k);
	if (k->sort == WALKS)
		print_hits(w, k);
	clear_buffer();
}

/*
 * Switching the ways on and off
 */
static int set(const struct setting *s, const char *text)
{
	/* A new probe or trigger is not to replace the others */
	return text ? append(TRACING, s->file, "%s\n", text) : 0;
}

/* turn_off - From the last setting of @n */
static void turn_off(const struct way *w, int n)
{
	int ret;

	while (n--) {
		ret = set(&w->settings[n], w->settings[n].off);
		if (ret)
			ksft_exit_fail_msg("%s: %s to %s: %s\n", w->name,
					   w->settings[n].off, w->settings[n].file,
					   strerror(-ret));
	}
}

static int settings_of(const struct way *w)
{
	int n = 0;

	while (w->settings[n].file)
		n++;
	return n;
}

static bool turn_on(const struct way *w)
{
	int ret;

	for (int i = 0; i < settings_of(w); i++) {
		ret = set(&w->settings[i], w->settings[i].on);
		if (!ret)
			continue;
		print_fail(w->name, "-", "%s to %s: %s", w->settings[i].on,
			   w->settings[i].file, strerror(-ret));
		turn_off(w, i);
		return false;
	}
	return true;
}

static void print_log(void)
{
	char *text = get("/", log_file);

	for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
		printf("# %s\n", line);
	free(text);
}

static bool has_ended(const struct way *w)
{
	int status;

	if (waitpid(beside, &status, WNOHANG) != beside)
		return false;
	print_fail(w->name, "-", "%s ended with status %d", w->program,
		   WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	print_log();
	return true;
}

static double median_of(const struct kind *k)
{
	raise_all(k, WARM_UP);
	return raise_all(k, WARM_UP).median;
}

/* start_beside - What runs beside is there when it costs something */
static bool start_beside(const struct way *w)
{
	const struct kind *k = find_kind("zero_page");
	double off = median_of(k);
	char pid[16];
	int fd;

	snprintf(pid, sizeof(pid), "%d", getpid());
	beside = must_fork();
	if (!beside) {
		fd = open(log_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, 1);
		dup2(fd, 2);
		close(0);
		open("/dev/null", O_RDONLY);
		setsid();
		setenv("PID", pid, 1);
		setenv("RECORD", record, 1);
		execl("/bin/sh", "sh", "-c", w->command, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < PATIENCE * 10; i++) {
		if (has_ended(w))
			return false;
		if (median_of(k) > off + 100) {
			/* It may record already, and read only when it has got ready */
			sleep(2);
			return true;
		}
		usleep(100000);
	}
	print_fail(w->name, "-", "it does not begin");
	print_log();
	kill(-beside, SIGKILL);
	waitpid(beside, NULL, 0);
	return false;
}

static void end_beside(const struct way *w, unsigned long traps_recorded)
{
	struct stat st;
	int status;

	if (has_ended(w))
		return;
	kill(-beside, SIGINT);
	waitpid(beside, &status, 0);
	if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGINT : WEXITSTATUS(status)) {
		print_fail(w->name, "-", "%s ended with status 0x%x", w->program, status);
		print_log();
	}
	if (!stat(record, &st) && traps_recorded)
		printf("bytes\t%s\tzero_page\t%.1f\n", w->name,
		       (double)st.st_size / traps_recorded);
	unlink(record);
}

/*
 * Scale: page faults of threads, each in memory of its own
 */
static struct thread {
	pthread_t id;
	int cpu;
	char *pages;
	unsigned long long begin, end;
} threads[MAX_THREADS];
static pthread_barrier_t barrier;
static int shared_line = -1;

static void *touch(void *arg)
{
	struct thread *t = arg;

	pin(t->cpu);
	pthread_barrier_wait(&barrier);
	MARK(1);
	t->begin = tsc();
	for (int i = 0; i < traps; i++) {
		raise_read(t->pages + i * page);
		if (shared_line >= 0)
			eventfd_write(shared_line, 1);
	}
	t->end = tsc();
	MARK(2);
	return NULL;
}

static void measure_scale(const struct way *w, int n)
{
	unsigned long long begin = ULLONG_MAX, end = 0;

	/* In the kernel, all threads write this one */
	if (!strcmp(w->name, SHARED_LINE))
		shared_line = eventfd(0, 0);
	/* The first round has the page tables of the others to make */
	for (int i = 0; i <= rounds; i++) {
		clear_buffer();
		new_section(w->name, "scale", i ? traps * n : 0);
		pthread_barrier_init(&barrier, NULL, n);
		for (int t = 0; t < n; t++) {
			threads[t].cpu = t;
			threads[t].pages = new_pages(traps * page);
			if (pthread_create(&threads[t].id, NULL, touch, &threads[t]))
				ksft_exit_fail_msg("pthread_create\n");
		}
		begin = ULLONG_MAX;
		end = 0;
		for (int t = 0; t < n; t++) {
			pthread_join(threads[t].id, NULL);
			begin = threads[t].begin < begin ? threads[t].begin : begin;
			end = threads[t].end > end ? threads[t].end : end;
			munmap(threads[t].pages, traps * page);
		}
		pthread_barrier_destroy(&barrier);
		if (i)
			printf("scale\t%s\t%d\t%d\t%.2f\n", w->name, n, i,
			       (double)(end - begin) / traps / n);
	}
	if (shared_line >= 0)
		close(shared_line);
	shared_line = -1;
	clear_buffer();
}

/*
 * Rates
 */
#define NS_PER_SECOND		1000000000ULL
#define SMALL_BUFFER_KB		"512"

/* Not asleep: what wakes a task up is no part of the price */
static void wait_until(unsigned long long clock)
{
	while (tsc() < clock)
		;
}

static pid_t start_reader(void)
{
	static char data[1 << 16];
	pid_t reader = must_fork();
	int fd;

	if (reader)
		return reader;
	pin(1);
	fd = open(TRACING "/per_cpu/cpu0/trace_pipe_raw", O_RDONLY);
	while (read(fd, data, sizeof(data)) >= 0)
		;
	_exit(1);
}

static void measure_rate(const struct way *w, const char *asked)
{
	bool full = !strncmp(asked, "full", 4);
	unsigned long rate = full ? 0 : strtoul(asked, NULL, 10);
	unsigned long long begin, at, total = 0;
	double taken, events, lost;
	int status, n = traps;
	pid_t reader = 0;

	/* A second of it is enough, and so is what fills the buffer many times over */
	if (rate && rate < (unsigned long)n)
		n = rate;
	else if (!rate && !full)
		n *= 10;
	clear_buffer();
	if (!full)
		reader = start_reader();
	begin = tsc();
	for (int i = 0; i < n; i++) {
		if (!(i % BATCH))
			no_memory();
		/* A clock of the guest is an instruction, and a ns */
		if (rate)
			wait_until(begin + i * NS_PER_SECOND / rate);
		at = tsc();
		zero_page(i % BATCH);
		total += tsc() - at;
	}
	taken = n / ((double)(tsc() - begin) / NS_PER_SECOND);
	/* What is left in the buffer is not lost */
	must(put(TRACING, "tracing_on", "0"), "tracing_on");
	if (reader) {
		kill(reader, SIGKILL);
		waitpid(reader, &status, 0);
		if (!WIFSIGNALED(status))
			print_fail(w->name, "rate", "the ring buffer cannot be read");
	}
	events = buffer_stat(TRACING, "entries: ") + buffer_stat(TRACING, "read events: ");
	lost = buffer_stat(TRACING, "overrun: ") + buffer_stat(TRACING, "dropped events: ");
	printf("rate\t%s\t%.*s\t%.0f\t%.1f\t%.0f\t%.0f\n", w->name,
	       (int)strcspn(asked, ","), asked, taken,
	       (double)total / n - overhead().median, events, lost);
	if (rate && (taken < rate * 0.98 || taken > rate * 1.02))
		print_fail(w->name, "rate", "%.0f page faults a second, not %lu", taken, rate);
	/* Each has at least one, of those that can be read and those that were lost */
	if (w->settings[0].file ? events + lost < n : events + lost > 0)
		print_fail(w->name, "rate", "%.0f events and %.0f lost of %d page faults", events,
			   lost, n);
	must(put(TRACING, "tracing_on", "1"), "tracing_on");
}

static void measure_rates(const struct way *w, const char *rates)
{
	pin(0);
	must(put(TRACING, "options/overwrite", "0"), "overwrite");
	must(put(TRACING, "buffer_size_kb", SMALL_BUFFER_KB), "buffer_size_kb");
	for (const char *at = rates; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		measure_rate(w, at);
	must(put(TRACING, "buffer_size_kb", BUFFER_KB), "buffer_size_kb");
	must(put(TRACING, "options/overwrite", "1"), "overwrite");
	clear_buffer();
}

static void take_way(const struct way *w, int nthreads, const char *rates)
{
	const char *why = missing(w);
	unsigned long traps_recorded = 0;

	printf("way\t%s\t%s\n", w->name, w->tells);
	if (why) {
		printf("skip\t%s\t-\t%s\n", w->name, why);
		return;
	}
	if (!turn_on(w))
		return;
	if (w->command && !start_beside(w)) {
		turn_off(w, settings_of(w));
		return;
	}
	for (size_t i = 0; !nthreads && !rates && i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];

		if (!(k->sort & w->sorts) || (k->sort != WALKS && !asked_for(k)))
			continue;
		measure(w, k);
		if (k->sort & PAGE_FAULTS)
			traps_recorded += WARM_UP + rounds * traps;
		fflush(stdout);
	}
	if (nthreads)
		measure_scale(w, nthreads);
	if (rates)
		measure_rates(w, rates);
	if (w->command)
		end_beside(w, traps_recorded);
	turn_off(w, settings_of(w));
	fflush(stdout);
}

/* The clock of the kernel is to be the same all the time */
static void wait_for_clock(void)
{
	const char *dir = "/sys/devices/system/clocksource/clocksource0";
	char *name;

	for (int i = 0; i < 100; i++) {
		name = get(dir, "current_clocksource");
		if (!name || strncmp(name, "tsc-early", 9)) {
			free(name);
			return;
		}
		free(name);
		usleep(100000);
	}
}

static void set_up(void)
{
	const char *tmpdir = getenv("TMPDIR") ?: "/tmp";

	skip_traps();
	page = sysconf(_SC_PAGESIZE);
	memory = new_pages(BATCH * page);
	frame = new_pages(page);
	memset(frame, 0, page);
	unmapped = new_pages(page);
	munmap(unmapped, page);
	mapped = new_pages(BATCH * page);
	own_memory = open("/proc/self/mem", O_RDONLY);
	memset(ticks, 0, sizeof(ticks));
	snprintf(log_file, sizeof(log_file), "%s/trap_price.log.%d", tmpdir, getpid());
	snprintf(record, sizeof(record), "%s/trap_price.data.%d", tmpdir, getpid());

	block_device = open(BLOCK_DEVICE, O_RDONLY);
	if (block_device < 0)
		return;
	file_size = lseek(block_device, 0, SEEK_END);
	file = mmap(NULL, file_size + page, PROT_READ, MAP_SHARED, block_device, 0);
	if (file_size < BATCH * AROUND * page || file == MAP_FAILED)
		ksft_exit_fail_msg(BLOCK_DEVICE " is too small\n");
	private = mmap(NULL, BATCH * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, block_device, 0);
	if (private == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	madvise(file, file_size, MADV_RANDOM);
	posix_fadvise(block_device, 0, 0, POSIX_FADV_RANDOM);
}

static long to_number(const char *text, long most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n < 1 || n > most)
		ksft_exit_fail_msg("%s: give a whole number from 1 to %ld\n", text, most);
	return n;
}

static const struct way *find_way(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	ksft_exit_fail_msg("no way is called %s\n", name);
}

int main(int argc, char **argv)
{
	const char *rates = NULL;
	int option, nthreads = 0;

	while ((option = getopt(argc, argv, "e:k:mn:r:t:")) != -1) {
		switch (option) {
		case 'e':
			rates = optarg;
			break;
		case 'k':
			only = optarg;
			break;
		case 'm':
			tell_sections = true;
			break;
		case 'n':
			traps = to_number(optarg, MAX_TRAPS);
			break;
		case 'r':
			rounds = to_number(optarg, 1000);
			break;
		case 't':
			nthreads = to_number(optarg, MAX_THREADS);
			break;
		default:
			ksft_exit_fail_msg("usage: see the head of trap_price.c\n");
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getuid())
		ksft_exit_skip("needs root\n");
	set_up();
	must(put(TRACING, "buffer_size_kb", BUFFER_KB), "buffer_size_kb");
	if (mkdir(SECOND, 0755) && errno != EEXIST)
		ksft_exit_fail_msg("%s: %s\n", SECOND, strerror(errno));
	wait_for_clock();

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (asked_for(&kinds[i]))
			printf("kind\t%s\t%d\n", kinds[i].name, traps_of(&kinds[i]));
	if (optind == argc)
		for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
			take_way(&ways[i], nthreads, rates);
	for (int i = optind; i < argc; i++)
		take_way(find_way(argv[i]), nthreads, rates);

	rmdir(SECOND);
	return failed ? KSFT_FAIL : KSFT_PASS;
}
