# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# cost: what the events cost, off and on; what is inlined; make bench-hardware, in a guest

kernels run run-base
bench=$top/bench

# The objects with hooks have only the functions of the base, but for one: nothing else that the
# base inlines is called. Without the prefixes and suffixes of the compiler
functions() {	# OBJECT
	nm "$1" | sed -nE 's/^[0-9a-f]+ [tTwW] (__(pfx|cfi)_)?([^.]*).*/\3/p' | sort -u
}
inlined() {
	local object of_base
	for object in mm/memory.o mm/huge_memory.o mm/hugetlb.o mm/shmem.o arch/x86/mm/fault.o; do
		[ -f "$dir/run/$object" ] || continue
		of_base=$(functions "$dir/run-base/$object")
		[ "$of_base" ] || return 1
		functions "$dir/run/$object" | grep -vxF "$of_base" | sed "s|^|$object: |"
	done >"$logs/more"
	same 'arch/x86/mm/fault.o: handle_page_fault_traced' "$(cat "$logs/more")"
}

# prices KERNEL JOB: what each path through a trap and a page fault takes while all is off, and
# then the commands of stdin. JOB/lines gets what was measured
prices() {
	gcc -O2 -Wall -static -o "$logs/trap_cost" "$bench/trap_cost.c" || return 1
	{
		echo ". $bench/ways"
		echo "trap_cost='$logs/trap_cost -r 5 -n 6000' lines=/job/lines buffer_kb=16384"
		echo 'set -e; sleep 3'
		echo "measure off $("$bench/figures.py" paths check)"
		cat
	} | guest "$1" "$2" -n -c 1 && [ "$(cat "$2/status")" = 0 ]
}
without() {
	prices run-base "$logs/cost-base" </dev/null &&
	"$bench/figures.py" check "$logs/cost-base/lines"
}
with() {
	prices run "$logs/cost" <<'EOF'
measure trap int3 zero_page
measure pagefault_exit zero_page
measure pagefault zero_page
# The kernel has no swap: the pages stay, and are not faulted in
if $trap_cost swap_in 2>/job/no-swap; then exit 1; fi
EOF
}
within_goals() {
	"$bench/figures.py" check "$logs/cost-base/lines" "$1/lines"
}
# The same comparison, with figures of an event that is on
on_is_seen() {
	mkdir -p "$logs/cost-on" &&
	sed '/\toff\tzero_page\t/d; s/\tpagefault_exit\tzero_page/\toff\tzero_page/' \
		"$logs/cost/lines" >"$logs/cost-on/lines" &&
	! within_goals "$logs/cost-on" >"$logs/cost-on/goals" || return 1
	cat "$logs/cost-on/goals"
	grep -q '^off  *zero_page .*TOO MANY$' "$logs/cost-on/goals" &&
	[ "$(grep -c 'TOO MANY$' "$logs/cost-on/goals")" = 1 ]
}
failure_is_seen() {
	cat "$logs/cost/no-swap"
	grep -q 'swap_in: [0-9]* page faults, not 1500$' "$logs/cost/no-swap"
}

# To its end, and until SIGTERM: the table has all rows, and nothing is left on
hardware() {
	guest run "$logs/cost-hardware" -c 2 <<EOF || return 1
export TMPDIR=/tmp
state() {
	cat /sys/kernel/tracing/set_event /sys/kernel/tracing/dynamic_events
	ls /sys/kernel/tracing/instances
}
state >/job/before
ROUNDS=2 TRAPS=1000 $bench/hardware >/job/table 2>/job/said
echo "status \$?" >>/job/table
state >/job/after
$bench/hardware >/dev/null 2>/job/said &
while kill -0 \$! && ! grep -q trap_cost /sys/kernel/tracing/dynamic_events; do sleep 0.1; done
state >/job/within
kill \$!
wait \$! || echo "status \$?" >>/job/table
state >/job/after-term
EOF
	cd "$logs/cost-hardware" && cat table || return 1
	for way in off trap pagefault_exit pagefault page_fault_user kretprobe; do
		grep -E "^$way( +-?[0-9]+ \(-?[0-9]+ to -?[0-9]+\)){4}\$" table || return 1
	done
	same 'status 0
status 143' "$(grep ^status table)" && ! grep 'not here' table &&
	diff before after && diff before after-term && ! diff before within
}

check 'run: what the base inlines is inlined' inlined
group=cost
check 'cost: the instructions of a page fault without the series' without
check 'cost: the instructions of a page fault with the series' with
check 'cost: the events cost no more than the goals, off and on' within_goals "$logs/cost"
check 'cost: the comparison notices an enabled event' on_is_seen
check 'cost: trap_cost reports a failed measurement' failure_is_seen
group=hardware
check 'cost: make bench-hardware has each row, and leaves nothing on' hardware
