# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# stress: random traps while all changes at random, 4 CPUs, on kasan and debug
#
# STRESS_SECONDS=120 and STRESS_SEED=NUMBER say for how long, and repeat the choices of a run;
# STRESS_KERNEL=NAME: on that kernel alone. kasan comes first; debug has kmemleak, and is faster.

seconds=${STRESS_SECONDS:-120}
seed=${STRESS_SEED:-0x$(od -An -N 6 -tx1 /dev/urandom | tr -d ' \n')}
whole STRESS_SECONDS "$seconds" 1 99999

# Four CPUs on one thread of a busy host may take longer than the stall timeout of RCU.
# kmemleak reports what two scans found lost, and what is older than 5 s.
run_stress() {	# KERNEL JOB
	guest "$1" "$2" -c 4 -d 64 -a rcupdate.rcu_cpu_stall_timeout=120 <<EOF
{
	echo "selftests: trap: trap_stress"
	$tests/trap_stress -s $seed -d $seconds
} >/job/tap 2>&1
$tests/trap_stress -b -s $seed -d 5 >/job/broken 2>&1
cd /sys/kernel/debug
[ -f kmemleak ] || exit 0
for scan in 1 2; do
	sleep 6
	echo scan >kmemleak
done
cat kmemleak >/job/leaks || echo "kmemleak cannot be read" >/job/leaks
EOF
}

# The counter of -b loses each #UD
notices_loss() {	# JOB
	cat "$1/broken"
	grep -qE '^# vector 6, user mode: ([0-9]+) raised, 0 entries, \1 exits$' "$1/broken" &&
	grep -q '^not ok 3 an entry and an exit for each trap$' "$1/broken"
}

# An NMI that waits for the end of another one leaves a frame on its stack which the guess
# unwinder takes for the way to that very stack. It says so once: that is the base.
splats='Call Trace|cut here|KASAN|kmemleak: (.* leaks|.*disabled)|rcu:.*(stall|starve)'
silent() {	# JOB
	grep -av 'WARNING: stack recursion on stack type 6' "$1/console.log" >"$1/console"
	console_clean "$1/console" &&
	! grep -aE "$splats" "$1/console"
}

no_leaks() { cat "$1/leaks" && [ ! -s "$1/leaks" ]; }

# A slow kernel takes longer for each step
export TIMEOUT="${TIMEOUT:-$((1500 + seconds * 3))}"
for on in ${STRESS_KERNEL:-kasan debug}; do
	group="stress on $on"
	selected || continue
	kernels "$on"
	repeat_with="STRESS_SEED=$seed STRESS_SECONDS=$seconds STRESS_KERNEL=$on"
	job=$logs/stress.$on
	check "$group: the guest boots and runs all" run_stress "$on" "$job"
	report "$group" "$job" 1
	check "$group: it notices events that are lost" notices_loss "$job"
	check "$group: no splat on the console" silent "$job"
	if grep -qx CONFIG_DEBUG_KMEMLEAK=y "$dir/$on/.config"; then
		check "$group: kmemleak finds nothing" no_leaks "$job"
	fi
done
