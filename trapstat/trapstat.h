/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What trapstat and its BPF programs share. From BPF to view:
 *
 *   events and functions of the kernel
 *     |  sources.c picks those that this kernel has, names.c knows the numbers of their enums
 *   trapstat.bpf.c and perf.bpf.h, a program for each source
 *     |  arch.bpf.h: registers; filter.bpf.h: is it wanted?
 *     |  counts.bpf.h adds it up          --->             |  events.bpf.h, place.bpf.h
 *   maps.bpf.h: counts, faults_0/1, slowest_faults       ring buffer "events"
 *     |  counts.c reads what was added since               |  record.c, stream.c
 *   struct counts                                        struct event
 *     |  intervals.c, traps.c, faults.c, command.c,        |  maps.c finds mappings, symbols.c
 *     |  export.c: the views                               |  functions
 *   text, by print.c and text.c                          json.c, csv.c, page.c: the sinks
 *
 * main.c reads the options, command.c runs a command, report.c reads a .json back.
 */
#ifndef TRAPSTAT_H
#define TRAPSTAT_H

/* Others have no traps but page faults here */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define IS_X86	1
#else
#define IS_X86	0
#endif

#define NO_VECTOR	255

/* Rows of the table of traps: the vectors, and events that are not vectors */
enum row {
	ROW_PF		= 14,
	ROW_NMI		= 33,	/* calls of handlers that took an NMI for theirs */
	ROW_MCE,		/* records of machine checks */
	ROW_SPLIT_LOCK,		/* #AC that is not an alignment check */
	ROW_BUS_LOCK,		/* #DB with that bit in DR6 */
	ROW_UMIP,		/* #GP of an instruction that UMIP forbids */
	ROW_SIGNAL,		/* in records alone: a signal of a trap */
	ROWS,
};

enum mode {
	MODE_KERNEL,
	MODE_USER,
	MODE_NONE,		/* no registers: get_user_pages() and the like */
	MODES,
};

/* The first ten are those of pagefault:pagefault_exit, by any number: see names.c */
enum outcome {
	OUTCOME_MINOR, OUTCOME_MAJOR, OUTCOME_RETRY, OUTCOME_FAILED, OUTCOME_INTERRUPTED,
	OUTCOME_OOM, OUTCOME_FIXUP, OUTCOME_SIGNAL, OUTCOME_ARCH, OUTCOME_OOPS,
	OUTCOME_ERROR,		/* handle_mm_fault() failed, in kernel mode */
	OUTCOME_UNKNOWN,	/* of a newer kernel: names.c has no such name */
	OUTCOME_BEGUN,		/* each trap, where page_fault_* counts beginnings alone */
	OUTCOME_REACHED,	/* of these, those that got to handle_mm_fault() */
	OUTCOMES,
};

/* Kind of memory and flags of pagefault:pagefault_exit, as bits: see names.c */
enum flags {
	FLAG_ANON = 1, FLAG_FILE = 2, FLAG_SHMEM = 4, FLAG_HUGETLB = 8,
	FLAG_COW = 16, FLAG_SWAPIN = 32,
	FLAG_RETRIED = 0xc0,
	FLAG_KIND = 15,
	FLAG_KIND_UNKNOWN = 0x100,
	FLAG_NUMA_HINT = 0x200, FLAG_USERFAULTFD = 0x400, FLAG_MIGRATION = 0x800,
	FLAG_REFAULT = 0x1000,	/* of --why: read again, as it was reclaimed before */
};

enum by { BY_NOTHING, BY_PROCESS, BY_THREAD, BY_CGROUP, BY_FILE };

/* Signals that traps send, by number and si_code; SI_KERNEL and larger ones are code 0 */
enum { SIGNALS = 5, SIGNAL_CODES = 16 };
#define SIGNAL_NUMBERS	{ 4, 5, 7, 8, 11 }	/* ILL, TRAP, BUS, FPE, SEGV */

/* Why a task was off the CPU in the course of a page fault */
enum wait {
	WAIT_IO,		/* as the kernel counts iowait */
	WAIT_RECLAIM, WAIT_COMPACTION, WAIT_MMAP_LOCK, WAIT_UFFD,
	WAIT_PREEMPTED,		/* it could run, and another task did */
	WAIT_OTHER,
	WAITS,
};

/* What could not be counted, and why */
enum lost {
	LOST_FAULTS,		/* more kinds of faults or processes than the map has room for */
	LOST_TIMES,		/* of traps that are counted */
	LOST_EVENTS,		/* no room to send a slow fault, or what is recorded */
	LOST_TASKS,		/* children without room in a map */
	LOST_CALLS,		/* BPF programs skipped: the kernel ran one on that CPU */
	LOSTS,
};

/* Helpers that failed: an event lacks a name, but nothing is lost */
enum failure {
	FAILED_VMA,		/* bpf_find_vma(): the lock of the mappings was taken */
	FAILED_FILE,		/* no room for the path of a file */
	FAILED_NAME,		/* a name could not be read */
	FAILED_READ,		/* other memory of the kernel, which counts as 0 */
	FAILED_CODE,		/* the instruction of a #GP: it has no row of its own */
	FAILED_STACK,		/* -S: another one has its place */
	FAILED_WAIT,		/* --why: no room to note it, or its program was skipped */
	FAILED_ERROR,		/* no room for an error code */
	FAILED_SLOW,		/* another program of that CPU was at its slowest faults */
	FAILURES,
};

