# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# What the parts in tests/parts/ share: how a kernel is built, booted and tested, and which
# messages are allowed on its console. Sourced by tests/check.

# The programs of the kselftest, and our own ones, of tests/programs/
kselftest=$shared/programs/kselftest
kselftests='trap pagefault'
tests=$shared/programs/own
tap=$top/tests/tap.py

# build_kernel NAME: of the source without the series, if the name ends in "-base". One
# that runs the kselftest gets the test module, and so does clang's, for its warnings.
# Another part may want the same kernel at the same time
build_kernel() {
	(
		flock 8
		case $1 in
		*-base)	work_tree "$dir/src-base" base &&
			"$top/scripts/kernel/build" "$dir/src-base" "$1" ;;
		run | btf | cost | arm64* | riscv* | built/[!c]*)
			"$top/scripts/kernel/build" "$src" "$1" ;;
		*)	"$top/scripts/kernel/build" -t "$src" "$1" ;;
		esac
	) 8>>"$dir/$1.lock"
}

# WERROR makes warnings of the compiler and objtool fatal. This finds those of other tools.
builds_clean() {	# NAME
	build_kernel "$1" && [ -s "$dir/$1.log" ] && no_warning "$1"
}
# The kconfig of old kernels notes each choice that a fragment makes. bases/BASE/warnings
# has the warnings that the unpatched base gives, too.
no_warning() {	# NAME
	local own
	own=$(grep -hv '^#' "$base_dir/warnings" 2>/dev/null || :)
	! cat "$dir/$1.log" "$dir/$1/trap_test.log" 2>/dev/null | grep -i 'warning:' |
		grep -vE "override: .* changes choice state${own:+|$own}"
}

