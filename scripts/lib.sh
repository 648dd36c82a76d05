# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034 # most of these are for the scripts
# What the scripts share: where things are, how they speak, how they lock.
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
locked=''
LC_ALL=C
export LC_ALL

# shellcheck disable=SC2088 # a tilde that no shell expanded
case $cache in
/*)	;;
"~/"*)	cache=$HOME/${cache#??} ;;
*)	cache=$PWD/$cache ;;
esac
CACHE=$cache
export CACHE

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

# all_bases: the oldest first
# default_base: the newest
all_bases() { (cd "$top/bases" && ls -d linux-*) | sort -V; }
default_base() { all_bases | tail -n 1; }

# nearest_base VERSION: the base with the fewest releases between it and Linux VERSION, X.Y.
# Linux 5 and 6 had 20 releases each.
nearest_base() {
	local other best='' least='' distance
	for other in $(all_bases); do
		distance=$(($(releases "$1") - $(releases "${other#linux-}")))
		distance=${distance#-}
		if [ ! "$best" ] || [ "$distance" -lt "$least" ]; then
			best=$other least=$distance
		fi
	done
	echo "$best"
}
releases() { echo "$((${1%%.*} * 20 + ${1#*.}))"; }

# set_base [NAME]: set base, and read its pin; base_tag is upstream's name of that version
set_base() {
	base=${1:-$(default_base)}
	base_dir=$top/bases/$base
	hooks=$top/arch-x86-hooks/$base
	patches=$top/patches/$base
	# Just its name: a path with a slash at its end is a file as well
	case $base in
	*/*)	false ;;
	*)	[ -f "$base_dir/base" ] ;;
	esac || die "no base $base; choose one of these: $(all_bases | paste -sd " ")"
	# shellcheck source=bases/linux-7.3/base
	. "$base_dir/base"
	base_tag=v$(echo "${base_version%%-*}" | tr '~' -)
}

# set_arch KERNEL: what a kernel of that name is for: ARCH and CROSS_COMPILE of its make, machine
# as QEMU and the compiler call it, the image and the console
set_arch() {
	case $1 in
	arm64*)	set -- arm64 aarch64-linux-gnu- aarch64 arch/arm64/boot/Image ttyAMA0 ;;
	riscv*)	set -- riscv riscv64-linux-gnu- riscv64 arch/riscv/boot/Image ttyS0 ;;
	i386*)	set -- i386 '' x86_64 arch/x86/boot/bzImage ttyS0 ;;
	*)	set -- x86_64 '' x86_64 arch/x86/boot/bzImage ttyS0 ;;
	esac
	ARCH=$1 CROSS_COMPILE=$2 machine=$3 image=$4 tty=$5
	export ARCH CROSS_COMPILE
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
	GIT_AUTHOR_NAME=$IDENTITY_NAME GIT_AUTHOR_EMAIL=$IDENTITY_EMAIL
	GIT_COMMITTER_NAME=$IDENTITY_NAME GIT_COMMITTER_EMAIL=$IDENTITY_EMAIL
	GIT_AUTHOR_DATE=$IDENTITY_DATE GIT_COMMITTER_DATE=$IDENTITY_DATE
	export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME
	export GIT_COMMITTER_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_DATE
}

# writable DIR: make it, or say whose it is
not_writable() {
	die "$1 belongs to $(stat -c %U "$1") and cannot be written:" \
		"chown it, or run this as that user"
}
writable() {
	mkdir -p "$1" 2>/dev/null || true
	[ -d "$1" ] ||
		die "cannot create $1: set CACHE= to a writable folder, or use a writable clone"
	[ -w "$1" ] || not_writable "$1"
}

# lock FILE WHAT: hold FILE until unlock or the end of this script; wait for
# another holder. A script that runs under the lock of its caller has it already.
# The lock goes with the processes that hold it, so none is left behind.
lock() {
	[ "${TRAP_LOCK:-}" != "$1" ] || return 0
	writable "$(dirname "$1")"
	[ ! -e "$1" ] || [ -w "$1" ] || not_writable "$1"
	exec 9>>"$1"
	if ! flock -n 9; then
		say "waiting for another command that works on $2"
		flock 9
	fi
	locked=$1
	TRAP_LOCK=$1
	export TRAP_LOCK
}

# unlock: let go of what this script locked
unlock() {
	if [ -n "$locked" ]; then
		exec 9>&-
		unset TRAP_LOCK
		locked=''
	fi
}

# in_use DIR: whether a guest runs on this folder of a run
in_use() {
	[ -f "$1/lock" ] && ! flock -n "$1/lock" true
}

