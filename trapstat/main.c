// SPDX-License-Identifier: GPL-2.0
/* trapstat: counts traps and page faults in the kernel, and shows them */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "listen.h"
#include "sinks.h"
#include "symbols.h"
#include "views.h"

#define CAP_SYS_ADMIN	21
#define CAP_PERFMON	38
#define CAP_BPF		39

static const char usage[] =
	"usage: trapstat [OPTIONS] [INTERVAL [COUNT]]           traps per second\n"
	"       trapstat [OPTIONS] faults [INTERVAL [COUNT]]    page faults of each process\n"
	"       trapstat [OPTIONS] [-o FILE] -- COMMAND [ARGS]  a command and its children\n"
	"       trapstat [OPTIONS] record -o FILE [SECONDS | -- COMMAND [ARGS]]\n"
	"                                                       each event: .json, .html, .csv\n"
	"       trapstat report FILE.json [-o FILE.html]        the page of such a record\n"
	"       trapstat [OPTIONS] export [-o FILE] [--listen ADDRESS:PORT] [INTERVAL [COUNT]]\n"
	"                                                       for Prometheus\n"
	"       trapstat --capabilities                         what this kernel can tell\n"
	"count only:                                       faults by:\n"
	"  -p, --pid PID        process                     -t, --by-thread\n"
	"  -c, --comm NAME      name of the task            -g, --by-cgroup\n"
	"      --cgroup PATH    control group               -f, --by-file\n"
	"      --vector NAME    as in '#GP', 13 or UMIP     -n, --rows N (20; 0: all)\n"
	"      --outcome NAME   as in major                     --slower TIME   each, as in 1ms\n"
	"  -u, --user           user mode               -C, --per-cpu   a column for each CPU\n"
	"  -k, --kernel         kernel mode             -v, --verbose  -h, --help  --version\n"
	"      --source NAME    of faults, at best: event, record, fentry, kprobe, perf, none\n";

enum view { VIEW_TRAPS, VIEW_FAULTS, VIEW_RECORD, VIEW_EXPORT, VIEW_REPORT };

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
		die("%s: not a number of seconds, at least 0.01 (a command comes after --)", text);
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
	die("%s: not a duration, such as 500us, 1ms or 2s", text);
}

static unsigned int to_vector(const char *text)
{
	const char *name = text + (*text == '#');

	if (!IS_X86)
		die("--vector is for x86: there are no traps but page faults here");
	for (unsigned int i = 0; i < ROW_SIGNAL; i++)
		if (row_names[i] && !strcasecmp(name, row_names[i] + (row_names[i][0] == '#')))
			return i;
	if (!isdigit((unsigned char)*text) || strlen(text) > 2 || atoi(text) >= ROW_NMI)
		die("%s: not a trap vector, such as '#GP' or 13", text);
	return number(text, 0, "vector");
}

static unsigned int to_outcome(const char *text)
{
	for (unsigned int i = 0; i < OUTCOME_BEGUN; i++)
		if (!strcasecmp(text, outcome_names[i]))
			return i;
	die("%s: not an outcome, such as minor, major or signal", text);
}

static unsigned int to_source(const char *text)
{
	for (unsigned int i = 0; i <= ENDS_UNKNOWN; i++)
		if (!strcmp(text, source_names[i]))
			return i;
	die("%s: not a source: event, record, fentry, kprobe, perf or none", text);
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

/* BPF programs get the PIDs of the first namespace, or of ours. Its number is PROC_PID_INIT_INO. */
static void find_namespace(struct config *config)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == 0xeffffffc)
		return;
	config->ns_dev = st.st_dev;
	config->ns_ino = st.st_ino;
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

/* Linux has the control groups of version 2 alone for this */
static int to_cgroup(const char *text)
{
	char path[4096];
	struct statfs fs;
	int fd;

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", i ? "" : group_root() ?: "", text);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* 0 stands for all groups */
		if (!fd)
			fd = fcntl(fd, F_DUPFD_CLOEXEC, 1);
		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
			return fd;
	}
	die("%s: no control group of version 2: see the folders below /sys/fs/cgroup", text);
}

static void set_by(struct options *o, enum by by)
{
	if (o->config.by)
		die("-t, -g and -f exclude each other");
	o->config.by = by;
}

