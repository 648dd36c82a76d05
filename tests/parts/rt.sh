# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# rt: all test programs on a kernel with PREEMPT_RT

kernels rt
export TIMEOUT="${TIMEOUT:-1800}"
passes_kselftest rt rt "$(all_programs)" -c 4
