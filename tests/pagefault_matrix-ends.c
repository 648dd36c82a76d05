// SPDX-License-Identifier: GPL-2.0
/* pagefault_matrix: the workloads by how their faults end, and who else takes faults */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>

#include "pagefault_matrix.h"

/* 32-bit programs may have this one only */
#ifdef SYS_futex_time64
#define FUTEX			SYS_futex_time64
#else
#define FUTEX			SYS_futex
#endif

/* For filters: si_code and enum pagefault_flags */
#define SEGV_MAPERR_SENT	SIGNAL "11 && si_code == 1"
#define SEGV_ACCERR_SENT	SIGNAL "11 && si_code == 2"
#define SEGV_PKUERR_SENT	SIGNAL "11 && si_code == 4"
#define SIGBUS_SENT		SIGNAL "7 && si_code == 2"
#define HUGE_TLB		"flags & 0x8"
#define IN_KERNEL		"user_mode == 0"

static size_t huge;
static char *own;			/* memory that no count is of */
static int told[2], other_fd;

static const char *set_up_own(void)
{
	set_up_written();
	own = mem;
	set_up_new();
	want(pipe(told), "pipe");
	return NULL;
}

/*
 * Userfaultfd
 */
static int uffd;
static pthread_t faulter;

static const char *register_uffd(__u64 mode, __u64 feature)
{
	struct uffdio_api api = { .api = UFFD_API, .features = feature };
	struct uffdio_register reg = { { (unsigned long)mem, mem_size }, mode };

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		return "this kernel has no userfaultfd";
	if (ioctl(uffd, UFFDIO_API, &api))
		return "this kernel cannot write-protect by userfaultfd";
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
	return msg.arg.pagefault.address & ~(page_size - 1);
}

static void copy_page(unsigned long address)
{
	static char zeros[1 << 12];
	struct uffdio_copy copy = {
		.dst = address, .src = (unsigned long)zeros, .len = page_size,
	};

	want(ioctl(uffd, UFFDIO_COPY, &copy), "UFFDIO_COPY");
}

static void protect(unsigned long address, size_t size, __u64 mode)
{
	struct uffdio_writeprotect wp = { { address, size }, mode };

	want(ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), "UFFDIO_WRITEPROTECT");
}

static const char *set_up_missing(void)
{
	set_up_own();
	return register_uffd(UFFDIO_REGISTER_MODE_MISSING, 0);
}

static const char *set_up_wp(void)
{
	const char *why;

	set_up_written();
	why = register_uffd(UFFDIO_REGISTER_MODE_WP, UFFD_FEATURE_PAGEFAULT_FLAG_WP);
	if (!why)
		protect((unsigned long)mem, mem_size, UFFDIO_WRITEPROTECT_MODE_WP);
	return why;
}

static bool do_nothing(int signo, ucontext_t *uc)
{
	return true;
}

static const char *set_up_interrupted(void)
{
	call_first(do_nothing);
	faulter = pthread_self();
	return set_up_missing();
}

static void *copy_pages(void *arg)
{
	for (size_t i = 0; i < n; i++)
		copy_page(next_fault());
	return arg;
}

static void *unprotect_pages(void *arg)
{
	for (size_t i = 0; i < n; i++)
		protect(next_fault(), page_size, 0);
	return arg;
}

/* A signal ends the first fault at each page, the second waits again */
static void *interrupt_faults(void *arg)
{
	for (size_t i = 0; i < n; i++) {
		next_fault();
		pthread_kill(faulter, SIGUSR1);
		copy_page(next_fault());
	}
	return arg;
}

static void run_served(void)
{
	pthread_t thread;

	start_thread(&thread, workload->thread, NULL);
	write_all();
	pthread_join(thread, NULL);
}

/* Half in user mode, by the VMA lock; half in kernel mode, by the mmap lock */
static void run_missing(void)
{
	pthread_t thread;

	start_thread(&thread, copy_pages, NULL);
	write_pages(mem, n / 2);
	for (size_t i = n / 2; i < n; i++) {
		want(write(told[1], "", 1), "write");
		want(read(told[0], mem + i * page_size, 1), "read");
	}
	pthread_join(thread, NULL);
}

static void *tell(void *arg)
{
	next_fault();
	want(write(told[1], "", 1), "write");
	pause();
	return arg;
}

