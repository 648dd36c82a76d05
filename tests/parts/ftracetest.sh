# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# ftracetest: the kernel's own selftests of ftrace, with the series and without it
#
# All guests run the tests of the base, each folder in a guest of its own. "events on"
# has the trap and page fault events on in an instance, which the tests leave alone: they
# reset all that is in the top one. Some of the tests depend on how busy the machine is,
# and a guest of QEMU's emulation hangs at times. So a folder whose guest did not end runs
# once more. A test with another result than on the base, or with none, runs again, alone,
# three times on both kernels. It fails if it has a result that it never had on the base. It
# also fails if it has the base's most frequent result in less than half of its runs.

kernels ftracetest ftracetest-base

ftrace=$dir/src-base/tools/testing/selftests/ftrace
# The one program of these tests
gcc -O2 -static -o "$ftrace/poll" "$ftrace/poll.c"
instance=/sys/kernel/tracing/instances/kept_on
reader=$top/scripts/check/ftracetest.py
tab=$(printf '\t')

# run_tests base|off|on JOB TIMES FILE|FOLDER...: status 2 if the guest did not end
run_tests() {
	local kernel=ftracetest of="$src" events="$1" job="$2" times="$3" ended=0
	[ "$1" != base ] || kernel=ftracetest-base of=$dir/src-base
	shift 3
	kernel_make "$of" "$kernel" -s modules_install INSTALL_MOD_PATH="$dir/$kernel/modules" &&
	guest "$kernel" "$job" -c 4 <<END || ended=$?
mkdir -p /lib/modules /tmp/logs
ln -s $dir/$kernel/modules/lib/modules/\$(uname -r) /lib/modules/
if [ $events = on ]; then
	mkdir $instance
	echo 1 >$instance/events/trap/enable
	echo 1 >$instance/events/pagefault/enable
fi
cd $ftrace
n=0
for test in $*; do
	for time in \$(seq $times); do
		n=\$((n + 1))
		echo \$test >/job/\$n.test
		./ftracetest -l /tmp/logs/\$n test.d/\$test >/job/\$n.out 2>&1
	done
done
cp -r /tmp/logs /job/logs
[ $events = on ] || exit 0
cat $instance/events/trap/enable $instance/events/pagefault/enable >/job/enabled
awk '/^(entries|overrun):/ { n += \$2 } END { print n }' $instance/per_cpu/cpu*/stats >/job/count
echo >$instance/trace
/bin/true
grep -oE ' (trap|pagefault)_[a-z]*: ' $instance/trace | sort | uniq -c >/job/last
END
	[ "$events" = base ] || console_clean "$job/console.log" || return 1
	[ $ended = 0 ] || return 2
	[ "$events" != on ] || kept_on "$job"
}

# They were on to the end, and had events all the time
kept_on() {	# JOB
	local event
	cat "$1/enabled" "$1/count" "$1/last"
	[ "$(sort -u "$1/enabled")" = 1 ] && [ "$(cat "$1/count")" -gt 1000 ] &&
	for event in trap_entry trap_exit pagefault_entry pagefault_exit; do
		grep -q " $event: " "$1/last" || return 1
	done
}

# run_all base|off|on: $logs/KIND.results gets the result of each test
run_all() {
	local folder job jobs='' ran status=0
	for folder in $asked; do
		job=$logs/ftrace.$1.$(echo "$folder" | tr / -)
		ran=0
		run_tests "$1" "$job" 1 "$folder" || ran=$?
		if [ $ran = 2 ]; then
			echo "the guest of $folder did not end, once more:"
			job=$job.again ran=0
			run_tests "$1" "$job" 1 "$folder" || ran=$?
		fi
		# That the base hangs is not the fault of the series
		[ $ran = 0 ] || [ "$1" = base ] || status=1
		jobs="$jobs $job"
	done
	# shellcheck disable=SC2086 # a list
	"$reader" results "$ftrace/test.d" "$asked" $jobs >"$logs/$1.results" &&
	cut -f 2 "$logs/$1.results" | sort | uniq -c && return $status
}

# verdicts off|on: a result for each test
verdicts() {
	local alone verdict name said group="${ONLY:-ftracetest, events $1}"
	alone=$("$reader" again "$logs/base.results" "$logs/$1.results")
	: >"$logs/base.alone"
	: >"$logs/$1.alone"
	if [ "$alone" ]; then
		# shellcheck disable=SC2086 # a list
		run_tests base "$logs/ftrace.$1.alone.base" 3 $alone >"$logs/$1.alone.base.log" 2>&1 || true
		# shellcheck disable=SC2086 # a list
		check "ftracetest, events $1, some again" run_tests "$1" "$logs/ftrace.$1.alone" 3 $alone
		"$reader" results "$ftrace/test.d" "$alone" "$logs/ftrace.$1.alone.base" \
			>"$logs/base.alone" || true
		"$reader" results "$ftrace/test.d" "$alone" "$logs/ftrace.$1.alone" >"$logs/$1.alone" || true
	fi
	group=''
	"$reader" verdicts "$logs/base.results" "$logs/$1.results" "$logs/base.alone" "$logs/$1.alone" |
		while IFS=$tab read -r verdict name said; do
			name="events $1: $name"
			selected "$name" || continue
			case $verdict in
			skip)	skip "$name" "$said" ;;
			*)	"$verdict" "$name"
				[ ! "$said" ] || echo "# $said" ;;
			esac
		done
}

{
	"$reader" tests "$ftrace/test.d" . | sed 's/.*/events off: &\nevents on: &/'
	printf '%s\n' 'ftracetest without the series' 'ftracetest, events off' 'ftracetest, events on'
} | only=${ONLY:-} awk 'index($0, ENVIRON["only"]) == 1 { found = 1 } END { exit !found }' ||
	{ fail 'ftracetest: ONLY names a test'; echo "# ONLY='$ONLY'"; exit; }

# ONLY may ask for a test or a folder, with the events off or on: the guests of these are
# needed then
asked=${ONLY:-}
asked=${asked#events o*: }
asked=${asked%.tc*}
if [ "$asked" ] && [ -f "$ftrace/test.d/$asked.tc" ]; then
	asked=$asked.tc
elif [ ! "$asked" ] || [ ! -d "$ftrace/test.d/$asked" ]; then
	asked=$(cd "$ftrace/test.d" && find . -mindepth 1 -maxdepth 1 -type d | sed 's|^\./||' | sort)
fi
export TIMEOUT="${TIMEOUT:-1200}"
group=${ONLY:-}
check 'ftracetest without the series' run_all base
for events_are in off on; do
	case $events_are:${ONLY:-} in
	off:*'events on'* | on:*'events off'*)
		continue ;;
	esac
	group=${ONLY:-}
	check "ftracetest, events $events_are" run_all $events_are
	# shellcheck disable=SC2034 # for selected()
	group=''
	verdicts $events_are
done
unset TIMEOUT
