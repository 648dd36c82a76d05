// SPDX-License-Identifier: GPL-2.0
/*
 * workload STEP N...: raise N traps or page faults of each kind, for tests/trapstat-common.sh.
 * The steps, each with a number after it:
 *
 * anon	first writes to anonymous memory
 * cow		writes to such pages that a parent shares, by a child
 * file		first writes to a private mapping of the file that WORKLOAD_FILE names
 * shmem	first writes to a memfd
 * noregs	first writes to anonymous memory, by /proc/self/mem
 * populate	the same by mmap()
 * kernel	first writes to anonymous memory, by read()
 * uring	the same by a worker of io_uring
 * vmread	reads of new memory of a child, by process_vm_readv()
 * efault	reads into memory that is not mapped, by read()
 * grown	first writes below a mapping that grows down
 * moved	first writes, and as many more once mremap() has made the mapping larger
 * threads	first writes, by two threads with N each
 * overflow	SIGSEGV of the guard page of a stack, each in a thread of its own
 * brief	that many threads, one after the other, each with a first write and a trap
 * segv		SIGSEGV of a read where nothing is mapped
 * nested	the same, each in the handler of the one before
 * protected	SIGSEGV of a write to the program
 * crash	SIGSEGV of a read where nothing is mapped, which ends a child
 * readonly	the same of a write to a mapping of WORKLOAD_FILE that may be read, at 0x123
 * deep		the same of a read where nothing is mapped, by three calls with frame pointers
 * library	the same of a read by strlen()
 * bus		SIGBUS of a read beyond the end of a memfd
 * single	single steps
 * divide	SIGFPE of a division by zero; "simd" and "x87" are the same for those units
 * ud		SIGILL of ud2
 * bp		SIGTRAP of int3
 * hlt		SIGSEGV of hlt, by #GP
 * of		SIGSEGV of int $4
 * np		SIGBUS of a segment that is not present; "ss": of the stack. "ldt 1" comes first
 * umip		sidt to new memory, which the kernel emulates
 * senders	the signals of such traps, by who else may send them: in all ways, N each
 * exec		first writes, by a thread that becomes this program anew
 * processes	that many, one after the other, each with a first write
 * refault	reads of a mapping of WORKLOAD_FILE, and then, once its pages are reclaimed, again
 * held		first reads, each held by a userfaultfd for 20 ms
 * huge		first writes to anonymous memory with huge pages of 2 MB
 * locked	first writes, while a thread holds mmap_lock to fork
 * name	0	take a name with control characters; "evil" one that would end a script in HTML
 * tagged	first writes by addresses with a tag, on arm64
 * sleep	milliseconds
 *
 * workload without_perf COMMAND...: run that where a filter forbids perf_event_open()
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	sysconf(_SC_PAGESIZE)

static sigjmp_buf out;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static char *map(long n, int flags, int fd)
{
	char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, n * PAGE, MADV_NOHUGEPAGE);
	return p;
}

static char *map_anon(long n)
{
	return map(n, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void read_from(char *p)
{
	asm volatile("" : "+r" (p));	/* it may be an address that is none */
	(void)__atomic_load_n(p, __ATOMIC_RELAXED);
}

static void write_each(char *p, long n)
{
	long page = PAGE;

	for (long i = 0; i < n; i++)
		__atomic_store_n(p + i * page, 1, __ATOMIC_RELAXED);
}

static void step_anon(long n)
{
	write_each(map_anon(n), n);
}

static void step_cow(long n)
{
	char *p = map_anon(n);
	int status;

	write_each(p, n);
	if (!fork()) {
		write_each(p, n);
		_exit(0);
	}
	wait(&status);
}

static int write_file(long n)
{
	int fd = open(getenv("WORKLOAD_FILE"), O_RDWR | O_CREAT, 0600);
	static char page[65536];

	if (fd < 0)
		die("WORKLOAD_FILE");
	for (long i = 0; i < n; i++)
		if (write(fd, page, PAGE) != PAGE)
			die("write");
	return fd;
}

static void step_file(long n)
{
	write_each(map(n + 1, MAP_PRIVATE, write_file(n + 1)) + PAGE, n);
}

