# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC2046 # variables of scripts/check/run
# tools: tracefs, trace-cmd, perf, bpftrace and libbpf show what was raised, to the last one
#
# In the guest, scripts/guest/tools has each of them look at a program that raises so many
# of each kind of trap and page fault, and says which (scripts/guest/raise.c).
# scripts/report/compare.py compares what they printed with that. The tools are Debian's
# newest: see scripts/vm/rootfs.

need clang-19 trace-cmd perf bpftrace
root=$("$top/scripts/vm/rootfs" "$base" 2>"$logs/root.log") || no_source 'the root of the guest is made' "$logs/root.log"
check 'tools: the kernel builds without a warning' builds_clean tools
kernels tools guest
out=$logs/tools/out

# The programs: of the sort that has no library, and for BPF with those of the root
programs_built() (
	mkdir -p "$logs/programs" && build_raise "$logs/programs/raise" && cd "$top/scripts/guest" &&
	bpf_object trap_bpf.o && bpf_object trap_bpf.other.o -DOTHER_KERNEL &&
	gcc -O2 -Wall -Werror --sysroot="$root" -L"$root/usr/lib/x86_64-linux-gnu" \
		-o "$logs/programs/trap_bpf" trap_bpf.c -lbpf
)
bpf_object() {	# FILE OPTION...
	file=$1
	shift
	clang-19 --target=bpf -g -O2 -Wall -Werror "$@" -nostdinc \
		-isystem "$(clang-19 -print-resource-dir)/include" -isystem "$root/usr/include" \
		-isystem "$root/usr/include/x86_64-linux-gnu" -c -o "$logs/programs/$file" \
		trap_bpf.bpf.c
}

# One guest for all that needs no other kernel
parts='boot switch filters triggers pids clocks pipes trace_cmd perf_tool bpf_trace libbpf recipes'
tools_guest() {
	programs_built && rm -rf "$logs/recipes" "$logs/tools" && mkdir "$logs/recipes" &&
	compare extract "$logs/recipes" "$top/Documentation/trap/events-trap.rst" >"$logs/recipes.names" ||
		return 1
	guest tools "$logs/tools" -r "$root" \
		-a 'trace_event=trap:trap_entry,pagefault:pagefault_exit trace_instance=early,trap:trap_exit' <<EOF
cp $logs/programs/* /job
$top/scripts/guest/tools /job/raise /job/out $logs/recipes $parts >/job/log 2>&1
EOF
	cat "$logs/tools/log" "$out/seconds"
	grep '^CONFIG_HZ=' "$dir/tools/.config" >"$out/clocks/hz" &&
	[ "$(wc -l <"$out/seconds")" = "$(echo "$parts" | wc -w)" ] && ! grep -H . "$out"/*/errors
}

# The tools that this machine has, which may be old, with its root, on a kernel without BTF
old_tools_guest() {
	rm -rf "$logs/old" && guest guest "$logs/old" <<EOF || return 1
cp $logs/programs/* /job
$top/scripts/guest/tools /job/raise /job/out $logs/recipes recipes >/job/log 2>&1
/job/trap_bpf /job/trap_bpf.o /job/raise each 1 >/job/btf 2>&1
echo "status \$?" >>/job/btf
EOF
	cat "$logs/old/log"
	grep '^recipes ' "$logs/old/out/seconds"
}
# The same guest for a user, with a program that only the host has
run_root() {
	# shellcheck disable=SC2016 # of that program
	printf '#!/bin/sh\necho "from the host: $1"\n' >"$logs/on-the-host" &&
	chmod +x "$logs/on-the-host" &&
	ROOT=tools CMD="$logs/on-the-host word" "$top/scripts/vm/run" >"$logs/run-host" &&
	grep -qx 'from the host: word' "$logs/run-host" &&
	env ROOT=tools CMD='perf --version' "$top/scripts/vm/run" >"$logs/run-root" &&
	cat "$logs/run-root" &&
	perf=$(sed -n 's/^linux-perf \([^-]*\)-.*/\1/p' "$root/packages") &&
	grep -qx "perf version $perf" "$logs/run-root" &&
	grep -q 'exit status 0: perf --version$' "$logs/run-root"
}
says() {	# FILE WORDS
	cat "$1"
	[ "$(paste -sd ' ' "$1")" = "error: $2 status 1" ]
}
no_events_guest() {
	guest ftracetest-base "$logs/without" <<EOF || return 1
$logs/programs/trap_bpf $logs/programs/trap_bpf.o $logs/programs/raise each 1 >/job/events 2>&1
echo "status \$?" >>/job/events
EOF
	says "$logs/without/events" 'this kernel has no events trap and pagefault: build it with the series'
}

group=tools
export TIMEOUT="${TIMEOUT:-1200}"
check 'tools: they run in a guest with the root of scripts/vm/rootfs' tools_guest
[ -f "$out/seconds" ] || exit 0
while read -r name what; do
	check "tools: $what" compare "$name" "$out"
done <<'EOF'
counts_are_seen a wrong count is seen
boot trace_event= and trace_instance= on the command line
switch set_event and enable, on and off
instances an instance has its own events
filters a filter of each field lets through what it names, and no other
stack_trigger the trigger stacktrace
snapshot_trigger the trigger snapshot
traceoff_trigger the trigger traceoff
hist_triggers the trigger hist, sorted
log2_trigger the trigger hist, by log2
synthetic_event a synthetic event of entry and exit
one_process set_event_pid
clocks each trace_clock
trace_pipe trace_pipe
trace_cmd_records trace-cmd record and report
trace_dat trace-cmd reads the file that it wrote
trace_cmd_stacks trace-cmd hist
perf_lists perf list
perf_counts perf stat
perf_records perf record and script
perf_stacks perf record -g has the stack from main() to the instruction, and the handler
perf_reports perf report
perf_traces perf trace
perf_does_not_loop perf does not sample what its samples do
bpftrace_shows bpftrace has each field
bpftrace_maps bpftrace counts and times
bpftrace_stacks bpftrace has both stacks
tools_refuse perf and bpftrace say what is not there
libbpf_shows a program of libbpf has each field
libbpf_arguments a program of libbpf reads struct pagefault
EOF
check 'tools: a program of libbpf for another kernel says so' says "$out/libbpf/other" \
	'no field other_field in trace_event_raw_trap here: the program is for another kernel'
check 'tools: the tools of this machine run on a kernel without BTF' old_tools_guest
for job in tools old; do
	of=Debian
	[ $job = tools ] || of='this machine'
	while read -r recipe; do
		check "tools: the recipe $recipe, by the tools of $of" \
			compare recipe "$logs/$job/out/recipes" "$recipe" "$logs/programs/raise"
	done <"$logs/recipes.names"
	check "tools: the recipes leave nothing behind, by the tools of $of" \
		compare nothing_left "$logs/$job/out/recipes" $(cat "$logs/recipes.names")
done
for job in tools old; do
	check "tools: no splat on the console of $job" console_clean "$logs/$job/console.log"
done
check 'tools: a program of libbpf says that there is no BTF' says "$logs/old/btf" \
	'this kernel has no /sys/kernel/btf/vmlinux: build it with CONFIG_DEBUG_INFO_BTF=y'
check 'tools: make run ROOT=tools' run_root
if [ "${TRAP_FAST:-}" ]; then
	skip 'tools: a program of libbpf says that there are no events' 'make check-all has a kernel for it'
else
	kernels ftracetest-base
	check 'tools: a program of libbpf says that there are no events' no_events_guest
fi