/* A child is killed while its fault waits */
static void run_killed(void)
{
	pthread_t thread;
	pid_t child;
	char byte;

	for (size_t i = 0; i < n; i++) {
		child = must_fork();
		if (!child) {
			register_uffd(UFFDIO_REGISTER_MODE_MISSING, 0);
			start_thread(&thread, tell, NULL);
			raise_write(mem);
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
static char *page_of_signal(void)
{
	return (char *)((unsigned long)trap_info.si_addr & ~(page_size - 1));
}

static bool allow(int signo, ucontext_t *uc)
{
	want(mprotect(page_of_signal(), page_size, PROT_READ | PROT_WRITE), "mprotect");
	return true;
}

static const char *set_up_mprotect(void)
{
	call_first(allow);
	mem = reserve(n, PROT_NONE, MAP_PRIVATE);
	return NULL;
}

/*
 * Pages whose key denies access: first the kernel tries, then the program. get_user() of
 * FIONBIO faults once in each kernel.
 */
static bool change_key(int signo, ucontext_t *uc)
{
	want(pkey_mprotect(page_of_signal(), page_size, PROT_READ | PROT_WRITE, 0),
	     "pkey_mprotect");
	return true;
}

static const char *set_up_pkey(void)
{
	int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);

	if (key < 0)
		return "this machine has no protection keys";
	want(pipe(told), "pipe");
	set_up_written();
	want(pkey_mprotect(mem, mem_size, PROT_READ | PROT_WRITE, key), "pkey_mprotect");
	call_first(change_key);
	bad_fixups = n;
	return NULL;
}

static void run_pkey(void)
{
	for (size_t i = 0; i < n; i++)
		if (ioctl(told[1], FIONBIO, mem + i * page_size) != -1 || errno != EFAULT)
			give_up("ioctl() on a page with a key did not fail");
	write_all();
}

/* Nothing mapped, an address of the kernel, a file that ends before */
static const char *set_up_signals(void)
{
	int fd = want(memfd_create("pagefault_matrix", 0), "memfd_create");

	mem = must_map(MAP_SHARED, fd, mem_size);
	expect(EXIT_EVENT, n, n, SIGBUS_SENT AND IN_SHMEM);
	own = mem;
	/* A 32-bit program on a 64-bit kernel cannot get there */
	if (kernel_text <= ULONG_MAX) {
		mem = (char *)(unsigned long)kernel_text;
		mem_size = 1;
		expect(EXIT_EVENT, n, n, SEGV_MAPERR_SENT);
		mem_size = n * page_size;
	}
	mem = reserve(n, PROT_NONE, MAP_PRIVATE);
	munmap(mem, mem_size);
	return NULL;
}

static void run_signals(void)
{
	for (size_t i = 0; i < n; i++) {
		raise_write(mem + i * page_size);
		raise_write(own + i * page_size);
		if (kernel_text <= ULONG_MAX)
			raise_write((char *)(unsigned long)kernel_text);
	}
}

/*
 * Huge pages
 */
static const char *set_up_thp(void)
{
	const char *dir = "/sys/kernel/mm/transparent_hugepage";
	char *enabled = get(dir, "enabled"), *size = get(dir, "hpage_pmd_size");
	char *zero = get(dir, "use_zero_page");
	size_t first, small;

	if (!enabled || !size || strstr(enabled, "[never]"))
		return "this kernel has no transparent huge pages, or they are off";
	huge = atoi(size);
	mem = reserve((n + 1) * huge / page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	mem = (char *)(((unsigned long)mem + huge - 1) & ~(huge - 1));
	mem_size = n * huge;
	want(madvise(mem, mem_size, MADV_HUGEPAGE), "madvise");

	/* One for a huge zero page, if there is one, and one for the write */
	first = zero && *zero == '1' ? 2 * n : n;
	/* At most one more for each small page, if there are no huge pages */
	small = mem_size / page_size;
	expect(EXIT_EVENT, first, n + small, MINOR AND ANONYMOUS);
	if (first > n)
		expect(EXIT_EVENT, n, small, COPIED);
	return NULL;
}

static void run_thp(void)
{
	for (size_t i = 0; i < n; i++)
		raise_read(mem + i * huge);
	write_all();
}

/* A child splits each page to copy it in parts, huge or not */
static const char *set_up_thp_fork(void)
{
	const char *why = set_up_thp();

	if (why)
		return why;
	run_thp();
	expectations = 0;
	expect(EXIT_EVENT, mem_size / page_size, mem_size / page_size,
	       MINOR AND ANONYMOUS AND COPIED);
	return NULL;
}

static void run_thp_fork(void)
{
	write_in_children(1);
}

static const char *set_up_hugetlb(void)
{
	char *info = get("/proc", "meminfo");
	char *at = info ? strstr(info, "Hugepagesize:") : NULL;

	if (no_hugetlb || !at)
		return no_hugetlb ?: "no size of huge pages in /proc/meminfo";
	step = strtoul(at + strlen("Hugepagesize:"), NULL, 10) * 1024;
	mem_size = n * step;
	mem = must_map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, mem_size);
	free(info);
	return NULL;
}

/* Written by the parent, copied by a child, and written by the parent again */
static void run_hugetlb(void)
{
	write_all();
	write_in_children(1);
	write_all();
}

/*
 * The stack grows down to mem
 */
static const char *set_up_stack(void)
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
	mem = (char *)strtoul(at, NULL, 16) - mem_size;
	free(maps);
	return NULL;
}

static void run_stack(void)
{
	char *here = __builtin_frame_address(0), *room;

	room = alloca(here - mem);
	for (size_t i = n; i > 0; i--)
		raise_write(mem + (i - 1) * page_size);
	raise_read(room);
}

/*
 * Faults of get_user_pages() and in the kernel
 */
static void read_memory_of(pid_t process)
{
	struct iovec local = { own, mem_size }, remote = { mem, mem_size };

	if (process_vm_readv(process, &local, 1, &remote, 1, 0) != (ssize_t)mem_size)
		give_up("process_vm_readv: %s", strerror(errno));
}

/* Faults in a child's memory that count for the parent: reads, then copies */
static void run_remote(void)
{
	struct iovec local = { own, mem_size }, remote = { mem, mem_size };
	pid_t child = must_fork();
	char byte;

	if (!child) {
		close(told[1]);
		_exit(read(told[0], &byte, 1));
	}
	read_memory_of(child);
	if (process_vm_writev(child, &local, 1, &remote, 1, 0) != (ssize_t)mem_size)
		give_up("process_vm_writev: %s", strerror(errno));
	close(told[1]);
	end_child(child, 0);
}

/* The faults that the workload knows are those of get_user_pages() */
static const char *by_get_user_pages(const char *why)
{
	char *memory = mem;

	if (why)
		return why;
	for (int i = 0; i < expectations; i++) {
		expected[i].event = NOREGS_EVENT;
		/* Each call of handle_mm_fault() is one */
		expected[i].most = ULONG_MAX;
	}
	set_up_own();
	mem = memory;
	return NULL;
}

static const char *set_up_gup_file(void)
{
	const char *why = by_get_user_pages(set_up_file_major());

	/* The first gives up the lock to read the page, the second has it */
	expect(NOREGS_EVENT, expected[0].least, ULONG_MAX, RETRY AND RETRIED);
	return why;
}

static const char *set_up_gup_swap(void)
{
	return by_get_user_pages(set_up_swap());
}

static void run_gup(void)
{
	read_memory_of(getpid());
}

/* O_DIRECT: get_user_pages() finds the memory to read into */
static const char *set_up_direct(void)
{
	set_up_own();
	other_fd = new_file(n);
	if (other_fd < 0)
		return NO_DISK;
	if (fcntl(other_fd, F_SETFL, O_DIRECT) || pread(other_fd, own, page_size, 0) != page_size)
		return "the file system of TMPDIR has no O_DIRECT";
	lseek(other_fd, 0, SEEK_SET);
	expect(NOREGS_EVENT, n, n, MINOR AND ANONYMOUS);
	/* Some file systems write to the memory before */
	expect(EXIT_EVENT, n, n, MINOR AND ANONYMOUS AND IN_KERNEL);
	expected[1].more = true;
	return NULL;
}

static void run_direct(void)
{
	size_t done = 0;

	while (done < mem_size)
		done += want(read(other_fd, mem + done, mem_size - done), "read");
}

static void run_mlock(void)
{
	want(mlock(mem, mem_size), "mlock");
	write_all();
}

/* From a file that is mapped, through a pipe, to new memory, and to a file */
static const char *set_up_copy(void)
{
	const char *why = map_file(MAP_PRIVATE);

	if (why)
		return why;
	expect(EXIT_EVENT, 1 + n / 512, ULONG_MAX, COUNTED AND IN_FILE AND IN_KERNEL);
	own = mem;
	set_up_new();
	other_fd = new_file(0);
	want(pipe(told), "pipe");
	return NULL;
}

static void run_copy(void)
{
	for (size_t i = 0; i < n; i++)
		if (write(told[1], own + i * page_size, page_size) != page_size ||
		    read(told[0], mem + i * page_size, page_size) != page_size)
			give_up("pipe: %s", strerror(errno));
	madvise(own, mem_size, MADV_DONTNEED);
	if (write(other_fd, own, mem_size) != (ssize_t)mem_size)
		give_up("write to TMPDIR: %s", strerror(errno));
}

/*
 * The code of futexes disables page faults, and then reads the page, or has
 * get_user_pages() write it
 */
static void run_futex(void)
{
	unsigned int at = 0;

	for (size_t i = 0; i < n / 2; i++)
		if (syscall(FUTEX, mem + i * page_size, FUTEX_WAIT_PRIVATE, 1, NULL) != -1 ||
		    errno != EAGAIN)
			give_up("FUTEX_WAIT: %s", strerror(errno));
	for (size_t i = n / 2; i < n; i++)
		want(syscall(FUTEX, &at, FUTEX_WAKE_OP_PRIVATE, 1, 0, mem + i * page_size,
			     FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)), "FUTEX_WAKE_OP");
}

