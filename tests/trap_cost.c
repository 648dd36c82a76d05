// SPDX-License-Identifier: GPL-2.0
/*
 * The price of the trap and page fault trace events, and of what else shows traps
 * and page faults, in instructions: under QEMU's "-icount shift=0", an instruction
 * takes one tick of the guest's TSC. Anywhere else, the ticks are time.
 *
 *	trap_cost [-m] [-r ROUNDS] [-n TRAPS] [-k KIND,...] [-t THREADS] [-e RATE,... [-b KIB,...]]
 *		  [WAY]...
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
 *	loss	WAY	BUFFER	ASKED	TAKEN	EVENTS	LOST	DELAY
 *	skip	WAY	KIND	WHY	KIND is "-" for all
 *	fail	WAY	KIND	WHY
 *
 * It ends with 1 after a "fail": something could not be measured, or was not
 * what it should be. It does not judge the figures.
 *
 * MEAN is of a round, with all that happens meanwhile, the timer's interrupts for one;
 * MEDIAN is that of its traps. Both exclude reading the clock. Of a loop, they are of a page.
 * The mean of "scale" is of page faults that so many threads take at once, each on a CPU and in
 * memory of its own: what all of the CPUs do is in it, for under icount there is one
 * clock, which all of them drive.
 *
 * "rate" is of page faults at so many a second (0: as fast as it goes) on one CPU, while
 * the small ring buffer is read on another, or (RATE "full") is not read and drops what
 * is new: so many were taken, and so many EVENTS recorded and LOST. A second is 10^9
 * clocks, as under icount.
 *
 * "loss" (-b) is the same with a ring buffer of so many KiB, for a second; DELAY is the longest
 * time, in ns, between two reads. A way that counts in the kernel has no buffer, and no reader.
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
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trap_cost.h"

/* The clock of a guest under icount runs ahead while it waits for the host */
#define PATIENCE	3600		/* seconds */

char *memory, *file, *private, *mapped, *unmapped, *frame;
size_t page, file_size;
int rounds = 5, traps = 20000, block_device = -1, own_memory = -1;
static unsigned int ticks[MAX_TRAPS];
char *only;

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
static bool tell_sections, failed, in_ramfs;

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

/* What the way records to, beside TRACING */
static char instances[MAX_INSTANCES][64];
static int nr_instances;

static void remove_instances(void)
{
	while (nr_instances)
		rmdir(instances[--nr_instances]);
}

static void make_instances(const struct way *w)
{
	remove_instances();
	for (const struct setting *s = w->settings; s->file; s++) {
		char *path = instances[nr_instances];

		if (strncmp(s->file, "instances/", 10))
			continue;
		snprintf(path, sizeof(*instances), TRACING "/%.*s",
			 10 + (int)strcspn(s->file + 10, "/"), s->file);
		if (mkdir(path, 0755) && errno != EEXIST)
			ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
		must(put(path, "buffer_size_kb", BUFFER_KB), path);
		nr_instances++;
	}
}

static unsigned long sum_of(const char *stat)
{
	unsigned long sum = buffer_stat(TRACING, stat);

	for (int i = 0; i < nr_instances; i++)
		sum += buffer_stat(instances[i], stat);
	return sum;
}

static char log_file[PATH_MAX], record[PATH_MAX];
static pid_t beside;

/* Why the way cannot be taken here, or NULL */
static const char *missing(const struct way *w)
{
	static char why[300];
	struct stat st;

	for (const struct setting *s = w->settings; s->file; s++) {
		snprintf(why, sizeof(why), TRACING "/%s", s->file);
		/* Those of dynamic events are not there yet */
		if (!strncmp(s->file, "events/price/", 13) || !stat(why, &st) ||
		    !strncmp(s->file, "events/synthetic/", 17))
			continue;
		snprintf(why, sizeof(why), "this kernel has no %s", s->file);
		return why;
	}
	if (!w->program)
		return NULL;
	snprintf(why, sizeof(why), "command -v %s >/dev/null", w->program);
	if (!system(why))
		return w->check && system(w->check) ? w->why : NULL;
	snprintf(why, sizeof(why), "%s is not there", w->program);
	return why;
}

/*
 * Measuring
 */
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
	r.tenth = ticks[n / 10];
	return r;
}

/* What the clock and the loop take */
struct round overhead(void)
{
	static const struct kind none = { "none", 0, no_trap };
	static struct round r;