enum { CAPABILITIES = 256, CGROUP, LISTEN, VECTOR, OUTCOME, SLOWER, SOURCE, VERSION };

static void read_options(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "by-cgroup", no_argument, NULL, 'g' },
		{ "by-file", no_argument, NULL, 'f' },
		{ "by-thread", no_argument, NULL, 't' },
		{ "capabilities", no_argument, NULL, CAPABILITIES },
		{ "cgroup", required_argument, NULL, CGROUP },
		{ "comm", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "kernel", no_argument, NULL, 'k' },
		{ "listen", required_argument, NULL, LISTEN },
		{ "outcome", required_argument, NULL, OUTCOME },
		{ "output", required_argument, NULL, 'o' },
		{ "per-cpu", no_argument, NULL, 'C' },
		{ "pid", required_argument, NULL, 'p' },
		{ "rows", required_argument, NULL, 'n' },
		{ "slower", required_argument, NULL, SLOWER },
		{ "source", required_argument, NULL, SOURCE },
		{ "user", no_argument, NULL, 'u' },
		{ "vector", required_argument, NULL, VECTOR },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, VERSION },
		{}
	};
	int c;

	/* After "faults" and the like, options may follow */
	while ((c = getopt_long(argc, argv, "c:Cfghkn:o:p:tuv", options, NULL)) != -1) {
		switch (c) {
		case CAPABILITIES:
			o->config.capabilities = 1;
			o->config.follow = 1;
			break;
		case CGROUP:
			o->config.cgroup = to_cgroup(optarg);
			break;
		case 'C':
			o->per_cpu = true;
			break;
		case 'c':
			if (!*optarg || strlen(optarg) >= COMM_SIZE)
				die("%s: no name of a task, which has 1 to 15 bytes", optarg);
			memcpy(o->config.comm, optarg, strlen(optarg));
			break;
		case 'f':
			set_by(o, BY_FILE);
			break;
		case 'g':
			set_by(o, BY_CGROUP);
			break;
		case 't':
			set_by(o, BY_THREAD);
			break;
		case 'k':
			o->config.mode = MODE_KERNEL;
			break;
		case 'u':
			o->config.mode = MODE_USER;
			break;
		case LISTEN:
			o->listen = optarg;
			break;
		case 'n':
			o->rows = number(optarg, 0, "number of rows");
			break;
		case 'o':
			o->file = optarg;
			break;
		case 'p':
			o->config.pid = number(optarg, 1, "PID");
			break;
		case VECTOR:
			o->config.vector = to_vector(optarg);
			break;
		case OUTCOME:
			o->config.outcome = to_outcome(optarg);
			break;
		case SLOWER:
			o->config.slower = to_duration(optarg);
			break;
		case 'v':
			o->verbose = true;
			break;
		case SOURCE:
			o->config.best = to_source(optarg);
			break;
		case VERSION:
			puts("trapstat " TRAPSTAT_VERSION);
			exit(flush_stdout());
		case 'h':
			fputs(usage, stdout);
			exit(flush_stdout());
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
}

/* "trapstat report FILE.json": no kernel has a part in it */
static int make_page(const struct options *o, const struct options *given, char **words)
{
	const char *suffix = words[0] ? strrchr(words[0], '.') : NULL;
	char page[4096];

	if (memcmp(&o->config, &given->config, sizeof(o->config)) || o->per_cpu || o->listen ||
	    o->rows != given->rows)
		die("report takes no other option than -o");
	if (!suffix || strcmp(suffix, ".json") || words[1])
		die("report takes the name of a record, FILE.json");
	if (o->file && sink_of(o->file) != &page_sink)
		die("%s: a page has a name that ends in .html", o->file);
	snprintf(page, sizeof(page), "%.*s.html", (int)(suffix - words[0]), words[0]);
	return view_report(words[0], o->file ? o->file : page);
}

static void check_options(const struct options *o, enum view view)
{
	const struct config *c = &o->config;

	if (view == VIEW_FAULTS && c->vector != WANT_ANY)
		die("--vector is not for \"trapstat faults\"");
	if (view != VIEW_FAULTS && (c->by || c->slower))
		die("-t, -g, -f and --slower are for \"trapstat faults\"");
	if (c->by && c->slower)
		die("--slower prints single faults: leave out -t, -g and -f");
	if (view == VIEW_TRAPS && !o->command && c->outcome != WANT_ANY)
		die("--outcome is for \"trapstat faults\", record, export and a command");
	if (o->command && c->pid)
		die("-p is not for a command");
	if (o->command && (view == VIEW_FAULTS || view == VIEW_EXPORT))
		die("a command is for \"trapstat -- COMMAND\" and for record");
	if (o->per_cpu && (view != VIEW_TRAPS || o->command))
		die("-C is for \"trapstat [INTERVAL [COUNT]]\"");
	if (o->listen && view != VIEW_EXPORT)
		die("--listen is for export");
	if (view == VIEW_RECORD && !o->file)
		die("record: where to? -o FILE.json, FILE.html or FILE.csv");
	if (view == VIEW_RECORD && !sink_of(o->file))
		die("%s: the name ends in none of .json, .html and .csv", o->file);
	if (view != VIEW_RECORD && view != VIEW_EXPORT && !o->command && o->file)
		die("-o is for record, report, export and a command");
}

int main(int argc, char **argv)
{
	static const char * const names[] = { "", "faults", "record", "export", "report" };
	static int (* const views[])(struct sources *, const struct options *) = {
		view_traps, view_faults, view_record, view_export,
	};
	struct options o = {
		.interval = 1,
		.rows = 20,
		.pidfd = -1,
		.config = { .vector = WANT_ANY, .outcome = WANT_ANY, .mode = WANT_ANY },
	};
	const struct options given = o;
	struct sigaction action = { .sa_handler = end }, before;	/* before: of SIGHUP */
	enum view view = VIEW_TRAPS;
	struct sources s;
	int status;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			o.command = argv + i + 1;
			o.config.follow = 1;
			argv[i] = NULL;
			argc = i;
		}
	}
	read_options(&o, argc, argv);
	for (enum view v = VIEW_FAULTS; v <= VIEW_REPORT && optind < argc; v++)
		if (!strcmp(argv[optind], names[v]))
			view = v;
	optind += view != VIEW_TRAPS;
	if (view == VIEW_REPORT)
		return make_page(&o, &given, argv + optind);
	if (o.command && !*o.command)
		die("there is no command after --");
	if (!o.command && optind < argc) {
		o.interval = to_seconds(argv[optind++]);
		if (view == VIEW_RECORD)
			o.count = 1;
		else if (optind < argc)
			o.count = number(argv[optind++], 1, "number of intervals");
	}
	if (optind < argc)
		die("%s: too many arguments (a command comes after --)", argv[optind]);
	check_options(&o, view);
	if (view == VIEW_FAULTS && !o.config.by && !o.config.slower)
		o.config.by = BY_PROCESS;
	/* A view costs what it shows */
	o.config.traps = view != VIEW_FAULTS;
	o.config.faults = view != VIEW_TRAPS || o.command;
	o.config.record = view == VIEW_RECORD;
	find_namespace(&o.config);
	dispositions_note();
	if (o.config.pid) {
		check_pid(o.config.pid);
		o.pidfd = syscall(SYS_pidfd_open, o.config.pid, 0);
		if (o.pidfd < 0)
			die("there is no process %u", o.config.pid);
	}
	if (o.listen) {
		status = listen_open(o.listen);
		if (status)
			return status;
	}
	check_rights();

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, NULL, &before);
	if (before.sa_handler != SIG_IGN)	/* as nohup does */
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	if (!o.command)
		unsetenv("DEBUGINFOD_URLS");
	if (sources_open(&s, &o.config, view == VIEW_FAULTS ? 16384 : 1024, o.verbose))
		return 1;
	if (o.config.capabilities) {
		sources_print(&s);
		status = flush_stdout();
	} else if (o.config.slower && !knows_durations(&s)) {
		fputs("trapstat: no source here has the duration of a fault\n", stderr);
		status = 1;
	} else if (o.config.slower) {
		status = view_slow(&s, &o);
	} else if (o.command && view == VIEW_TRAPS) {
		status = view_command(&s, &o);
	} else {
		status = views[view](&s, &o);
	}
	symbols_free();
	maps_free();
	sources_close(&s);
	return status;
}
