// SPDX-License-Identifier: GPL-2.0
/* trapstat: counts traps and page faults in the kernel, and shows them */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "views.h"

#define CAP_SYS_ADMIN	21
#define CAP_PERFMON	38
#define CAP_BPF		39

static const char usage[] =
	"usage: trapstat [OPTIONS] [INTERVAL [COUNT]]         traps per second\n"
	"       trapstat [OPTIONS] faults [INTERVAL [COUNT]]  page faults of each process\n"
	"       trapstat [OPTIONS] -- COMMAND [ARGS]          a command and its children\n"
	"       trapstat --capabilities                       what this kernel can tell\n"
	"  -p, --pid PID        of this process alone    -C, --per-cpu    a column for each CPU\n"
	"  -c, --comm NAME      of this name alone       faults by:  -t, --thread\n"
	"      --vector VECTOR  as in '#GP' or 13            -g, --cgroup   -f, --file\n"
	"      --outcome NAME   as in major                  -n, --rows N (20; 0: all)\n"
	"      --source NAME    of page faults, at best: event, record, fentry, kprobe, none\n"
	"  -u, --user           of user mode alone           --slower TIME  each, as in 1ms\n"
	"  -k, --kernel         of kernel mode alone     -v, --verbose  -h, --help  --version\n";

__volatile__ sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

#define die(format, ...) do {						\
	fprintf(stderr, "trapstat: " format "\n", ##__VA_ARGS__);	\
	exit(2);							\
} while (0)

static long number(const char *text, long least, const char *what)
{
	char *rest;
	long n;

	errno = 0;
	n = strtol(text, &rest, 10);
	if (errno || rest == text || *rest || n < least || n > 1000000000)
		die("%s: no %s", text, what);
	return n;
}

static double to_seconds(const char *text)
{
	char *rest;
	double n = strtod(text, &rest);

	if (rest == text || *rest || !(n >= 0.01 && n <= 1e6))
		die("%s: no seconds, of 0.01 at least (a command comes after --)", text);
	return n;
}

static unsigned long long to_duration(const char *text)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *rest;
	double n = strtod(text, &rest);

	for (int i = 0; i < 4 && rest != text && n > 0 && n < 1e9; i++)
		if (!strcmp(rest, units[i].name) && n * units[i].ns >= 1)
			return n * units[i].ns;
	die("%s: no duration, such as 500us, 1ms or 2s", text);
}

static unsigned int to_vector(const char *text)
{
	const char *name = text + (*text == '#');

	for (unsigned int i = 0; i < ROWS; i++)
		if (row_names[i] && !strcasecmp(name, row_names[i] + (row_names[i][0] == '#')))
			return i;
	if (!isdigit((unsigned char)*text) || strlen(text) > 2 || atoi(text) >= ROW_NMI)
		die("%s: no vector, such as '#GP' or 13", text);
	return number(text, 0, "vector");
}

static unsigned int to_outcome(const char *text)
{
	for (unsigned int i = 0; i < BEGUN; i++)
		if (!strcasecmp(text, outcome_names[i]))
			return i;
	die("%s: no outcome, such as minor, major or signal", text);
}

static unsigned int to_source(const char *text)
{
	for (unsigned int i = 0; i <= ENDS_UNKNOWN; i++)
		if (!strcmp(text, source_names[i]))
			return i;
	die("%s: no source: event, record, fentry, kprobe or none", text);
}

static void check_pid(unsigned int pid)
{
	unsigned int process = pid;
	char line[256];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%u/status", pid);
	f = fopen(line, "r");
	if (!f)
		die("there is no process %u", pid);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Tgid: %u", &process);
	fclose(f);
	if (process != pid)
		die("%u is a thread of process %u", pid, process);
}

static void check_rights(void)
{
	unsigned long long have = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "CapEff: %llx", &have);
	if (!f || have >> CAP_SYS_ADMIN & 1)
		goto out;
	if (!(have >> CAP_BPF & 1) || !(have >> CAP_PERFMON & 1))
		die("missing: %s%s: run it as root", have >> CAP_BPF & 1 ? "" : "CAP_BPF ",
		    have >> CAP_PERFMON & 1 ? "" : "CAP_PERFMON");
out:
	if (f)
		fclose(f);
}

static void set_by(struct options *o, enum by by)
{
	if (o->config.by)
		die("-t, -g and -f exclude each other");
	o->config.by = by;
}

