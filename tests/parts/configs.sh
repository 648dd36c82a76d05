# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# configs: built only: without tracing, modules, BPF, kprobes, SMP...; clang; allmodconfig
#
# The warnings of the compiler and of objtool are errors here, but for allmodconfig.

# x86 cannot do without perf events. If ever it can, this is to be built.
possible() {	# NAME
	[ "$1" != no-perf ] || ! grep -qE '^[[:space:]]+select PERF_EVENTS$' "$src/arch/x86/Kconfig"
}

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

# The page fault events of another architecture, see ports/README.md
port() (	# ARCHITECTURE
	out=$dir/built/port-$1
	export ARCH="$1" LLVM=-19
	pmake() { make -s -C "$dir/ports" O="$out" "$@"; }
	added=$(grep -c '^+\([^+]\|$\)' "$top/ports/$base/$1.diff")
	grep "^| $1 | $added |" "$top/ports/README.md" ||
		{ echo "ports/README.md has a wrong number of lines for $1: it is $added"; exit 1; }
	trap 'rm -rf "$out"' EXIT
	work_tree "$dir/ports" HEAD && plain_git -C "$dir/ports" apply "$top/ports/$base/$1.diff" &&
	rm -rf "$out" && mkdir -p "$out" && pmake defconfig &&
	"$src/scripts/config" --file "$out/.config" -e FTRACE -e FUNCTION_TRACER -e WERROR &&
	pmake olddefconfig && grep -qx CONFIG_TRACEPOINTS=y "$out/.config" &&
	pmake -j"$(nproc)" W=1 mm/pagefault.o mm/memory.o "arch/$1/mm/fault.o"
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
	if ! possible "$name"; then
		skip "$test" 'arch/x86/Kconfig selects PERF_EVENTS'
	elif have "$wanted" "$test"; then
		check "$test" builds_clean "built/$name"
		# It is not kept: what is built once more comes out of ccache
		rm -rf "$dir/built/$name"
	fi
done
# shellcheck disable=SC2034 # for selected()
group=''
for port in "$top/ports/$base"/*.diff; do
	if [ ! -f "$port" ]; then
		! selected 'configs: ports' || skip 'configs: ports' "there are no ports for $base"
		break
	fi
	name=$(basename "$port" .diff)
	test="configs: ports: $name compiles with the page fault events"
	check_with "$clang" "$test" port "$name"
done
check_with /usr/include/openssl/opensslv.h \
	'configs: allmodconfig of the touched folders builds without a warning' allmodconfig
