// SPDX-License-Identifier: GPL-2.0
/*
 * Where an address of a process is, by /proc/PID/maps: for what the BPF side could not find. The
 * process has to be there still.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbols.h"
#include "util.h"

/* The maps that were read last, by PID */
static struct maps {
	unsigned int pid;
	unsigned long long when;	/* ns */
	char comm[COMM_SIZE];
	char *text;
} all_maps[64];

enum { FRESH = 20000000 };		/* maps are read again after so many ns */

static void read_comm(unsigned int pid, unsigned int tid, char comm[COMM_SIZE])
{
	char path[64];
	FILE *f;

	comm[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "r");
	if (f && fgets(comm, COMM_SIZE, f))
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
}

/* A process at its end has no mappings any more: then those of before stay */
static bool read_maps(struct maps *maps, unsigned int pid)
{
	char path[64], *text = NULL;
	size_t size = 0;
	bool is_read;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "r");
	is_read = f && getdelim(&text, &size, '\0', f) > 0;
	if (is_read) {
		maps->when = now_ns();
		free(maps->text);
		maps->text = text;
		maps->pid = pid;
		read_comm(pid, pid, maps->comm);
	} else {
		free(text);
	}
	if (f)
		fclose(f);
	return is_read;
}

/**
 * note_maps - Read the mappings of a process, which may end before they are looked for
 * @pid:	the process
 */
void note_maps(unsigned int pid)
{
	read_maps(&all_maps[pid % 64], pid);
}

/*
 * The kind of memory in files of a device, FLAG_KIND_UNKNOWN if that is not mounted. mountinfo has
 * the type: to ask the file system itself may block. The files of an overlay may be on a tmpfs.
 */
static unsigned short kind_of_device(unsigned int pid, unsigned int major, unsigned int minor)
{
	static struct mounts {
		unsigned int pid;
		unsigned long long when;	/* ns */
		char *text;
	} last;
	unsigned int its_major, its_minor;
	char path[64], type[16];
	size_t size = 0;
	FILE *f;

	if (major)
		return FLAG_FILE;
	if (last.pid != pid || now_ns() - last.when > FRESH) {
		snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
		free(last.text);
		last = (struct mounts){ .pid = pid, .when = now_ns() };
		f = fopen(path, "r");
		if (f && getdelim(&last.text, &size, '\0', f) < 0)
			last.pid = 0;
		if (f)
			fclose(f);
	}
	for (const char *line = last.text; line && *line; line = strchr(line, '\n') + 1) {
		if (sscanf(line, "%*u %*u %u:%u", &its_major, &its_minor) != 2 || its_major ||
		    its_minor != minor || sscanf(strstr(line, " - "), " - %15s", type) != 1)
			continue;
		return !strcmp(type, "tmpfs") ? FLAG_SHMEM :
		       !strcmp(type, "hugetlbfs") ? FLAG_HUGETLB :
		       !strcmp(type, "overlay") || !strcmp(type, "devtmpfs") ?
		       FLAG_KIND_UNKNOWN : FLAG_FILE;
	}
	return FLAG_KIND_UNKNOWN;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* The kernel has mounts of its own, which nobody sees: one for shmem, others for huge pages */
static unsigned short kind_of_own(unsigned int minor, const char *name)
{
	static struct stat shmem;
	int fd;

	if (!shmem.st_ino) {
		fd = memfd_create("trapstat", MFD_CLOEXEC);
		if (fd < 0)
			return FLAG_KIND_UNKNOWN;
		fstat(fd, &shmem);
		close(fd);
	}
	if (minor == minor(shmem.st_dev))
		return FLAG_SHMEM;
	return begins(name, "/memfd:") || begins(name, "/SYSV") || begins(name, "/anon_hugepage") ?
	       FLAG_HUGETLB : FLAG_KIND_UNKNOWN;
}

static unsigned short kind_of(unsigned int pid, unsigned int major, unsigned int minor,
			      const char *name)
{
	unsigned short kind;

	if (!name[0] || !strcmp(name, "[heap]") || !strcmp(name, "[stack]") ||
	    begins(name, "[anon:"))
		return FLAG_ANON;
	if (begins(name, "[anon_shmem"))
		return FLAG_SHMEM;
	if (name[0] == '[')
		return 0;
	kind = kind_of_device(pid, major, minor);
	return kind == FLAG_KIND_UNKNOWN && !major ? kind_of_own(minor, name) : kind;
}

/* @kind: gets the kind of memory, if it is not NULL */
static bool find(struct maps *maps, unsigned long long address, struct place *place, bool *is_code,
		 unsigned short *kind)
{
	unsigned long long start, end, offset, ino;
	unsigned int major, minor;
	char name[4096], rights[8];
	int n, at;

	for (const char *line = maps->text; line && *line; line = strchr(line, '\n') + 1) {
		n = sscanf(line, "%llx-%llx %7s %llx %x:%x %llu%n", &start, &end, rights, &offset,
			   &major, &minor, &ino, &at);
		if (n < 7 || address < start || address >= end)
			continue;
		/* The name is behind blanks, up to the end of the line */
		line += at + strspn(line + at, " ");
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "\n"), line);
		memset(place, 0, sizeof(*place));
		*is_code = strchr(rights, 'x');
		if (kind)
			*kind = kind_of(maps->pid, major, minor, name);
		place->offset = address - start;
		if (!name[0]) {
			copy(place->name, NAME_SIZE, "[anon]");
			return true;
		}
		if (name[0] == '/') {
			place->offset += offset;
			place->file.ino = ino;
			place->file.dev = (unsigned long long)major << 20 | minor;
			note_file(place->file, maps->pid, start, end, name);
		}
		snprintf(place->name, NAME_SIZE, "%s",
			 name[0] == '/' ? strrchr(name, '/') + 1 : name);
		return true;
	}
	return false;
}

