// SPDX-License-Identifier: GPL-2.0
/*
 * The function of an instruction, by elfutils, or for the kernel by /proc/kallsyms. The BPF side
 * notes the path of each file that it meets, so the process may be gone by now.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <mntent.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libiberty/demangle.h>
#include <linux/magic.h>

#include "symbols.h"
#include "text.h"
#include "trapstat.skel.h"
#include "util.h"

/* An entry of the cache: a place in a file, or an address in the kernel (no file) */
struct known {
	struct file_key file;
	unsigned long long offset;
	bool found;
	struct symbol symbol;
};

struct binary {
	struct file_key file;
	Dwfl *dwfl;			/* NULL: it cannot be read */
	Dwfl_Module *module;
};

struct kernel_symbol {
	unsigned long long address;
	char name[64];
};

static void *all_known, *all_binaries;
static struct kernel_symbol *kernel;
static size_t kernel_symbols;
static bool kernel_read;

/* More would take too many open files, or too much memory */
enum { MOST_BINARIES = 200, MOST_KNOWN = 100000 };

static unsigned int binaries, knowns;

static int by_file(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct file_key));
}

static int by_place(const void *a, const void *b)
{
	const struct known *left = a, *right = b;
	int order = by_file(a, b);

	return order ? order : (left->offset > right->offset) - (left->offset < right->offset);
}

static int by_address(const void *a, const void *b)
{
	const struct kernel_symbol *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static const char *kallsyms = "/proc/kallsyms", *modules = "/sys/module";

/* A folder has a link from each folder in it: one for each module */
static bool have_modules_changed(void)
{
	static nlink_t links;
	nlink_t before = links;
	struct stat st;

	links = stat(modules, &st) ? before : st.st_nlink;
	return links != before;
}

static void read_kernel(void)
{
	FILE *f = fopen(kallsyms, "r");
	struct kernel_symbol symbol, *more;
	size_t room = 0;
	char line[512], type;

	kernel_read = true;
	kernel_symbols = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %c %63s", &symbol.address, &type, symbol.name) != 3 ||
		    !symbol.address || !strchr("tTwW", type))
			continue;
		if (kernel_symbols == room) {
			room = room ? 2 * room : 65536;
			more = realloc(kernel, room * sizeof(*kernel));
			if (!more)
				break;
			kernel = more;
		}
		kernel[kernel_symbols++] = symbol;
	}
	if (f)
		fclose(f);
	qsort(kernel, kernel_symbols, sizeof(*kernel), by_address);
}

/* What is far behind a function is not in it */
enum { MOST_FUNCTION = 0x10000 };

static bool find_in_kernel(struct symbol *symbol, unsigned long long ip)
{
	size_t from = 0, to;

	if (!kernel_read)
		read_kernel();
	to = kernel_symbols;
	while (to - from > 1) {
		size_t middle = from + (to - from) / 2;

		if (kernel[middle].address <= ip)
			from = middle;
		else
			to = middle;
	}
	if (from == to || kernel[from].address > ip || ip - kernel[from].address > MOST_FUNCTION)
		return false;
	snprintf(symbol->function, sizeof(symbol->function), "%s", kernel[from].name);
	return true;
}

/*
 * Users choose what is behind a path: no FIFO or device is opened, and no other file than the one
 * that was mapped
 */
static int open_file(const char *path, unsigned long long ino)
{
	int fd = -1, at = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	char self[32];

	if (at < 0)
		return -1;
	if (!fstat(at, &st) && S_ISREG(st.st_mode) && st.st_ino == ino) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
		fd = open(self, O_RDONLY | O_CLOEXEC);
	}
	close(at);
	return fd;
}

/* On these file systems, stat() has another device than the kernel */
static bool is_on(int fd, const struct stat *st, unsigned long long dev)
{
	struct statfs fs;

	return st->st_dev == makedev(dev >> 20, dev & 0xfffff) ||
		(!fstatfs(fd, &fs) &&
		 (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC));
}

/* The number of an inode is used again, but hardly for a file of the same size */
static int open_same(const char *path, const struct file_path *want, struct file_key key)
{
	int fd = open_file(path, key.ino);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !is_on(fd, &st, key.dev) ||
			(want && (unsigned long long)st.st_size != want->size))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Mount points are not part of the path: look below each of them. The folder that overlayfs takes
 * a file from is, and need not be visible: look for the rest of the path, as the process sees it.
 */
static int find_file(char *path, size_t size, const struct file_path *want,
		     struct file_key key, unsigned int pid)
{
	struct mntent *mount;
	char tail[PATH_PARTS * 65 + 1] = "";
	int n = 0, fd = -1;
	FILE *f;

