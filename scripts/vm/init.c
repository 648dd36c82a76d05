// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the guest: make the host's root the guest's, run one job, say how
 * it ended, end QEMU.
 *
 * The host's root comes over 9p (tag "root"), read-only, under a tmpfs overlay.
 * With "host" on the kernel's command line, another folder does. Then the host's root (tag
 * "host") is at /host, and folders of /, /usr and /var that only it has are where they are there.
 *
 * The folder of the run comes over 9p too (tag "job"), writable: /job/run is the
 * program to run, /job/status gets its exit status, and what else it leaves in
 * /job stays on the host. A disk, if there is one, is at /disk. "interactive" on the
 * kernel's command line gives the job the console for a controlling terminal.
 *
 * The module /job/trap_test.ko is loaded before the job, if it is there.
 *
 * As /job/run itself, it runs the programs of /job/tests, a line each, and writes what they
 * print to /job/tap. So a guest that cannot run the host's shell runs tests, too.
 *
 * "init tsc", on the host, prints the frequency of the TSC in kHz. The CPU that QEMU emulates
 * has the same one, and a kernel without ACPI cannot measure it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define P9	"trans=virtio,version=9p2000.L,msize=512000"

/* A reset, at which QEMU's -no-reboot ends, with or without ACPI */
static void end(void)
{
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void die(const char *what)
{
	fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
	end();
}

static void mnt(const char *src, const char *dir, const char *type,
		unsigned long flags, const char *data)
{
	mkdir(dir, 0755);
	if (mount(src, dir, type, flags, data))
		die(dir);
}

static int has_word(const char *file, const char *word)
{
	static char buf[4096];
	size_t n;
	FILE *f;

	f = fopen(file, "r");
	if (!f)
		return 0;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = '\0';
	fclose(f);

	for (char *w = strtok(buf, "\n "); w; w = strtok(NULL, "\n "))
		if (!strcmp(w, word))
			return 1;
	return 0;
}

/* FOLDER of the overlay is the 9p mount LOWER, and what is written there is in UPPER */
static void mount_overlay(const char *lower, const char *upper, const char *dir)
{
	char data[3 * 4096 + 64], upper_data[4096], work[4096];

	snprintf(upper_data, sizeof(upper_data), "%s/data", upper);
	snprintf(work, sizeof(work), "%s/work", upper);
	mkdir(upper, 0755);
	mkdir(upper_data, 0755);
	mkdir(work, 0755);
	snprintf(data, sizeof(data), "lowerdir=%s,upperdir=%s,workdir=%s", lower, upper_data, work);
	mnt("overlay", dir, "overlay", 0, data);
}

static int is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n <= 2;
}

/* The folders below PARENT of the host that the guest's root has not, or has empty */
static void mount_host(const char *parent)
{
	char lower[512], upper[512], dir[512];
	struct dirent *entry;
	struct stat st;
	DIR *host;

	snprintf(lower, sizeof(lower), "/host/%s", parent);
	host = opendir(lower);
	while (host && (entry = readdir(host))) {
		snprintf(lower, sizeof(lower), "/host/%s/%s", parent, entry->d_name);
		snprintf(upper, sizeof(upper), "/upper/host-%s-%s", parent, entry->d_name);
		snprintf(dir, sizeof(dir), "/new/%s/%s", parent, entry->d_name);
		if (entry->d_name[0] != '.' && !lstat(lower, &st) && S_ISDIR(st.st_mode) &&
		    is_empty(dir))
			mount_overlay(lower, upper, dir);
	}
	closedir(host);
}

/* The overlays first, then the kernel's own file systems on top of them */
static void mount_all(int host)
{
	mnt("root", "/lower", "9p", MS_RDONLY, P9 ",cache=loose");
	mnt("tmpfs", "/upper", "tmpfs", 0, "size=50%");
	mount_overlay("/lower", "/upper/root", "/new");
	if (host) {
		mnt("host", "/host", "9p", MS_RDONLY, P9 ",cache=loose");
		mnt("/host", "/new/host", NULL, MS_BIND, NULL);
		mount_host("");
		mount_host("usr");
		mount_host("var");
	}

	mnt("proc", "/new/proc", "proc", 0, NULL);
	mnt("sysfs", "/new/sys", "sysfs", 0, NULL);
	mnt("devtmpfs", "/new/dev", "devtmpfs", 0, NULL);
	mnt("devpts", "/new/dev/pts", "devpts", 0, "ptmxmode=0666,gid=5,mode=620");
	mnt("tmpfs", "/new/dev/shm", "tmpfs", 0, "mode=1777");
	mnt("tmpfs", "/new/run", "tmpfs", 0, "mode=755");
	if (!access("/new/sys/fs/cgroup", F_OK))
		mnt("cgroup2", "/new/sys/fs/cgroup", "cgroup2", 0, NULL);
	mnt("tracefs", "/new/sys/kernel/tracing", "tracefs", 0, NULL);
	mnt("debugfs", "/new/sys/kernel/debug", "debugfs", 0, NULL);
	mnt("job", "/new/job", "9p", 0, P9 ",cache=none");
	if (!access("/new/dev/vda", F_OK))
		mnt("/new/dev/vda", "/new/disk", "ext4", 0, NULL);

	symlink("/proc/self/fd", "/new/dev/fd");
	symlink("/proc/self/fd/0", "/new/dev/stdin");
	symlink("/proc/self/fd/1", "/new/dev/stdout");
	symlink("/proc/self/fd/2", "/new/dev/stderr");
}

