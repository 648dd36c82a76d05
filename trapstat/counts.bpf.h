/* SPDX-License-Identifier: GPL-2.0 */
/* The maps of the BPF side, and the functions that count in them */
#ifndef COUNTS_BPF_H
#define COUNTS_BPF_H

#define TMPFS_MAGIC		0x01021994
#define HUGETLBFS_MAGIC		0x958458f6

/* include/linux/mm_types.h: enum fault_flag and enum vm_fault_reason */
#define FAULT_TRIED		0x20
#define FAULT_USER		0x40
#define FAULT_VMA_LOCK		0x1000
#define VM_FAULT_OOM		0x1
#define VM_FAULT_MAJOR		0x4
#define VM_FAULT_ERROR		0x873
#define VM_FAULT_RETRY		0x400

const __volatile__ struct config config;	/* set before the programs are loaded */
unsigned int generation;		/* which of slowest_faults is in use */
unsigned int nothing;			/* 0 */
unsigned int spawner;			/* the thread of trapstat that forks the command, or 0 */
bool traps_by_mm;			/* handle_mm_fault() is the only source of page faults */

struct fault {
	__u64 address, ip, ns, ino, end;	/* end: 0 for now */
	__u32 dev;
	__u32 row, outcome, mode, flags, signal, si_code;
};

/* A task's call of handle_mm_fault(): in progress, or to be tried again, or past */
struct call {
	__u64 start, ns, address, ip, ino, stack;
	__u32 dev, flags, fault_flags;
	__u8 no_regs, retried;
};

/* By CPU. A call of bpf() to read a map may keep a program from running; a mapping does not. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_counts);
} counts SEC(".maps");

/* A trap that has begun, by the place of its registers: the next one there takes its place */
struct begin {
	__u64 start, ip;
	__u32 row, vector;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u64);
	__type(value, struct begin);
} begun SEC(".maps");

/* By the address of the task, which no other task has until sched_process_free fires for it */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, struct call);
} calls SEC(".maps");

/* The tasks to follow, by their address */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u8);
} followed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct file_key);
	__type(value, struct file_path);
} files SEC(".maps");

/* The control group of --cgroup. It is made for that alone. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

/*
 * The reader puts the other map in place before it reads one. That waits until no program
 * uses the one to read, so nothing is lost.
 */
struct fault_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct fault_key);
	__type(value, struct fault_sum);
} faults_0 SEC(".maps"), faults_1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct fault_map);
} faults SEC(".maps") = { .values = { &faults_0 } };

/* Two for each CPU */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct slowest);
} slowest_faults SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} events SEC(".maps");

/* What a new key begins with, as the stack has no room for it */
static const struct fault_sum new_sum = {};
static const struct file_path new_path = {};
static const struct call new_call = {};

static __always_inline struct cpu_counts *counts_here(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counts, &cpu);
}

static __always_inline void lose(enum lost what)
{
	struct cpu_counts *here = counts_here();

	if (here)
		__sync_fetch_and_add(&here->lost[what], 1);
}

static __always_inline void fail(enum failure what)
{
	struct cpu_counts *here = counts_here();

	if (here)
		__sync_fetch_and_add(&here->failed[what], 1);
}

/* Of the current task, as our PID namespace has them; 0 if the task is not in there */
static __always_inline __u64 pid_tgid(void)
{
	struct bpf_pidns_info info;

	if (!config.ns_ino)
		return bpf_get_current_pid_tgid();
	if (bpf_get_ns_current_pid_tgid(config.ns_dev, config.ns_ino, &info, sizeof(info)))
		return 0;
	return (__u64)info.tgid << 32 | info.pid;
}

static __always_inline bool is_wanted(void)
{
	char comm[COMM];
	__u64 task;

	if (config.pid && pid_tgid() >> 32 != config.pid)
		return false;
	if (config.cgroup && bpf_current_task_under_cgroup(&cgroups, 0) != 1)
		return false;
	if (config.follow) {
		task = bpf_get_current_task();
		if (!bpf_map_lookup_elem(&followed, &task))
			return false;
	}
	if (config.comm[0]) {
		if (bpf_get_current_comm(comm, sizeof(comm)))
			fail(FAILED_NAME);
		for (int i = 0; i < COMM; i++) {
			if (comm[i] != config.comm[i])
				return false;
			if (!comm[i])
				break;
		}
	}
	return true;
}

static __always_inline __u32 vector_of(__u32 row)
{
	return row == ROW_SPLIT_LOCK ? 17 : row == ROW_BUS_LOCK ? 1 : row == ROW_UMIP ? 13 : row;
}

