# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# commands: what make run, make deb and make send-dry do and say, with bad input as well

# in_file WORDS FILE: these words, between any spaces, are in a line
in_file() {
	tr -s ' ' <"$2" | grep -qF -- "$1" || { echo "there is no '$1' in $2"; cat "$2"; return 1; }
}
demo() {
	"$top/scripts/vm/run" >"$logs/demo.said" &&
	in_file '#DE 2 0 ' "$logs/demo.said" && in_file '#BP 3 0 ' "$logs/demo.said" &&
	in_file '#UD 2 0 ' "$logs/demo.said" && in_file '#GP 2 0 ' "$logs/demo.said" &&
	in_file 'SIGFPE (si_code 1) 2' "$logs/demo.said" &&
	in_file 'SIGNAL user - 2 ' "$logs/demo.said" && in_file 'FIXUP kernel - 2 ' "$logs/demo.said" &&
	# Those of the demo, and what its start copies
	grep -qE 'MINOR +user +file,cow +([4-9]|1[0-9]) ' "$logs/demo.said" &&
	in_file 'MAJOR user file ' "$logs/demo.said" &&
	in_file ', exit status 0: /job/demo' "$logs/demo.said" &&
	in_file ' demo+0x' "$logs/demo.said" && in_file '0 lost' "$logs/demo.said" &&
	[ "$(sed -n 's/^counted: \(.*\); getrusage: \(.*\)/\1\n\2/p' "$logs/demo.said" | uniq | wc -l)" = 1 ] &&
	# A function of the demo, whose mapping the kernel forgets at its end
	grep -qE ' demo\+0x[0-9a-f]+ +_?[_a-z]+' "$logs/demo.said" || return 1
	# It fits on a screen, without colours where that is none
	[ "$(wc -l <"$logs/demo.said")" -le 45 ] &&
	! grep -E '^.{101}' "$logs/demo.said" && ! grep "$(printf '\033')" "$logs/demo.said"
}
# The trace has the same traps, and none of what runs beside
demo_trace() {
	local trace
	trace=$(sed -n 's/^trace: *//p' "$logs/demo.said")
	grep -c 'trap_entry: ' "$trace" && [ "$(grep -c 'trap_entry: ' "$trace")" = 9 ] &&
	[ "$(grep -c 'pagefault_exit: ' "$trace")" = "$(awk '$1 == "#PF" { print $2 + $3 }' "$logs/demo.said")" ]
}
trace_lines() {
	TRACE_LINES=20 CMD='/bin/true' "$top/scripts/vm/run" >"$logs/trace-lines" &&
	head -n 1 "$logs/trace-lines" | grep -q '^# tracer: nop' &&
	[ "$(grep -n '^trapstat: .*, exit status 0: /bin/true$' "$logs/trace-lines" | cut -d : -f 1)" = 22 ]
}
a_program() {
	CMD='echo out; echo err >&2; exit 3' "$top/scripts/vm/run" >"$logs/a-program" &&
	grep -q '^out$' "$logs/a-program" && grep -q '^err$' "$logs/a-program" &&
	grep -q 'exit status 3: sh -c ' "$logs/a-program"
}
panics() {
	fails panicked env CMD='echo c >/proc/sysrq-trigger' "$top/scripts/vm/run"
}
oopses() {
	build_kernel guest && echo 'echo EXCEPTION >/sys/kernel/debug/provoke-crash/DIRECT' >"$logs/oops" &&
	fails oopsed guest_of "$logs/oops"
}
guest_of() {
	guest guest "$logs/oops.job" <"$1"
}
hangs() {
	fails 'did not end within 12 s' env TIMEOUT=12 CMD='sleep 600' "$top/scripts/vm/run"
}

# Bad input: one line of error that names the way out, and nothing left behind. The version of
# the tree decides which patches it gets
bad_tree() {
	fails "$1" env BASE= KERNEL_TREE="$2" "$top/scripts/vm/run"
}
make_tree() {	# DIR VERSION PATCHLEVEL
	rm -rf "$1" && mkdir -p "$1" && cd "$1" && plain_git init -q . &&
	printf 'VERSION = %s\nPATCHLEVEL = %s\n' "$2" "$3" >Makefile &&
	mkdir -p arch/x86 && touch Kbuild arch/x86/Kconfig && use_identity && plain_git add . &&
	plain_git commit -q -m tree
}
too_old() (
	make_tree "$logs/old" 5 15 && bad_tree 'is Linux 5.15, and the patches are for Linux 6.1 and later' "$logs/old"
)
other_architecture() (
	make_tree "$logs/arm" 7 3 && plain_git rm -q arch/x86/Kconfig && plain_git commit -q -m arm &&
	bad_tree 'has no arch/x86' "$logs/arm"
)
local_changes() (
	make_tree "$logs/changed" 7 3 && mkdir -p arch/x86/kernel && echo a >arch/x86/kernel/traps.c &&
	plain_git add . && plain_git commit -q -m tree && echo b >arch/x86/kernel/traps.c &&
	bad_tree 'uncommitted changes in files that the patches touch: arch/x86/kernel/traps.c' "$logs/changed" &&
	[ "$(cat arch/x86/kernel/traps.c)" = b ]
)
no_such_program() {
	fails "no program 'no-such-program'" env CMD='no-such-program -x' "$top/scripts/vm/run"
}
no_install() (
	mkdir -p "$logs/bin" && cd "$logs/bin" &&
	for tool in sh env dirname date sed awk tr id find sort tail grep cat head mkdir; do
		ln -sf "$(command -v $tool)" $tool
	done
	fails 'qemu-system-x86' env PATH="$logs/bin" NO_INSTALL=1 "$top/scripts/deps" run
)
# A tree that differs from the base in a context line of a patch, which git am -3 takes, and
# then in a line that a patch changes: the user solves that, and the next try goes on from it
# shellcheck disable=SC2086 # a list
near_tree() {	# DIR
	rm -rf "$1" "$(build_of "$1")" && plain_git init -q "$1" && cd "$1" && use_identity &&
	echo "$("$top/scripts/kernel/fetch" "$base")/objects" >.git/objects/info/alternates &&
	touched=$(cd "$patches" && patches_of all | xargs sed -n 's|^--- a/||p' | sort -u) &&
	touched=$(plain_git -C "$src" ls-tree --name-only base -- $touched) &&
	plain_git checkout -q "$(plain_git -C "$src" rev-parse base)" -- Makefile Kbuild arch/x86/Kconfig $touched &&
	sed -i '0,/^\tconst char \*p;$/s//\tconst char *p = NULL;/' kernel/trace/trace_branch.c &&
	plain_git commit -q -a -m near
}
build_of() { echo "$build/tree-$(echo "$1" | cksum | cut -d ' ' -f 1)"; }
commits_of() { plain_git -C "$(build_of "$1")/src" rev-list --count base..HEAD; }
three_way() (
	near_tree "$logs/near" && BASE='' KERNEL_TREE=$logs/near "$top/scripts/kernel/apply" &&
	[ "$(commits_of "$logs/near")" = "$(patches_of all | wc -l)" ] &&
	grep -q 'char \*p = NULL' "$(build_of "$logs/near")/src/kernel/trace/trace_branch.c" &&
	nothing_to_do "$logs/near" && rm -rf "$(build_of "$logs/near")"
)
# Another run takes what the one before has made, and says nothing but its path
nothing_to_do() {	# TREE
	same "$(build_of "$1")/src" "$(BASE='' KERNEL_TREE=$1 "$top/scripts/kernel/apply" 2>&1 | grep -v 'is Linux .*taking')"
}
conflict() (
	tree=$logs/conflict file=include/linux/mm_types.h
	near_tree "$tree" && sed -i 's/"OOM" }/"OUT" }/' $file &&
	plain_git commit -q -a -m conflict && head=$(git rev-parse HEAD) &&
	words="$file: hunk 1 of 1, enum vm_fault_reason {; solve the conflict in $(build_of "$tree")/merge-" &&
	bad_tree "$words" "$tree" && bad_tree "$words" "$tree" &&
	[ "$(git rev-parse HEAD)" = "$head" ] && [ -z "$(git status --porcelain)" ] &&
	cd "$(build_of "$tree")"/merge-* && plain_git checkout -q --theirs $file &&
	plain_git add -u && bad_tree 'is solved in' "$tree" &&
	env -i HOME="$logs" PATH="$PATH" git am -q --continue &&
	KERNEL_TREE=$tree "$top/scripts/kernel/apply" && nothing_to_do "$tree" && nothing_to_do "$tree" &&
	[ "$(commits_of "$tree")" = "$(patches_of all | wc -l)" ] || exit 1
	# The user has given up, and starts anew
	merge=$PWD && plain_git reset -q --hard "$head" && rm "$(build_of "$tree")/applied" &&
	bad_tree 'none of the patches: remove that folder' "$tree" && cd / && rm -rf "$merge" &&
	bad_tree "git rerere has solved $file as before: look at it" "$tree" && rm -rf "$(build_of "$tree")"
)
# A patch changes a file that the tree does not have, and the user leaves the patch out
no_such_file() (
	tree=$logs/no-file file=kernel/trace/trace_branch.c
	near_tree "$tree" && plain_git rm -q "$file" && mkdir -p include/trace/events &&
	echo >include/trace/events/trap.h && plain_git add include && plain_git commit -q -m 'no file' &&
	bad_tree "$file: that tree does not have it (git rm it, " "$tree" &&
	bad_tree 'it has patches of these series already' "$tree" &&
	cd "$(build_of "$tree")"/merge-* && plain_git rm -q "$file" && bad_tree 'has no change of it' "$tree" &&
	! plain_git am -q --skip && bad_tree 'include/trace/events/trap.h: hunk 1 of 1' "$tree" &&
	rm -rf "$(build_of "$tree")"
)

# A configuration that is asked for in vain
no_deb() {	# WORDS VARIABLE=VALUE...
	local words="$1"
	shift
	fails "$words" env CONFIG="$top/scripts/kernel/config/guest.config" "$@" "$top/scripts/kernel/deb"
}
# Neither in /boot nor in /proc
# shellcheck disable=SC2016 # of the inner shell
no_config() {
	mkdir -p "$logs/fake" && printf '#!/bin/sh\necho none\n' >"$logs/fake/uname" && chmod +x "$logs/fake/uname" &&
	PATH=$logs/fake:$PATH no_deb 'give one with CONFIG=FILE' CONFIG='' unshare -rm sh -c \
		'[ ! -e /proc/config.gz ] || mount --bind /dev/null /proc/config.gz; exec "$1"' sh
}

cleaned() (
	sources_copy "$logs/linux-clean" && cd "$logs/linux-clean" && mkdir -p build/tree-1/merge-1 &&
	fails 'merge-1 is where you solve the conflicts' scripts/clean &&
	fails 'merge-1 is where you solve the conflicts' scripts/clean all && rmdir build/tree-1/merge-1 &&
	mkdir -p build/send/trap build/runs/1 "build/$base/tree" "build/$base/guest" &&
	scripts/clean && same "$(printf 'build/%s\n' "$base" "$base/tree" lock send)" \
		"$(find build -mindepth 1 -maxdepth 2 ! -path 'build/send/*' | sort)" &&
	ls -d build/send/trap && scripts/clean all && same build/lock "$(find build -mindepth 1)"
)

# send_dry COPY [VARIABLE=VALUE...]: make send-dry there, as somebody
send_dry() (
	copy=$1
	shift
	mkdir -p "$logs/home"
	printf '[user]\n\tname = %s\n\temail = %s\n' "${NAME:-A Sender}" "${SENDER:-sender@kernel.dev}" \
		>"$logs/home/.gitconfig"
	cd "$copy" && env HOME="$logs/home" CACHE="$cache" SERIES=filter "$@" scripts/series/send-dry "$base"
)
not_sent() {	# WORDS VARIABLE=VALUE...
	local words="$1"
	shift
	sources_copy "$logs/not-sent" && fails "$words" send_dry "$logs/not-sent" "$@"
}
mails() (
	sources_copy "$logs/send" && cd "$logs/send" && send_dry . VERSION=2 && cd build/send/filter &&
	same 1 "$(find . -name '*.patch' | wc -l)" && mail=$(find . -name "v2-0001-*.patch") &&
	grep -x 'From: A Sender <sender@kernel.dev>' "$mail" &&
	grep -x 'Subject: \[PATCH v2\] tracing: Accept symbols in event filters' "$mail" &&
	grep -xE 'base-commit: [0-9a-f]{40}' "$mail" && ! grep '^prerequisite' "$mail" &&
	lists=$(sed -n '/^TRACING$/,/^$/s/^L:[[:space:]]*\([^ ]*\).*/\1/p' "$src/MAINTAINERS") &&
	for list in ${lists:-linux-kernel@vger.kernel.org}; do grep -x "To: $list" "$mail" || exit 1; done &&
	grep -x 'Signed-off-by: A Sender <sender@kernel.dev>' "$mail" &&
	sed '1,/^---$/d' "$mail" | grep '^Question: ' &&
	grep -F '[PATCH v2]' send-email.log && ! grep -v '^Dry-' send-email.log &&
	! grep -E 'Trap Trace Events|@example.invalid' "$mail" || exit 1
	! grep '^A Sender (' "$mail" || exit 1
	cd ../../.. && NAME='Ä & | Sender' send_dry . SERIES=pagefault && cd build/send/pagefault || exit 1
	patches=$(patches_of pagefault | wc -l)
	same $((patches + 1)) "$(find . -name '*.patch' | wc -l)" && letter=0000-cover-letter.patch &&
	grep -x "Subject: \[PATCH 0/$patches\] x86/mm: Trace events for page faults" "$letter" &&
	sed '/^$/q' "$letter" | grep -x 'Content-Transfer-Encoding: 8bit' && ! grep 8bit send-email.log &&
	! grep '^prerequisite-patch-id: ' "$letter" &&
	for mail in ./*.patch; do
		grep -x 'To: linux-kernel@vger.kernel.org' "$mail" || exit 1
	done &&
	! grep -E 'Trap Trace Events|@example.invalid' ./*.patch || exit 1
	[ -d "$patches/rv" ] || exit 0
	cd ../../.. && send_dry . SERIES=rv && cd build/send/rv &&
	same "$(for patch in "$patches"/pagefault/*.patch; do
		sed 's/Trap Trace Events <.*@example.invalid>/A Sender <sender@kernel.dev>/' "$patch" | git patch-id --stable
	done | cut -d ' ' -f 1)" "$(sed -n 's/^prerequisite-patch-id: //p' ./*.patch)"
)
# git am -3 leaves out the patches that the tree has. The user takes their names away
some_are_there() {
	work_tree "$logs/some" "$(plain_git -C "$src" rev-list --reverse base..HEAD | head -n 1)" &&
	not_sent 'has some of the patches already' KERNEL_TREE="$logs/some" || return 1
	(
		cd "$logs/not-sent" && sed -i '/^cr2$/d' arch-x86-hooks/commits/fixes/series &&
		scripts/series/make "$base" && send_dry . KERNEL_TREE="$logs/some" &&
		grep -x "base-commit: $(plain_git -C "$logs/some" rev-parse HEAD)" build/send/filter/*.patch
	)
}
# What has a long line is not ready, and the mails made before stay
long_letter() (
	cd "$logs/send" && sed -i "s/^Many events print symbols/$(printf '%080d' 0)/" \
		"patches/$base/filter/cover-letter.txt" &&
	! send_dry . >out 2>&1 && cat out && grep 'letter.txt: longer than 75 columns' out &&
	ls build/send/pagefault/0000-cover-letter.patch
)
long_patch() (
	cd "$logs/send" && sed -i 's/^+\treturn /+        return /' \
		"patches/$base/filter/"0001-*.patch &&
	! send_dry . >out 2>&1 && cat out && grep 'CODE_INDENT' out
)

check 'make run: the demo, with the counts of its traps' demo
check 'make run: the trace has the traps of the demo' demo_trace
check 'make run: the first lines of the trace' trace_lines
check 'make run: output and exit status of a program' a_program
check 'make run: a guest that panics' panics
check 'boot: a guest that oopses' oopses
check 'make run: a guest that hangs' hangs
check 'bad input: no such program' no_such_program
check 'bad input: no such ROOT' fails 'there is ROOT=tools' env ROOT=other "$top/scripts/vm/run"
check 'bad input: missing tools and NO_INSTALL=1' no_install
mkdir -p "$logs/no-tree"
check 'bad input: KERNEL_TREE is no folder' bad_tree 'is no folder' "$logs/none"
check 'bad input: KERNEL_TREE is no kernel tree' bad_tree 'is no kernel tree' "$logs/no-tree"
check 'bad input: KERNEL_TREE is too old' too_old
check 'bad input: KERNEL_TREE has another architecture only' other_architecture
check 'bad input: KERNEL_TREE has local changes in touched files' local_changes
check 'bad input: a path instead of a base' fails "choose one of these: linux-6.1 linux-6.12 linux-7.3" \
	env BASE="$base/" "$top/scripts/vm/run"
check 'bad input: no such base' fails "choose one of these: linux-6.1 linux-6.12 linux-7.3" env BASE=linux-9.9 "$top/scripts/vm/run"
check 'KERNEL_TREE: git am -3 takes a tree close to the base' three_way
check 'KERNEL_TREE: a conflict that the user solves' conflict
check 'KERNEL_TREE: a file that the tree does not have' no_such_file
check 'make clean removes builds, and no work of the user' cleaned
check 'bad input: make deb of no such BASE' no_deb 'choose one of these: linux-' BASE=linux-9.9
check 'bad input: make deb, the running kernel has no configuration' no_config
check 'bad input: make deb, CONFIG is no file' no_deb 'is no file' CONFIG="$logs/none"
check 'bad input: make deb, CONFIG is no configuration' no_deb 'is no configuration' CONFIG="$top/README.md"
echo CONFIG_ARM64=y >"$logs/arm64.config"
check 'bad input: make deb, CONFIG is of another architecture' no_deb 'for x86 of 64 bit' CONFIG="$logs/arm64.config"
check 'bad input: make deb, no modules are in use' no_deb 'with what lsmod says' LOCALMODCONFIG="$logs/none"
if [ "$source_version" = "$base_version" ] &&
   have 'codespell /usr/lib/git-core/git-send-email' 'send-dry: the mails of a series'; then
	check 'send-dry: the mails of a series' mails
	check 'send-dry: a long line in a letter' long_letter
	check 'send-dry: what checkpatch finds' long_patch
	name='bad input: send-dry to a tree that has some of the patches'
	if [ "${TRAP_FAST:-}" ]; then
		! selected "$name" || skip "$name" 'only make check-commands and make check-all run it'
	else
		check "$name" some_are_there
	fi
fi
SENDER=you@example.org check 'bad input: send-dry by nobody' not_sent 'is nobody who could sign'
check 'bad input: send-dry of no such series' not_sent 'there are: fixes structs trap' SERIES=none
mkdir -p "$logs/mine" && touch "$logs/mine/work"
check 'bad input: make series into a folder that has something else' fails 'holds no series' \
	"$top/scripts/series/make" --to "$logs/mine" "$base"