# side_by_side COMMAND LIST...: run COMMAND with the words of each LIST, all at the same
# time; each in a session of its own, for end_running to end all that it started. Calls
# the caller's not_ended LIST for each that failed.
running=''
side_by_side() {
	local run_each="$1" list
	shift
	for list in "$@"; do
		# shellcheck disable=SC2086 # lists
		setsid $run_each $list </dev/null &
		running="$running $!"
	done
	for list in "$@"; do
		# shellcheck disable=SC2086 # the first is the one of this list
		set -- $running
		wait "$1" || not_ended "$list"
		shift
		running=$*
	done
}
end_running() {
	local session
	for session in $running; do
		kill -- "-$session" 2>/dev/null || true
	done
}

# need_space DIR MIB: refuse to start what will not fit
need_space() {
	local free way='make room there'
	writable "$1"
	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	case $1 in
	"$cache"*)	way='make room, or set CACHE= to a folder with room' ;;
	"$build"*)	way='make room, or use a clone on another disk' ;;
	esac
	[ "$free" -ge "$2" ] || die "$1 has $free MiB free and this needs $2 MiB: $way"
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

# use_ccache DIR: for the kernels of the trees in DIR, with what other clones have compiled
use_ccache() {
	CCACHE_DIR=$cache/ccache-2 CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=5G
	export CCACHE_DIR CCACHE_BASEDIR CCACHE_NOHASHDIR CCACHE_MAXSIZE
}

# ccache_for KERNEL: how it is called for this one. That of "make run" is built once, mostly
# with an empty cache, which costs a tenth of the build
ccache_for() {
	case $1 in
	run)	;;
	*)		echo ccache ;;
	esac
}

# kernel_path SERIES REPO-FILE: where a new kernel file of that series stands in the kernel
# It fails for a file that is in no folder of the series
path_map='kernel
include-trace-events include/trace/events/
arch-x86-hooks arch/x86/
selftests tools/testing/selftests/
Documentation Documentation/trace/'

kernel_path() {
	echo "$path_map" | while read -r ours theirs; do
		case $2 in "$ours/$1/"*) echo "$theirs${2#"$ours/$1/"}" ;; esac
	done | grep .
}

# list FILE: its lines without comments and blank ones
list() {
	sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$1"
}

# all_series: the series in the order in which they are applied
# entries SERIES|all: the commits of a series, as SERIES/NAME, without those that the base
# leaves out
# left_out: those, which bases/BASE/left-out lists as lines "SERIES/NAME REASON"
# patches_of SERIES|all: its patches, as SERIES/FILE
all_series() { list "$series_dir/order" | sed 's/[[:space:]].*//'; }
entries() { lists_of "$series_dir" "$1" | grep -vxF "$(left_out)" || :; }
left_out() { [ ! -f "$base_dir/left-out" ] || list "$base_dir/left-out" | sed 's/[[:space:]].*//'; }
patches_of() { lists_of "$patches" "$1"; }
# message_of ENTRY: the file with its message, which the base may have of its own
message_of() {
	if [ -f "$series_dir/$1.$base.msg" ]; then
		echo "$series_dir/$1.$base.msg"
	else
		echo "$series_dir/$1.msg"
	fi
}
lists_of() {
	local one
	for one in $([ "$2" = all ] && all_series || echo "$2"); do
		[ ! -f "$1/$one/series" ] || list "$1/$one/series" | sed "s|^|$one/|"
	done
}

# below SERIES entries|patches_of: those that the series stands on
below() (
	on=$(list "$series_dir/order" | sed -n "s/^$1[[:space:]]\{1,\}//p")
	[ "$on" ] || exit 0
	all_series | grep -qxF "${on%:*}" ||
		die "$series_dir/order: $1 needs '$on', and there is no series '${on%:*}'"
	below "${on%:*}" "$2"
	case $on in
	*:*)	[ "$("$2" "${on%:*}" | wc -l)" -ge "${on#*:}" ] ||
			die "$series_dir/order: $1 needs '$on', which has fewer commits"
		"$2" "${on%:*}" | head -n "${on#*:}" ;;
	*)	"$2" "$on" ;;
	esac
)

# am_on REPOSITORY DIR COMMIT [--3way] PATCH...: git am of these onto COMMIT, in the new work
# tree DIR, which holds just the files that they touch
am_on() {
	local repository="$1" work="$2" onto="$3" way=--no-3way
	shift 3
	[ "$1" != --3way ] || { way=$1; shift; }
	plain_git -C "$repository" worktree add -q --detach --no-checkout "$work" "$onto" &&
	sed -n 's|^diff --git a/\(.*\) b/.*|/\1|p' "$@" | sort -u |
		plain_git -C "$work" sparse-checkout set --no-cone --stdin &&
	plain_git -C "$work" checkout -q && plain_git -C "$work" am -q "$way" "$@"
}