static void load_test_module(void)
{
	int fd = open("/job/trap_test.ko", O_RDONLY);

	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		perror("init: /job/trap_test.ko");
	close(fd);
}

static void start_job(int interactive)
{
	int tty;

	setsid();
	if (interactive) {
		/* /dev/console, our stdin so far, controls no session */
		tty = open("/dev/ttyS0", O_RDWR);
		if (tty < 0 || ioctl(tty, TIOCSCTTY, 1))
			perror("init: /dev/ttyS0");
		for (int fd = 0; tty >= 0 && fd < 3; fd++)
			dup2(tty, fd);
	}
	execl("/job/run", "/job/run", (char *)NULL);
	fprintf(stderr, "init: /job/run: %s\n", strerror(errno));
	_exit(127);
}

#ifdef __x86_64__
static void print_tsc_khz(void)
{
	struct timespec begin, end, pause = { .tv_nsec = 100000000 };
	unsigned long long tsc;
	double ns;

	clock_gettime(CLOCK_MONOTONIC_RAW, &begin);
	tsc = __builtin_ia32_rdtsc();
	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC_RAW, &end);
	tsc = __builtin_ia32_rdtsc() - tsc;
	ns = (end.tv_sec - begin.tv_sec) * 1e9 + end.tv_nsec - begin.tv_nsec;
	printf("%.0f\n", tsc / ns * 1e6);
}
#else
#define print_tsc_khz()
#endif

static void run_tests(void)
{
	FILE *tests = fopen("/job/tests", "r");
	char program[512];
	int tap, status;

	tap = open("/job/tap", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	if (!tests || tap < 0) {
		perror("/job/tests");
		exit(1);
	}
	setenv("QEMU_MONITOR", "/dev/ttyS1", 1);
	setenv("TMPDIR", "/disk", 1);
	while (fgets(program, sizeof(program), tests)) {
		program[strcspn(program, "\n")] = '\0';
		if (!fork()) {
			dup2(tap, 1);
			dup2(tap, 2);
			dprintf(tap, "selftests: trap: %s\n", strrchr(program, '/') + 1);
			execl(program, program, (char *)NULL);
			perror(program);
			_exit(1);
		}
		wait(&status);
		/* Passed, failed, skipped */
		if (!WIFEXITED(status) || (WEXITSTATUS(status) > 1 && WEXITSTATUS(status) != 4))
			dprintf(tap, "Bail out! %s: status 0x%x\n", program, status);
	}
	exit(0);
}

/* There is none without a network */
static void loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		return;
	if (ioctl(fd, SIOCSIFFLAGS, &lo) && errno != ENODEV)
		die("lo");
	close(fd);
}

int main(int argc, char **argv)
{
	int interactive, status = 0;
	pid_t job, pid;
	FILE *f;

	if (argc > 1 && !strcmp(argv[1], "tsc")) {
		print_tsc_khz();
		return 0;
	}
	if (getpid() != 1)
		run_tests();

	mkdir("/proc", 0755);
	mnt("proc", "/proc", "proc", 0, NULL);
	interactive = has_word("/proc/cmdline", "interactive");

	mount_all(has_word("/proc/cmdline", "host"));
	if (chdir("/new") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot("."))
		die("switch root");
	if (chdir("/"))
		die("/");
	sethostname("trap-guest", strlen("trap-guest"));
	loopback_up();
	load_test_module();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);

	job = fork();
	if (job < 0)
		die("fork");
	if (!job)
		start_job(interactive);

	/* Orphans are PID 1's to reap. */
	do {
		pid = wait(&status);
	} while (pid != job && (pid > 0 || errno == EINTR));

	f = fopen("/job/status", "w");
	if (!f || fprintf(f, "%d\n", WIFEXITED(status) ? WEXITSTATUS(status) :
			  128 + WTERMSIG(status)) < 0 || fclose(f))
		die("/job/status");
	end();
}
