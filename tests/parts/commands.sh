# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# commands: what make run, make deb and make clean do and say, also with bad input

# shellcheck source=tests/kernel-tree.sh
. "$top/tests/kernel-tree.sh"

demo() {
	"$top/scripts/vm/run-guest" >"$logs/demo.said" || return 1
	# MINOR: those of the demo, and what its start copies. The last one is a function of the
	# demo, whose mapping the kernel forgets at its end. FIXUP: if the demo is preempted, the
	# kernel may find its rseq area not writable, with page faults disabled
	in_file "$logs/demo.said" '^ *2 0 .* #DE$' '^ *3 0 .* #BP$' '^ *2 0 .* #UD$' \
		'^ *2 0 .* #GP$' 'FPE_INTDIV 2' '^ *2 .* SIGNAL user -$' '^ *[2-4] .* FIXUP kernel -$' \
		'^ *([4-9]|1[0-9]) .* MINOR user file,cow$' ' MAJOR user file$' '0 lost' \
		', exit status 0: /job/demo' ' demo[+]0x[0-9a-f]+ _?[_a-z]+' || return 1
	[ "$(sed -n 's/^counted: \(.*\); getrusage: \(.*\)/\1\n\2/p' "$logs/demo.said" |
		uniq | wc -l)" = 1 ] || { echo 'getrusage() counts differently'; return 1; }
	# It fits on a screen, without colours where that is none
	[ "$(wc -l <"$logs/demo.said")" -le 47 ] || { echo 'too many lines'; return 1; }
	! grep -E -e '^.{101}' -e "$(printf '\033')" "$logs/demo.said"
}
# The trace has the same traps, and none of what runs beside
demo_trace() {
	local trace
	trace=$(sed -n 's/^trace: *//p' "$logs/demo.said")
	same 9 "$(grep -c 'trap_entry: ' "$trace")" &&
	same "$(awk '$NF == "#PF" { print $1 + $2 }' "$logs/demo.said")" \
		"$(grep -c 'pagefault_exit: ' "$trace")"
}
a_program() {
	CMD='echo "o\ut"; echo err >&2; exit 3' "$top/scripts/vm/run-guest" >"$logs/a-program" &&
	in_file "$logs/a-program" '^o.ut$' '^err$' 'exit status 3: sh -c '
}
panics() {
	fails panicked env CMD='echo c >/proc/sysrq-trigger' "$top/scripts/vm/run-guest"
}
oopses() {
	echo 'echo EXCEPTION >/sys/kernel/debug/provoke-crash/DIRECT' >"$logs/oops" &&
	build_kernel guest && fails oopsed guest_of "$logs/oops"
}
guest_of() { guest guest "$logs/oops.job" <"$1"; }
hangs() {
	fails 'did not end within 12 s' env TIMEOUT=12 CMD='sleep 600' "$top/scripts/vm/run-guest"
}

# Bad input: one line of error that names the way out, and nothing left behind
no_install() (
	mkdir -p "$logs/bin" && cd "$logs/bin" || exit 1
	for tool in sh env dirname date sed awk tr id find sort tail grep cat head mkdir; do
		ln -sf "$(command -v $tool)" $tool
	done
	fails 'qemu-system-x86' env PATH="$logs/bin" NO_INSTALL=1 "$top/scripts/deps" run
)

# A configuration that the kernel does not have
no_deb() {	# WORDS VARIABLE=VALUE...
	local words="$1"
	shift
	fails "$words" env CONFIG="$top/configs/guest.config" "$@" \
		"$top/scripts/kernel/deb"
}

cleaned() (
	sources_copy "$logs/linux-clean" && cd "$logs/linux-clean" || exit 1
	mkdir -p build/tree-1/merge-1
	fails 'merge-1 has conflicts of KERNEL_TREE' scripts/clean &&
	fails 'merge-1 has conflicts of KERNEL_TREE' scripts/clean all || exit 1
	rmdir build/tree-1/merge-1 && mkdir -p build/send/trap build/runs/1 "build/$base/tree" \
		"build/$base/guest" && scripts/clean && ls -d build/send/trap &&
	same "$(printf 'build/%s\n' "$base" "$base/tree" lock send)" \
		"$(find build -mindepth 1 -maxdepth 2 ! -path 'build/send/*' | sort)" &&
	scripts/clean all && same build/lock "$(find build -mindepth 1)"
)

check 'make run: the demo, with the counts of its traps' demo
check 'make run: the trace has the traps of the demo' demo_trace
check 'make run: output and exit status of a program' a_program
check 'make run: a guest that panics' panics
check 'boot: a guest that oopses' oopses
check 'make run: a guest that hangs' hangs
check 'bad input: no such program' fails "no program 'no-such-program'" \
	env CMD='no-such-program -x' "$top/scripts/vm/run-guest"
check 'bad input: missing tools and NO_INSTALL=1' no_install
mkdir -p "$logs/no-tree"
check 'bad input: KERNEL_TREE is not a folder' bad_tree 'is not a folder' "$logs/none"
check 'bad input: KERNEL_TREE is not a kernel tree' bad_tree 'is not a kernel tree' "$logs/no-tree"
check 'bad input: KERNEL_TREE is too old' too_old
check 'bad input: KERNEL_TREE has local changes in touched files' local_changes
for name in "$base/" linux-9.9; do
	check "bad input: BASE=$name" fails 'choose one of these: linux-' env BASE="$name" \
		"$top/scripts/vm/run-guest"
done
check 'KERNEL_TREE: git am -3 takes a tree close to the base' three_way
check 'KERNEL_TREE: conflicts that the user solves' conflict
check 'make clean removes builds, and no work of the user' cleaned
echo CONFIG_ARM64=y >"$logs/arm64.config"
check 'bad input: make deb, CONFIG is of another architecture' \
	no_deb 'is not an x86-64 kernel configuration' CONFIG="$logs/arm64.config"
check 'bad input: make deb, no modules are in use' \
	no_deb 'with the output of lsmod' LOCALMODCONFIG="$logs/none"