	for (int i = PATH_PARTS - 1; i >= 0; i--) {
		if (!want->part[i][0] || want->part[i][0] == '/')
			continue;
		n += sprintf(tail + n, "/%.64s", want->part[i]);
	}
	for (const char *rest = tail; rest && *rest && fd < 0; rest = strchr(rest + 1, '/')) {
		snprintf(path, size, "/proc/%u/root%s", pid, rest);
		fd = open_same(path, want, key);
		if (fd < 0) {
			snprintf(path, size, "%s", rest);
			fd = open_same(path, want, key);
		}
	}
	f = fd >= 0 ? NULL : setmntent("/proc/self/mounts", "re");
	while (f && fd < 0 && (mount = getmntent(f))) {
		snprintf(path, size, "%s%s", mount->mnt_dir, tail);
		fd = open_same(path, want, key);
	}
	if (f)
		endmntent(f);
	return fd;
}

/*
 * Only by its build ID, below /usr/lib/debug: a name in the file or beside it is one that the user
 * chooses, too
 */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)file;
	(void)link;
	(void)crc;
	return dwfl_standard_find_debuginfo(module, data, name, base, NULL, NULL, 0, path);
}

static void free_binary(void *p)
{
	struct binary *binary = p;

	if (binary->dwfl)
		dwfl_end(binary->dwfl);
	free(binary);
}

static void free_binaries(void)
{
	tdestroy(all_binaries, free_binary);
	all_binaries = NULL;
	binaries = 0;
}

static struct binary *known_binary(const struct file_key *key)
{
	struct binary **at = tfind(key, &all_binaries, by_file);

	return at ? *at : NULL;
}

/* The module closes the file. Without one, nobody looks for it again. */
static struct binary *add_binary(struct file_key key, const char *path, int fd)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	struct binary *binary = calloc(1, sizeof(*binary));

	if (!binary) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (binaries == MOST_BINARIES)
		free_binaries();
	binaries++;
	binary->file = key;
	tsearch(binary, &all_binaries, by_file);
	binary->dwfl = fd < 0 ? NULL : dwfl_begin(&callbacks);
	if (binary->dwfl)
		binary->module = dwfl_report_offline(binary->dwfl, "", path, fd);
	if (fd >= 0 && !binary->module)
		close(fd);
	if (binary->dwfl)
		dwfl_report_end(binary->dwfl, NULL, NULL);
	return binary;
}

/**
 * note_file - Open a file whose functions may be looked for, as long as its process is there
 * @key:	the file
 * @pid:	the process
 * @start:	of a mapping of it
 * @end:	of that mapping
 * @path:	the name that the process has mapped it by
 */
void note_file(struct file_key key, unsigned int pid, unsigned long long start,
	       unsigned long long end, const char *path)
{
	char of_process[4200];
	int fd;

	if (known_binary(&key))
		return;
	/* It is the file itself, also if another one has its name by now, and it takes root */
	snprintf(of_process, sizeof(of_process), "/proc/%u/map_files/%llx-%llx", pid, start, end);
	fd = open_file(of_process, key.ino);
	if (fd < 0) {
		snprintf(of_process, sizeof(of_process), "/proc/%u/root%s", pid, path);
		fd = open_file(of_process, key.ino);
	}
	if (fd < 0)	/* the process has ended a moment ago */
		fd = open_same(path, NULL, key);
	/* find_binary() may know another path */
	if (fd >= 0)
		add_binary(key, path, fd);
}

static struct binary *find_binary(struct file_key key, unsigned int pid, const struct sources *s)
{
	struct binary *binary = known_binary(&key);
	struct file_path file;
	char path[4096];

	if (binary || bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.files), &key, &file))
		return binary;
	return add_binary(key, path, find_file(path, sizeof(path), &file, key, pid));
}

/* As C++ and Rust have it, without arguments */
static void name_function(struct symbol *symbol, const char *name)
{
	char *plain = cplus_demangle(name, DMGL_AUTO);

	copy(symbol->function, sizeof(symbol->function), plain ?: name);
	for (char *at = symbol->function; *at; at++)
		if (!isprint((unsigned char)*at))
			*at = '?';
	free(plain);
}

#define FIRST_CODE	(~0ULL)

