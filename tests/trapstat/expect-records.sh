# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part trapstat: records, their pages, and metrics.

# What is in the record, is in the page and was counted
same_traps() {	# RECORD PAGE
	same_events "$@" && [ "$(files traps "$job/$1" | cut -d ' ' -f 1 | paste -sd+ | bc)" = \
		"$(sed -n 's/^trapstat: .*: \([0-9]*\) events$/\1/p' "$job/report")" ]
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
