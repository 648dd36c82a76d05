// SPDX-License-Identifier: GPL-2.0
/* trap_cost: the ways to see a trap, and which settings and programs each takes */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>

#include "trap_cost.h"

/*
 * The ways to see them
 */
#define PAGEFAULT	"events/pagefault/"
#define EXCEPTIONS	"events/exceptions/page_fault_user/"
#define DYNAMIC		"dynamic_events"
#define ENTER		"events/price/enter/enable", "1", "0"
#define LEAVE		"events/price/leave/enable", "1", "0"
#define MM		"handle_mm_fault"
#define MM_ENTER	" " MM " address=$arg2 flags=$arg3:u32"
#define FORCE		"force_sig_info_to_task"
#define FORCE_ENTER	" " FORCE " info=$arg1 task=$arg2"
#define RETURNS		" ret=$retval"
/* An instance of this name is there while the way is taken */
#define IN(n)		{ "instances/price" #n "/" PAGEFAULT "pagefault_exit/enable", "1", "0" }

#define MM_LATENCY	"kprobe:" MM " { @since[tid] = nsecs; } "		\
			"kretprobe:" MM " /@since[tid]/ { "			\
			"@ns = hist(nsecs - @since[tid]); delete(@since[tid]); }"
#define EXIT_LATENCY	"tracepoint:pagefault:pagefault_exit { @ns = hist(args->duration); }"
/* The begin of struct pagefault, as this kernel may have no BTF */
#define RAW_LATENCY	"struct pf { unsigned long of_fault[4], start, duration; } " \
			"rawtracepoint:pagefault_exit { "			\
			"@ns = hist(((struct pf *)arg0)->duration); }"
#define SYNTHETIC	"price_fault u64 address; u64 us"
#define SINCE		"hist:keys=common_pid:since=common_timestamp.usecs"
#define UNTIL		"hist:keys=common_pid:us=common_timestamp.usecs-$since:"	\
			"onmatch(pagefault.pagefault_entry).price_fault(address,$us)"
#define PERF_RECORD	"perf record -q -c 1 -m 4096 -p $PID -o $RECORD -e "
/* What it has recorded goes into one file, and nothing may have been left out */
#define LTTNG(probe, event)							\
	"HOME=/tmp; export HOME; pid=/var/run/lttng/lttng-sessiond.pid; "	\
	"lttng-sessiond -d --kmod-probes=" probe " && "				\
	"lttng create --output=$RECORD.lttng && "				\
	"lttng enable-channel -k --subbuf-size=4M --num-subbuf=8 all && "	\
	"lttng enable-event -k -c all " event " && "				\
	"trap 'lttng destroy >$RECORD.said; kill $(cat $pid); "			\
	"find $RECORD.lttng -type f -exec cat {} + >$RECORD; "			\
	"while [ -e $pid ]; do sleep 0.1; done; cat $RECORD.said; "		\
	"! grep -qi discarded $RECORD.said; status=$?; "			\
	"rm -rf $RECORD.lttng $RECORD.said; exit $status' INT && "		\
	"lttng start && while :; do sleep 1; done"
/* See scripts/bench/programs.bpf.c */
#define LOAD_BPF(way)	"load_bpf", "exec load_bpf " way,			\
			"[ -e /sys/kernel/btf/vmlinux ]", "this kernel has no BTF"
#define LTTNG_CHECK	"modprobe -q lttng-tracer", "no lttng-modules for this kernel"

