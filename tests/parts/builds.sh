# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# builds: the kernels that make check boots build without a warning

kselftest_builds_clean() {
	build_kselftest && [ -f "$dir/kselftest.log" ] &&
	! grep -i 'warning:' "$dir/kselftest.log" "$dir/tests.log"
}

# Each program is run: by the kselftest, by own_programs(), or by a part that names it
all_are_run() {
	local programs sources
	build_kselftest && programs=$(all_programs) &&
	sources=$(grep -l '^int main(' "$src"/tools/testing/selftests/trap/*.c \
		"$src"/tools/testing/selftests/pagefault/*.c "$top"/tests/*.c) || return 1
	echo "$sources" | while read -r source; do
		program=$(basename "$source" .c)
		if echo "$programs" | grep -qx "$program"; then
			echo "$programs" | grep -x "${program}_32"
		else
			grep -lE "(tests/|run_programs .*)$program\>" "$top"/tests/parts/*.sh \
				"$top/scripts/bench/run"
		fi || { echo "nothing runs $program"; exit 1; }
	done
}

check 'run: the kernel builds without a warning' builds_clean run
check 'the kernel builds without a warning' builds_clean guest
check 'the kselftest and the programs of tests/ build without a warning' kselftest_builds_clean
check 'each test program is run' all_are_run