# The programs of the kselftest, 64-bit and 32-bit, as its own "make install" does it;
# then our own
build_kselftest() (
	flock 8
	selftests=$shared/src/tools/testing/selftests
	head="$(plain_git -C "$shared/src" rev-parse HEAD) $(cat \
		"$top"/tests/programs/* "$top"/selftests/*/[tp]*/* | cksum)"
	[ "$(cat "$kselftest/built" 2>/dev/null)" != "$head" ] ||
		[ ! -f "$shared/kselftest.log" ] || exit 0
	rm -rf "$kselftest" "$tests" "$shared/kselftest/kselftest" &&
	make -s -C "$shared/src" O="$shared/kselftest" headers || exit 1
	if ! make -s -C "$selftests" O="$shared/kselftest" TARGETS="$kselftests" install \
		INSTALL_PATH="$kselftest" >"$shared/kselftest.log" 2>&1; then
		cat "$shared/kselftest.log"
		exit 1
	fi
	# Each program that there is, once for 64 and once for 32 bit
	for source in "$selftests"/*/*.c; do
		folder=$(basename "$(dirname "$source")")
		echo "$kselftests" | grep -qw "$folder" || continue
		grep -q '^int main(' "$source" || continue
		program=$(basename "$source" .c)
		for program in "$program" "${program}_32"; do
			[ -x "$kselftest/$folder/$program" ] ||
				{ echo "there is no $program"; exit 1; }
		done
	done
	mkdir -p "$tests" || exit 1
	if ! make -s -C "$top/tests/programs" OUTPUT="$tests" KERNEL="$shared/src" \
		HEADERS="$shared/kselftest/usr/include" >"$shared/tests.log" 2>&1; then
		cat "$shared/tests.log"
		exit 1
	fi
	echo "$head" >"$kselftest/built"
) 8>>"$shared/kselftest.lock"

# kmake SRC OUT WORDS...: the make of the kernel, with ccache. The variable cc may name the
# compiler
kmake() {
	local from="$1" out="$2"
	shift 2
	make -C "$from" O="$out" CC="ccache ${cc:-gcc}" HOSTCC='ccache gcc' -j"$(nproc)" "$@"
}

# kernel_make SRC KERNEL WORDS...: run make in the folder of that kernel, with the settings of
# scripts/kernel/build. With other settings, it would build all again.
kernel_make() (
	from=$1 kernel=$2
	shift 2
	use_ccache "$build"
	set_arch "$kernel"
	kmake "$from" "$dir/$kernel" CC="$(ccache_for "$kernel") ${CROSS_COMPILE}gcc" "$@"
)

# kernels NAME...: what a part needs before it begins: these kernels, and the kselftest.
# In a run of all parts they are there: the part "builds" has made them.
kernels() {
	local kernel
	for kernel in "$@"; do
		build_kernel "$kernel" >"$logs/$this.kernels" 2>&1 && continue
		fail_part "the kernel $kernel is there (log: $logs/$this.kernels)"
		exit
	done
	build_kselftest >"$logs/$this.kernels" 2>&1 ||
		{ fail_part "the kselftest is there (log: $logs/$this.kernels)"; exit; }
}

# takes_modules KERNEL: prepare our kernel for external modules. It has no modules of its
# own, so all exported symbols are in vmlinux.
takes_modules() {
	cp "$dir/$1/vmlinux.symvers" "$dir/$1/Module.symvers" &&
	kernel_make "$src" "$1" modules_prepare
}

# put_kernel NAME JOB: the kernel and, if it has one, the test module, which init loads
put_kernel() {
	"$top/scripts/vm/boot" -k "$dir/$1" "$2" &&
	{ [ ! -f "$dir/$1/trap_test.ko" ] || cp "$dir/$1/trap_test.ko" "$2"; }
}

# boot_job NAME JOB OPTION...: boot the kernel NAME with JOB/run
boot_job() {
	local kernel="$1" job="$2"
	shift 2
	# identify_cpu() forgets for a moment that there are five levels of page tables, and
	# KASAN takes what an interrupt reads then for a wild access: that is the code of the base
	[ "$kernel" != kasan ] || set -- -f la57=off "$@"
	# Two nodes, for the faults of NUMA; a caller with -a has one
	put_kernel "$kernel" "$job" && "$top/scripts/vm/boot" -a numa=fake=2 "$@" "$job"
}

# guest NAME JOB OPTION...: the same, with the commands of stdin for a job
guest() {
	rm -rf "$2" && mkdir -p "$2" &&
	{ echo '#!/bin/sh'; echo 'export QEMU_MONITOR=/dev/ttyS1 TMPDIR=/disk'; cat; } >"$2/run" &&
	chmod +x "$2/run" && boot_job "$@"
}

# run_programs NAME JOB PROGRAM... [OPTION OF BOOT...]: the same, with these programs, whose
# output is in JOB/tap. On i386 they are the 32-bit ones. There is no 32-bit shell, so init
# runs them
run_programs() {
	local kernel="$1" job="$2" bits=''
	shift 2
	[ "$kernel" != i386 ] || bits=_32
	rm -rf "$job" && mkdir -p "$job" && ln -s init "$job/run" || return 1
	while [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; do
		path_of "$1$bits"
		shift
	done >"$job/tests"
	boot_job "$kernel" "$job" -d 512 "$@"
}

# exhaust_stack JOB [OPTION OF BOOT...]: the stack runs into its guard page; what the ring
# buffer held is on the console, with the event of the #DF
exhaust_stack() {
	local job="$1"
	shift
	! guest guest "$job" "$@" <<'EOF' || { echo "no panic"; return 1; }
cd /sys/kernel/tracing
echo 1 >/proc/sys/kernel/ftrace_dump_on_oops
echo 'vector == 8' >events/trap/filter
echo 'trap:*' >set_event
echo EXHAUST_STACK >/sys/kernel/debug/provoke-crash/DIRECT
EOF
	# The entry, and no exit
	grep -a ': trap_e.*: vector=8' "$job/console.log" >"$job/events"
	cat "$job/events"
	[ "$(wc -l <"$job/events")" = 1 ] &&
	grep -qF 'entry: vector=8(#DF) error_code=0x0 mode=kernel ip=recursive_loop+' "$job/events"
}

# kselftest_programs: what the kselftest runs if asked for no program
# own_programs: those of ours that need no arguments, and leave the kernel whole
kselftest_programs() {
	sed -nE "s/^(trap|pagefault)://p" "$kselftest/kselftest-list.txt"
}
own_programs() {
	local program
	for program in trap_kernel trap_probes pagefault_ways pagefault_matrix pagefault_input; do
		printf '%s\n' "$program" "${program}_32"
	done
}
all_programs() { kselftest_programs; own_programs; }

# build_raise FILE: the program of tests/in-guest/raise.c
build_raise() {
	local selftests="$src/tools/testing/selftests"
	gcc -O0 -Wall -mno-red-zone -static -I"$selftests" -I"$selftests/trap" \
		-I"$selftests/pagefault" -o "$1" "$top/tests/in-guest/raise.c" \
		"$selftests/pagefault/pagefault.c" "$selftests"/trap/[!t]*.c
}

# run_recipes KERNEL JOB [OPTION OF BOOT...]: the recipes of the documents, as a user would paste
# them, in a guest. $logs/recipes.names lists them
run_recipes() {
	local kernel="$1" job="$2"
	shift 2
	build_raise "$logs/raise" && rm -rf "$logs/recipes.sh" && mkdir "$logs/recipes.sh" &&
	compare extract "$logs/recipes.sh" "$top/Documentation/trap/events-trap.rst" \
		"$top/Documentation/pagefault/events-pagefault.rst" >"$logs/recipes.names" &&
	guest "$kernel" "$job" -d 64 "$@" <<-EOF
	$top/tests/in-guest/run-recipes $logs/recipes.sh /job $logs/raise each 300 /disk/cold
	EOF
}

# compare CHECK DIR WORDS...: see there
compare() { "$top/tests/compare.py" "$@"; }

# path_of PROGRAM: a path stays as it is
path_of() {
	local folder
	[ "${1#/}" = "$1" ] || { echo "$1"; return; }
	for folder in ${cross:+"$cross/pagefault"} "$kselftest/trap" "$kselftest/pagefault" "$tests"; do
		[ ! -x "$folder/$1" ] || break
	done
	echo "$folder/$1"
}

# programs KERNEL PROGRAM...: those that ONLY asks for
programs() {
	local kernel="$1"
	shift
	case ${ONLY:-} in
	"$kernel, "*)	printf '%s\n' "$@" | grep -xF "${ONLY#*, }" || : ;;
	*)		echo "$*" ;;
	esac
}

# passes_kselftest NAME KERNEL PROGRAMS [OPTION OF BOOT...]: run these programs in a guest,
# and report their results under NAME
passes_kselftest() {
	local group="$1" kernel="$2" list
	selected || return 0
	# shellcheck disable=SC2086 # a list
	list=$(programs "$group" $3)
	shift 3
	[ "$list" ] || return 0
	# shellcheck disable=SC2086 # a list
	check "$group: the guest boots and runs the test programs" \
		run_programs "$kernel" "$logs/$group" $list "$@"
	report "$group" "$logs/$group" "$(echo "$list" | wc -w)"
	check "$group: no splat on the console" console_clean "$logs/$group/console.log"
}

# report NAME JOB PROGRAMS: a result for each of the tests in JOB/tap, which is of
# so many programs
report() {
	selected "$1" || return 0
	"$tap" report "$this" "$1" "$repeat_with" "$2/tap"
	check "$1: all planned tests ran" "$tap" complete "$3" "$2/tap"
}

# #NM and #CP of kernel mode log a warning each, and a busy host makes NMI handlers slow. No
# other complaint may be on the console. Old kernels name the line just before the function.
complaints='WARNING:|BUG:|UBSAN:|Oops|Kernel panic|INFO: |possible (recursive|circular)'
# Those of riscv and arm64
complaints="$complaints|[Kk]ernel BUG|Internal error"
complaints="$complaints|suspicious RCU|kmemleak: [0-9]+ new|pagealloc: |printk messages dropped"
allowed='exc_device_not_available|exc_control_protection|do_unexpected_cp[.a-z0-9]*'
allowed="WARNING: .* at ([^ ]*:[0-9]+ )?($allowed)\+|INFO: NMI handler .* took too long"
console_clean() {
	[ -s "$1" ] || { echo "$1 is empty"; return 1; }
	! grep -aE "$complaints" "$1" | grep -vE "$allowed" | grep .
}

# work_tree DIR COMMIT: a work tree of the patched source's repository, as it is in
# COMMIT. Its files are links to those of the source where they are the same: git
# replaces a file that it changes, and builds leave the source alone. The index comes
# last, so a tree without one is not whole. Several parts may want the same one at a time.
work_tree() (
	flock 7
	commit=$(plain_git -C "$shared/src" rev-parse --verify "$2") || exit 1
	if ! [ -e "$1/.git" ] || ! plain_git -C "$1" rev-parse -q --verify HEAD >/dev/null 2>&1 ||
	   ! [ -f "$(plain_git -C "$1" rev-parse --path-format=absolute --git-path index)" ]; then
		rm -rf "$1" && mkdir -p "$(dirname "$1")" &&
		plain_git -C "$shared/src" worktree prune &&
		plain_git -C "$shared/src" worktree add -q -f --detach --no-checkout "$1" HEAD &&
		find "$shared/src" -mindepth 1 -maxdepth 1 ! -name .git \
			-exec cp -al -t "$1" {} + &&
		index=$(plain_git -C "$1" rev-parse --path-format=absolute --git-path index) &&
		cp "$shared/src/.git/index" "$1.index" && mv "$1.index" "$index" || exit 1
	fi
	plain_git -C "$1" checkout -q -f --detach "$commit"
) 7>>"$shared/work_tree.lock"
