# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part trapstat: what is counted of programs of many kinds, and of tasks that come and go.

accounted() {	# FILE
	ends "$1" 0 && { is_ours || [ "$1" = hotplug-perf ] || nothing_lost; } && within_lost
}
processes_right() {
	local lost rows total used
	ends processes 0 && { is_ours || nothing_lost; } || return 1
	# Some faults are before exec, under another name
	lost=$(lost_most)
	files faults "$file" >"$job/processes.rows" || return 1
	total=$(awk '$1 == "total" { print $5 + $6 }' "$job/processes.rows")
	rows=$(awk '$2 == "workload"' "$job/processes.rows" | wc -l)
	used=$(cat "$job/usage")
	echo "$rows rows, $total minor and major, $used by getrusage(), $lost lost"
	[ "$rows" -ge $((10000 - lost)) ] && [ "$total" -ge $((used - 100 - lost)) ] &&
	[ "$total" -le $((used + 100)) ] || return 1
	# The rows sum up to the total
	awk '$1 == "total" { for (i = 4; i <= NF; i++) t[i] = $i; next }
		{ for (i = 4; i <= NF; i++) n[i] += $i }
		END { for (i in t) if (n[i] != t[i]) exit 1 }' "$job/processes.rows"
}
lives_right() {
	accounted exec && faults 600 720 'MINOR user anon' &&
	accounted reuse && faults 1500 20000 'MINOR user anon' &&
	ends again 0 && says 'has ended' && of_group workload 0 0 &&
	accounted hotplug && faults 3400 9000 'MINOR user anon' || return 1
	# Until its events are open again, a CPU that comes back loses faults
	! has_btf || { accounted hotplug-perf && cat "$file" && faults 3000 9000 'MINOR user anon'; }
}
leaks_right() {
	local name
	for name in leaks-kprobe $(! has_btf || echo leaks-perf); do
		accounted "$name" && cat "$file" && says 'ILL_ILLOPN 5000' && few_left 10 || return 1
	done
}
# Known by the workload itself, and by what has checked its own traps
known_right() {
	exits counted 0 && cat "$file" && faults 200 210 'MINOR noregs anon' &&
	says 'TRAP_TRACE 1000, BUS_ADRERR 60, SEGV_MAPERR 300' &&
	traps '#DB' 1000 || return 1
	! is_ours || { faults 300 300 'SIGNAL user -' && faults 60 60 'SIGNAL user shmem'; } || return 1
	exits outer 0 && for file in "$job/outer" "$job/inner"; do
		says 'SEGV_MAPERR 50' && nothing_lost || return 1
	done && faults 1000 1050 'MINOR user anon'
}
# The figures are those of the programs in which users met these faults and traps
cases_right() {
	exits known 0 && cat "$file" && says 'SEGV_ACCERR 55' && traps '#MF' 36 &&
	traps '#DE' 30 || return 1
	# QEMU without KVM raises no #XM
	if grep -q '#XM' "$file"; then
		traps '#XM' 53 && says 'FPE_INTDIV 30, FPE_FLTDIV 89'
	else
		says 'FPE_INTDIV 30, FPE_FLTDIV 36'
	fi &&
	faults 50 55 'MINOR noregs (anon|-)' &&
	faults 30 60 '(FIXUP|ELSEWHERE) kernel -' &&
	faults 55 55 '(SIGNAL|ELSEWHERE) user (anon|-)' || return 1
	! has_btf || faults 340 1100 'MINOR user anon' || return 1
	exits namespace 0 && cat "$file" && says 'ILL_ILLOPN 12' && traps '#PF' "$(kinds '.*' user)"
}
node_right() { exits node 0 && cat "$file" && says 'SEGV_ACCERR 500'; }
# The JVM raises one SIGSEGV at its start to see what its handler may read
java_right() {
	exits java 0 && cat "$file" && says 'FPE_INTDIV 1000, SEGV_MAPERR 1001' && traps '#DE' 1000
}
gdb_right() { exits gdb 0 && cat "$file" && says 'TRAP_TRACE 500'; }
names_right() {
	exits special 0 && says 'SIGSEGV 30' && exits vectors 0 && exits umip 0 || return 1
	file=$job/special && traps '#GP' 30 && file=$job/vectors && traps '#GP' 30 || return 1
	is_ours || return 0
	file=$job/special && traps UMIP 40 && file=$job/vectors && traps '#GP' 30 &&
	traps UMIP 40 && ! grep -E '#UD|#PF|MINOR' "$file" &&
	file=$job/umip && traps UMIP 40 && ! grep '#GP' "$file"
}
# Other senders of these signals do not count, and what is missing is said once
senders_right() {
	exits senders 0 && cat "$file" && traps '#DE' 80 && traps '#BP' 40 && traps '#UD' 90 &&
	traps '#GP' 30 || return 1
	! has_btf || says 'signals: ILL_ILLOPN 90, SIGTRAP 40, FPE_INTDIV 80, SIGSEGV 30' || return 1
	ends once 0 && [ "$(stamped 'USER/s .*TRAP')" = 5 ] &&
	[ "$(grep -c '^Average:  .*TRAP$' "$file")" = 1 ] || return 1
	if is_ours; then ! says 'other traps'; else [ "$(grep -c 'other traps' "$file")" = 1 ]; fi
}
# The mappings are read before they are gone, and nobody notices
ends_right() {
	local n
	exits stopped 5 && grep -E '^trapstat: [0-9.]+s, exit status 5: ' "$file" || return 1
	for n in 1 2 3 4; do
		ends brief$n 0 && ! grep TRAP "$file" && file=$job/brief$n.summary && cat "$file" &&
			nothing_lost &&
		grep -qE ' user .* [A-Za-z_][A-Za-z_0-9.]* +[0-9]+ +[0-9]+ workload$' "$file" &&
		grep -qE '^and [0-9]+ more ' "$file" &&
		[ "$(grep -cE ' [A-Z]+ +(user|kernel|noregs) +[^ ]+$' "$file")" = 1 ] || return 1
	done
}
short_right() {	# OPTION OF BOOT...
	runs "$kernel" short "$@" && summary_of_short && processes_right
}
summary_of_short() {
	accounted all && faults 4600 4720 'MINOR user anon' && says 'ILL_ILLOPN 90, SEGV_MAPERR 70' &&
	ends perf 0 && { ! has_btf || within_lost; } && faults 3800 4800 'MINOR user (anon|-)'
}
