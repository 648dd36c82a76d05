// SPDX-License-Identifier: GPL-2.0
/* Finds the sources of facts that this kernel has, and attaches a BPF program to each */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "perf.h"
#include "sources.h"
#include "text.h"
#include "trapstat.skel.h"

const char * const source_names[] = { "event", "record", "fentry", "kprobe", "perf", "none" };

static bool verbose;

static int say(enum libbpf_print_level level, const char *format, va_list args)
{
	return verbose && level != LIBBPF_DEBUG ? vfprintf(stderr, format, args) : 0;
}

/* The format of an event, or NULL */
static char *format_of(const char *event)
{
	static const char * const tracing[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[256], *text = NULL;
	size_t size = 0;
	FILE *f = NULL;

	for (int i = 0; !f && i < 2; i++) {
		snprintf(path, sizeof(path), "%s/events/%s/format", tracing[i], event);
		f = fopen(path, "r");
	}
	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static bool find_fields(struct config *config)
{
	static const char * const events[] = {
		"pagefault/pagefault_exit", "pagefault/pagefault_noregs",
	};
	bool known = true;
	char *format;

	for (int i = 0; i < 2 && known; i++) {
		format = format_of(events[i]);
		known = fields_read(config->at[i], format, !i);
		free(format);
	}
	return known;
}

/* The BTF has the event, or the function with as many arguments as our programs read */
static bool in_btf(const struct btf *btf, const char *name, int args)
{
	const struct btf_type *type;
	int id;

	if (!btf)
		return false;
	if (!args)
		return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
	id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
	if (id <= 0)
		return false;
	type = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);
	return btf_vlen(type) == args;
}

static bool is_possible(enum ends ends, const struct btf *btf, struct config *config)
{
	bool tracing = btf && libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_TRACING, NULL) == 1;

	/* The events do not have the file of a fault */
	if (ends <= ENDS_BY_RECORD && config->by == BY_FILE)
		return false;
	if (config->crashes)
		return ends == ENDS_UNKNOWN;
	switch (ends) {
	case ENDS_BY_EVENT:
		return tracing && in_btf(btf, "btf_trace_pagefault_exit", 0);
	case ENDS_BY_RECORD:
		return find_fields(config);
	case ENDS_BY_FENTRY:
		return tracing && in_btf(btf, "handle_mm_fault", 4);
	case ENDS_BY_KPROBE:
		return !access("/sys/bus/event_source/devices/kprobe", F_OK);
	default:
		return true;
	}
}

static bool attach(struct sources *s, struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach(program);

	if (!link)
		return false;
	s->link[s->links++] = link;
	return true;
}

static bool attach_to(struct sources *s, struct bpf_program *program, const char *tracepoint)
{
	struct bpf_link *link = bpf_program__attach_raw_tracepoint(program, tracepoint);

	if (link)
		s->link[s->links++] = link;
	return link;
}

/* Why tasks are off the CPU. Without one of these, it is "other" */
static void attach_waits(struct sources *s)
{
	typeof(s->bpf->progs) *p = &s->bpf->progs;
	const struct {
		struct bpf_program *program;
		const char *tracepoint;
	} where[] = {
		{ p->why_reclaimed, "mm_vmscan_direct_reclaim_end" },
		{ p->why_reclaim, "mm_vmscan_direct_reclaim_begin" },
		{ p->why_reclaimed, "mm_vmscan_memcg_reclaim_end" },
		{ p->why_reclaim, "mm_vmscan_memcg_reclaim_begin" },
		{ p->why_compacted, "mm_compaction_end" },
		{ p->why_compaction, "mm_compaction_begin" },
		{ p->why_mmap_locked, "mmap_lock_acquire_returned" },
		{ p->why_mmap_lock, "mmap_lock_start_locking" },
	};

	s->waits = attach(s, p->why_switch);
	s->bpf->bss->waits_by_mm = !attach_to(s, p->why_fault, "page_fault_kernel") ||
				   !attach_to(s, p->why_fault, "page_fault_user");
	for (unsigned int i = 0; i < sizeof(where) / sizeof(*where); i++)
		attach_to(s, where[i].program, where[i].tracepoint);
	attach(s, p->why_uffd_end);
	attach(s, p->why_uffd);
	s->refaults = attach(s, p->why_refault);
}

