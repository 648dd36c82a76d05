# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# defects: defects of the kernel, switched on one by one, each caught by its test
#
# They are in tests/defects/BASE/: defects.diff puts all of them into one kernel,
# which has one of them on at a time. The table beside it says which program catches it, and
# which tests of that fail then. Others may fail as well. One guest runs a program with each
# of its defects, and at last without one: then all tests pass, so nothing of a defect is left.
#
# These stand for a program:
#	double-fault		The stack overflows, and the console has the event.
#	NAME.tc			a test of ftracetest
# This stands for a test:
#	the guest dies		The one test of the program begins, and does not succeed. Such
#				a defect has a guest of its own, and so have those that the
#				table lists after "alone".

defects=$top/tests/defects/$base
[ -f "$defects/table" ] || skip_part "there are no defects for $base"
tab=$(printf '\t')
# shellcheck source=tests/defects/run-with.sh
. "$top/tests/defects/run-with.sh"

rows=$(grep -v '^#' "$defects/table")
programs=$(echo "$rows" | cut -f 2 | sort -u)

# test_of NAME PROGRAM: the name of the test that this program catches this defect
test_of() {
	if [ "$(echo "$rows" | sed -n "s/^$1$tab//p" | head -n 1 | cut -f 1)" = "$2" ]; then
		echo "kernel defect: $1"
	else
		echo "kernel defect: $1, $2"
	fi
}
# expected_of NAME PROGRAM: which of its tests fail then
expected_of() {
	echo "$rows" | grep -F "$1$tab$2$tab" | cut -f 3 | sed 's/; /\n/g' | sort -u
}
is_alone() {	# NAME PROGRAM
	[ "$(expected_of "$1" "$2")" = 'the guest dies' ] ||
		grep '^# alone: ' "$defects/table" | grep -qw "$1"
}

# In the table, in the list of the names, and in the code
has_same_names() {
	local in_table
	in_table=$(echo "$rows" | cut -f 1 | sort -u)
	echo "$in_table" | wc -l
	[ "$in_table" ] && same "$in_table" "$(names_in D)" &&
	same "$in_table" "$(names_in DEFECT | grep -vx name | uniq)"
}
names_in() {	# MACRO
	sed -n 's/^+//p' "$defects/defects.diff" | grep -owE "$1\([a-z0-9_]+\)" |
		sed 's/.*(//; s/)//' | sort
}

# scripts/kernel/build asks git what has changed, so git has to know the new header
builds_with_defects() {
	plain_git -C "$src" checkout -q -f HEAD &&
	plain_git -C "$src" apply "$defects/defects.diff" &&
	plain_git -C "$src" add -N include/linux/trap_defect.h &&
	"$top/scripts/kernel/build" -t "$src" && no_warning guest
}

# objtool rejects it. Without OBJTOOL_WERROR, it only says so
early_hook_breaks() {
	local built=0
	plain_git -C "$src" apply "$defects/early-hook.diff" || return 1
	"$top/scripts/kernel/build" "$src" || built=$?
	plain_git -C "$src" apply -R "$defects/early-hook.diff" || return 1
	[ $built != 0 ] && grep 'leaves .noinstr.text section' "$dir/guest.log"
}

passes_without() (	# PROGRAM
	results_of none "$1"
	results=$job/none.tap
	switched_on none && cat "$results" && ! grep -e '^Bail out!' -e '^not ok ' "$results" &&
	[ "$(sed -n 's/^1\.\.//p' "$results")" = "$(grep -c '^ok [0-9]' "$results")" ] || exit 1
	passed=$(sed -n 's/^ok [0-9]* //p' "$results" | grep -v '^# SKIP') || exit 1
	! for name in $(echo "$rows" | grep -F "$tab$1$tab" | cut -f 1); do
		expected_of "$name" "$1" | sed 's/ or /\n/g'
	done | grep -vxF -e 'the guest dies' -e "$passed"
)

is_caught() (	# NAME PROGRAM
	results_of "$1" "$2"
	results=$job/$1.tap
	switched_on "$1" || exit 1
	grep '^1\.\.[1-9]' "$results" || { echo "$2 has not run"; exit 1; }
	if [ "$(expected_of "$1" "$2")" = 'the guest dies' ]; then
		! grep '^ok ' "$results" || { echo "$1 is not caught"; exit 1; }
		exit 0
	fi
	failed=$(sed -n 's/^not ok [0-9]* //p' "$results")
	echo "$failed"
	! expected_of "$1" "$2" | while IFS= read -r one_of; do
		echo "$one_of" | sed 's/ or /\n/g' | grep -qxF "$failed" ||
			echo "$1 is not caught, as this does not fail: $one_of"
	done | grep .
)

check 'the table has the defects that the kernel has' has_same_names
kernels
work_tree "$src" HEAD
builds_with_defects >"$logs/kernel.log" 2>&1 || {
	fail_part "the kernel with the defects builds (log: $logs/kernel.log)"
	exit
}
# A guest that hangs has caught nothing, unless its table says so
asked=${TIMEOUT:-}
export TIMEOUT="${asked:-900}"
while IFS=$tab read -r name program _ <&3; do
	check "$(test_of "$name" "$program")" is_caught "$name" "$program"
done 3<<END
$rows
END
while IFS= read -r program <&3; do
	check "without a defect: $program" passes_without "$program"
done 3<<END
$programs
END
check 'a hook before irqentry_enter() does not build' early_hook_breaks