static __always_inline bool is_wanted_trap(__u32 row, __u32 mode)
{
	return (config.outcome == ANY || row == ROW_PF) &&
		(config.vector == ANY || config.vector == row ||
		config.vector == vector_of(row)) &&
		(config.mode == ANY || config.mode == mode);
}

static __always_inline void count_trap(__u32 row, __u32 mode, __u64 count, __u64 ns)
{
	struct cpu_counts *here = counts_here();
	struct trap_sum *sum;

	if (!here || !config.traps || row >= ROWS || mode > MODE_USER ||
	    !is_wanted_trap(row, mode))
		return;
	sum = &here->trap[row][mode];
	/* A program of another task may come in between */
	if (count)
		__sync_fetch_and_add(&sum->count, count);
	if (ns)
		__sync_fetch_and_add(&sum->ns, ns);
}

static __always_inline struct file_key note_file(const struct file *file)
{
	struct file_key key = {
		.ino = BPF_CORE_READ(file, f_inode, i_ino),
		.dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev),
	};
	__u32 generation = BPF_CORE_READ(file, f_inode, i_generation);
	struct dentry *dentry, *parent;
	struct file_path *path;

	path = bpf_map_lookup_elem(&files, &key);
	if (path && path->generation == generation)
		return key;
	if (bpf_map_update_elem(&files, &key, &new_path, BPF_ANY)) {
		fail(FAILED_FILE);
		return key;
	}
	path = bpf_map_lookup_elem(&files, &key);
	if (!path)
		return key;
	path->generation = generation;
	path->size = BPF_CORE_READ(file, f_inode, i_size);
	dentry = BPF_CORE_READ(file, f_path.dentry);
	for (int i = 0; i < PARTS; i++) {
		parent = BPF_CORE_READ(dentry, d_parent);
		if (i && parent == dentry)
			break;
		bpf_probe_read_kernel_str(path->part[i], sizeof(path->part[i]),
					  BPF_CORE_READ(dentry, d_name.name));
		if (parent == dentry)
			break;
		dentry = parent;
	}
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
		place->offset += BPF_CORE_READ(vma, vm_pgoff) << 12;
		place->file = note_file(file);
		bpf_probe_read_kernel_str(place->name, NAME,
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

static __noinline int fill_event(struct event *event, const struct fault *f)
{
	__u64 id = pid_tgid();

	event->end = f->end ? f->end : bpf_ktime_get_ns();
	event->ns = f->ns;
	event->address = f->address;
	event->ip = f->ip;
	event->pid = id >> 32;
	event->tid = id;
	event->row = f->row;
	event->outcome = f->outcome;
	event->mode = f->mode;
	event->flags = f->flags;
	event->signal = f->signal;
	event->si_code = f->si_code;
	if (bpf_get_current_comm(event->comm, COMM))
		fail(FAILED_NAME);
	/*
	 * With interrupts disabled, bpf_find_vma() runs once: the instruction matters more, and
	 * locate_event() may find the other one. The memory of another process has no place
	 * here. 0 is nowhere.
	 */
	find_place(&event->code, f->mode == MODE_USER ? f->ip : 0);
	find_place(&event->place, f->row == ROW_PF && f->mode != MODE_NONE ? f->address : 0);
	return 0;
}

static __always_inline void keep_slowest(const struct fault *f)
{
	__u32 key = bpf_get_smp_processor_id() * 2 + (generation & 1), least = 0;
	struct slowest *s = bpf_map_lookup_elem(&slowest_faults, &key);
	__u64 ns;

	if (!s || s->least >= SLOWEST || f->ns <= s->fault[s->least].ns)
		return;
	if (__sync_lock_test_and_set(&s->busy, 1)) {
		lose(LOST_EVENTS);
		return;
	}
	least = s->least;
	if (least < SLOWEST) {
		fill_event(&s->fault[least], f);
		least = 0;
		ns = s->fault[0].ns;
		for (int i = 1; i < SLOWEST; i++) {
			if (s->fault[i].ns < ns) {
				ns = s->fault[i].ns;
				least = i;
			}
		}
		s->least = least;
	}
	__sync_lock_test_and_set(&s->busy, 0);
}

static __noinline int send_event(const struct fault *f)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		lose(LOST_EVENTS);
		return 0;
	}
	fill_event(event, f);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/* A key's name is refreshed for so many faults */
enum { NAMED = 64 };

