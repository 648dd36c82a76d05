# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# configs: built only: no tracing, modules, BPF, kprobes...; clang; allmodconfig
#
# The warnings of the compiler and of objtool are errors here, but for allmodconfig.

# The folders that the series touches, with all that there is in them
allmodconfig() (
	out=$dir/built/allmodconfig
	use_ccache "$dir"
	# An object that was there already has no warning any more
	rm -rf "$out" && mkdir -p "$out" && trap 'rm -rf "$out"' EXIT &&
	kmake "$src" "$out" -s allmodconfig &&
	"$src/scripts/config" --file "$out/.config" -d WERROR -d OBJTOOL_WERROR -e DEBUG_INFO_NONE \
		-d DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT -d GCC_PLUGINS &&
	kmake "$src" "$out" -s olddefconfig || exit 1
	kmake "$src" "$out" arch/x86/ mm/ kernel/trace/ >"$logs/allmodconfig.make" 2>&1 ||
		{ tail -n 5 "$logs/allmodconfig.make"; exit 1; }
	! grep -iE 'warning:|error:' "$logs/allmodconfig.make"
)

clang='clang-19 ld.lld-19 llvm-ar-19 llvm-objcopy-19'
mkdir -p "$dir/built"
for config in "$top"/configs/built/*.config; do
	name=$(basename "$config" .config)
	test="configs: $name builds without a warning"
	group="configs: $name"
	wanted=''
	[ "${name#clang}" = "$name" ] || wanted=$clang
	selected || continue
	have "$wanted" "$test" || continue
	check "$test" builds_clean "built/$name"
	# It is not kept: what is built once more comes out of ccache
	rm -rf "$dir/built/$name"
done
# shellcheck disable=SC2034 # for selected()
group=''
check_with /usr/include/openssl/opensslv.h \
	'configs: allmodconfig of the touched folders builds without a warning' allmodconfig
