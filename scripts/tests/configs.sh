# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# configs: built only: without tracing, modules, BPF, kprobes, SMP...; clang; allmodconfig
#
# The warnings of the compiler and of objtool are errors here, but for allmodconfig.

# x86 cannot do without perf events. If ever it can, this is to be built.
possible() {	# NAME
	[ "$1" != no-perf ] || ! grep -qE '^[[:space:]]+select PERF_EVENTS$' "$src/arch/x86/Kconfig"
}

# A kernel is not kept: what is built once more comes out of ccache
built() {	# NAME
	build_kernel "built/$1" && no_warning "built/$1"
	status=$?
	rm -rf "$dir/built/$1"
	return $status
}

# The folders that the series touches, with all that there is in them
allmodconfig() (
	out=$dir/built/allmodconfig
	use_ccache "$dir"
	# An object that was there already has no warning any more
	rm -rf "$out" && mkdir -p "$out" || exit 1
	kmake() { make -C "$src" O="$out" CC='ccache gcc' HOSTCC='ccache gcc' "$@"; }
	if ! { kmake -s allmodconfig && "$src/scripts/config" --file "$out/.config" -d WERROR \
		-d OBJTOOL_WERROR -e DEBUG_INFO_NONE -d DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT \
		-d GCC_PLUGINS && kmake -s olddefconfig &&
	       kmake -j"$(nproc)" arch/x86/ mm/ kernel/trace/; } >"$logs/allmodconfig.make" 2>&1
	then
		tail -n 5 "$logs/allmodconfig.make"
		exit 1
	fi
	! grep -iE 'warning:|error:' "$logs/allmodconfig.make"
	status=$?
	rm -rf "$out"
	exit $status
)

mkdir -p "$dir/built"
for config in "$top"/scripts/config/built/*.config; do
	name=$(basename "$config" .config)
	test="configs: $name builds without a warning"
	wanted=''
	[ "${name#clang}" = "$name" ] || wanted='clang-19 ld.lld-19 llvm-ar-19 llvm-objcopy-19'
	selected "$test" || continue
	if ! possible "$name"; then
		skip "$test" 'arch/x86/Kconfig selects PERF_EVENTS'
	elif have "$wanted" "$test"; then
		check "$test" built "$name"
	fi
done
test='configs: allmodconfig of the touched folders builds without a warning'
! have /usr/include/openssl/opensslv.h "$test" || check "$test" allmodconfig
