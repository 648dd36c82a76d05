# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# stress: what may happen around the events, a minute each on 4 CPUs, on the kasan kernel
#
# SECONDS_EACH=SECONDS: shorter, or longer. STRESS_KERNEL=NAME: another kernel. A scenario
# has four results of trap_stress, and one of what the console said meanwhile.

scenarios='all toggle instances filters readers hotplug nmi overwrite probes memory'
each=${SECONDS_EACH:-60}
repeat_with="SECONDS_EACH=$each STRESS_KERNEL=${STRESS_KERNEL:-kasan}"
job=$logs/stress

# asked_for SCENARIO: by ONLY, be that the beginning of its name or one of its results
asked_for() {
	case "stress: $1" in
	"${ONLY:-}"*)	return 0 ;;
	esac
	case ${ONLY:-} in
	"stress: $1"*)	return 0 ;;
	esac
	return 1
}

run_stress() {	# SCENARIO...
	# No scenario is to pass for it is shorter than what RCU bears
	guest "${STRESS_KERNEL:-kasan}" "$job" -c 4 -d 64 -a rcupdate.rcu_cpu_stall_timeout=40 <<EOF
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
	console_of "$1" >"$logs/stress.$1" && [ -s "$logs/stress.$1" ] &&
	console_clean "$logs/stress.$1" &&
	! grep -aE 'Call Trace|cut here|KASAN|UBSAN|kmemleak: (.* leaks|.*disabled)|rcu:.*(stall|starve)' \
		"$logs/stress.$1"
}

case $each in
*[!0-9]* | 0* | '')
	fail "stress: SECONDS_EACH is a number of seconds, not '$each'"
	exit ;;
esac
set --
for scenario in $scenarios; do
	! asked_for "$scenario" || set -- "$@" "$scenario"
done
[ $# != 0 ] || exit 0
[ "$each" -ge 60 ] || skip 'stress: each scenario has a minute' "SECONDS_EACH=$each asks for less"
kernels "${STRESS_KERNEL:-kasan}"

# Four times that, if it is slow, the warm-up, and what memory takes until it has settled
export TIMEOUT="${TIMEOUT:-$((900 + $# * (each * 5 + 240)))}"
group=${ONLY:-stress}
check 'stress: the guest boots and runs all that was asked for' run_stress "$@"
[ -f "$job/tap" ] || exit 0
for scenario in "$@"; do
	# The figures, then the results
	grep "^# $scenario: " "$job/tap" || true
	group="stress: $scenario"
	for result in 'it took place' 'a signal for each trap' \
		'an entry and an exit for each trap' 'memory does not grow'; do
		if grep -qxE "ok [0-9]+ $scenario: $result" "$job/tap"; then
			pass "stress: $scenario: $result"
		else
			fail "stress: $scenario: $result"
		fi
	done
	[ -z "${ONLY:-}" ] || group=$ONLY
	check "stress: $scenario: the console has no complaint" silent "$scenario"
done
group=${ONLY:-stress}
check 'stress: nor has it before, between and after' silent end
if grep -qx CONFIG_DEBUG_KMEMLEAK=y "$dir/${STRESS_KERNEL:-kasan}/.config"; then
	check 'stress: kmemleak finds nothing' no_leaks
fi
group=''
unset TIMEOUT
