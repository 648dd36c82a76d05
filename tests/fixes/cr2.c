// SPDX-License-Identifier: GPL-2.0
/*
 * x86/traps: CR2 is lost in a kernel-mode #DB
 *
 * A watchpoint on the user registers at the top of this task's kernel stack hits
 * while a page fault's entry copies them there, before the handler reads CR2.
 * perf's user callchain then reads the frame that %rbp points to, faults, and
 * leaves that address in CR2.
 *
 * The program writes to a fresh page, with %rbp pointing to memory without access.
 * Base: SIGSEGV, with the address in %rbp. With the fix: no signal.
 *
 * Run it as root. Exit status: 0 as it should be, 1 wrong, 4 skipped.
 */
#include <asm/perf_regs.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE		4096
#define THREAD_SIZE	(4 * PAGE)

static sigjmp_buf out;
static void *fault;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	fault = info->si_addr;
	siglongjmp(out, 1);
}

static int open_event(struct perf_event_attr *attr, const char *what)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->sample_period = 1;
	fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
	if (fd < 0) {
		printf("# skipped, no %s: %m\n", what);
		exit(4);
	}
	return fd;
}

/* The end of the kernel stack, from the stack pointer at a context switch */
static unsigned long stack_end(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_type = PERF_SAMPLE_REGS_INTR,
		.sample_regs_intr = 1 << PERF_REG_X86_SP,
	};
	int fd = open_event(&attr, "context switch event");
	struct perf_event_mmap_page *page;
	struct { struct perf_event_header header; __u64 abi, sp; } *sample;

	page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	for (int i = 0; i < 100 && page != MAP_FAILED && !page->data_head; i++)
		usleep(10000);
	if (page == MAP_FAILED || !page->data_head) {
		printf("# skipped, no sample of a context switch\n");
		exit(4);
	}
	sample = (void *)page + PAGE;
	close(fd);
	return (sample->sp | (THREAD_SIZE - 1)) + 1;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_kernel = 1,
		.bp_type = HW_BREAKPOINT_W,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.disabled = 1,
	};
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	__u64 hits = 0;
	char *fresh, *none;
	int fd;

	/* SS, or the flags if the kernel has no FRED; RBP is copied before either */
	attr.bp_addr = stack_end() - 24;
	fd = open_event(&attr, "watchpoint on the kernel stack");
	sigaction(SIGSEGV, &action, NULL);
	/* Once for nothing: later, no page of the handler's may be missing */
	if (!sigsetjmp(out, 1))
		raise(SIGSEGV);
	fault = NULL;
	fresh = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ioctl(fd, PERF_EVENT_IOC_ENABLE);
	if (!sigsetjmp(out, 1)) {
		void *rbp = none;

		asm volatile("xchg %0, %%rbp; movb $1, (%1); xchg %0, %%rbp"
			     : "+r" (rbp) : "r" (fresh) : "memory");
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE);

	if (read(fd, &hits, sizeof(hits)) != sizeof(hits) || !hits) {
		printf("# skipped, the watchpoint did not hit\n");
		return 4;
	}
	printf("# %llu hits; write to %p with %%rbp %p: ", hits, fresh, none);
	if (!fault)
		printf("no signal\n");
	else
		printf("SIGSEGV, address %p\n", fault);
	return fault ? 1 : 0;
}
