# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check/run
# cost: the instructions that the events cost while they are off

kernels run run-base

# A static branch that is off is one instruction. exc_page_fault() has one and a jump,
# handle_mm_fault() has one and a tail jump to its body. A mark is one more: a fixup or a
# signal ends the fault there, or a page is copied or swapped in. The compiler saves a jump
# here and there, so some limits are below the sum.
allowed() {
	printf '%s\n' 'zero_page 4' 'first_write 4' 'zero_write 5' 'copy_on_write 5' 'reuse 5' \
		'page_cache 5' 'private_file 5' 'kernel_write 5' 'segv 4' 'segv_access 4' \
		'sigbus 5' 'fixup 2' 'get_user_pages 2' 'munmap 1' | sort -k 1,1
}

# prices KERNEL JOB WAY: the median price of each kind of fault, as trap_price of tests/
# measures it. Half of the page_cache faults take 23 instructions more than the other half:
# their median is one or the other by chance, so their tenth percentile counts.
prices() {
	kinds=$(allowed | sed 's/ .*//' | tr '\n' ,)
	guest "$1" "$2" -n -c 1 <<EOF || return 1
TMPDIR=/tmp $tests/trap_price -r 1 -n 30000 -k ${kinds%,} $3 >/job/lines
EOF
	[ "$(cat "$2/status")" = 0 ] &&
	awk -F '\t' '$1 == "price" { print $3, $3 == "page_cache" ? $7 : $6 }' "$2/lines" |
	sort -k 1,1 >"$2/prices" &&
	[ "$(wc -l <"$2/prices")" = 14 ]
}

# off PRICES: what each kind of fault takes more than in the kernel without the
# series, and whether that is allowed
off() {
	allowed >"$logs/cost-allowed"
	join "$logs/cost-base/prices" "$1" | join - "$logs/cost-allowed" | awk '
		{
			printf "%s: %d instructions, %+d with the series, %d allowed%s\n",
			       $1, $2, $3 - $2, $4, ($3 - $2 > $4 ? ": TOO MANY" : "")
			n++
			if ($3 - $2 > $4)
				bad++
		}
		END { exit bad || n != 14 }'
}
# The same comparison has to see an event that is on
on_is_seen() {
	prices run "$logs/cost-on" pagefault_exit && ! off "$logs/cost-on/prices"
}

# A rate that no CPU reaches: trap_price reports a failure to measure it
failure_is_seen() {
	guest run "$logs/cost-fails" -n -c 1 <<EOF || return 1
TMPDIR=/tmp $tests/trap_price -n 1000 -e 1000000000 off >/job/lines
EOF
	cat "$logs/cost-fails/lines"
	[ "$(cat "$logs/cost-fails/status")" = 1 ] &&
	grep -q '^fail	off	rate	.* page faults a second, not 1000000000$' "$logs/cost-fails/lines"
}

group=cost
check 'cost: the instructions of a page fault without the series' prices run-base "$logs/cost-base" off
check 'cost: the instructions of a page fault with the series' prices run "$logs/cost" off
check 'cost: disabled events cost almost nothing' off "$logs/cost/prices"
check 'cost: the comparison notices an enabled event' on_is_seen
check 'cost: trap_price reports a failed measurement' failure_is_seen
