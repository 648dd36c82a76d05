# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# debug: all test programs on a kernel with lockdep and the like: no complaint

check 'debug: the kernel builds without a warning' builds_clean debug
kernels debug

# Page faults that leave an oops or the like on the console: on the kernel that has
# KFENCE
oopses_of_faults() {
	! guest debug "$logs/faults" <<EOF || { echo "no oops"; return 1; }
$tests/pagefault_ways kfence oops >/job/tap 2>&1
EOF
	cat "$logs/faults/tap"
	[ "$(grep -c '^ok ' "$logs/faults/tap")" = 2 ] && ! grep -q SKIP "$logs/faults/tap"
}

export TIMEOUT="${TIMEOUT:-900}"
passes_kselftest debug debug "$(all_programs | grep -v _32)"
check 'the events report page faults of KFENCE and oopses' oopses_of_faults
