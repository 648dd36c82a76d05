# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# commands: what make run does and says, with bad input as well

demo() {
	"$top/scripts/run" >"$logs/demo.said" || { cat "$logs/demo.said"; return 1; }
	# Not the newest in build/runs/: other parts have runs there, too
	trace=$(sed -n 's/^Whole trace: \(.*\) (as columns: .*/\1/p' "$logs/demo.said")
	"$top/scripts/show-trace" "$trace" 0 "$logs/columns" |
		awk '$2 ~ /^#(DE|BP|UD|GP)$/ { print $2, $3, $4, $5, $6 }' >"$logs/demo" &&
	printf '%s\n' '#DE 2 0 2 2' '#BP 3 0 3 3' '#UD 2 0 2 2' '#GP 2 0 2 2' |
		diff "$logs/demo" -
}
a_program() {
	CMD='echo out; echo err >&2; exit 3' "$top/scripts/run" >"$logs/a-program" &&
	grep -q '^    out$' "$logs/a-program" && grep -q '^    err$' "$logs/a-program" &&
	grep -q '^Exit status: 3$' "$logs/a-program"
}
panics() {
	fails panicked env CMD='echo c >/proc/sysrq-trigger' "$top/scripts/run"
}
oopses() {
	fails oopsed env CMD='echo EXCEPTION >/sys/kernel/debug/provoke-crash/DIRECT' "$top/scripts/run"
}
hangs() {
	fails 'did not end within 12 s' env TIMEOUT=12 CMD='sleep 600' "$top/scripts/run"
}

# Bad input: one line of error that names the way out, and nothing left behind
bad_tree() {
	fails "$1" env KERNEL_TREE="$2" "$top/scripts/run"
}
make_tree() {	# DIR VERSION PATCHLEVEL
	rm -rf "$1" && mkdir -p "$1" && cd "$1" && plain_git init -q . &&
	printf 'VERSION = %s\nPATCHLEVEL = %s\n' "$2" "$3" >Makefile &&
	touch Kbuild && use_identity && plain_git add . &&
	plain_git commit -q -m tree
}
too_old() (
	make_tree "$logs/old" 6 1 && bad_tree 'is Linux 6.1' "$logs/old"
)
no_such_program() {
	fails "no program 'no-such-program'" env CMD='no-such-program -x' "$top/scripts/run"
}
no_install() (
	mkdir -p "$logs/bin" && cd "$logs/bin" &&
	for tool in sh env dirname date sed awk tr id find sort tail grep cat head mkdir; do
		ln -sf "$(command -v $tool)" $tool
	done
	fails 'qemu-system-x86' env PATH="$logs/bin" NO_INSTALL=1 "$top/scripts/deps" run
)
does_not_apply() (
	make_tree "$logs/near" 7 3 && mkdir -p arch/x86/kernel &&
	echo nothing >arch/x86/kernel/traps.c &&
	plain_git add . && plain_git commit -q -m near &&
	head=$(git rev-parse HEAD) &&
	bad_tree 'arch/x86/kernel/traps.c' "$logs/near" &&
	[ "$(git rev-parse HEAD)" = "$head" ] && [ -z "$(git status --porcelain)" ] &&
	! find "$build" -maxdepth 2 -name 'am.[0-9]*' | grep .
)

check 'make run: the demo, with the counts of its traps' demo
check 'make run: output and exit status of a program' a_program
check 'make run: a guest that panics' panics
check 'make run: a guest that oopses' oopses
check 'make run: a guest that hangs' hangs
check 'bad input: no such program' no_such_program
check 'bad input: no such ROOT' fails 'there is ROOT=tools' env ROOT=other "$top/scripts/run"
check 'bad input: missing tools and NO_INSTALL=1' no_install
mkdir -p "$logs/no-tree"
check 'bad input: KERNEL_TREE is no folder' bad_tree 'is no folder' "$logs/none"
check 'bad input: KERNEL_TREE is no kernel tree' bad_tree 'is no kernel tree' "$logs/no-tree"
check 'bad input: KERNEL_TREE is too old' too_old
check 'bad input: a patch does not apply to KERNEL_TREE' does_not_apply
