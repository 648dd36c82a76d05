# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC2046 # variables of tests/check
# lttng: the probes for LTTng record what ftrace does, and do no harm elsewhere
#
# What is built stays in build/BASE/lttng/ until its source, the kernel or the compiler changes.

kernels guest
lttng_git=$("$top/scripts/kernel/fetch" lttng-modules 2>"$logs/lttng-source") ||
	no_source 'the source of lttng-modules is there' "$logs/lttng-source"

# shellcheck source=lttng-modules/base
. "$top/lttng-modules/base"
lttng=$dir/lttng

# The source with the series, in $lttng/src. git am takes no hunk by guesswork
lttng_am() {
	local file from="$top/patches/lttng-modules"
	use_identity
	rm -rf "$lttng/src" && mkdir -p "$lttng" &&
	plain_git clone -q --shared "$lttng_git" "$lttng/src" || return 1
	for file in $(list "$from/series"); do
		plain_git -C "$lttng/src" am -q --no-3way "$from/$file" || return 1
	done
}

# lttng_make SRC KERNEL WORDS...: in build/BASE/lttng/KERNEL, against that kernel
lttng_make() {
	kernel_make "$@" M="$lttng/$2/src" CONFIG_LTTNG=m
}

# lttng_build SRC KERNEL STATE TARGET: the same, unless it was built for a kernel of that STATE
lttng_build() {
	local out="$lttng/$2" state
	state="$(plain_git -C "$lttng/src" rev-parse 'HEAD^{tree}') $3 $(gcc --version | head -n 1)"
	if [ "$(cat "$out/built" 2>/dev/null)" != "$state" ]; then
		rm -rf "$out" && cp -r "$lttng/src" "$out" && rm -rf "${out:?}/.git" || return 1
		if ! prepare_kernel "$2" >"$out/prepare.log" 2>&1 ||
		   ! lttng_make "$1" "$2" "$4" >"$out/log" 2>&1; then
			cat "$out"/*log | grep -E 'error|warning|\*\*\*'
			return 1
		fi
		echo "$state" >"$out/built"
	fi
	grep -iE 'warning|Probe "' "$out/log" || true
}

# prepare_kernel NAME: the base is but configured, and nothing is linked against it
prepare_kernel() {
	case $1 in
	*-base)
		"$top/scripts/kernel/build" -c "$dir/src-base" "$1" \
			"$top/configs/foreign.config" &&
		kernel_make "$dir/src-base" "$1" modules_prepare ;;
	*)
		takes_modules "$src" "$1" ;;
	esac
}

# lttng_install KERNEL: for libkmod, which loads them, to find: build/BASE/lttng/KERNEL/modules
# gets lib/modules/
lttng_install() {
	local modules="$lttng/$1/modules" release
	release=$(cat "$dir/$1/include/config/kernel.release") &&
	rm -rf "$modules" && mkdir -p "$modules/lib/modules/$release" &&
	# It wants to see the lists of the kernel's own as well
	cp "$dir/$1"/modules.builtin* "$modules/lib/modules/$release" &&
	: >"$modules/lib/modules/$release/modules.order" &&
	lttng_make "$src" "$1" INSTALL_MOD_PATH="$modules" modules_install
}

lttng_patches() {
	[ "$(basename "$lttng_git" .git)" = "$lttng_version" ] ||
		{ echo "this source is not $lttng_version" >"$cannot"; return 1; }
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
guest_config=$top/configs/guest.config
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
# text, for tests/compare.py
lttng_guest() {
	local job="$logs/lttng"
	gcc -O2 -static -o "$logs/lttng-demo" "$top/scripts/vm/demo.c" &&
	guest guest "$job" -d 512 <<EOF || return 1
$top/tests/in-guest/record-lttng /job $lttng/guest/modules $logs/lttng-demo \
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

need lttng babeltrace2 modprobe
check 'lttng: patches/lttng-modules is what the sources give' lttng_patches
! have "$licences" 'lttng: checkpatch' || check 'lttng: checkpatch' lttng_style
group=lttng
check 'lttng: git am takes the patches' lttng_am
check 'lttng: the modules build without a warning' lttng_builds
check 'lttng: for the base, the probes are left out, and the build says why' lttng_left_out
export TIMEOUT="${TIMEOUT:-900}"
check 'lttng: the guest loads them and records' lttng_guest
check "lttng: the same records as ftrace's" compare lttng_records "$logs/lttng"
check 'lttng: a filter takes the fields of ftrace' compare lttng_filter "$logs/lttng"
check 'lttng: a wrong field is noticed' wrong_field
check 'lttng: no splat on the console' console_clean "$logs/lttng/console.log"
