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
	PAGEFAULT_NOTRAP,
};

/* Of any event; what it does not have is 0 */
struct record {
	enum event event;
	unsigned int error_code, vm_fault, flags, fault_flags;
	unsigned short vector, outcome, user_mode;
	unsigned long long ip, address, duration;
};

#endif
