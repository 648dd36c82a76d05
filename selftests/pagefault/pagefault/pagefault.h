/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of the page fault trace events, see pagefault.c */
#ifndef TRAP_PAGEFAULT_H
#define TRAP_PAGEFAULT_H

#include "common.h"

/*
 * The access. On x86, these are the bits of the error code, see SDM volume 3, "Page-Fault
 * Exceptions". Elsewhere, only fault_flags tell it
 */
#define PROT		0x1
#define WRITE		0x2
#define USER		0x4

/* enum pagefault_flags */
#define COW		0x1
#define SWAPIN		0x2
#define RETRIED_VMA	0x4
#define RETRIED_MMAP	0x8
#define NUMA_HINT	0x10
#define USERFAULTFD	0x20
#define MIGRATION	0x40

/* enum pagefault_kind. The flags of a record have the bit of its kind, too */
#define ANON		0x100
#define FILE_BACKED	0x200
#define SHMEM		0x400
#define HUGETLB		0x800
#define SPECIAL		0x1000

/* enum vm_fault_reason */
#define VM_FAULT_SIGBUS		0x2
#define VM_FAULT_SIGSEGV	0x40
#define VM_FAULT_RETRY		0x400
#define VM_FAULT_DONE_COW	0x1000
#define VM_FAULT_COMPLETED	0x4000

/* enum fault_flag */
#define FAULT_FLAG_WRITE	0x1
#define FAULT_FLAG_USER		0x40
#define FAULT_FLAG_REMOTE	0x80

#define PAGEFAULT_SUPPRESSED	"pagefault_suppressed"
#define DEBUGFS			"/sys/kernel/debug"

/* A record of the pagefault events. Missing fields are 0 */
struct pagefault {
	char event[16], outcome[16], mode[8], ip[IP_SIZE];
	unsigned long long address, error_code, duration;
	unsigned int flags, vm_fault, fault_flags, order;
	int signo, si_code, tgid;
};

/* Expected record of a fault. The bits of an @*_either may differ */
struct expect_fault {
	const char *outcome;
	unsigned int access;
	unsigned int flags, flags_either;
	unsigned int vm_fault, vm_fault_either;
	bool kernel;			/* the fault was in kernel mode */
	int signo, code;		/* the signal that it sent */
	unsigned long long min_ns;
};

#define HOLD_MS		200

/* A page that serve_page() serves HOLD_MS after a thread has asked for it */
struct server {
	int fd;				/* of wait_for_pages() */
	void *p;
	bool (*first)(void);		/* called first. false: do not serve the page */
};

enum how { READ_IT, WRITE_IT, KERNEL_READ };

extern const char *fault_instance;
extern long page_size;

void start_pagefaults(const char *name);
bool next_pagefault(FILE *f, struct pagefault *r);
unsigned long suppressed_pagefaults(void);
void trace_faults(const void *p, size_t size);
void trace_end(void);
bool fault_matches(const struct pagefault *r, const struct expect_fault *x, const void *p);
bool faults_match(const struct expect_fault *x, const void *p);
bool access_is(void *p, enum how how, const struct expect_fault *x);

pid_t must_fork(void);
char *new_pages(size_t size);
char *must_map(int flags, int fd, size_t size);
int new_file(off_t pages);
void drop_cache(int fd);
int wait_for_pages(void *p, size_t size);
void *serve_page(void *server);

#endif
