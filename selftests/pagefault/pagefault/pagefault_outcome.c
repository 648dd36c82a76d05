// SPDX-License-Identifier: GPL-2.0
/*
 * Test the pagefault trace events: raise faults with different outcomes, and
 * compare each record with the address, instruction and signal, the counts of
 * getrusage(), and the time that the fault was held.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pagefault.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define FILE_PAGES	64

static const char *why;		/* why set_up() returned NULL */

/*
 * One access: set up the memory, and compare the record. A child that shares
 * the memory is killed after the test.
 */
static pid_t holder;

static char *new_page(void)
{
	return new_pages(page_size);
}

static char *old_page(void)
{
	char *p = new_page();

	*p = 1;
	return p;
}

static char *in_new_page(void)
{
	return new_page() + 8;
}

static char *zero_page(void)
{
	char *p = in_new_page();

	raise_read(p);
	return p;
}

static void hold(void)
{
	holder = must_fork();
	while (!holder)
		pause();
}

/* Stay on a CPU: a page in the LRU batch of another one is not reused */
static char *page_with_fork(void)
{
	char *p;

	pin(0);
	p = old_page();
	hold();
	return p;
}

static void end_holder(void)
{
	if (!holder)
		return;
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	holder = 0;
}

static char *page_after_fork(void)
{
	char *p = page_with_fork();

	end_holder();
	return p;
}

static char *shared_page(void)
{
	return must_map(MAP_SHARED | MAP_ANONYMOUS, -1, page_size);
}

/* A page of a file, @cached or not. Page FILE_PAGES is beyond the end */
static char *file_page(int flags, bool cached, int at)
{
	int fd = new_file(FILE_PAGES);
	char *p;

	why = "$TMPDIR is not on a disk";
	if (fd < 0)
		return NULL;
	if (!cached)
		drop_cache(fd);
	p = must_map(flags, fd, (FILE_PAGES + 1) * page_size);
	madvise(p, FILE_PAGES * page_size, MADV_RANDOM);
	close(fd);
	return p + at * page_size;
}

static char *private_file(void)
{
	return file_page(MAP_PRIVATE, true, 0);
}

static char *shared_file(void)
{
	return file_page(MAP_SHARED, true, 1);
}

static char *file_on_disk(void)
{
	return file_page(MAP_PRIVATE, false, FILE_PAGES / 2);
}

static char *beyond_file(void)
{
	return file_page(MAP_PRIVATE, true, FILE_PAGES);
}

static char *unmapped(void)
{
	char *p = new_pages(page_size);

	munmap(p, page_size);
	return p;
}

static char *read_only(void)
{
	char *p = old_page();

	mprotect(p, page_size, PROT_READ);
	return p;
}

static char *no_access(void)
{
	char *p = new_page();

	mprotect(p, page_size, PROT_NONE);
	return p;
}

/* handle_mm_fault() returns VM_FAULT_SIGSEGV */
static char *guard_region(void)
{
	char *p = new_pages(page_size);

	why = "this kernel has no guard regions";
	return madvise(p, page_size, MADV_GUARD_INSTALL) ? NULL : p;
}

static char *hugetlb_page(void)
{
	char *p = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	why = "no free page of hugetlb";
	return p == MAP_FAILED ? NULL : p;
}

#define ANY	(~0U)