const struct way ways[] = {
	{ "off", ALL, "nothing" },
	{ SHARED_LINE, 0, "(to see that a store to a line of all CPUs is seen)" },
	{ "trap", ALL, "each trap: vector, error code, mode, ip; entry and exit",
	  { { "events/trap/enable", "1", "0" } } },
	{ "pagefault", CONTROL | PAGE_FAULTS,
	  "each page fault: address, ip, error code, mode, outcome, signal, duration; when it began",
	  { { PAGEFAULT "pagefault_entry/enable", "1", "0" },
	    { PAGEFAULT "pagefault_exit/enable", "1", "0" } } },
	{ "pagefault_exit", CONTROL | PAGE_FAULTS,
	  "each page fault: address, ip, error code, mode, outcome, signal, duration",
	  { { PAGEFAULT "pagefault_exit/enable", "1", "0" } } },
	{ "all", ALL, "all of these",
	  { { "events/trap/enable", "1", "0" }, { PAGEFAULT "enable", "1", "0" } } },
	{ "hist", CONTROL | PAGE_FAULTS, "how many took how long",
	  { { PAGEFAULT "pagefault_exit/trigger", "hist:keys=duration.log2",
	      "!hist:keys=duration.log2" } } },
	{ "hist_outcome", CONTROL | PAGE_FAULTS, "how many took how long, by outcome",
	  { { PAGEFAULT "pagefault_exit/trigger", "hist:keys=outcome,duration.log2",
	      "!hist:keys=outcome,duration.log2" } } },
	{ "synthetic", CONTROL | PAGE_FAULTS,
	  "each page fault: address, and the time between entry and exit; no nested faults",
	  { { "synthetic_events", SYNTHETIC, "!" SYNTHETIC },
	    { PAGEFAULT "pagefault_entry/trigger", SINCE, "!" SINCE },
	    { PAGEFAULT "pagefault_exit/trigger", UNTIL, "!" UNTIL },
	    { "events/synthetic/price_fault/enable", "1", "0" } } },
	{ "eprobe", CONTROL | PAGE_FAULTS, "the fields that it names: outcome, duration",
	  { { DYNAMIC, "e:price/leave pagefault/pagefault_exit outcome=$outcome duration=$duration",
	      "-:price/leave" }, { LEAVE } } },
	{ "pagefault_exit_perf", CONTROL | PAGE_FAULTS, "what pagefault_exit does",
	  { { PAGEFAULT "pagefault_exit/id" } },
	  "perf", PERF_RECORD "pagefault:pagefault_exit" },
	{ "pagefault_exit_bpftrace", CONTROL | PAGE_FAULTS, "how many took how long",
	  { { PAGEFAULT "pagefault_exit/id" } },
	  "bpftrace", "bpftrace -q -e '" EXIT_LATENCY "'" },
	{ "raw_tp_bpftrace", CONTROL | PAGE_FAULTS, "how many took how long",
	  { { PAGEFAULT "pagefault_exit/id" } },
	  "new_bpftrace", "new_bpftrace -q -e '" RAW_LATENCY "'",
	  "new_bpftrace -l 'rawtracepoint:*' 2>&1 | grep -q '^raw'",
	  "bpftrace lists no raw tracepoint" },
	{ "pagefault_exit_lttng", CONTROL | PAGE_FAULTS, "what pagefault_exit does",
	  { { PAGEFAULT "pagefault_exit/id" } },
	  "lttng", LTTNG("pagefault", "pagefault_exit"), LTTNG_CHECK },
	/*
	 * A page fault of a stack walk: in a probe that the guard does not know, and in
	 * one of a trap event. The second instance is for exits, and walks no stack
	 */
	{ "walk", WALKS, "(to tell the price of the guard)",
	  { { PAGEFAULT "pagefault_exit/id" },
	    { "events/signal/signal_generate/enable", "1", "0" },
	    { "options/userstacktrace", "1", "0" } } },
	{ "walk_guarded", WALKS, "(to tell the price of the guard)",
	  { { "events/trap/trap_entry/enable", "1", "0" },
	    { "options/userstacktrace", "1", "0" },
	    { "instances/price/" PAGEFAULT "pagefault_entry/enable", "1", "0" } } },
	{ "instances_1", CONTROL | FAULTS, "what pagefault_exit does, in an instance",
	  { IN(1) } },
	{ "instances_2", CONTROL | FAULTS, "what pagefault_exit does, in 2 instances",
	  { IN(1), IN(2) } },
	{ "instances_4", CONTROL | FAULTS, "what pagefault_exit does, in 4 instances",
	  { IN(1), IN(2), IN(3), IN(4) } },
	{ "instances_8", CONTROL | FAULTS, "what pagefault_exit does, in 8 instances",
	  { IN(1), IN(2), IN(3), IN(4), IN(5), IN(6), IN(7), IN(8) } },
	{ "user_stack", CONTROL | OTHER_FAULTS,
	  "what pagefault_exit does, and the user stack: 8 addresses at most",
	  { { PAGEFAULT "pagefault_exit/enable", "1", "0" },
	    { "options/userstacktrace", "1", "0" } } },
	{ "page_fault_user", CONTROL | PAGE_FAULTS, "address, ip, error code",
	  { { EXCEPTIONS "enable", "1", "0" } } },
	{ "page_fault_user_hist", CONTROL | PAGE_FAULTS, "how many",
	  { { EXCEPTIONS "trigger", "hist:keys=error_code", "!hist:keys=error_code" } } },
	{ "kprobe", CONTROL | FAULTS, "address; not faults that fail before",
	  { { DYNAMIC, "p:price/enter" MM_ENTER, "-:price/enter" }, { ENTER } } },
	{ "kretprobe", CONTROL | FAULTS,
	  "address, duration, VM_FAULT_*; not error code and ip, faults that fail before",
	  { { DYNAMIC, "p:price/enter" MM_ENTER, "-:price/enter" },
	    { DYNAMIC, "r:price/leave " MM RETURNS, "-:price/leave" },
	    { ENTER }, { LEAVE } } },
	{ "fprobe", CONTROL | FAULTS, "the same",
	  { { DYNAMIC, "f:price/enter" MM_ENTER, "-:price/enter" },
	    { DYNAMIC, "f:price/leave " MM "%return" RETURNS, "-:price/leave" },
	    { ENTER }, { LEAVE } } },
	{ "function_graph", CONTROL | FAULTS, "duration only",
	  { { "set_ftrace_filter", MM, "!" MM },
	    { "current_tracer", "function_graph", "nop" } } },
	{ "page_fault_user_perf", CONTROL | PAGE_FAULTS, "address, ip, error code",
	  { { EXCEPTIONS "id" } },
	  "perf", PERF_RECORD "exceptions:page_fault_user" },
	{ "kretprobe_bpftrace", CONTROL | FAULTS, "how many took how long",
	  { { DYNAMIC } }, "bpftrace", "bpftrace -q -e '" MM_LATENCY "'" },
	{ "lttng", CONTROL | PAGE_FAULTS, "address, ip, some of the error code",
	  { { EXCEPTIONS "id" } },
	  "lttng", LTTNG("x86-exceptions", "x86_exceptions_page_fault_user"), LTTNG_CHECK },
	{ "perf_trace", CONTROL | FAULTS, "address, ip, minor or major; not duration",
	  { }, "perf", "exec perf trace -F all --no-syscalls -m 4096 -p $PID -o $RECORD" },
	{ "trapstat", CONTROL | PAGE_FAULTS,
	  "by process: how many, how they ended, in what memory, how long; the slowest",
	  { }, "trapstat", "exec trapstat faults" },
	{ "fentry_count", CONTROL | FAULTS, "how many calls; not faults that fail before",
	  { }, LOAD_BPF("fentry_count") },
	{ "fexit_count", CONTROL | FAULTS, "the same", { }, LOAD_BPF("fexit_count") },
	{ "fexit_hist", CONTROL | FAULTS,
	  "how many calls took how long, by minor, major, retry, failed; not what fails before",
	  { }, LOAD_BPF("fexit_hist") },
	{ "fexit_hash", CONTROL | FAULTS, "the same, with the beginnings in a hash, by thread",
	  { }, LOAD_BPF("fexit_hash") },
	{ "tp_btf_count", CONTROL | PAGE_FAULTS, "how many",
	  { { PAGEFAULT "pagefault_exit/id" } }, LOAD_BPF("tp_btf_count") },
	{ "tp_btf_hist", CONTROL | PAGE_FAULTS, "how many took how long, by outcome",
	  { { PAGEFAULT "pagefault_exit/id" } }, LOAD_BPF("tp_btf_hist") },
	{ "raw_tp_count", CONTROL | PAGE_FAULTS, "how many",
	  { { PAGEFAULT "pagefault_exit/id" } }, LOAD_BPF("raw_tp_count") },
	{ "raw_tp_hist", CONTROL | PAGE_FAULTS, "how many took how long, by outcome",
	  { { PAGEFAULT "pagefault_exit/id" } }, LOAD_BPF("raw_tp_hist") },
	{ "signal_generate", CONTROL | SIGNALS | BAD_FAULTS,
	  "signal, si_code; not vector, error code, ip; not traps without a signal",
	  { { "events/signal/signal_generate/enable", "1", "0" } } },
	{ "signal_kprobe", CONTROL | SIGNALS | BAD_FAULTS, "that there is a signal",
	  { { DYNAMIC, "p:price/enter" FORCE_ENTER, "-:price/enter" }, { ENTER } } },
	{ "signal_kretprobe", CONTROL | SIGNALS | BAD_FAULTS, "the same, and how long it took",
	  { { DYNAMIC, "p:price/enter" FORCE_ENTER, "-:price/enter" },
	    { DYNAMIC, "r:price/leave " FORCE RETURNS, "-:price/leave" },
	    { ENTER }, { LEAVE } } },
};

const size_t nr_ways = ARRAY_SIZE(ways);