static bool attach_all(struct sources *s, const struct config *config)
{
	typeof(s->bpf->progs) *p = &s->bpf->progs;
	bool freed;

	if (config->crashes) {
		freed = attach(s, p->process_free);
		/* In this order, no signal waits for one that is not attached */
		s->signals = attach(s, p->signal_deliver) && attach(s, p->signal_generate);
		s->follow = freed && attach(s, p->wakeup_new);
		return s->signals;
	}
	switch (s->ends) {
	case ENDS_BY_EVENT:
		if (!attach(s, p->pagefault_exit) || !attach(s, p->pagefault_noregs))
			return false;
		break;
	case ENDS_BY_RECORD:
		if (!attach(s, p->exit_record) || !attach(s, p->noregs_record))
			return false;
		break;
	case ENDS_BY_FENTRY:
		if (!attach(s, p->mm_leave) || !attach(s, p->mm_enter))
			return false;
		break;
	case ENDS_BY_KPROBE:
		if (!attach(s, p->mm_kretprobe) || !attach(s, p->mm_kprobe))
			return false;
		break;
	case ENDS_BY_PERF:
		attach(s, p->perf_plug);
		errno = -perf_open(s);
		if (errno)
			return false;
		break;
	default:
		break;
	}
	if (s->ends > ENDS_BY_RECORD) {
		s->begins = attach(s, p->page_fault_user) && attach(s, p->page_fault_kernel);
		attach(s, p->process_exit);
	}
	freed = attach(s, p->process_free);
	if (config->why)
		attach_waits(s);
	s->times = config->traps && attach(s, p->trap_exit);
	s->traps = config->traps && attach(s, p->trap_entry);
	s->follow = attach(s, p->wakeup_new) && freed;
	if (!config->traps)
		return true;
	s->signals = attach(s, p->signal_generate);
	s->traps_by_signal = s->signals && !s->traps && s->bpf->rodata->config.has_regs;
	s->bpf->bss->traps_by_signal = s->traps_by_signal;
	s->nmi = attach(s, p->nmi_handler);
	s->mce = attach(s, p->mce_record);
	return true;
}

/*
 * libbpf wants the types of the kernel even if no program that is loaded reads them. Where
 * there are none, it gets ours.
 */
