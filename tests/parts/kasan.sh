# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# kasan: all test programs with KASAN, lockdep, the rest of x86_debug.config

kernels kasan
# A guest with KASAN takes several times as long for everything
export TIMEOUT="${TIMEOUT:-5400}"
passes_kselftest kasan kasan "$(all_programs)" -c 4
