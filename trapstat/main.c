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

#include "groups.h"
#include "listen.h"
#include "screen.h"
#include "sinks.h"
#include "symbols.h"
#include "views.h"

#define CAP_SYS_ADMIN	21
#define CAP_PERFMON	38
#define CAP_BPF		39

static const char usage[] =
	"Usage: trapstat [OPTION]... [VIEW] [INTERVAL [COUNT]]  (man trapstat has more)\n"
	"Count traps (exceptions of the CPU) and page faults, as root. To begin with:\n"
	"  trapstat -- COMMAND [ARG]...   traps and page faults of a command\n"
	"  trapstat faults                which processes fault, how long, the slowest\n"
	"  trapstat crashes               who gets SIGSEGV and the like, and where\n"
	"  trapstat record -o x.html 5    each event: .html, .json, .csv, .folded\n"
	"And: trapstat (traps per second), report FILE.json, export [--listen PORT]\n"
	"Count only:                            Show:\n"
	"  -p, --pid PID[,PID]...  processes      -t, -g, -f     by thread, cgroup, file\n"
	"  -c, --comm NAME         of that name   -w, --why      waits: disk, memory..\n"
	"  -u, -k                  user, kernel   -S, --stacks   the calls that led there\n"
	"  --cgroup PATH           a cgroup       -H             histograms of durations\n"
	"  --vector NAME           such as GP     --slower TIME  each fault of 1ms...\n"
	"  --outcome NAME          such as major  --sort COLUMN  such as p99 or comm\n"
	"How:                                     -n, --rows N   at most N, 0: all\n"
	"  --duration SECONDS      then end       -C, --per-cpu  a column for each CPU\n"
	"  -o, --output FILE       - for stdout   -T, --json     time stamps; JSON lines\n"
	"  -b, --batch             do not redraw  --debuginfod   download debug info\n"
	"  --source NAME           see man page   -v, --verbose  what failed in BPF\n"
	"  --capabilities          what this kernel lets it see    -h, --help, -V\n"
	"MINOR: without I/O, MAJOR: with I/O, ELSEWHERE: did not reach handle_mm_fault(),\n"
	"as for a bad address; noregs: by get_user_pages(), no trap. TIME%: of elapsed\n"
	"time (traps/s: of all CPUs). \"N lost\": not counted. MEDIAN, P99: durations.\n"
	"Keys: q quit, s sort, p process, t thread, g cgroup, f file, v traps, h help\n";

enum view { VIEW_TRAPS, VIEW_FAULTS, VIEW_RECORD, VIEW_EXPORT, VIEW_CRASHES, VIEW_REPORT };

static void end(int number)
{
	(void)number;
	ended = 1;
}

#define die(format, ...) do {						\
	fprintf(stderr, "trapstat: " format "\n", ##__VA_ARGS__);	\
	exit(2);							\
} while (0)