const struct workload end_workloads[] = {
	{ "userfaultfd, missing", set_up_missing, run_missing, 200,
	  { { EXIT_EVENT, EACH, EACH, COUNTED AND RETRIED AND ANONYMOUS },
	    { EXIT_EVENT, HALF, HALF, COUNTED AND IN_USER },
	    { EXIT_EVENT, HALF, HALF, MAJOR AND IN_KERNEL } }, THREADS },
	{ "userfaultfd, write-protected", set_up_wp, run_served, 200,
	  { { EXIT_EVENT, EACH, EACH, COUNTED AND RETRIED AND ANONYMOUS } },
	  THREADS, unprotect_pages },
	{ "userfaultfd, interrupted", set_up_interrupted, run_served, 200,
	  { { EXIT_EVENT, EACH, EACH, INTERRUPTED }, { EXIT_EVENT, EACH, EACH, COUNTED } },
	  THREADS, interrupt_faults },
	{ "userfaultfd, killed", set_up_missing, run_killed, 5,
	  { { EXIT_EVENT, EACH, EACH, INTERRUPTED }, { EXIT_EVENT, EACH, EACH } }, THREADS },
	{ "mprotect in a signal handler", set_up_mprotect, write_all, 200,
	  { { EXIT_EVENT, EACH, EACH, SEGV_ACCERR_SENT AND IN_USER },
	    { EXIT_EVENT, EACH, EACH, MINOR AND ANONYMOUS } } },
	{ "protection keys", set_up_pkey, run_pkey, 200,
	  { { EXIT_EVENT, EACH, EACH, SEGV_PKUERR_SENT AND IN_USER },
	    { EXIT_EVENT, EACH, EACH, FIXUP AND IN_KERNEL },
	    { EXIT_EVENT, 2 * EACH, 2 * EACH } } },
	{ "signals", set_up_signals, run_signals, 200,
	  { { EXIT_EVENT, EACH, EACH, SEGV_MAPERR_SENT } } },
	{ "transparent huge pages", set_up_thp, run_thp, 8 },
	{ "transparent huge pages, copy-on-write", set_up_thp_fork, run_thp_fork, 2,
	  .kind = PROCESSES },
	{ "hugetlb, copy-on-write", set_up_hugetlb, run_hugetlb, HUGETLB_PAGES,
	  { { EXIT_EVENT, 3 * EACH, 3 * EACH, COUNTED AND HUGE_TLB },
	    { EXIT_EVENT, EACH, EACH, COPIED } }, PROCESSES },
	{ "stack", set_up_stack, run_stack, 2000,
	  { { EXIT_EVENT, EACH, EACH, MINOR AND ANONYMOUS AND IN_USER } } },
	{ "process_vm_readv, process_vm_writev", set_up_own, run_remote, 500,
	  { { NOREGS_EVENT, 2 * EACH, 2 * EACH, MINOR AND ANONYMOUS AND "fault_flags & 0x80" },
	    { NOREGS_EVENT, EACH, EACH, COPIED }, { EXIT_EVENT } }, PROCESSES },
	{ "process_vm_readv, not in the cache", set_up_gup_file, run_gup, 64 },
	{ "process_vm_readv, swap", set_up_gup_swap, run_gup, 500 },
	{ "O_DIRECT", set_up_direct, run_direct, 500 },
	{ "mlock", set_up_new, run_mlock, 500,
	  { { NOREGS_EVENT, EACH, EACH, MINOR AND ANONYMOUS } } },
	{ "read and write in the kernel", set_up_copy, run_copy, 200,
	  { { EXIT_EVENT, EACH, EACH, MINOR AND ANONYMOUS AND IN_KERNEL } } },
	{ "futex, page faults disabled", set_up_new, run_futex, 200,
	  { { EXIT_EVENT, EACH, EACH, FIXUP AND IN_KERNEL },
	    { EXIT_EVENT, HALF, HALF, MINOR AND ANONYMOUS },
	    { NOREGS_EVENT, HALF, HALF, MINOR AND ANONYMOUS } } },
};

const size_t nr_end_workloads = ARRAY_SIZE(end_workloads);
