# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# trapstat-here: trapstat's arguments and texts, and its views of the kernel here
#
# Where nobody may load a BPF program, as in a container, the views are skipped.

# shellcheck source=tests/trapstat-common.sh
. "$top/tests/trapstat-common.sh"

built_without_warning() {
	is_built && ! grep -i 'warning' "$logs/trapstat-builds.log"
}
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
	-H faults -g:-H shows all
	-n 1 export:-n is for
	-T export:-T is for
	-T -- true:-T is for
	--json export:--json is not for
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
	END
	[ "$n" = 37 ]
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
	is_built || return 1
	unshare -r true 2>/dev/null || { echo 'there are no user namespaces' >"$cannot"; return 1; }
	file=$logs/rootless
	[ "$(unshare -r "$trapstat" 1 1 >"$file" 2>&1 || echo $?)" = 2 ] && says 'user namespace' &&
	[ "$(wc -l <"$file")" = 1 ]
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
why_here() {
	local suffix tp
	file=$logs/why
	loads_here && export WORKLOAD_FILE="$logs/why-file" &&
	"$trapstat" -w -o "$file" -- "$workload" refault 300 &&
	cat "$file" && faults 600 605 'MAJOR user file' &&
	[ "$(grep -c ' io [0-9]' "$file")" -ge 3 ] || return 1
	"$trapstat" -n 2 -o "$file" -- "$workload" noregs 900 kernel 600 refault 100 &&
	cat "$file" && faults 200 205 'MAJOR user file' && says ' noregs ' &&
	"$trapstat" -w -o "$file" -- "$workload" locked 100 && cat "$file" &&
	[ "$(grep -c ' mmap_lock [0-9]' "$file")" -ge 3 ] || return 1
	# A task may or may not sleep in these
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
# Threads that come and go leave nothing, and what is missed of them is said
million_here() {
	loads_here || return 1
	file=$logs/million
	"$trapstat" -w -- "$top/tests/trapstat/brief" "$workload" 1000000 >"$file" 2>&1 &
	# Who attaches to sched_process_free may keep it from firing, and others get these addresses
	for _ in $(seq 30); do
		"$trapstat" -- "$workload" processes 300 >"$file.other" 2>&1
	done
	wait $! && cat "$file" && few_left 40 && says 'ILL_ILLOPN 1000000' &&
	{ [ ! -e /sys/kernel/btf/vmlinux ] || within_lost; } || return 1
	"$trapstat" crashes --json -- "$top/tests/trapstat/brief" "$workload" 20000 >"$file" 2>&1 &&
	grep -v crash "$file" && few_left 40 &&
	[ $(($(grep -c ILL_ILLOPN "$file") + $(lost_most | tail -n 1))) = 20000 ]
}
keys_here() {
	loads_here || return 1
	files keys "$trapstat" && files keys "$trapstat" -H &&
	files once 'see ulimit -Hn' prlimit --nofile=100:100 "$trapstat" --source perf
}
# What options of the views do
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
# Each type of line, of each view, in the man page
json_here() {
	local view kernel=guest by=false
	loads_here || return 1
	! "$trapstat" --capabilities | grep ', with a signal$' || by=true
	[ ! -e /sys/kernel/btf/vmlinux ] || kernel=here
	export WORKLOAD_FILE="$logs/trapstat-file"
	# A guest of PVM does not load the LDT
	"$workload" ldt 1 np 1 || not_here=SIGBUS crashing=${crashing#*ss 2}
	# shellcheck disable=SC2086 # a list of words
	"$trapstat" crashes -S --json -- "$workload" $crashing >"$logs/json-crashes" &&
	crashes_right "$logs/json-crashes" &&
	"$trapstat" crashes -S --json -- "$workload-shared" library 3 >"$logs/json-library" &&
	{ ! has_btf || files stacks "$logs/json-library" |
		grep -x '3 [^;]*;deeper;deep;crash_each'; } &&
	file=$logs/json-command && "$trapstat" --json -H -o "$file" -- "$workload" anon 1000 ud 5 &&
	says '"#PF","with_signal":false' && says "\"#UD\",\"with_signal\":$by" &&
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
	local dark
	loads_here &&
	"$trapstat" record -w -o "$logs/page.html" -- "$workload" anon 10000 kernel 5000 held 3 &&
	! grep -E '(src|href)=|https?://' "$logs/page.html" | grep -v 'www.w3.org/2000/svg' &&
	[ "$(wc -c <"$top/trapstat/page.html")" -lt 300000 ] || return 1
	{
		sed 's|</script></body></html>$||' "$logs/page.html"
		cat "$top/tests/trapstat/page.js"
		echo '</script></body></html>'
	} >"$logs/page-test.html"
	for dark in '' --force-dark-mode; do
		chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --dump-dom \
			$dark "file://$logs/page-test.html" 2>/dev/null | grep -o 'page test: [^<]*'
	done >"$logs/page-said"
	diff - "$logs/page-said" <<-'END'
		page test: all well on rgb(255, 255, 255)
		page test: all well on rgb(22, 24, 28)
	END
}
# Each example of the documents runs, and fits its terminal
captures_here() {
	loads_here && cp "$top/README.md" "$top/docs/trapstat.md" "$logs" &&
	"$top/docs/captures" "$trapstat" "$workload" "$logs/README.md" "$logs/trapstat.md"
}

check 'trapstat builds' built
check 'trapstat builds without a warning, and its man page is well-formed' built_without_warning
check 'rows of traps, percentiles, mappings and texts' computes
check 'arguments that it refuses' refuses
check 'the Makefile finds a clang that is new enough' searches
check 'a user namespace' rootless
check 'the man page has each column and trap' documents
check 'waits for a disk, on this kernel' why_here
check 'a million threads leave nothing' million_here
check 'the keys of the live view' keys_here
check 'options of the views' options_here
check 'JSON has the keys that the man page has' json_here
check 'stacks in a record, and folded' stacks_here
check_with chromium 'the page of a record: a range of time, values, flames' page_here
check 'the examples of the documents' captures_here
