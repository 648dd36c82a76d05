# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part arm64: what trapstat says there

# of NAME: what the guest said there, and in "file" for those that read it
of() {
	file=$job.$1
	awk -v want="==== $1" '/^==== / { on = $0 == want; next } on' "$job" >"$file"
	cat "$file"
	[ -s "$file" ]
}
says() { grep -qF -- "$1" "$file" || { echo "not there: $1"; return 1; }; }
lines() {	# LEAST MOST PATTERN: the sum of their first words
	local n
	n=$(awk -v of="$3" '$1 ~ /^[0-9]+$/ && $0 ~ of { n += $1 } END { print n + 0 }' "$file")
	echo "$3: $n, $1 to $2"
	[ "$n" -ge "$1" ] && [ "$n" -le "$2" ]
}
# The page size, and rows of x86 nowhere
capable() {	# SOURCE KIB
	of kernel && grep -qx "KernelPageSize: *$2 kB" "$file" && of capabilities &&
	grep -qE "^how long they take +$1, .* of handle_mm_fault" "$file" &&
	says '  signal:signal_generate' && says 'status 0' &&
	! grep -E 'NMI|machine check|other traps|time in them' "$file" &&
	of vector && says '--vector is for x86' && says 'status 2' &&
	! grep -E '^#[A-OQ-Z]|other traps' "$job"
}
counts() {	# SOURCE
	of "all-$1" && says 'status 0' && grep -qE '^(at least )?0( to [0-9]+)? lost' "$file" &&
	says 'ILL_ILLOPC 90, SEGV_MAPERR 70' &&
	grep -qE '^counted: (.*); getrusage: \1$' "$file" &&
	lines 4600 4900 ' M[A-Z]+ +user +(anon|-)' && lines 700 720 ' M[A-Z]+ +kernel +anon' &&
	lines 500 560 ' M[A-Z]+ +user +shmem' && lines 900 910 ' M[A-Z]+ +noregs'
}
# A fault that is held takes 20 ms; by perf, nobody knows
takes() {	# SOURCE
	of "held-$1" || return 1
	case $1 in
	perf)	awk -F, '/"#PF"/ { n++; known += $2 } END { exit known || n < 5 }' "$file" ;;
	*)	awk -F, '/"step_held"/ && $2 >= 20000000 { n++ } END { exit n != 5 }' "$file" ;;
	esac
}
# Addresses without their tag, the instruction, the mapping, and the offset in the file
records() {	# KIB
	local size=$(($1 * 1024))
	of record && says 'status 0' && of csv >"$job.csv.csv" && cp "$file" "$job.r.csv" &&
	"$top/tests/trapstat/files.py" events "$job.r.csv" >"$job.events" && cat "$job.events" &&
	grep -qx '300 #PF MINOR user anon \[anon\] step_tagged' "$job.events" &&
	grep -qx '40 #PF MINOR user shmem trapstat-file step_file' "$job.events" &&
	grep -qx '7 SIGSEGV - user - - read_nothing' "$job.events" || return 1
	grep -qE '^[45][0-9] #PF MINOR kernel anon \[anon\] [a-z_]+$' "$job.events" &&
	[ "$(grep -c ',0x8,0x[0-9a-f]*,user,"SIGSEGV"' "$file")" = 7 ] &&
	tagged=$(code_of step_tagged) && strides "$size" "$tagged" 8 300 &&
	strides "$size" "$(code_of step_file)" 15 40 &&
	grep -q "\"trapstat-file+$(printf '%#x' "$size")\"" "$file" &&
	of csv-perf >/dev/null && strides "$size" "$tagged" 8 300
}
# The instruction in a function that faults
code_of() { awk -F, -v of="\"$1\"" '$16 == of { print $9; exit }' "$file" | grep .; }
# strides SIZE INSTRUCTION COLUMN COUNT: so many addresses or offsets, each a page further. The
# function is not known by perf on kernels that disable interrupts for it.
strides() {
	awk -F, -v of="$2" -v c="$3" '
		$9 == of { sub(/.*0x/, "", $c); sub(/"/, "", $c); print toupper($c) }' "$file" |
		{ echo 'ibase=16'; cat; } | bc | sort -n |
		awk -v size="$1" -v count="$4" 'NR > 1 && $1 != last + size { exit 1 } { last = $1 }
			last >= 2 ^ 52 { exit 1 } END { if (NR != count) exit 1 }' ||
		{ echo "$2, column $3: not $4 pages of $1"; return 1; }
}
