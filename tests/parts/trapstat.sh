# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# trapstat: trapstat's counts match a known workload, on our kernel and on Debian's
#
# Debian's kernels are those that this release has packages of.

# shellcheck source=tests/trapstat-common.sh
. "$top/tests/trapstat-common.sh"
# shellcheck source=tests/stock.sh
. "$top/tests/stock.sh"
need modprobe xz cpio
static=$logs/compiled/trapstat-static

# runs KERNEL WORDS [OPTION OF BOOT...]: run tests/trapstat/guest with these WORDS; with
# options, the folder of the job has a name of its own
runs() {
	local words="$2" name="$1"
	is_built || return 1
	job=$logs/$1
	shift 2
	[ $# = 0 ] || job=$job-$(echo "$*" | tr -cd '[:alnum:]')
	set -- "$name" "$@"
	rm -rf "$job" && mkdir -p "$job" || return 1
	if [ "$1" = guest ] || [ "$1" = tools ]; then
		put_kernel "$1" "$job" && rm -f "$job/trap_test.ko" || return 1
	else
		put_stock "$1" "$job" || return 1
	fi
	echo "#!/bin/sh
exec env crashing='$crashing' $top/tests/trapstat/guest $trapstat $workload $words" >"$job/run"
	chmod +x "$job/run"
	shift
	TIMEOUT=${TIMEOUT:-1800} "$top/scripts/vm/boot" -d 512 "$@" "$job" && [ -s "$job/status" ] &&
	console_clean "$job/console.log"
}
accounted() {	# FILE
	ends "$1" 0 && { is_ours || [ "$1" = hotplug-perf ] || nothing_lost; } && within_lost
}
# of_group NAME LEAST MOST [COLUMN]: of the view of faults, the rows of that name
of_group() {
	local n
	n=$(files faults "$file" | awk -v name="$1" -v column="${4:-5}" \
		'$2 == name { n += $column } END { print n + 0 }')
	echo "$1: $n, $2 to $3"
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}
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
# What is in the record, is in the page and was counted
same_traps() {	# RECORD PAGE
	same_events "$@" && [ "$(files traps "$job/$1" | cut -d ' ' -f 1 | paste -sd+ | bc)" = \
		"$(sed -n 's/^trapstat: .*: \([0-9]*\) events$/\1/p' "$job/report")" ]
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
groups_right() {
	file=$job/groupone && of_group /one/two 800 900 && of_group / 0 0 &&
	file=$job/grouponetwo && of_group /one/two 800 900 && exits nogroup 2 &&
	says "invalid cgroup '/proc'"
}
# The kernel writes for an instruction that it emulates: a page fault within a #GP
nested_right() {
	local n
	n=$(files nested "$job/nested.json") && echo "$n" || return 1
	! is_ours || [ "${n%% *}" -ge 40 ]
}
# Our events have the order of a page
orders_right() {
	local n
	exits huge 0 && n=$(awk -F , '$7 == 9 { n++ } END { print n + 0 }' "$job/huge.csv") &&
	echo "$n of order 9" && [ "$n" = "$(is_ours && echo 9 || echo 0)" ]
}
records_right() {
	local file
	exits record-json 0 && ends report 0 && same_traps all.json all.html && exits record-csv 0 &&
	exits timed 0 && grep -q 'events in 3\.' "$file" && exits filtered 0 &&
	of_record filtered.json 300 360 '#PF MINOR user.*' || return 1
	of_record filtered.json 0 0 '.* \(kernel\|SIGNAL\) .*' && exits evil 0 &&
	[ "$(grep -o '</script>' "$job/evil.html" | wc -l)" = 2 ] &&
	files traps "$job/evil.html" && ends begin 0 && files nested "$job/many.json" &&
	nested_right && of_record many.json 30000 30100 '#PF MINOR user anon.*' || return 1
	for file in all.json all.csv; do
		of_record "$file" 9 9 '#UD .*' && of_record "$file" 8 8 '#DE .*' &&
		of_record "$file" 300 320 '#PF MINOR user anon.*' &&
		of_record "$file" 90 92 '#PF MINOR noregs anon.*' &&
		of_record "$file" 50 80 '#PF MINOR user shmem.*' || return 1
		if is_ours; then
			of_record "$file" 7 7 '#PF SIGNAL user.*' &&
			of_record "$file" 40 48 '#PF MINOR user file,cow.*' || return 1
		else
			of_record "$file" 300 301 '#PF MINOR user anon \[anon\] step_anon' &&
			of_record "$file" 40 40 '#PF MINOR user file trapstat-file step_file' &&
			of_record "$file" 50 50 '#PF MINOR user shmem memfd:workload step_shmem' &&
			of_record "$file" 7 7 'SIGSEGV .*' && of_record "$file" 8 8 'SIGFPE .*' || return 1
		fi
	done
}
cut_right() {
	local suffix
	ends cut 0 && says 'it was cut off after' && cmp "$job/before" "$job/after" &&
	[ "$(cat "$job/during")" -gt "$(cat "$job/before")" ] || return 1
	for suffix in json csv html; do
		exits "full-$suffix" 1 && says 'No space left on device' || return 1
	done
	of_record full.json 100 500 '#PF .*' && of_record full.csv 100 900 '#PF .*' && ends fullreport 0 &&
	same_events full.json full.html && exits fullexport 1 && says 'No space left on device'
}
same_events() {	# RECORD PAGE
	[ "$(files traps "$job/$1" | sort)" = "$(files traps "$job/$2" | sort)" ]
}
metric() {	# FILE LEAST MOST PATTERN: the sum of these samples
	local n
	n=$(files metrics "$job/$1" | sed -n "s/^\([0-9.e+]*\) trapstat_$4\$/\1/p" | paste -sd+ | bc)
	echo "$4: ${n:=0}, $2 to $3"
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}
metrics_right() {
	local of
	ends exporter2 0 && ends badstdout 1 && says 'No space left on device' || return 1
	awk '/^# TYPE trapstat_traps / { n++ } { all[n] = all[n] $0 "\n" } END { printf "%s", all[n] }' \
		"$job/metrics" >"$job/metrics.last"
	[ "$(ls "$job/export")" = trapstat.prom ] || return 1
	for of in metrics.last export/trapstat.prom; do
		metric "$of" 3000 3100 'page_faults_total memory=anon mode=user outcome=minor' &&
		metric "$of" 3000 3100 'page_fault_seconds_count memory=anon mode=user outcome=minor' &&
		metric "$of" 500 600 'page_fault_seconds_bucket le=+Inf memory=shmem mode=user outcome=minor' &&
		metric "$of" 3500 4000 'traps_total mode=user trap=#PF' && metric "$of" 0 0 'lost_total .*' &&
		metric "$of" 80 80 'signals_total si_code=1 signal=SIGFPE' || return 1
		! is_ours || metric "$of" 90 90 'traps_total mode=user trap=#UD' || return 1
	done
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
short_right() {	# OPTION OF BOOT...
	runs "$kernel" short "$@" && summary_of_short && processes_right
}
summary_of_short() {
	accounted all && faults 4600 4720 'MINOR user anon' && says 'ILL_ILLOPN 90, SEGV_MAPERR 70' &&
	ends perf 0 && { ! has_btf || within_lost; } && faults 3800 4800 'MINOR user (anon|-)'
}
locked_down() {
	local job="$logs/lockdown"
	rm -rf "$job" && mkdir -p "$job" && put_stock linux-image-amd64 "$job" || return 1
	cat >"$job/run" <<-END
		#!/bin/sh
		mount -t securityfs securityfs /sys/kernel/security
		$trapstat 1 1 >/job/out 2>&1
		echo \$? >/job/out.status
	END
	chmod +x "$job/run"
	"$top/scripts/vm/boot" -a lockdown=confidentiality "$job" && exits out 1 && says 'locked down'
}
# Room for 512 CPUs, of which two are there, and for fewer open files
many_cpus() {
	job=$logs/cpus
	rm -rf "$job" && mkdir -p "$job" && put_stock linux-image-amd64 "$job" || return 1
	cat >"$job/run" <<-END
		#!/bin/sh
		cat /sys/devices/system/cpu/possible >/job/possible
		prlimit --nofile=300: $trapstat --source perf -- $workload anon 1000 >/job/perf 2>&1
		echo \$? >/job/perf.status
	END
	chmod +x "$job/run"
	"$top/scripts/vm/boot" -a possible_cpus=512 "$job" && grep -x 0-511 "$job/possible" &&
	exits perf 0 && faults 1000 1050 'MINOR user anon'
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
# Other senders of these signals do not count, and what is missing is said once
senders_right() {
	exits senders 0 && cat "$file" && traps '#DE' 80 && traps '#BP' 40 && traps '#UD' 90 &&
	traps '#GP' 30 || return 1
	! has_btf || says 'signals: ILL_ILLOPN 90, SIGTRAP 40, FPE_INTDIV 80, SIGSEGV 30' || return 1
	ends once 0 && [ "$(stamped 'USER/s .*TRAP')" = 5 ] &&
	[ "$(grep -c '^Average:  .*TRAP$' "$file")" = 1 ] || return 1
	if is_ours; then ! says 'other traps'; else [ "$(grep -c 'other traps' "$file")" = 1 ]; fi
}
signals_right() {
	exits TERM 0 && exits named 0 && says 'a?[31mb' && ! grep "$(printf '\033')" "$file"
}
# Each compiler of this Debian that the Makefile takes makes a program that the kernel loads
compiles() {
	local c n=0
	mkdir -p "$logs/compiled" "$logs/old/bpf"
	for c in clang-14 clang-15 clang-16 clang-17 clang-18 clang-19; do
		command -v "$c" >/dev/null || { echo "there is no $c"; continue; }
		make -s -C "$top/trapstat" OUTPUT="$logs/compiled" CLANG="$c" &&
			cp "$logs/compiled/trapstat" "$logs/compiled/trapstat-$c" || return 1
		n=$((n + 1))
	done
	printf '#define LIBBPF_MAJOR_VERSION 0\n#define LIBBPF_MINOR_VERSION 7\n' \
		>"$logs/old/bpf/libbpf.h"
	[ "$n" != 0 ] && refused CLANG=gcc 'gcc is not clang 14 or newer' &&
	refused CC="gcc -I$logs/old" 'no libbpf-dev 0.8 or newer' &&
	make -s -C "$top/trapstat" OUTPUT="$logs/compiled" STATIC=1 &&
	cp "$logs/compiled/trapstat" "$static" && ! ldd "$static" &&
	[ "$(stat -c %s "$static")" -lt 4000000 ]
}
refused() {	# SETTING MESSAGE
	! make -s -C "$top/trapstat" OUTPUT="$logs/compiled" "$1" 2>"$logs/refused" &&
	grep -F "$2" "$logs/refused"
}
boots() {
	[ -e "$static" ] || compiles || return 1
	runs "$kernel" ''
}
compiled_right() {
	local c n=0
	for c in "$logs"/compiled/trapstat-*; do
		exits "compiled-${c##*/}" 0 && faults 1000 1050 'MINOR user anon' || return 1
		n=$((n + 1))
	done
	[ "$n" -ge 2 ]
}

check 'trapstat builds' built
check 'each clang, and a binary without libraries' compiles
for kernel in guest tools linux-image-amd64 linux-image-6.12-amd64; do
	group=$kernel
	if selected && is_ours; then
		kernels "$kernel"
	fi
	check "$kernel: the guest boots and runs each view" boots
	[ -s "$logs/$kernel/started" ] || continue
	job=$logs/$kernel
	check "$kernel: the programs of each clang run" compiled_right
	check "$kernel: the capabilities name the sources" sources_named
	check "$kernel: the summary has what the workload did" summary_right
	check "$kernel: the counts are those of getrusage(), and rows sum up" sums_right
	check "$kernel: exit status and children of a command, and two at once" commands_right
	check "$kernel: filters" filters_right
	check "$kernel: a fault that is held for 20 ms takes as long" durations_right
	check "$kernel: why faults take long: refaults, userfaultfd" why_right
	check "$kernel: faults by process, thread, file and cgroup" faults_right
	check "$kernel: fallback sources" other_sources_right
	check "$kernel: the source perf has the same faults" perf_right
	check "$kernel: perf_event_open() that fails, and few open files" perf_refused
	check "$kernel: ten thousand processes, and rows sum up to the total" processes_right
	check "$kernel: exec by a thread, PIDs used again, a CPU that goes off" lives_right
	check "$kernel: nothing is left of threads that are gone" leaks_right
	check "$kernel: BPF finds mapping and function" mappings_right
	check_with strace "$kernel: an idle system takes few calls of bpf()" calls_right
	check "$kernel: steps, nested signals, SIGBUS, and trapstat in trapstat" known_right
	check "$kernel: stack overflows, FPU, bad pointers, a PID namespace" cases_right
	check_with node "$kernel: each wasm trap of node" node_right
	check_with javac "$kernel: each division by zero and null reference of a JVM" java_right
	check_with gdb "$kernel: each single step of gdb" gdb_right
	check "$kernel: UMIP has a row of its own" names_right
	check "$kernel: other senders of signals do not count" senders_right
	check "$kernel: a command that ends soon, and one that is stopped" ends_right
	check "$kernel: a command finds nothing changed" ends same 0
	check "$kernel: control groups" groups_right
	check "$kernel: each signal of a trap, and why" crashes_right "$job/crashes"
	check "$kernel: records, and the page of one" records_right
	check "$kernel: the order of a huge page" orders_right
	check "$kernel: a full disk or SIGKILL leaves a record that can be read" cut_right
	check "$kernel: metrics" metrics_right
	check "$kernel: missing capabilities, a narrow terminal and a resize" rights_right
	check "$kernel: signals end it, and names are escaped" signals_right
done
for kernel in guest tools linux-image-amd64 linux-image-6.12-amd64; do
	group=$kernel
	check "$kernel: the counts on one CPU" short_right -c 1
	check "$kernel: the counts on four CPUs" short_right -c 4
done
check 'a locked-down kernel: the message says so' locked_down
check 'a kernel for 512 CPUs: as many files are open as there are CPUs' many_cpus
