# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# releases: git am -3 on Debian's other kernels: it applies, or conflicts only where known
#
# These are the newest of each linux-source-* in each suite, one for each version of
# upstream's. Each takes the patches of the nearest base. The cache has of them the files that
# the series change. Where a patch does not apply, its side of the conflict is taken, and the
# next one follows: so each place with a conflict is reported, once.
# arch-x86-hooks/BASE/releases/X.Y lists the known places, or none. A new place is a failure,
# and so is one that is gone. Of a kernel without such a list, the places are only reported.

# shellcheck source=scripts/kernel/archive.sh
. "$top/scripts/kernel/archive.sh"
store=$cache/releases
mkdir -p "$store"

# The Makefile is in each kernel, so it shows that there is one
cat "$top"/patches/linux-*/*/*.patch |
	sed -n '1iMakefile
		s|^diff --git a/\(.*\) b/.*|\1|p' | sort -u >"$logs/touched"

# fetched PACKAGE VERSION: see that the cache has it, as a git repository. Status 2 if it
# cannot be downloaded. Another clone may have the same cache
fetched() {
	local out new
	exec 7>"$store/lock"
	flock 7
	out=$store/$1_$2.git
	[ ! -f "$out/touched" ] || [ -n "$(comm -23 "$logs/touched" "$out/touched")" ] || return 0
	new=$logs/release.new
	rm -rf "$new" "$out" && mkdir -p "$new/tree" && cd "$new" || return 1
	apt_own apt-get download "$1=$2" || return 2
	# Not all of the files are there: some are the series' own
	sed "s|^|$1/|" "$logs/touched" >wanted
	unpack_source "$1" tree -T "$new/wanted" || true
	[ -f tree/Makefile ] || return 1
	use_identity
	cd tree && plain_git init -q && plain_git add -A -f &&
	plain_git commit -q -m "$1 $2" && cp "$logs/touched" .git/touched &&
	mv .git "$out" && cd / && rm -rf "$new"
}

# A patch that does not apply: say where, and take its side there
take_over() {	# PATCH
	local of="${1##*/}" unmerged file stage
	of=$(echo "${of%.patch}" | sed 's/^[0-9]*-//')
	unmerged=$(sgit diff --name-only --diff-filter=U)
	if [ -z "$unmerged" ]; then
		echo "$of: $(grep -m 1 '^error: ' "$logs/am.out")"
		sgit am -q --skip
		return
	fi
	for file in $unmerged; do
		if ! sgit cat-file -e ":2:$file" 2>/dev/null; then
			echo "$of: $file: is not there"
		else
			sgit diff -- "$file" | "$top/scripts/series/parse.py" places "$1" "$file" |
				sed "s|^|$of: |"
			for stage in 1 2 3; do
				sgit cat-file blob ":$stage:$file" >"$logs/stage.$stage" || : >"$logs/stage.$stage"
			done
			sgit merge-file -q --theirs "$logs/stage.2" "$logs/stage.1" "$logs/stage.3" &&
			cp "$logs/stage.2" "$scratch/$file"
		fi
		sgit add -- "$file"
	done
	if sgit diff --cached --quiet HEAD; then
		sgit am -q --skip
	else
		sgit am -q --continue
	fi
}

# apply GIT: git am -3 of all series onto it. Prints where it does not apply
sgit() { plain_git -C "$scratch" "$@"; }
apply() {
	local scratch="$logs/release" patch
	# Has each file as a patch found it
	[ -d "$logs/$nearest.git" ] ||
		"$top/scripts/series/make" --to "$logs/$nearest.patches" --commits "$logs/$nearest.git" "$nearest" || return 1
	rm -rf "$scratch" && plain_git init -q "$scratch" &&
	printf '%s\n' "$1/objects" "$logs/$nearest.git/objects" >"$scratch/.git/objects/info/alternates" &&
	sgit reset -q --hard "$(plain_git -C "$1" rev-parse HEAD)" || return 1
	use_identity
	for patch in $(lists_of "$top/patches/$nearest" all | sed "s|^|$top/patches/$nearest/|"); do
		sgit am -q -3 "$patch" >"$logs/am.out" 2>&1 || take_over "$patch" || return 1
	done
	[ "$(sgit rev-list --count HEAD)" -gt 1 ]
}

one_release() (	# SUITE PACKAGE VERSION UPSTREAM
	release=${2#linux-source-} status=0
	name="release: $2 of $1"
	selected "$name" || exit 0
	nearest=$(nearest_base "$release")
	known=$top/arch-x86-hooks/$nearest/releases/$release
	case $4 in *rc*) known=$known-rc ;; esac
	known_places=$(grep -v '^#' "$known" 2>/dev/null || :)
	say "$name"
	(fetched "$2" "$3") >"$logs/release.log" 2>&1 || status=$?
	[ $status != 0 ] || places=$(apply "$store/$2_$3.git" 2>>"$logs/release.log") || status=1
	if [ $status = 2 ]; then
		skip "$name" "$3 could not be downloaded"
	elif [ $status != 0 ]; then
		fail "$name"
		tail -n 5 "$logs/release.log" | sed 's/^/# /'
	elif [ ! -f "$known" ] && [ "$places" ]; then
		pass "$name has conflicts, and no list in $nearest/releases yet"
		echo "$places" | sed "s|^|# $3 does not take |"
	elif ! difference=$(same "$known_places" "$places"); then
		fail "$name"
		echo "$difference" |
			sed -n "s|^> \\(.\\)|# $3 does not take \\1|p; s|^< \\(.\\)|# $3 takes \\1|p"
	elif [ "$known_places" ]; then
		pass "$name has only known conflicts"
		echo "$known_places" | sed "s|^|# $3 does not take |"
	else
		pass "$name takes all patches of $nearest"
	fi
)

[ -r "$keyring" ] || skip_part "no $keyring: apt-get install debian-archive-keyring"
find_mirror
[ -n "$mirror" ] || skip_part 'apt knows no Debian mirror here'
rm -rf "$logs"/linux-*.git
bases=" $(cat "$top"/arch-x86-hooks/linux-*/base | sed -n 's/^base_version=\(.*\)-.*/\1/p' | tr '\n' ' ')"
seen=$bases
for suite in bookworm bookworm-backports trixie trixie-backports testing sid experimental; do
	if ! use_suite "$logs/apt.$suite" "$suite" >"$logs/apt.$suite.log" 2>&1; then
		selected "release: of $suite" &&
			skip "releases of $suite" "apt-get update of $suite failed (see $logs/apt.$suite.log)"
		continue
	fi
	for package in $(apt_own apt-cache pkgnames linux-source- | grep -E 'source-([1-9][0-9]*[.][0-9]+)$' | sort -V); do
		version=$(apt_own apt-cache madison "$package" | awk 'NR == 1 { print $3 }')
		upstream=${version%-*}
		case $seen in *" $upstream "*) continue ;; esac
		seen="$seen$upstream "
		[ "$(releases "${package#linux-source-}")" -lt "$(releases 6.1)" ] ||
			one_release "$suite" "$package" "$version" "$upstream"
	done
	rm -rf "$logs/apt.$suite"
done
[ "$seen" != "$bases" ] || ! selected release ||
	skip_part 'no suite that can be had has another one'