/* As getopt_long() and coreutils do */
#define die_usage(format, ...) \
	die(format "\nTry 'trapstat --help' for more information.", ##__VA_ARGS__)

static long number(const char *text, long least, const char *what)
{
	char *rest;
	long n;

	errno = 0;
	n = strtol(text, &rest, 10);
	if (errno || rest == text || *rest || n < least || n > 1000000000)
		die_usage("invalid %s '%s'", what, text);
	return n;
}

static double to_seconds(const char *text, const char *what)
{
	char *rest;
	double n = strtod(text, &rest);

	if (rest == text || *rest || !(n >= 0.01 && n <= 1e6))
		die_usage("invalid %s '%s'%s", what, text, *what != 'i' || rest != text ? "" :
			  "; views are faults, crashes, record, report, export");
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
	die_usage("invalid duration '%s': give one such as 500us, 1ms or 2s", text);
}

static unsigned int to_vector(const char *text)
{
	const char *name = text + (*text == '#');

	if (!IS_X86)
		die("--vector is for x86: on this machine, trapstat counts page faults only");
	for (unsigned int i = 0; i < ROW_SIGNAL; i++)
		if (row_names[i] && !strcasecmp(name, row_names[i] + (row_names[i][0] == '#')))
			return i;
	if (!isdigit((unsigned char)*text) || strlen(text) > 2 || atoi(text) >= ROW_NMI)
		die_usage("unknown vector '%s': give one such as GP, 13 or UMIP", text);
	return number(text, 0, "vector");
}

static unsigned int to_outcome(const char *text)
{
	for (unsigned int i = 0; i < OUTCOME_BEGUN; i++)
		if (!strcasecmp(text, outcome_names[i]))
			return i;
	die_usage("unknown outcome '%s': give one such as minor, major or signal", text);
}

static unsigned int to_source(const char *text)
{
	for (unsigned int i = 0; i <= ENDS_UNKNOWN; i++)
		if (!strcmp(text, source_names[i]))
			return i;
	die_usage("unknown source '%s': give event, record, fentry, kprobe, perf or none", text);
}

static void check_pid(unsigned int pid, const struct config *config)
{
	unsigned int process = pid, within = 0;
	char line[256];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%u/status", pid);
	f = fopen(line, "r");
	if (!f)
		die("no process %u", pid);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "NSpid: %*u %u", &within) != 1)
			sscanf(line, "Tgid: %u", &process);
	fclose(f);
	if (within && config->ns_ino)
		die("%u is in a PID namespace within ours: use --cgroup, or trapstat on the host",
		    pid);
	if (process != pid)
		die("%u is a thread of process %u: use -p %u -t", pid, process, process);
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
	struct stat st;

	/* Its root has all capabilities there. The first one is PROC_USER_INIT_INO */
	if (!stat("/proc/self/ns/user", &st) && st.st_ino != 0xeffffffd)
		die("BPF programs cannot be loaded in a user namespace, such as a rootless "
		    "container: run trapstat outside it");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "CapEff: %llx", &have);
	if (!f || have >> CAP_SYS_ADMIN & 1)
		goto out;
	if (!(have >> CAP_BPF & 1))
		die("missing CAP_BPF%s: run it as root",
		    have >> CAP_PERFMON & 1 ? "" : " and CAP_PERFMON");
	if (!(have >> CAP_PERFMON & 1))
		die("missing CAP_PERFMON: run it as root");
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
	die("invalid cgroup '%s': give a cgroup v2 folder, such as one below %s", text,
	    group_root() ?: "a mount of cgroup2");
}

static void set_by(struct options *o, enum by by)
{
	if (o->config.by)
		die_usage("-t, -g and -f exclude each other");
	o->config.by = by;
}

static void read_pids(struct options *o, const char *text)
{
	char list[1024], *rest = list, *word;

	copy(list, sizeof(list), text);
	o->config.pids = 0;
	while ((word = strsep(&rest, ","))) {
		if (o->config.pids == MOST_PIDS)
			die("too many processes: -p takes %d", MOST_PIDS);
		o->pid[o->config.pids++] = number(word, 1, "PID");
	}
}

enum {
	OPTION_CAPABILITIES = 256, OPTION_CGROUP, OPTION_LISTEN, OPTION_VECTOR, OPTION_OUTCOME,
	OPTION_SLOWER, OPTION_SOURCE, OPTION_SORT, OPTION_DURATION, OPTION_JSON, OPTION_DEBUGINFOD,
};

