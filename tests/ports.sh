# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# What the parts arm64 and riscv share: the page fault events on that architecture. In the guests
# with the kselftest, the root is that of the host: its programs are static, and init runs them.

has_port() { [ -d "$hooks/pagefault-$1" ]; }

# cross_programs ARCH: the kselftest, and the program of tests/ports/ if there is one, into $cross
cross_programs() (
	set_arch "$1"
	selftests=$src/tools/testing/selftests
	rm -rf "$cross" &&
	make -s -C "$src" O="$cross.build" headers &&
	make -s -C "$selftests" O="$cross.build" LDFLAGS=-static TARGETS=pagefault \
		install INSTALL_PATH="$cross" || exit 1
	[ ! -f "$top/tests/ports/$1.c" ] ||
		"${CROSS_COMPILE}gcc" -O2 -Wall -static -isystem "$cross.build/usr/include" \
			-I"$selftests" -I"$selftests/pagefault" -o "$cross/pagefault/pagefault_$1" \
			"$top/tests/ports/$1.c" "$selftests"/pagefault/common.c \
			"$selftests"/pagefault/pagefault.c -pthread
)

# programs_of ARCH
programs_of() {
	echo "pagefault_outcome pagefault_count"
	[ ! -f "$top/tests/ports/$1.c" ] || echo "pagefault_$1"
}

# compiles ARCH WORD...: with clang, what the hook changes, with these options of scripts/config
# shellcheck disable=SC2046 # a list of words
compiles() (
	kernel=$1 out=$logs/clang
	shift
	set_arch "$kernel"
	export LLVM=-19
	rm -rf "$out" && mkdir -p "$out" && cp "$dir/$kernel/.config" "$out" &&
	"$src/scripts/config" --file "$out/.config" "$@" &&
	make -s -C "$src" O="$out" olddefconfig &&
	make -s -C "$src" O="$out" -j"$(nproc)" W=1 mm/memory.o \
		$(sed -n 's|^+++ b/\(.*\)[.]c$|\1.o|p' "$hooks/pagefault-$kernel/$kernel-hook.diff")
)

# The hook with what tests/ports/ARCH.defects changes: the tests that it names fail, and no others
defects_are_caught() {	# ARCH FILE OPTION-OF-BOOT...
	local arch="$1" file="$2" defects="$top/tests/ports/$1.defects"
	shift 2
	work_tree "$dir/defect/src" HEAD &&
	plain_git -C "$dir/defect/src" checkout -q -f HEAD &&
	sed -i -f "$defects" "$dir/defect/src/$file" &&
	"$top/scripts/kernel/build" "$dir/defect/src" "$arch" || return 1
	# shellcheck disable=SC2046 # a list of words
	run_programs "defect/$arch" "$logs/defects" $(programs_of "$arch") -c 2 "$@" || return 1
	same "$(sed -n 's/^# fails: //p' "$defects" | sort -u)" \
		"$(sed -n 's/^not ok [0-9]* //p' "$logs/defects/tap" | sort -u)"
}

# on_port NAME KERNEL OPTION-OF-BOOT...
on_port() {
	local name="$1" kernel="$2"
	shift 2
	group=$name
	check "$name: the kernel builds without a warning" builds_clean "$kernel"
	[ ! -f "$dir/$kernel/built" ] ||
		passes_kselftest "$name" "$kernel" "$(programs_of "$arch")" "$@"
}

# port ARCH FILE OPTION-OF-BOOT 'NAME KERNEL OPTION-OF-BOOT...'...: its kernels build and pass the
# tests. FILE has the hook; a guest with the first option has all of its tests
port() {
	local arch="$1" file="$2" option="$3" one kernel
	shift 3
	cross=$logs/programs
	cross_programs "$arch" >"$logs/programs.log" 2>&1 || {
		fail_part "$arch: the test programs build (log: $logs/programs.log)"
		return
	}
	for one in "$@"; do
		# shellcheck disable=SC2086 # a list of words
		on_port $one
	done
	group="$arch defects"
	# shellcheck disable=SC2086 # a list of words
	check "$group: they are caught" defects_are_caught "$arch" "$file" $option
	group="$arch clang"
	check "$group: the hook compiles" compiles "$arch" -e WERROR
	check "$group: and without the events" compiles "$arch" -e WERROR -d PAGEFAULT_EVENTS
	group="$arch run"
	for kernel in $(printf '%s\n' "$@" | cut -d ' ' -f 2 | sort -u); do
		check "$group: make run ARCH=$kernel runs a program" run_port "$kernel"
	done
}

# A program of that architecture, whose faults trapstat and getrusage() count alike
run_port() {	# KERNEL
	mkdir -p "$logs/run" && cat >"$logs/run/faults.c" <<-'EOF' || return 1
	#include <unistd.h>
	static volatile char pages[500 << 16];
	int main(void)
	{
		for (int i = 0; i < 500; i++)
			pages[i * getpagesize()] = 1;
	}
	EOF
	(set_arch "$1" && "${CROSS_COMPILE}gcc" -static -o "$logs/run/faults" "$logs/run/faults.c") &&
	TRAP_ARCH=$1 CMD=$logs/run/faults "$top/scripts/vm/run-guest" >"$logs/run/said" || return 1
	cat "$logs/run/said"
	grep -qE '^counted: (.*); getrusage: \1$' "$logs/run/said" &&
	grep '^0 lost' "$logs/run/said" && grep -E '^ *5[0-9][0-9] .* MINOR +user +anon$' "$logs/run/said"
}
