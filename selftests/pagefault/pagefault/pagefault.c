// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by the tests of the page fault trace events: parsing of records, an
 * access with its expected record, and memory whose faults are slow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/magic.h>
#include <linux/userfaultfd.h>

#include "pagefault.h"

const char *fault_instance;
long page_size;

/* start_pagefaults - Begin a test: with an instance, and with signals skipped */
void start_pagefaults(const char *name)
{
	start("pagefault/pagefault_exit");
	page_size = sysconf(_SC_PAGESIZE);
	fault_instance = make_instance(name);
	skip_traps();
}

/* must_fork - Fork a child that dies with its parent */
pid_t must_fork(void)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return child;
}

/* new_pages - Map memory. The first access to each page faults */
char *new_pages(size_t size)
{
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

/* The value of "name=" in a record, 0 without one */
static unsigned long long number(const char *record, const char *name)
{
	const char *at = strstr(record, name);

	return at ? strtoull(at + strlen(name), NULL, 0) : 0;
}

static void word(const char *record, const char *name, char *text, size_t size)
{
	const char *at = strstr(record, name);

	snprintf(text, size, "%.*s", at ? (int)strcspn(at + strlen(name), "\n ") : 0,
		 at ? at + strlen(name) : "");
}

/* The bit of the kind of memory, 0 for NONE */
static unsigned int kind_bit(const char *record)
{
	static const char * const kinds[] = { "ANON", "FILE", "SHMEM", "HUGETLB", "SPECIAL" };
	char name[16];

	word(record, " kind=", name, sizeof(name));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(name, kinds[i]))
			return ANON << i;
	return 0;
}

/* suppressed_pagefaults - How many page faults the guard has suppressed */
unsigned long suppressed_pagefaults(void)
{
	char *text = get(DEBUGFS, PAGEFAULT_SUPPRESSED);
	unsigned long n;

	if (!text)
		ksft_exit_fail_msg("no %s/%s\n", DEBUGFS, PAGEFAULT_SUPPRESSED);
	n = strtoul(text, NULL, 0);
	free(text);
	return n;
}

/* next_pagefault - The next record of the pagefault events */
bool next_pagefault(FILE *f, struct pagefault *r)
{
	char line[512], *at;

	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, ": pagefault_");
		if (!at)
			continue;
		memset(r, 0, sizeof(*r));
		at += strlen(": pagefault_");
		snprintf(r->event, sizeof(r->event), "%.*s", (int)strcspn(at, ":"), at);
		r->address = number(at, ": address=");
		r->error_code = number(at, " error_code=");
		r->fault_flags = number(at, " fault_flags=");
		r->flags = number(at, " flags=") | kind_bit(at);
		r->vm_fault = number(at, " vm_fault=");
		r->order = number(at, " order=");
		r->signo = number(at, " signo=");
		r->si_code = number(at, " si_code=");
		r->tgid = number(at, " tgid=");
		r->duration = number(at, " duration=");
		word(at, " ip=", r->ip, sizeof(r->ip));
		word(at, " mode=", r->mode, sizeof(r->mode));
		word(at, " outcome=", r->outcome, sizeof(r->outcome));
		return true;
	}
	return false;
}

/* trace_faults - Trace faults of this process at these bytes */
void trace_faults(const void *p, size_t size)
{
	unsigned long long first = (unsigned long)p, last = first + size - 1;

	must(put(fault_instance, "trace", " "), "trace");
	must(put(fault_instance, "events/pagefault/filter",
		 "common_pid == %d && address >= 0x%llx && address <= 0x%llx", getpid(),
		 first, last), "filter");
	memset(&trap_info, 0, sizeof(trap_info));
	must(put(fault_instance, "events/pagefault/enable", "1"), "enable");
}

void trace_end(void)
{
	must(put(fault_instance, "events/pagefault/enable", "0"), "disable");
}

static bool error_code_matches(const struct pagefault *r, unsigned int access)
{
#ifdef RAISE
	return r->error_code == access;
#elif defined(__aarch64__)
	/* ESR_EL1: EC is a data abort from EL0 or from EL1, and WnR a write */
	return (r->error_code >> 26 & 0x3f) == (access & USER ? 0x24 : 0x25) &&
	       !(r->error_code & 0x40) == !(access & WRITE);
#elif defined(__riscv)
	/* scause: a store or a load page fault */
	return r->error_code == (access & WRITE ? 15 : 13);
#else
	return true;
#endif
}

/* fault_flags say what the access was */
static bool access_matches(const struct pagefault *r, unsigned int access)
{
	unsigned int flags = (access & WRITE ? FAULT_FLAG_WRITE : 0) |
			     (access & USER ? FAULT_FLAG_USER : 0);

	/* Without a kind, handle_mm_fault() was not called */
	if (r->flags < ANON)
		flags = 0;
	return (r->fault_flags & (FAULT_FLAG_WRITE | FAULT_FLAG_USER)) == flags;
}

