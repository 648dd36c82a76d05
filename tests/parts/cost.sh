# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check/run
# cost: the instructions that the events cost while they are off

kernels run run-base

# prices KERNEL JOB WAY: what each path through a page fault takes, by trap_cost of tests/.
# scripts/bench/cost knows the paths, and how many instructions more each may take
prices() {
	guest "$1" "$2" -n -c 1 <<EOF || return 1
TMPDIR=/tmp $tests/trap_cost -r 5 -n 6000 -k $("$top/scripts/bench/cost") $3 >/job/lines
EOF
	[ "$(cat "$2/status")" = 0 ] && "$top/scripts/bench/cost" "$2/lines"
}

# off JOB: what each path takes more than in the kernel without the series
off() {
	"$top/scripts/bench/cost" "$logs/cost-base/lines" "$1/lines"
}
# The same comparison has to see an event that is on
on_is_seen() {
	prices run "$logs/cost-on" pagefault_exit && ! off "$logs/cost-on"
}

# A rate that no CPU reaches: trap_cost reports a failure to measure it
failure_is_seen() {
	guest run "$logs/cost-fails" -n -c 1 <<EOF || return 1
TMPDIR=/tmp $tests/trap_cost -n 1000 -e 1000000000 off >/job/lines
EOF
	cat "$logs/cost-fails/lines"
	[ "$(cat "$logs/cost-fails/status")" = 1 ] &&
	grep -q '^fail	off	rate	.* page faults a second, not 1000000000$' "$logs/cost-fails/lines"
}

group=cost
check 'cost: the instructions of a page fault without the series' prices run-base "$logs/cost-base" off
check 'cost: the instructions of a page fault with the series' prices run "$logs/cost" off
check 'cost: disabled events cost almost nothing' off "$logs/cost"
check 'cost: the comparison notices an enabled event' on_is_seen
check 'cost: trap_cost reports a failed measurement' failure_is_seen
