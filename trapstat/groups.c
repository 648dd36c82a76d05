// SPDX-License-Identifier: GPL-2.0
/* Control groups: their paths */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "groups.h"
#include "util.h"

#define FILEID_KERNFS	0xfe	/* include/linux/exportfs.h */

/**
 * group_root - Where cgroup v2 is mounted, or NULL
 */
const char *group_root(void)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	static char path[256];
	struct mntent *mount;

	while (f && !path[0] && (mount = getmntent(f)))
		if (!strcmp(mount->mnt_type, "cgroup2"))
			copy(path, sizeof(path), mount->mnt_dir);
	if (f)
		endmntent(f);
	return path[0] ? path : NULL;
}

/**
 * group_name - The path of a control group below group_root()
 * @id:	its number, which is what a handle of its folder has
 *
 * Return: the path, or "" if it is not known
 */
const char *group_name(unsigned long long id)
{
	static char path[256];
	struct {
		struct file_handle handle;
		unsigned char id[8];
	} h = { .handle = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	const char *folder = group_root();
	int root = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, fd;
	size_t size = folder ? strlen(folder) : 0;
	char link[64];
	ssize_t n = -1;

	memcpy(h.handle.f_handle, &id, sizeof(id));
	fd = root < 0 ? -1 : open_by_handle_at(root, &h.handle, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, sizeof(path) - 1);
		close(fd);
	}
	if (root >= 0)
		close(root);
	path[n > 0 ? n : 0] = '\0';
	if (n <= 0 || strncmp(path, folder, size))
		return "";
	return path[size] ? path + size : "/";
}
