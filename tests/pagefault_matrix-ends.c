// SPDX-License-Identifier: GPL-2.0
/*
 * pagefault_matrix: workloads whose faults wait or end in a signal, and those
 * in huge pages, on the stack and in the kernel
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>

#include "pagefault_matrix.h"

/*
 * Userfaultfd
 */
static int uffd;
static pthread_t faulter;
static int told[2];

static const char *set_up_uffd(__u64 mode, __u64 feature, size_t pages)
{
	struct uffdio_api api = { .api = UFFD_API, .features = feature };
	struct uffdio_register reg = { .mode = mode };

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		return "this kernel has no userfaultfd";
	if (ioctl(uffd, UFFDIO_API, &api))
		return "this kernel cannot write-protect by userfaultfd";
	reg.range.start = (unsigned long)mem;
	reg.range.len = pages * page;
	want(ioctl(uffd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER");
	return NULL;
}

/* next_fault - Wait for the next fault, and say in which page */
static unsigned long next_fault(void)
{
	struct uffd_msg msg;

	if (read(uffd, &msg, sizeof(msg)) != sizeof(msg) ||
	    msg.event != UFFD_EVENT_PAGEFAULT)
		give_up("userfaultfd: no fault");
	return msg.arg.pagefault.address & ~(page - 1);
}

static void copy_page(unsigned long address)
{
	static char zeros[1 << 12];
	struct uffdio_copy copy = {
		.dst = address, .src = (unsigned long)zeros, .len = page,
	};

	want(ioctl(uffd, UFFDIO_COPY, &copy), "UFFDIO_COPY");
}

static void protect(unsigned long address, size_t pages, __u64 mode)
{
	struct uffdio_writeprotect wp = {
		.range = { address, pages * page }, .mode = mode,
	};

	want(ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), "UFFDIO_WRITEPROTECT");
}

/* Half in user mode, by the VMA lock; half in kernel mode, by the mmap lock */
const char *set_up_missing(void)
{
	mem = fresh(n);
	expect(EXIT_EVENT, n, n, COUNTED AND RETRIED AND ANONYMOUS, mem, n * page);
	expect(EXIT_EVENT, n / 2, n / 2, COUNTED AND IN_USER, mem, n * page);
	expect(EXIT_EVENT, n / 2, n / 2, MAJOR AND IN_KERNEL, mem, n * page);
	want(pipe(told), "pipe");
	return set_up_uffd(UFFDIO_REGISTER_MODE_MISSING, 0, n);
}

static void *copy_pages(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		copy_page(next_fault());
	return NULL;
}

void run_missing(void)
{
	pthread_t thread;

	start_thread(&thread, copy_pages, NULL);
	write_pages(mem, n / 2);
	for (size_t i = n / 2; i < n; i++) {
		want(write(told[1], "", 1), "write");
		want(read(told[0], mem + i * page, 1), "read");
	}
	pthread_join(thread, NULL);
}

const char *set_up_wp(void)
{
	const char *why;

	mem = fresh(n);
	write_pages(mem, n);
	why = set_up_uffd(UFFDIO_REGISTER_MODE_WP, UFFD_FEATURE_PAGEFAULT_FLAG_WP, n);
	if (why)
		return why;
	protect((unsigned long)mem, n, UFFDIO_WRITEPROTECT_MODE_WP);
	expect(EXIT_EVENT, n, n, COUNTED AND RETRIED AND ANONYMOUS, mem, n * page);
	return NULL;
}

static void *unprotect_pages(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		protect(next_fault(), 1, 0);
	return NULL;
}

void run_wp(void)
{
	pthread_t thread;

	start_thread(&thread, unprotect_pages, NULL);
	write_pages(mem, n);
	pthread_join(thread, NULL);
}

/* A signal ends the first fault at each page, the second waits again */
static void ignore(int signal)
{
	(void)signal;
}

const char *set_up_interrupted(void)
{
	mem = fresh(n);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = ignore }, NULL);
	faulter = pthread_self();
	expect(EXIT_EVENT, n, n, INTERRUPTED, mem, n * page);
	expect(EXIT_EVENT, n, n, COUNTED, mem, n * page);
	return set_up_uffd(UFFDIO_REGISTER_MODE_MISSING, 0, n);
}

static void *interrupt_faults(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < n; i++) {
		next_fault();
		pthread_kill(faulter, SIGUSR1);
		copy_page(next_fault());
	}
	return NULL;
}

