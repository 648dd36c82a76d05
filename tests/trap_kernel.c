// SPDX-License-Identifier: GPL-2.0
/*
 * Test the trap_entry and trap_exit trace events where the kselftest's trap_events cannot:
 * raise each vector a known number of times on each CPU, and compare what the trace holds.
 *
 * In kernel mode, a debugfs file of the module trap_test raises it. NMI and #MC from
 * outside come from the monitor of QEMU. Some tests are of
 * user mode: #BR of 64-bit programs, page faults, which have no trap event, and
 * a bad IRET on a 32-bit kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
static bool raise_on_each_cpu(const struct user_trap *t, void *(*argument)(int i))
{
	struct expect_traps x = {
		.vector = t->vector, .name = t->name, .user = true,
		.rounds = not_traced(t->vector) ? 0 : ROUNDS,
	};
	bool matches = true;

	for (int cpu = 0; cpu < cpus() && matches; cpu++) {
		int signals = 0;

		pin(cpu);
		trace_vector(t->vector);
		for (int i = 0; i < ROUNDS; i++)
			signals += raise_user_trap(t, argument ? argument(i) : NULL);
		trace_off(instance);
		snprintf(x.entry_ip, sizeof(x.entry_ip), "0x%lx", trap_ip);
		snprintf(x.exit_ip, sizeof(x.exit_ip), "0x%lx", trap_ip);
		if (signals != (t->signal ? ROUNDS : 0))
			ksft_print_msg("CPU %d: %d signals\n", cpu, signals);
		matches = traps_match(instance, &x, cpu) && signals == (t->signal ? ROUNDS : 0);
	}
	return matches;
}

static void test_bound(void)
{
#ifdef __x86_64__
	set_up_bound();
	ksft_test_result(raise_on_each_cpu(&bound_trap, NULL), "user BR, bound in 32-bit code\n");
#else
	ksft_test_result_skip("user BR, bound in 32-bit code: this program has 32 bit\n");
#endif
}

static char *pages;
static unsigned long kernel_text;

static void *new_page(int i)
{
	if (!i)
		pages = new_pages(ROUNDS * sysconf(_SC_PAGESIZE));
	return pages + i * sysconf(_SC_PAGESIZE);
}

static void *text(int i)
{
	(void)i;
	return (void *)kernel_text;
}

static void test_page_faults(void)
{
	static const struct user_trap write = {
		PF, 0, "#PF", "write to a new page", raise_write, 0
	}, jump = {
		PF, 0, "#PF", "jump to a symbol of the kernel", raise_jump, SIGSEGV
	};
	__u64 address = kernel_symbol("_stext");

	ksft_test_result(raise_on_each_cpu(&write, new_page), "user PF, %s, has no trap event\n",
			 write.what);
	kernel_text = address;
	if (!address || kernel_text != address)
		ksft_test_result_skip("user PF, %s: no address of the kernel in /proc/kallsyms\n",
				      jump.what);
	else
		ksft_test_result(raise_on_each_cpu(&jump, text),
				 "user PF, %s, has no trap event\n", jump.what);
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
 * Raise what @x says. The place of an NMI is known only afterwards, so trace
 * each NMI alone.
 */
static bool raise_kernel_trap(struct expect_traps *x, int cpu)
{
	const int rounds = x->vector == NMI ? 1 : x->rounds;
	struct kernel_trap t;
	bool matches = true;

	pin(cpu);
	for (int i = 0; i < x->rounds && matches; i += rounds) {
		struct expect_traps some = *x;

		trace_vector(x->vector);
		for (int j = 0; j < rounds; j++)
			must(raise_in_kernel(x->vector), RAISE_FILE);
		trace_off(instance);

		some.rounds = not_traced(x->vector) ? 0 : rounds;
		read_kernel_trap(x->vector, &t);
		some.error_code = t.error_code;
		memcpy(some.entry_ip, t.entry_ip, sizeof(t.entry_ip));
		memcpy(some.exit_ip, t.exit_ip, sizeof(t.exit_ip));
		matches = traps_match(instance, &some, cpu);
	}
	return matches;
}

