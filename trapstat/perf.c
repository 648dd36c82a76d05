// SPDX-License-Identifier: GPL-2.0
/* The software events of perf that have the ends of page faults: two for each CPU */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "perf.h"
#include "trapstat.skel.h"

enum { OTHER_FILES = 128 };	/* that trapstat opens */

struct perf_cpu {
	int fd[2];			/* minor, major; -1 */
	unsigned int plugged;		/* as of the last perf_reopen() */
	unsigned long long closed;	/* what events counted that are closed */
	unsigned long long missed;
};

static struct rlimit given;		/* rlim_max is 0 unless the limit was raised */

static long files_of(long cpus)
{
	return 2 * cpus + OTHER_FILES;
}

/* A process has 1024 open files by default. Other CPUs may come later. */
static int raise_limit(int possible)
{
	struct rlimit limit;
	rlim_t want = files_of(possible);

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	if (limit.rlim_cur >= want)
		return 0;
	if (limit.rlim_max < files_of(sysconf(_SC_NPROCESSORS_ONLN)))
		return -EMFILE;
	given = limit;
	limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
	return setrlimit(RLIMIT_NOFILE, &limit) ? -errno : 0;
}

/**
 * perf_restore_limit - Restore the limit of open files, for a command
 */
void perf_restore_limit(void)
{
	if (given.rlim_max)
		setrlimit(RLIMIT_NOFILE, &given);
}

static unsigned long long read_event(int fd)
{
	unsigned long long n;

	return fd >= 0 && read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static void close_cpu(struct perf_cpu *c)
{
	for (int i = 0; i < 2; i++) {
		c->closed += read_event(c->fd[i]);
		if (c->fd[i] >= 0)
			close(c->fd[i]);
		c->fd[i] = -1;
	}
}

static int open_event(unsigned int event, int cpu, int program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = event,
		.sample_period = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC), error;

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program)) {
		error = errno;
		close(fd);
		errno = error;
		fd = -1;
	}
	return fd;
}

static int open_cpu(struct sources *s, int cpu)
{
	struct perf_cpu *c = &s->perf[cpu];
	int error = 0;

	c->fd[0] = open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, cpu,
			      bpf_program__fd(s->bpf->progs.perf_minor));
	if (c->fd[0] >= 0)
		c->fd[1] = open_event(PERF_COUNT_SW_PAGE_FAULTS_MAJ, cpu,
				      bpf_program__fd(s->bpf->progs.perf_major));
	if (c->fd[0] < 0 || c->fd[1] < 0) {
		error = -errno;
		close_cpu(c);
		return error;
	}
	s->count[cpu].perf_opened = c->plugged + 1;
	return 0;
}

/* What a person may do about it */
static void say_why(int error)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	static bool is_said;	/* a key for another view opens all again */
	char level[16] = "-";
	FILE *f;

	if (is_said)
		return;
	is_said = true;
	fputs("trapstat: outcome and duration of page faults are not known: ", stderr);
	switch (error) {
	case -EMFILE:
		fprintf(stderr, "the events of %ld CPUs take %ld open files, see ulimit -Hn\n",
			cpus, files_of(cpus));
		break;
	case -EACCES:
		f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
		if (f && !fgets(level, sizeof(level), f))
			level[0] = '\0';
		if (f)
			fclose(f);
		level[strcspn(level, "\n")] = '\0';
		fprintf(stderr, "perf_event_open() needs CAP_PERFMON, or CAP_SYS_ADMIN: %s %s\n",
			"kernel.perf_event_paranoid is", level);
		break;
	default:
		/* A kernel without it says so, too */
		fprintf(stderr, "perf_event_open(): %s: is there a seccomp filter?\n",
			strerror(-error));
		break;
	}
}

/**
 * perf_open - Open the events on each CPU that is online
 * @s:	the sources, loaded
 *
 * Return: 0, or a negative error number, with a message on standard error
 */
int perf_open(struct sources *s)
{
	int error = raise_limit(s->cpus), opened = 0;

	s->perf = calloc(s->cpus, sizeof(*s->perf));
	if (!s->perf)
		return -ENOMEM;
	for (int i = 0; i < 2 * s->cpus; i++)
		s->perf[i / 2].fd[i % 2] = -1;
	for (int cpu = 0; cpu < s->cpus && !error; cpu++) {
		s->perf[cpu].plugged = s->count[cpu].perf_plugged;
		error = open_cpu(s, cpu);
		opened += !error;
		if (error == -ENODEV)
			error = 0;
	}
	if (!error && !opened)
		error = -ENODEV;
	if (error)
		say_why(error);
	return error;
}

/**
 * perf_reopen - Open the events on each CPU that came back
 * @s:	the sources
 *
 * A CPU that goes off takes its events along.
 */
void perf_reopen(struct sources *s)
{
	unsigned int plugged;

	for (int cpu = 0; s->perf && cpu < s->cpus; cpu++) {
		plugged = s->count[cpu].perf_plugged;
		if (plugged == s->perf[cpu].plugged)
			continue;
		close_cpu(&s->perf[cpu]);
		s->perf[cpu].plugged = plugged;
		open_cpu(s, cpu);	/* it fails while the CPU is off */
	}
}

/**
 * perf_missed - How many faults the events counted without a call of the BPF program
 * @s:	the sources
 *
 * The kernel skips the program if a call of bpf() changes a map on that CPU.
 */
unsigned long long perf_missed(struct sources *s)
{
	unsigned long long missed = 0, n, least;

	for (int cpu = 0; s->perf && cpu < s->cpus; cpu++) {
		struct perf_cpu *c = &s->perf[cpu];

		/* The CPU may be between the count and the program */
		least = -1ULL;
		for (int i = 0; i < 3 && least; i++) {
			n = c->closed + read_event(c->fd[0]) + read_event(c->fd[1]);
			n -= n < s->count[cpu].perf_ends ? n : s->count[cpu].perf_ends;
			least = n < least ? n : least;
		}
		c->missed = least > c->missed ? least : c->missed;
		missed += c->missed;
	}
	return missed;
}

/**
 * perf_close - Close the events
 * @s:	the sources
 */
void perf_close(struct sources *s)
{
	for (int cpu = 0; s->perf && cpu < s->cpus; cpu++)
		close_cpu(&s->perf[cpu]);
	free(s->perf);
	s->perf = NULL;
}
