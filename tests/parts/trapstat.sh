# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# trapstat: trapstat's counts match a known workload, on our kernel and on Debian's
#
# Debian's kernels are those that this release has packages of.

need clang-19 bpftool modprobe xz cpio man bc
[ -e /usr/include/bpf/libbpf.h ] || skip_part "there is no libbpf-dev"
# shellcheck source=tests/stock.sh
. "$top/tests/stock.sh"
trapstat=$logs/built/trapstat
workload=$logs/workload
static=$logs/compiled/trapstat-static

built() {
	local share="$logs/root/usr/share"
	mkdir -p "$logs/built" &&
	make -C "$top/trapstat" OUTPUT="$logs/built" install DESTDIR="$logs/root" PREFIX=/usr &&
	[ -x "$logs/root/usr/sbin/trapstat" ] &&
	[ -f "$share/bash-completion/completions/trapstat" ] &&
	man --warnings -l "$share/man/man8/trapstat.8" &&
	gcc -O2 -Wall -static -pthread -o "$workload" "$top/tests/trapstat/workload.c" &&
	gcc -O2 -Wall -pthread -o "$workload-shared" "$top/tests/trapstat/workload.c" &&
	{ ! command -v javac || javac -d "$logs" "$top/tests/trapstat/Traps.java"; }
}
# With ONLY, the test that builds it may not run
is_built() { [ -x "$trapstat" ] || built; }
built_without_warning() {
	! grep -i 'warning' "$logs/trapstat-builds.log"
}

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
exec $top/tests/trapstat/guest $trapstat $workload $words" >"$job/run"
	chmod +x "$job/run"
	shift
	TIMEOUT=${TIMEOUT:-1800} "$top/scripts/vm/boot" -d 512 "$@" "$job" && [ -s "$job/status" ] &&
	console_clean "$job/console.log"
}

