# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# What the parts trapstat and trapstat-here share: build trapstat and the workload, and look for
# figures in what a view printed, in $file

need clang-19 bpftool man bc
[ -e /usr/include/bpf/libbpf.h ] || skip_part "there is no libbpf-dev"
trapstat=$logs/built/trapstat
workload=$logs/workload

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
loads_here() {
	is_built || return 1
	"$trapstat" 0.01 1 >/dev/null && return
	echo 'trapstat cannot load its programs here' >"$cannot"
	return 1
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
as_getrusage() {
	[ "$(sed -n 's/^counted: \(.*\); getrusage: \(.*\)/\1\n\2/p' "$file" | uniq | wc -l)" = 1 ]
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
# few_left MOST: each map has at most MOST tasks that are gone; more stay beside others that attach
few_left() {
	[ "$(sed -n 's/^map [a-z_]*: //p' "$file" | awk '$1 <= '"$1"' { n++ } END { print n }')" = 6 ]
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
crashing='ldt 1 np 2 ss 2 segv 7 protected 3 divide 8 ud 9 hlt 5 of 3 crash 2 readonly 4 deep 6'
not_here='^$'	# the signals that it cannot get here
# crashes_right FILE: who got which signal, and why; without BTF, of which trap is not known
crashes_right() {
	file=$1
	files crashes "$file" >"$file.kinds" && cat "$file.kinds" && files stacks "$file" &&
		nothing_lost || return 1
	if has_btf; then
		# The process is gone, and what called it has no frame pointer
		files stacks "$file" | grep -x '6 deepest;deeper;deep;crash_each' &&
		grep -v "$not_here" <<-'END' | diff - "$file.kinds"
			8 FPE_INTDIV #DE no - divide - here
			9 ILL_ILLOPN #UD no - ud - here
			3 SEGV_ACCERR #PF no write, user, page present write_there workload here
			4 SEGV_ACCERR #PF yes write, user, page not present write_readonly trapstat-file+0x123 here
			7 SEGV_MAPERR #PF no read, user, page not present read_nothing - here
			6 SEGV_MAPERR #PF yes read, user, page not present deepest - here
			2 SEGV_MAPERR #PF yes read, user, page not present read_nothing - here
			2 SIGBUS #NP no selector 0 of the LDT np - here
			2 SIGBUS #SS no selector 0 of the LDT ss - here
			5 SIGSEGV #GP no - hlt - here
			3 SIGSEGV #OF no - of - here
		END
	else
		printf '%s - -\n' '8 FPE_INTDIV' '9 ILL_ILLOPN' '7 SEGV_ACCERR' '15 SEGV_MAPERR' \
			'4 SIGBUS' '8 SIGSEGV' | grep -v "$not_here" >"$file.want" &&
		cut -d ' ' -f 1-4 "$file.kinds" | diff "$file.want" -
	fi
}
