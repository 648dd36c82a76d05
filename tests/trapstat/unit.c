// SPDX-License-Identifier: GPL-2.0
/* Tests what trapstat computes without BPF; linked with the sources that it does not include */
#define _GNU_SOURCE
#include "../../trapstat/buckets.h"
#include "../../trapstat/counts.h"
#include "../../trapstat/maps.c"
#include "../../trapstat/print.h"
#include "../../trapstat/symbols.c"

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
	check(bucket_of(~0ULL) == BUCKETS - 1, "the last one");
}

static void test_percentiles(void)
{
	static const double shares[] = { 0, 0.1, 0.5, 0.9, 0.99, 0.999 };
	static unsigned long long ns[20000];
	struct fault_sum sum, all = {}, none = {};
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
	for (unsigned int i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		check(is_near(sum_percentile(&all, shares[i]), ns[(int)(n * shares[i])]),
		      "%g: %llu, not %llu", shares[i], sum_percentile(&all, shares[i]),
		      ns[(int)(n * shares[i])]);
	check(all.count == n && all.max == ns[n - 1], "count %llu, max %llu", all.count, all.max);
	check(sum_percentile(&none, 0.5) == 0, "of nothing");
}

static void is_at(struct maps *maps, unsigned long long address, const char *name,
		  unsigned long long offset)
{
	struct place place = {};
	bool is_found = find(maps, address, &place);

	check(is_found == !!name, "%#llx: found %d", address, is_found);
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

	is_at(&maps, 0x3fffff, NULL, 0);
	is_at(&maps, 0x400000, "a b", 0);
	is_at(&maps, 0x401010, "a b", 0x3010);
	is_at(&maps, 0x401fff, "a b", 0x3fff);
	is_at(&maps, 0x402000, NULL, 0);
	is_at(&maps, 0x600008, "[heap]", 8);
	is_at(&maps, 0x7f0000000fff, "[anon]", 0xfff);
	is_at(&maps, 0x7f0000001000, NULL, 0);
	is_at(&maps, 0x7f0000002004, "c (deleted)", 0x1004);
	is_at(&maps, 0xffffffffff600000, "[vsyscall]", 0);
}

static void is_text(const char *text, const char *want)
{
	check(!strcmp(text, want), "%s, not %s", text, want);
}

static void test_texts(void)
{
	struct place place = { .name = "a\033b", .offset = 0x10 };

	is_text(text_ns(0).text, "0ns");
	is_text(text_ns(999).text, "999ns");
	is_text(text_ns(1000).text, "1.00us");
	is_text(text_ns(9994).text, "9.99us");
	is_text(text_ns(9996).text, "10.0us");
	is_text(text_ns(999499).text, "999us");
	is_text(text_ns(999500).text, "1.00ms");
	is_text(text_ns(137000000000).text, "137s");
	is_text(text_number(true, 7).text, "7");
	is_text(text_number(false, 7).text, "-");
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

/* What is skipped for another process is not lost of that of -p */
static void test_lost(void)
{
	static const char * const want[2] = {
		"5 lost, faults 3, skipped programs 2: the counts are at least so high\n",
		"3 to 5 lost, faults 3, skipped programs 2 in the whole system: the counts are at least so high\n",
	};
	struct counts c = { .lost = { [LOST_FAULTS] = 3, [LOST_CALLS] = 2 }, .knows_skips = true };
	char text[256];
	FILE *out;

	for (int i = 0; i < 2; i++) {
		c.is_partial = i;
		out = fmemopen(text, sizeof(text), "w");
		print_lost(out, &c, false);
		fclose(out);
		is_text(text, want[i]);
	}
}

int main(void)
{
	test_lost();
	test_buckets();
	test_percentiles();
	test_maps();
	test_texts();
	test_files();
	return failed;
}
