# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# guest: the kselftest and our own programs, the recipes of the documents

kernels guest

# Through a pipe: the runner opens /dev/stdout again, at the start of a file
run_kselftest() {	# JOB PROGRAM...
	local job="$1" asked
	shift
	asked=$(printf -- '-t trap:%s ' "$@" | sed 's/trap:pagefault/pagefault:pagefault/g')
	guest guest "$job" -c 4 -d 512 <<EOF
echo 2 >/proc/sys/vm/nr_hugepages
dd if=/dev/zero of=/disk/swap bs=1M count=16 2>/dev/null && chmod 600 /disk/swap
/sbin/mkswap -q /disk/swap && /sbin/swapon /disk/swap
cd $kselftest && ./run_kselftest.sh $asked 2>&1 | cat >/job/tap
EOF
}

# ok_in JOB NUMBER: so many tests have passed there, and none was skipped
ok_in() {
	cat "$1/tap"
	same "$2" "$(grep '^ok ' "$1/tap" | grep -vc SKIP)"
}

# These programs cause an oops, so the guest fails
oops_in_probe() {
	! run_programs guest "$logs/oops" trap_oops && ok_in "$logs/oops" 1
}
oops_in_fault_probe() {
	! guest guest "$logs/fault-oops" <<EOF && ok_in "$logs/fault-oops" 1
$tests/pagefault_ways probe-oops >/job/tap 2>&1
EOF
}

# What the series add to the kselftest of ftrace: each in the top instance, and in one of
# its own
ftrace_tests() {
	guest guest "$logs/ftrace" <<EOF || return 1
cd $src/tools/testing/selftests/ftrace/test.d
../ftracetest filter/event-filter-symbol.tc trap/*.tc pagefault/*.tc >/job/out 2>&1
EOF
	cat "$logs/ftrace/out"
	console_clean "$logs/ftrace/console.log" &&
	same 7 "$(grep -c '\[PASS\]' "$logs/ftrace/out")"
}

recipes() {
	run_recipes guest "$logs/recipes" && console_clean "$logs/recipes/console.log"
}

# On during the boot. Then they are off, and trap_guard passes.
at_boot() {
	guest guest "$logs/at-boot" -a 'trace_event=trap:* trace_buf_size=4M' <<EOF || return 1
cd /sys/kernel/tracing
cat events/trap/enable >/job/enabled
cat trace >/job/trace
echo 0 >events/trap/enable
$(path_of trap_guard) >/job/tap 2>&1
EOF
	same 1 "$(cat "$logs/at-boot/enabled")" &&
	grep -m 3 ': trap_entry: ' "$logs/at-boot/trace" &&
	console_clean "$logs/at-boot/console.log" && ok_in "$logs/at-boot" 5
}

export TIMEOUT="${TIMEOUT:-900}"
# shellcheck disable=SC2046 # a list
set -- $(programs x86_64 $(kselftest_programs))
group=x86_64
if [ $# != 0 ]; then
	check 'x86_64: the guest boots and runs the kselftest' run_kselftest "$logs/job" "$@"
	report x86_64 "$logs/job" $#
	check 'x86_64: no splat on the console' console_clean "$logs/job/console.log"
fi
# The 32-bit ones are in the parts smp, kasan and rt; smp also has four CPUs
# shellcheck disable=SC2046 # a list
set -- $(programs x86_64 $(own_programs | grep -v _32))
if [ $# != 0 ]; then
	check 'x86_64: the guest boots and runs our own programs' \
		run_programs guest "$logs/own" "$@" -c 2
	report x86_64 "$logs/own" $#
	check 'x86_64: no splat of our own programs on the console' \
		console_clean "$logs/own/console.log"
fi
group=''
check 'a probe that oopses does not silence its CPU' oops_in_probe
check 'a probe of page faults that oopses silences no later fault' oops_in_fault_probe
check '#DF is in the dump of the trace' exhaust_stack "$logs/df"
check 'trace_event=trap:* on the command line' at_boot
check 'what the series add to ftracetest passes' ftrace_tests
group='the guest runs the recipes of the documentation'
have 'trace-cmd perf bpftrace' "$group" || exit 0
check "$group" recipes
[ -f "$logs/recipes.names" ] || exit 0
while read -r name; do
	check "recipe: $name" compare recipe "$logs/recipes" "$name"
done <"$logs/recipes.names"