	if (!r.mean) {
		raise_all(&none, MAX_TRAPS);
		r = raise_all(&none, MAX_TRAPS);
	}
	return r;
}

void clear_buffer(void)
{
	must(put(TRACING, "trace", " "), "trace");
	for (int i = 0; i < nr_instances; i++)
		must(put(instances[i], "trace", " "), "trace");
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
	       (double)sum_of("bytes: ") / n);
	must(put(TRACING, "tracing_on", "1"), "tracing_on");
}

static void print_hits(const struct way *w, const struct kind *k)
{
	unsigned long before = suppressed();
	const int n = 1000;

	raise_all(k, n);
	printf("hits\t%s\t%s\t%.3f\n", w->name, k->name, (double)(suppressed() - before) / n);
}

/* So many were there. getrusage() also counts a few faults of the program */
static long count_faults(const struct kind *k)
{
	char *text, *at, line[64];
	struct rusage usage;
	long n;

	if (!k->counter) {
		getrusage(RUSAGE_SELF, &usage);
		return k->raise == major ? usage.ru_majflt : usage.ru_minflt;
	}
	snprintf(line, sizeof(line), "\n%s ", k->counter);
	text = get("/proc", "vmstat");
	at = text ? strstr(text, line) : NULL;
	n = at ? atol(at + strlen(line)) : 0;
	free(text);
	return n;
}

static void check_faults(const struct way *w, const struct kind *k, long faults, long wanted)
{
	if (k->sort != FAULTS && !k->pages && !k->counter)
		return;
	if (faults < wanted || faults > wanted + wanted / 100 + 20)
		print_fail(w->name, k->name, "%ld %s of this kind, not %ld", faults,
			   k->counter ?: "page faults", wanted);
}

static int traps_of(const struct kind *k)
{
	return k->share ? traps / k->share ?: 1 : traps;
}

