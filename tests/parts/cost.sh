# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# cost: what the events cost, off and on; what is inlined; make bench-hardware
#
# BENCH=1, as make bench has it: also measure what people use today, and write the results.
# ROUNDS=N, TRAPS=N: how often each kind of trap is measured, and how many traps that takes

bench=$top/bench
rounds=${ROUNDS:-5} traps=${TRAPS:-6000}
whole ROUNDS "$rounds" 1 1000
whole TRAPS "$traps" 1000 100000
kernels cost cost-base
if [ "${BENCH:-}" ]; then
	repeat_with='BENCH=1'
	kernels btf
fi

# The objects with hooks have only the functions of the base, but for one: nothing else that the
# base inlines is called. Without the prefixes and suffixes of the compiler
functions() {	# OBJECT
	nm "$1" | sed -nE 's/^[0-9a-f]+ [tTwW] (__(pfx|cfi)_)?([^.]*).*/\3/p' | sort -u
}
inlined() {
	local object of_base
	for object in mm/memory.o mm/huge_memory.o mm/hugetlb.o mm/shmem.o arch/x86/mm/fault.o; do
		[ -f "$dir/cost/$object" ] || continue
		of_base=$(functions "$dir/cost-base/$object")
		[ "$of_base" ] || return 1
		functions "$dir/cost/$object" | grep -vxF "$of_base" | sed "s|^|$object: |"
	done >"$logs/more"
	same 'arch/x86/mm/fault.o: handle_page_fault_traced' "$(cat "$logs/more")"
}

# costs KERNEL JOB: what the commands of stdin measure. JOB/lines gets it
costs() {
	gcc -O2 -Wall -static -o "$logs/trap_cost" "$bench/trap_cost.c" || return 1
	{
		echo ". $bench/ways"
		echo "trap_cost='$logs/trap_cost -r $rounds -n $traps' lines=/job/lines"
		echo "buffer_kb=16384 trapstat=$logs/trapstat/trapstat"
		# The guest has its final clock only after a while
		echo 'set -e; cd /tmp; sleep 3'
		cat
	} | TIMEOUT=3600 guest "$1" "$2" -n -c 1 && [ "$(cat "$2/status")" = 0 ]
}
# Each path through a trap and a page fault while all is off; then the events; then what
# make bench measures
faults='getpid zero_page first_write page_cache'
off="measure off $("$bench/figures.py" paths)"
without() {
	{
		echo "$off"
		[ ! "${BENCH:-}" ] || echo "measure page_fault_user $faults segv"
	} | costs cost-base "$logs/cost-base" &&
	"$bench/figures.py" check "$logs/cost-base/lines"
}
with() {
	{
		echo "$off"
		if [ "${BENCH:-}" ]; then
			for way in trap pagefault pagefault_exit page_fault_user; do
				echo "measure $way int3 divide $faults segv"
			done
			echo "measure kretprobe $faults"
			for way in signal_generate signal_kretprobe; do
				echo "measure $way getpid int3 segv"
			done
		else
			# As the first kind of a program, a page fault finds its mapping sooner
			echo 'measure trap getpid int3 zero_page'
			echo 'measure pagefault_exit getpid zero_page; measure pagefault getpid zero_page'
		fi
	} | costs cost "$logs/cost"
}
within_goals() { "$bench/figures.py" check "$logs/cost-base/lines" "$1/lines"; }
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

# trapstat with each of its sources, and the tables of all
results() {
	local results="$build/bench/$base/results"
	mkdir -p "$logs/trapstat" && make -s -C "$top/trapstat" OUTPUT="$logs/trapstat" &&
	{
		echo "measure off $faults"
		for way in kretprobe trapstat_event trapstat_fentry trapstat_kprobe trapstat_perf; do
			echo "measure $way $faults"
		done
	} | costs btf "$logs/cost-btf" && mkdir -p "$build/bench/$base" &&
	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		echo '# Made by make bench: bench/README.md'
		echo "kernel: $base_package $source_version"
		sed -n 's/^CONFIG_CC_VERSION_TEXT="\(.*\)"/compiler: \1/p' "$dir/cost/.config"
		qemu-system-x86_64 --version | sed -n '1s/^/QEMU: /p'
		echo "rounds: $rounds, of $traps traps"
		date -u '+date: %Y-%m-%d'
		echo "text: $(text cost-base) bytes without the series, $(text cost) with it"
		"$bench/figures.py" results "$logs/cost-base/lines" "$logs/cost/lines" \
			"$logs/cost-btf/lines"
	} >"$results"
}
text() { size -A "$dir/$1/vmlinux" | sed -n 's/^\.text *\([0-9]*\) .*/\1/p'; }

# To its end, and until SIGTERM: the table has all rows, and nothing is left on
hardware() {
	guest cost "$logs/cost-hardware" -c 2 <<EOF || return 1
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

check 'cost: what the base inlines is inlined' inlined
passes_kselftest no-memcg cost "$(kselftest_programs | grep -v -e _32 -e pagefault_rv)"
group=cost
check 'cost: the instructions of a page fault without the series' without
check 'cost: the instructions of a page fault with the series' with
check 'cost: the events cost no more than the goals, off and on' within_goals "$logs/cost"
check 'cost: the comparison notices an enabled event' on_is_seen
group=hardware
check 'cost: make bench-hardware has each row, and leaves nothing on' hardware
group=bench
[ ! "${BENCH:-}" ] || check "cost: the results are in $build/bench/$base/results" results
