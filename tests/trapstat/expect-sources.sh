# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part trapstat: what each source of events knows, and what it costs while nothing happens.

sources_named() {
	file=$job/capabilities
	cat "$file"
	if is_ours; then
		says 'pagefault:pagefault_exit' && says 'trap:trap_entry'
	else
		says 'fentry, fexit of handle_mm_fault()' && says 'exceptions:page_fault_*' &&
		says 'signal:signal_generate, with a signal'
	fi && says '  signal:signal_generate' && ! grep -E '.{81}' "$file"
}
other_sources_right() {
	local kind
	kind='MINOR user anon'
	has_btf || kind='MINOR user -'
	exits kprobe 0 && cat "$file" &&
	{ [ "$kernel" != linux-image-amd64 ] || says 'does not count skipped kprobes'; } &&
	faults 1000 1100 "$kind" && faults 50 50 'ELSEWHERE user -' && held 5 &&
	exits none 0 && cat "$file" && faults 1050 1150 '- user -' && says 'counted: - minor, - major;' &&
	says 'SEGV_MAPERR 50' || return 1
	# A kretprobe misses the ends of most
	ends stuck 0 && cat "$file" &&
	[ $(($(kinds 'INTERRUPTED' user) + $(lost_most))) -ge 40 ]
}
# bpf_find_vma() fails if a thread holds the lock of the mappings, on a busy host more often.
# These faults have no kind, and -v says how many they are
unknown_is_said() {
	local failed
	failed=$(sed -n 's/^not found by BPF: mappings //p' "$file")
	faults 0 "$((${failed:-0} < 400 ? ${failed:-0} : 400))" 'MINOR user -'
}
# Without the best source: as it is where fentry, or kprobes as well, are not available
perf_right() {
	exits perf 0 && cat "$file" &&
	faults 70 70 'ELSEWHERE user -' || return 1
	if has_btf; then
		faults 4700 4800 'MINOR user (anon|-)' && unknown_is_said &&
		faults 1000 1020 'MINOR kernel anon' && faults 400 450 'MINOR user file' &&
		faults 500 540 'MINOR user shmem' && faults 900 910 'MINOR noregs -' || return 1
	else
		faults 5600 5900 'MINOR user -' && faults 1000 1020 'MINOR kernel -' || return 1
	fi
	exits perf-held 0 && cat "$file" && held 5 || return 1
	# Each fault of the best source, with the same outcome, and about the same time. That finds
	# a difference
	ends both-event 0 && ends both-perf 0 && files pairs "$job/both-event.csv" "$job/both-perf.csv" &&
	! files pairs "$job/both-event.csv" "$job/names/perf.csv"
}
# In each case, it says why, and shows the rest
perf_refused() {
	exits perf-user 0 && cat "$file" &&
	{ says 'perf_event_paranoid is 3' || faults 1000 1150 'MINOR user (anon|-)'; } &&
	exits perf-seccomp 0 && cat "$file" &&
	says 'perf_event_open(): Operation not permitted' && faults 1000 1150 '- user -' || return 1
	exits perf-limit100:100 0 && cat "$file" && says 'see ulimit -Hn' &&
	says 'counted: - minor' && grep -x 100 "$file" && exits perf-limit100: 0 && cat "$file" &&
	grep -x 100 "$file" && ! grep -E 'see ulimit -Hn|counted: - minor' "$file"
}
# BPF finds the mappings, for a reader who may not look into /proc
mappings_right() {
	local source
	has_btf || return 0
	for source in event fentry perf; do
		ends names-$source 0 &&
		of_record names/$source.csv 300 301 '#PF MINOR user anon.* step_anon' || return 1
		# Interrupts are disabled in our event, so it has one of the two places
		[ $source = event ] && is_ours ||
			of_record names/$source.csv 300 301 '#PF MINOR user anon \[anon\] step_anon' || return 1
	done
	ends names-none 0 && of_record names/none.csv 300 301 '#PF - user - .* step_anon'
}
# Below 100 a second, as each may keep a program from running
calls_right() {
	local n view
	for view in sleep '' faults export; do
		n=$(awk '/BPF_RAW_TRACEPOINT_OPEN|BPF_LINK_CREATE/ { n = 0 } /bpf\(/ { n++ }
			END { print n }' "$job/idle$view.calls")
		echo "$view: $n calls of bpf() in 5 s"
		ends "idle$view" 0 && [ "$n" -gt 5 ] && [ "$n" -lt 500 ] || return 1
	done
}
