/* SPDX-License-Identifier: GPL-2.0 */
/* Adds up traps and page faults */
#ifndef COUNTS_BPF_H
#define COUNTS_BPF_H

#include "buckets.h"
#include "events.bpf.h"

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

/* A key's name is refreshed for so many faults */
enum { NAMED = 64 };

static __always_inline void name_key(struct fault_sum *sum, const struct fault_key *key)
{
	struct file_key file = { .ino = key->id, .dev = key->dev };
	struct file_path *path;

	if (config.by == BY_FILE) {
		path = bpf_map_lookup_elem(&files, &file);
		if (path)
			__builtin_memcpy(sum->name, path->part[0], NAME_SIZE);
	} else if (config.by == BY_PROCESS || config.by == BY_THREAD) {
		if (bpf_get_current_comm(sum->name, COMM_SIZE))
			fail(FAILED_NAME);
	}
}

/* The sum that a fault belongs to, or NULL */
static __noinline struct fault_sum *sum_of(const struct fault *f)
{
	struct fault_key key = { .outcome = f->outcome, .mode = f->mode, .flags = f->flags };
	struct fault_sum *sum;
	__u32 zero = 0;
	void *map;

	if ((config.outcome != WANT_ANY && config.outcome != f->outcome) ||
	    !is_wanted_trap(ROW_PF, f->mode))
		return NULL;
	key.flags &= ~FLAG_RETRIED;
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
	struct waits *w;
	__u64 max, seen;
	__u32 bucket;

	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->ns, f->ns);
	w = config.why && f->waits ? waits_here() : NULL;
	for (int i = 0; w && i < WAITS; i++)
		__sync_fetch_and_add(&sum->wait[i], w->ns[i]);
	bucket = bucket_of(f->ns);
	if (f->ns && bucket < BUCKETS)
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

static __always_inline void count_fault(void *ctx, struct fault *f)
{
	if (!config.faults)
		return;
	hide_constants(f);
	if (config.why)
		waits_end(f);
	if (config.record && !f->error)
		f->error = error_of(f);
	if (config.stacks && (config.record || is_slow(f)))
		take_stacks(ctx, f);
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

#endif
