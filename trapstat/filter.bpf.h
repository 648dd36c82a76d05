/* SPDX-License-Identifier: GPL-2.0 */
/* Which events the options ask for */
#ifndef FILTER_BPF_H
#define FILTER_BPF_H

#include "maps.bpf.h"

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

/* To walk a stack may take page faults, which are not those of the task */
static __always_inline bool is_walked(void)
{
	struct cpu_counts *here = counts_here();

	return here && here->walker == bpf_get_current_task();
}

static __always_inline bool is_wanted(void)
{
	char comm[COMM_SIZE];
	__u64 task;
	__u32 pid;
	long is_in;

	if (config.stacks && is_walked())
		return false;
	if (config.pids) {
		pid = pid_tgid() >> 32;
		if (!bpf_map_lookup_elem(&pids, &pid))
			return false;
	}
	if (config.cgroup) {
		is_in = bpf_current_task_under_cgroup(&cgroups, 0);
		if (is_in < 0)
			lose(LOST_EVENTS);
		if (is_in != 1)
			return false;
	}
	if (config.follow) {
		task = bpf_get_current_task();
		if (!bpf_map_lookup_elem(&followed, &task))
			return false;
	}
	if (config.comm[0]) {
		if (bpf_get_current_comm(comm, sizeof(comm)))
			fail(FAILED_NAME);
		for (int i = 0; i < COMM_SIZE; i++) {
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
	return (config.outcome == WANT_ANY || row == ROW_PF) &&
		(config.vector == WANT_ANY || config.vector == row ||
		config.vector == vector_of(row)) &&
		(config.mode == WANT_ANY || config.mode == mode);
}

#endif