/* A power of two has four buckets; the last ends at 2^37 ns, 137 s */
enum { BUCKETS = 4 * 36, SLOWEST = 10, NAME_SIZE = 40, COMM_SIZE = 16, PATH_PARTS = 12 };
enum { MOST_FRAMES = 127 };		/* as kernel.perf_event_max_stack has it */

struct trap_sum {
	unsigned long long count, ns;
};

/* What a CPU has counted since the start. The reader has the map of these in its memory. */
struct cpu_counts {
	struct trap_sum trap[ROWS][2];
	unsigned long long signal[SIGNALS * SIGNAL_CODES], lost[LOST_CALLS], failed[FAILURES];
	unsigned long long perf_ends;	/* calls of the programs of perf.bpf.h */
	unsigned long long walker;	/* the task whose stack is walked there, or 0 */
	/* Steps of this CPU on its way off and on; so many and one when perf.c opened its events */
	unsigned int perf_plugged, perf_opened;
};

struct fault_key {
	unsigned long long id;		/* of the process, or what "by" asks for */
	unsigned int dev;		/* of a file */
	unsigned char outcome, mode;
	unsigned short flags;		/* without FLAG_RETRIED */
};

struct fault_sum {
	unsigned long long count, ns, max, wait[WAITS];
	unsigned int bucket[BUCKETS];
	char name[NAME_SIZE];		/* comm, or name of the file */
};

struct file_key {
	unsigned long long ino, dev;
};

/* A file's name and those of the folders that it is in, up to the root of its file system */
struct file_path {
	unsigned long long size;	/* of the file */
	unsigned int generation;	/* of its inode: another file may get its number */
	char part[PATH_PARTS][64];
};

/* A mapping, and where in it; name is "" if that is not known */
struct place {
	struct file_key file;
	unsigned long long offset;
	char name[NAME_SIZE];
};

/* A page fault, a trap or a signal of one */
struct event {
	unsigned long long end, ns;	/* end: of CLOCK_MONOTONIC; ns: 0 if not known */
	unsigned long long address, ip, cgroup, wait[WAITS];
	struct place place, code;	/* of address, and of ip */
	struct file_key program;	/* of -S: what was executed, or 0; and where its code is */
	unsigned long long program_code;
	unsigned int pid, tid, own_pid;	/* own_pid: in its own PID namespace; 0: not known */
	unsigned int error;		/* the error code, and one; 0: not known */
	int stack[2];			/* of -S: its number of kernel and user, and one; 0: none */
	unsigned short flags;
	unsigned char row, outcome, mode;
	unsigned char order;		/* of its folio, and one; 0: not known */
	unsigned char waits;		/* "wait" is known */
	unsigned char signal, si_code;	/* of ROW_SIGNAL, as the next two */
	unsigned char vector, is_fatal;	/* vector: NO_VECTOR if not known */
	char comm[COMM_SIZE];
};

/* The slowest faults of a CPU, of which the reader has the map in its memory, too */
struct slowest {
	unsigned int busy, least;	/* least: the quickest of them */
	struct event fault[SLOWEST];
};

/* Of a field of a record, from the "format" of its event */
enum {
	FIELD_DURATION, FIELD_ADDRESS, FIELD_IP, FIELD_OUTCOME, FIELD_FLAGS, FIELD_KIND, FIELD_MODE,
	FIELD_ERROR, FIELD_ORDER,
	FIELDS,
};

#define WANT_ANY	255
#define MOST_PIDS	64	/* of -p */
#define NO_PID		(-1U)
#define NO_FIELD	(-1U)

/* How many numbers of the kernel's enums may be known */
enum { OUTCOME_NUMBERS = 32, KIND_NUMBERS = 32, FLAG_BITS = 32 };

struct config {
	enum by by;
	unsigned int best;		/* enum ends: do not look for a better source */
	unsigned int pids;		/* of the map "pids"; 0: all */
	int cgroup;			/* open: tasks in it and below alone; 0: all */
	unsigned int vector, outcome, mode;	/* or ANY */
	unsigned long long slower;	/* ns, 0: none is sent */
	/* pagefault_exit; pagefault_noregs */
	unsigned int at[2][FIELDS];
	/* enum outcome and enum flags, by the number that the kernel has for them */
	unsigned char outcomes[OUTCOME_NUMBERS];
	unsigned short kinds[KIND_NUMBERS], flags[FLAG_BITS];
	unsigned char traps, faults;	/* what to sum up; both for "record" */
	unsigned char record;		/* send each event */
	unsigned char crashes;		/* send each signal of a trap, and nothing else */
	unsigned char stacks;		/* with each event that is sent or slow */
	unsigned char why;		/* note why tasks are off the CPU */
	unsigned char capabilities;	/* print what the sources have */
	unsigned char follow;		/* the tasks of the map "followed" alone */
	unsigned long long ns_dev, ns_ino;	/* of our PID namespace; 0: the first one */
	unsigned char has_btf, find_vma;
	unsigned char has_regs;		/* a task's registers and its last trap can be read */
	unsigned char ends_by_perf;	/* perf.bpf.h has them */
	unsigned char page_shift;
	unsigned char ends_by_mm;	/* handle_mm_fault() has the ends of faults */
	char comm[COMM_SIZE];		/* "": all */
};

#endif
