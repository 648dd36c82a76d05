# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part trapstat-here: what options of the views do

options_here() {
	local one two
	loads_here || return 1
	file=$logs/options
	"$trapstat" --help >"$file" && [ "$(wc -l <"$file")" = 24 ] && ! grep -E '.{81}' "$file" &&
	timeout 10 "$trapstat" --duration 0.5 -o "$file" -- sleep 20 && says 'goes on: sleep' &&
	"$trapstat" -H -o "$file" -- "$workload" anon 1000 && says '|@@@' || return 1
	files fits "$trapstat" -b --duration 1 0.3 >"$file" && ! grep "$(printf '\033')" "$file" &&
	[ "$(grep -c '^USER/s' "$file")" -ge 2 ] || return 1
	! "$trapstat" --sort bogus -- true 2>"$file" && says ' USER KERNEL ' && says ' P99 ' &&
	"$trapstat" -C --sort cpu0 0.1 1 &&
	! "$trapstat" --outcome arch faults 0.1 1 2>"$file" && says 'needs the events of pagefault' &&
	"$trapstat" --json --sort p99 -o "$file" -- "$workload" anon 1000 kernel 400 &&
	sed -n 's/.*"type":"page_fault".*"p99_ns":\([0-9]*\),.*/\1/p' "$file" >"$file.p99" &&
	[ "$(wc -l <"$file.p99")" -ge 2 ] && sort -c -n -r "$file.p99" || return 1
	# A column of the traps leaves the faults by COUNT
	"$trapstat" --sort user -o "$file" -- "$workload" nested 300 bus 60 single 1000 && cat "$file" &&
	nothing_lost && says 'TRAP_TRACE 1000, BUS_ADRERR 60, SEGV_MAPERR 300' &&
	{ says 'counted: - minor' || as_getrusage; } &&
	sed '1,/^ *COUNT/d; /^$/,$d' "$file" | sort -c -s -n -r || return 1
	"$trapstat" record -o "$file.csv" -- "$workload" protected 3 segv 7 || return 1
	[ ! -e /sys/kernel/btf/vmlinux ] ||
		{ [ "$(grep -c ',0x7,.*"SIGSEGV"' "$file.csv")" = 3 ] &&
		[ "$(grep -c ',0x4,.*"SIGSEGV"' "$file.csv")" = 7 ]; } || return 1
	"$workload" sleep 2500 anon 20000 sleep 4000 &
	files fits "$trapstat" -S -c workload faults 4 1 >"$file" && cat "$file" &&
	grep -qx ' *step_anon' "$file" || return 1
	echo kept >"$file.csv" &&
	[ "$("$trapstat" record -o "$file.csv" -- /nosuch 2>"$file" || echo $?)" = 127 ] &&
	says 'trapstat: /nosuch: No such file' && grep -qx kept "$file.csv" || return 1
	[ "$("$trapstat" crashes -- sh -c "sleep 1; : >$file.done" 2>"$file" >/dev/full ||
		echo $?)" = 1 ] &&
	[ -e "$file.done" ] && says 'standard output: No space left on device' || return 1
	# A signal while it loads, a filter by name, and an output that is not a file
	[ "$(timeout 0.05 "$trapstat" record -o "$file.csv" -- touch "$file.ran" || echo $?)" = 124 ] &&
	[ ! -e "$file.ran" ] && grep -qx kept "$file.csv" &&
	"$trapstat" -c workload -o "$file" -- "$workload" anon 500 && faults 500 510 'MINOR user anon' &&
	! grep -E '^ *[0-9]{2,} .* noregs ' "$file" && ln -sf /proc/self/fd/1 "$file.link" &&
	"$trapstat" export -o "$file.link" 0.1 1 | grep -q trapstat_lost && [ -L "$file.link" ] || return 1
	sleep 2 & one=$!
	sleep 4 & two=$!
	timeout 20 "$trapstat" -p "$one,$two" 100 1 >"$file" 2>&1 &&
	says "process $one has ended" && says "process $two has ended" || return 1
	# Without an argument, five lines say what this kernel lets it see
	timeout -s INT 5 "$trapstat" >"$file"
	[ "$(sed '1,/^$/d; /^$/,$d' "$file" | wc -l)" = 5 ] && ! grep -E '.{81}' "$file"
}
