# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check/run
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
tab=$(printf '\t')

# tests_of FILE|FOLDER: in the order in which ftracetest runs them
tests_of() {
	(cd "$ftrace/test.d" && find "$1" -name '*.tc' | sort) >"$logs/ftrace.files"
	cat "$logs/ftrace.files"
	while read -r file; do
		! grep -q '^#[[:space:]]*flags:.*instance' "$ftrace/test.d/$file" || echo "$file (instance)"
	done <"$logs/ftrace.files"
}

# run_tests base|off|on JOB TIMES FILE|FOLDER...: JOB/results gets the result of each test
run_tests() {
	kernel=ftracetest of=$src events=$1 job=$2 times=$3
	[ "$1" != base ] || kernel=ftracetest-base of=$dir/src-base
	shift 3
	ended=0
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
	for out in "$job"/*.out; do
		[ -f "$out" ] || continue
		tests_of "$(cat "${out%.out}.test")" >"$logs/ftrace.tests"
		awk 'NR == FNR { test[NR] = $0; next }
			/^\[[0-9]+\].*\t\[[A-Z]+\]$/ {
				n = substr($1, 2) + 0
				sub(/.*\[/, "")
				sub(/\]$/, "")
				print test[n] "\t" $0
			}' "$logs/ftrace.tests" "$out"
	done >"$job/results"
	[ "$events" = base ] || console_clean "$job/console.log" || return 1
	[ $ended = 0 ] || return 2
	[ "$events" != on ] || kept_on "$job"
}

# They were on to the end, and had events all the time
kept_on() {	# JOB
	cat "$1/enabled" "$1/count" "$1/last"
	[ "$(sort -u "$1/enabled")" = 1 ] && [ "$(cat "$1/count")" -gt 1000 ] &&
	for event in trap_entry trap_exit pagefault_entry pagefault_exit; do
		grep -q " $event: " "$1/last" || return 1
	done
}

# run_all base|off|on: in $logs/KIND.results, with "nothing" for tests that have no result
run_all() {
	status=0
	: >"$logs/$1.got"
	for folder in $asked; do
		ran=0
		run_tests "$1" "$logs/ftrace.$1.$(echo "$folder" | tr / -)" 1 "$folder" || ran=$?
		if [ $ran = 2 ]; then
			echo "the guest of $folder did not end, once more:"
			ran=0
			run_tests "$1" "$logs/ftrace.$1.$(echo "$folder" | tr / -).again" 1 "$folder" || ran=$?
		fi
		# That the base hangs is not the fault of the series
		[ $ran = 0 ] || [ "$1" = base ] || status=1
		cat "$job/results" >>"$logs/$1.got"
	done
	for folder in $asked; do
		tests_of "$folder"
	done | awk -F '\t' 'NR == FNR { got[$1] = $2; next }
		{ print $1 "\t" ($1 in got ? got[$1] : "nothing") }' "$logs/$1.got" - |
		sort >"$logs/$1.results"
	cut -f 2 "$logs/$1.results" | sort | uniq -c
	[ -s "$logs/$1.got" ] && return $status
}

# verdicts off|on: a result for each test
verdicts() {
	join -t "$tab" "$logs/base.results" "$logs/$1.results" >"$logs/both"
	alone=$(awk -F '\t' '$2 != $3 || $2 == "nothing" { sub(/ \(instance\)$/, "", $1); print $1 }' \
		"$logs/both" | sort -u | tr '\n' ' ')
	: >"$logs/base.alone"
	: >"$logs/$1.alone"
	if [ "$alone" ]; then
		# shellcheck disable=SC2086 # a list
		run_tests base "$logs/ftrace.$1.alone.base" 3 $alone >"$logs/$1.alone.base.log" 2>&1 || true
		group=${ONLY:-ftracetest, events $1}
		# shellcheck disable=SC2086 # a list
		check "ftracetest, events $1, some again" run_tests "$1" "$logs/ftrace.$1.alone" 3 $alone
		group=''
		cp "$logs/ftrace.$1.alone.base/results" "$logs/base.alone"
		cp "$logs/ftrace.$1.alone/results" "$logs/$1.alone"
	fi
	while IFS=$tab read -r test of_base result <&3; do
		name="events $1: $test"
		selected "$name" || continue
		case $of_base:$result in
		PASS:PASS | XFAIL:XFAIL)
			pass "$name" ;;
		FAIL:FAIL)
			pass "$name ($result without the series, too)" ;;
		"$result:$result")
			if [ "$result" = nothing ]; then
				judge "$1"
			else
				skip "$name" "$result without the series, too"
			fi ;;
		*)
			judge "$1" ;;
		esac
	done 3<"$logs/both"
}

# Judge a test that ran alone as well: it must have no new result
judge() {	# off|on
	awk -F '\t' -v t="$test" '$1 == t { print $2 }' "$logs/$1.alone" >"$logs/here"
	awk -F '\t' -v t="$test" '$1 == t { print $2 }' "$logs/base.alone" >"$logs/there"
	said="$result, and alone: $(tr '\n' ' ' <"$logs/here")(without the series $of_base, and alone: $(tr '\n' ' ' <"$logs/there" | sed 's/ $//'))"
	alone_here=$(wc -l <"$logs/here")
	[ "$result" = nothing ] || echo "$result" >>"$logs/here"
	[ "$of_base" = nothing ] || echo "$of_base" >>"$logs/there"
	most=$(sort "$logs/there" | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
	if [ "$alone_here" = 3 ] && [ "$most" ] &&
	   [ $((2 * $(grep -cx "$most" "$logs/here"))) -ge "$(wc -l <"$logs/here")" ] &&
	   ! grep -vxFf "$logs/there" "$logs/here" >"$logs/new"; then
		varies=''
		[ "$(sort -u "$logs/there" | wc -l)" = 1 ] || varies=' (varies without the series, too)'
		pass "$name$varies"
	else
		fail "$name"
	fi
	echo "# $said"
}

tests_of . | sed -n 's|^\./||; s/.*/events off: &\nevents on: &/p' >"$logs/ftrace.names"
printf '%s\n' 'ftracetest without the series' 'ftracetest, events off' 'ftracetest, events on' \
	>>"$logs/ftrace.names"
only=${ONLY:-} awk '{ o = ENVIRON["only"]; if (substr($0, 1, length(o)) == o) found = 1 }
	END { exit !found }' "$logs/ftrace.names" ||
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
	group=''
	verdicts $events_are
done
unset TIMEOUT
