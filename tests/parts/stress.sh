# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC3043 # variables of scripts/check/run
# stress: traps while events, CPUs and memory change, a minute each, 4 CPUs, on kasan and debug
#
# SECONDS_EACH=SECONDS: shorter, or longer. STRESS_KERNEL=NAME: on another kernel. A scenario
# has four results of trap_stress, and one about the console. KASAN keeps memory of its own,
# so a leak shows better on debug, which is also faster.

scenarios='all toggle instances filters readers hotplug nmi overwrite probes memory'
each=${SECONDS_EACH:-60}
repeat_with="SECONDS_EACH=$each${STRESS_KERNEL:+ STRESS_KERNEL=$STRESS_KERNEL}"

# asked_for SCENARIO: whether ONLY is the beginning of its name, or names one of its results
asked_for() {
	case "stress on $on: $1" in "${ONLY:-}"*) return 0 ;; esac
	case ${ONLY:-} in "stress on $on: $1"*) ;; *) return 1 ;; esac
}

run_stress() {	# SCENARIO...
	# A stall must be reported within a scenario of 60 s, so RCU waits for 40 s
	guest "$on" "$job" -c 4 -d 64 -a rcupdate.rcu_cpu_stall_timeout=40 <<EOF
$tests/trap_stress -s $each $* >/job/tap 2>&1
cd /sys/kernel/debug
[ -f kmemleak ] || exit 0
# kmemleak reports objects that two scans found lost, and that are older than 5 s
for scan in 1 2; do
	sleep 6
	echo scan >kmemleak
done
cat kmemleak >/job/leaks || echo "kmemleak cannot be read" >/job/leaks
EOF
}

no_leaks() { cat "$job/leaks" && [ ! -s "$job/leaks" ]; }

# What the console said during a scenario; "end" stands for what it said outside of all. A
# complaint that console_clean() does not know has a call trace. None may be here.
silent() {	# SCENARIO
	tr -d '\r' <"$job/console.log" | awk -v of="$1" 'BEGIN { now = "end" }
		/[]:] trap_stress: [a-z]+$/ { now = $NF } now == of' >"$job.$1" &&
	[ -s "$job.$1" ] && console_clean "$job.$1" &&
	! grep -aE 'Call Trace|cut here|KASAN|UBSAN|kmemleak: (.* leaks|.*disabled)|rcu:.*(stall|starve)' \
		"$job.$1"
}

case $each in
*[!0-9]* | 0* | '')
	fail "stress: SECONDS_EACH is a number of seconds, not '$each'"
	exit ;;
esac

stress() {	# SCENARIO...
	local scenario result name
	[ "$each" -ge 60 ] ||
		skip "stress on $on: each scenario has a minute" "SECONDS_EACH=$each asks for less"
	kernels "$on"
	# A slow kernel takes four times as long; add the warm-up, and the time to settle
	TIMEOUT=${given:-$((900 + $# * (each * 5 + 240)))}
	export TIMEOUT
	group=${ONLY:-stress on $on}
	check "stress on $on: the guest boots and runs all that was asked for" run_stress "$@"
	[ -f "$job/tap" ] || return 0
	for scenario in "$@"; do
		# The figures, then the results
		grep "^# $scenario: " "$job/tap" || true
		group="stress on $on: $scenario"
		for result in 'it took place' 'a signal for each trap' \
			'an entry and an exit for each trap' 'memory does not grow'; do
			if grep -qxE "ok [0-9]+ $scenario: $result" "$job/tap"; then
				pass "$group: $result"
			else
				fail "$group: $result"
			fi
		done
		name="$group: the console has no complaint"
		[ -z "${ONLY:-}" ] || group=$ONLY
		check "$name" silent "$scenario"
	done
	group=${ONLY:-stress on $on}
	check "stress on $on: the console has no complaint outside of the scenarios" silent end
	if grep -qx CONFIG_DEBUG_KMEMLEAK=y "$dir/$on/.config"; then
		check "stress on $on: kmemleak finds nothing" no_leaks
	fi
}

given=${TIMEOUT:-}
for on in ${STRESS_KERNEL:-kasan debug}; do
	job=$logs/stress.$on
	set --
	for scenario in $scenarios; do
		! asked_for "$scenario" || set -- "$@" "$scenario"
	done
	[ $# = 0 ] || (stress "$@")
done
