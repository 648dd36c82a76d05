# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part trapstat: what the views of the workload show.

# of_group NAME LEAST MOST [COLUMN]: of the view of faults, the rows of that name
of_group() {
	local n
	n=$(files faults "$file" | awk -v name="$1" -v column="${4:-5}" \
		'$2 == name { n += $column } END { print n + 0 }')
	echo "$1: $n, $2 to $3"
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}
summary_right() {
	exits all 0 && cat "$file" && faults 4700 4800 'MINOR user anon' &&
	faults 700 720 'MINOR kernel anon' && faults 900 920 'MINOR noregs anon' &&
	faults 400 450 'MINOR user file' && faults 500 540 'MINOR user shmem' &&
	says 'ILL_ILLOPN 90, FPE_INTDIV 80, SEGV_MAPERR 70' || return 1
	traps '#DE' 80 && traps '#UD' 90 || return 1
	if is_ours; then
		faults 70 70 'SIGNAL user -' && ! says 'other traps' &&
		grep -qE '^ *[6-9][0-9][0-9] .* MINOR +user +anon,cow$' "$file"
	else
		faults 70 70 'ELSEWHERE user -' && says 'other traps: only those that send a signal' &&
		[ "$(grep -c ' (with a signal)$' "$file")" = 2 ]
	fi
}
# All are those of getrusage(), and the rows of faults sum up to the row of the trap. Without BTF,
# the kernel may skip a program, and "lost" has what it missed
sums_right() {
	for file in all held children killed kprobe uring leaks-kprobe counted known namespace beside \
		python git stress-ng rg fzf node java gdb \
		$(! has_btf || echo perf leaks-perf); do
		file=$job/$file
		! grep -q ': No such file' "$file" || continue
		cat "$file"
		as_getrusage || { ! has_btf && within_lost && [ "$(lost_most)" -le 50 ]; } || return 1
		traps '#PF' "$(kinds '.*' user)" || return 1
	done
}
commands_right() {
	exits children 7 && faults 3000 3100 'MINOR user anon' && exits killed 137 &&
	exits orphan 0 && cat "$file" && faults 500 600 'MINOR user anon' &&
	grep -qE '^getrusage lacks [56][0-9][0-9]: of children that no parent has waited for$' "$file" &&
	exits gone 2 && says 'no process 4000000' &&
	exits uring 0 && faults 1000 1010 'MINOR kernel anon'
}
filters_right() {
	exits user 0 && faults 1000 1050 'MINOR user anon' && faults 0 0 'MINOR kernel anon' &&
	exits kernelmode 0 && faults 1000 1050 'MINOR kernel anon' && faults 0 0 'MINOR user anon' &&
	exits outcome 0 && faults 1000 1050 'MINOR user anon' &&
	! grep -E 'SIGNAL|ELSEWHERE' "$file" && exits comm 0 && faults 1000 1050 'MINOR user anon'
}
durations_right() {
	exits held 0 && cat "$file" && held 5 && exits slower 0 && cat "$file" && held 5 &&
	[ "$(stamped '.*')" -ge 5 ] && { is_ours || ! says ORDER; } || return 1
	! has_btf || [ "$(grep -cE ' \[anon\]\+0.* workload$' "$file")" -ge 5 ]
}
# Only the second read of a page is a refault, and MADV_PAGEOUT may leave some. Disks of QEMU may
# be too quick to wait for
why_right() {
	exits refault 0 && cat "$file" && as_getrusage && faults 190 205 'MAJOR user file' &&
	faults 90 100 'MAJOR user file,refault' && file=$job/held &&
	[ "$(grep -cE ' uffd [0-9.]+m?s' "$file")" = 5 ]
}
faults_right() {
	exits table 0 && grep -q 'CPU[01]/s' "$file" && exits process 0 &&
	of_group workload 3500 3600 && of_group workload 3000 3050 8 &&
	of_group workload 500 540 10 && exits execed 0 && of_group workload 1000 1100 || return 1
	exits thread 0 && [ "$(files faults "$file" |
		awk '$2 == "workload" && $5 >= 250 && $5 <= 260' | wc -l)" = 2 ] &&
	exits cgroup 0 && [ "$(files faults "$file" | awk '$3 == 1 { print $2 }')" = / ] &&
	exits pid 0 && of_group workload 1000 1050 && says 'has ended' &&
	exits zombie 0 && says 'has ended' || return 1
	if ! has_btf; then
		exits file 1 && says 'trapstat: -f needs BTF'
	else
		exits file 0 && of_group trapstat-file 400 400
	fi
}
groups_right() {
	file=$job/groupone && of_group /one/two 800 900 && of_group / 0 0 &&
	file=$job/grouponetwo && of_group /one/two 800 900 && exits nogroup 2 &&
	says "invalid cgroup '/proc'"
}
rights_right() {
	local narrow wide status
	exits rights 2 && says 'missing CAP_BPF and CAP_PERFMON' &&
	exits rightsbpf 2 && says 'missing CAP_PERFMON' || return 1
	# Without BTF it reads tracefs, which is root's
	! has_btf || { exits rightsbpfperfmon 0 && says '#PF'; } || return 1
	ends fits 0 && says ' lost' && says OUTCOME || return 1
	read -r narrow wide status <"$job/terminal"
	echo "longest lines in terminals of 40 and 80 columns: $narrow, $wide; status $status"
	[ "$narrow" = 40 ] && [ "$wide" -gt 40 ] && [ "$status" = 0 ]
}
signals_right() {
	exits TERM 0 && exits named 0 && says 'a?[31mb' && ! grep "$(printf '\033')" "$file"
}
compiled_right() {
	local c n=0
	for c in "$logs"/compiled/trapstat-*; do
		exits "compiled-${c##*/}" 0 && faults 1000 1050 'MINOR user anon' || return 1
		n=$((n + 1))
	done
	[ "$n" -ge 2 ]
}