static void read_options(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "batch", no_argument, NULL, 'b' },
		{ "by-cgroup", no_argument, NULL, 'g' },
		{ "by-file", no_argument, NULL, 'f' },
		{ "by-thread", no_argument, NULL, 't' },
		{ "capabilities", no_argument, NULL, OPTION_CAPABILITIES },
		{ "cgroup", required_argument, NULL, OPTION_CGROUP },
		{ "comm", required_argument, NULL, 'c' },
		{ "debuginfod", no_argument, NULL, OPTION_DEBUGINFOD },
		{ "duration", required_argument, NULL, OPTION_DURATION },
		{ "help", no_argument, NULL, 'h' },
		{ "histogram", no_argument, NULL, 'H' },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "kernel", no_argument, NULL, 'k' },
		{ "listen", required_argument, NULL, OPTION_LISTEN },
		{ "outcome", required_argument, NULL, OPTION_OUTCOME },
		{ "output", required_argument, NULL, 'o' },
		{ "per-cpu", no_argument, NULL, 'C' },
		{ "pid", required_argument, NULL, 'p' },
		{ "rows", required_argument, NULL, 'n' },
		{ "slower", required_argument, NULL, OPTION_SLOWER },
		{ "sort", required_argument, NULL, OPTION_SORT },
		{ "source", required_argument, NULL, OPTION_SOURCE },
		{ "stacks", no_argument, NULL, 'S' },
		{ "timestamp", no_argument, NULL, 'T' },
		{ "user", no_argument, NULL, 'u' },
		{ "vector", required_argument, NULL, OPTION_VECTOR },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, 'V' },
		{ "why", no_argument, NULL, 'w' },
		{}
	};
	int c;

	/* After "faults" and the like, options may follow */
	while ((c = getopt_long(argc, argv, "bc:CfghHkn:o:p:StTuvVw", options, NULL)) != -1) {
		switch (c) {
		case OPTION_CAPABILITIES:
			o->config.capabilities = 1;
			o->config.why = 1;
			o->config.follow = 1;
			break;
		case OPTION_CGROUP:
			o->config.cgroup = to_cgroup(optarg);
			break;
		case 'C':
			o->per_cpu = true;
			break;
		case 'c':
			if (!*optarg || strlen(optarg) >= COMM_SIZE)
				die_usage("invalid name '%s': a name has 1 to 15 bytes", optarg);
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
		case OPTION_LISTEN:
			o->listen = optarg;
			break;
		case 'n':
			o->rows = number(optarg, 0, "row count");
			break;
		case 'o':
			o->file = optarg;
			break;
		case 'p':
			read_pids(o, optarg);
			break;
		case OPTION_VECTOR:
			o->config.vector = to_vector(optarg);
			break;
		case OPTION_OUTCOME:
			o->config.outcome = to_outcome(optarg);
			break;
		case OPTION_SLOWER:
			o->config.slower = to_duration(optarg);
			break;
		case 'v':
			o->verbose = true;
			break;
		case OPTION_SOURCE:
			o->config.best = to_source(optarg);
			break;
		case OPTION_SORT:
			o->sort = optarg;
			break;
		case OPTION_DURATION:
			o->duration = to_seconds(optarg, "duration");
			break;
		case OPTION_DEBUGINFOD:
			o->debuginfod = true;
			break;
		case OPTION_JSON:
			o->is_json = true;
			break;
		case 'b':
			o->is_batch = true;
			break;
		case 'H':
			o->is_histogram = true;
			break;
		case 'S':
			o->config.stacks = 1;
			break;
		case 'w':
			o->config.why = 1;
			break;
		case 'T':
			o->has_stamps = true;
			break;
		case 'V':
			puts("trapstat " TRAPSTAT_VERSION);
			exit(flush_stdout());
		case 'h':
			fputs(usage, stdout);
			exit(flush_stdout());
		default:
			fputs("Try 'trapstat --help' for more information.\n", stderr);
			exit(2);
		}
	}
}

/* "trapstat report FILE.json": no kernel has a part in it */
static int make_page(const struct options *o, const struct options *given, char **words)
{
	const char *suffix = words[0] ? strrchr(words[0], '.') : NULL;
	struct options same = *o;
	char page[4096];

	same.file = given->file;
	if (memcmp(&same, given, sizeof(same)))
		die_usage("report takes no other option than -o");
	if (!suffix || strcmp(suffix, ".json") || words[1])
		die_usage("report takes the name of a record, FILE.json");
	if (o->file && sink_of(o->file) != &page_sink)
		die_usage("unknown suffix of '%s': give .html", o->file);
	snprintf(page, sizeof(page), "%.*s.html", (int)(suffix - words[0]), words[0]);
	return view_report(words[0], o->file ? o->file : page);
}