static const char *own_types(void)
{
	static char path[32];
	const char *elf;
	size_t size;
	int fd;

	elf = trapstat_bpf__elf_bytes(&size);
	fd = memfd_create("trapstat.bpf.o", MFD_CLOEXEC);
	if (fd < 0 || write(fd, elf, size) != (ssize_t)size)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static size_t counts_size(const struct sources *s)
{
	return s->cpus * sizeof(*s->count);
}

static size_t slowest_size(const struct sources *s)
{
	return s->cpus * 2 * sizeof(*s->slowest);
}

static int map_counts(struct sources *s)
{
	void *count = mmap(NULL, counts_size(s), PROT_READ | PROT_WRITE, MAP_SHARED,
			   bpf_map__fd(s->bpf->maps.counts), 0);
	void *slowest = mmap(NULL, slowest_size(s), PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(s->bpf->maps.slowest_faults), 0);

	s->count = count == MAP_FAILED ? NULL : count;
	s->slowest = slowest == MAP_FAILED ? NULL : slowest;
	return s->count && s->slowest ? 0 : -errno;
}

/* Load and attach the programs, with this source for the ends of faults */
static int try_ends(struct sources *s, struct config *config, const unsigned int *pid)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct bpf_program *program;
	unsigned int zero = 0, keys = config->by ? 16384 : 1024;
	bool wanted;
	int error;

	if (!s->btf)
		options.btf_custom_path = own_types();
	s->bpf = trapstat_bpf__open_opts(&options);
	if (!s->bpf)
		return -errno;
	config->ends_by_mm = s->ends == ENDS_BY_FENTRY || s->ends == ENDS_BY_KPROBE;
	config->ends_by_perf = s->ends == ENDS_BY_PERF;
	config->has_btf = s->btf;
	config->page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	s->find_vma = s->btf &&
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_find_vma, NULL) == 1;
	config->find_vma = s->find_vma;
	config->has_regs = s->btf &&
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_task_pt_regs,
					NULL) == 1;
	s->has_regs = config->has_regs;
	s->bpf->rodata->config = *config;
	bpf_object__for_each_program(program, s->bpf->obj) {
		typeof(s->bpf->progs) *p = &s->bpf->progs;

		if (program == p->pagefault_exit || program == p->pagefault_noregs)
			wanted = s->ends == ENDS_BY_EVENT;
		else if (program == p->exit_record || program == p->noregs_record)
			wanted = s->ends == ENDS_BY_RECORD;
		else if (program == p->mm_enter || program == p->mm_leave)
			wanted = s->ends == ENDS_BY_FENTRY;
		else if (program == p->mm_kprobe || program == p->mm_kretprobe)
			wanted = s->ends == ENDS_BY_KPROBE;
		else if (program == p->perf_minor || program == p->perf_major ||
			 program == p->perf_plug)
			wanted = s->ends == ENDS_BY_PERF;
		else if (program == p->signal_deliver)
			wanted = config->crashes;
		else if (!strncmp(bpf_program__name(program), "why_", 4))
			wanted = config->why;
		else if (program == p->trap_entry || program == p->trap_exit ||
			 program == p->nmi_handler || program == p->mce_record)
			wanted = IS_X86;
		else
			wanted = true;
		bpf_program__set_autoload(program, wanted);
	}
	if (config->record) {
		bpf_map__set_max_entries(s->bpf->maps.events, 1 << 24);
		bpf_map__set_max_entries(s->bpf->maps.stacks, 1 << 16);
	}
	bpf_map__set_autocreate(s->bpf->maps.cgroups, config->cgroup > 0);
	if (!config->ends_by_mm)
		bpf_map__set_max_entries(s->bpf->maps.calls, 1);
	if (!config->crashes)
		bpf_map__set_max_entries(s->bpf->maps.undelivered, 1);
	if (!config->stacks)
		bpf_map__set_max_entries(s->bpf->maps.stacks, 1);
	if (!config->why)
		bpf_map__set_max_entries(s->bpf->maps.waits, 1);
	if (!config->record || s->ends <= ENDS_BY_RECORD)
		bpf_map__set_max_entries(s->bpf->maps.errors, 1);
	if (!config->ends_by_perf)
		bpf_map__set_max_entries(s->bpf->maps.perf_tasks, 1);
	bpf_map__set_max_entries(s->bpf->maps.faults_0, keys);
	bpf_map__set_max_entries(s->bpf->maps.faults_1, keys);
	bpf_map__set_max_entries(s->bpf->maps.counts, s->cpus);
	bpf_map__set_max_entries(s->bpf->maps.slowest_faults, 2 * s->cpus);
	error = trapstat_bpf__load(s->bpf);
	if (!error)
		error = map_counts(s);
	if (!error && config->cgroup &&
	    bpf_map_update_elem(bpf_map__fd(s->bpf->maps.cgroups), &zero, &config->cgroup, 0))
		error = -errno;
	for (unsigned int i = 0; i < config->pids && !error; i++)
		error = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.pids), &pid[i], &zero, 0);
	if (!error && !attach_all(s, config))
		error = -errno;
	/* Only now is it known whether something counts the begins */
	if (!error && (config->ends_by_mm || config->ends_by_perf))
		s->bpf->bss->traps_by_mm = !s->begins;
	return error;
}

/* What a person may do about it */
static const char *why_not(int error)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "r");
	char line[128] = "";

	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	if (strstr(line, "[confidentiality]"))
		return ": the kernel is locked down, see /sys/kernel/security/lockdown";
	return error == -EPERM ? ": is this a container?" : ": run it with -v for details";
}

