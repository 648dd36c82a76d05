# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# What the parts in tests/parts/ share: how a kernel is built, booted and tested,
# and what its tests may say. Sourced by scripts/check/run.

# The programs of the kselftest, and our own ones, of tests/
kselftests=$build/kselftest/trap
tests=$build/programs

# build_kernel NAME: of the source without the series, if the name ends in "-base". One
# that runs the kselftest gets the test module, and so does clang's, for its warnings.
# Another part may want the same kernel at the same time
build_kernel() {
	(
		flock 8
		case $1 in
		*-base)	work_tree "$dir/src-base" base && "$top/scripts/kernel/build" "$dir/src-base" "$1" ;;
		run | icount | ftracetest | built/[!c]*)
			"$top/scripts/kernel/build" "$src" "$1" ;;
		*)	"$top/scripts/kernel/build" -t "$src" "$1" ;;
		esac
	) 8>>"$dir/$1.lock"
}

# WERROR makes warnings of the compiler and objtool fatal. This finds those of other tools.
builds_clean() {	# NAME
	build_kernel "$1" && [ -s "$dir/$1.log" ] && no_warning "$1"
}
no_warning() {	# NAME
	! cat "$dir/$1.log" "$dir/$1/trap_test.log" 2>/dev/null | grep -i 'warning:'
}

# code_of_series: the checksum of the code that make bench measures
code_of_series() {
	echo "$(plain_git -C "$src" rev-parse HEAD:arch HEAD:include HEAD:kernel HEAD:mm |
		cksum | cut -d ' ' -f 1), a checksum of its arch, include, kernel and mm"
}

# The programs of the kselftest, of 64 and of 32 bit, as its own "make install" does it;
# then our own
build_kselftest() (
	flock 8
	head="$(plain_git -C "$src" rev-parse HEAD) $(cat "$top"/tests/Makefile "$top"/tests/*.[ch] \
		"$top"/selftests/*/trap/* | cksum)"
	[ "$(cat "$build/kselftest/built" 2>/dev/null)" != "$head" ] ||
		[ ! -f "$dir/kselftest.log" ] || exit 0
	rm -rf "$build/kselftest" "$tests" "$dir/kselftest/kselftest/trap" &&
	make -s -C "$src" O="$dir/kselftest" headers || exit 1
	if ! make -s -C "$src/tools/testing/selftests" O="$dir/kselftest" TARGETS=trap install \
		INSTALL_PATH="$build/kselftest" >"$dir/kselftest.log" 2>&1; then
		cat "$dir/kselftest.log"
		exit 1
	fi
	# Each program that there is, once for 64 and once for 32 bit
	for source in "$src"/tools/testing/selftests/trap/*.c; do
		grep -q '^int main(' "$source" || continue
		program=$(basename "$source" .c)
		for program in "$program" "${program}_32"; do
			[ -x "$kselftests/$program" ] || { echo "there is no $program"; exit 1; }
		done
	done
	mkdir -p "$tests" || exit 1
	if ! make -s -C "$top/tests" OUTPUT="$tests" KERNEL="$src" \
		HEADERS="$dir/kselftest/usr/include" >"$dir/tests.log" 2>&1; then
		cat "$dir/tests.log"
		exit 1
	fi
	echo "$head" >"$build/kselftest/built"
) 8>>"$dir/kselftest.lock"

# Where the series puts hooks into functions of the base, and the functions that it adds
hooked_objects='mm/memory.o mm/huge_memory.o mm/hugetlb.o mm/shmem.o arch/x86/mm/fault.o'
added_functions='mm/memory.o: do_handle_mm_fault
arch/x86/mm/fault.o: handle_page_fault_traced'

# objects_of_base KERNEL: compile these of the base, with the configuration of KERNEL, in
# base-objects/KERNEL
objects_of_base() (
	of_base=$dir/base-objects/$1
	ARCH=x86_64 cc=gcc
	[ "$1" != i386 ] || ARCH=i386
	export ARCH
	case $1 in
	*clang*)
		cc=clang-19
		export LLVM=-19 ;;
	esac
	kmake() { make -C "$dir/src-base" O="$of_base" CC="ccache $cc" HOSTCC='ccache gcc' "$@"; }
	use_ccache "$dir"
	[ "$(plain_git -C "$dir/src-base" rev-parse -q --verify HEAD 2>&1)" = \
		"$(plain_git -C "$src" rev-parse base)" ] || work_tree "$dir/src-base" base || exit 1
	rm -rf "$of_base" && mkdir -p "$of_base" && cp "$dir/$1/.config" "$of_base/.config" &&
	kmake -s olddefconfig && diff "$dir/$1/.config" "$of_base/.config" || exit 1
	set -- "$dir/$1"
	for object in $hooked_objects; do
		[ ! -f "$1/$object" ] || set -- "$@" "$object"
	done
	shift
	kmake -j"$(nproc)" "$@"
)

# functions OBJECT: their names, without the prefixes and suffixes of the compiler
functions() {
	nm "$1" | awk 'NF == 3 && $2 ~ /^[tTwW]$/ {
		sub(/^__(pfx|cfi)_/, "", $3)
		sub(/[.].*/, "", $3)
		print $3
	}' | sort -u
}

