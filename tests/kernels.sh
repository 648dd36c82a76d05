# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # variables of tests/check
# How the parts build kernels and the programs that run on them. Sourced by tests/check.

# dir has the source and the kernels of this part. These parts change their source, so
# each has its own
case $this in
bisect | defects)	dir=$shared/$this ;;
*)			dir=$shared ;;
esac
src=$dir/src

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
	make -s -C "$selftests" O="$shared/kselftest" TARGETS="$kselftests" install \
		INSTALL_PATH="$kselftest" >"$shared/kselftest.log" 2>&1 ||
		{ cat "$shared/kselftest.log"; exit 1; }
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
	make -s -C "$top/tests/programs" OUTPUT="$tests" KERNEL="$shared/src" \
		HEADERS="$shared/kselftest/usr/include" >"$shared/tests.log" 2>&1 ||
		{ cat "$shared/tests.log"; exit 1; }
	echo "$head" >"$kselftest/built"
) 8>>"$shared/kselftest.lock"

# build_raise FILE: the program of tests/in-guest/raise.c
build_raise() {
	local selftests="$src/tools/testing/selftests"
	gcc -O0 -Wall -mno-red-zone -static -I"$selftests" -I"$selftests/trap" \
		-I"$selftests/pagefault" -o "$1" "$top/tests/in-guest/raise.c" \
		"$selftests/pagefault/pagefault.c" "$selftests"/trap/[!t]*.c
}

# kmake SRC OUT WORDS...: the make of the kernel, with ccache. The variable cc may name the
# compiler
kmake() {
	local from="$1" out="$2" cached="$top/scripts/kernel/cached"
	shift 2
	make -C "$from" O="$out" CC="$cached ${cc:-gcc}" HOSTCC="$cached gcc" -j"$(nproc)" "$@"
}

# kernel_make SRC KERNEL WORDS...: run make in the folder of that kernel, with the settings of
# scripts/kernel/build. With other settings, it would build all again.
kernel_make() (
	from=$1 kernel=$2
	shift 2
	use_ccache "$build"
	set_arch "$kernel"
	cc=${CROSS_COMPILE}gcc
	kmake "$from" "$dir/$kernel" "$@"
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

# takes_modules SRC KERNEL: prepare our kernel for external modules. It has no modules of its
# own, so all exported symbols are in vmlinux.
takes_modules() {
	cp "$dir/$2/vmlinux.symvers" "$dir/$2/Module.symvers" &&
	kernel_make "$1" "$2" modules_prepare
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
