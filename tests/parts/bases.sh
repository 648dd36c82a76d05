# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# bases: make check passes on each other base

# check_of BASE: its logs are in those of this part. ONLY='BASE, PART' is this part alone
check_of() (
	parts=fast
	case ${ONLY:-} in *', '*) parts=${ONLY#*, } ;; esac
	unset TRAP_SOURCE_GIT
	export BASE="$1" TRAP_LOGS="$logs/$1" TRAP_FAST=1 ONLY=''
	failed=0
	"$top/tests/check" "$parts" >"$logs/$1.tap" || failed=1
	cat "$logs/$1.tap"
	[ $failed = 0 ] || { grep '^not ok' "$logs/$1.tap"; exit 1; }
)

for other in $(all_bases); do
	[ "$other" = "$base" ] || check "$other: make check passes" check_of "$other"
done