# inlines_as_base KERNEL BASE: what is inlined in BASE is inlined in KERNEL. So the objects of
# KERNEL have only the functions of BASE and those that the series adds.
inlines_as_base() {
	: >"$logs/functions.more"
	for object in $hooked_objects; do
		[ -f "$dir/$1/$object" ] || continue
		functions "$dir/$1/$object" >"$logs/functions" &&
		functions "$dir/$2/$object" >"$logs/functions.base" || return 1
		echo "$object: $(wc -l <"$logs/functions") functions, $(wc -l <"$logs/functions.base") in the base"
		[ -s "$logs/functions.base" ] || return 1
		comm -23 "$logs/functions" "$logs/functions.base" | sed "s|^|$object: |" >>"$logs/functions.more"
	done
	if grep -qx CONFIG_TRACEPOINTS=y "$dir/$1/.config"; then
		echo "$added_functions"
	fi | diff - "$logs/functions.more"
}

# kernels NAME...: what a part needs before it begins: these kernels, and the kselftest.
# In a run of all parts they are there: the part "builds" has made them.
kernels() {
	for kernel in "$@"; do
		build_kernel "$kernel" >"$logs/$this.kernels" 2>&1 && continue
		fail_part "the kernel $kernel is there (log: $logs/$this.kernels)"
		exit
	done
	build_kselftest >"$logs/$this.kernels" 2>&1 ||
		{ fail_part "the kselftest is there (log: $logs/$this.kernels)"; exit; }
}

# kernel_make SRC KERNEL WORDS...: run make in the folder of that kernel, with the settings of
# scripts/kernel/build. With other settings, it would build all again.
kernel_make() (
	of=$1 kernel=$2
	shift 2
	ARCH=x86_64
	export ARCH
	use_ccache "$build"
	make -C "$of" O="$dir/$kernel" CC="$(ccache_for "$kernel") gcc" HOSTCC='ccache gcc' -j"$(nproc)" "$@"
)

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

# guest NAME JOB OPTION...: boot the kernel NAME, with the commands of stdin for
# a job
guest() {
	kernel=$1 job=$2
	shift 2
	# identify_cpu() forgets for a moment that there are five levels of page tables, and
	# KASAN takes what an interrupt reads then for a wild access: that is the code of the base
	[ "$kernel" != kasan ] || set -- -f la57=off "$@"
	rm -rf "$job" && mkdir -p "$job" &&
	{ echo '#!/bin/sh'; echo 'export QEMU_MONITOR=/dev/ttyS1 TMPDIR=/disk'; cat; } >"$job/run" &&
	chmod +x "$job/run" && put_kernel "$kernel" "$job" &&
	"$top/scripts/vm/boot" "$@" "$job"
}

# exhaust_stack JOB [OPTION OF BOOT...]: the stack runs into its guard page; what the ring
# buffer held is on the console, with the event of the #DF
exhaust_stack() {
	job=$1
	shift
	! guest guest "$job" "$@" <<'EOF' || { echo "no panic"; return 1; }
cd /sys/kernel/tracing
echo 1 >/proc/sys/kernel/ftrace_dump_on_oops
echo 'vector == 8' >events/trap/filter
echo 'trap:*' >set_event
echo EXHAUST_STACK >/sys/kernel/debug/provoke-crash/DIRECT
EOF
	grep -a ': trap_e' "$job/console.log"
	[ "$(grep -ac ': trap_entry: vector=8(#DF) error_code=0x0 mode=kernel ip=recursive_loop+' "$job/console.log")" = 1 ] &&
	! grep -aq ': trap_exit: vector=8' "$job/console.log"
}

