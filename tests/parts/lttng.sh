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
	[ "$(basename "$lttng_git" .git)" = "$lttng_version" ] ||
		{ echo "that is of $lttng_version, which is not here" >"$cannot"; return 1; }
	"$top/scripts/series/make" --to "$logs/lttng-patches" lttng-modules &&
	diff -r "$top/patches/lttng-modules" "$logs/lttng-patches"
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
	! (cd "$lttng/guest/src/probes" && nm -u lttng-probe-trap.ko lttng-probe-pagefault.ko) |
		grep __tracepoint_ || return 1
	lttng_install guest
}

# For the base, they are left out, the log says why, and all the others are there
guest_config=$top/scripts/kernel/config/guest.config
lttng_left_out() (
	(
		flock 8
		work_tree "$dir/src-base" base || exit 1
		state="$(plain_git -C "$src" rev-parse base) $(cksum <"$guest_config")"
		lttng_build "$dir/src-base" guest-base "$state" probes/
	) 8>>"$dir/guest-base.lock" || return 1
	cd "$lttng/guest-base" || return 1
	grep -F 'include/trace/events/trap.h not found. Probe "trap" is disabled.' log &&
	grep -F 'CONFIG_PAGEFAULT_EVENTS is not set. Probe "pagefault" is disabled.' log || return 1
	! grep -iE 'warning|Probe "' log |
		grep -vE '/trap\.h not found|CONFIG_PAGEFAULT_EVENTS is not set' || return 1
	[ ! -e src/probes/lttng-probe-trap.o ] && [ ! -e src/probes/lttng-probe-pagefault.o ] &&
	[ -f src/probes/lttng-probe-x86-exceptions.o ]
)

# The demo, and the traps and page faults of two programs of the kselftest; then the traces as
# text, for scripts/report/compare.py
lttng_guest() {
	local job="$logs/lttng"
	gcc -O2 -static -o "$logs/lttng-demo" "$top/scripts/guest/demo.c" &&
	guest guest "$job" -d 512 <<EOF || return 1
$top/scripts/guest/lttng /job $lttng/guest/modules $logs/lttng-demo \
	$(path_of trap_events) $(path_of pagefault_outcome)
EOF
	cat "$job/lttng"
	[ "$(cat "$job/lost")" = 0 ] && ! grep -i 'discarded' "$job/lttng" &&
	babeltrace2 "$job/ctf" >"$job/ctf.text" &&
	babeltrace2 "$job/ctf-filtered" >"$job/filtered.text"
}

wrong_field() (
	cd "$logs/lttng" &&
	sed '/ trap_exit: /s/error_code = 0x0/error_code = 0x8/' ctf.text >changed &&
	fails 'of LTTng' compare lttng_records . changed
)

need lttng babeltrace2 modprobe patch
check 'lttng: patches/lttng-modules is what the sources give' lttng_patches
! have "$licences" 'lttng: checkpatch' || check 'lttng: checkpatch' lttng_style
group=lttng
check 'lttng: git am takes the patches' lttng_am "$lttng_git"
check 'lttng: the modules build without a warning' lttng_builds
check 'lttng: for the base, the probes are left out, and the build says why' lttng_left_out
export TIMEOUT="${TIMEOUT:-900}"
check 'lttng: the guest loads them and records' lttng_guest
unset TIMEOUT
check "lttng: the same records as ftrace's" compare lttng_records "$logs/lttng"
check 'lttng: a filter takes the fields of ftrace' compare lttng_filter "$logs/lttng"
check 'lttng: a wrong field is noticed' wrong_field
check 'lttng: no splat on the console' console_clean "$logs/lttng/console.log"
