# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# kasan: the kselftest on a kernel with KASAN, lockdep and all of x86_debug.config

kernels kasan
export TIMEOUT=1800
passes_kselftest kasan kasan "$(kselftest_programs)" -c 4
