# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check/run
# hardware: make bench-hardware, in a guest: what it refuses, that it measures and leaves nothing on

kernels guest run-base

# What the jobs share
cat >"$logs/common.sh" <<END
cd $top
END
cat >>"$logs/common.sh" <<'END'
# trace: what a user has on. state: that, and what has not to be there
trace() {
	(
		cd /sys/kernel/tracing
		echo 'p:mine/probe vfs_open' >>dynamic_events
		echo 'sched:sched_process_fork mine:probe' >set_event
		mkdir instances/mine
		echo 'sched:sched_process_exit' >instances/mine/set_event
	)
}
state() {
	(
		cd /sys/kernel/tracing
		grep -s . set_event current_tracer tracing_on buffer_size_kb dynamic_events \
			instances/*/set_event instances/*/tracing_on
		ls instances events | wc -l
	)
	ps -eo args | grep -E '[l]oops |[p]erf stat'
}
# said NAME COMMAND...: what it says, and its status
said() {
	name=$1
	shift
	"$@" >"/job/$name" 2>&1
	echo "status $?" >>"/job/$name"
}
wait_for() {	# WORDS FILE
	for second in $(seq 100); do
		! grep -qs "$1" "$2" || return 0
		sleep 1
	done
	echo "no $1 in $2" >>/job/late
}
# started NAME VARIABLE=VALUE...: it measures, with a kretprobe. $pid is its group
started() {
	name=$1
	shift
	setsid env --default-signal=INT,TERM "$@" scripts/bench/hardware >"/job/$name" 2>&1 &
	pid=$!
	wait_for 'round 1 of' "/job/$name"
	wait_for bench_hardware /sys/kernel/tracing/dynamic_events
}
ended() {	# NAME
	wait $pid
	echo "status $?" >>"/job/$1"
	state >"/job/$1.state"
}
# fake_pmu: a perf that counts page faults for cycles
fake_pmu() {
	mkdir -p /tmp/fake
	cat >/tmp/fake/perf <<-'EOF'
	#!/bin/sh
	file=''
	for word; do
		shift
		case $word in
		cycles* | instructions | cache-misses)
			word=$(echo "$word" | sed 's/cycles/page-faults/; s/instructions/minor-faults/; s/cache-misses/major-faults/') ;;
		*/counts)	file=$word ;;
		esac
		set -- "$@" "$word"
	done
	status=0
	/usr/bin/perf "$@" 2>/tmp/fake/said || status=$?
	sed -i 's/page-faults/cycles/; s/minor-faults/instructions/; s/major-faults/cache-misses/' /tmp/fake/said $file
	cat /tmp/fake/said >&2
	exit $status
	EOF
	chmod +x /tmp/fake/perf
	export PATH=/tmp/fake:$PATH
}
END

# in_guest KERNEL JOB OPTION...: the commands of stdin, with those
in_guest() {
	local kernel="$1" job="$2"
	shift 2
	{ echo ". $logs/common.sh"; cat; } | TIMEOUT=${TIMEOUT:-900} guest "$kernel" "$logs/$job" -c 2 "$@" || return 1
	[ ! -s "$logs/$job/late" ] || { cat "$logs/$job/late"; return 1; }
}
has() {	# FILE WORDS...
	local file="$1" words
	shift
	for words in "$@"; do
		grep -qF -- "$words" "$logs/$file" ||
			{ echo "there is no '$words' in $file:"; cut -c 1-200 "$logs/$file"; return 1; }
	done
}