/* Page by page, without the others around it, from the disk */
static void step_refault(long n)
{
	int fd = write_file(n);
	char *p;

	p = map(n, MAP_SHARED, fd);
	madvise(p, n * PAGE, MADV_RANDOM);
	for (int round = 0; round < 2; round++) {
		/* PAGEOUT leaves pages in the LRU batch of another CPU; DONTNEED drains it */
		if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ||
		    madvise(p, n * PAGE, MADV_PAGEOUT))
			die("MADV_PAGEOUT");
		for (long i = 0; i < n; i++)
			read_from(p + i * PAGE);
	}
}

static void step_shmem(long n)
{
	int fd = memfd_create("workload", 0);

	if (ftruncate(fd, n * PAGE))
		die("memfd");
	write_each(map(n, MAP_SHARED, fd), n);
}

static void step_noregs(long n)
{
	int fd = open("/proc/self/mem", O_RDWR);
	char *p = map_anon(n);

	for (long i = 0; i < n; i++)
		if (pwrite(fd, "x", 1, (unsigned long)p + i * PAGE) != 1)
			die("/proc/self/mem");
}

static void step_populate(long n)
{
	map(n, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
}

static void step_kernel(long n)
{
	int fd = open("/dev/zero", O_RDONLY);
	char *p = map_anon(n);

	for (long i = 0; i < n; i++)
		if (read(fd, p + i * PAGE, 1) != 1)
			die("/dev/zero");
}

static void step_vmread(long n)
{
	struct iovec local = { map_anon(n), n * PAGE }, remote = { map_anon(n), n * PAGE };
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	if (process_vm_readv(child, &local, 1, &remote, 1, 0) != n * PAGE)
		die("process_vm_readv");
	kill(child, SIGKILL);
	wait(NULL);
}

static void step_efault(long n)
{
	int fd = open("/dev/zero", O_RDONLY);

	for (; n; n--)
		if (syscall(SYS_read, fd, 8L, 1L) != -1)
			die("/dev/zero");
}

static void step_grown(long n)
{
	char *p = map_anon(n + 1000) + 999 * PAGE;

	munmap(p - 999 * PAGE, (n + 1000) * PAGE);
	p = mmap(p + n * PAGE, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
	if (p == MAP_FAILED)
		die("MAP_GROWSDOWN");
	for (long i = 1; i <= n; i++)
		write_each(p - i * PAGE, 1);
}

static void step_moved(long n)
{
	char *p = map_anon(n);

	write_each(p, n);
	p = mremap(p, n * PAGE, 2 * n * PAGE, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		die("mremap");
	write_each(p, 2 * n);
}

static void step_uring(long n)
{
	struct io_uring_params params = {};
	long ring = syscall(SYS_io_uring_setup, 1, &params);
	struct io_uring_sqe *sqe = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
					IORING_OFF_SQES);
	char *sq = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);

	if (ring < 0 || sqe == MAP_FAILED || (void *)sq == MAP_FAILED)
		die("io_uring");
	*sqe = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .flags = IOSQE_ASYNC, .fd = open("/dev/zero", O_RDONLY),
		.addr = (unsigned long)map_anon(n), .len = n * PAGE,
	};
	__atomic_store_n((int *)(sq + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter");
}

static void *thread_anon(void *n)
{
	step_anon((long)n);
	return NULL;
}

static void step_threads(long n)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, thread_anon, (void *)n);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

static void on_signal(int number)
{
	siglongjmp(out, number);
}

static void read_nothing(void)
{
	read_from((char *)8);
}

#ifdef __x86_64__
#include <asm/ldt.h>
#define DEFINE_TRAP(name, code)					\
	static void name(void)					\
	{							\
		asm volatile(code : : "a" (7));			\
	}
DEFINE_TRAP(ud, "ud2")
DEFINE_TRAP(bp, "int3")
DEFINE_TRAP(hlt, "hlt")
DEFINE_TRAP(of, "int $4")
DEFINE_TRAP(np, "mov %0, %%fs")		/* the first segment of the LDT */
DEFINE_TRAP(ss, "mov %0, %%ss")

static void divide(void)
{
	asm volatile("xor %%edx, %%edx; mov $1, %%eax; xor %%ecx, %%ecx; div %%ecx"
		     ::: "eax", "ecx", "edx");
}

/* A signal handler begins with the registers of a new program */
static void divide_simd(void)
{
	const unsigned int unmasked = 0x1d80;
	const float one = 1, zero = 0;

	asm volatile("ldmxcsr %0; movss %1, %%xmm0; divss %2, %%xmm0"
		     : : "m" (unmasked), "m" (one), "m" (zero) : "xmm0");
}

static void divide_x87(void)
{
	const unsigned short unmasked = 0x37b;
	const float zero = 0;

	asm volatile("fldcw %0; fld1; fdivs %1; fwait" : : "m" (unmasked), "m" (zero));
}

static void step_ldt(long n)
{
	struct user_desc absent = { .seg_not_present = 1, .limit = n };

	if (syscall(SYS_modify_ldt, 1, &absent, sizeof(absent)))
		die("modify_ldt");
}

static void step_umip(long n)
{
	char *p = map_anon(n);

	for (long i = 0; i < n; i++)
		asm volatile("sidt (%0)" : : "r" (p + i * PAGE) : "memory");
}
#else
static void ud(void)
{
	asm volatile("udf #0");
}

/* The kernel ignores the highest byte of an address of user space */
static void step_tagged(long n)
{
	write_each((char *)((unsigned long)map_anon(n) | 0x5aUL << 56), n);
}
#endif

static void *exec_anon(void *n)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", (long)n);
	execl("/proc/self/exe", "workload", "anon", text, NULL);
	return NULL;
}