void run_interrupted(void)
{
	pthread_t thread;

	start_thread(&thread, interrupt_faults, NULL);
	write_pages(mem, n);
	pthread_join(thread, NULL);
}

/* A child is killed while its fault waits */
const char *set_up_killed(void)
{
	const char *why;

	mem = fresh(1);
	why = set_up_uffd(UFFDIO_REGISTER_MODE_MISSING, 0, 1);
	want(pipe(told), "pipe");
	expect(EXIT_EVENT, n, n, INTERRUPTED, mem, page);
	expect(EXIT_EVENT, n, n, NULL, mem, page);
	return why;
}

static void *tell(void *arg)
{
	next_fault();
	want(write(told[1], "", 1), "write");
	pause();
	return arg;
}

void run_killed(void)
{
	pthread_t thread;
	pid_t child;
	char byte;

	for (size_t i = 0; i < n; i++) {
		child = must_fork();
		if (!child) {
			set_up_uffd(UFFDIO_REGISTER_MODE_MISSING, 0, 1);
			start_thread(&thread, tell, NULL);
			write_pages(mem, 1);
			_exit(1);
		}
		want(read(told[0], &byte, 1), "read");
		kill(child, SIGKILL);
		end_child(child, SIGKILL);
	}
}

/*
 * Signals
 */
static void (*repair)(char *address);
static sigjmp_buf behind;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (!repair)
		siglongjmp(behind, 1);
	repair((char *)((unsigned long)info->si_addr & ~(page - 1)));
}

static void handle_faults(void (*fn)(char *address))
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	repair = fn;
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
}

static void allow(char *address)
{
	want(mprotect(address, page, PROT_READ | PROT_WRITE), "mprotect");
}