# kselftest_programs: what the kselftest runs if asked for no program
# own_programs: those of ours that need no arguments, and leave the kernel whole
kselftest_programs() {
	sed -n 's/^trap://p' "$build/kselftest/kselftest-list.txt"
}
own_programs() {
	for program in trap_kernel trap_probes trap_input pagefault_ways pagefault_matrix pagefault_input; do
		printf '%s\n' "$program" "${program}_32"
	done
}
all_programs() { kselftest_programs; own_programs; }

# build_raise FILE: the program of scripts/guest/raise.c
build_raise() {
	gcc -O0 -Wall -mno-red-zone -static -I"$src/tools/testing/selftests" \
		-I"$top/selftests/trap/trap" -o "$1" "$top/scripts/guest/raise.c" \
		"$top/selftests/trap/trap/common.c" "$top/selftests/trap/trap/user_traps.c"
}

# compare CHECK DIR WORDS...: see there
compare() { "$top/scripts/report/compare.py" "$@"; }

# path_of PROGRAM
path_of() {
	if [ -x "$kselftests/$1" ]; then
		echo "$kselftests/$1"
	else
		echo "$tests/$1"
	fi
}

# programs KERNEL PROGRAM...: those that ONLY asks for
programs() {
	case ${ONLY:-} in
	"$1, "*)
		shift
		for program in "$@"; do
			[ "$program" != "${ONLY#*, }" ] || echo "$program"
		done ;;
	*)
		shift
		echo "$*" ;;
	esac
}

run_programs() {	# KERNEL JOB PROGRAM... [OPTION OF BOOT...]
	kernel=$1 job=$2
	shift 2
	list=''
	while [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; do
		list="$list $(path_of "$1")"
		shift
	done
	guest "$kernel" "$job" -d 512 "$@" <<EOF
for program in $list; do
	echo "selftests: trap: \${program##*/}"
	\$program
	status=\$?
	# Passed, failed, skipped
	case \$status in 0 | 1 | 4) ;; *) echo "Bail out! \$program: status \$status" ;; esac
done >/job/tap 2>&1
EOF
}

# passes_kselftest NAME KERNEL PROGRAMS [OPTION OF BOOT...]: run these programs in a guest,
# and report their results under NAME
passes_kselftest() {
	group=$1 kernel=$2 list=$3
	shift 3
	selected || return 0
	# shellcheck disable=SC2086 # a list
	list=$(programs "$group" $list)
	[ "$list" ] || return 0
	# shellcheck disable=SC2086 # a list
	check "$group: the guest boots and runs the test programs" \
		run_programs "$kernel" "$logs/$group" $list "$@"
	report "$group" "$logs/$group" "$(echo "$list" | wc -w)"
	check "$group: no splat on the console" console_clean "$logs/$group/console.log"
	group=''
}

# tap FILE: what the programs printed. The runner of the kselftest puts "# " before that, and
# adds a result for each program. Of these, keep only crashes: the TAP does not show them.
tap() {
	if grep -q '^# selftests: trap: ' "$1"; then
		sed -n -e 's/^# //p' -e '/# exit=1$/d' \
			-e 's/^not ok .* selftests: trap: \(.*\) # \(exit=.*\|TIMEOUT.*\)/Bail out! \1: \2/p' "$1"
	else
		cat "$1"
	fi
}

# The reasons to skip that are known. A test that skips for another reason fails.
may_skip='this CPU does not raise it|this kernel is 64-bit|this program has (32|64) bit'
known_skip() {	# KERNEL PROGRAM TEST: REASON
	case "$2: $3" in
	*_32:*': no address of the kernel in /proc/kallsyms')
		return 0 ;;
	esac
	set -- "$1" "$3"
	echo "${2##*: }" | grep -qxE "$may_skip" && return 0
	case "$1: $2" in
	i386:' kernel CP: '* | \
	i386:*': this machine has none' | i386:*': this machine executes it' | i386:*': this machine has no protection keys' | \
	i386:*': this kernel cannot write-protect by userfaultfd')
		return 0 ;;
	i386:*)
		return 1 ;;
	bisect:*': this kernel has no page fault events')
		return 0 ;;
	smp1:*': no QEMU_MONITOR, or a single CPU' | smp1:*': no userfaultfd, or a single CPU' | \
	smp1:*': no CPU can be taken offline' | smp1:*': there is only one CPU')
		return 0 ;;
	rt:*': this kernel has no transparent huge pages, or they are off')
		return 0 ;;
	'long run:'*': no round ended')
		return 0 ;;
	*': vmalloc: not on this machine')
		return 0 ;;
	esac
	return 1
}