static void test_kernel_trap(unsigned int vector, const char *name)
{
	struct expect_traps x = {
		.vector = vector, .name = name,
		.rounds = vector == NM || vector == CP ? ROUNDS_FEW : ROUNDS,
	};
	struct kernel_trap t;
	bool matches = true;

	/* KTAP has no "#" in a name */
	name += *name == '#';
	if ((vector == NM || vector == CP) && warnings_panic()) {
		ksft_test_result_skip("kernel %s: it would panic on a warning\n",
				      name);
		return;
	}
	if (!read_kernel_trap(vector, &t)) {
		ksft_test_result_skip("kernel %s: %s\n", name,
				      access(RAISE_FILE, R_OK) ? NO_TRAP_TEST :
				      "the kernel has no means to raise it");
		return;
	}
	for (int cpu = 0; cpu < cpus() && matches; cpu++)
		matches = raise_kernel_trap(&x, cpu);
	ksft_test_result(matches, "kernel %s%s\n", name,
			 not_traced(vector) ? ", has no trap event" : "");
}

/* A breakpoint on the instruction that raises #DE in kernel mode comes first */
static void test_kernel_breakpoint(void)
{
	struct expect_traps x = {
		.vector = DB, .name = "#DB", .error_code = DR6_B0,
		.rounds = ROUNDS,
	};
	__u64 address = kernel_symbol("trap_test_de_ip");
	struct kernel_trap t;
	bool matches = true;
	int fd;

	fd = address ? breakpoint(address, true) : -1;
	if (fd < 0 || !read_kernel_trap(DE, &t)) {
		close(fd);
		ksft_test_result_skip("kernel DB, breakpoint: no breakpoint in the kernel\n");
		return;
	}
	memcpy(x.entry_ip, t.entry_ip, sizeof(t.entry_ip));
	memcpy(x.exit_ip, t.entry_ip, sizeof(t.entry_ip));
	for (int cpu = 0; cpu < cpus() && matches; cpu++) {
		pin(cpu);
		trace_vector(DB);
		for (int i = 0; i < ROUNDS; i++)
			must(raise_in_kernel(DE), RAISE_FILE);
		trace_off(instance);
		matches = traps_match(instance, &x, cpu);
	}
	close(fd);
	ksft_test_result(matches, "kernel DB, breakpoint\n");
}

/*
 * IRET to a segment that is not there: the fault is in kernel mode at the IRET,
 * and a kernel of 32 bit makes a trap of user mode of it.
 */
#ifndef __x86_64__
static sig_atomic_t bad_returns;

static void on_iret_signal(int signal, siginfo_t *info, void *context)
{
	static greg_t good_ss, good_esp;
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)info;
	if (signal == SIGUSR2) {
		good_ss = regs[REG_SS];
		good_esp = regs[REG_UESP];
		regs[REG_SS] = 7;
		return;
	}
	bad_returns++;
	regs[REG_SS] = good_ss;
	regs[REG_UESP] = good_esp;
}

static void test_iret(void)
{
	struct sigaction sa = {
		.sa_sigaction = on_iret_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	}, old[3];
	static const int of[] = { SIGUSR2, SIGILL, SIGSEGV };
	int entries = 0, exits = 0, wrong = 0;
	struct event e;
	FILE *f;

	if (kernel_of_64_bit() || !have_ldt) {
		ksft_test_result_skip("user IRET, absent segment: %s\n",
				      have_ldt ? "this kernel is 64-bit" :
						 "no modify_ldt()");
		return;
	}
	pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		sigaction(of[i], &sa, &old[i]);
	trace_vector(IRET);
	for (int i = 0; i < ROUNDS; i++)
		raise(SIGUSR2);
	trace_off(instance);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		sigaction(of[i], &old[i], NULL);

	f = open_trace(instance, 0);
	while (next_event(f, &e)) {
		++*(e.exit ? &exits : &entries);
		wrong += strcmp(e.name, "IRET") || e.error_code || !e.user ||
			 exits != entries - !e.exit;
	}
	fclose(f);
	ksft_print_msg("%d signals, %d entries, %d exits, %d wrong\n",
		       (int)bad_returns, entries, exits, wrong);
	ksft_test_result(bad_returns == ROUNDS && entries == ROUNDS &&
			 exits == ROUNDS && !wrong,
			 "user IRET, absent segment\n");
}
#else
static void test_iret(void)
{
	ksft_test_result_skip("user IRET, absent segment: this program has 64 bit\n");
}
#endif

/*
 * From outside
 *
 * For user mode, a child spins in one instruction, and the trap is taken there.
 * For kernel mode, the trap interrupts the idle task.
 */
void spin(void);
asm(".pushsection .text; .globl spin; spin: jmp spin; .popsection");

