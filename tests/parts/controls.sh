# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# controls: hooks and parts of the guard are taken out, and exactly their tests fail
#
# It has its own source and kernel, as other parts use those without the controls. They are
# in arch-x86-hooks/BASE/controls/*.diff of the newest base. An older base has one of the same
# name where it needs another one. A line in each says what must happen:
#
#	# breaks: WORDS		The build fails, and says WORDS. Without OBJTOOL_WERROR,
#				which older kernels do not have, objtool only says it.
#	# fails: TEST		This test fails, and no other does
#	# programs: PROGRAM...	... of these programs.
#	# without PART: TEST... not TEST...
#				The control is a switch on the command line for a
#				PART of the guard. Without it, the tests of trap_probes
#				before "not" fail, and the ones after it do not.
#	# without PART, alone: TEST
#				The same in a guest of its own, which may hang or die
#				of it. "oops" is the test of trap_oops. A hang takes
#				long, so make check runs only the first of each PART.

kernels

applies() {
	plain_git -C "$src" checkout -q -f HEAD && plain_git -C "$src" apply "$1"
}

breaks() {	# WORDS
	if "$top/scripts/kernel/build" "$src" && grep -qx CONFIG_OBJTOOL_WERROR=y "$dir/guest/.config"; then
		echo 'it builds'
		return 1
	fi
	grep -F "$1" "$dir/guest.log"
}

fails_as_expected() {	# DIFF
	"$top/scripts/kernel/build" -t "$src" || return 1
	local control="$1" job="$logs/control.hook"
	# shellcheck disable=SC2046 # a list
	set -- $(sed -n 's/^# programs: //p' "$1")
	run_programs guest "$job" "$@" && "$tap" complete $# "$job/tap" &&
	same "$(sed -n 's/^# fails: //p' "$control" | sort)" \
		"$(sed -n 's/^not ok [0-9]* //p' "$job/tap" | sort)"
}

guest_without() {	# PART JOB COMMAND...
	local part="$1" job="$2"
	shift 2
	guest guest "$job" -a "trap_trace_without=$part" <<EOF
stdbuf -oL $* >/job/tap 2>&1
EOF
}

# With the whole guard, all tests that the switches name pass. Their duration is the time to
# wait for tests that hang.
nothing_left_out() {
	local job="$logs/control.nothing" began_guest
	began_guest=$(date +%s)
	# shellcheck disable=SC2046 # a list of tests
	set -- $(echo "$switches" | sed 's/^[a-z]* \(, alone\)\{0,1\}//' | tr ' ' '\n' |
		grep -vx -e not -e oops | sort -u)
	guest_without nothing "$job" "$tests/trap_probes" "$@" || return 1
	patience=$(($(date +%s) - began_guest))
	[ "$patience" -gt 20 ] || patience=20
	cat "$job/tap"
	! grep -E '^not ok |# SKIP' "$job/tap" &&
	[ "$(sed -n 's/^ok [0-9]* \([^:]*\):.*/\1/p' "$job/tap" | sort -u | wc -l)" = $# ]
}

without() {	# PART TEST... [not TEST...]
	local part="$1" job="$logs/control.$1" expected
	shift
	# shellcheck disable=SC2046 # a list of tests
	guest_without "$part" "$job" "$tests/trap_probes" \
		$(printf '%s\n' "$@" | grep -vx not) || return 1
	expected=$(printf '%s\n' "$@" | sed '1,/^not$/{/^not$/d;s/^/not /;b};s/^/ok /' | sort)
	same "$expected" "$(sed -n 's/^not ok [0-9]* \([^:]*\):.*/not \1/p
		s/^ok [0-9]* \([a-z][^:]*\):.*/ok \1/p' "$job/tap" | sort -u)"
}

# The test began, and did not pass in the time in which all tests pass
without_alone() {	# PART TEST
	local job="$logs/control.$1.$2" program="trap_probes $2"
	[ "$2" != oops ] || program=trap_oops
	TIMEOUT=${patience:-60} guest_without "$1" "$job" "$tests/$program" || true
	cat "$job/tap"
	grep -qx '1\.\.1' "$job/tap" && ! grep -q '^ok ' "$job/tap"
}

work_tree "$src" HEAD
for control in "$top/arch-x86-hooks/$(default_base)"/controls/*.diff; do
	of=$(basename "$control" .diff)
	[ ! -f "$hooks/controls/$of.diff" ] || control=$hooks/controls/$of.diff
	# shellcheck disable=SC2034 # for selected()
	group="control: $of"
	selected || continue
	absent=$(sed -n 's|^+++ b/||p' "$control" | while read -r file; do [ -e "$src/$file" ] || echo "$file"; done)
	if [ "$absent" ]; then
		skip "control: $of" "$base has no $absent"
		continue
	fi
	check "control: $of applies" applies "$control"
	words=$(sed -n 's/^# breaks: //p' "$control")
	if [ -n "$words" ]; then
		check "control: $of breaks the build" breaks "$words"
	elif grep -q '^# fails: ' "$control"; then
		check "control: $of, and exactly its tests fail" fails_as_expected "$control"
	else
		switches=$(sed -n 's/^# without \([a-z]*\)\(, alone\)\{0,1\}: \(.*\)/\1 \2\3/p' "$control")
		check "control: $of builds" "$top/scripts/kernel/build" -t "$src"
		check "control: $of, with the whole guard all tests pass" nothing_left_out
		last_alone=''
		while read -r part what <&3; do
			case $what in
			', alone'*)
				test=${what#, alone}
				what="control: without $part, $test fails or the guest dies"
				if [ "${TRAP_FAST:-}" ] && [ "$part" = "$last_alone" ]; then
					skip "$what" 'only make check-controls and make check-all run it'
				else
					check "$what" without_alone "$part" "$test"
				fi
				last_alone=$part ;;
			*)
				# shellcheck disable=SC2086 # a list of tests
				check "control: without $part, exactly these fail: $what" \
					without "$part" $what ;;
			esac
		done 3<<END
$switches
END
	fi
done
