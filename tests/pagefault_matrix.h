/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of pagefault_matrix share */
#ifndef TESTS_PAGEFAULT_MATRIX_H
#define TESTS_PAGEFAULT_MATRIX_H

#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <linux/perf_event.h>

#include "lib.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT		21
#endif

#define ENTRY_EVENT	"pagefault/pagefault_entry"
#define EXIT_EVENT	"pagefault/pagefault_exit"
#define NOREGS_EVENT	"pagefault/pagefault_noregs"

/* For filters: enum pagefault_outcome */
#define MINOR		"outcome == 0"
#define MAJOR		"outcome == 1"
#define COUNTED		"outcome <= 1"
#define RETRY		"outcome == 2"
#define FAILED		"outcome == 3"
#define INTERRUPTED	"outcome == 4"
#define FIXUP		"outcome == 6"
#define SIGNAL		"outcome == 7 && signo == "
#define SIGBUS_SENT	SIGNAL "7 && si_code == 2"
#define SEGV_MAPERR_SENT SIGNAL "11 && si_code == 1"
#define SEGV_ACCERR_SENT SIGNAL "11 && si_code == 2"
#define SEGV_PKUERR_SENT SIGNAL "11 && si_code == 4"

/* enum pagefault_flags and vm_fault_reason */
#define ANONYMOUS	"flags & 0x1"
#define IN_FILE		"flags & 0x2"
#define IN_SHMEM	"flags & 0x4"
#define HUGE_TLB	"flags & 0x8"
#define COPIED		"flags & 0x10"
#define FROM_SWAP	"flags & 0x20"
#define NOT_FROM_SWAP	"!(flags & 0x20)"
#define RETRIED		"flags & 0xc0"
#define COMPLETED	"vm_fault & 0x4000"

#define AND		" && "
#define IN_USER		"user_mode == 1"
#define IN_KERNEL	"user_mode == 0"
#define IN		"address >= 0x%lx && address < 0x%lx"

#define SWAP_SIZE	(64UL << 20)
#define PRESSED_SIZE	"8M"
#define HUGETLB_PAGES	4
#define LEFT_OUT	7
#define COPIES		4

/* 32-bit programs may have this one only */
#ifdef SYS_futex_time64
#define FUTEX		SYS_futex_time64
#else
#define FUTEX		SYS_futex
#endif

/* What a workload is counted by */
enum counter {
	EXIT_MINOR, EXIT_MAJOR, EXIT_OTHER, EXIT_FIXUP, EXIT_KERNEL_ADDRESS,
	EXIT_NO_DURATION, ENTRY, ENTRY_USER, NOREGS_MINOR, NOREGS_MAJOR,
	NOREGS_OTHER, PAGE_FAULT_USER, PAGE_FAULT_KERNEL, PERF_FAULTS,
	PERF_MINOR, PERF_MAJOR, COUNTERS
};

/* A count that a workload knows by itself */
struct expected {
	const char *event;
	char filter[200];
	unsigned long least, most;
	bool more;			/* add the count before this one */
	int fd;
	unsigned long long count;
};

struct workload {
	const char *name;
	const char *(*set_up)(void);	/* returns why it cannot be done */
	void (*run)(void);
	size_t pages, pages_together;	/* on its own, and with all others */
	enum { PROCESSES, THREADS, SEQUENTIAL } kind;
};

/* What a workload, which is a process, tells its parent */
struct result {
	bool skipped;
	char why[200];
};

struct shared {
	int ready;
	bool go;
	struct result results[100];
};

/* pagefault_matrix.c */
extern struct shared *shared;
extern size_t page;
extern int ncpus;
extern bool verbose, numa_balancing;
extern const char *instance;
extern unsigned long long kernel_base, kernel_text;
extern char no_swap[100], no_group[100], no_hugetlb[100];
extern char pressed_group[PATH_MAX], reclaimed_group[PATH_MAX];

/* pagefault_matrix-count.c */
extern const struct workload *workload;
extern bool together;
extern size_t n, left_out;
extern char *mem;
extern int counter[COUNTERS];
extern struct expected expected[8];
extern int expectations;
extern size_t bad_fixups;
long want(long ret, const char *what);
int open_event(const char *event, int software, const char *filter, pid_t pid, int cpu);
unsigned long long read_event(int fd);
void expect(const char *event, unsigned long least, unsigned long most, const char *filter,
	    const char *start, size_t size);
void expect_sum(const char *event, const char *filter, const char *start, size_t size);
void work(const struct workload *w, struct result *r);

/* pagefault_matrix-memory.c */
void write_to(char *p);
void read_from(const char *p);
void write_pages(char *start, size_t pages);
char *reserve(size_t pages, int prot, int flags);
char *fresh(size_t pages);
void start_thread(pthread_t *thread, void *(*fn)(void *), void *arg);
void end_child(pid_t child, int signal);
const char *set_up_touch(void);
void run_touch(void);
const char *set_up_zeros(void);
void run_zeros(void);
const char *set_up_same(void);
void run_same(void);
const char *set_up_changing(void);
void run_changing(void);
const char *set_up_fork(void);
void run_fork(void);
const char *set_up_mremap(void);
void run_mremap(void);
const char *set_up_discard(void);
void run_discard(void);
const char *map_file(int prot, int flags);
const char *set_up_file_read(void);
void run_read(void);
void run_write(void);
const char *set_up_file_cow(void);
const char *set_up_file_write(void);
const char *set_up_file_major(void);
const char *set_up_same_file(void);
void run_read_same(void);
const char *set_up_direct(void);
void run_direct(void);
const char *set_up_swap(void);
const char *set_up_same_swap(void);
const char *set_up_swap_shmem(void);
const char *set_up_pressure(void);
void run_pressure(void);

/* pagefault_matrix-ends.c */
const char *set_up_missing(void);
void run_missing(void);
const char *set_up_wp(void);
void run_wp(void);
const char *set_up_interrupted(void);
void run_interrupted(void);
const char *set_up_killed(void);
void run_killed(void);
const char *set_up_mprotect(void);
const char *set_up_pkey(void);
void run_pkey(void);
const char *set_up_signals(void);
void run_signals(void);
const char *set_up_thp(void);
void run_thp(void);
const char *set_up_thp_fork(void);
void run_thp_fork(void);
const char *set_up_hugetlb(void);
void run_hugetlb(void);
const char *set_up_stack(void);
void run_stack(void);
const char *set_up_remote(void);
void run_remote(void);
const char *set_up_gup_file(void);
const char *set_up_gup_swap(void);
void run_gup(void);
const char *set_up_mlock(void);
void run_mlock(void);
const char *set_up_copy(void);
void run_copy(void);
const char *set_up_futex(void);
void run_futex(void);

#endif
