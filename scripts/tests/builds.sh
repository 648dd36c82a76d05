# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check
# The kernels that the other parts boot, and the tests that run in them. A part of
# scripts/check.

kselftest() {
	make -s -C "$src" O="$dir/guest" headers &&
	make -s -C "$src/tools/testing/selftests" O="$dir/guest" TARGETS=trap install \
		INSTALL_PATH="$build/kselftest" && [ -x "$tests/trap_events_32" ]
}

check 'the kernel builds without a warning' builds_clean guest
check 'the kselftest builds and installs' kselftest
check 'i386: the kernel builds without a warning' builds_clean i386
check 'debug: the kernel builds without a warning' builds_clean debug
check 'price: the kernel builds' "$top/scripts/build" "$src" price
check 'price: the source without the series is there' work_tree "$dir/src-base" base
check 'price: the kernel without the series builds' "$top/scripts/build" "$dir/src-base" price-base
