// SPDX-License-Identifier: GPL-2.0
/* Tests what trapstat computes without BPF; linked with the sources that it does not include */
#define _GNU_SOURCE
#include <signal.h>
#include <bpf/btf.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "../../trapstat/buckets.h"
#include "../../trapstat/counts.c"
#include "../../trapstat/maps.c"
#include "../../trapstat/print.h"
#include "../../trapstat/rows.h"
#include "../../trapstat/symbols.c"
#include "../../trapstat/table.h"

int main(void);

static int failed;

#define check(condition, format, ...) do {				\
	if (!(condition)) {						\
		printf("line %d: " format "\n", __LINE__, ##__VA_ARGS__);	\
		failed = 1;						\
	}								\
} while (0)

static int by_size(const void *a, const void *b)
{
	const unsigned long long *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Up to an eighth more or less */
static int is_near(unsigned long long n, unsigned long long want)
{
	return n <= want + want / 8 + 1 && n + want / 8 + 1 >= want;
}

static void test_buckets(void)
{
	unsigned int last = 0, bucket;

	for (unsigned long long ns = 0; ns < 1ULL << 38; ns += 1 + ns / 97) {
		bucket = bucket_of(ns);
		check(bucket >= last && bucket - last <= 1, "%llu ns: bucket %u after %u", ns,
		      bucket, last);
		check(bucket == BUCKETS - 1 || is_near(middle_of(bucket), ns),
		      "%llu ns: middle %llu", ns, middle_of(bucket));
		last = bucket;
	}
	check(bucket_of(1ULL << 37) == BUCKETS - 1, "2^37 is not in the last bucket");
}

static void test_percentiles(void)
{
	static const double shares[] = { 0.001, 0.1, 0.5, 0.9, 0.99, 0.999 };
	static unsigned long long ns[20000];
	struct fault_sum sum, all = {}, none = {}, two = { .max = 195 };
	const int n = sizeof(ns) / sizeof(*ns);

	srandom(46);
	for (int i = 0; i < n; i++) {
		ns[i] = 1 + random() % (1ULL << (5 + random() % 26));
		memset(&sum, 0, sizeof(sum));
		sum.count = 1;
		sum.ns = ns[i];
		sum.max = ns[i];
		sum.bucket[bucket_of(ns[i])] = 1;
		sum_add(&all, &sum);
	}
	qsort(ns, n, sizeof(*ns), by_size);
	for (unsigned int i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		unsigned long long found = sum_percentile(&all, shares[i]);
		int rank = n * shares[i];	/* that many did not exceed it */

		check(is_near(found, ns[rank - 1]), "%g: %llu", shares[i], found);
	}
	check(all.count == n && all.max == ns[n - 1], "count %llu, max %llu", all.count, all.max);
	check(sum_percentile(&none, 0.5) == 0, "of nothing");
	two.bucket[bucket_of(147)] = 1;
	two.bucket[bucket_of(195)] = 1;
	check(is_near(sum_percentile(&two, 0.5), 147) && is_near(sum_percentile(&two, 0.51), 195) &&
	      is_near(sum_percentile(&two, 0.99), 195), "of two");
}

static void is_at(struct maps *maps, unsigned long long address, const char *name,
		  unsigned long long offset, bool want_code)
{
	struct place place = {};
	bool is_code = false, is_found = find(maps, address, &place, &is_code, NULL);

	check(is_found == !!name && is_code == want_code, "%#llx: found %d, code %d", address,
	      is_found, is_code);
	if (is_found && name)
		check(!strcmp(place.name, name) && place.offset == offset, "%#llx: %s+%#llx",
		      address, place.name, place.offset);
}

static void test_maps(void)
{
	struct maps maps = { .text =
		"00400000-00401000 r--p 00000000 fe:01 42                   /bin/a b\n"
		"00401000-00402000 r-xp 00003000 fe:01 42                   /bin/a b\n"
		"00600000-00700000 rw-p 00000000 00:00 0                    [heap]\n"
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n"
		"7f0000002000-7f0000003000 r--p 00001000 fe:01 43           /lib/c (deleted)\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0    [vsyscall]\n" };

	is_at(&maps, 0x3fffff, NULL, 0, false);
	is_at(&maps, 0x400000, "a b", 0, false);
	is_at(&maps, 0x401010, "a b", 0x3010, true);
	is_at(&maps, 0x401fff, "a b", 0x3fff, true);
	is_at(&maps, 0x402000, NULL, 0, false);
	is_at(&maps, 0x600008, "[heap]", 8, false);
	is_at(&maps, 0x7f0000000fff, "[anon]", 0xfff, false);
	is_at(&maps, 0x7f0000001000, NULL, 0, false);
	is_at(&maps, 0x7f0000002004, "c (deleted)", 0x1004, false);
	is_at(&maps, 0xffffffffff600000, "[vsyscall]", 0, true);
}

static void *wait_as_another(void *tid)
{
	prctl(PR_SET_NAME, "another");
	__atomic_store_n((unsigned int *)tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	return pause() ? tid : NULL;
}

/* A caller is code, if the process has a say in it */
static void test_callers(void)
{
	struct event own = { .pid = getpid(), .tid = getpid() }, other, gone, thread;
	unsigned long long code = (unsigned long long)test_callers;
	struct place place = {};
	pthread_t id;

	read_comm(own.pid, own.pid, own.comm);
	other = own;
	gone = own;
	copy(other.comm, COMM_SIZE, "another");
	gone.pid = 1 << 30;
	check(locate(&own, code, &place) && place.file.ino, "the code of this");
	for (int i = 0; i < 2; i++) {
		memset(&place, 0, sizeof(place));
		check(!locate(&own, 42, &place), "no mapping");
		check(!locate(&own, 1ULL << 63, &place), "not of user mode");
		check(locate(&other, 42, &place), "another process");
		check(locate(&gone, 42, &place), "a process that is gone");
		check(!locate(&own, (unsigned long long)&place, &place), "a stack");
	}
	place = (struct place){};
	thread = other;
	thread.tid = 0;
	pthread_create(&id, NULL, wait_as_another, &thread.tid);
	while (!__atomic_load_n(&thread.tid, __ATOMIC_ACQUIRE))
		;
	/* Those of before exec() are not of it */
	copy(all_maps[own.pid % 64].comm, COMM_SIZE, "sh");
	all_maps[own.pid % 64].when = 0;
	copy(all_maps[own.pid % 64].text, 64, "0-ffffffffffff r-xp 0 0:0 0 [stale]\n");
	check(locate(&thread, code, &place) && place.file.ino, "a thread with another name");
	maps_free();
}

/* The kind of memory that no BPF program found */
static void is_kind(void *p, unsigned short want)
{
	struct event event = { .row = ROW_PF, .mode = MODE_KERNEL, .pid = getpid(),
			       .address = (unsigned long)p, .flags = FLAG_KIND_UNKNOWN | FLAG_COW };

	read_comm(event.pid, event.pid, event.comm);
	locate_event(&event);
	check(event.flags == (want | FLAG_COW), "%p: %#x, not %#x", p, event.flags, want);
}

static void test_kinds(void)
{
	int fd = memfd_create("unit", 0), huge = memfd_create("unit", 4 /* MFD_HUGETLB */);
	void *p = mmap(NULL, 1 << 21, PROT_READ, MAP_SHARED | MAP_NORESERVE, huge, 0);
	struct stat st;

	check(!ftruncate(fd, 4096) && !stat("/proc/self/exe", &st), "no file");
	maps_free();
	is_kind(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), FLAG_SHMEM);
	if (p != MAP_FAILED)	/* a kernel without huge pages */
		is_kind(p, FLAG_HUGETLB);
	is_kind(&fd, FLAG_ANON);
	if (major(st.st_dev))	/* no overlay */
		is_kind(test_kinds, FLAG_FILE);
	is_kind((void *)getauxval(AT_SYSINFO_EHDR), 0);
	is_kind(NULL, FLAG_KIND_UNKNOWN);
	close(fd);
}

static void is_text(const char *text, const char *want)
{
	check(!strcmp(text, want), "%s, not %s", text, want);
}

static void test_texts(void)
{
	struct place place = { .name = "a\033b", .offset = 0x10 };

	is_text(text_ns(9994).text, "9.99us");
	is_text(text_ns(9996).text, "10.0us");
	is_text(text_ns(999499).text, "999us");
	is_text(text_ns(999500).text, "1.00ms");
	is_text(text_ns(137000000000).text, "137s");
	is_text(text_flags(OUTCOME_MINOR, FLAG_ANON | FLAG_COW | FLAG_NUMA_HINT).text,
		"anon,cow,numa");
	is_text(text_flags(OUTCOME_MINOR, FLAG_RETRIED).text, "special");
	is_text(text_plain("a\nb\177\300c", 6).text, "a?b??c");
	is_text(text_plain("abc", 2).text, "ab");
	is_text(text_place(&place).text, "a?b+0x10");
	place.name[0] = '\0';
	is_text(text_place(&place).text, "-");
	is_text(row_name(ROW_PF).text, "#PF");
	is_text(row_name(25).text, "vector 25");
}

/* What a user may put in the place of a program: to open a FIFO would wait for a writer */
static void test_files(void)
{
	char folder[] = "/tmp/trapstat-unit.XXXXXX", file[64], fifo[64], link[64];
	struct stat st, of_fifo;
	int fd;

	check(mkdtemp(folder), "no folder");
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	fd = creat(file, 0600);
	check(!fstat(fd, &st) && !mkfifo(fifo, 0600) && !stat(fifo, &of_fifo) &&
	      !symlink(fifo, link), "no files");
	close(fd);
	alarm(10);
	check(open_file(fifo, of_fifo.st_ino) < 0, "a FIFO is opened");
	check(open_file(link, of_fifo.st_ino) < 0, "a FIFO is opened by a link");
	check(open_file("/dev/null", 0) < 0, "a device is opened");
	check(open_file(file, st.st_ino + 1) < 0, "another file is opened");
	fd = open_file(file, st.st_ino);
	check(fd >= 0, "the file is not opened");
	close(fd);
	unlink(file);
	unlink(fifo);
	unlink(link);
	rmdir(folder);
}

/* Files of two file systems may have the same inode number and size */
static void test_devices(void)
{
	int fd = memfd_create("unit", 0), found;
	struct file_path want = { .size = 3 };
	struct file_key key;
	struct stat st;
	char path[32];

	check(write(fd, "abc", 3) == 3 && !fstat(fd, &st), "no file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int other = 0; other < 2; other++) {
		key.ino = st.st_ino;
		key.dev = ((unsigned long long)major(st.st_dev) << 20 | minor(st.st_dev)) + other;
		found = open_same(path, &want, key);
		check((found < 0) == other, "device %llu", key.dev);
		close(found);
	}
	want.size = 4;
	check(open_same(path, &want, key) < 0, "of another size");
	close(fd);
}

static void is_symbol(unsigned long long ip, const char *want)
{
	const struct symbol *symbol = symbol_of(ip, &(struct place){}, 0, NULL);

	is_text(symbol ? symbol->function : "-", want);
}

/* Of the kernel; a module that is loaded later takes the place of one that is gone */
static void test_kernel(void)
{
	char folder[] = "/dev/shm/trapstat-unit.XXXXXX", file[64], module[64];
	FILE *f;

	check(mkdtemp(folder), "no folder");
	snprintf(file, sizeof(file), "%s/kallsyms", folder);
	snprintf(module, sizeof(module), "%s/module", folder);
	kallsyms = file;
	modules = folder;
	for (int i = 0; i < 2; i++) {
		f = fopen(file, "w");
		fprintf(f, "ffffffff81000000 T first\nffffffff81000100 d data\n"
			"ffffffff81000200 t second\nffffffffc0000000 t %s [module]\n",
			i ? "later" : "before");
		fclose(f);
		is_symbol(0xffffffff81000123 + i, "first");
		is_symbol(0xffffffff81000200, "second");
		is_symbol(0xffffffffc0000010, i ? "later" : "before");
		is_symbol(0xffffffffc0010001, "-");
		is_symbol(0xffffffff80ffffff, "-");
		check(i || !mkdir(module, 0700), "no folder");
	}
	symbols_free();
	unlink(file);
	rmdir(module);
	rmdir(folder);
}

/*
 * Debug information of main() that wants the folder of its source from another file. The linker
 * drops a .gnu_debuglink, which names a file with debug information.
 */
#define FIFO "/tmp/trapstat-unit.fifo"
#define SECTION(name, ...) \
	asm(".pushsection ." name ", \"\", @progbits\n" __VA_ARGS__ "\n.popsection")
SECTION("debug_abbrev", ".byte 1, 17, 0, 16, 23, 27, 0xa1, 0x3e, 17, 1, 18, 7, 0, 0, 0");
SECTION("debug_info", ".long 2f - 1f\n1: .short 4; .long 0; .byte 8, 1; .long 0, 0\n"
	".quad main, 1\n2:");
SECTION("debug_aranges", ".long 2f - 1f\n1: .short 2; .long 0; .byte 8, 0; .long 0\n"
	".quad main, 1, 0, 0\n2:");
SECTION("debug_line", ".long 0");
SECTION("gnu_debugaltlink", ".asciz \"" FIFO "\"; .zero 20");
SECTION("gnu_debug_link", ".asciz \"../../.." FIFO "\"; .balign 4; .long 1");

static void replace(char *text, size_t size, const char *from, const char *to, size_t n)
{
	for (char *at = text; (at = memmem(at, text + size - at, from, n)); at += n)
		memcpy(at, to, n);
}

/* Names of sections: the debug information is hidden, the link is not */
static void rename_sections(const char *path)
{
	static char text[1 << 22];
	int fd = open(path, O_RDWR);
	ssize_t size = read(fd, text, sizeof(text));

	replace(text, size, "\0.debug_", "\0_debug_", 8);
	replace(text, size, "\0.gnu_debug_link", "\0.gnu_debuglink", 16);
	check(pwrite(fd, text, size, 0) == size, "it is not written");
	close(fd);
}

static void test_debug_files(void)
{
	/* The program begins with its headers */
	const char *begin = (const char *)(getauxval(AT_PHDR) & -4096UL);
	struct place place = { .offset = (const char *)main - begin };
	char folder[] = "/tmp/trapstat-unit.XXXXXX", file[64], command[128];
	struct stat st;

	unlink(FIFO);
	check(mkdtemp(folder) && !mkfifo(FIFO, 0600), "no files");
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(), file);
	check(!system(command) && !stat(file, &st), "no copy");
	alarm(10);
	for (int i = 0; i < 2; i++) {
		struct symbol symbol = {};

		if (i)
			rename_sections(file);
		place.file.ino = st.st_ino + i;
		/* A process that has ended says nothing */
		note_file(place.file, 1 << 30, 0, 0, "/");
		add_binary(place.file, file, open_file(file, st.st_ino));
		check(find_in_file(&symbol, &place, 0, NULL), "main() is not found");
		is_text(symbol.function, "main");
	}
	alarm(0);
	unlink(file);
	unlink(FIFO);
	rmdir(folder);
}

