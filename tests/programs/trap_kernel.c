// SPDX-License-Identifier: GPL-2.0
/*
 * Test the trap_entry and trap_exit trace events where the kselftest's trap_events cannot:
 * raise each vector a known number of times on each CPU, and compare what the trace holds.
 *
 * In kernel mode, a debugfs file of the module trap_test raises it. NMI and #MC from
 * outside come from the monitor of QEMU. Two tests are of user mode: #BR of 64-bit
 * programs, and a bad IRET on a 32-bit kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "monitor.h"

/* Rounds of a trap on each CPU: fewer if it logs a warning or costs a page */
#define ROUNDS		25
#define ROUNDS_FEW	2
#define ROUNDS_MC	4

static const char *instance;

/*
 * These have events of their own: pagefault_entry and pagefault_exit, mce_record. No
 * probe may run in a #MC, see the comment of do_machine_check().
 */
static bool not_traced(unsigned int vector)
{
	return vector == PF || vector == MC;
}

/* Trace both events of this process for @vector */
static void trace_vector(unsigned int vector)
{
	char filter[256];

	snprintf(filter, sizeof(filter), "common_pid == %d && vector == %u",
		 getpid(), vector);
	trace_on(instance, filter);
}

/*
 * User mode
 */
static void test_bound(void)
{
	const char *name = "user BR, bound in 32-bit code";
#ifdef __x86_64__
	struct expect_traps x = {
		.vector = bound_trap.vector, .name = bound_trap.name, .user = true,
		.rounds = ROUNDS,
	};
	bool matches = true;

	set_up_bound();
	for (int cpu = 0; cpu < cpus() && matches; cpu++) {
		int signals = 0;

		pin(cpu);
		trace_vector(x.vector);
		for (int i = 0; i < ROUNDS; i++)
			signals += raise_user_trap(&bound_trap, NULL);
		trace_off(instance);
		snprintf(x.entry_ip, sizeof(x.entry_ip), "0x%lx", trap_ip);
		snprintf(x.exit_ip, sizeof(x.exit_ip), "0x%lx", trap_ip);
		if (signals != ROUNDS)
			ksft_print_msg("CPU %d: %d signals\n", cpu, signals);
		matches = traps_match(instance, &x, cpu) && signals == ROUNDS;
	}
	result(matches, name);
#else
	skip(name, "this program is 32-bit");
#endif
}

/*
 * Kernel mode
 */
static const struct {
	unsigned int vector;
	const char *name;
} kernel_traps[] = {
	{ 0, "#DE" }, { 2, "NMI" }, { 3, "#BP" }, { 4, "#OF" }, { 5, "#BR" },
	{ 6, "#UD" }, { 7, "#NM" }, { 9, "OLD_MF" }, { 10, "#TS" },
	{ 11, "#NP" }, { 12, "#SS" }, { 13, "#GP" }, { 14, "#PF" },
	{ 15, "SPURIOUS" }, { 16, "#MF" }, { 17, "#AC" }, { 19, "#XM" },
	{ 21, "#CP" },
};

/*
 * Raise the trap on each CPU. The place of an NMI is known only afterwards, so trace each NMI
 * alone.
 */
static bool raise_in_kernel_of_each_cpu(struct expect_traps *x, int rounds)
{
	const int at_once = x->vector == NMI ? 1 : rounds;
	struct kernel_trap t;
	bool matches = true;

	x->rounds = not_traced(x->vector) ? 0 : at_once;
	for (int i = 0; i < cpus() * rounds && matches; i += at_once) {
		pin(i / rounds);
		trace_vector(x->vector);
		for (int j = 0; j < at_once; j++)
			must(raise_in_kernel(x->vector), RAISE_FILE);
		trace_off(instance);

		read_kernel_trap(x->vector, &t);
		x->error_code = t.error_code;
		memcpy(x->entry_ip, t.entry_ip, sizeof(t.entry_ip));
		memcpy(x->exit_ip, t.exit_ip, sizeof(t.exit_ip));
		matches = traps_match(instance, x, i / rounds);
	}
	return matches;
}

static void test_kernel_trap(unsigned int vector, const char *name)
{
	const bool warns = vector == NM || vector == CP;
	struct expect_traps x = { .vector = vector, .name = name };
	const char *why = NULL;
	struct kernel_trap t;

	/* KTAP has no "#" in a name */
	name += *name == '#';
	if (warns && warnings_panic())
		why = "it would panic on a warning";
	else if (!read_kernel_trap(vector, &t))
		why = access(RAISE_FILE, R_OK) ? NO_TRAP_TEST :
						 "the kernel has no means to raise it";
	if (why) {
		ksft_test_result_skip("kernel %s: %s\n", name, why);
		return;
	}
	ksft_test_result(raise_in_kernel_of_each_cpu(&x, warns ? ROUNDS_FEW : ROUNDS),
			 "kernel %s%s\n", name, not_traced(vector) ? ", has no trap event" : "");
}

/*
 * IRET to a segment that is not there: the fault is in kernel mode at the IRET,
 * and a 32-bit kernel makes a trap of user mode of it.
 */
#ifndef __x86_64__
static sig_atomic_t bad_returns;