static void step_exec(long n)
{
	pthread_t thread;
	int status;

	if (!fork()) {
		pthread_create(&thread, NULL, exec_anon, (void *)n);
		pause();
	}
	wait(&status);
}

static void step_processes(long n)
{
	char *p = map_anon(1);
	int status;

	for (long i = 0; i < n; i++) {
		if (!fork()) {
			write_each(p, 1);
			_exit(0);
		}
		wait(&status);
	}
}

static void raise_each(long n, int number, void (*trap)(void))
{
	static long i;	/* siglongjmp() leaves it alone */

	signal(number, on_signal);
	for (i = 0; i < n; i++)
		if (!sigsetjmp(out, 1))
			trap();
}

/* Each thread ends in the handler of its signal, without a return from it */
static void *thread_brief(void *page)
{
	write_each(page, 1);
	ud();
	return NULL;
}

static void end_thread(int number)
{
	syscall(SYS_exit, 0);
}

static void step_brief(long n)
{
	char *p = map_anon(1);
	pthread_t thread;

	signal(SIGILL, end_thread);
	for (long i = 0; i < n; i++) {
		if (pthread_create(&thread, NULL, thread_brief, p))
			die("pthread_create");
		pthread_join(thread, NULL);
		madvise(p, PAGE, MADV_DONTNEED);
	}
}

static int fill_stack(int n)
{
	int below = n < 0 ? 0 : fill_stack(n + 1);
	char frame[1000] = { below };

	/* Else, the compiler makes it a loop */
	asm volatile("" : "+m" (frame));
	return frame[0];
}

static void *thread_overflow(void *unused)
{
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	sigaltstack(&stack, NULL);
	if (!sigsetjmp(out, 1))
		fill_stack(0);
	return unused;
}

static void step_overflow(long n)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	pthread_attr_t small;
	pthread_t thread;

	sigaction(SIGSEGV, &action, NULL);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (; n; n--) {
		if (pthread_create(&thread, &small, thread_overflow, NULL))
			die("pthread_create");
		pthread_join(thread, NULL);
	}
}

static void write_there(void)
{
	__atomic_store_n((char *)write_there, 1, __ATOMIC_RELAXED);
}

static void step_protected(long n)
{
	raise_each(n, SIGSEGV, write_there);
}

/* Nobody handles the signal */
static __attribute_noinline__ void crash_each(long n, void (*__volatile__ crash)(void))
{
	struct rlimit none = {};

	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSEGV, SIG_DFL);
	for (; n; n--) {
		if (!fork()) {
			crash();
			_exit(0);
		}
		wait(NULL);
	}
}

static void step_crash(long n)
{
	crash_each(n, read_nothing);
}

/* The function has a frame, and its last call is no jump */
#define FRAME()	({ asm volatile("" : : "r" (__builtin_frame_address(0))); })

static void (*last)(void);

static __attribute_noinline__ void deepest(void)
{
	FRAME();
	if (last)
		last();
	read_from((char *)8);
}

static __attribute_noinline__ void deeper(void)
{
	deepest();
	FRAME();
}

static __attribute_noinline__ void deep(void)
{
	deeper();
	FRAME();
}

static void step_deep(long n)
{
	crash_each(n, deep);
}