/* Whether a fault that ended so is shown as such */
static bool tells_outcome(const struct sources *s, unsigned int outcome)
{
	return s->ends <= ENDS_BY_RECORD ||
	       (s->ends == ENDS_BY_PERF ? outcome <= OUTCOME_MAJOR :
		knows_ends(s) && outcome <= OUTCOME_OOM);
}

/**
 * sources_open - Attach to all sources that this kernel has
 * @s:		what they are
 * @config:	what to count
 * @pid:	the processes of -p
 * @is_verbose:	print what libbpf has to complain of
 *
 * Return: 0, or a negative error number, with a message on standard error
 */
int sources_open(struct sources *s, const struct config *config, const unsigned int *pid,
		 bool is_verbose)
{
	static bool is_said;	/* a key for another view opens all again */
	struct config c;
	struct btf *btf;
	char *format;
	int error = 0;

	verbose = is_verbose;
	libbpf_set_print(say);
	if (libbpf_num_possible_cpus() < 0) {
		fputs("trapstat: there is no /sys/devices/system/cpu: mount -t sysfs none /sys\n",
		      stderr);
		return -ENOENT;
	}
	btf = btf__load_vmlinux_btf();
	format = format_of("pagefault/pagefault_exit");
	for (enum ends ends = config->best; ends <= ENDS_UNKNOWN; ends++) {
		c = *config;
		names_read(&c, btf, format);
		if (!is_possible(ends, btf, &c))
			continue;
		memset(s, 0, sizeof(*s));
		s->ends = ends;
		s->btf = btf;
		s->cpus = libbpf_num_possible_cpus();
		error = try_ends(s, &c, pid);
		if (!error)
			break;
		sources_close(s);
	}
	btf__free(btf);
	free(format);
	s->config = config;
	if (error) {
		fprintf(stderr, "trapstat: cannot load or attach the BPF programs: %s%s\n",
			strerror(-error), why_not(error));
		return error;
	}
	if (config->outcome != WANT_ANY && !tells_outcome(s, config->outcome)) {
		fprintf(stderr, "trapstat: --outcome %s needs %s: see --capabilities\n",
			outcome_names[config->outcome], config->outcome > OUTCOME_OOM ?
			"the events of pagefault" : "a source that tells it");
		error = -ENOTSUP;
	} else if (config->by == BY_FILE && !knows_kinds(s)) {
		fputs("trapstat: -f needs BTF, and a source with mappings: see --capabilities\n",
		      stderr);
		error = -ENOTSUP;
	} else if (config->follow && !s->follow && !config->capabilities) {
		fputs("trapstat: this kernel has no sched:sched_wakeup_new to follow a command\n",
		      stderr);
		error = -ENOTSUP;
	} else if (config->why && !knows_waits(s) && !config->capabilities) {
		fputs("trapstat: -w needs a source with durations, and Linux 5.18 or newer\n",
		      stderr);
		error = -ENOTSUP;
	}
	if (error) {
		sources_close(s);
	} else if (!s->btf && !is_said && access("/sys/kernel/tracing/events", F_OK) &&
		   access("/sys/kernel/debug/tracing/events", F_OK)) {
		fputs("trapstat: tracefs is missing: mount -t tracefs none /sys/kernel/tracing\n",
		      stderr);
		is_said = true;
	}
	s->is_verbose = verbose;
	return error;
}

/**
 * sources_detach - Detach from all sources
 * @s:	what sources_open() attached to
 */
void sources_detach(struct sources *s)
{
	while (s->links)
		bpf_link__destroy(s->link[--s->links]);
	perf_close(s);
}

/**
 * sources_close - Detach from all sources, and free what that took
 * @s:	what sources_open() attached to
 */
void sources_close(struct sources *s)
{
	sources_detach(s);
	if (s->count)
		munmap((void *)s->count, counts_size(s));
	if (s->slowest)
		munmap(s->slowest, slowest_size(s));
	s->count = NULL;
	s->slowest = NULL;
	trapstat_bpf__destroy(s->bpf);
	s->bpf = NULL;
}

/**
 * sources_print - Print the table of --capabilities
 * @s:	what sources_open() attached to
 */