static void check_options(const struct options *o, enum view view)
{
	const struct config *c = &o->config;
	bool is_live = view == VIEW_TRAPS || view == VIEW_FAULTS || view == VIEW_CRASHES;

	if (view == VIEW_FAULTS && c->vector != WANT_ANY)
		die_usage("--vector is not for 'trapstat faults'");
	if (view != VIEW_FAULTS && (c->by || c->slower))
		die_usage("-t, -g, -f and --slower are for 'trapstat faults'");
	if (c->by && c->slower)
		die_usage("--slower prints single faults: leave out -t, -g and -f");
	if (view == VIEW_TRAPS && !o->command && c->outcome != WANT_ANY)
		die_usage("--outcome is for 'trapstat faults', record, export and a command");
	if (o->command && c->pids)
		die_usage("-p is not for a command");
	if (o->command && (view == VIEW_FAULTS || view == VIEW_EXPORT))
		die_usage("a command is for 'trapstat -- COMMAND' and for record");
	if (o->per_cpu && (view != VIEW_TRAPS || o->command))
		die_usage("-C is for 'trapstat [INTERVAL [COUNT]]'");
	if (o->has_stamps &&
	    (!is_live || c->capabilities || (o->command && view != VIEW_CRASHES)))
		die_usage("-T is for 'trapstat [INTERVAL [COUNT]]', faults and crashes");
	if (o->is_histogram && (view != VIEW_FAULTS && !o->command))
		die_usage("-H is for 'trapstat faults' and a command");
	if (o->is_histogram && (c->by || c->slower))
		die_usage("-H shows all faults: leave out -t, -g, -f and --slower");
	if (o->rows >= 0 && ((view != VIEW_TRAPS && view != VIEW_FAULTS) || c->slower))
		die_usage("-n is for tables: not for --slower, record, export and crashes");
	if (c->stacks && view == VIEW_TRAPS && !o->command)
		die_usage("-S is for 'trapstat faults', crashes, record and a command");
	if (c->why && (is_live ? view != VIEW_FAULTS : view != VIEW_RECORD) && !o->command &&
	    !c->capabilities)
		die_usage("-w is for 'trapstat faults', record and a command");
	if (view == VIEW_CRASHES && (c->outcome != WANT_ANY || c->mode != WANT_ANY))
		die_usage("--outcome, -u and -k are not for crashes");
	if (o->sort && (!is_live || view == VIEW_CRASHES || c->slower || c->capabilities ||
			(o->is_histogram && !o->command)))
		die_usage("--sort is not for --slower, -H, crashes, record, report and export");
	if (o->is_json && (!is_live || c->capabilities))
		die_usage("--json is not for --capabilities, record, report and export");
	if (o->listen && view != VIEW_EXPORT)
		die_usage("--listen is for export");
	if (view == VIEW_RECORD && !o->file)
		die_usage("record takes -o FILE.html, FILE.json, FILE.csv or FILE.folded");
	if (view == VIEW_RECORD && !sink_of(o->file))
		die_usage("unknown suffix of '%s': give .html, .json, .csv or .folded", o->file);
	if (view != VIEW_RECORD && view != VIEW_EXPORT && !o->command && o->file)
		die_usage("-o is for record, report, export and a command");
}

/* A view costs what it shows */
static void set_view(struct options *o, enum view view)
{
	if (view == VIEW_FAULTS && !o->config.by && !o->config.slower && !o->is_histogram)
		o->config.by = BY_PROCESS;
	o->config.traps = view != VIEW_FAULTS;
	o->config.faults = (view != VIEW_TRAPS && view != VIEW_CRASHES) || o->command;
	o->config.record = view == VIEW_RECORD;
	o->config.crashes = view == VIEW_CRASHES;
	if (o->config.record &&
	    (sink_of(o->file) == &folded_sink || sink_of(o->file) == &page_sink))
		o->config.stacks = 1;
}

