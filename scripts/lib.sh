# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034 # most of these are for the scripts
# What the scripts share: where things are, and how they speak.
# Sourced with "set -eu" in force.

# What a caller's environment must not decide: git's place (in a hook, say), what ccache
# does, the kernel's build folder and flags, where cd goes
for variable in $(env | sed -n 's/^\(\(GIT\|CCACHE\)_[A-Z0-9_]*\)=.*/\1/p') CDPATH \
	MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES KBUILD_OUTPUT KBUILD_EXTMOD \
	KBUILD_EXTMOD_OUTPUT KCONFIG_CONFIG KCONFIG_ALLCONFIG KCFLAGS KAFLAGS \
	ARCH CROSS_COMPILE LLVM CC HOSTCC O V W; do
	unset "$variable"
done

top=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
until [ -f "$top/scripts/lib.sh" ]; do
	[ "$top" ] || { echo "error: $0 is not in a clone of this project" >&2; exit 1; }
	top=${top%/*}
done
cache=${CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/trap-trace-events}
build=$top/build
series_dir=$top/series
began=${TRAP_BEGAN:-$(date +%s)}
export TRAP_BEGAN="$began"
export LC_ALL=C

# shellcheck disable=SC2088 # a tilde that no shell expanded
case $cache in
/*)	;;
"~/"*)	cache=$HOME/${cache#??} ;;
*)	cache=$PWD/$cache ;;
esac
export CACHE="$cache"

case $top$cache in
*[!A-Za-z0-9._/+@~-]*)
	# The kernel's build and QEMU take no others
	echo "error: move $top or $cache: paths may have letters, digits and ._/+@~- only" >&2
	exit 1 ;;
esac

# say WORDS: a step of progress, with the time since the command began
say() {
	printf '[%4ds] %s\n' "$(($(date +%s) - began))" "$*" >&2
}

# tick SECONDS COMMAND...: say what COMMAND prints, each so many seconds, until this is killed
tick() {
	local seconds="$1"
	shift
	while sleep "$seconds" >/dev/null 2>&1 8>&- 9>&-; do
		say "... $("$@")"
	done
}

# die WORDS: one line that says what is wrong and the way out
die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# whole NAME VALUE LEAST MOST: refuse anything but a whole number in between
whole() {
	case $2 in
	'' | 0* | *[!0-9]* | ???????*)	die "$1=$2: give a whole number from $3 to $4" ;;
	esac
	if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		die "$1=$2: give a whole number from $3 to $4"
	fi
}

# Git without the user's settings, so that it does the same for everybody
plain_git() {
	GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 \
		git -c core.attributesFile=/dev/null \
		-c core.hooksPath=/dev/null -c advice.detachedHead=false \
		-c init.defaultBranch=main -c gc.auto=0 -c commit.gpgSign=false \
		-c safe.directory='*' "$@"
}

# The identity that the patches carry, and nobody's clock
use_identity() {
	# shellcheck source=scripts/identity
	. "$top/scripts/identity"
	export GIT_AUTHOR_NAME="$IDENTITY_NAME" GIT_AUTHOR_EMAIL="$IDENTITY_EMAIL" \
		GIT_COMMITTER_NAME="$IDENTITY_NAME" GIT_COMMITTER_EMAIL="$IDENTITY_EMAIL" \
		GIT_AUTHOR_DATE="$IDENTITY_DATE" GIT_COMMITTER_DATE="$IDENTITY_DATE"
}

# root_program NAME FILE: make FILE run the program NAME of scripts/vm/rootfs, for one that is
# too old on Debian 12
root_program() {
	local root
	root=$("$top/scripts/vm/rootfs" "${BASE:-}")
	printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$root/lib64/ld-linux-x86-64.so.2" \
		"$root/usr/lib/x86_64-linux-gnu" "$root/usr/bin/$1" >"$2"
	chmod +x "$2"
}

# use_ccache DIR: for the kernels of the trees in DIR, with what other clones have compiled. The
# compiler says what it includes, so ccache need not run the preprocessor too. Assembly may read
# more: run ccache by scripts/kernel/cached
use_ccache() {
	export CCACHE_DIR="$cache/ccache-2" CCACHE_BASEDIR="$1" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
}

# list FILE: its lines without comments and blank ones
list() {
	sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$1"
}

# shellcheck source=scripts/base.sh
. "$top/scripts/base.sh"
# shellcheck source=scripts/locks.sh
. "$top/scripts/locks.sh"
