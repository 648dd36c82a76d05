/* SPDX-License-Identifier: GPL-2.0 */
/* Where an address is: the mapping, and the path of its file */
#ifndef PLACE_BPF_H
#define PLACE_BPF_H

#include "maps.bpf.h"

#define TMPFS_MAGIC		0x01021994
#define HUGETLBFS_MAGIC		0x958458f6

static __always_inline __u32 kind_of(const void *ops, const struct file *file, __u64 magic)
{
	if (!ops)
		return FLAG_ANON;
	if (!file)
		return 0;
	return magic == TMPFS_MAGIC ? FLAG_SHMEM :
	       magic == HUGETLBFS_MAGIC ? FLAG_HUGETLB : FLAG_FILE;
}

/*
 * @address is that of a struct file. The verifier looks once at a function that is not static, but
 * at others for each call, which is too much for Linux 6.1.
 */
__noinline int find_file(__u64 address, struct file_key *found)
{
	const struct file *file = (const void *)address;
	struct file_key key = {
		.ino = BPF_CORE_READ(file, f_inode, i_ino),
		.dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev),
	};
	__u32 generation = BPF_CORE_READ(file, f_inode, i_generation);
	struct dentry *dentry, *parent;
	struct file_path *path;

	if (found)
		*found = key;
	path = bpf_map_lookup_elem(&files, &key);
	if (path && path->generation == generation)
		return 0;
	if (bpf_map_update_elem(&files, &key, &new_path, BPF_ANY)) {
		fail(FAILED_FILE);
		return 0;
	}
	path = bpf_map_lookup_elem(&files, &key);
	if (!path)
		return 0;
	path->generation = generation;
	path->size = BPF_CORE_READ(file, f_inode, i_size);
	dentry = BPF_CORE_READ(file, f_path.dentry);
	for (int i = 0; i < PATH_PARTS; i++) {
		parent = BPF_CORE_READ(dentry, d_parent);
		if (i && parent == dentry)
			break;
		read_name(path->part[i], sizeof(path->part[i]),
			  BPF_CORE_READ(dentry, d_name.name));
		if (parent == dentry)
			break;
		dentry = parent;
	}
	return 0;
}

static __always_inline struct file_key note_file(const struct file *file)
{
	struct file_key key = {};

	find_file((__u64)file, &key);
	return key;
}

static __always_inline void place_of(struct vm_area_struct *vma, struct place *place,
				     __u64 address)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	__u64 start = BPF_CORE_READ(vma, vm_start), end = BPF_CORE_READ(vma, vm_end);
	struct mm_struct *mm = BPF_CORE_READ(vma, vm_mm);

	place->offset = address - start;
	if (file) {
		place->offset += BPF_CORE_READ(vma, vm_pgoff) << config.page_shift;
		place->file = note_file(file);
		read_name(place->name, NAME_SIZE,
			  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	} else if (BPF_CORE_READ(vma, vm_ops)) {
		__builtin_memcpy(place->name, "[special]", sizeof("[special]"));
	} else if (start <= BPF_CORE_READ(mm, brk) && end >= BPF_CORE_READ(mm, start_brk)) {
		__builtin_memcpy(place->name, "[heap]", sizeof("[heap]"));
	} else if (start <= BPF_CORE_READ(mm, start_stack) &&
		   end >= BPF_CORE_READ(mm, start_stack)) {
		__builtin_memcpy(place->name, "[stack]", sizeof("[stack]"));
	} else {
		__builtin_memcpy(place->name, "[anon]", sizeof("[anon]"));
	}
}

struct to_find {
	struct place place;
	__u64 address;
};

static long found(struct task_struct *task, struct vm_area_struct *vma, struct to_find *to_find)
{
	place_of(vma, &to_find->place, to_find->address);
	return 0;
}

/* Functions of their own, for the verifier of Linux 6.1 loses bounds that are spilled */
static __noinline int find_place(struct place *place, __u64 address)
{
	struct to_find to_find = { .address = address };

	long error;

	if (config.find_vma && address) {
		error = bpf_find_vma(bpf_get_current_task_btf(), address, found, &to_find, 0);
		if (error && error != -ENOENT)
			fail(FAILED_VMA);
	}
	*place = to_find.place;
	return 0;
}

#endif