# results_of JOB: write the results of JOB/tap to JOB/results, each with its program. JOB/said
# gets the comments before each failed result, with the number of that result.
results_of() {
	tap "$1/tap" >"$1/inner" || : >"$1/inner"
	: >"$1/said"
	awk -v said="$1/said" '
		/^selftests: trap: /	{ program = $3; text = "" }
		/^# /			{ text = text (n + 1) " " $0 "\n" }
		/^(not )?ok [0-9]+ /	{
			n++
			if (/^not/)
				printf "%s", text >said
			text = ""
			print program " " $0
		}' "$1/inner" >"$1/results"
}

# report NAME JOB PROGRAMS: a result for each of the tests in JOB/tap, which is of
# so many programs
report() {
	selected "$1" || return 0
	for_all=$group
	results_of "$2"
	number=0
	while read -r program line; do
		number=$((number + 1))
		what=$(echo "$line" | sed 's/^\(not \)\{0,1\}ok [0-9]* *\(# SKIP \)\{0,1\}//')
		group="$1, $program"
		case $line in
		'not ok'*)
			printf '%s\n%s\n# log: %s\n' "$(fail "$1, $program: $what")" \
				"$(sed -n "s/^$number #/#/p" "$2/said" | tail -n 15 | cut -c 1-200)" "$2/tap" ;;
		*'# SKIP'*)
			if known_skip "$1" "$program" "$what"; then
				skip "$1, $program: ${what%: *}" "${what##*: }"
			else
				fail "$1, $program: skipped, $what"
			fi ;;
		*)
			pass "$1, $program: $what" ;;
		esac
	done <"$2/results"
	group=$for_all
	check "$1: as many results as planned, and not none" all_there "$2" "$3"
}
all_there() {
	plans=$(grep -cE '^1\.\.[1-9][0-9]*$' "$1/inner")
	planned=$(awk -F '[.][.]' '/^1[.][.][0-9]+$/ { n += $2 } END { print n + 0 }' "$1/inner")
	echo "$plans programs of $2, $planned planned, $(wc -l <"$1/results") there"
	! grep '^Bail out!' "$1/inner" && [ "$2" -gt 0 ] && [ "$plans" = "$2" ] &&
	[ "$planned" = "$(wc -l <"$1/results")" ]
}

# #NM and #CP of kernel mode log a warning each, and a busy host makes NMI handlers slow. No
# other complaint may be on the console.
console_clean() {
	[ -s "$1" ] || { echo "$1 is empty"; return 1; }
	! grep -aE 'WARNING:|BUG:|UBSAN:|Oops|Kernel panic|INFO: |possible (recursive|circular)|suspicious RCU|kmemleak: [0-9]+ new|pagealloc: |printk messages dropped' "$1" |
		grep -vE 'WARNING: .* at (exc_device_not_available|exc_control_protection|do_unexpected_cp[.a-z0-9]*)\+|INFO: NMI handler .* took too long' |
		grep .
}

# work_tree DIR COMMIT: a work tree of the patched source's repository, as it is in
# COMMIT. Its files are links to those of the source where they are the same: git
# replaces a file that it changes, and builds leave the source alone. The index comes
# last, so a tree without one is not whole.
work_tree() {
	commit=$(plain_git -C "$src" rev-parse --verify "$2") || return 1
	if ! [ -e "$1/.git" ] || ! plain_git -C "$1" rev-parse -q --verify HEAD >/dev/null 2>&1 ||
	   ! [ -f "$(plain_git -C "$1" rev-parse --path-format=absolute --git-path index)" ]; then
		rm -rf "$1" && mkdir -p "$(dirname "$1")" &&
		plain_git -C "$src" worktree prune &&
		plain_git -C "$src" worktree add -q -f --detach --no-checkout "$1" HEAD &&
		find "$src" -mindepth 1 -maxdepth 1 ! -name .git -exec cp -al -t "$1" {} + &&
		cp "$src/.git/index" "$1.index" &&
		mv "$1.index" "$(plain_git -C "$1" rev-parse --path-format=absolute --git-path index)" ||
			return 1
	fi
	plain_git -C "$1" checkout -q -f --detach "$commit"
}
