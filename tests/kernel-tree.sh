# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part commands: KERNEL_TREE, also one that the patches do not fit

# The version of the tree decides which patches it gets
bad_tree() {
	fails "$1" env BASE= KERNEL_TREE="$2" "$top/scripts/kernel/apply"
}
make_tree() {	# DIR VERSION PATCHLEVEL FILE
	rm -rf "$1" && mkdir -p "$1" && cd "$1" && plain_git init -q . || return 1
	printf 'VERSION = %s\nPATCHLEVEL = %s\n' "$2" "$3" >Makefile
	mkdir -p "${4%/*}" && touch Kbuild "$4" && use_identity && plain_git add . &&
	plain_git commit -q -m tree
}
too_old() (
	make_tree "$logs/old" 5 15 arch/x86/Kconfig &&
	bad_tree 'is Linux 5.15, and the patches are for Linux 6.1 and later' "$logs/old"
)
local_changes() (
	file=arch/x86/kernel/traps.c
	make_tree "$logs/changed" 7 3 $file && touch arch/x86/Kconfig && plain_git add . &&
	plain_git commit -q -m tree && echo b >$file &&
	bad_tree "changes that the patches touch: commit or stash $file" "$logs/changed" &&
	same b "$(cat $file)"
)
# near_tree NAME: a tree that differs from the base in a context line of a patch, which
# git am -3 takes
near_tree() {
	tree=$logs/$1
	made=$build/tree-$(echo "$tree" | cksum | cut -d ' ' -f 1)
	use_identity
	rm -rf "$tree" "$made" && plain_git init -q "$tree" && cd "$tree" || return 1
	echo "$TRAP_SOURCE_GIT/objects" >.git/objects/info/alternates
	touched=$(cd "$patches" && patches_of all | xargs sed -n 's|^--- a/||p' | sort -u)
	# shellcheck disable=SC2086 # lists
	touched=$(plain_git -C "$src" ls-tree --name-only base -- $touched) &&
	plain_git checkout -q "$(plain_git -C "$src" rev-parse base)" -- \
		Makefile Kbuild arch/x86/Kconfig $touched &&
	sed -i '0,/^\tconst char \*p;$/s//\tconst char *p = NULL;/' kernel/trace/trace_branch.c &&
	plain_git commit -q -a -m near
}
# All patches but so many are there. Another run has nothing to do, and says only the path
all_but() {	# NUMBER
	same "$(($(patches_of all | wc -l) - $1))" \
		"$(plain_git -C "$made/src" rev-list --count base..HEAD)" &&
	same "$made/src" "$(BASE='' KERNEL_TREE=$tree "$top/scripts/kernel/apply" 2>&1 |
		grep -v 'is Linux .*taking')"
}
three_way() (
	near_tree near && BASE='' KERNEL_TREE=$tree "$top/scripts/kernel/apply" && all_but 0 &&
	grep 'char \*p = NULL' "$made/src/kernel/trace/trace_branch.c" && rm -rf "$made"
)
# The tree has another line where a patch changes one: the user solves that. It does not have a
# file that the next patch changes: the user leaves that patch out. Then it starts again
conflict() (
	file=include/linux/mm_types.h gone=kernel/trace/trace_branch.c
	near_tree conflict && sed -i 's/"OOM" }/"OUT" }/' $file && plain_git rm -q $gone &&
	plain_git commit -q -a -m conflict && head=$(git rev-parse HEAD) || exit 1
	bad_tree "does not apply to $tree: $gone; solve the conflict in $made/merge-" "$tree" &&
	bad_tree ": $gone; solve" "$tree" && cd "$made"/merge-* || exit 1
	! plain_git am -q --skip || exit 1
	bad_tree ": $file; solve" "$tree" && plain_git checkout -q --theirs $file &&
	plain_git add -u && env -i HOME="$logs" PATH="$PATH" git am -q --continue || exit 1
	BASE='' KERNEL_TREE=$tree "$top/scripts/kernel/apply" && all_but 1 || exit 1
	same "$head" "$(git -C "$tree" rev-parse HEAD)" &&
	same '' "$(git -C "$tree" status --porcelain)" || exit 1
	plain_git reset -q --hard "$head" && rm "$made/applied" &&
	bad_tree 'none of the patches: remove that folder' "$tree" && cd / && rm -rf "$made"
)