static const struct access {
	const char *name;
	char *(*set_up)(void);
	enum how how;
	struct expect_fault x;
} accesses[] = {
	{ "anonymous memory, first write", in_new_page, WRITE_IT,
	  { "MINOR", WRITE | USER, ANON } },
	{ "anonymous memory, first read", in_new_page, READ_IT,
	  { "MINOR", USER, ANON } },
	{ "copy-on-write of the zero page", zero_page, WRITE_IT,
	  { "MINOR", PROT | WRITE | USER, ANON | COW } },
	{ "copy-on-write after fork()", page_with_fork, WRITE_IT,
	  { "MINOR", PROT | WRITE | USER, ANON | COW } },
	{ "reused after fork(), without the child", page_after_fork, WRITE_IT,
	  { "MINOR", PROT | WRITE | USER, ANON } },
	{ "shared memory", shared_page, WRITE_IT,
	  { "MINOR", WRITE | USER, SHMEM, 0, 0, ANY } },
	{ "hugetlb", hugetlb_page, WRITE_IT,
	  { "MINOR", WRITE | USER, HUGETLB, RETRIED_VMA, 0, ANY } },
	{ "file, in the page cache", private_file, READ_IT,
	  { "MINOR", USER, FILE_BACKED, 0, 0, ANY } },
	{ "file, private copy", private_file, WRITE_IT,
	  { "MINOR", WRITE | USER, FILE_BACKED | COW, 0, 0, ~VM_FAULT_DONE_COW } },
	{ "file, completed without the lock", shared_file, WRITE_IT,
	  { "MINOR", WRITE | USER, FILE_BACKED, 0, VM_FAULT_COMPLETED, ~VM_FAULT_COMPLETED } },
	{ "file, from disk", file_on_disk, READ_IT,
	  { "MAJOR", USER, FILE_BACKED | RETRIED_VMA, 0, 0, ANY } },
	/* Read by the first call of handle_mm_fault(), copied by the second */
	{ "file, from disk, private copy", file_on_disk, WRITE_IT,
	  { "MAJOR", WRITE | USER, FILE_BACKED | COW | RETRIED_VMA, 0, 0, ~VM_FAULT_DONE_COW } },
	{ "file, from disk, in kernel mode", file_on_disk, KERNEL_READ,
	  { "MAJOR", 0, FILE_BACKED | RETRIED_MMAP, 0, 0, ANY, .kernel = true } },
	{ "file, beyond its end", beyond_file, READ_IT,
	  { "SIGNAL", USER, FILE_BACKED, 0, VM_FAULT_SIGBUS, .signo = SIGBUS,
	    .code = BUS_ADRERR } },
	{ "file, beyond its end, in kernel mode", beyond_file, KERNEL_READ,
	  { "FIXUP", 0, FILE_BACKED, 0, VM_FAULT_SIGBUS, .kernel = true } },
	{ "exception fixup in kernel mode", unmapped, KERNEL_READ,
	  { "FIXUP", .kernel = true } },
	{ "SIGSEGV, no mapping", unmapped, WRITE_IT,
	  { "SIGNAL", WRITE | USER, .signo = SIGSEGV, .code = SEGV_MAPERR } },
	{ "SIGSEGV, write to a read-only page", read_only, WRITE_IT,
	  { "SIGNAL", PROT | WRITE | USER, .signo = SIGSEGV, .code = SEGV_ACCERR } },
	{ "SIGSEGV, PROT_NONE", no_access, READ_IT,
	  { "SIGNAL", USER, .signo = SIGSEGV, .code = SEGV_ACCERR } },
	{ "SIGSEGV, guard region", guard_region, READ_IT,
	  { "SIGNAL", USER, ANON, 0, VM_FAULT_SIGSEGV, .signo = SIGSEGV, .code = SEGV_MAPERR } },
};

/* Whether getrusage() counts the fault as in @outcomes */
static bool counted(const struct rusage *before, const char *outcomes)
{
	struct rusage after;

	getrusage(RUSAGE_SELF, &after);
	return (after.ru_majflt > before->ru_majflt || !strstr(outcomes, "MAJOR")) &&
	       (after.ru_minflt > before->ru_minflt || !strstr(outcomes, "MINOR"));
}

/* CONFIG_PER_VMA_LOCK depends on 64 bits and SMP */
static bool per_vma_locks(void)
{
	struct utsname uts;

	return kernel_of_64_bit() && !uname(&uts) && strstr(uts.version, " SMP ");
}

