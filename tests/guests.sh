# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# How the parts boot guests and run programs there, and which messages are allowed on the console.
# Sourced by tests/check.

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
