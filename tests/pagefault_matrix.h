/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of pagefault_matrix share */
#ifndef TESTS_PAGEFAULT_MATRIX_H
#define TESTS_PAGEFAULT_MATRIX_H

#include <limits.h>
#include <pthread.h>

#include "lib.h"

#define ENTRY_EVENT	"pagefault/pagefault_entry"
#define EXIT_EVENT	"pagefault/pagefault_exit"
#define NOREGS_EVENT	"pagefault/pagefault_noregs"

/* For filters: enum pagefault_outcome and pagefault_flags */
#define MINOR		"outcome == 0"
#define MAJOR		"outcome == 1"
#define COUNTED		"outcome <= 1"
#define RETRY		"outcome == 2"
#define FAILED		"outcome == 3"
#define INTERRUPTED	"outcome == 4"
#define FIXUP		"outcome == 6"
#define SIGNAL		"outcome == 7 && signo == "
#define ANONYMOUS	"flags & 0x1"
#define IN_FILE		"flags & 0x2"
#define IN_SHMEM	"flags & 0x4"
#define COPIED		"flags & 0x10"
#define RETRIED		"flags & 0xc0"
#define IN_USER		"user_mode == 1"
#define IN		"address >= 0x%lx && address < 0x%lx"
#define AND		" && "

#define HUGETLB_PAGES	4
#define NO_DISK		"$TMPDIR is not on a disk"

/* Faults on the memory of a workload, for two of its pages */
#define HALF		1
#define EACH		2
#define ANY		UINT_MAX

struct workload {
	const char *name;
	const char *(*set_up)(void);	/* returns why it cannot be done */
	void (*run)(void);
	size_t pages;
	struct {
		const char *event;
		unsigned int least, most;
		const char *filter;
	} faults[4];			/* which it knows by itself; expect() adds to them */
	enum { SEQUENTIAL, THREADS, PROCESSES } kind;
	void *(*thread)(void *arg);	/* for run(), if it wants one */
	size_t together;		/* pages when all workloads run at once, if not the same */
};

/* What the workloads, which are processes, share with their parent */
struct shared {
	int ready;
	bool go;
	char why[100][200];		/* each was skipped */
};

/* A count that a workload knows by itself */
struct expected {
	const char *event;
	char filter[200];
	unsigned long least, most;
	bool more;			/* add the count before this one */
	int fd;
};

/* pagefault_matrix.c */
extern struct shared *shared;
extern bool numa_balancing;
extern unsigned long long kernel_base, kernel_text;
extern const char *no_swap, *no_group, *no_hugetlb;
extern char pressed_group[PATH_MAX], reclaimed_group[PATH_MAX];

/* pagefault_matrix-count.c */
extern const struct workload *workload;
extern bool together;
extern size_t n, left_out, mem_size, step;
extern char *mem;
extern struct expected expected[];
extern int expectations;
extern size_t bad_fixups;
size_t pages_of(const struct workload *w);
long want(long ret, const char *what);
int open_event(const char *event, int software, const char *filter, pid_t pid, int cpu);
unsigned long long read_event(int fd);
void expect(const char *event, unsigned long least, unsigned long most, const char *filter);
void work(const struct workload *w, char *why);

/* pagefault_matrix-memory.c */
extern const struct workload memory_workloads[];
extern const size_t nr_memory_workloads;
void write_pages(char *start, size_t pages);
void write_all(void);
char *reserve(size_t pages, int prot, int flags);
const char *set_up_new(void);
const char *set_up_written(void);
void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg);
void end_child(pid_t child, int signal);
void write_in_children(int copies);
const char *map_file(int flags);
const char *set_up_file_major(void);
const char *set_up_swap(void);

/* pagefault_matrix-ends.c */
extern const struct workload end_workloads[];
extern const size_t nr_end_workloads;

#endif
