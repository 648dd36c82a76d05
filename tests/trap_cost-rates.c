// SPDX-License-Identifier: GPL-2.0
/* trap_cost: page faults at a rate, and what a reader of the ring buffer loses */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trap_cost.h"

#define NS_PER_SECOND		1000000000ULL
#define SMALL_BUFFER_KB		"512"
#define TRIES			3	/* the other CPU may have its turn at the end */

/* Spin, as a wake-up is no part of the price */
static void wait_until(unsigned long long clock)
{
	while (tsc() < clock)
		;
}

static struct {
	atomic_bool ready;
	atomic_ullong delay;
} *reading;

/*
 * Whether a page of the ring buffer has no room for another event: there may be more. It begins
 * with a time stamp, and the size of its events, with flags in the upper bits
 */
static bool full_page(const unsigned long long *data, size_t size)
{
	return 2 * sizeof(*data) + (data[1] & 0xfffff) + 128 > size;
}

/* The delay is the longest time until the reader has read all that is there */
static pid_t start_reader(void)
{
	static unsigned long long data[1 << 13];
	unsigned long long at, before = 0;
	ssize_t size;
	pid_t reader;
	int fd;

	reading = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reading == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	reader = must_fork();
	if (reader) {
		while (!reading->ready && !waitpid(reader, NULL, WNOHANG))
			usleep(10000);
		return reader;
	}
	pin(1);
	fd = open(TRACING "/per_cpu/cpu0/trace_pipe_raw", O_RDONLY);
	reading->ready = true;
	while ((size = read(fd, data, sizeof(data))) >= 0) {
		at = tsc();
		if (before && at - before > reading->delay)
			reading->delay = at - before;
		if (!before || !full_page(data, size))
			before = at;
	}
	_exit(1);
}

/* Whether the way only counts, in the kernel */
static bool counts(const struct way *w)
{
	return w->settings[0].file && strstr(w->settings[0].file, "/trigger");
}

static double hist_total(const struct way *w, const char *name)
{
	char file[128], *text, *at;
	double n;

	snprintf(file, sizeof(file), "%.*shist",
		 (int)(strlen(w->settings[0].file) - strlen("trigger")), w->settings[0].file);
	text = get(TRACING, file);
	at = text ? strstr(text, name) : NULL;
	n = at ? strtod(at + strlen(name), NULL) : 0;
	free(text);
	return n;
}

static void measure_rate(const struct way *w, const char *asked, const char *buffer, int tries)
{
	bool full = !strncmp(asked, "full", 4);
	unsigned long rate = full ? 0 : strtoul(asked, NULL, 10);
	unsigned long long begin, at, total = 0;
	double taken, events, lost, before = counts(w) ? hist_total(w, "Hits: ") : 0;
	int status = 0, n = traps;
	pid_t reader = 0;
	bool late;

	/* A second of it is enough, and so is what fills the buffer many times over */
	if (rate && (buffer || rate < (unsigned long)n))
		n = rate;
	else if (!rate && !full)
		n *= 10;
	clear_buffer();
	if (!full && !counts(w))
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
	late = rate && (taken < rate * 0.98 || taken > rate * 1.02);
	/* What is left in the buffer is not lost */
	must(put(TRACING, "tracing_on", "0"), "tracing_on");
	if (reader) {
		kill(reader, SIGKILL);
		waitpid(reader, &status, 0);
		if (!WIFSIGNALED(status))
			print_fail(w->name, "rate", "the ring buffer cannot be read");
	}
	if (late && tries > 1) {
		must(put(TRACING, "tracing_on", "1"), "tracing_on");
		measure_rate(w, asked, buffer, tries - 1);
		return;
	}
	events = counts(w) ? hist_total(w, "Hits: ") - before :
		 buffer_stat(TRACING, "entries: ") + buffer_stat(TRACING, "read events: ");
	lost = counts(w) ? hist_total(w, "Dropped: ") :
	       buffer_stat(TRACING, "overrun: ") + buffer_stat(TRACING, "dropped events: ");
	if (buffer)
		printf("loss\t%s\t%.*s\t%.*s\t%.0f\t%.0f\t%.0f\t%llu\n", w->name,
		       (int)strcspn(buffer, ","), counts(w) ? "-" : buffer,
		       (int)strcspn(asked, ","), asked, taken, events, lost,
		       reader ? reading->delay : 0);
	else
		printf("rate\t%s\t%.*s\t%.0f\t%.1f\t%.0f\t%.0f\n", w->name,
		       (int)strcspn(asked, ","), asked, taken,
		       (double)total / n - overhead().median, events, lost);
	if (late)
		print_fail(w->name, "rate", "%.0f page faults a second, not %lu", taken, rate);
	/* Each page fault has at least one event, recorded or lost */
	if (w->settings[0].file ? events + lost < n : events + lost > 0)
		print_fail(w->name, "rate", "%.0f events and %.0f lost of %d page faults", events,
			   lost, n);
	must(put(TRACING, "tracing_on", "1"), "tracing_on");
}

static const char *next_in(const char *list)
{
	const char *comma = strchr(list, ',');

	return comma ? comma + 1 : NULL;
}

void measure_rates(const struct way *w, const char *rates, const char *buffers)
{
	pin(0);
	must(put(TRACING, "options/overwrite", "0"), "overwrite");
	for (const char *buffer = buffers ?: SMALL_BUFFER_KB; buffer;
	     buffer = counts(w) ? NULL : next_in(buffer)) {
		must(put(TRACING, "buffer_size_kb", "%d", atoi(buffer)), "buffer_size_kb");
		for (const char *at = rates; at; at = next_in(at))
			measure_rate(w, at, buffers ? buffer : NULL, TRIES);
	}
	must(put(TRACING, "buffer_size_kb", BUFFER_KB), "buffer_size_kb");
	must(put(TRACING, "options/overwrite", "1"), "overwrite");
	clear_buffer();
}
