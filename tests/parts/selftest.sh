# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check/run
# selftest: seeded defects, each in a scratch copy, and each caught by the part meant for it
#
# A file in tests/defects/ is sourced in the top of the copy, and makes it defective.
# Its head says what must happen then:
#
#	# part: PART		The part that is run then,
#	# only: NAME		and of that what begins so (if not given: the first of
#				the tests that fail).
#	# fails: NAME		This test fails, and no other does. As a pattern of the
#				shell's it stands for all that match.
#	# says: WORDS		This is in what comes with it.
#	# series: as it is	patches/ is not made anew before.

copy=$build/selftest/copy

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

header() {	# DEFECT WORD
	sed -n "s/^# $2: //p" "$1"
}

# each_matches LINES PATTERNS OUT: each line has a pattern, which goes to OUT
each_matches() {
	while read -r line; do
		while read -r pattern; do
			# shellcheck disable=SC2254 # a pattern
			case $line in
			$pattern)	echo "$pattern"; continue 2 ;;
			esac
		done <"$2"
		echo "this failed as well: $line" >&2
		return 1
	done <"$1" >"$3"
}

defect_is_caught() (	# DEFECT
	scratch_copy || exit 1
	rm -f "$logs/selftest.out"
	header "$1" fails | sort >"$logs/expected"
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
	[ "$(header "$1" series)" = 'as it is' ] ||
		{ scripts/series/make "$base" &&
		  { [ "$(header "$1" part)" != lttng ] || scripts/series/make lttng-modules; }; } || exit 1
	ONLY=$only scripts/check/run "$(header "$1" part)" >"$logs/selftest.out" && {
		echo 'it is not caught'
		exit 1
	}
	cat "$logs/selftest.out"
	if ! grep -q '^not ok ' "$logs/selftest.out" && grep -q '^ok .* # SKIP ' "$logs/selftest.out"; then
		sed -n 's/^ok .* # SKIP //p' "$logs/selftest.out" | head -n 1 >"$cannot"
		exit 1
	fi
	sed -n 's/^not ok [0-9]* - //p' "$logs/selftest.out" >"$logs/failed"
	each_matches "$logs/failed" "$logs/expected" "$logs/matched" &&
	sort -u "$logs/matched" | diff - "$logs/expected" &&
	grep -qF -- "$(header "$1" says)" "$logs/selftest.out"
)

every_part_has_one() {
	for file in "$top"/tests/parts/*.sh; do
		part=$(basename "$file" .sh)
		[ "$part" = selftest ] || grep -qx "# part: $part" "$top"/tests/defects/* ||
			echo "$part has none"
	done | tee "$logs/none"
	for defect in "$top"/tests/defects/*; do
		for word in part fails says; do
			[ "$(header "$defect" "$word")" ] || echo "$defect has no '$word'"
		done
	done | tee -a "$logs/none"
	[ ! -s "$logs/none" ]
}

check 'each part has a defect to catch' every_part_has_one
for defect in "$top"/tests/defects/*; do
	check "defect: $(basename "$defect")" defect_is_caught "$defect"
done