enum { CAPABILITIES = 256, VECTOR, OUTCOME, SLOWER, SOURCE, VERSION };

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "capabilities", no_argument, NULL, CAPABILITIES },
		{ "cgroup", no_argument, NULL, 'g' },
		{ "comm", required_argument, NULL, 'c' },
		{ "file", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "kernel", no_argument, NULL, 'k' },
		{ "outcome", required_argument, NULL, OUTCOME },
		{ "per-cpu", no_argument, NULL, 'C' },
		{ "pid", required_argument, NULL, 'p' },
		{ "rows", required_argument, NULL, 'n' },
		{ "slower", required_argument, NULL, SLOWER },
		{ "source", required_argument, NULL, SOURCE },
		{ "thread", no_argument, NULL, 't' },
		{ "user", no_argument, NULL, 'u' },
		{ "vector", required_argument, NULL, VECTOR },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, VERSION },
		{}
	};
	struct options o = {
		.interval = 1,
		.rows = 20,
		.config = { .vector = ANY, .outcome = ANY, .mode = ANY },
	};
	struct sigaction action = { .sa_handler = end };
	int (*view)(struct sources *, const struct options *) = view_traps;
	bool capabilities = false, faults;
	struct sources s;
	int c, status;

	/* After "faults", options may follow */
	while ((c = getopt_long(argc, argv, "c:Cfghkn:p:tuv", options, NULL)) != -1) {
		switch (c) {
		case CAPABILITIES:
			capabilities = true;
			o.config.follow = 1;
			break;
		case 'C':
			o.per_cpu = true;
			break;
		case 'c':
			if (!*optarg || strlen(optarg) >= COMM)
				die("%s: no name of a task, which has 1 to 15 bytes", optarg);
			memcpy(o.config.comm, optarg, strlen(optarg));
			break;
		case 'f':
			set_by(&o, BY_FILE);
			break;
		case 'g':
			set_by(&o, BY_CGROUP);
			break;
		case 't':
			set_by(&o, BY_THREAD);
			break;
		case 'k':
			o.config.mode = MODE_KERNEL;
			break;
		case 'u':
			o.config.mode = MODE_USER;
			break;
		case 'n':
			o.rows = number(optarg, 0, "number of rows");
			break;
		case 'p':
			o.config.pid = number(optarg, 1, "PID");
			break;
		case VECTOR:
			o.config.vector = to_vector(optarg);
			break;
		case OUTCOME:
			o.config.outcome = to_outcome(optarg);
			break;
		case SLOWER:
			o.config.slower = to_duration(optarg);
			break;
		case 'v':
			o.verbose = true;
			break;
		case SOURCE:
			o.config.best = to_source(optarg);
			break;
		case VERSION:
			puts("trapstat 0.1");
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc && !strcmp(argv[optind - 1], "--")) {
		o.command = argv + optind;
		o.config.follow = 1;
		view = view_command;
	}
	faults = !o.command && optind < argc && !strcmp(argv[optind], "faults");
	optind += faults;
	if (!o.command && optind < argc)
		o.interval = to_seconds(argv[optind++]);
	if (!o.command && optind < argc)
		o.count = number(argv[optind++], 1, "number of intervals");
	if (!o.command && optind < argc)
		die("%s: too many arguments (a command comes after --)", argv[optind]);
	if (faults && o.config.vector != ANY)
		die("--vector is not for \"trapstat faults\"");
	if (faults) {
		view = o.config.slower ? view_slow : view_faults;
		if (!o.config.by)
			o.config.by = BY_PROCESS;
	} else if (o.config.by || o.config.slower) {
		die("-t, -g, -f and --slower are for \"trapstat faults\"");
	}
	if (view == view_traps && o.config.outcome != ANY)
		die("--outcome is for \"trapstat faults\" and for a command");
	if (o.command && o.config.pid)
		die("-p is not for a command");
	if (o.per_cpu && (faults || o.command))
		die("-C is for \"trapstat [INTERVAL [COUNT]]\"");
	if (o.config.pid)
		check_pid(o.config.pid);
	check_rights();

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (sources_open(&s, &o.config, faults ? 16384 : 1024, o.verbose))
		return 1;
	if (capabilities) {
		sources_print(&s);
		status = 0;
	} else if (o.config.slower && !knows_ends(&s)) {
		fputs("trapstat: no source here has the duration of a fault\n", stderr);
		status = 1;
	} else {
		status = view(&s, &o);
	}
	sources_close(&s);
	return status;
}
