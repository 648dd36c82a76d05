# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/lib.sh
# Folders that can be written and have room, and one command at a time. Sourced by scripts/lib.sh.

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

locked=''
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
	export TRAP_LOCK="$1"
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
in_use() { [ -f "$1/lock" ] && ! flock -n "$1/lock" true; }

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