static void test_access(const struct access *a)
{
	struct expect_fault x = a->x;
	struct rusage before;
	char *p = a->set_up();

	if (!p) {
		ksft_test_result_skip("%s: %s\n", a->name, why);
		return;
	}
	if (x.flags & RETRIED_VMA && !per_vma_locks())
		x.flags ^= RETRIED_VMA | RETRIED_MMAP;
	getrusage(RUSAGE_SELF, &before);
	ksft_test_result(access_is(p, a->how, &x) && counted(&before, x.outcome), "%s\n", a->name);
	end_holder();
}

/* Bit 62 of its entry in pagemap: the page is in swap */
static bool in_swap(const void *p)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;
	bool good;

	good = pread(fd, &entry, sizeof(entry), (unsigned long)p / page_size * sizeof(entry)) ==
	       sizeof(entry);
	if (fd >= 0)
		close(fd);
	return good && entry >> 62 & 1;
}

static void test_swapped(void)
{
	struct expect_fault x = {
		"MINOR", USER, ANON | SWAPIN, RETRIED_VMA | RETRIED_MMAP, 0, ANY,
	};
	struct rusage before, after;
	char *p = old_page();

	if (madvise(p, page_size, MADV_PAGEOUT) || !in_swap(p)) {
		ksft_test_result_skip("swap-in: the page did not go to swap\n");
		return;
	}
	getrusage(RUSAGE_THREAD, &before);
	trace_faults(p, 1);
	raise_read(p);
	trace_end();
	getrusage(RUSAGE_THREAD, &after);
	/* Minor if the page is still in the swap cache. getrusage() tells */
	if (after.ru_majflt > before.ru_majflt)
		x.outcome = "MAJOR";
	ksft_test_result(faults_match(&x, p), "swap-in\n");
}

/*
 * A page that another thread serves after a while, or a signal that comes instead
 */
static pthread_t faulter;

static bool send_signal(void)
{
	pthread_kill(faulter, SIGUSR1);
	return false;
}

/* Read the page, and trace that, while another thread serves it */
static void read_served(struct server *s)
{
	pthread_t thread;

	trace_faults(s->p, 1);
	if (pthread_create(&thread, NULL, serve_page, s))
		ksft_exit_fail_msg("pthread_create\n");
	raise_read(s->p);
	pthread_join(thread, NULL);
	trace_end();
}

/* The flag, if this kernel has it */
static unsigned int userfaultfd_flag(void)
{
	char *format = get(TRACING, "events/pagefault/pagefault_exit/format");
	bool known = format && strstr(format, "\"USERFAULTFD\"");

	free(format);
	return known ? USERFAULTFD : 0;
}

static void test_held(const char *name, int signo)
{
	char *p = new_page();
	struct server s = {
		.fd = wait_for_pages(p, page_size), .p = p, .first = signo ? send_signal : NULL,
	};
	struct expect_fault x = {
		"MINOR", USER, ANON | RETRIED_VMA, 0, 0, ANY, .min_ns = HOLD_MS * 1000000ULL,
	};
	struct rusage before, after;
	bool good;

	if (s.fd < 0) {
		ksft_test_result_skip("%s: this kernel has no userfaultfd\n", name);
		return;
	}
	faulter = pthread_self();
	getrusage(RUSAGE_THREAD, &before);
	read_served(&s);
	getrusage(RUSAGE_THREAD, &after);

	/* The signal ended the access, but the fault did not send it */
	good = trap_info.si_signo == signo;
	memset(&trap_info, 0, sizeof(trap_info));
	/* A retry under the mmap lock makes it major. getrusage() tells */
	if (signo) {
		x.outcome = "INTERRUPTED";
		x.flags_either = RETRIED_VMA | RETRIED_MMAP;
	} else if (after.ru_majflt > before.ru_majflt) {
		x.outcome = "MAJOR";
		x.flags = ANON | RETRIED_MMAP;
	}
	x.flags |= userfaultfd_flag();
	ksft_test_result(faults_match(&x, p) && good, "%s\n", name);
	close(s.fd);
}