void sources_print(const struct sources *s)
{
	static const char * const names[] = {
		"pagefault:pagefault_exit, _noregs", "records of pagefault:pagefault_exit",
		"fentry, fexit of handle_mm_fault()", "kprobe, kretprobe of handle_mm_fault()",
		"software events of perf",
	};
	const char *ends = knows_ends(s) ? names[s->ends] : "-";
	const char *begins = s->begins ? "exceptions:page_fault_*" : ends;
	const char *events = "the events trap and pagefault";
	const char *mm = "BPF trampolines or kprobes";
	const char *traps = s->traps ? "trap:trap_entry" : s->traps_by_signal ?
			    "signal:signal_generate, with a signal" : "-";
	bool by_perf = s->ends == ENDS_BY_PERF;
	const char *noregs = !by_perf ? ends : s->btf ? "counters of the task" : "-";
	const char *kinds = !knows_kinds(s) ? "-" : by_perf ? "bpf_find_vma()" : ends;
	const struct {
		const char *fact, *source, *who;	/* fact: NULL if it is for x86 */
	} rows[] = {
		{ "page faults of user and kernel mode", begins, mm },
		{ "how they end: minor, major...", ends, mm },
		{ "how long they take", knows_durations(s) ? ends : "-", mm },
		{ "faults without a trap (get_user_pages)", noregs, mm },
		{ "kind of memory", kinds, mm },
		{ "copies, swap-ins, fixups",
		  knows_copies(s) ? ends : "-", events },
		{ "mapping and offset of a slow fault",
		  !knows_ends(s) ? "-" : s->find_vma ? "bpf_find_vma()" : "/proc/PID/maps", mm },
		{ "why a task was off the CPU (-w)",
		  knows_waits(s) ? "sched:sched_switch and others" : "-", "Linux 5.18" },
		{ "of that, a refault or userfaultfd",
		  s->refaults ? "kprobes" : "-", "kprobes" },
		{ IS_X86 ? "other traps, by vector" : NULL, traps, events },
		{ IS_X86 ? "time in them" : NULL, s->times ? "trap:trap_exit" : "-", events },
		{ "signals of traps", s->signals ? "signal:signal_generate" : "-",
		  "signal:signal_generate" },
		{ IS_X86 ? "handlers of NMIs" : NULL, s->nmi ? "nmi:nmi_handler" : "-",
		  "nmi:nmi_handler" },
		{ IS_X86 ? "records of machine checks" : NULL, s->mce ? "mce:mce_record" : "-",
		  "CONFIG_X86_MCE" },
		{ "children of a command", s->follow ? "sched:sched_wakeup_new" : "-",
		  "sched:sched_wakeup_new" },
	};

	printf("%-38s %s\n", "WHAT IS KNOWN", "FROM");
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].fact)
			printf("%-38s %s%s\n", rows[i].fact,
			       strcmp(rows[i].source, "-") ? rows[i].source : "- it needs ",
			       strcmp(rows[i].source, "-") ? "" : rows[i].who);
}

/**
 * sources_say - What this kernel lets a user see, in five lines
 * @out:	where to
 * @s:		what sources_open() attached to
 */
void sources_say(FILE *out, const struct sources *s)
{
	struct utsname name = {};

	uname(&name);
	fprintf(out, "\nLinux %.18s: page faults by %s%s%s\n", name.release,
		knows_ends(s) ? source_names[s->ends] : "exceptions:page_fault_*",
		knows_durations(s) ? ", outcome, duration" :
		knows_ends(s) ? ", outcome" : ", number only",
		knows_copies(s) ? ", copies, swap-ins" : knows_kinds(s) ? ", kind of memory" : "");
	fprintf(out, "other traps: %s\n", s->traps ? "all, with their time" : s->traps_by_signal ?
		"those that send a signal; all, with the trap events" :
		"only with the trap events");
	fputs("which processes fault, and how long:   trapstat faults     (key p)\n"
	      "what a command does, or who crashes:   trapstat -- COMMAND, trapstat crashes\n"
	      "more:                                  trapstat --help, man trapstat\n", out);
}
