# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# builds: the kernels that the parts of make check boot, without a warning

kselftest_builds_clean() {
	build_kselftest && [ -f "$dir/kselftest.log" ] &&
	! grep -i 'warning:' "$dir/kselftest.log"
}

# A program that is in neither list of the Makefile is not built, see build_kselftest();
# one that the kselftest does not run by itself is run by a part, by its name
all_are_run() {
	build_kselftest && kselftest_programs >"$logs/kselftest.programs" &&
	grep -l '^int main(' "$src"/tools/testing/selftests/trap/*.c >"$logs/kselftest.sources" || return 1
	while read -r source; do
		program=$(basename "$source" .c)
		if grep -qx "$program" "$logs/kselftest.programs"; then
			grep -x "${program}_32" "$logs/kselftest.programs"
		else
			grep -l "tests/$program\>" "$top"/scripts/tests/*.sh "$top/scripts/bench"
		fi || { echo "nothing runs $program"; return 1; }
	done <"$logs/kselftest.sources"
}

# An assembler or C file that is compiled once more, after what it has by .incbin changed
incbin_is_seen() (
	use_ccache "$logs"
	CCACHE_DIR=$logs/incbin.ccache
	cd "$logs" || exit 1
	# shellcheck disable=SC2016 # of gcc
	echo '.incbin "incbin.payload"' >incbin.S
	echo 'asm(".incbin \"incbin.payload\"");' >incbin.c
	for file in incbin.S incbin.c; do
		for payload in this-one another; do
			echo "$payload" >incbin.payload
			"$cached" gcc -Wp,-MMD,incbin.d -c -o incbin.o "$file" || exit 1
			grep -qF "$payload" incbin.o || { echo "$file has an old one"; exit 1; }
		done
	done
)

# Two at a time, of about the same length: what links one leaves a core idle
{
	check 'the kernel builds without a warning' builds_clean guest
	check 'the kselftest builds and installs without a warning' kselftest_builds_clean
	check 'each program of the kselftest is run' all_are_run
	check 'debug: the kernel builds without a warning' builds_clean debug
	check 'price: the kernel without the series builds' build_kernel price-base
} &
others=$!
check 'ccache sees what is included as a binary' incbin_is_seen
check 'i386: the kernel builds without a warning' builds_clean i386
check 'price: the kernel builds' build_kernel price
root=''
! "$top/scripts/root" "$base" >/dev/null 2>"$logs/root.log" || root=there
[ ! "$root" ] || check 'tools: the kernel builds without a warning' builds_clean tools
wait "$others"
[ "$root" ] || no_source 'tools: the root of the guest is made' "$logs/root.log"
