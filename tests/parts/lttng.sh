# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC2046 # variables of scripts/check/run
# lttng: the probes for LTTng build, record what ftrace records, and are harmless elsewhere
#
# What is built is in build/BASE/lttng/, and stays there: make check builds it again only if
# the source of the modules, the kernel or the compiler is another one.

kernels guest
# shellcheck source=scripts/kernel/lttng.sh
. "$top/scripts/kernel/lttng.sh"
probes='trap pagefault x86-exceptions'
lttng_git=$("$top/scripts/kernel/fetch" lttng-modules 2>"$logs/lttng-source") ||
	no_source 'the source of lttng-modules is there' "$logs/lttng-source"

lttng_patches() {
	"$top/scripts/series/make" --to "$logs/lttng-patches" lttng-modules || return 1
	if [ "$(basename "$lttng_git" .git)" = "$lttng_version" ]; then
		diff -r "$top/patches/lttng-modules" "$logs/lttng-patches"
	else
		# Another version: its blobs and line numbers differ
		for of in "$top/patches/lttng-modules" "$logs/lttng-patches"; do
			(cd "$of" && sed 's/^@@ .* @@/@@/; /^index /d; /^# Made by/d' ./*) \
				>"$logs/normal.$(basename "$of")" || return 1
		done
		diff "$logs/normal.lttng-modules" "$logs/normal.lttng-patches"
	fi
}

lttng_no_fuzz() {
	[ -s "$logs/lttng-fuzz.out" ] && ! grep -E '^Hunk .*(fuzz|offset)' "$logs/lttng-fuzz.out"
}

# The style of that project is the kernel's, but for how it writes its macros
lttng_style() (
	cd "$src" && PATH=/usr/bin:/bin:/usr/sbin:/sbin scripts/checkpatch.pl --strict --no-tree \
		--ignore FILE_PATH_CHANGES,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,SPACING \
		--no-summary --terse --show-types "$top"/patches/lttng-modules/*.patch
)

# The modules, for our kernel: nothing is left out for want of a header
lttng_builds() {
	(
		flock 8
		lttng_build "$src" guest "$(cat "$dir/guest/built")" modules
	) 8>>"$dir/guest.lock" || return 1
	! grep -iE 'warning|Probe "' "$lttng/guest/log" || return 1
	# The kernel need not export the tracepoints
	! nm -u "$lttng"/guest/src/probes/lttng-probe-trap.ko "$lttng"/guest/src/probes/lttng-probe-pagefault.ko |
		grep __tracepoint_ || return 1
	lttng_install guest
}

# lttng_probes KERNEL SUFFIX: those that were built, by name
lttng_probes() {
	find "$lttng/$1/src/probes" -name "lttng-probe-*$2" ! -name '*.mod.o' \
		-exec basename {} "$2" \; | sort
}

# For the base, they are left out, the log says why, and all the others are there
lttng_left_out() {
	(
		flock 8
		work_tree "$dir/src-base" base || exit 1
		lttng_build "$dir/src-base" guest-base \
			"$(plain_git -C "$src" rev-parse base) $(cksum <"$top/scripts/kernel/config/guest.config")" \
			probes/
	) 8>>"$dir/guest-base.lock" || return 1
	grep -F 'include/trace/events/trap.h not found. Probe "trap" is disabled.' "$lttng/guest-base/log" &&
	grep -F 'CONFIG_HAVE_PAGEFAULT_EVENTS is not set. Probe "pagefault" is disabled.' \
		"$lttng/guest-base/log" || return 1
	! grep -iE 'warning|Probe "' "$lttng/guest-base/log" |
		grep -vE '/trap\.h not found|CONFIG_HAVE_PAGEFAULT_EVENTS is not set' || return 1
	{
		lttng_probes guest-base .o
		printf 'lttng-probe-%s\n' trap pagefault
	} | sort >"$logs/lttng-probes"
	lttng_probes guest .ko | diff - "$logs/lttng-probes"
}

# The fix, which needs none of the other patches, on the source as it was released
lttng_fix_alone() (
	flock 8
	rm -rf "$lttng/fix" && plain_git clone -q --shared "$lttng_git" "$lttng/fix" && use_identity &&
	plain_git -C "$lttng/fix" am -q --no-3way "$top/patches/lttng-modules/0001-"*.patch &&
	kernel_make "$dir/src-base" guest-base M="$lttng/fix/src" CONFIG_LTTNG=m \
		probes/lttng-probe-x86-exceptions.o >"$lttng/fix/log" 2>&1 || exit 1
	! grep -iE 'warning|Probe "' "$lttng/fix/log" &&
	[ -f "$lttng/fix/src/probes/lttng-probe-x86-exceptions.o" ]
) 8>>"$dir/guest-base.lock"

# The demo, and the traps and page faults of two programs of the kselftest
lttng_guest() {
	gcc -O2 -static -o "$logs/lttng-demo" "$top/scripts/guest/demo.c" &&
	guest guest "$logs/lttng" -d 512 <<EOF
$top/scripts/guest/lttng /job $lttng/guest/modules $logs/lttng-demo $kselftests/trap_events $kselftests/pagefault_outcome
EOF
	cat "$logs/lttng/lttng"
	[ "$(cat "$logs/lttng/lost")" = 0 ] && ! grep -i 'discarded' "$logs/lttng/lttng"
}

# A probe with an event that the kernel does not have: it loads, that event never fires, and
# the other one does
lttng_waits() {
	sed 's/trap_exit/trap_left/g' \
		"$lttng/guest/src/probes/lttng-probe-trap.ko" >"$logs/lttng-without.ko" &&
	guest guest "$logs/lttng-waits" -d 512 <<EOF || return 1
export HOME=/tmp
mkdir -p /lib/modules
ln -s $lttng/guest/modules/lib/modules/\$(uname -r) /lib/modules/
{
	modprobe lttng-tracer
	insmod $logs/lttng-without.ko
	lttng-sessiond --daemonize --kmod-probes=pagefault
	lttng create waits --output=/tmp/waits
	lttng enable-event --kernel trap_entry,trap_left
	lttng start
	$logs/lttng-demo
	lttng destroy
	kill \$(cat /var/run/lttng/lttng-sessiond.pid)
	while [ -e /var/run/lttng/lttng-sessiond.pid ]; do sleep 0.1; done
	rmmod lttng-probe-trap
	echo "rmmod \$?"
} >/job/said 2>&1
cp -r /tmp/waits /job
EOF
	cat "$logs/lttng-waits/said"
	grep -q 'event trap_left created' "$logs/lttng-waits/said" &&
	grep -qx 'rmmod 0' "$logs/lttng-waits/said" &&
	babeltrace2 "$logs/lttng-waits/waits" >"$logs/lttng-waits/records" &&
	grep ' trap_entry: ' "$logs/lttng-waits/records" &&
	! grep ' trap_left: ' "$logs/lttng-waits/records" &&
	console_clean "$logs/lttng-waits/console.log"
}

# What babeltrace2 prints of a trace, for scripts/report/compare.py
lttng_compare() {
	babeltrace2 "$logs/lttng/ctf" >"$logs/lttng/ctf.text" && compare lttng_records "$logs/lttng"
}
lttng_filter() {
	babeltrace2 "$logs/lttng/ctf-filtered" >"$logs/lttng/filtered.text" &&
	compare lttng_filter "$logs/lttng"
}
lttng_types() {
	babeltrace2 --output-format=ctf-metadata "$logs/lttng/ctf/kernel" >"$logs/lttng/metadata" &&
	compare lttng_types "$logs/lttng" "$src/include/trace/events"
}

need lttng babeltrace2 modprobe patch
check 'lttng: patches/lttng-modules is what the sources give' lttng_patches
! have "$licences" 'lttng: checkpatch' || check 'lttng: checkpatch' lttng_style
group=lttng
check 'lttng: git am takes the patches' lttng_am "$lttng_git"
if [ "$(basename "$lttng_git" .git)" = "$lttng_version" ]; then
	check 'lttng: they apply without fuzz and offset' lttng_no_fuzz
else
	skip 'lttng: they apply without fuzz and offset' \
		"that is of $lttng_version, and this source is $(basename "$lttng_git" .git)"
fi
check 'lttng: the modules build without a warning' lttng_builds
check 'lttng: for the base, the probes are left out, and the build says why' lttng_left_out
check 'lttng: the first patch alone applies and builds' lttng_fix_alone
export TIMEOUT="${TIMEOUT:-900}"
check 'lttng: the guest loads them and records' lttng_guest
unset TIMEOUT
check 'lttng: a probe whose event the kernel lacks loads and records nothing' lttng_waits
check "lttng: the same records as ftrace's" lttng_compare
check 'lttng: a filter takes the fields of ftrace' lttng_filter
check 'lttng: the types of the fields' lttng_types
check 'lttng: no splat on the console' console_clean "$logs/lttng/console.log"
