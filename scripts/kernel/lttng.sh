# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# How lttng-modules with patches/lttng-modules are built, in build/BASE/lttng/. Sourced after
# scripts/check/kernels.sh.

# shellcheck source=lttng-modules/base
. "$top/lttng-modules/base"
lttng=$dir/lttng

# lttng_am GIT: the source with the series, in $lttng/src, and nothing of it by guesswork
lttng_am() {
	local lttng_git="$1" file from="$top/patches/lttng-modules"
	use_identity
	rm -rf "$lttng/src" "$logs/lttng-fuzz" && mkdir -p "$lttng" &&
	plain_git clone -q --shared "$lttng_git" "$lttng/src" &&
	cp -r "$lttng/src" "$logs/lttng-fuzz" || return 1
	for file in $(list "$from/series"); do
		plain_git -C "$lttng/src" am -q --no-3way "$from/$file" || break
		patch -d "$logs/lttng-fuzz" -p1 -F0 <"$from/$file" || break
	done >"$logs/lttng-fuzz.out" 2>&1
	cat "$logs/lttng-fuzz.out"
	[ "$(plain_git -C "$lttng/src" rev-list --count HEAD)" -gt 3 ] &&
	! grep -E 'FAILED|^error' "$logs/lttng-fuzz.out"
}

# lttng_make SRC KERNEL WORDS...: in build/BASE/lttng/KERNEL, against that kernel
lttng_make() {
	kernel_make "$@" M="$lttng/$2/src" CONFIG_LTTNG=m
}

# lttng_build SRC KERNEL STATE TARGET: the same, from nothing, with a log beside it,
# unless it was built from the same, and for a kernel of that STATE
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
			"$top/scripts/kernel/config/foreign.config" &&
		kernel_make "$dir/src-base" "$1" modules_prepare ;;
	*)
		takes_modules "$1" ;;
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