static void measure(const struct way *w, const struct kind *k)
{
	int n = traps_of(k), pages = k->pages ?: 1;
	struct round r, none = overhead();
	long before;

	if (k->file && (!file || (k->raise == major && in_ramfs))) {
		printf("skip\t%s\t%s\tno " BLOCK_DEVICE "\n", w->name, k->name);
		return;
	}
	if (k->file)
		fill_cache();
	/* Without a warm-up, slabs for example make the first round differ */
	raise_all(k, n < WARM_UP ? n : WARM_UP);
	for (int i = 0; i < rounds; i++) {
		clear_buffer();
		new_section(w->name, k->name, n);
		before = count_faults(k);
		r = raise_all(k, n);
		check_faults(w, k, count_faults(k) - before, (long)n * pages);
		printf("price\t%s\t%s\t%d\t%.2f\t%.1f\t%.0f\n", w->name, k->name, i + 1,
		       (r.mean - none.mean) / pages, (r.median - none.median) / pages,
		       (r.tenth - none.tenth) / pages);
	}
	new_section("-", "-", 0);
	if (sum_of("overrun: "))
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
static bool set(const struct way *w, int i, bool on)
{
	const struct setting *s = &w->settings[i];
	const char *text = on ? s->on : s->off;
	/* A new probe or trigger is not to replace the others */
	int ret = text ? append(TRACING, s->file, "%s\n", text) : 0;

	if (ret)
		print_fail(w->name, "-", "%s to %s: %s", text, s->file, strerror(-ret));
	return !ret;
}

/* turn_off - From the last setting of @n */
static void turn_off(const struct way *w, int n)
{
	while (n--)
		if (!set(w, n, false))
			exit(KSFT_FAIL);
}

/* turn_on - Return how many settings there are, or -1 */
static int turn_on(const struct way *w)
{
	int n;

	for (n = 0; w->settings[n].file; n++) {
		if (set(w, n, true))
			continue;
		turn_off(w, n);
		return -1;
	}
	return n;
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

/* start_beside - Start a tool, and wait until traps cost more */
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
		if (median_of(k) > off + 50) {
			/* It may record before it is ready to read */
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

/*
 * settle - Wait until the control takes no more than the least that it took before
 *
 * What a tool or an instance leaves behind may run on for longer than all rounds of a control
 * take.
 */
static void settle(void)
{
	static double least;
	double now = least + 2;

	for (int i = 0; i < 1000 && now > least + 1; i++) {
		now = raise_all(find_kind("getppid"), 20000).mean;
		least = least && least < now ? least : now;
	}
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
	/* The first round also makes the page tables for the others */
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

static void take_way(const struct way *w, int nthreads, const char *rates, const char *buffers)
{
	unsigned long traps_recorded = 0;
	const char *why;
	int n;

	make_instances(w);
	why = missing(w);
	printf("way\t%s\t%s\n", w->name, w->tells);
	if (why) {
		printf("skip\t%s\t-\t%s\n", w->name, why);
		return;
	}
	n = turn_on(w);
	if (n < 0)
		return;
	if (w->command && !start_beside(w)) {
		turn_off(w, n);
		return;
	}
	for (size_t i = 0; !nthreads && !rates && i < nr_kinds; i++) {
		const struct kind *k = &kinds[i];

		if (!(k->sort & w->sorts) || (k->sort != WALKS && !asked_for(k)))
			continue;
		measure(w, k);
		if (k->sort & PAGE_FAULTS)
			traps_recorded += WARM_UP + rounds * traps_of(k);
		fflush(stdout);
	}
	if (nthreads)
		measure_scale(w, nthreads);
	if (rates)
		measure_rates(w, rates, buffers);
	if (w->command)
		end_beside(w, traps_recorded);
	turn_off(w, n);
	if (w->command || nr_instances) {
		remove_instances();
		settle();
	}
	fflush(stdout);
}

/* Wait until the kernel has its final clocksource */
static void wait_for_clock(void)
{
	const char *dir = "/sys/devices/system/clocksource/clocksource0";
	bool early = true;

	for (int i = 0; i < 100 && early; i++) {
		char *name = get(dir, "current_clocksource");

		early = name && !strncmp(name, "tsc-early", 9);
		free(name);
		usleep(early ? 100000 : 0);
	}
}

/*
 * Where there is no ram disk: a file without a name, in a ramfs that goes with the last
 * user of the file. Its pages are in the page cache, as those of a block device are, and
 * there is no I/O. But the page cache is all that it has: no page can leave it for "major".
 */
static int open_in_ramfs(const char *tmpdir)
{
	char dir[PATH_MAX];
	int fd = -1;

	snprintf(dir, sizeof(dir), "%s/trap_cost.XXXXXX", tmpdir);
	if (!mkdtemp(dir))
		return -1;
	if (!mount("ramfs", dir, "ramfs", 0, NULL)) {
		fd = open(dir, O_TMPFILE | O_RDWR, 0600);
		umount2(dir, MNT_DETACH);
	}
	rmdir(dir);
	in_ramfs = fd >= 0 && !ftruncate(fd, RAMFS_SIZE);
	return in_ramfs ? fd : -1;
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
	snprintf(log_file, sizeof(log_file), "%s/trap_cost.log.%d", tmpdir, getpid());
	snprintf(record, sizeof(record), "%s/trap_cost.data.%d", tmpdir, getpid());

	block_device = open(BLOCK_DEVICE, O_RDONLY);
	if (block_device < 0)
		block_device = open_in_ramfs(tmpdir);
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
	for (size_t i = 0; i < nr_ways; i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	ksft_exit_fail_msg("no way is called %s\n", name);
}

int main(int argc, char **argv)
{
	const char *rates = NULL, *buffers = NULL;
	int option, nthreads = 0;

	while ((option = getopt(argc, argv, "b:e:k:mn:r:t:")) != -1) {
		switch (option) {
		case 'b':
			buffers = optarg;
			break;
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
			ksft_exit_fail_msg("usage: see the head of trap_cost.c\n");
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getuid())
		ksft_exit_skip("needs root\n");
	set_up();
	must(put(TRACING, "buffer_size_kb", BUFFER_KB), "buffer_size_kb");
	wait_for_clock();
	settle();

	for (size_t i = 0; i < nr_kinds; i++)
		if (asked_for(&kinds[i]))
			printf("kind\t%s\t%d\n", kinds[i].name, traps_of(&kinds[i]));
	if (optind == argc)
		for (size_t i = 0; i < nr_ways; i++)
			take_way(&ways[i], nthreads, rates, buffers);
	for (int i = optind; i < argc; i++)
		take_way(find_way(argv[i]), nthreads, rates, buffers);

	remove_instances();
	return failed ? KSFT_FAIL : KSFT_PASS;
}
