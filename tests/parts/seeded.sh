# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# seeded: bugs of patches, tests and scripts, each caught by its part
#
# They show that the parts can fail: those of the kernel itself are in the part defects. Each bug
# has a scratch copy. A file in tests/seeded/ is sourced in its top, and seeds the bug there.
# Its head says what must happen then:
#
#	# part: PART		The part that is run then,
#	# only: NAME		and of that what begins so (if not given: the first of
#				the tests that fail).
#	# fails: NAME		This test fails, and no other does. As a pattern of the
#				shell's it stands for all that match.
#	# says: WORDS		This is in what comes with it.
#	# series: as it is	make series is not run before.

copy=$build/seeded/copy

# The source comes from here, by links, and kernels come out of ccache
scratch_copy() {
	mkdir -p "$copy/build/$base" &&
	rsync -a --delete --exclude=/build --exclude=/.git "$top/" "$copy/" &&
	{ [ -d "$copy/.git" ] || plain_git init -q "$copy"; } || return 1
	[ ! -f "$copy/build/$base/applied" ] || return 0
	rm -rf "$copy/build/$base/src" &&
	cp -al "$src" "$copy/build/$base/src" &&
	rm -rf "$copy/build/$base/src/.git" &&
	cp -a "$src/.git" "$copy/build/$base/src/.git" &&
	rm -rf "$copy/build/$base/src/.git/worktrees" &&
	cp "$dir/applied" "$copy/build/$base/applied"
}

header() {	# BUG WORD
	sed -n "s/^# $2: //p" "$1"
}

# pattern_of LINE PATTERNS: the one that it matches
pattern_of() {
	echo "$2" | while read -r pattern; do
		# shellcheck disable=SC2254 # a pattern
		case $1 in
		$pattern)	echo "$pattern"; break ;;
		esac
	done | grep .
}

is_caught() (	# BUG
	scratch_copy || exit 1
	expected=$(header "$1" fails | sort)
	only=$(header "$1" only)
	[ "$only" ] || only=$(header "$1" fails | head -n 1)
	unset TRAP_LOGS TRAP_LOCK TRAP_SOURCE_GIT TRAP_BEGAN TRAP_FAST
	cd "$copy" && set -e
	# shellcheck source=/dev/null
	. "$1"
	rsync -rcn --delete --out-format=%n --exclude=/build --exclude=/.git "$top/" "$copy/" |
		grep -q . || {
		echo 'it changes nothing'
		exit 1
	}
	[ "$(header "$1" series)" = 'as it is' ] || scripts/series/make "$base" || exit 1
	out=$logs/seeded.out
	! ONLY=$only tests/check "$(header "$1" part)" >"$out" ||
		{ echo 'it is not caught'; exit 1; }
	cat "$out"
	if ! grep -q '^not ok ' "$out" && grep -q '^ok .* # SKIP ' "$out"; then
		sed -n 's/^ok .* # SKIP //p' "$out" | head -n 1 >"$cannot"
		exit 1
	fi
	matched=$(sed -n 's/^not ok [0-9]* - //p' "$out" | while read -r line; do
		pattern_of "$line" "$expected" || echo "this failed as well: $line"
	done | sort -u)
	same "$expected" "$matched" && grep -qF -- "$(header "$1" says)" "$out"
)

for bug in "$top"/tests/seeded/*; do
	check "seeded bug: $(basename "$bug")" is_caught "$bug"
done