static void is_function(const char *name, const char *want)
{
	struct symbol symbol;

	name_function(&symbol, name);
	is_text(symbol.function, want);
}

static void test_names(void)
{
	is_function("_ZN14TimePartitionsC2Ev", "TimePartitions::TimePartitions");
	is_function("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	is_function("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	is_function("a\033b", "a?b");
}

/* A later kernel: other numbers and places, new names, and what no parser knows */
static const char newer[] =
	"\tfield:unsigned int common_flags;\toffset:0;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int kind;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int outcome;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int flags;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int user_mode;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long error_code;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long ip;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long address;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long duration;\toffset:48;\tsize:8;\tsigned:0;\n"
	"print fmt: \"%s\", __print_symbolic(REC->outcome, { 7, \"MINOR\" }, { 3, \"NEW_2ND\" }, "
	"{ (1 + 1), \"OOM\" }, { 16, \"MAJOR\" }, { 0, \"SIGNAL\" }, { 99, \"ARCH\" }), "
	"__print_symbolic(REC->kind, { 4, \"NONE\" }, { 0, \"ANON\" }, { 9, \"FILE\" }, "
	"{ 1, \"DAX\" }, { 2, \"SPECIAL\" }), "
	"__print_flags(REC->flags, \"|\", { 0x1, \"ZERO\" }, { 0x100, \"COW\" }, "
	"{ 0x80000000, \"SWAPIN\" }), REC->duration";

static struct btf *newer_btf(void)
{
	static const struct { const char *name; long long value; bool type; } enums[] = {
		{ "pagefault_outcome", 4, true }, { "PAGEFAULT_MINOR", 7 },
		{ "PAGEFAULT_NEW_2ND", 3 }, { "PAGEFAULT_MAJOR", 16 }, { "PAGEFAULT_SIGNAL", 0 },
		{ "PAGEFAULT_ARCH", 99 },
		{ "pagefault_kind", 4, true }, { "PAGEFAULT_NONE", 4 }, { "PAGEFAULT_ANON", 0 },
		{ "PAGEFAULT_FILE", 9 }, { "PAGEFAULT_DAX", 1 }, { "PAGEFAULT_SPECIAL", 2 },
		{ "pagefault_flags", 4, true }, { "PAGEFAULT_ZERO", 1 }, { "PAGEFAULT_COW", 0x100 },
		{ "PAGEFAULT_SWAPIN", -0x80000000LL },
	};
	struct btf *btf = btf__new_empty();

	check(!!btf, "no BTF");
	for (size_t i = 0; i < sizeof(enums) / sizeof(*enums); i++)
		check(enums[i].type ? btf__add_enum(btf, enums[i].name, enums[i].value) > 0 :
		      !btf__add_enum_value(btf, enums[i].name, enums[i].value),
		      "%s", enums[i].name);
	return btf;
}

static void test_newer_kernel(void)
{
	static const unsigned char outcomes[OUTCOME_NUMBERS] = {
		OUTCOME_SIGNAL, [1 ... OUTCOME_NUMBERS - 1] = OUTCOME_UNKNOWN,
		[7] = OUTCOME_MINOR, [16] = OUTCOME_MAJOR,
	};
	static const unsigned short kinds[KIND_NUMBERS] = {
		FLAG_ANON, FLAG_KIND_UNKNOWN, 0, FLAG_KIND_UNKNOWN, 0,
		[5 ... KIND_NUMBERS - 1] = FLAG_KIND_UNKNOWN, [9] = FLAG_FILE,
	};
	static const unsigned short flags[FLAG_BITS] = { [8] = FLAG_COW, [31] = FLAG_SWAPIN };
	static const unsigned int at[FIELDS] = { 48, 40, 32, 12, 16, 8, 20, 24, NO_FIELD };
	struct btf *btf = newer_btf();
	char wider[sizeof(newer)];
	unsigned int found[FIELDS];
	struct config c;

	for (int i = 0; i < 2; i++) {
		memset(&c, 0xff, sizeof(c));
		names_read(&c, i ? btf : NULL, newer);
		check(!memcmp(c.outcomes, outcomes, sizeof(outcomes)), "outcomes, by BTF: %d", i);
		check(!memcmp(c.kinds, kinds, sizeof(kinds)), "kinds, by BTF: %d", i);
		check(!memcmp(c.flags, flags, sizeof(flags)), "flags, by BTF: %d", i);
	}
	btf__free(btf);
	check(fields_read(found, newer, true) && !memcmp(found, at, sizeof(at)), "fields");
	check(fields_read(found, newer, false) && found[FIELD_IP] == NO_FIELD, "without registers");
	memcpy(wider, newer, sizeof(newer));
	memcpy(strstr(wider, "offset:12;\tsize:4"), "offset:12;\tsize:8", 17);
	check(!fields_read(found, wider, true), "a field of another size");
	memcpy(strstr(wider, " outcome;"), " outcom2;", 9);
	check(!fields_read(found, wider, true) && !fields_read(found, NULL, true), "no such field");
}

static void is_lost(const struct counts *c, int width, bool is_json, const char *want)
{
	struct output out = { .width = width, .is_json = is_json, .time = 1.5, .seconds = 2 };
	char text[512];

	out.file = fmemopen(text, sizeof(text), "w");
	print_lost(&out, c, false);
	fclose(out.file);
	is_text(text, want);
}

static void test_lost(void)
{
	struct counts c = { .lost = { [LOST_FAULTS] = 3, [LOST_CALLS] = 2 }, .knows_skips = true };
	const struct config record = { .record = 1 }, follow = { .follow = 1 };
	struct skips skips = {};

	is_lost(&c, 0, false, "5 lost, faults 3, skipped programs 2\n");
	/* What is skipped for another process is not lost of that of -p */
	c.is_partial = true;
	is_lost(&c, 0, false, "3 to 5 lost, faults 3, skipped programs 2 in the whole system\n");
	/* A time is of a trap that was counted. A task may have any number of events */
	c.lost[LOST_TIMES] = 7;
	c.lost[LOST_TASKS] = 1;
	is_lost(&c, 80, false,
		"at least 3 lost, faults 3, times of traps 7, tasks 1,\n"
		"     skipped programs 2 in the whole system\n");
	is_lost(&c, 0, true, "{\"type\":\"lost\",\"time\":1.5,\"seconds\":2.0,\"least\":3,"
		"\"most\":null,\"faults\":3,\"times\":7,\"events\":0,\"tasks\":1,"
		"\"skipped_programs\":2,\"stacks\":0}\n");
	memset(c.lost, 0, sizeof(c.lost));
	c.knows_skips = false;
	is_lost(&c, 80, false,
		"at least 0 lost\nLinux before 6.7 does not count skipped kprobes\n");
	check(skips_of(&skips, "why_switch", &record) == &skips.waits &&
	      skips_of(&skips, "trap_exit", &follow) == &skips.times &&
	      skips_of(&skips, "trap_exit", &record) == &skips.calls &&
	      skips_of(&skips, "wakeup_new", &follow) == &skips.tasks &&
	      !skips_of(&skips, "wakeup_new", &record) &&
	      !skips_of(&skips, "signal_deliver", &follow) &&
	      !skips_of(&skips, "process_free", &follow), "what a skipped program counts");
}

static void test_signals(void)
{
	static const struct {
		bool rates;
		int width;
		const char *want;
	} cases[] = {
		{ false, 0, "signals: ILL_ILLOPN 3, FPE_INTDIV 80, SEGV_MAPERR 7\n" },
		{ true, 0, "signals/s: ILL_ILLOPN 1.5, FPE_INTDIV 40, SEGV_MAPERR 3.5\n" },
		{ true, 42, "signals/s: ILL_ILLOPN 1.5, FPE_INTDIV 40,\n"
			    "           SEGV_MAPERR 3.5\n" },
	};
	struct config config = { .vector = WANT_ANY, .outcome = WANT_ANY, .mode = WANT_ANY };
	struct sources s = { .config = &config, .signals = true };
	struct output out = {};
	struct counts c = { .seconds = 2, .signal = {
		[2] = 3, [3 * SIGNAL_CODES + 1] = 80, [4 * SIGNAL_CODES + 1] = 7,
	} };
	char text[256];

	for (int i = 0; i < 3; i++) {
		out.width = cases[i].width;
		out.file = fmemopen(text, sizeof(text), "w");
		print_signals(&out, &c, &s, cases[i].rates);
		fclose(out.file);
		is_text(text, cases[i].want);
	}
}

/* What has no room is said */
static void test_histograms(void)
{
	static struct fault_row row[2] = {
		{ .key.outcome = OUTCOME_MINOR, .sum = { .count = 3, .max = 1500 } },
		{ .key.outcome = OUTCOME_MAJOR, .sum = { .count = 1, .max = 150000 } },
	};
	struct counts c = { .fault = row, .faults = 2 };
	struct output out = { .width = 200 };
	struct sources s = {};
	char text[2048];

	row[0].sum.bucket[bucket_of(1500)] = 2;
	row[0].sum.bucket[bucket_of(3000)] = 1;
	row[1].sum.bucket[bucket_of(150000)] = 1;
	for (int most = 0; most < 9; most++) {
		out.file = fmemopen(text, sizeof(text), "w");
		print_histograms(&out, &c, &s, most);
		fclose(out.file);
		check(most < 4 || lines_of(text) <= most, "%d lines, not %d", lines_of(text), most);
		check(!strstr(text, "MINOR:") == (most == 4), "%d: %s", most, text);
		check(!strstr(text, "MAJOR:") == (most && most != 4 && most < 8), "%d: %s", most,
		      text);
		check(!strstr(text, "than fit: 1") == (!most || most > 7), "%d: %s", most, text);
		check(most != 8 || strstr(text, "|\n")[-1] == '@', "a bar does not fill the width");
	}
}

static void is_head(const struct sources *s, bool is_crash, const char *want)
{
	struct output out = {};
	char text[256];

	out.file = fmemopen(text, sizeof(text), "w");
	if (is_crash)
		print_crash_head(&out, s);
	else
		print_slow_head(&out, s);
	fclose(out.file);
	for (char *to = text, *from = text; (*to = *from); from++)
		to += *from != ' ' || from[1] != ' ';
	is_text(text, want);
}

/* A stream has a column for what its sources know */
static void test_streams(void)
{
	struct event event = { .ns = 1500, .mode = MODE_USER, .pid = 7, .comm = "a" };
	struct config config = {};
	struct sources s = { .config = &config, .btf = true, .has_regs = true };
	struct output out = { .time = 1700000000.5, .width = 36, .has_stamps = true };
	char text[256];

	is_head(&s, false, "TIME DURATION OUTCOME MODE MEMORY ORDER ADDRESS MAPPING INSTRUCTION "
		"PID TID COMM\n");
	is_head(&s, true, "TIME SIGNAL FATAL TRAP PID OWN-PID COMM ADDRESS MAPPING ERROR "
		"INSTRUCTION CGROUP\n");
	/* -T is for narrow terminals, too */
	out.file = fmemopen(text, sizeof(text), "w");
	print_slow(&out, &event, &s);
	fclose(out.file);
	is_text(text + 2, ":13:20   1.50us MINOR\n");
	s = (struct sources){ .config = &config, .ends = ENDS_BY_PERF };
	is_head(&s, false, "TIME DURATION OUTCOME MODE ADDRESS MAPPING INSTRUCTION PID TID COMM\n");
	is_head(&s, true, "TIME SIGNAL PID COMM CGROUP\n");
}

static const struct column columns[] = {
	{ "ID", "id", CELL_COUNT },
	{ "RATE/s", "rate_per_s", CELL_RATE, 0 },
	{ "ZERO/s", "zero_per_s", CELL_RATE, 1 },
	{ "UNKNOWN", "unknown_ns", CELL_NS, 2 },
	{ "P99", "p99_ns", CELL_NS, 4 },
	{ "TIME%", "time_percent", CELL_PERCENT, 3 },
	{ "NAME", "name", CELL_TEXT, 0, 12 },
	{ NULL, "is_odd", CELL_BOOL },
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static void is_table(const struct table *t, int width, bool is_json, const char *want)
{
	struct output out = { .width = width, .is_json = is_json, .time = 1.5, .seconds = 2 };
	char text[1024];

	out.file = fmemopen(text, sizeof(text), "w");
	table_print(&out, t);
	fclose(out.file);
	is_text(text, want);
	for (char *line = text; width && *line; line = strchr(line, '\n') + 1)
		check((int)strcspn(line, "\n") <= width, "%zu columns", strcspn(line, "\n"));
}

static void add_test_row(struct table *t, double id, double rate, double ns, const char *name)
{
	table_number(t, true, id);
	table_number(t, true, rate);
	table_number(t, true, 0);
	table_number(t, false, 7);
	table_number(t, ns, ns);
	table_number(t, true, ns / 1e5);
	table_text(t, name);
	table_number(t, true, (int)id % 2);
}

#define JSON_ROW								\
	"{\"type\":\"test\",\"time\":1.5,\"seconds\":2.0,\"id\":1,\"rate_per_s\":3.0,"	\
	"\"zero_per_s\":0.0,\"unknown_ns\":null,\"p99_ns\":1500,\"time_percent\":0.015,"	\
	"\"name\":\"/kubepods/burstable/pod1234/cri-5678\",\"is_odd\":true}\n"

static void test_tables(void)
{
	struct table t;

	table_init(&t, "test", columns, COLUMNS);
	add_test_row(&t, 1, 3, 1500, "/kubepods/burstable/pod1234/cri-5678");
	add_test_row(&t, 20, 250, 0, "a\033\"b");
	is_table(&t, 0, false,
		 "ID RATE/s    P99 TIME% NAME\n"
		 " 1    3.0 1.50us  0.01 /kubepods/burstable/pod1234/cri-5678\n"
		 "20    250      -   0.0 a?\"b\n");
	/* The middle of a path goes first, then a column of the highest rank */
	is_table(&t, 43, false,
		 "ID RATE/s    P99 TIME% NAME\n"
		 " 1    3.0 1.50us  0.01 /kubepod.../cri-5678\n"
		 "20    250      -   0.0 a?\"b\n");
	is_table(&t, 34, false,
		 "ID RATE/s TIME% NAME\n"
		 " 1    3.0  0.01 /kubepo...cri-5678\n"
		 "20    250   0.0 a?\"b\n");
	check(table_column(columns, COLUMNS, "time") == 5 &&
	      table_column(columns, COLUMNS, "TIME%") == 5 &&
	      table_column(columns, COLUMNS, "time_percent") == 5 &&
	      table_column(columns, COLUMNS, "tim") == -1, "a column is not found");
	check(table_next(&t, 0) == 1 && table_next(&t, 1) == 4 && table_next(&t, 5) == 0,
	      "the next column");
	table_sort(&t, 1);
	is_table(&t, 22, false,
		 "ID RATE/s NAME\n"
		 "20    250 a?\"b\n"
		 " 1    3.0 /kub...-5678\n");
	table_sort(&t, 4);
	table_cut(&t, 1);
	is_table(&t, 0, true, JSON_ROW);
	table_free(&t);
	add_test_row(&t, 1, 2, 0, "a_function_of_many_words (file.c:10)");
	is_table(&t, 36, false, "ID RATE/s NAME\n 1    2.0 a_function_of_many_words\n");
	is_table(&t, 24, false, "ID RATE/s NAME\n 1    2.0 a_fun..._words\n");
	table_free(&t);
	add_test_row(&t, 1, 2, 0, "write, user, page present");
	is_table(&t, 25, false, "ID RATE/s NAME\n 1    2.0 write, user\n");
	table_free(&t);
}

static void test_codes(void)
{
	unsigned long long wait[WAITS] = { [WAIT_IO] = 20, [WAIT_UFFD] = 3000, [WAIT_OTHER] = 1 };

	is_text(text_waits(wait).text, "uffd 3.00us, io 20ns, other 1ns");
	wait[WAIT_RECLAIM] = 99900000;
	is_text(text_waits(wait).text, "reclaim 99.9ms, uffd 3.00us, io 20ns");
	memset(wait, 0, sizeof(wait));
	is_text(text_waits(wait).text, "");
	is_text(text_error(ROW_PF, 6).text, "write, user, page not present");
	is_text(text_error(ROW_PF, 0).text, "read, kernel, page not present");
	is_text(text_error(ROW_PF, 0x35).text, "execute, user, page present, protection key");
	is_text(text_error(13, 0x1c).text, "selector 0x18 of the LDT");
	is_text(text_error(13, 0).text, "-");
	is_text(code_name(11, 0).text, "SIGSEGV");
	is_text(code_name(8, 15).text, "SIGFPE 15");
	is_text(code_name(1, 1).text, "-");
}

static void check_row(const char *what, unsigned int want, unsigned int vector, unsigned int mode,
		      unsigned long long error_code, unsigned long long flags, const char *bytes,
		      size_t size)
{
	unsigned long long code = 0;
	unsigned int row;

	memcpy(&code, bytes, size);
	row = row_of_trap(vector, mode, error_code, flags, code);
	check(row == want, "%s: row %u, not %u", what, row, want);
}

#define is_row(what, row, vector, mode, error_code, flags, bytes) \
	check_row(what, row, vector, mode, error_code, flags, bytes, sizeof(bytes) - 1)

static void sent(const char *what, unsigned int want, unsigned int last, unsigned int number,
		 unsigned int si_code)
{
	unsigned int vector = vector_of_signal(last, number, si_code);

	check(vector == want, "%s: vector %u, not %u", what, vector, want);
}

/* Some that no emulated CPU raises */
static void test_rows(void)
{
	sent("a division", 0, 0, SIGFPE, FPE_INTDIV);
	sent("x87", 16, 16, SIGFPE, FPE_FLTDIV);
	sent("SSE", 19, 19, SIGFPE, FPE_FLTINV);
	sent("a step", 1, 1, SIGTRAP, TRAP_TRACE);
	sent("int3", 3, 3, SIGTRAP, 0);
	sent("ud2", 6, 6, SIGILL, ILL_ILLOPN);
	sent("into", 4, 4, SIGSEGV, 0);
	sent("hlt", 13, 13, SIGSEGV, 0);
	sent("a stack segment", 12, 12, SIGBUS, 0);
	sent("alignment", 17, 17, SIGBUS, BUS_ADRALN);
	sent("nothing mapped", 14, 14, SIGSEGV, SEGV_MAPERR);
	sent("after the end of a file", 14, 14, SIGBUS, BUS_ADRERR);
	sent("a shadow stack", 21, 21, SIGSEGV, 10);
	sent("of TDX", 20, 20, SIGSEGV, 0);
	sent("of SEV, after a page fault", 29, 14, SIGBUS, BUS_OBJERR);
	sent("AMX", 7, 6, SIGILL, ILL_ILLOPC);
	sent("an event of perf, after a step", NO_VECTOR, 1, SIGTRAP, 6);
	sent("a stack without room for a frame, after a page fault", NO_VECTOR, 14, SIGSEGV, 0);
	sent("bad memory, after alignment", NO_VECTOR, 17, SIGBUS, BUS_MCEERR_AR);
	sent("SIGFPE of POLL_HUP, after a division", NO_VECTOR, 0, SIGFPE, 6);
	sent("a large code", NO_VECTOR, 0, SIGFPE, 16);
	sent("a vector that there is none of", NO_VECTOR, 33, SIGFPE, FPE_INTDIV);
	is_row("a bus lock", ROW_BUS_LOCK, 1, MODE_USER, 0x800, 0, "");
	is_row("a bus lock and a step", ROW_BUS_LOCK, 1, MODE_USER, 0x4800, 0, "");
	is_row("a step", 1, 1, MODE_USER, 0x4000, 0, "");
	is_row("a split lock", ROW_SPLIT_LOCK, 17, MODE_USER, 0, 0x246, "");
	is_row("a split lock of the kernel", ROW_SPLIT_LOCK, 17, MODE_KERNEL, 0, EFLAGS_AC, "");
	is_row("a check of alignment", 17, 17, MODE_USER, 0, EFLAGS_AC | 0x246, "");
	is_row("sgdt (%rax)", ROW_UMIP, 13, MODE_USER, 0, 0, "\x0f\x01\x01");
	is_row("sidt (%rcx)", ROW_UMIP, 13, MODE_USER, 0, 0, "\x0f\x01\x09");
	is_row("smsw %eax", ROW_UMIP, 13, MODE_USER, 0, 0, "\x0f\x01\xe0");
	is_row("sldt %eax", ROW_UMIP, 13, MODE_USER, 0, 0, "\x0f\x00\xc0");
	is_row("str %rax", ROW_UMIP, 13, MODE_USER, 0, 0, "\x48\x0f\x00\xc8");
	is_row("sgdt %gs:(%r9)", ROW_UMIP, 13, MODE_USER, 0, 0, "\x65\x41\x0f\x01\x01");
	is_row("four prefixes", ROW_UMIP, 13, MODE_USER, 0, 0, "\x66\x67\x2e\x40\x0f\x01\x01");
	is_row("lldt %ax", 13, 13, MODE_USER, 0, 0, "\x0f\x00\xd0");
	is_row("lgdt (%rcx)", 13, 13, MODE_USER, 0, 0, "\x0f\x01\x11");
	is_row("vmcall", 13, 13, MODE_USER, 0, 0, "\x0f\x01\xc1");
	is_row("hlt", 13, 13, MODE_USER, 0, 0, "\xf4");
	is_row("an error code", 13, 13, MODE_USER, 0x18, 0, "\x0f\x01\x01");
	is_row("of the kernel", 13, 13, MODE_KERNEL, 0, 0, "\x0f\x01\x01");
	is_row("a division", 0, 0, MODE_USER, 0, 0, "\xf7\xf1");
}

int main(void)
{
	test_rows();
	test_lost();
	test_signals();
	test_histograms();
	test_streams();
	test_tables();
	test_codes();
	test_names();
	test_newer_kernel();
	test_buckets();
	test_percentiles();
	test_maps();
	test_callers();
	test_kinds();
	test_texts();
	test_files();
	test_devices();
	test_kernel();
	test_debug_files();
	return failed;
}
