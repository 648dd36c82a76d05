# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# builds: the kernels that make check boots build without a warning

kselftest_builds_clean() {
	build_kselftest && [ -f "$dir/kselftest.log" ] &&
	! grep -i 'warning:' "$dir/kselftest.log" "$dir/tests.log"
}

check 'run: the kernel builds without a warning' builds_clean run
check 'the kernel builds without a warning' builds_clean guest
check 'the kselftest and our own programs build without a warning' kselftest_builds_clean
