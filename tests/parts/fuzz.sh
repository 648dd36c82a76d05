# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC3043 # variables of scripts/check/run
# fuzz: random traps, while events, tracers and probes are switched at random
#
# FUZZ_SECONDS=300 and FUZZ_SEED=NUMBER say for how long, and how to do the same again;
# FUZZ_KERNEL=kasan on which kernel.

fuzz_kernel=${FUZZ_KERNEL:-kasan}
fuzz_seconds=${FUZZ_SECONDS:-300}
fuzz_seed=${FUZZ_SEED:-0x$(od -An -N 6 -tx1 /dev/urandom | tr -d ' \n')}

# The seed repeats a run
repeat_with="FUZZ_SEED=$fuzz_seed FUZZ_SECONDS=$fuzz_seconds FUZZ_KERNEL=$fuzz_kernel"

kernels guest "$fuzz_kernel"

# The console shows the seed and each round. Four CPUs on one thread of a busy host may take
# longer than the stall timeout of RCU.
fuzz() {	# JOB
	guest "$fuzz_kernel" "$1" -c 4 -d 512 -a rcupdate.rcu_cpu_stall_timeout=120 <<EOF
{
	echo "selftests: trap: trap_fuzz"
	$tests/trap_fuzz -s $fuzz_seed -d $fuzz_seconds
} >/job/tap 2>&1
EOF
}

# If it failed: all but the table of operations
what_it_said() {	# TAP
	grep -qE '^not ok|^Bail out!' "$1" || return 0
	sed -n '/ times .* refused, /d; s/^Bail out!/# &/; s/^# /# /p' "$1" | head -n 60
}

# Each operation was done, at least once: some are refused most of the time. With REFUSED, an
# operation that was refused less often may be missing, by chance. A kernel may lack function
# probes.
each_was_done() {	# TAP [REFUSED]
	local name refused cannot=''
	grep -qx CONFIG_FPROBE_EVENTS=y "$dir/$fuzz_kernel/.config" || cannot=add_function_probe
	grep ' times ' "$1"
	[ "$(grep -c '^# [0-9]* times ' "$1")" -gt 30 ] &&
	! sed -n 's/^# 0 times \([a-z_]*\), \([0-9]*\) refused.*/\1 \2/p' "$1" |
		while read -r name refused; do
			[ "$refused" -lt "${2:-0}" ] || [ "$name" = "$cannot" ] ||
				echo "not done: 0 times $name, $refused refused"
		done | grep .
}

operations_of() { sed -n 's/^# seed .*, \([0-9]*\) operations, digest .*/\1/p' "$1"; }

# Short runs: the same seed twice and another one, 32 bit, two that a signal ends, and
# what is refused
short_runs() {	# JOB
	guest guest "$1" -c 4 -d 512 <<EOF
state() {
	cd /sys/kernel/tracing && ls instances && cat dynamic_events set_event current_tracer tracing_on
}
state >/job/before
cd /job
for run in same again; do
	$tests/trap_fuzz -s 1 -n 200 >\$run 2>&1
done
$tests/trap_fuzz -s 2 -n 200 >other 2>&1
$tests/trap_fuzz_32 -s 3 -d 15 >32 2>&1
for signal in INT TERM; do
	$tests/trap_fuzz -d 200 >\$signal 2>&1 &
	sleep 5
	kill -\$signal \$!
	wait \$! || echo "status \$?" >>\$signal
	state >\$signal.state
	cd /job
done
mkdir bad
n=0
for options in -x -s '-s x' '-n -1' '-n 1x' '-d 0' '-d 99999999999999999999' '-d 1 -n 1' \
	'-d 1 -n 0' '-n 0' argument; do
	n=\$((n + 1))
	$tests/trap_fuzz \$options >bad/\$n.out 2>bad/\$n.err || echo \$? >bad/\$n.status
done
EOF
}

passes() {	# TAP
	cat "$1"
	[ "$(grep -c '^ok ' "$1")" = 6 ] && ! grep -qE '^not ok|# SKIP|^status' "$1"
}

# An NMI that waits for the end of another one leaves a frame on the NMI's stack which
# the guess unwinder takes for the way to that very stack: it says so, once. And fgraph.c
# reads twice which tracer there is, when a function begins as when it returns: where a fprobe
# comes in between, it is told of a return without its data, and says so, once. The base does
# so in a minute, if function_graph and a probe of vfs_read%return are switched all the time
clean_console() {	# CONSOLE
	awk '/WARNING: stack recursion on stack type 6/ && !recursion++ { next }
		/WARNING: .* at fprobe_return\+/ && !fprobe++ { next }
		{ print }' "$1" >"$1.rest"
	console_clean "$1.rest"
}

digest() { sed -n 's/^# seed .* digest //p' "$1"; }

replays() {	# JOB
	passes "$1/same" && passes "$1/again" && passes "$1/other" &&
	[ -n "$(digest "$1/same")" ] && [ "$(digest "$1/same")" != "$(digest "$1/other")" ] &&
	{ [ "$(digest "$1/same")" = "$(digest "$1/again")" ] || { echo "the digests differ"; return 1; }; }
}

# It was at work, and it ended because of the signal
ended_by_signals() {	# JOB
	local signal
	for signal in INT TERM; do
		passes "$1/$signal" && grep '^# ended by ' "$1/$signal" &&
		diff "$1/before" "$1/$signal.state" || return 1
	done
}

refuses() {	# JOB
	local status n=0
	for status in "$1"/bad/*.status; do
		n=$((n + 1))
		cat "${status%status}err"
		[ "$(wc -l <"${status%status}err")" = 1 ] && [ ! -s "${status%status}out" ] &&
		grep -q '^error: ' "${status%status}err" || return 1
	done
	[ $n = 11 ]
}

given=${TIMEOUT:-}
export TIMEOUT="${TIMEOUT:-900}"
group='short runs'
if selected; then
	job=$logs/fuzz-short
	check 'short runs: the guest boots, and they end' short_runs "$job"
	check 'short runs: the same seed does the same' replays "$job"
	check 'short runs: as a program of 32 bit' passes "$job/32"
	check 'short runs: SIGINT and SIGTERM end it, and nothing is left' ended_by_signals "$job"
	check 'short runs: bad options are refused in a line' refuses "$job"
	check 'short runs: no splat on the console' clean_console "$job/console.log"
fi
group='long run'
if selected; then
	job=$logs/fuzz
	TIMEOUT=${given:-$((fuzz_seconds + fuzz_seconds / 2 + 900))}
	check 'long run: the guest boots, and it ends' fuzz "$job"
	report 'long run' "$job" 1
	what_it_said "$job/tap"
	# Of 10000 operations, at least ten are expected to be of the rarest kind
	operations=$(operations_of "$job/tap")
	if [ "${operations:-10000}" -lt 10000 ] && each_was_done "$job/tap" 20 >/dev/null; then
		skip 'long run: each kind of operation was done' "$operations of them are too few to draw each"
	else
		check 'long run: each kind of operation was done' each_was_done "$job/tap"
	fi
	check 'long run: no splat on the console' clean_console "$job/console.log"
fi
unset TIMEOUT
