/* SPDX-License-Identifier: GPL-2.0 */
/* What the project's own tests share, on top of the kselftest's common.h: see lib.c */
#ifndef TESTS_LIB_H
#define TESTS_LIB_H

#include "pagefault.h"
#include "trap.h"
#include "user_traps.h"

#define TRAP_TEST	"/sys/kernel/debug/x86_trap_test"
#define RAISE_FILE	TRAP_TEST "/raise"
#define PROBE_FILE	TRAP_TEST "/probe"
#define CR2_FILE	TRAP_TEST "/cr2"
#define FAULT_FILE	TRAP_TEST "/fault"
#define NO_TRAP_TEST	"the module trap_test is not loaded"

/* More vectors, SDM volume 3, "Exception and Interrupt Reference" */
#define DE	0
#define DB	1
#define NMI	2
#define UD	6
#define NM	7
#define GP	13
#define MC	18
#define CP	21
#define IRET	32

/* Macros, as kselftest.h counts the results of each file */
#define result(good, name)	ksft_test_result(good, "%s\n", name)
#define skip(name, why)		ksft_test_result_skip("%s: %s\n", name, why)

#define LINE_SIZE	512

/* For each record in the trace of @cpu, or of all CPUs. Leave by "continue" only */
#define for_each_record(next, record, instance, cpu)	\
	for (FILE *f = open_trace(instance, cpu); next(f, record) || close_trace(f); )

/* Take "D" as frame pointer for a while; AT_SI is the memory at "S" */
#ifdef __x86_64__
#define SP		"%%rsp"
#define CX		"%%rcx"
#define AT_SI		"(%%rsi)"
#define ENTER_FRAME	"push %%rbp; mov %%rdi, %%rbp;"
#define LEAVE_FRAME	"; pop %%rbp"
#else
#define SP		"%%esp"
#define CX		"%%ecx"
#define AT_SI		"(%%esi)"
#define ENTER_FRAME	"push %%ebp; mov %%edi, %%ebp;"
#define LEAVE_FRAME	"; pop %%ebp"
#endif

/* What the module says of a trap that it raises in kernel mode */
struct kernel_trap {
	unsigned int error_code;
	char entry_ip[IP_SIZE], exit_ip[IP_SIZE];
};

/* give_up() reports why a child failed, and exits */
__printf(1, 2) __noreturn void give_up(const char *fmt, ...);

__printf(3, 4) int append(const char *dir, const char *file, const char *fmt, ...);
void remove_instance(const char *instance);
unsigned long buffer_stat(const char *instance, const char *name);
bool close_trace(FILE *f);
bool next_line(FILE *f, char *line);
int count_lines(const char *instance, const char *text);
void touch_stack(void);
bool read_held(struct server *s, void *at);
void trace_all_faults(const void *p, size_t size);
void call_first(bool (*f)(int signo, ucontext_t *context));

bool read_kernel_trap(unsigned int vector, struct kernel_trap *t);
int raise_in_kernel(unsigned int vector);
int attach_probe(const char *what);
bool warnings_panic(void);

void raise_jump(void *arg);
void raise_bp_in_frame(void *arg);
const struct user_trap *find_user_trap(unsigned int vector);
#ifdef __x86_64__
extern const struct user_trap bound_trap;
void set_up_bound(void);
#endif

bool plug(int cpu, bool online);

int make_swap(char *path, size_t path_size, size_t size);
void remove_swap(char *path);

#endif
