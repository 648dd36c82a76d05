# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# builds: the kernels that make check boots build without a warning

kselftest_builds_clean() {
	build_kselftest && [ -f "$dir/kselftest.log" ] &&
	! grep -i 'warning:' "$dir/kselftest.log" "$dir/tests.log"
}

# Each program is run: by the kselftest, by own_programs(), or by a part that names it
all_are_run() {
	local programs sources
	build_kselftest && programs=$(all_programs) &&
	sources=$(grep -l '^int main(' "$src"/tools/testing/selftests/trap/*.c \
		"$src"/tools/testing/selftests/pagefault/*.c "$top"/tests/*.c) || return 1
	echo "$sources" | while read -r source; do
		program=$(basename "$source" .c)
		if echo "$programs" | grep -qx "$program"; then
			echo "$programs" | grep -x "${program}_32"
		else
			grep -lE "(tests/|run_programs .*)$program\>" "$top"/tests/parts/*.sh \
				"$top/scripts/bench/run"
		fi || { echo "nothing runs $program"; exit 1; }
	done
}

# A second compilation comes out of the cache, unless an included file has changed: a header,
# or a file of .incbin
cached_rightly() (
	use_ccache "$logs"
	CCACHE_DIR=$logs/test.ccache
	rm -rf "$CCACHE_DIR" && mkdir -p "$logs/cached" && cd "$logs/cached" || exit 1
	compile() {	# FILE WORDS
		"$top/scripts/kernel/ccache" gcc -D__KERNEL__ -Wp,-MMD,it.d -include it.h -c -o it.o "$1" || exit 1
		grep -qF "$2" it.o || { echo "$1 has not '$2'"; exit 1; }
	}
	hits() { [ "$(ccache --print-stats | awk '$1 == "direct_cache_hit" { print $2 }')" = "$1" ]; }

	echo '#define IT "first"' >it.h
	echo 'const char *it = IT;' >it.c
	echo '.incbin "it.payload"' >incbin.S
	echo 'asm(".incbin \"it.payload\"");' >incbin.c
	# What is not older than the compiler's run is not cached
	touch -d '1 hour ago' it.h it.c
	sleep 1.1
	compile it.c first && compile it.c first
	hits 1 || { echo 'it does not come out of the cache'; exit 1; }
	echo '#define IT "other"' >it.h
	touch -d '1 hour ago' it.h
	sleep 1.1
	compile it.c other
	: >it.h
	sleep 1.1
	for file in incbin.S incbin.c; do
		for payload in this-one another; do
			echo "$payload" >it.payload
			compile "$file" "$payload"
		done
	done
	! plain_git -C "$src" grep -lwE '\.?incbin' -- 'include/*.h' 'arch/x86/*.h' 'kernel/*.h' 'mm/*.h' 'lib/*.h'
)

check 'run: the kernel builds without a warning' builds_clean run
check 'the kernel builds without a warning' builds_clean guest
check 'the kselftest and the programs of tests/ build without a warning' kselftest_builds_clean
check 'each test program is run' all_are_run
check 'ccache gives out what would be compiled' cached_rightly