# kinds OUTCOME MODE [MEMORY]: how many page faults the summary has of these, which may be
# patterns. A fault may have copied a page, too
kinds() {
	awk -v outcome="^($1)\$" -v mode="^($2)\$" -v memory="^(${3:-.*})(,.*)?\$" '
		$1 == "COUNT" { for (i = 1; i <= NF; i++) at[$i] = i; next }
		NF < at["MEMORY"] { delete at }
		at["MEMORY"] && $at["OUTCOME"] ~ outcome && $at["MODE"] ~ mode &&
			$at["MEMORY"] ~ memory { n += $1 }
		END { print n + 0 }' "$file"
}
# faults LEAST MOST WORDS: so many page faults of that outcome, mode and kind of memory are in
# the summary
faults() {
	local n
	# shellcheck disable=SC2086 # three words
	n=$(kinds $3)
	echo "$3: $n, $1 to $2"
	[ "$n" -ge "$1" ] && [ "$n" -le "$2" ]
}
# traps ROW USER: so many of these traps in the summary
traps() {
	local n
	n=$(awk -v row="$1" '$1 == "USER" { for (i = 1; i <= NF; i++) at[$i] = i }
		at["TRAP"] && $at["TRAP"] == row { print $at["USER"] }' "$file")
	echo "$1: $n, $2"
	[ "$n" = "$2" ]
}
says() {	# WORDS
	grep -qF -- "$1" "$file" || { echo "not there: $1"; return 1; }
}
ends() {	# FILE STATUS
	file=$job/$1
	echo "$1: $(cat "$file.status"), $2"
	[ "$(cat "$file.status")" = "$2" ]
}
exits() {	# FILE STATUS: the same, and if all went well, nothing is lost
	ends "$@" && { [ "$2" != 0 ] || nothing_lost; }
}
nothing_lost() {
	grep -qE '^(at least )?0 lost$|"type":"lost",.*"most":0,' "$file" ||
		{ grep -E ' lost|"lost"' "$file"; return 1; }
}
lost_most() {
	sed -nE 's/^(at least )?([0-9]+ to )?([0-9]+) lost.*/\3/p
		s/.*"type":"lost",.*"most":([0-9]+),.*/\1/p' "$file"
}
# The kernel skips a program that it runs already on that CPU. That is an event, and never a task
within_lost() {
	local counted lost used
	lost=$(lost_most)
	counted=$(sed -n 's/^counted: \(.*\) minor, \(.*\) major; .*/\1 + \2/p' "$file" | bc)
	used=$(sed -n 's/.*getrusage: \(.*\) minor, \(.*\) major$/\1 + \2/p' "$file" | bc)
	echo "$file: $counted counted, $used used, $lost lost"
	[ "$counted" -le "$used" ] && [ "$((used - counted))" -le "$lost" ]
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
stamped() { grep -cE "^[0-9]{2}:[0-9]{2}:[0-9]{2} +$1\$" "$file"; }	# PATTERN
# held COUNT FILE: so many faults took 20 ms or more
held() {
	local n
	n=$(awk '{ sub(/^[0-9]+:[0-9]+:[0-9]+ /, "") }
		$1 ~ /^[0-9.]+m?s$/ && $3 == "user" && ($1 !~ /m/ || $1 + 0 >= 20) { n++ }
		END { print n + 0 }' "$file")
	echo "held: $n, $1"
	[ "$n" -ge "$1" ]
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
as_getrusage() {
	[ "$(sed -n 's/^counted: \(.*\); getrusage: \(.*\)/\1\n\2/p' "$file" | uniq | wc -l)" = 1 ]
}
# All are those of getrusage(), and the rows of faults sum up to the row of the trap. Without BTF,
# the kernel may skip a program, and "lost" has what it missed
sums_right() {
	for file in all held children killed kprobe uring leaks counted known namespace beside \
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
	exits missing 127 && says 'trapstat: /nonexistent: No such file' &&
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
# Only the second read of a page is a refault. Disks of QEMU may be too quick to wait for
why_right() {
	exits refault 0 && cat "$file" && faults 200 205 'MAJOR user file' &&
	faults 100 100 'MAJOR user file,refault' && file=$job/held &&
	[ "$(grep -cE ' uffd [0-9.]+m?s' "$file")" = 5 ]
}
why_here() {
	local suffix tp
	file=$logs/why
	loads_here && export WORKLOAD_FILE="$logs/why-file" &&
	"$trapstat" -w -o "$file" -- "$workload" refault 300 &&
	cat "$file" && faults 600 605 'MAJOR user file' &&
	[ "$(grep -c ' io [0-9]' "$file")" -ge 3 ] &&
	"$trapstat" -w -o "$file" -- "$workload" locked 100 && cat "$file" &&
	[ "$(grep -c ' mmap_lock [0-9]' "$file")" -ge 3 ] || return 1
	# Whether a task sleeps in these is luck
	"$trapstat" -w -o "$file" -- bpftool link list >"$file.links" || return 1
	for tp in compaction_begin compaction_end vmscan_direct_reclaim_begin \
		vmscan_direct_reclaim_end vmscan_memcg_reclaim_begin vmscan_memcg_reclaim_end; do
		grep -w "mm_$tp" "$file.links" || return 1
	done
	for suffix in csv json; do
		"$trapstat" record -w -o "$file.$suffix" -- "$workload" refault 300 &&
		files waits "$file.$suffix" | tee "$file.waits" &&
		[ "$(sed -n 's/ io$//p' "$file.waits")" -ge 3 ] || return 1
	done
	"$trapstat" report "$file.json" && files waits "$file.html" | diff - "$file.waits"
}
faults_right() {
	exits table 0 && grep -q 'CPU[01]/s' "$file" && exits process 0 &&
	of_group workload 3500 3600 && of_group workload 3000 3050 8 &&
	of_group workload 500 540 10 && exits execed 0 && of_group workload 1000 1100 &&
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
# With our events: guest without BTF, tools with it
is_ours() { [ "$kernel" = guest ] || [ "$kernel" = tools ]; }
has_btf() { [ "$kernel" != guest ]; }
files() { "$top/tests/trapstat/files.py" "$@"; }
# of_record FILE LEAST MOST PATTERN: so many events, each a line of "files.py events"
of_record() {
	local n
	n=$(files events "$job/$1" | sed -n "s/^\([0-9]*\) $4\$/\1/p" | paste -sd+ | bc)
	echo "$4: ${n:=0}, $2 to $3"
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
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
# A task that is gone leaves nothing in a map, and its trap need not have ended
leaks_right() {
	local map name
	for name in leaks $(! has_btf || echo leaks-perf); do
		accounted "$name" && cat "$file" && says 'ILL_ILLOPN 5000' || return 1
		for map in calls begun followed perf_tasks; do
			[ "$(sed -n "s/^map $map: //p" "$file")" -le 50 ] || return 1
		done
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
	exits java 0 && cat "$file" && says 'FPE_INTDIV 1000, SEGV_MAPERR 1001' &&
	traps '#DE' 1000
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
		grep -qE ' user .* ([A-Za-z_][A-Za-z_0-9.]*|workload[+]0x[0-9a-f]+) +[0-9]+ +[0-9]+ workload$' \
			"$file" &&
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
	of_record filtered.json 300 360 '#PF MINOR user.*' &&
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
	accounted all && faults 4600 4720 'MINOR user anon' && says 'ILL_ILLOPN 90, SEGV_MAPERR 70'
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
# Without the best source: as it is where fentry, or kprobes as well, are not to be had
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
	says 'perf_event_open(): Operation not permitted' && faults 1000 1150 '- user -' &&
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

# Each has a control: a sample that is wrong is found
computes() {
	local sources
	is_built || return 1
	sources=$(find "$top/trapstat" -name '*.c' ! -name '*.bpf.c' ! -name main.c \
		! -name counts.c ! -name maps.c ! -name symbols.c)
	# shellcheck disable=SC2086 # a list of words
	gcc -O2 -Wall -isystem "$logs/built" -I"$top/trapstat" -Wno-format-truncation \
		-DTRAPSTAT_VERSION='"of a test"' -o "$logs/unit" "$top/tests/trapstat/unit.c" $sources \
		-lbpf -ldw -lelf -lz -ljansson -liberty -lmicrohttpd && "$logs/unit"
}
# The message that bad arguments get, before anything is loaded
refuses() {
	local n=0
	is_built || return 1
	while IFS=: read -r args message; do
		# shellcheck disable=SC2086 # a list of words
		"$trapstat" $args >"$logs/refused" 2>&1 </dev/null && return 1
		grep -qF -- "$message" "$logs/refused" || { echo "$args: $(cat "$logs/refused")"; return 1; }
		n=$((n + 1))
	done <<-'END'
	--slower 1 faults:invalid duration '1'
	--slower 0ns faults:invalid duration '0ns'
	--slower 1m faults:invalid duration '1m'
	--vector 33:unknown vector '33'
	--vector XY:unknown vector 'XY'
	--outcome bad faults:unknown outcome 'bad'
	--source x:unknown source 'x'
	-p 0:invalid PID '0'
	-p 1,x:invalid PID 'x'
	-n x faults:invalid row count 'x'
	0.001:invalid interval '0.001'
	1e9:invalid interval '1e9'
	ls:invalid interval 'ls'; views are faults, crashes, record, report, export
	1 0:invalid count '0'
	1 2 3:extra operand '3'
	--duration x:invalid duration 'x'
	-t -f faults:exclude each other
	-t:are for 'trapstat faults'
	-C faults:-C is for
	-H record -o x.csv:-H is for
	-T record -o x.csv:-T is for
	-T export:-T is for
	-T -- true:-T is for
	--json export:--json is not for
	--json --capabilities:--json is not for
	--sort p99 crashes:--sort is not for
	--sort p99 --slower 1ms faults:--sort is not for
	-w 1:-w is for
	record:record takes -o
	record -o x.txt:unknown suffix of 'x.txt'
	-c 1234567890123456 1:invalid name '1234567890123456'
	-p 1 -- true:-p is not for a command
	--listen 1 faults:--listen is for export
	export --listen 0:not ADDRESS:PORT
	export --listen 1.2.3.4:not ADDRESS:PORT
	--cgroup /proc 1:invalid cgroup '/proc'
	report x.csv:report takes
	report -p 1 x.json:report takes no other option
	report x.json -- true:report takes no other option
	END
	[ "$n" = 39 ]
}
# finds_clang WANTED COMPILER=VERSION...: of these, the Makefile takes that one, or ''
finds_clang() {
	local want="$1" c make
	make=$(command -v make)
	shift
	rm -rf "$logs/path" && mkdir -p "$logs/path" || return 1
	for c in "$@"; do
		printf '#!/bin/sh\necho %s\n' "${c#*=}" >"$logs/path/${c%=*}"
	done
	chmod +x "$logs/path"/*
	PATH=$logs/path "$make" -pnq -C "$top/trapstat" OUTPUT="$logs/path" >"$logs/clang" 2>&1 || :
	echo "$*: $(grep '^CLANG := ' "$logs/clang")"
	[ "$(sed -n 's|^CLANG := .*/||p' "$logs/clang")" = "$want" ]
}
searches() {
	finds_clang clang-17 clang-17=17 && finds_clang clang-18 clang-18=18 clang-14=14 &&
	finds_clang clang-16 clang=13 clang-16=16 && finds_clang clang clang=21 &&
	finds_clang clang-22 clang=13 clang-22=22 && finds_clang '' clang=13
}
# Root of a user namespace has each capability there, and may load nothing
rootless() {
	local status
	is_built || return 1
	unshare -r true 2>/dev/null || { echo 'there are no user namespaces' >"$cannot"; return 1; }
	file=$logs/rootless
	unshare -r "$trapstat" 1 1 >"$file" 2>&1
	status=$?
	[ $status = 2 ] && says 'user namespace' && [ "$(wc -l <"$file")" = 1 ]
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
# The kernel that this runs on, without a guest. In a container, nobody may load a program
here_right() {
	loads_here || return 1
	file=$logs/here
	"$trapstat" -o "$file" -- "$workload" nested 300 bus 60 single 1000 &&
	cat "$file" && nothing_lost &&
	says 'TRAP_TRACE 1000, BUS_ADRERR 60, SEGV_MAPERR 300' &&
	{ says 'counted: - minor' || as_getrusage; }
}
crashing='segv 7 protected 3 divide 8 ud 9 hlt 5 crash 2 readonly 4 deep 6'
# crashes_right FILE: who got which signal, and why; without BTF, of which trap is not known
crashes_right() {
	file=$1
	files crashes "$file" >"$file.kinds" && cat "$file.kinds" && files stacks "$file" &&
		nothing_lost || return 1
	if has_btf; then
		# The process is gone, and what called it has no frame pointer
		files stacks "$file" | grep -x '6 deepest;deeper;deep;crash_each' &&
		diff - "$file.kinds" <<-'END'
			8 FPE_INTDIV #DE no - divide - here
			9 ILL_ILLOPN #UD no - ud - here
			3 SEGV_ACCERR #PF no write, user, page present write_there workload here
			4 SEGV_ACCERR #PF yes write, user, page not present write_readonly trapstat-file+0x123 here
			7 SEGV_MAPERR #PF no read, user, page not present read_nothing - here
			6 SEGV_MAPERR #PF yes read, user, page not present deepest - here
			2 SEGV_MAPERR #PF yes read, user, page not present read_nothing - here
			5 SIGSEGV #GP no - hlt - here
		END
	else
		[ "$(cut -d ' ' -f 1-4 "$file.kinds")" = "8 FPE_INTDIV - -
9 ILL_ILLOPN - -
7 SEGV_ACCERR - -
15 SEGV_MAPERR - -
5 SIGSEGV - -" ]
	fi
}
loads_here() {
	is_built || return 1
	"$trapstat" 0.01 1 >/dev/null && return
	echo 'trapstat cannot load its programs here' >"$cannot"
	return 1
}
keys_here() {
	loads_here || return 1
	files keys "$trapstat" && files keys "$trapstat" -H &&
	files once 'see ulimit -Hn' prlimit --nofile=100:100 "$trapstat" --source perf
}
# Each column and each row of traps is in the man page
documents() {
	local page="$top/trapstat/trapstat.8" name
	sed 's/\\-/-/g; /^\.SH COLUMNS/,/^\.SH VECTORS/!d' "$page" >"$logs/columns"
	sed '/^\.SH VECTORS/,/^\.SH SIGNALS/!d' "$page" >"$logs/vectors"
	{
		grep -ohE '"[A-Z][A-Z0-9/%s-]+", "[a-z0-9_]+"' "$top"/trapstat/*.c | sort -u
		sed '/row_names\[ROWS\]/,/^};/!d' "$top/trapstat/text.c" | grep -o '] = "[^"]*"' |
			sed '/SIGNAL/d; s/.*= /row /'
	} >"$logs/names"
	while IFS='"' read -r kind name _; do
		if [ "$kind" ]; then
			grep -qE "^$name( |	)" "$logs/vectors"
		else
			grep -qE "(^|[ \"])($name|${name%[/%]*})([ \",]|\$)" "$logs/columns"
		fi || { echo "$name is missing"; return 1; }
	done <"$logs/names"
	[ "$(wc -l <"$logs/names")" -gt 60 ]
}
# What options of the views do, without a guest
options_here() {
	local one two
	loads_here || return 1
	file=$logs/options
	"$trapstat" --help >"$file" && [ "$(wc -l <"$file")" = 24 ] && ! grep -E '.{81}' "$file" &&
	timeout 10 "$trapstat" --duration 0.5 -o "$file" -- sleep 20 && says 'exit status 0: sleep' &&
	"$trapstat" -H -o "$file" -- "$workload" anon 1000 && says '|@@@' || return 1
	files fits "$trapstat" -b --duration 1 0.3 >"$file" && ! grep "$(printf '\033')" "$file" &&
	[ "$(grep -c '^USER/s' "$file")" -ge 2 ] || return 1
	! "$trapstat" --sort bogus -- true 2>"$file" && says ' USER KERNEL ' && says ' P99 ' &&
	"$trapstat" -C --sort cpu0 0.1 1 &&
	"$trapstat" --json --sort p99 -o "$file" -- "$workload" anon 1000 kernel 400 &&
	sed -n 's/.*"type":"page_fault".*"p99_ns":\([0-9]*\),.*/\1/p' "$file" >"$file.p99" &&
	[ "$(wc -l <"$file.p99")" -ge 2 ] && sort -c -n -r "$file.p99" || return 1
	# A column of the traps leaves the faults by COUNT
	"$trapstat" --sort user -o "$file" -- "$workload" ud 500 &&
	sed '1,/^ *COUNT/d; /^$/,$d' "$file" | sort -c -s -n -r || return 1
	"$trapstat" record -o "$file.csv" -- "$workload" protected 3 segv 7 || return 1
	[ ! -e /sys/kernel/btf/vmlinux ] ||
		{ [ "$(grep -c ',0x7,.*"SIGSEGV"' "$file.csv")" = 3 ] &&
		[ "$(grep -c ',0x4,.*"SIGSEGV"' "$file.csv")" = 7 ]; } || return 1
	"$workload" sleep 2500 anon 20000 sleep 4000 &
	files fits "$trapstat" -S -c workload faults 4 1 >"$file" && cat "$file" &&
	grep -qx ' *step_anon' "$file" || return 1
	sleep 0.5 &
	one=$!
	sleep 1 &
	two=$!
	timeout 20 "$trapstat" -p "$one,$two" 100 >"$file" 2>&1 &&
	says "process $one has ended" && says "process $two has ended" || return 1
	# Without an argument, five lines say what this kernel lets it see
	timeout -s INT 5 "$trapstat" >"$file"
	[ "$(sed '1,/^$/d; /^$/,$d' "$file" | wc -l)" = 5 ] && ! grep -E '.{81}' "$file"
}
# Each type of line, of each view, in the man page
json_here() {
	local view kernel=guest
	loads_here || return 1
	[ ! -e /sys/kernel/btf/vmlinux ] || kernel=here
	export WORKLOAD_FILE="$logs/trapstat-file"
	# shellcheck disable=SC2086 # a list of words
	"$trapstat" crashes -S --json -- "$workload" $crashing >"$logs/json-crashes" &&
	crashes_right "$logs/json-crashes" &&
	"$trapstat" crashes -S --json -- "$workload-shared" library 3 >"$logs/json-library" &&
	{ ! has_btf || files stacks "$logs/json-library" |
		grep -x '3 [^;]*;deeper;deep;crash_each'; } &&
	"$trapstat" --json -H -o "$logs/json-command" -- "$workload" anon 1000 segv 5 &&
	"$trapstat" --json -C 0.2 3 >"$logs/json-traps" || return 1
	for view in '-t' '-g' '-f' '-S -w -c trapstat'; do
		# shellcheck disable=SC2086 # a list of words
		"$trapstat" --json faults $view 0.3 2 >"$logs/json-faults${view%% *}" || return 1
	done
	files schema "$top/trapstat/trapstat.8" "$logs"/json-*
}
# Faults by the walk of a stack are not those of the task, and each stack has its time
stacks_here() {
	loads_here || return 1
	job=$logs
	"$trapstat" record -S -o "$logs/stacks.csv" -- "$workload" anon 1000 kernel 500 &&
	of_record stacks.csv 1000 1010 '#PF MINOR user anon.* step_anon' &&
	of_record stacks.csv 500 510 '#PF MINOR kernel anon .*' &&
	of_record stacks.csv 0 50 '#PF - .*' &&
	[ "$(grep -c ',"workload;.*step_anon"$' "$logs/stacks.csv")" -ge 1000 ] &&
	"$trapstat" record -o "$logs/stacks.folded" -- "$workload" anon 1000 kernel 500 &&
	grep -E '^workload;(.*;)?step_anon [0-9]+$' "$logs/stacks.folded" &&
	grep -E '^workload;.*;ksys_read;.* [0-9]+$' "$logs/stacks.folded" &&
	! grep -vE '^[^;]*(;[^;]+)* [0-9]+$' "$logs/stacks.folded" &&
	"$trapstat" record -o "$logs/stacks.html" -- "$workload" anon 1000 &&
	grep -q '"workload;[^"]*step_anon"' "$logs/stacks.html" &&
	"$trapstat" record -o - -- true |
		python3 -c 'import json, sys; sys.exit(len(json.load(sys.stdin)) < 20)'
}
# Clicks and values under the pointer; it is small, and needs no network
page_here() {
	loads_here &&
	"$trapstat" record -w -o "$logs/page.html" -- "$workload" anon 10000 kernel 5000 held 3 &&
	! grep -E '(src|href)=|https?://' "$logs/page.html" | grep -v 'www.w3.org/2000/svg' &&
	[ "$(wc -c <"$top/trapstat/page.html")" -lt 300000 ] || return 1
	{
		sed 's|</script></body></html>$||' "$logs/page.html"
		cat "$top/tests/trapstat/page.js"
		echo '</script></body></html>'
	} >"$logs/page-test.html"
	chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --dump-dom \
		"file://$logs/page-test.html" 2>/dev/null | grep -o 'page test: [^<]*' >"$logs/page-said"
	cat "$logs/page-said"
	grep -qx 'page test: all well' "$logs/page-said"
}

check 'trapstat builds' built
check 'trapstat builds without a warning, and its man page is well-formed' built_without_warning
check 'rows of traps, percentiles, mappings and texts' computes
check 'arguments that it refuses' refuses
check 'the Makefile finds a clang that is new enough' searches
check 'a user namespace' rootless
check 'the man page has each column and trap' documents
check 'each clang, and a binary without libraries' compiles
check 'signals of a command, on this kernel' here_right
check 'waits for a disk, on this kernel' why_here
check 'the keys of the live view' keys_here
check 'options of the views' options_here
check 'JSON has the keys that the man page has' json_here
check 'stacks in a record, and folded' stacks_here
check_with chromium 'the page of a record: a range of time, values, flames' page_here
for kernel in guest tools linux-image-amd64 linux-image-6.12-amd64; do
	group=$kernel
	if selected && is_ours; then
		kernels "$kernel"
	fi
	check "$kernel: the guest boots and runs each view" boots
	[ -s "$logs/$kernel/started" ] || continue
	job=$logs/$kernel
	check "$kernel: what each clang made runs" compiled_right
	check "$kernel: the capabilities name the sources" sources_named
	check "$kernel: the summary has what the workload did" summary_right
	check "$kernel: the counts are those of getrusage(), and rows sum up" sums_right
	check "$kernel: exit status and children of a command, and two at once" commands_right
	check "$kernel: filters" filters_right
	check "$kernel: a fault that is held for 20 ms takes as long" durations_right
	check "$kernel: why faults take long: refaults, userfaultfd" why_right
	check "$kernel: faults by process, thread, file and cgroup" faults_right
	check "$kernel: sources of second choice" other_sources_right
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
	check "$kernel: signals end it, and no name controls the terminal" signals_right
done
for kernel in guest linux-image-amd64; do
	group=$kernel
	check "$kernel: the counts on one CPU" short_right -c 1
	check "$kernel: the counts on four CPUs" short_right -c 4
done
check 'a locked-down kernel: the message says so' locked_down
check 'a kernel for 512 CPUs: as many files are open as there are CPUs' many_cpus