const char *set_up_mprotect(void)
{
	mem = reserve(n, PROT_NONE, MAP_PRIVATE);
	handle_faults(allow);
	expect(EXIT_EVENT, n, n, SEGV_ACCERR_SENT AND IN_USER, mem, n * page);
	expect(EXIT_EVENT, n, n, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

/* Pages whose key denies access: first the kernel tries, then the program */
static void change_key(char *address)
{
	want(pkey_mprotect(address, page, PROT_READ | PROT_WRITE, 0), "pkey_mprotect");
}

const char *set_up_pkey(void)
{
	int key;

	mem = fresh(n);
	write_pages(mem, n);
	key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	if (key < 0)
		return "this machine has no protection keys";
	want(pkey_mprotect(mem, n * page, PROT_READ | PROT_WRITE, key), "pkey_mprotect");
	handle_faults(change_key);
	bad_fixups = n;
	want(pipe(told), "pipe");
	expect(EXIT_EVENT, n, n, SEGV_PKUERR_SENT AND IN_USER, mem, n * page);
	expect(EXIT_EVENT, n, n, FIXUP AND IN_KERNEL, mem, n * page);
	expect(EXIT_EVENT, 2 * n, 2 * n, NULL, mem, n * page);
	return NULL;
}

void run_pkey(void)
{
	for (size_t i = 0; i < n; i++)
		if (write(told[1], mem + i * page, 1) != -1 || errno != EFAULT)
			give_up("write() from a page with a key did not fail");
	write_pages(mem, n);
}

/* Nothing mapped, an address of the kernel, a file that ends before */
static char *unmapped, *behind_end;

const char *set_up_signals(void)
{
	int fd = want(memfd_create("pagefault_count", 0), "memfd_create");

	behind_end = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (behind_end == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	unmapped = reserve(n, PROT_NONE, MAP_PRIVATE);
	munmap(unmapped, n * page);
	handle_faults(NULL);
	expect(EXIT_EVENT, n, n, SEGV_MAPERR_SENT, unmapped, n * page);
	expect(EXIT_EVENT, n, n, SIGBUS_SENT AND IN_SHMEM, behind_end, n * page);
	/* A 32-bit program on a 64-bit kernel cannot get there */
	if (kernel_text <= ULONG_MAX)
		expect(EXIT_EVENT, n, n, SEGV_MAPERR_SENT,
		       (char *)(unsigned long)kernel_text, 1);
	return NULL;
}

static void write_in_vain(char *p)
{
	if (!sigsetjmp(behind, 1))
		write_to(p);
}

void run_signals(void)
{
	for (size_t i = 0; i < n; i++) {
		write_in_vain(unmapped + i * page);
		write_in_vain(behind_end + i * page);
		if (kernel_text <= ULONG_MAX)
			write_in_vain((char *)(unsigned long)kernel_text);
	}
}

/*
 * Huge pages
 */
static size_t huge;

const char *set_up_thp(void)
{
	const char *dir = "/sys/kernel/mm/transparent_hugepage";
	char *enabled, *size, *zero;
	unsigned long first;

	enabled = get(dir, "enabled");
	size = get(dir, "hpage_pmd_size");
	zero = get(dir, "use_zero_page");
	if (!enabled || !size || strstr(enabled, "[never]"))
		return "this kernel has no transparent huge pages, or they are off";
	huge = atoi(size);
	mem = reserve((n + 1) * huge / page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	mem = (char *)(((unsigned long)mem + huge - 1) & ~(huge - 1));
	want(madvise(mem, n * huge, MADV_HUGEPAGE), "madvise");

	/* One for a huge zero page, if there is one, and one for the write */
	first = zero && *zero == '1' ? 2 * n : n;
	/* At most one more for each small page, if there are no huge pages */
	expect(EXIT_EVENT, first, n + n * (huge / page), MINOR AND ANONYMOUS, mem, n * huge);
	if (first > n)
		expect(EXIT_EVENT, n, n * (huge / page), COPIED, mem, n * huge);
	free(enabled);
	free(size);
	free(zero);
	return NULL;
}

void run_thp(void)
{
	for (size_t i = 0; i < n; i++)
		read_from(mem + i * huge);
	write_pages(mem, n * (huge / page));
}

/* A child splits each page to copy it in parts, huge or not */
const char *set_up_thp_fork(void)
{
	const char *why = set_up_thp();

	if (why)
		return why;
	run_thp();
	expectations = 0;
	expect(EXIT_EVENT, n * (huge / page), n * (huge / page), MINOR AND ANONYMOUS AND COPIED,
	       mem, n * huge);
	return NULL;
}

void run_thp_fork(void)
{
	pid_t child = must_fork();

	if (!child) {
		write_pages(mem, n * (huge / page));
		_exit(0);
	}
	end_child(child, 0);
}

static size_t hugetlb_size(void)
{
	char *info = get("/proc", "meminfo"), *at;
	size_t kib = 0;

	at = info ? strstr(info, "Hugepagesize:") : NULL;
	if (at)
		kib = strtoul(at + strlen("Hugepagesize:"), NULL, 10);
	free(info);
	return kib * 1024;
}

/* Written by the parent, copied by a child, and written by the parent again */
const char *set_up_hugetlb(void)
{
	if (*no_hugetlb)
		return no_hugetlb;
	huge = hugetlb_size();
	mem = mmap(NULL, n * huge, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (mem == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	expect(EXIT_EVENT, 3 * n, 3 * n, COUNTED AND HUGE_TLB, mem, n * huge);
	expect(EXIT_EVENT, n, n, COPIED, mem, n * huge);
	return NULL;
}

static void write_hugetlb(void)
{
	for (size_t i = 0; i < n; i++)
		write_to(mem + i * huge);
}

void run_hugetlb(void)
{
	pid_t child;

	write_hugetlb();
	child = must_fork();
	if (!child) {
		write_hugetlb();
		_exit(0);
	}
	end_child(child, 0);
	write_hugetlb();
}

/*
 * The stack grows down to mem
 */
const char *set_up_stack(void)
{
	struct rlimit limit = { 64 << 20, RLIM_INFINITY };
	char *maps, *at;

	want(setrlimit(RLIMIT_STACK, &limit), "RLIMIT_STACK");
	maps = get("/proc/self", "maps");
	at = maps ? strstr(maps, "[stack]") : NULL;
	while (at && at > maps && at[-1] != '\n')
		at--;
	if (!at)
		give_up("no stack in maps");
	mem = (char *)strtoul(at, NULL, 16) - n * page;
	free(maps);
	expect(EXIT_EVENT, n, n, MINOR AND ANONYMOUS AND IN_USER, mem, n * page);
	return NULL;
}

void run_stack(void)
{
	char *here = __builtin_frame_address(0), *room;

	room = alloca(here - mem);
	for (char *p = mem + (n - 1) * page; p >= mem; p -= page)
		write_to(p);
	read_from(room);
}

/*
 * Faults of get_user_pages() and in the kernel
 */
static char *own;

/* Faults in a child's memory that count for the parent: reads, then copies */
const char *set_up_remote(void)
{
	mem = fresh(n);
	own = fresh(n);
	write_pages(own, n);
	want(pipe(told), "pipe");
	expect(NOREGS_EVENT, 2 * n, 2 * n, MINOR AND ANONYMOUS AND "fault_flags & 0x80", mem,
	       n * page);
	expect(NOREGS_EVENT, n, n, COPIED, mem, n * page);
	expect(EXIT_EVENT, 0, 0, NULL, mem, n * page);
	return NULL;
}

void run_remote(void)
{
	struct iovec local = { own, n * page }, remote = { mem, n * page };
	ssize_t size = n * page;
	pid_t child;
	char byte;

	child = must_fork();
	if (!child) {
		close(told[1]);
		if (read(told[0], &byte, 1))
			_exit(1);
		_exit(0);
	}
	if (process_vm_readv(child, &local, 1, &remote, 1, 0) != size ||
	    process_vm_writev(child, &local, 1, &remote, 1, 0) != size)
		give_up("process_vm_readv/writev: %s", strerror(errno));
	close(told[1]);
	end_child(child, 0);
}

/* The faults that the workload knows are those of get_user_pages() */
static const char *by_get_user_pages(const char *why)
{
	if (why)
		return why;
	for (struct expected *x = expected; x < expected + expectations; x++) {
		x->event = NOREGS_EVENT;
		/* Each call of handle_mm_fault() is one */
		x->most = ULONG_MAX;
	}
	own = fresh(n);
	write_pages(own, n);
	return NULL;
}

const char *set_up_gup_file(void)
{
	const char *why = by_get_user_pages(set_up_file_major());

	/* The first gives up the lock to read the page, the second has it */
	expect(NOREGS_EVENT, expected[0].least, ULONG_MAX, RETRY AND RETRIED, mem,
	       n * page);
	return why;
}

const char *set_up_gup_swap(void)
{
	return by_get_user_pages(set_up_swap());
}

void run_gup(void)
{
	struct iovec local = { own, n * page }, remote = { mem, n * page };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)(n * page))
		give_up("process_vm_readv: %s", strerror(errno));
}

const char *set_up_mlock(void)
{
	mem = fresh(n);
	expect(NOREGS_EVENT, n, n, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

void run_mlock(void)
{
	want(mlock(mem, n * page), "mlock");
	write_pages(mem, n);
}

/* From a file that is mapped, through a pipe, to new memory, and to a file */
static int copy_fd;

const char *set_up_copy(void)
{
	const char *why = map_file(PROT_READ, MAP_PRIVATE);

	own = mem;
	mem = fresh(n);
	copy_fd = why ? -1 : new_file(0);
	want(pipe(told), "pipe");
	expect(EXIT_EVENT, n, n, MINOR AND ANONYMOUS AND IN_KERNEL, mem, n * page);
	expect(EXIT_EVENT, 1 + n / 512, ULONG_MAX, COUNTED AND IN_FILE AND IN_KERNEL, own,
	       n * page);
	return why;
}

void run_copy(void)
{
	for (size_t i = 0; i < n; i++) {
		if (write(told[1], own + i * page, page) != (ssize_t)page ||
		    read(told[0], mem + i * page, page) != (ssize_t)page)
			give_up("pipe: %s", strerror(errno));
	}
	madvise(own, n * page, MADV_DONTNEED);
	if (write(copy_fd, own, n * page) != (ssize_t)(n * page))
		give_up("write to TMPDIR: %s", strerror(errno));
}

/*
 * The code of futexes disables page faults, and then reads the page, or has
 * get_user_pages() write it
 */
const char *set_up_futex(void)
{
	mem = fresh(n);
	expect(EXIT_EVENT, n, n, FIXUP AND IN_KERNEL, mem, n * page);
	expect(EXIT_EVENT, n / 2, n / 2, MINOR AND ANONYMOUS, mem, n * page);
	expect(NOREGS_EVENT, n / 2, n / 2, MINOR AND ANONYMOUS, mem, n * page);
	return NULL;
}

void run_futex(void)
{
	unsigned int at = 0;

	for (size_t i = 0; i < n / 2; i++) {
		if (syscall(FUTEX, mem + i * page, FUTEX_WAIT_PRIVATE, 1, NULL) != -1 ||
		    errno != EAGAIN)
			give_up("FUTEX_WAIT: %s", strerror(errno));
	}
	for (size_t i = n / 2; i < n; i++)
		want(syscall(FUTEX, &at, FUTEX_WAKE_OP_PRIVATE, 1, 0, mem + i * page,
			     FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)), "FUTEX_WAKE_OP");
}