/* fault_matches - Whether an entry or an exit for @p is as expected */
bool fault_matches(const struct pagefault *r, const struct expect_fault *x, const void *p)
{
	bool good;

	good = r->address == (unsigned long)p && error_code_matches(r, x->access) &&
	       !strcmp(r->mode, x->kernel ? "kernel" : "user") &&
	       (x->kernel || strtoull(r->ip, NULL, 0) - trap_ip < TRAP_IP_SIZE);
	if (!strcmp(r->event, "exit"))
		good &= !strcmp(r->outcome, x->outcome) && r->duration &&
			r->duration >= x->min_ns && r->signo == trap_info.si_signo &&
			r->si_code == trap_info.si_code && access_matches(r, x->access) &&
			(r->flags | x->flags_either) == (x->flags | x->flags_either) &&
			(r->vm_fault | x->vm_fault_either) == (x->vm_fault | x->vm_fault_either);
	else
		good &= !strcmp(r->event, "entry");
	if (!good)
		ksft_print_msg("%s, %s at 0x%llx: 0x%llx, %s, %d, %d, 0x%x, 0x%x, 0x%x, %llu ns\n",
			       r->event, r->mode, r->address, r->error_code, r->outcome, r->signo,
			       r->si_code, r->flags, r->fault_flags, r->vm_fault, r->duration);
	return good;
}

/* faults_match - Whether the trace has just one entry and exit, as expected */
bool faults_match(const struct expect_fault *x, const void *p)
{
	int entries = 0, exits = 0, wrong = 0;
	struct pagefault r, entry = { };
	bool good;
	FILE *f;

	f = open_trace(fault_instance, -1);
	while (next_pagefault(f, &r)) {
		wrong += !fault_matches(&r, x, p);
		if (!strcmp(r.event, "entry")) {
			entries++;
			entry = r;
		} else {
			exits++;
			/* The ip of the fault, even after a fixup */
			wrong += !*r.ip || strcmp(r.ip, entry.ip);
		}
	}
	fclose(f);

	good = entries == 1 && exits == 1 && !wrong;
	if (!good)
		ksft_print_msg("%d entries, %d exits, %d wrong; at %p from 0x%lx\n",
			       entries, exits, wrong, p, trap_ip);
	if (trap_info.si_signo != x->signo ||
	    (x->signo && (trap_info.si_code != x->code || trap_info.si_addr != p))) {
		ksft_print_msg("signal %d, code %d, address %p\n", trap_info.si_signo,
			       trap_info.si_code, trap_info.si_addr);
		good = false;
	}
	return good;
}

/*
 * The kernel reads an int: false if it cannot. FIONBIO does so by get_user(), which
 * faults once. copy_from_user() of an old kernel tries a part of it again.
 */
static bool kernel_reads(const void *p)
{
	int fds[2];
	bool done;

	if (pipe(fds))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	done = !ioctl(fds[1], FIONBIO, p);
	close(fds[0]);
	close(fds[1]);
	return done;
}

/* access_is - Access @p once. Return whether the records are as expected */
bool access_is(void *p, enum how how, const struct expect_fault *x)
{
	bool good = true;

	trace_faults(p, 1);
	if (how == READ_IT)
		raise_read(p);
	else if (how == WRITE_IT)
		raise_write(p);
	else
		good = kernel_reads(p) == !!strcmp(x->outcome, "FIXUP");
	trace_end();
	return faults_match(x, p) && good;
}

char *must_map(int flags, int fd, size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	return p;
}

/* new_file - An unlinked file; -1 if $TMPDIR is not on a disk */
int new_file(off_t pages)
{
	const char *dir = getenv("TMPDIR");
	static char *data;
	char path[256];
	struct statfs s;
	int fd;

	snprintf(path, sizeof(path), "%s/pagefault.XXXXXX", dir ? dir : ".");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	unlink(path);
	if (fstatfs(fd, &s) || s.f_type == TMPFS_MAGIC || s.f_type == RAMFS_MAGIC ||
	    s.f_type == OVERLAYFS_SUPER_MAGIC || s.f_type == V9FS_MAGIC) {
		close(fd);
		return -1;
	}
	/* A file system that compresses would read many pages of zeroes at once */
	if (!data)
		data = malloc(page_size);
	for (off_t i = 0; i < pages; i++)
		if (getrandom(data, page_size, 0) != page_size ||
		    write(fd, data, page_size) != page_size)
			ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	fsync(fd);
	return fd;
}

/* drop_cache - Make the next access read the disk */
void drop_cache(int fd)
{
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* wait_for_pages - Make faults wait for userfaultfd; -1 if there is none */
int wait_for_pages(void *p, size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (unsigned long)p, size }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* serve_page - Thread for a struct server */
void *serve_page(void *server)
{
	struct server *s = server;
	struct uffdio_zeropage zero = { .range = { (unsigned long)s->p, page_size } };
	struct uffd_msg msg;

	if (read(s->fd, &msg, sizeof(msg)) != sizeof(msg))
		ksft_exit_fail_msg("userfaultfd: %s\n", strerror(errno));
	usleep(HOLD_MS * 1000);
	if ((!s->first || s->first()) && ioctl(s->fd, UFFDIO_ZEROPAGE, &zero))
		ksft_exit_fail_msg("UFFDIO_ZEROPAGE: %s\n", strerror(errno));
	return NULL;
}