/*
 * Whether the trace of @cpu is as expected. A trap of CPU 0 that comes during a
 * timer interrupt is one of kernel mode: @strays counts these.
 */
static bool outside_matches(bool user, int cpu, int rounds, int *strays)
{
	int entries = 0, exits = 0, wrong = 0;
	char ip[IP_SIZE];
	struct event e;
	FILE *f;

	snprintf(ip, sizeof(ip), "0x%lx", (unsigned long)spin);
	f = open_trace(instance, cpu);
	while (next_event(f, &e)) {
		++*(e.exit ? &exits : &entries);
		if (!cpu && user && !e.user)
			++*strays;
		if (e.vector == NMI && !strcmp(e.name, "NMI") && !e.error_code &&
		    (cpu || user || !e.user) && (!e.user || cpu || !strcmp(e.ip, ip)) &&
		    exits == entries - !e.exit)
			continue;
		if (!wrong++)
			ksft_print_msg("CPU %d: %s %u(%s) error code 0x%x %s ip %s\n",
				       cpu, e.exit ? "exit" : "entry", e.vector,
				       e.name, e.error_code,
				       e.user ? "user" : "kernel", e.ip);
	}
	fclose(f);
	if (entries != rounds || exits != rounds)
		ksft_print_msg("CPU %d: %d raised, %d entries, %d exits\n", cpu,
			       rounds, entries, exits);
	return entries == rounds && exits == rounds && !wrong;
}

static void test_nmi(bool user)
{
	int status, strays = 0, last = cpus() - 1;
	bool matches = true;
	pid_t child = 0;

	if (!getenv("QEMU_MONITOR") || !last) {
		ksft_test_result_skip("%s NMI from outside: no QEMU_MONITOR, or a single CPU\n",
				      user ? "user" : "kernel");
		return;
	}
	pin(last);
	if (user) {
		child = must_fork();
		if (!child) {
			pin(0);
			spin();
		}
		usleep(100000);
	}

	trace_on(instance, "vector == 2");
	for (int i = 0; i < ROUNDS && matches; i++) {
		matches = on_qemu_monitor("nmi");
		usleep(20000);
	}
	trace_off(instance);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}

	/*
	 * The monitor's NMI comes through LINT1 of the APIC, which is masked on
	 * all CPUs but the first
	 */
	for (int cpu = 0; cpu <= last; cpu++)
		matches &= outside_matches(user, cpu, cpu ? 0 : ROUNDS, &strays);
	ksft_print_msg("%d of %d events in an interrupt\n", strays, 2 * ROUNDS);
	/* A slow kernel spends most of its time in the timer interrupt */
	ksft_test_result(matches && strays <= 2 * ROUNDS - 2, "%s NMI from outside\n",
			 user ? "user" : "kernel");
}

/* A machine check has its mce_record, and no trap event on any CPU */
static void test_machine_check(void)
{
	const char *name = "MC from outside, has mce_record and no trap event";
	int records = 0, traps = 0;
	bool raised = true;
	char line[512];
	FILE *f;

	if (!getenv("QEMU_MONITOR")) {
		ksft_test_result_skip("%s: no QEMU_MONITOR\n", name);
		return;
	}
	if (put(instance, "events/mce/mce_record/enable", "1")) {
		ksft_test_result_skip("%s: this kernel has no mce_record\n", name);
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
		records = 0;
		traps = 0;
		f = open_trace(instance, -1);
		while (fgets(line, sizeof(line), f)) {
			records += !!strstr(line, ": mce_record: ");
			traps += !!strstr(line, ": trap_e");
		}
		fclose(f);
	}
	trace_off(instance);
	must(put(instance, "events/mce/mce_record/enable", "0"), "mce_record");
	ksft_print_msg("%d raised, %d records, %d trap events\n", ROUNDS_MC, records, traps);
	ksft_test_result(raised && records >= ROUNDS_MC && !traps, "%s\n", name);
}

int main(void)
{
	start("trap/trap_exit");
	start_monitor();
	instance = make_instance("kernel");
	set_up_user_traps();

	ksft_set_plan(ARRAY_SIZE(kernel_traps) + 8);
	test_bound();
	test_page_faults();
	test_iret();
	for (size_t i = 0; i < ARRAY_SIZE(kernel_traps); i++)
		test_kernel_trap(kernel_traps[i].vector, kernel_traps[i].name);
	test_kernel_breakpoint();
	test_nmi(true);
	test_nmi(false);
	test_machine_check();
	ksft_finished();
}