static void measure_nothing(void)
{
	size_t (*__volatile__ measure)(const char *) = strlen;

	measure((char *)8);
}

static void step_library(long n)
{
	last = measure_nothing;
	crash_each(n, deep);
}

static char *readonly;

static void write_readonly(void)
{
	__atomic_store_n(readonly + 0x123, 1, __ATOMIC_RELAXED);
}

static void step_readonly(long n)
{
	readonly = map(1, MAP_SHARED, write_file(1));
	if (mprotect(readonly, PAGE, PROT_READ))
		die("mprotect");
	crash_each(n, write_readonly);
}

static long left;

static void on_nested(int number)
{
	if (left-- > 1)
		read_nothing();
	siglongjmp(out, 1);
}

/* On a stack with room for their frames */
static void step_nested(long n)
{
	struct sigaction action = { .sa_handler = on_nested, .sa_flags = SA_NODEFER };

	left = n;
	sigaction(SIGSEGV, &action, NULL);
	if (!sigsetjmp(out, 1))
		read_nothing();
}

static void step_bus(long n)
{
	char *p = map(1, MAP_SHARED, memfd_create("workload", 0));
	static long i;

	signal(SIGBUS, on_signal);
	for (i = 0; i < n; i++)
		if (!sigsetjmp(out, 1))
			read_from(p);
}

#ifdef __x86_64__
static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *of = context;

	if (!--left)
		of->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

/* POPF sets TF, below the red zone */
static void step_single(long n)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	left = n;
	sigaction(SIGTRAP, &action, NULL);
	asm volatile("lea -128(%%rsp), %%rsp; pushf; orl $0x100, (%%rsp); popf\n"
		     "1: cmpq $0, %0; jne 1b; lea 128(%%rsp), %%rsp"
		     : : "m" (left) : "memory", "cc");
}
#endif

static void do_nothing(int number)
{
	(void)number;
}

/* The same codes as those of traps: a process may forge them for itself, and POLL_IN is 1 */
static void step_senders(long n)
{
	static const int codes[][2] = {
		{ SIGFPE, FPE_INTDIV }, { SIGILL, ILL_ILLOPN }, { SIGTRAP, TRAP_TRACE },
		{ SIGBUS, BUS_ADRALN }, { SIGSEGV, SI_KERNEL }, { SIGSEGV, SEGV_MAPERR },
	};
	int fd[2];

	if (pipe(fd) || fcntl(fd[0], F_SETFL, O_ASYNC) || fcntl(fd[0], F_SETOWN, getpid()) ||
	    fcntl(fd[0], F_SETSIG, SIGFPE))
		die("pipe");
	for (unsigned int i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		siginfo_t info = { .si_signo = codes[i][0], .si_code = codes[i][1] };

		signal(codes[i][0], do_nothing);
		for (long j = 0; j < n; j++) {
			kill(getpid(), codes[i][0]);
			raise(codes[i][0]);
			sigqueue(getpid(), codes[i][0], (union sigval){ 0 });
			if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), codes[i][0], &info))
				die("rt_tgsigqueueinfo");
		}
	}
	for (long j = 0; j < n; j++)
		if (write(fd[1], "x", 1) != 1)
			die("write");
}