/* The segment of a file that has a place, or the first one with code */
static bool find_segment(const struct binary *binary, unsigned long long offset, GElf_Phdr *ph,
			 GElf_Addr *bias)
{
	Elf *elf = binary && binary->module ? dwfl_module_getelf(binary->module, bias) : NULL;
	size_t n = 0;

	if (!elf || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, i, ph) && ph->p_type == PT_LOAD &&
		    (offset == FIRST_CODE ? ph->p_flags & PF_X : offset >= ph->p_offset &&
		     offset < ph->p_offset + ph->p_filesz))
			return true;
	return false;
}

/**
 * is_code - Whether a file has code at a place
 * @place:	the place
 * @pid:	the process
 * @s:		the sources, which know the paths of files
 */
bool is_code(const struct place *place, unsigned int pid, const struct sources *s)
{
	GElf_Addr bias;
	GElf_Phdr ph;

	return find_segment(find_binary(place->file, pid, s), place->offset, &ph, &bias) &&
		ph.p_flags & PF_X;
}

/* libdw opens what the debug information of a file names: that of a user is not read then */
static Dwfl_Line *find_line(Dwfl_Module *module, GElf_Addr address)
{
	GElf_Addr bias;
	Dwarf *debug = dwfl_module_getdwarf(module, &bias);
	const void *id;
	const char *name;

	if (debug && dwarf_getelf(debug) == dwfl_module_getelf(module, &bias) &&
	    dwelf_dwarf_gnu_debugaltlink(debug, &name, &id) > 0)
		return NULL;
	return dwfl_module_getsrc(module, address);
}

/**
 * find_code - Find a place in the code of a program
 * @place:	how far it is behind the begin of the code; its offset becomes that in the file
 * @pid:	the process
 * @s:		the sources, which know the paths of files
 *
 * Return: whether it is there
 */
bool find_code(struct place *place, unsigned int pid, const struct sources *s)
{
	GElf_Addr bias;
	GElf_Phdr ph;

	if (!find_segment(find_binary(place->file, pid, s), FIRST_CODE, &ph, &bias) ||
	    place->offset >= ph.p_filesz)
		return false;
	place->offset += ph.p_offset;
	return true;
}

static bool find_in_file(struct symbol *symbol, const struct place *code, unsigned int pid,
			 const struct sources *s)
{
	const struct binary *binary = find_binary(code->file, pid, s);
	const char *name = NULL, *file;
	GElf_Addr bias, address, from;
	Dwfl_Line *line;
	GElf_Sym sym;
	GElf_Phdr ph;
	int number;

	if (!find_segment(binary, code->offset, &ph, &bias))
		return false;
	address = code->offset - ph.p_offset + ph.p_vaddr + bias;
	name = dwfl_module_addrinfo(binary->module, address, &from, &sym, NULL, NULL, NULL);
	if (!name)
		return false;
	name_function(symbol, name);
	line = find_line(binary->module, address);
	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (file) {
		name = strrchr(file, '/');
		snprintf(symbol->source, sizeof(symbol->source), "%s:%d",
			 text_plain(name ? name + 1 : file, 64).text, number);
	}
	return true;
}

/**
 * symbol_of - Find the function of an instruction
 * @ip:		its address
 * @code:	its place in a file
 * @pid:	the process
 * @s:		the sources, which know the paths of files
 *
 * Return: the function, or NULL if it is not known. symbols_free() frees it.
 */
const struct symbol *symbol_of(unsigned long long ip, const struct place *code, unsigned int pid,
			       const struct sources *s)
{
	bool in_kernel = ip >> 63, in_file = code->file.ino;
	struct known want = { .file = code->file, .offset = code->offset };
	struct known *known, **at;

	if (in_kernel)
		want.offset = ip;
	else if (!in_file)
		return NULL;
	at = tfind(&want, &all_known, by_place);
	if (at)
		return (*at)->found ? &(*at)->symbol : NULL;
	if (in_kernel && have_modules_changed())
		kernel_read = false;
	if (knowns++ == MOST_KNOWN || (in_kernel && !kernel_read)) {
		tdestroy(all_known, free);
		all_known = NULL;
		knowns = 0;
	}
	known = malloc(sizeof(*known));
	if (!known)
		return NULL;
	*known = want;
	known->found = in_kernel ? find_in_kernel(&known->symbol, ip) :
				   find_in_file(&known->symbol, code, pid, s);
	tsearch(known, &all_known, by_place);
	return known->found ? &known->symbol : NULL;
}

/**
 * symbols_free - Free what symbol_of() has found
 */
void symbols_free(void)
{
	tdestroy(all_known, free);
	all_known = NULL;
	free_binaries();
	free(kernel);
	kernel = NULL;
	kernel_symbols = 0;
	kernel_read = false;
}
