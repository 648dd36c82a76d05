# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# trapstat-here: trapstat's arguments and texts, and its views of the kernel here
#
# Where nobody may load a BPF program, as in a container, the views are skipped.

# shellcheck source=tests/trapstat-common.sh
. "$top/tests/trapstat-common.sh"
# shellcheck source=tests/trapstat/texts.sh
. "$top/tests/trapstat/texts.sh"
# shellcheck source=tests/trapstat/options.sh
. "$top/tests/trapstat/options.sh"

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