/* Another process may have the number by now, or the process has called exec */
static bool is_of(const struct event *event, const struct maps *maps)
{
	static struct {
		unsigned int tid;
		unsigned long long when;	/* ns */
		char comm[COMM_SIZE], leader[COMM_SIZE];
	} last;

	if (maps->pid != event->pid || !strcmp(maps->comm, event->comm))
		return maps->pid == event->pid;
	if (event->tid == event->pid)
		return false;
	/* A thread may have a name of its own */
	if (last.tid != event->tid || now_ns() - last.when > FRESH) {
		last.tid = event->tid;
		last.when = now_ns();
		read_comm(event->pid, event->tid, last.comm);
		read_comm(event->pid, event->pid, last.leader);
	}
	return !strcmp(last.comm, event->comm) && !strcmp(last.leader, maps->comm);
}

static bool look_up(const struct event *event, unsigned long long address, struct place *place,
		    unsigned short *kind)
{
	struct maps *maps = &all_maps[event->pid % 64];
	bool is_code, is_ours;

	if (place->name[0])
		return true;
	if (!address || address >> 63)
		return false;
	is_ours = is_of(event, maps);
	if (is_ours && find(maps, address, place, &is_code, kind))
		return is_code;
	if (maps->pid == event->pid && now_ns() - maps->when < FRESH)
		return !is_ours;
	if (!read_maps(maps, event->pid) || !is_of(event, maps))
		return true;
	return find(maps, address, place, &is_code, kind) && is_code;
}

/**
 * locate - Find the mapping of an address, if it is not known
 * @event:	of the process
 * @address:	the address
 * @place:	gets it
 *
 * Return: whether there may be code; it may be anywhere in a process that has ended
 */
bool locate(const struct event *event, unsigned long long address, struct place *place)
{
	return look_up(event, address, place, NULL);
}

/**
 * locate_event - Find the mappings of an event that are not known, and the kind of memory
 * @event:	the event
 */
void locate_event(struct event *event)
{
	unsigned short kind = FLAG_KIND_UNKNOWN;
	bool wants_kind = event->flags & FLAG_KIND_UNKNOWN && event->outcome <= OUTCOME_MAJOR;

	if (event->mode == MODE_USER)
		locate(event, event->ip, &event->code);
	if ((event->row == ROW_PF && event->mode != MODE_NONE) ||
	    (event->row == ROW_SIGNAL && event->vector == ROW_PF))
		look_up(event, event->address, &event->place, wants_kind ? &kind : NULL);
	if (wants_kind && kind != FLAG_KIND_UNKNOWN)
		event->flags = (event->flags & ~FLAG_KIND_UNKNOWN) | kind;
}

/**
 * maps_free - Free what locate_event() has read
 */
void maps_free(void)
{
	for (int i = 0; i < 64; i++)
		free(all_maps[i].text);
	memset(all_maps, 0, sizeof(all_maps));
}
