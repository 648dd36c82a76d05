# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# Of the part defects: a guest for each program, which runs it with each of its defects

# run_with PROGRAM JOB WORDS NAME...: boot with these words on the command line of the kernel,
# and run PROGRAM with each of these defects. The results are in JOB/NAME.tap
run_with() {
	local program="$1" job="$2" words="$3" name command good
	shift 3
	case $program in
	double-fault)
		good='not '
		! exhaust_stack "$job" -a "trap_defect=$1 $words" || good=''
		! grep -aq 'stack guard page was hit' "$job/console.log" ||
			printf '1..1\n%sok 1 #DF is in the dump of the trace\n' "$good" \
				>"$job/$1.tap"
		return ;;
	*.tc)	command="./ftracetest test.d/*/$program" ;;
	*)	command="$(path_of "${program%% *}") ${program#"${program%% *}"}" ;;
	esac
	guest guest "$job" -d 512 -a "numa=fake=2 $words" <<END || true
cd $src/tools/testing/selftests/ftrace
for name in $*; do
	echo \$name >/sys/module/kernel/parameters/trap_defect || continue
	stdbuf -oL $command >/job/\$name.tap 2>&1
done
END
	[ "$program" = "${program%.tc}" ] || for name in "$@"; do
		tap_of_ftracetest "$job/$name.tap" "$program"
	done
}
# It runs once in the top instance, and once in one of its own
tap_of_ftracetest() {	# FILE NAME
	local good='not '
	! grep -q '\[\(PASS\|FAIL\)\]' "$1" || {
		[ "$(grep -c '\[PASS\]' "$1")" != 2 ] || good=''
		printf '1..1\n%sok 1 %s\n' "$good" "$2" >>"$1"
	}
}
# results_of NAME PROGRAM: set job to the folder with the results. The guest of a program
# runs when the first of its defects is asked for
results_of() {
	local name names='' words=''
	if [ "$1" != none ] && is_alone "$1" "$2"; then
		job=$logs/$1-$(echo "$2" | tr ' ' -)
		# So that the guest ends at once; but this program oopses without a defect, too
		[ "$2" = trap_oops ] || words=oops=panic
		TIMEOUT=${asked:-45} run_with "$2" "$job" "$words" "$1"
		return
	fi
	job=$logs/$(echo "$2" | tr ' ' -)
	[ ! -d "$job" ] || return 0
	for name in $(echo "$rows" | grep -F "$tab$2$tab" | cut -f 1); do
		is_alone "$name" "$2" || ! selected "$(test_of "$name" "$2")" ||
			names="$names $name"
	done
	! selected "without a defect: $2" || names="$names none"
	# shellcheck disable=SC2086 # a list
	run_with "$2" "$job" '' $names
}
# The kernel says which one is on
switched_on() {	# NAME
	tr -d '\r' <"$job/console.log" | grep -ax ".*trap_defect: $1" && [ -s "$job/$1.tap" ]
}