/*
 * The events are off for a moment in the middle of a fault, which may end
 * unnoticed meanwhile. So it has no exit event.
 */
static bool off_and_on(void)
{
	trace_end();
	must(put(fault_instance, "events/pagefault/enable", "1"), "enable");
	return true;
}

/* Others that tracefs shows. It does not show perf and BPF programs */
static bool others_use_events(void)
{
	char *monitors = get(TRACING, "rv/enabled_monitors"), *on;
	bool used = monitors && strstr(monitors, "pagefault");
	glob_t files = { };

	glob(TRACING "/events/pagefault/enable", 0, NULL, &files);
	glob(TRACING "/instances/*/events/pagefault/enable", GLOB_APPEND, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		on = get("", files.gl_pathv[i]);
		/* "1" or "X": on, or used by a trigger */
		used |= !on || strcmp(on, "0\n");
		free(on);
	}
	globfree(&files);
	free(monitors);
	return used;
}

static void test_off_and_on(void)
{
	static const struct expect_fault x = { "MINOR", USER };
	const char *name = "no exit of a fault during which the events were off";
	char *p = new_page();
	struct server s = { .fd = wait_for_pages(p, page_size), .p = p, .first = off_and_on };
	int entries = 0, wrong = 0;
	struct pagefault r;
	FILE *f;

	if (s.fd < 0 || others_use_events()) {
		ksft_test_result_skip("%s: no userfaultfd, or others use the events\n", name);
		goto out;
	}
	read_served(&s);

	f = open_trace(fault_instance, -1);
	while (next_pagefault(f, &r))
		if (!strcmp(r.event, "entry") && fault_matches(&r, &x, p))
			entries++;
		else
			wrong++;
	fclose(f);
	ksft_print_msg("%d entries, %d others; an exit is right if perf or BPF use the events\n",
		       entries, wrong);
	ksft_test_result(entries == 1 && !wrong, "%s\n", name);
out:
	if (s.fd >= 0)
		close(s.fd);
}

/*
 * Without registers: get_user_pages() on the memory of a child
 */
static const struct remote {
	const char *name;
	char *(*set_up)(void);
	unsigned int kind;
	const char *outcomes;
} remotes[] = {
	{ "without registers, minor", new_page, ANON, " MINOR" },
	{ "without registers, major", file_on_disk, FILE_BACKED, " RETRY MAJOR" },
	{ "without registers, beyond the end of a file", beyond_file, FILE_BACKED, " FAILED" },
};

static bool remote_matches(const struct pagefault *r, const struct remote *m, char *p)
{
	/* Without memory cgroups, the owner of another mm is not known */
	const bool unknown = !r->tgid && !kernel_symbol("mm_update_next_owner");
	const bool retry = !strcmp(r->outcome, "RETRY");

	if (!strcmp(r->event, "noregs") && r->duration && r->address == (unsigned long)p &&
	    (unknown || r->tgid == holder) && r->fault_flags & FAULT_FLAG_REMOTE &&
	    r->flags == (m->kind | (retry ? RETRIED_MMAP : 0)) &&
	    retry == !!(r->vm_fault & VM_FAULT_RETRY))
		return true;
	ksft_print_msg("%s of %d, 0x%x, flags 0x%x, vm_fault 0x%x, %llu ns\n", r->event,
		       r->tgid, r->fault_flags, r->flags, r->vm_fault, r->duration);
	return false;
}