static __always_inline void name_key(struct fault_sum *sum, const struct fault_key *key)
{
	struct file_key file = { .ino = key->id, .dev = key->dev };
	struct file_path *path;

	if (config.by == BY_FILE) {
		path = bpf_map_lookup_elem(&files, &file);
		if (path)
			__builtin_memcpy(sum->name, path->part[0], NAME);
	} else if (config.by == BY_PROCESS || config.by == BY_THREAD) {
		bpf_get_current_comm(sum->name, COMM);
	}
}

/* The sum that a fault belongs to, or NULL */
static __noinline struct fault_sum *sum_of(const struct fault *f)
{
	struct fault_key key = { .outcome = f->outcome, .mode = f->mode, .flags = f->flags };
	struct fault_sum *sum;
	__u32 zero = 0;
	void *map;

	if ((config.outcome != ANY && config.outcome != f->outcome) ||
	    !is_wanted_trap(ROW_PF, f->mode))
		return NULL;
	key.flags &= ~RETRIED;
	switch (config.by) {
	case BY_NOTHING:
		break;
	case BY_PROCESS:
		key.id = pid_tgid() >> 32;
		break;
	case BY_THREAD:
		key.id = (__u32)pid_tgid();
		break;
	case BY_CGROUP:
		key.id = bpf_get_current_cgroup_id();
		break;
	case BY_FILE:
		key.id = f->ino;
		key.dev = f->dev;
		break;
	}
	map = bpf_map_lookup_elem(&faults, &zero);
	if (!map)
		return NULL;
	sum = bpf_map_lookup_elem(map, &key);
	if (!sum) {
		/* It may be there by now: then that one counts */
		bpf_map_update_elem(map, &key, &new_sum, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(map, &key);
		if (!sum) {
			lose(LOST_FAULTS);
			return NULL;
		}
	}
	/* A process has the name of its parent's program before it calls exec */
	if (sum->count < NAMED)
		name_key(sum, &key);
	__sync_fetch_and_add(&sum->count, 1);
	return sum;
}

static __noinline int add_fault(const struct fault *f)
{
	struct fault_sum *sum = sum_of(f);
	__u64 max, seen;
	__u32 bucket;

	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->ns, f->ns);
	bucket = bucket_of(f->ns);
	if (bucket < BUCKETS)
		__sync_fetch_and_add(&sum->bucket[bucket], 1);
	max = sum->max;
	for (int i = 0; i < 4 && f->ns > max; i++) {
		seen = __sync_val_compare_and_swap(&sum->max, max, f->ns);
		if (seen == max)
			break;
		max = seen;
	}
	if (config.record || (config.slower && f->ns >= config.slower))
		send_event(f);
	keep_slowest(f);
	return 0;
}

/*
 * The verifier of Linux 6.1 does not follow constants through the stack into a function. It
 * takes a state with another constant for the same, and removes code as dead that is not.
 * So it must not know them.
 */
static __always_inline void hide_constants(struct fault *f)
{
	f->mode |= nothing;
	f->outcome |= nothing;
	f->flags |= nothing;
	f->row = ROW_PF | nothing;
}

static __always_inline void count_fault(struct fault *f)
{
	if (!config.faults)
		return;
	hide_constants(f);
	add_fault(f);
}

/* A page fault whose end is not known, or not yet */
static __always_inline void count_begin(struct fault *f)
{
	if (!config.faults || config.by == BY_FILE)
		return;
	hide_constants(f);
	sum_of(f);
}

/* Traps other than page faults. The layout of struct pt_regs is that of <asm/ptrace.h> */

static __always_inline __u32 mode_of(const struct pt_regs *regs)
{
	__u64 cs = 0;

	bpf_probe_read_kernel(&cs, sizeof(cs), &regs->cs);
	return cs & 3 ? MODE_USER : MODE_KERNEL;
}

/* The row of the table; see row_of_trap() */
static __always_inline __u32 row_of(const struct pt_regs *regs, __u32 vector, __u32 mode,
				    __u64 error_code)
{
	__u64 flags = 0, ip = 0, code = 0;

	if (vector == 17)
		bpf_probe_read_kernel(&flags, sizeof(flags), &regs->eflags);
	if (vector == 13 && mode == MODE_USER && !error_code) {
		bpf_probe_read_kernel(&ip, sizeof(ip), &regs->rip);
		if (bpf_probe_read_user(&code, sizeof(code), (void *)ip))
			bpf_probe_read_user(&code, 3, (void *)ip);	/* the page may end */
	}
	return row_of_trap(vector, mode, error_code, flags, code);
}

#endif
