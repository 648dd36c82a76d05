# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# price: the instructions that the events cost while they are off

kernels price price-base

# The static branches on the way of each kind of page fault, an instruction each: two
# at its beginning, one at its end; where the mm is asked, pagefault_exit and
# pagefault_notrap; and where it has resolved the fault, pagefault_exit. With one
# instruction more, that is what is allowed. For the last two kinds that would be 4
# and 6: 9 is no limit by design, but what was measured, so that it does not get more.
allowed() {
	printf '%s\n' 'first_write 7' 'fixup 4' 'kernel_write 7' 'page_cache 7' \
		'segv 4' 'zero_page 7' 'segv_access 9' 'sigbus 9' | sort -k 1,1
}

# prices KERNEL JOB WAY: the median price of each kind of fault, by the kselftest's
# trap_price
prices() {
	kinds=$(allowed | sed 's/ .*//' | tr '\n' ,)
	guest "$1" "$2" -n -c 1 <<EOF || return 1
TMPDIR=/tmp $tests/trap_price -r 1 -n 30000 -k ${kinds%,} $3 >/job/lines
EOF
	[ "$(cat "$2/status")" = 0 ] &&
	awk -F '\t' '$1 == "price" { print $3, $6 }' "$2/lines" | sort -k 1,1 >"$2/prices" &&
	[ "$(wc -l <"$2/prices")" = 8 ]
}

# off PRICES: what each kind of fault takes more than in the kernel without the
# series, and whether that is allowed
off() {
	allowed >"$logs/price-allowed"
	join "$logs/price-base/prices" "$1" | join - "$logs/price-allowed" | awk '
		{
			printf "%s: %d instructions, %+d with the series, %d allowed%s\n",
			       $1, $2, $3 - $2, $4, ($3 - $2 > $4 ? ": TOO MANY" : "")
			n++
			if ($3 - $2 > $4)
				bad++
		}
		END { exit bad || n != 8 }'
}
# The same comparison has to see an event that is on
on_is_seen() {
	prices price "$logs/price-on" pagefault_exit && ! off "$logs/price-on/prices"
}

# A rate that no CPU comes to: trap_price says that it was not measured, and fails
failure_is_seen() {
	guest price "$logs/price-fails" -n -c 1 <<EOF || return 1
TMPDIR=/tmp $tests/trap_price -n 1000 -e 1000000000 off >/job/lines
EOF
	cat "$logs/price-fails/lines"
	[ "$(cat "$logs/price-fails/status")" = 1 ] &&
	grep -q '^fail	off	rate	.* page faults a second, not 1000000000$' "$logs/price-fails/lines"
}

group=price
check 'price: the instructions of a page fault without the series' prices price-base "$logs/price-base" off
check 'price: and with it' prices price "$logs/price" off
check 'price: off is next to nothing' off "$logs/price/prices"
check 'price: on is seen' on_is_seen
check 'price: a failure to measure is seen' failure_is_seen
