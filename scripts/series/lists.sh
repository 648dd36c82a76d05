# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/lib.sh
# What the scripts know about the series, their commits and patches. Sourced after scripts/lib.sh.

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
