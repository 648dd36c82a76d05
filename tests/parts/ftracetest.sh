# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# ftracetest: the kernel's own selftests of ftrace, with the series and without it
#
# All guests run the tests of the base, each folder in a guest of its own. "events on" has the
# trap and page fault events on in an instance, which the tests leave alone: they reset all that
# is in the top one. Some tests depend on how busy the machine is, and a guest of QEMU's
# emulation hangs at times. So a folder with a result that the base did not have runs up to
# three times on both kernels. It passes once each of its results was one of the base as well.

kernels ftracetest ftracetest-base

ftrace=$dir/src-base/tools/testing/selftests/ftrace
# The one program of these tests
gcc -O2 -static -o "$ftrace/poll" "$ftrace/poll.c"
instance=/sys/kernel/tracing/instances/kept_on

# run_folder FOLDER base|off|on JOB: JOB/results gets a line for each test, with its result
run_folder() {
	local kernel=ftracetest source="$src" job="$3"
	[ "$2" != base ] || kernel=ftracetest-base source=$dir/src-base
	kernel_make "$source" "$kernel" -s modules_install \
		INSTALL_MOD_PATH="$dir/$kernel/modules" || return 1
	guest "$kernel" "$job" -c 4 <<-END || echo "the guest of $1 did not end"
	mkdir -p /lib/modules
	ln -s $dir/$kernel/modules/lib/modules/\$(uname -r) /lib/modules/
	if [ $2 = on ]; then
		mkdir $instance
		echo 1 >$instance/events/trap/enable
		echo 1 >$instance/events/pagefault/enable
	fi
	cd $ftrace
	./ftracetest -l /tmp/logs test.d/$1 >/job/out 2>&1
	cp -r /tmp/logs /job/logs
	[ $2 = on ] || exit 0
	cat $instance/events/trap/enable $instance/events/pagefault/enable >/job/enabled
	awk '/^(entries|overrun):/ { n += \$2 } END { print n }' \
		$instance/per_cpu/cpu*/stats >/job/count
	echo >$instance/trace
	/bin/true
	grep -oE ' (trap|pagefault)_[a-z]*: ' $instance/trace | sort | uniq -c >/job/last
	END
	sed -nE 's/^(\[[0-9]+\].*)\t\[([A-Z]+)\]$/\1: \2/p' "$job/out" | sort >"$job/results"
	[ "$2" = base ] || console_clean "$job/console.log" || return 1
	[ "$2" != on ] || [ ! -f "$job/last" ] || kept_on "$job"
}

# They were on to the end, and had events all the time
kept_on() {	# JOB
	local event
	cat "$1/enabled" "$1/count" "$1/last"
	[ "$(sort -u "$1/enabled")" = 1 ] && [ "$(cat "$1/count")" -gt 1000 ] || return 1
	for event in trap_entry trap_exit pagefault_entry pagefault_exit; do
		grep -q " $event: " "$1/last" || return 1
	done
}

# as_base FOLDER off|on: what the base never had is printed, the last time as a failure
as_base() {
	local name="$logs/$1" time new gone
	for time in 1 2 3; do
		[ -f "$name.base.$time/results" ] ||
			run_folder "$1" base "$name.base.$time" || return 1
		run_folder "$1" "$2" "$name.$2.$time" || return 1
		[ -s "$name.$2.$time/results" ] || continue
		sort -u "$name".base.[1-3]/results >"$name.base"
		new=$(comm -13 "$name.base" "$name.$2.$time/results")
		gone=$(sed 's/: [A-Z]*$//' "$name.base" | sort -u |
			grep -vxF "$(sed 's/: [A-Z]*$//' "$name.$2.$time/results")")
		wc -l "$name.base" "$name.$2.$time/results"
		[ "$new$gone" ] || return 0
		printf 'try %d, new:\n%s\nmissing:\n%s\n' "$time" "$new" "$gone"
	done
	return 1
}

export TIMEOUT="${TIMEOUT:-1200}"
# ONLY may ask for a folder
for folder in $(cd "$ftrace/test.d" && echo */ | tr -d /); do
	for events_are in off on; do
		check "ftracetest, events $events_are: $folder" as_base "$folder" $events_are
	done
done
unset TIMEOUT
