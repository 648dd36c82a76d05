/* SPDX-License-Identifier: GPL-2.0 */
/* Events one by one: those that are sent, and the slowest of each CPU */
#ifndef EVENTS_BPF_H
#define EVENTS_BPF_H

#include "filter.bpf.h"
#include "place.bpf.h"
#include "waits.bpf.h"

/*
 * The places that perf_ends() has found. That of the instruction is known by the begin, or if the
 * kernel lets it.
 */
static __noinline int copy_places(struct event *event, const struct fault *f)
{
	__u64 task = bpf_get_current_task();
	struct perf_task *t = bpf_map_lookup_elem(&perf_tasks, &task);

	if (t)
		event->place = t->place;
	else
		__builtin_memset(&event->place, 0, sizeof(event->place));
	if (f->mode != MODE_USER) {
		__builtin_memset(&event->code, 0, sizeof(event->code));
		return 0;
	}
	if (t && config.record && !traps_by_mm)
		event->code = t->code;
	else
		find_place(&event->code, f->ip);
	return 0;
}

/* Where a page fault begins, for its event at the end */
static __always_inline void note_error(__u64 address, __u32 mode, __u64 code)
{
	__u64 task = bpf_get_current_task();
	struct errors *e = bpf_map_lookup_elem(&errors, &task), new = {};

	if (!e)
		e = &new;
	e->address[mode & 1] = address;
	e->error[mode & 1] = code + 1;
	if (e == &new && bpf_map_update_elem(&errors, &task, &new, BPF_ANY))
		fail(FAILED_ERROR);
}

static __always_inline __u32 error_of(const struct fault *f)
{
	__u64 task = bpf_get_current_task();
	struct errors *e = bpf_map_lookup_elem(&errors, &task);

	/* The verifier follows no index that the compiler has simplified */
	if (!e || f->mode == MODE_NONE)
		return 0;
	if (f->mode == MODE_USER)
		return e->address[1] == f->address ? e->error[1] : 0;
	return e->address[0] == f->address ? e->error[0] : 0;
}

static __always_inline __s32 stack_of(void *ctx, __u64 flags)
{
	long id = bpf_get_stackid(ctx, &stacks, flags);

	if (id == -EEXIST || id == -ENOMEM)
		fail(FAILED_STACK);
	return id < 0 ? 0 : id + 1;
}

/* What called a fault of user mode is in its program; what is in the kernel is always the same */
static __always_inline void take_stacks(void *ctx, struct fault *f)
{
	struct cpu_counts *here = counts_here();

	if (!config.stacks || !here)
		return;
	here->walker = bpf_get_current_task();
	if (f->mode != MODE_USER)
		f->stack[0] = stack_of(ctx, 0);
	f->stack[1] = stack_of(ctx, BPF_F_USER_STACK);
	here->walker = 0;
}

/* The PID that a container knows */
static __always_inline __u32 own_pid(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid *number;
	int nr = 0;

	number = (void *)pid + bpf_core_field_offset(pid->numbers) +
		 level * bpf_core_type_size(struct upid);
	read_kernel(&nr, sizeof(nr), (void *)number + bpf_core_field_offset(number->nr));
	return nr;
}

/* A process that is gone has no mappings; its callers may be in its program still */
static __noinline int note_program(struct event *event)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = BPF_CORE_READ(task, mm, exe_file);

	if (file)
		event->program = note_file(file);
	event->program_code = BPF_CORE_READ(task, mm, start_code);
	return 0;
}

static __noinline int fill_event(struct event *event, const struct fault *f)
{
	__u64 id = pid_tgid();
	struct waits *w;

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
	event->vector = f->vector;
	event->is_fatal = f->is_fatal;
	event->error = f->error;
	event->order = f->order;
	event->stack[0] = f->stack[0];
	event->stack[1] = f->stack[1];
	/* What the ring buffer has here is of older events */
	w = config.why && f->waits ? waits_here() : NULL;
	event->waits = !!w;
	if (w)
		__builtin_memcpy(event->wait, w->ns, sizeof(event->wait));
	else
		__builtin_memset(event->wait, 0, sizeof(event->wait));
	event->own_pid = config.crashes && config.has_btf ? own_pid() : 0;
	event->cgroup = config.crashes ? bpf_get_current_cgroup_id() : 0;
	event->program.ino = 0;
	if (config.stacks && config.has_btf)
		note_program(event);
	if (bpf_get_current_comm(event->comm, COMM_SIZE))
		fail(FAILED_NAME);
	if (config.ends_by_perf && f->row == ROW_PF) {
		copy_places(event, f);
		return 0;
	}
	/*
	 * With interrupts disabled, bpf_find_vma() runs once: the instruction matters more, and
	 * signal_deliver() or locate_event() may find the other one. The memory of another process
	 * has no place here. 0 is nowhere.
	 */
	find_place(&event->code, f->mode == MODE_USER ? f->ip : 0);
	find_place(&event->place, f->row == ROW_PF && f->mode != MODE_NONE ? f->address : 0);
	return 0;
}

static __always_inline struct slowest *slowest_here(void)
{
	__u32 key = bpf_get_smp_processor_id() * 2 + (generation & 1);

	return bpf_map_lookup_elem(&slowest_faults, &key);
}

static __always_inline bool is_among(const struct slowest *s, const struct fault *f)
{
	return s && s->least < SLOWEST && f->ns > s->fault[s->least].ns;
}

/* Whether the fault may get an event of its own */
static __noinline int is_slow(const struct fault *f)
{
	return (config.slower && f->ns >= config.slower) || is_among(slowest_here(), f);
}

static __always_inline void keep_slowest(const struct fault *f)
{
	struct slowest *s = slowest_here();
	__u32 least = 0;
	__u64 ns;

	if (!is_among(s, f))
		return;
	if (__sync_lock_test_and_set(&s->busy, 1)) {
		fail(FAILED_SLOW);
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

#endif
