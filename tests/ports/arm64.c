// SPDX-License-Identifier: GPL-2.0
/*
 * What arrives in do_mem_abort() of arm64 and is not a page fault fires no pagefault event: an
 * alignment fault, and a tag check fault in user mode and in a copy of the kernel. And the address
 * of a page fault has no tag. Linked with the files of the kselftest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "pagefault.h"

#ifndef SEGV_MTESERR
#define SEGV_MTESERR	9
#endif
#define PROT_MTE	0x20
/* Tagged addresses, synchronous tag checks, all tags */
#define MTE_SYNC_TAGS	(0x1UL | 0x2UL | 0xfffeUL << 3)
#define TAG(p, tag)	((void *)((unsigned long)(p) | (unsigned long)(tag) << 56))

static sigjmp_buf after_signal;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	trap_info = *info;
	siglongjmp(after_signal, 1);
}

static void read_exclusive(void *arg)
{
	unsigned int value;

	asm volatile("ldxr %w0, [%1]" : "=r" (value) : "r" (arg) : "memory");
}

/* Whether what @raise does to @p raises this signal, or none, and fires no event */
static bool no_event(void (*raise)(void *), void *p, int signo, int code)
{
	struct pagefault r;
	int events = 0;
	FILE *f;

	trace_faults((void *)((unsigned long)p << 8 >> 8), 64);
	if (!sigsetjmp(after_signal, 1))
		raise(p);
	trace_end();
	f = open_trace(fault_instance, -1);
	while (next_pagefault(f, &r))
		events++;
	fclose(f);
	if (events || trap_info.si_signo != signo || trap_info.si_code != code) {
		ksft_print_msg("%d events, signal %d, code %d\n", events, trap_info.si_signo,
			       trap_info.si_code);
		return false;
	}
	return true;
}

static int pipe_fds[2];
static bool refused;

static void kernel_copies(void *arg)
{
	refused = write(pipe_fds[1], arg, 8) < 0 && errno == EFAULT;
}

int main(void)
{
	const struct expect_fault minor = {
		.outcome = "MINOR", .access = WRITE | USER, .flags = ANON,
	};
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	bool mte = getauxval(AT_HWCAP2) & HWCAP2_MTE;
	char *p;

	start_pagefaults("arm64");
	ksft_set_plan(4);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);

	p = new_pages(page_size);
	*p = 1;
	/* With FEAT_LSE2, only what crosses 16 bytes faults */
	ksft_test_result(no_event(read_exclusive, p + 13, SIGBUS, BUS_ADRALN),
			 "an alignment fault is not a page fault\n");

	p = new_pages(page_size);
	trace_faults(p, 1);
	raise_write(TAG(p, 5));
	trace_end();
	ksft_test_result(faults_match(&minor, p), "the address of a page fault has no tag\n");

	if (mte && prctl(PR_SET_TAGGED_ADDR_CTRL, MTE_SYNC_TAGS, 0, 0, 0))
		ksft_exit_fail_msg("PR_SET_TAGGED_ADDR_CTRL: %s\n", strerror(errno));
	p = mmap(NULL, page_size, PROT_READ | PROT_WRITE | (mte ? PROT_MTE : 0),
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || pipe(pipe_fds))
		ksft_exit_fail_msg("mmap or pipe: %s\n", strerror(errno));
	*p = 1;
	if (!mte) {
		ksft_test_result_skip("a tag check fault is not a page fault: no MTE\n");
		ksft_test_result_skip("a tag check fault in a copy is not a page fault: no MTE\n");
	} else {
		ksft_test_result(no_event(raise_read, TAG(p, 3), SIGSEGV, SEGV_MTESERR),
				 "a tag check fault is not a page fault\n");
		ksft_test_result(no_event(kernel_copies, TAG(p, 3), 0, 0) && refused,
				 "a tag check fault in a copy is not a page fault\n");
	}
	ksft_finished();
}
