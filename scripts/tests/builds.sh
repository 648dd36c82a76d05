# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# builds: the kernels that the parts of make check boot, without a warning

check 'the kernel builds without a warning' builds_clean guest
check 'the kselftest builds and installs' build_kselftest
check 'i386: the kernel builds without a warning' builds_clean i386
check 'debug: the kernel builds without a warning' builds_clean debug
check 'price: the kernel builds' build_kernel price
check 'price: the kernel without the series builds' build_kernel price-base
if "$top/scripts/root" "$base" >/dev/null 2>"$logs/root.log"; then
	check 'tools: the kernel builds without a warning' builds_clean tools
else
	no_source 'tools: the root of the guest is made' "$logs/root.log"
fi