static void test_remote(const struct remote *m)
{
	char *p = m->set_up(), byte, found[64] = "";
	struct iovec local = { &byte, 1 }, remote = { p, 1 };
	struct rusage before;
	struct pagefault r;
	bool traced = event_id("pagefault/pagefault_noregs") >= 0, good;
	FILE *f;

	if (!p || !traced) {
		ksft_test_result_skip("%s: %s\n", m->name, traced ? why : "no pagefault_noregs");
		return;
	}
	hold();
	getrusage(RUSAGE_SELF, &before);
	trace_faults(p, 1);
	good = process_vm_readv(holder, &local, 1, &remote, 1, 0) ==
	       (strstr(m->outcomes, "FAILED") ? -1 : 1);
	trace_end();
	good &= counted(&before, m->outcomes);
	f = open_trace(fault_instance, -1);
	while (next_pagefault(f, &r)) {
		good &= remote_matches(&r, m, p);
		snprintf(found + strlen(found), sizeof(found) - strlen(found), " %s", r.outcome);
	}
	fclose(f);
	if (strcmp(found, m->outcomes))
		ksft_print_msg("outcomes%s, expected%s\n", found, m->outcomes);
	ksft_test_result(good && !strcmp(found, m->outcomes), "%s\n", m->name);
	end_holder();
}

/*
 * With the option userstacktrace, each probe of this instance walks the stack of the
 * program. Its frame pointer leads to a page that is not present, so each probe faults.
 */
static void write_from_frame(char *frame, char *p)
{
#ifdef __x86_64__
	asm volatile("push %%rbp; mov %0, %%rbp; movb $1, (%1); pop %%rbp"
		     : : "D" (frame), "S" (p) : "memory");
#elif defined(__i386__)
	asm volatile("push %%ebp; mov %0, %%ebp; movb $1, (%1); pop %%ebp"
		     : : "D" (frame), "S" (p) : "memory");
#elif defined(__aarch64__)
	asm volatile("mov x2, x29; mov x3, %1; mov x29, %0; strb wzr, [x3]; mov x29, x2"
		     : : "r" (frame), "r" (p) : "x2", "x3", "memory");
#elif defined(__riscv)
	asm volatile("mv t0, s0; mv t1, %1; mv s0, %0; sb zero, (t1); mv s0, t0"
		     : : "r" (frame), "r" (p) : "t0", "t1", "memory");
#endif
}

static void test_guard(void)
{
	const char *name = "faults of a probe are counted and not traced";
	/* On some architectures, the frame is below the address in the register */
	char *frame = new_page() + page_size / 2, *p = new_page();
	int outer = 0, nested = 0;
	unsigned long suppressed;
	struct pagefault r;
	FILE *f;

	if (put(fault_instance, "options/userstacktrace", "1")) {
		ksft_test_result_skip("%s: this kernel has no userstacktrace\n", name);
		return;
	}
	trace_faults(p, 1);
	must(put(fault_instance, "events/pagefault/filter", "common_pid == %d", getpid()),
	     "filter");
	suppressed = suppressed_pagefaults();
	write_from_frame(frame, p);
	suppressed = suppressed_pagefaults() - suppressed;
	trace_end();
	must(put(fault_instance, "options/userstacktrace", "0"), "userstacktrace");
	f = open_trace(fault_instance, -1);
	while (next_pagefault(f, &r)) {
		outer += r.address == (unsigned long)p;
		nested += r.address / page_size == (unsigned long)frame / page_size;
	}
	fclose(f);
	ksft_print_msg("%d events, %d nested, %lu suppressed\n", outer, nested, suppressed);
	ksft_test_result(outer == 2 && !nested && suppressed >= 2, "%s\n", name);
}

int main(void)
{
	start_pagefaults("outcome");
	ksft_set_plan(ARRAY_SIZE(accesses) + ARRAY_SIZE(remotes) + 5);
	for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
		test_access(&accesses[i]);
	test_swapped();
	test_held("held by userfaultfd", 0);
	test_held("a signal comes first", SIGUSR1);
	test_off_and_on();
	for (size_t i = 0; i < ARRAY_SIZE(remotes); i++)
		test_remote(&remotes[i]);
	test_guard();
	ksft_finished();
}
