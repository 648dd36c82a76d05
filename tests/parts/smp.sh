# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# smp: all test programs with one, two and four CPUs

kernels guest
export TIMEOUT="${TIMEOUT:-1800}"
for cpus in 1 2 4; do
	passes_kselftest "smp$cpus" guest "$(all_programs)" -c "$cpus"
done
