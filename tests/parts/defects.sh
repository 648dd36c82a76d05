# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# defects: defects of the kernel, switched on one by one, and each caught by its test
#
# They are in arch-x86-hooks/BASE/defects/: defects.diff puts all of them into one kernel,
# and trap_defect=NAME on its command line switches one on. The table beside it says
# which program catches it, and which tests of that fail then. Others may fail as well. With
# trap_defect=none, all tests of these programs pass.
#
# These stand for a program:
#	double-fault		The stack overflows, and the console has the event.
#	NAME.tc			a test of ftracetest
# This stands for a test:
#	the guest dies		The one test of the program begins, and does not succeed.

defects=$hooks/defects
[ -f "$defects/table" ] || skip_part "there are no defects for $base"
tab=$(printf '\t')

rows=$(grep -v '^#' "$defects/table")
programs=$(echo "$rows" | cut -f 2 | sort -u)

# Nothing is built if ONLY asks for none of these
same_names='the table has the defects that the kernel has'
wanted=$({
	echo "$same_names"
	echo "$programs" | sed 's/^/without a defect: /'
	echo "$rows" | cut -f 1 | sed 's/^/kernel defect: /'
} | while read -r name; do
	! selected "$name" || echo "$name"
done)
[ "$wanted" ] || exit 0

# In the table, in the list of the names, and in the code
has_same_names() {
	local in_table
	in_table=$(echo "$rows" | cut -f 1 | sort)
	echo "$in_table" | wc -l
	[ "$in_table" ] && same "$in_table" "$(names_in D)" &&
	same "$in_table" "$(names_in DEFECT | grep -vx name | uniq)"
}
names_in() {	# MACRO
	sed -n 's/^+//p' "$defects/defects.diff" | grep -owE "$1\([a-z0-9_]+\)" | sed 's/.*(//; s/)//' | sort
}

# scripts/kernel/build asks git what has changed, so git has to know the new header
builds_with_defects() {
	plain_git -C "$src" checkout -q -f HEAD &&
	plain_git -C "$src" apply "$defects/defects.diff" &&
	plain_git -C "$src" add -N include/linux/trap_defect.h &&
	"$top/scripts/kernel/build" -t "$src" && no_warning guest
}

# run_with WORDS PROGRAM JOB [TESTS]: boot with these words on the kernel's command line, and
# run PROGRAM. Its results are in JOB/tap. It ends when these tests have failed.
run_with() {
	local words="$1" program="$2" job="$3" arguments="${2#"${2%% *}"}" result
	case $program in
	double-fault)
		result='not ok'
		! exhaust_stack "$job" -a "$words" || result=ok
		! grep -aq 'stack guard page was hit' "$job/console.log" ||
			printf '1..1\n%s 1 #DF is in the dump of the trace\n' "$result" >"$job/tap" ;;
	*.tc)
		guest guest "$job" -a "$words" <<END || return 1
cd $src/tools/testing/selftests/ftrace && ./ftracetest test.d/*/$program >/job/out 2>&1
END
		cat "$job/out"
		result='not ok'
		[ "$(grep -c '\[PASS\]' "$job/out")" != 2 ] || result=ok
		! grep -q '\[\(PASS\|FAIL\)\]' "$job/out" ||
			printf '1..1\n%s 1 %s\n' "$result" "$program" >"$job/tap" ;;
	*)
		guest guest "$job" -d 512 -a "$words" <<END ;;
cat >/tmp/tests <<'TESTS'
${4:-}
TESTS
stdbuf -oL $(path_of "${program%% *}") $arguments 2>&1 | while IFS= read -r line; do
	printf '%s\n' "\$line"
	case \$line in
	'not ok '*)
		printf '%s\n' "\${line#not ok * }" >>/tmp/failed
		grep -qvxFf /tmp/failed /tmp/tests || break ;;
	esac
done >/job/tap
END
	esac
}

# The kernel says which one is on
switched_on() {	# NAME JOB
	tr -d '\r' <"$2/console.log" | grep -ax ".*trap_defect: $1" && [ -s "$2/tap" ]
}

tests_of() {	# COLUMN VALUE
	echo "$rows" | awk -F '\t' -v column="$1" -v value="$2" '$column == value { print $3 }' |
		sed 's/; /\n/g' | sort -u
}

# Some of these programs cause an oops, so the guest may fail
passes_without() (	# PROGRAM
	job=$logs/without-$(echo "$1" | tr ' ' -)
	run_with trap_defect=none "$1" "$job" || true
	switched_on none "$job" && cat "$job/tap" && ! grep '^Bail out!' "$job/tap" &&
	! grep -q '^not ok ' "$job/tap" &&
	[ "$(sed -n 's/^1\.\.//p' "$job/tap")" = "$(grep -c '^ok [0-9]' "$job/tap")" ] || exit 1
	passed=$(sed -n 's/^ok [0-9]* //p' "$job/tap" | grep -v '^# SKIP') || exit 1
	! tests_of 2 "$1" | grep -vxF 'the guest dies' | grep -vxF "$passed"
)

is_caught() (	# NAME PROGRAM
	job=$logs/$1 expected=$(tests_of 1 "$1")
	if echo "$expected" | grep -qx 'the guest dies'; then
		run_with "trap_defect=$1 oops=panic" "$2" "$job" || true
		switched_on "$1" "$job" && grep -qx '1\.\.1' "$job/tap" || exit 1
		! grep '^ok ' "$job/tap" || { echo "$1 is not caught"; exit 1; }
		exit 0
	fi
	run_with "trap_defect=$1" "$2" "$job" "$expected" || true
	switched_on "$1" "$job" || exit 1
	grep -q '^1\.\.[1-9]' "$job/tap" || { echo "$2 has not run"; exit 1; }
	failed=$(sed -n 's/^not ok [0-9]* //p' "$job/tap")
	echo "$failed"
	! echo "$expected" | grep -vxF "$failed" |
		sed "s/^/$1 is not caught, as this does not fail: /" | grep .
)

check "$same_names" has_same_names
[ "$wanted" != "$same_names" ] || exit 0
kernels
work_tree "$src" HEAD
builds_with_defects >"$logs/kernel.log" 2>&1 || {
	fail_part "the kernel with the defects builds (log: $logs/kernel.log)"
	exit
}
asked=${TIMEOUT:-}
export TIMEOUT="${asked:-900}"
while IFS= read -r program <&3; do
	check "without a defect: $program" passes_without "$program"
done 3<<END
$programs
END
# A guest that hangs has caught nothing, unless its table says so
TIMEOUT=${asked:-300}
while IFS=$tab read -r name program _ <&3; do
	check "kernel defect: $name" is_caught "$name" "$program"
done 3<<END
$rows
END
unset TIMEOUT
