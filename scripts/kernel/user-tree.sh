# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # variables of scripts/kernel/apply
# KERNEL_TREE: refuse what is not a kernel tree, and choose its base. Sourced by kernel/apply.

# shellcheck disable=SC2088 # a tilde that no shell expanded
case $KERNEL_TREE in
"~/"*)	tree=$HOME/${KERNEL_TREE#??} ;;
*)	tree=$KERNEL_TREE ;;
esac
no() { die "KERNEL_TREE=$tree $*"; }
utree() { plain_git -C "$tree" "$@"; }
[ -d "$tree" ] || no 'is not a folder: give the path of a git tree of Linux'
tree=$(cd "$tree" && pwd)
utree rev-parse --verify -q HEAD >/dev/null 2>&1 || no 'is not a git tree with a commit'
version=$(utree show HEAD:Makefile 2>/dev/null |
	sed -n 's/^\(VERSION\|PATCHLEVEL\) = //p' | paste -sd.)
case $version in
*.*)	utree cat-file -e HEAD:Kbuild 2>/dev/null &&
	[ -z "$(utree rev-parse --show-prefix)" ] ;;
*)	false ;;
esac || no 'is not a kernel tree: give the top of a git tree of Linux'
utree cat-file -e HEAD:arch/x86/Kconfig 2>/dev/null ||
	no 'has no arch/x86, and the patches are for x86'
[ "$(releases "$version")" -ge "$(releases 6.1)" ] ||
	no "is Linux $version, and the patches are for Linux 6.1 and later"
set_base "${1:-$(nearest_base "$version")}"
[ "$base" = "linux-$version" ] ||
	say "KERNEL_TREE=$tree is Linux $version: taking the patches for $base"
# shellcheck disable=SC2046 # a list
touched=$(cd "$patches" && patches_of all |
	xargs sed -n 's|^diff --git a/\(.*\) b/.*|:/\1|p' | sort -u)
# A clone that has never checked out a file has no index, and no changes
changes() {
	[ ! -f "$(cd "$tree" && realpath -m "$(utree rev-parse --git-path index)")" ] ||
		GIT_OPTIONAL_LOCKS=0 utree status --porcelain -uno "$@" 2>/dev/null || :
}
# shellcheck disable=SC2086 # a list
changed=$(changes -- $touched | cut -c 4- | tr '\n' ' ')
[ -z "$changed" ] ||
	no "has uncommitted changes that the patches touch: commit or stash $changed"
[ -z "$(changes)" ] ||
	say "KERNEL_TREE=$tree has uncommitted changes: they are ignored, HEAD is used"
objects=$(cd "$tree" && cd "$(utree rev-parse --git-path objects)" && pwd)
shallow=$(utree rev-parse --git-path shallow)
case $shallow in /*) ;; *) shallow=$tree/$shallow ;; esac
base_commit=$(utree rev-parse HEAD)
dir=$build/tree-$(echo "$tree" | cksum | cut -d' ' -f1)
