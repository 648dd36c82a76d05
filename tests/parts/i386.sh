# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# i386: all test programs on a 32-bit kernel

check 'i386: the kernel builds without a warning' builds_clean i386
kernels i386
# ONLY takes the names of the programs without _32
export TIMEOUT="${TIMEOUT:-900}"
passes_kselftest i386 i386 "$(all_programs | grep -v _32)"