static void *hold(void *fd)
{
	struct uffdio_zeropage zero = {};
	struct uffd_msg msg;

	while (read((long)fd, &msg, sizeof(msg)) == sizeof(msg)) {
		usleep(20000);
		zero.range.start = msg.arg.pagefault.address & -PAGE;
		zero.range.len = PAGE;
		ioctl((long)fd, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

/* Pages whose faults wait for the reader of the file that it returns */
static long map_held(char **p, long n)
{
	long fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	*p = map_anon(n);
	range.range.start = (unsigned long)*p;
	range.range.len = n * PAGE;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		die("userfaultfd");
	return fd;
}

static void step_held(long n)
{
	pthread_t thread;
	char *p;

	pthread_create(&thread, NULL, hold, (void *)map_held(&p, n));
	for (long i = 0; i < n; i++)
		read_from(p + i * PAGE);
}

static void step_huge(long n)
{
	unsigned long size = 2 << 20;
	char *p = map_anon((n + 1) * size / PAGE);

	p = (char *)(((unsigned long)p + size - 1) & -size);
	if (madvise(p, n * size, MADV_HUGEPAGE))
		die("MADV_HUGEPAGE");
	for (long i = 0; i < n; i++)
		__atomic_store_n(p + i * size, 1, __ATOMIC_RELAXED);
}

static int is_over;

/* The lock is held as long as the tables of much memory are copied */
static void *keep_forking(void *unused)
{
	pid_t pid;

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return unused;
}

static void step_locked(long n)
{
	char *p = map_anon(n);
	pthread_t thread;

	step_populate(50000);
	pthread_create(&thread, NULL, keep_forking, NULL);
	for (long i = 0; i < n; i++) {
		usleep(1000);
		write_each(p + i * PAGE, 1);
	}
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static void *read_page(void *p)
{
	read_from(p);
	return NULL;
}

/* So many threads end in a fault at the same time */
static void step_stuck(long n)
{
	struct uffd_msg msg;
	pthread_t thread;
	char *p;
	long fd = map_held(&p, n);

	for (long i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, read_page, p + i * PAGE) ||
		    read(fd, &msg, sizeof(msg)) != sizeof(msg))
			die("stuck");
	exit(0);
}

static void step_name(long n)
{
	prctl(PR_SET_NAME, "a\033[31mb");
}

static void step_evil(long n)
{
	prctl(PR_SET_NAME, "</script>\"'&");
}

static void step_sleep(long n)
{
	usleep(n * 1000);
}

static int run_without_perf(char **command)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
	execvp(command[0], command);
	die(command[0]);
	return 1;
}

/* The page faults of this process and of its children, into the file that WORKLOAD_USAGE names */
static void note_usage(void)
{
	char *path = getenv("WORKLOAD_USAGE");
	struct rusage self, children;
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	getrusage(RUSAGE_CHILDREN, &children);
	getrusage(RUSAGE_SELF, &self);
	fprintf(f, "%ld\n", self.ru_minflt + self.ru_majflt + children.ru_minflt +
		children.ru_majflt);
	fclose(f);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*step)(long n);
		int signo;		/* then so many times, with this signal: */
		void (*trap)(void);
	} steps[] = {
		{ "anon", step_anon }, { "cow", step_cow }, { "file", step_file },
		{ "shmem", step_shmem }, { "noregs", step_noregs }, { "kernel", step_kernel },
		{ "uring", step_uring }, { "brief", step_brief }, { "populate", step_populate },
		{ "nested", step_nested }, { "bus", step_bus }, { "threads", step_threads },
		{ "segv", NULL, SIGSEGV, read_nothing }, { "ud", NULL, SIGILL, ud },
#ifdef __x86_64__
		{ "single", step_single }, { "umip", step_umip }, { "ldt", step_ldt },
		{ "divide", NULL, SIGFPE, divide }, { "simd", NULL, SIGFPE, divide_simd },
		{ "x87", NULL, SIGFPE, divide_x87 }, { "bp", NULL, SIGTRAP, bp },
		{ "hlt", NULL, SIGSEGV, hlt }, { "of", NULL, SIGSEGV, of },
		{ "np", NULL, SIGBUS, np }, { "ss", NULL, SIGBUS, ss },
#else
		{ "tagged", step_tagged },
#endif
		{ "senders", step_senders }, { "exec", step_exec }, { "protected", step_protected },
		{ "crash", step_crash }, { "readonly", step_readonly }, { "deep", step_deep },
		{ "library", step_library }, { "processes", step_processes }, { "held", step_held },
		{ "refault", step_refault }, { "vmread", step_vmread }, { "efault", step_efault },
		{ "grown", step_grown }, { "moved", step_moved }, { "overflow", step_overflow },
		{ "huge", step_huge }, { "locked", step_locked }, { "stuck", step_stuck },
		{ "name", step_name }, { "evil", step_evil }, { "sleep", step_sleep },
	};
	unsigned int i;

	if (argc > 2 && !strcmp(argv[1], "without_perf"))
		return run_without_perf(argv + 2);
	for (int arg = 1; arg + 1 < argc; arg += 2) {
		for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
			if (!strcmp(argv[arg], steps[i].name))
				break;
		if (i == sizeof(steps) / sizeof(*steps)) {
			fprintf(stderr, "there is no step %s\n", argv[arg]);
			return 1;
		}
		if (steps[i].step)
			steps[i].step(atol(argv[arg + 1]));
		else
			raise_each(atol(argv[arg + 1]), steps[i].signo, steps[i].trap);
	}
	note_usage();
	return 0;
}
