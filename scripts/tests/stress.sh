# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# stress: what may happen around the events, a minute each on 4 CPUs, on kasan and debug
#
# SECONDS_EACH=SECONDS: shorter, or longer. STRESS_KERNEL=NAME: on another kernel. A scenario
# has four results of trap_stress, and one of what the console said meanwhile. KASAN keeps
# memory of its own, so how much is gone is seen better without it, and debug is faster.

scenarios='all toggle instances filters readers hotplug nmi overwrite probes memory'
each=${SECONDS_EACH:-60}
repeat_with="SECONDS_EACH=$each${STRESS_KERNEL:+ STRESS_KERNEL=$STRESS_KERNEL}"

# asked_for SCENARIO: by ONLY, be that the beginning of its name or one of its results
asked_for() {
	case "stress on $on: $1" in
	"${ONLY:-}"*)	return 0 ;;
	esac
	case ${ONLY:-} in
	"stress on $on: $1"*)	return 0 ;;
	esac
	return 1
}

run_stress() {	# SCENARIO...
	# No scenario is to pass for it is shorter than what RCU bears
	guest "$on" "$job" -c 4 -d 64 -a rcupdate.rcu_cpu_stall_timeout=40 <<EOF
$tests/trap_stress -s $each $* >/job/tap 2>&1
cd /sys/kernel/debug
[ -f kmemleak ] || exit 0
# It tells what it has seen twice as lost, and not before that is 5 s old
for scan in 1 2; do
	sleep 6
	echo scan >kmemleak
done
cat kmemleak >/job/leaks || echo "kmemleak cannot be read" >/job/leaks
EOF
}

no_leaks() {
	cat "$job/leaks" && [ ! -s "$job/leaks" ]
}

# console_of SCENARIO: what it said from where that begins to where it ends; "end" for
# what was between them
console_of() {
	tr -d '\r' <"$job/console.log" | awk -v of="$1" '
		BEGIN				{ now = "end" }
		/[]:] trap_stress: [a-z]+$/	{ now = $NF }
		now == of'
}

# What console_clean() does not know by its name has a call trace, which here none may
silent() {	# SCENARIO
	console_of "$1" >"$job.$1" && [ -s "$job.$1" ] &&
	console_clean "$job.$1" &&
	! grep -aE 'Call Trace|cut here|KASAN|UBSAN|kmemleak: (.* leaks|.*disabled)|rcu:.*(stall|starve)' \
		"$job.$1"
}

case $each in
*[!0-9]* | 0* | '')
	fail "stress: SECONDS_EACH is a number of seconds, not '$each'"
	exit ;;
esac

stress() {	# SCENARIO...
	[ "$each" -ge 60 ] ||
		skip "stress on $on: each scenario has a minute" "SECONDS_EACH=$each asks for less"
	kernels "$on"
	# Four times that, if it is slow, the warm-up, and what memory takes until it has settled
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
	check "stress on $on: nor has it before, between and after" silent end
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