static bool on_iret_signal(int signal, ucontext_t *uc)
{
	static greg_t good_ss, good_esp;
	greg_t *regs = uc->uc_mcontext.gregs;

	if (signal == SIGUSR1) {
		good_ss = regs[REG_SS];
		good_esp = regs[REG_UESP];
		regs[REG_SS] = 7;
		return true;
	}
	bad_returns++;
	regs[REG_SS] = good_ss;
	regs[REG_UESP] = good_esp;
	return true;
}
#endif

static void test_iret(void)
{
	const char *name = "user IRET, absent segment";
#ifndef __x86_64__
	int entries = 0, exits = 0, wrong = 0;
	const char *why;
	struct event e;

	why = kernel_of_64_bit() ? "this kernel is 64-bit" : cannot_raise(find_user_trap(11));
	if (why) {
		skip(name, why);
		return;
	}
	pin(0);
	call_first(on_iret_signal);
	trace_vector(IRET);
	for (int i = 0; i < ROUNDS; i++)
		raise(SIGUSR1);
	trace_off(instance);
	call_first(NULL);

	for_each_record(next_event, &e, instance, 0) {
		++*(e.exit ? &exits : &entries);
		wrong += strcmp(e.name, "IRET") || e.error_code || !e.user ||
			 exits != entries - !e.exit;
	}
	ksft_print_msg("%d signals, %d entries, %d exits, %d wrong\n",
		       (int)bad_returns, entries, exits, wrong);
	result(bad_returns == ROUNDS && entries == ROUNDS && exits == ROUNDS && !wrong, name);
#else
	skip(name, "this program is 64-bit");
#endif
}

/*
 * From outside: a child spins in one instruction, and the monitor's NMI is taken there. It comes
 * through LINT1 of the APIC, which is masked on all CPUs but the first.
 */
void spin(void);
asm(".pushsection .text; .globl spin; spin: jmp spin; .popsection");

static void test_nmi(void)
{
	int entries = 0, exits = 0, wrong = 0, strays = 0, last = cpus() - 1;
	const char *name = "user NMI from outside";
	bool raised = true;
	char ip[IP_SIZE];
	struct event e;
	pid_t child;

	if (!getenv("QEMU_MONITOR") || !last) {
		skip(name, "no QEMU_MONITOR, or a single CPU");
		return;
	}
	pin(last);
	child = must_fork();
	if (!child) {
		pin(0);
		spin();
	}
	usleep(100000);
	trace_on(instance, "vector == 2");
	for (int i = 0; i < ROUNDS && raised; i++) {
		raised = on_qemu_monitor("nmi");
		usleep(20000);
	}
	trace_off(instance);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);

	snprintf(ip, sizeof(ip), "0x%lx", (unsigned long)spin);
	for_each_record(next_event, &e, instance, -1) {
		++*(e.exit ? &exits : &entries);
		/* One that comes during a timer interrupt is one of kernel mode */
		strays += !e.user;
		if (e.vector == NMI && !strcmp(e.name, "NMI") && !e.error_code && !e.cpu &&
		    (!e.user || !strcmp(e.ip, ip)) && exits == entries - !e.exit)
			continue;
		if (!wrong++)
			ksft_print_msg("CPU %d: %s %u(%s) error code 0x%x %s ip %s\n", e.cpu,
				       e.exit ? "exit" : "entry", e.vector, e.name,
				       e.error_code, e.user ? "user" : "kernel", e.ip);
	}
	ksft_print_msg("%d raised, %d entries, %d exits, %d events in an interrupt\n", ROUNDS,
		       entries, exits, strays);
	/* A slow kernel spends most of its time in the timer interrupt */
	result(raised && entries == ROUNDS && exits == ROUNDS && !wrong &&
	       strays <= 2 * ROUNDS - 2, name);
}

/* A machine check has its mce_record, and no trap event on any CPU */
static void test_machine_check(void)
{
	const char *name = "MC from outside, has mce_record and no trap event";
	int records = 0, traps = 0;
	bool raised = true;

	if (!getenv("QEMU_MONITOR") || put(instance, "events/mce/mce_record/enable", "1")) {
		skip(name, getenv("QEMU_MONITOR") ? "this kernel has no mce_record" :
						    "no QEMU_MONITOR");
		return;
	}
	trace_on(instance, "vector == 18");
	for (int i = 0; i < ROUNDS_MC && raised; i++) {
		raised = machine_check_from_qemu();
		usleep(20000);
	}
	/* The record is written later, by a worker */
	for (int second = 0; second < 10 && records < ROUNDS_MC; second++) {
		sleep(1);
		records = count_lines(instance, ": mce_record: ");
		traps = count_lines(instance, ": trap_e");
	}
	trace_off(instance);
	must(put(instance, "events/mce/mce_record/enable", "0"), "mce_record");
	ksft_print_msg("%d raised, %d records, %d trap events\n", ROUNDS_MC, records, traps);
	result(raised && records >= ROUNDS_MC && !traps, name);
}

int main(void)
{
	start("trap/trap_exit");
	start_monitor();
	instance = make_instance("kernel");
	set_up_user_traps();

	ksft_set_plan(ARRAY_SIZE(kernel_traps) + 4);
	test_bound();
	test_iret();
	for (size_t i = 0; i < ARRAY_SIZE(kernel_traps); i++)
		test_kernel_trap(kernel_traps[i].vector, kernel_traps[i].name);
	test_nmi();
	test_machine_check();
	ksft_finished();
}