/* The view that a key asks for */
static enum view view_of_key(struct options *o)
{
	static const char keys[] = "vptgf";

	o->config.by = strchr(keys, o->key) - keys;
	o->sort = NULL;
	o->is_first = false;
	o->is_histogram = false;
	return o->config.by ? VIEW_FAULTS : VIEW_TRAPS;
}

static int show(struct sources *s, struct options *o, enum view view)
{
	static int (* const views[])(struct sources *, struct options *) = {
		view_traps, view_faults, view_record, view_export, view_stream,
	};

	if (o->config.capabilities) {
		sources_print(s);
		return flush_stdout();
	}
	if (o->config.slower && !knows_durations(s)) {
		fputs("trapstat: --slower needs a source with durations: see --capabilities\n",
		      stderr);
		return 1;
	}
	if (o->duration && !o->until)
		o->until = now_ns() + o->duration * 1e9;
	if (o->config.slower)
		return view_stream(s, o);
	if (o->command && view == VIEW_TRAPS)
		return view_command(s, o);
	return views[view](s, o);
}

/* A key may ask for what this kernel does not have: then the view stays */
static int show_all(struct options *o, enum view view)
{
	struct options shown = *o;
	enum view last = view;
	struct sources s;
	int status;

	do {
		set_view(o, view);
		if (sources_open(&s, &o->config, o->pid, o->verbose)) {
			if (!o->key)
				return 1;
			*o = shown;
			view = last;
			set_view(o, view);
			if (sources_open(&s, &o->config, o->pid, o->verbose)) {
				screen_end();
				return 1;
			}
		}
		shown = *o;
		last = view;
		o->key = 0;
		/* A signal came while the programs were loaded: no file is written */
		status = ended && o->command ? 1 : show(&s, o, view);
		if (o->key)
			view = view_of_key(o);
		stacks_free();
		symbols_free();
		maps_free();
		sources_close(&s);
	} while (o->key && !status);
	screen_end();
	return status;
}

int main(int argc, char **argv)
{
	static const char * const names[] = {
		"", "faults", "record", "export", "crashes", "report",
	};
	struct options o = {
		.interval = 1,
		.rows = -1,
		.is_first = argc == 1,
		.config = { .vector = WANT_ANY, .outcome = WANT_ANY, .mode = WANT_ANY },
	};
	const struct options given = o;
	struct sigaction action = { .sa_handler = end }, before;	/* before: of SIGHUP */
	enum view view = VIEW_TRAPS;
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
		die_usage("no command after --");
	if (o.is_histogram && view == VIEW_TRAPS && !o.command)
		view = VIEW_FAULTS;
	if (!o.command && optind < argc) {
		o.interval = to_seconds(argv[optind++], "interval");
		if (view == VIEW_RECORD || view == VIEW_CRASHES)
			o.count = 1;
		else if (optind < argc)
			o.count = number(argv[optind++], 1, "count");
	}
	if (optind < argc)
		die_usage("extra operand '%s'%s (a command comes after --)", argv[optind],
			  view == VIEW_RECORD || view == VIEW_CRASHES ?
			  ": record and crashes take a number of seconds" : "");
	check_options(&o, view);
	status = o.command ? command_check(*o.command) : 0;
	if (status)
		return status;
	find_namespace(&o.config);
	dispositions_note();
	for (unsigned int i = 0; i < o.config.pids; i++) {
		check_pid(o.pid[i], &o.config);
		if (!watch_pid(o.pid[i]))
			die("no process %u", o.pid[i]);
	}
	status = o.listen ? listen_open(o.listen) : 0;
	if (status)
		return status;
	check_rights();

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, NULL, &before);
	if (before.sa_handler != SIG_IGN)	/* as nohup does */
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	if (!o.command && !o.debuginfod)
		unsetenv("DEBUGINFOD_URLS");
	return show_all(&o, view);
}
