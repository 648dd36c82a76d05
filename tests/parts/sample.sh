# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# sample: the module of samples/trap_events counts, and unloads while it counts
#
# LOADS=100: how many times it is loaded and unloaded.

loads=${LOADS:-100}
repeat_with="LOADS=$loads"
kernels guest
module=$dir/sample/trap_count.ko
raise=$logs/raise
build_raise "$raise"

# By the module's own Makefile, in another folder
build_sample() (
	flock 8
	rm -rf "$dir/sample" && takes_modules "$src" guest &&
	cp -r "$top/samples/trap_events" "$dir/sample" &&
	kernel_make "$dir/sample" guest KDIR="$src" W=1
) 8>>"$dir/guest.lock"
sample_builds_clean() {
	cat "$logs/sample.make"
	[ -f "$module" ] && ! grep -iq 'warning:' "$logs/sample.make"
}

# 1000 #UD on the first CPU and 2000 on the second, each 100th with an event of the module.
# Page faults have other events
counted() {	# JOB
	guest guest "$1" <<EOF || return 1
insmod $module every=100
cd /sys/kernel/tracing
echo 'vector == 6' >events/trap_count/filter
echo 1 >events/trap_count/enable
$raise 1000
cat trace >/job/trace
cat /sys/kernel/debug/trap_count/counts >/job/counts
echo 0 >events/trap_count/enable
rmmod trap_count
for gone in /sys/kernel/debug/trap_count events/trap_count /sys/module/trap_count; do
	[ -e \$gone ] || echo \$gone
done >/job/gone
EOF
	cat "$1/counts" "$1/gone"
	grep -m 3 ': trap_count_reached: ' "$1/trace"
	for cpu in 0 1; do
		n=$((cpu + 1))
		grep -qx "cpu=$cpu vector=6 entries=${n}000 exits=${n}000" "$1/counts" &&
		same ${n}0 "$(grep "\[00$cpu\].*: trap_count_reached: " "$1/trace" |
			grep -c ' vector=6 count=[0-9]*00$')" &&
		grep -q ": trap_count_reached: vector=6 count=${n}000\$" "$1/trace" || return 1
	done
	! grep 'vector=14 ' "$1/counts" &&
	[ "$(wc -l <"$1/gone")" = 3 ] && console_clean "$1/console.log"
}

# Each time, it counts a #UD before it is unloaded. Short grace periods and a high priority of
# the loader save most of the time
comes_and_goes() {	# JOB
	guest guest "$1" -a rcupdate.rcu_expedited=1 <<EOF || return 1
cp $module /tmp
$raise &
nice -n -20 sh -e >/job/loads 2>&1 <<'END'
for load in \$(seq $loads); do
	insmod /tmp/trap_count.ko
	until grep -q 'vector=6 entries=[1-9]' /sys/kernel/debug/trap_count/counts; do :; done
	rmmod trap_count
done
echo \$load
END
kill \$!
EOF
	cat "$1/loads"
	[ "$(cat "$1/loads")" = "$loads" ] && console_clean "$1/console.log"
}

export TIMEOUT="${TIMEOUT:-1800}"
build_sample >"$logs/sample.make" 2>&1 || rm -f "$module"
check 'sample: it builds without a warning' sample_builds_clean
[ -f "$module" ] || exit 0
check 'sample: it counts each vector on each CPU, and has an event' counted "$logs/sample"
check "sample: it is loaded and unloaded $loads times under load" comes_and_goes "$logs/sample-load"