measured() {
	in_guest guest measured -d 512 -a 'mitigations=off root=UUID=secret-1 hostname=secret-2 user=secret-3' <<'END'
dd if=/dev/zero of=/disk/swap bs=1M count=64 && mkswap /disk/swap && swapon /disk/swap
trace
state >/job/before
said measured env FORCE=1 ROUNDS=1 MS_EACH=5 scripts/bench/hardware
state >/job/after
cp build/bench-hardware/*-patched.txt /job/result
END
	has measured/measured 'status 0' 'this takes about'
}
rows() {
	local loop way
	for loop in page_fault1 page_fault2 page_fault3 fork copy_on_write reuse swap_in file thp getpid int3 divide; do
		for way in off pagefault_exit pagefault trap kretprobe page_fault_user; do
			grep -qE "^$loop +$way +[0-9]" "$logs/measured/result" || { echo "there is no $loop, $way"; return 1; }
		done
	done
	! grep -E 'FIGURES ARE WRONG|FAILED|Left out' "$logs/measured/result"
}
no_hardware() {
	sed '/^The machine/,$d' "$logs/measured/result" >"$logs/head"
	has head 'THESE FIGURES ARE NOT OF HARDWARE' 'The patched kernel was measured although' 'there is no PMU' \
		'there is tracing already: events (set_event), probes (dynamic_events)' 'an interval takes 6 rounds'
}
machine() {
	has measured/result 'mitigations=off' microcode cpu/vulnerabilities/meltdown MemTotal hypervisor \
		current_clocksource transparent_hugepage/enabled cpu/smt/control cpu/isolated \
		cpufreq/scaling_governor intel_pstate/no_turbo node/online distribution &&
	! grep -E "secret|trap-guest" "$logs/measured/result"
}
left_alone() {
	cat "$logs/measured/before"
	[ "$(grep -cE 'mine|sched_process_fork' "$logs/measured/before")" = 5 ] &&
	diff "$logs/measured/before" "$logs/measured/after"
}
again() {
	RESULT=$logs/measured/result "$top/scripts/bench/hardware" | diff "$logs/measured/result" -
}
unpatched() {
	in_guest run-base unpatched <<'END'
said no-events env FORCE=1 scripts/bench/hardware
fake_pmu
said measured env FORCE=1 UNPATCHED=1 ROUNDS=1 MS_EACH=5 scripts/bench/hardware
cp build/bench-hardware/*-unpatched.txt /job/result
END
	has unpatched/no-events 'this kernel has no event pagefault_exit: boot one that make deb has made' 'status 1' &&
	has unpatched/measured 'status 0' &&
	has unpatched/result 'unpatched kernel: swap_in, there is no swap' 'unpatched kernel: trap, this kernel does not have it'
}
# The fake one has counted page faults
counted() {
	sed -n '/^Unpatched kernel, in cycles/,/^Unpatched kernel, in instr/p' "$logs/unpatched/result" >"$logs/cycles"
	cat "$logs/cycles"
	[ "$(grep -cE '^(page_fault1|copy_on_write|file) +off +1\.0[0-9]$' "$logs/cycles")" = 3 ] &&
	grep -qE '^getpid +off +0\.00' "$logs/cycles"
}
two_kernels() {
	RESULT=$logs/measured/result BASE_RESULT=$logs/unpatched/result "$top/scripts/bench/hardware" >"$logs/both" &&
	has both 'Off, in ns: over "off" of the unpatched kernel' 'The unpatched kernel was measured although' \
		'Unpatched kernel, in cycles' &&
	RESULT=$logs/both "$top/scripts/bench/hardware" | diff "$logs/both" -
}

# The path is the caller's, and it measures in a folder of its own
relative() {
	in_guest guest relative -d 512 <<END
cp $logs/unpatched/result build/base.txt
said compared env FORCE=1 ROUNDS=1 MS_EACH=5 BASE_RESULT=build/base.txt scripts/bench/hardware
END
	has relative/compared 'status 0' '  of the unpatched kernel'
}

refused() {
	in_guest guest refused <<'END'
# A clone of somebody who is not root
mkdir /tmp/clone && cp -r scripts arch-x86-hooks /tmp/clone && chown -R nobody /tmp/clone
said not-root setpriv --reuid=nobody --clear-groups /tmp/clone/scripts/bench/hardware
mount --bind /dev/null /usr/bin/perf
said no-perf env NO_INSTALL=1 ROUNDS=5 scripts/bench/hardware
umount /usr/bin/perf
said unpatched env UNPATCHED=1 FORCE=1 scripts/bench/hardware
while :; do :; done &
load=$!
said load scripts/bench/hardware
kill $load
trace
said tracing scripts/bench/hardware
(
	cd /sys/kernel/tracing
	echo >set_event
	echo >instances/mine/set_event
	rmdir instances/mine
	echo >dynamic_events
)
# All is mended but for the governor; and then that, too
mkdir -p /tmp/cpu/cpufreq
echo powersave >/tmp/cpu/cpufreq/scaling_governor
sed 's/ hypervisor / /' /proc/cpuinfo >/tmp/cpuinfo
mount --bind /tmp/cpu /sys/devices/system/cpu/cpu1
mount --bind /tmp/cpuinfo /proc/cpuinfo
fake_pmu
said governor scripts/bench/hardware
echo performance >/tmp/cpu/cpufreq/scaling_governor
started hardware MS_EACH=1
kill -INT -$pid
ended hardware
END
	for job in no-perf unpatched load tracing governor; do
		has "refused/$job" 'error: nothing is measured' 'status 1' || return 1
	done
	has refused/not-root 'you are not root' 'there is no PMU' 'status 1' &&
	has refused/no-perf 'there is no perf that runs' 'install linux-perf' 'an interval takes 6 rounds' &&
	has refused/unpatched 'leave out UNPATCHED=1' 'FORCE=1 does not help' &&
	has refused/load 'other load takes ' 'there is no PMU' 'flag hypervisor' 'the governor of CPU 1 is unknown' &&
	has refused/tracing 'there is tracing already: events (set_event), probes (dynamic_events)' &&
	has refused/governor 'the governor of CPU 1 is powersave' &&
	[ "$(grep -c '^  - ' "$logs/refused/governor")" = 1 ] &&
	! grep '^  - ' "$logs/refused/hardware" && has refused/hardware 'round 1 of 15' 'status 130'
}

# By Ctrl-C, by kill(1), and by SIGKILL, which nothing can catch
interrupted() {
	in_guest guest interrupted <<'END'
trace
state >/job/before
started int FORCE=1 MS_EACH=20
kill -INT -$pid
ended int
started term FORCE=1 MS_EACH=20
kill -TERM $pid
ended term
started killed FORCE=1 MS_EACH=20
kill -KILL -$pid
ended killed
said next scripts/bench/hardware
state >/job/next.state
END
	has interrupted/int interrupted 'status 130' && has interrupted/term 'status 143' &&
	has interrupted/killed 'status 137'
}
as_before() {	# JOB
	diff "$logs/interrupted/before" "$logs/interrupted/$1.state"
}
after_a_kill() {
	has interrupted/killed.state bench_hardware &&
	has interrupted/next 'removing what a run has left that was killed' && as_before next
}

bad() {	# WORDS VARIABLE=VALUE...
	local words="$1"
	shift
	fails "$words" make -C "$top" bench-hardware "$@"
}

check 'bad input: ROUNDS' bad 'ROUNDS=abc: give a whole number' ROUNDS=abc
check 'bad input: MS_EACH' bad 'MS_EACH=0: give a whole number' MS_EACH=0
check 'bad input: SEED' bad 'SEED=-1: give a whole number' SEED=-1
check 'bad input: RESULT has no figures' bad 'has no figures' RESULT="$top/README.md"
check 'bad input: BASE_RESULT is no file' bad 'make bench-hardware UNPATCHED=1 has written' BASE_RESULT="$logs/none"
group=refused
check 'hardware: it refuses what would mean nothing, and nothing else' refused
group=interrupted
check 'hardware: Ctrl-C, SIGTERM and SIGKILL end it' interrupted
check 'hardware: nothing is left on after Ctrl-C' as_before int
check 'hardware: nothing is left on after SIGTERM' as_before term
check 'hardware: the next run removes what SIGKILL has left' after_a_kill
group=measured
check 'hardware: it measures under emulation, if told' measured
check 'hardware: it has figures of each loop, off and with each way' rows
check 'hardware: it says that the figures are not of hardware, and why' no_hardware
check 'hardware: it describes the machine, without names' machine
check 'hardware: the tracing of the user is as before' left_alone
check 'hardware: the report is made again of its file' again
check 'hardware: it measures the unpatched kernel' unpatched
check 'hardware: perf stat counts in the loops alone' counted
check 'hardware: a report of both kernels' two_kernels
check 'hardware: it compares with a file that has a relative path' relative
