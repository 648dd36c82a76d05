/* SPDX-License-Identifier: GPL-2.0 */
/* What the two sides of trap_bpf.c share */
#ifndef TRAP_BPF_H
#define TRAP_BPF_H

#define VECTORS	33

enum event {
	TRAP_ENTRY,
	TRAP_EXIT,
	PAGEFAULT_ENTRY,
	PAGEFAULT_EXIT,
	PAGEFAULT_NOREGS,
};

/* Of any event; what it does not have is 0 */
struct record {
	enum event event;
	int of_argument;	/* read from the argument of the tracepoint */
	unsigned int vector, user_mode, outcome, flags, vm_fault, fault_flags;
	int signo, si_code, tgid;
	unsigned long long ip, address, error_code, duration;
};

#endif
