/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of the trap trace events share: see common.c */
#ifndef TRAP_COMMON_H
#define TRAP_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "kselftest.h"

#define TRACING		"/sys/kernel/tracing"
#define RAISE_FILE	"/sys/kernel/debug/x86_trap_test/raise"
#define PROBE_FILE	"/sys/kernel/debug/x86_trap_test/probe"
#define NO_TRAP_TEST	"the module trap_test is not loaded"
#define SUPPRESSED	"/sys/kernel/debug/x86/trap_suppressed"

/* Numbers of vectors, SDM volume 3, "Exception and Interrupt Reference" */
#define DE	0
#define DB	1
#define NMI	2
#define BP	3
#define UD	6
#define NM	7
#define GP	13
#define PF	14
#define MC	18
#define CP	21
#define IRET	32

/* An instruction pointer as printed: a number, or a symbol of the kernel */
#define IP_SIZE		160

struct event {
	unsigned int vector, error_code;
	char name[16];
	bool exit, user;
	char ip[IP_SIZE];
	int cpu;
};

/* A record of the pagefault events; what it does not have is 0 */
struct pagefault {
	char event[16], outcome[16], mode[8], ip[IP_SIZE];
	unsigned long long address, error_code, duration;
	unsigned int flags, vm_fault, fault_flags;
	int signo, si_code, tgid;
};

struct kernel_trap {
	unsigned int error_code;
	char entry_ip[IP_SIZE], exit_ip[IP_SIZE];
};

__printf(3, 4) int put(const char *dir, const char *file, const char *fmt, ...);
__printf(3, 4) int append(const char *dir, const char *file, const char *fmt, ...);
char *get(const char *dir, const char *file);
void must(int ret, const char *what);

const char *make_instance(const char *name);
void remove_instance(const char *instance);
void trace_on(const char *instance, const char *filter);
void trace_off(const char *instance);
FILE *open_trace(const char *instance, int cpu);
bool next_event(FILE *f, struct event *e);
bool next_pagefault(FILE *f, struct pagefault *r);
unsigned long buffer_stat(const char *instance, const char *name);

unsigned long suppressed(void);
bool read_kernel_trap(unsigned int vector, struct kernel_trap *t);
int raise_in_kernel(unsigned int vector);
bool warnings_panic(void);
uint64_t kernel_symbol(const char *name);
int breakpoint(uint64_t address, bool kernel);

void start(void);
pid_t must_fork(void);
void pin(int cpu);
int cpus(void);
char *new_pages(size_t size);
int wait_for_pages(void *p, size_t size);
int open_monitor(void);
void restore_interrupts(void);
bool monitor_command(int fd, const char *fmt, ...) __printf(2, 3);
bool on_qemu_monitor(const char *fmt, ...) __printf(1, 2);
bool machine_check_from_qemu(void);

#endif
