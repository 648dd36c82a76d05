# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC2046,SC2086 # variables of scripts/check/run, lists
# series: the patches match the sources, and git am applies them

# The series
patches_of_sources() {
	"$top/scripts/series/make" --to "$logs/patches" "$base" &&
	if [ "$source_version" = "$base_version" ]; then
		diff -r "$patches" "$logs/patches"
	else
		# Another source package: its blobs and line numbers differ
		normal_patches "$patches" >"$logs/normal.patches" &&
		normal_patches "$logs/patches" | diff "$logs/normal.patches" -
	fi
}
normal_patches() (
	cd "$1" && sed 's/^@@ .* @@/@@/; /^index /d; /^Base: /d' ./*/*
)
same_elsewhere() (
	[ -d "$logs/patches" ] || "$top/scripts/series/make" --to "$logs/patches" "$base" || exit 1
	umask 077
	mkdir -p "$logs/home"
	HOME=$logs/home TZ=Asia/Tokyo LC_ALL=C LANG=de_DE.UTF-8 COLUMNS=200
	GIT_AUTHOR_NAME=else GIT_COMMITTER_EMAIL=else@where.invalid CACHE=$cache
	export HOME TZ LANG COLUMNS GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL CACHE
	printf '[diff]\n\tcontext = 7\n\tnoprefix = true\n[format]\n\tsignature = x\n' >"$HOME/.gitconfig"
	export GIT_DIR=/nowhere GIT_INDEX_FILE=/nowhere/index GIT_DIFF_OPTS=-u7
	"$top/scripts/series/make" --to "$logs/patches.2" "$base" &&
	! diff -r "$logs/patches" "$logs/patches.2" | head -n 12 | grep .
)
git_am() {
	rm -rf "$logs/am.git" &&
	"$top/scripts/series/make" --to "$logs/patches.3" --commits "$logs/am.git" "$base" &&
	plain_git -C "$src" ls-tree -r HEAD >"$logs/am.files" &&
	GIT_DIR=$logs/am.git git ls-tree -r series | diff "$logs/am.files" -
}

# am_tree PATCH...: the tree that git am of these onto the base gives
am_tree() (
	rm -rf "$logs/am" && plain_git -C "$src" worktree prune && use_identity &&
	am_on "$src" "$logs/am" base "$@" >&2 && plain_git -C "$logs/am" rev-parse 'HEAD^{tree}'
)
# The shell sorts the folders by name, and not as commits/series does
any_order() {
	tree=$(am_tree "$patches"/*/*.patch) && head=$(plain_git -C "$src" rev-parse 'HEAD^{tree}') ||
		return 1
	! plain_git -C "$src" diff-tree -r --name-only "$head" "$tree" | grep .
}
# Each series on what it stands on, and on no more
no_fuzz() {
	plain_git -C "$src" diff --name-only --diff-filter=M base HEAD >"$logs/fuzz.files"
	for one in $(all_series); do
		[ "$(patches_of "$one")" ] || continue
		files=$(below "$one" patches_of && patches_of "$one") &&
		am_tree $(echo "$files" | sed "s|^|$patches/|") || return 1
		# patch says "offset" and "fuzz" of hunks that git am would shift
		take_by_patch $files >"$logs/fuzz.out" 2>&1 || { tail -n 5 "$logs/fuzz.out"; return 1; }
		! grep -E '^Hunk .*(fuzz|offset)' "$logs/fuzz.out" || return 1
	done
}
take_by_patch() (
	rm -rf "$logs/fuzz" && mkdir "$logs/fuzz" && cd "$logs/fuzz" || exit 1
	while read -r file; do
		mkdir -p "$(dirname "$file")"
		plain_git -C "$src" cat-file blob "base:$file" >"$file"
	done <"$logs/fuzz.files"
	for file in "$@"; do
		echo "$file:"
		patch -p1 -F0 <"$patches/$file" || exit 1
	done
)
# Added lines of what is neither test nor document, in all or below a path:
# SERIES LIMIT [PATH]
budgets='trap 500
pagefault 600
pagefault 120 arch/x86/mm/fault.c
pagefault 170 mm/
filter 260'
within_budgets() {
	came_to=0
	for one in $(all_series); do
		[ "$(patches_of "$one")" ] || continue
		{ echo "$budgets" | grep "^$one " || echo "$one"; } >"$logs/budgets.of"
		while read -r _ limit path; do
			lines=$(cd / && plain_git apply --numstat "$patches/$one"/*.patch |
				awk -v path="$path" 'index($3, path) == 1 &&
					$3 !~ /^(tools\/testing|Documentation)\/|^MAINTAINERS$/ { n += $1 }
					END { print n + 0 }')
			echo "$one/ adds $lines lines${limit:+ of $limit}${path:+ to $path}"
			[ "$lines" -le "${limit:-$lines}" ] || came_to=1
		done <"$logs/budgets.of"
	done >"$logs/budgets"
	return $came_to
}
cover_letters() {
	ls $(all_series | sed "s|.*|$patches/&|" | while read -r folder; do
		[ ! -d "$folder" ] || echo "$folder/cover-letter.txt"
	done) && ! grep -L '^diff --git ' "$patches"/*/*.patch | grep .
}
round_trip() {
	copy=$logs/round-trip
	rm -rf "$copy" && mkdir "$copy" &&
	(cd "$top" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$copy" &&
	"$top/scripts/series/test-import" "$copy" "$base" &&
	rm -rf "$copy"
}

# The patterns that README.md gives to git am: for all series, and for one
readme_names_all() (
	sed -n "s|^    git am [.][.][.]/patches/$base/||p" "$top/README.md" >"$logs/readme.patterns"
	cd "$patches" && grep -qxF '*/*.patch' "$logs/readme.patterns" &&
	while read -r pattern; do
		one=${pattern%%/*}
		[ "$one" != '*' ] || one=all
		patches_of "$one" | sort >"$logs/readme.patches"
		printf '%s\n' $pattern | sort | diff "$logs/readme.patches" - || exit 1
	done <"$logs/readme.patterns"
)
bench_as_made() (
	cd "$top/bench" && sha256sum -c sums &&
	find . -type f ! -name sums | sort >"$logs/bench.files" &&
	sed -n 's/^[0-9a-f]* [ *]//p' sums | sort | diff "$logs/bench.files" -
)
bench_of_series() {
	awk -F '\t' '$1 == "fact" && $2 == "series" { print $3 }' "$top/bench/results.tsv" >"$logs/bench.of"
	code_of_series | diff "$logs/bench.of" - ||
		{ echo 'the series has changed since: make bench'; return 1; }
}
figures_of_bench() {
	"$top/scripts/series/quote-results" --readme | diff "$top/README.md" - &&
	for rst in "$top"/Documentation/*/*.rst; do
		"$top/scripts/series/quote-results" --rst "$rst" | diff "$rst" - || return 1
	done &&
	for figure in PAGEFAULT_OFF PAGEFAULT_EXIT KPROBE_PAIR; do
		if ! grep -qF -e "<!--=$figure-->" "$top/README.md" ||
		   ! cat "$series_dir"/*/cover | grep -qF "@$figure@"; then
			echo "$figure is not quoted"
			return 1
		fi
	done || return 1
	# Each row has its price: with other prices, each row is another one
	awk -F '\t' -v OFS='\t' '$1 == "price" { $9 += 1000 } { print }' "$top/bench/results.tsv" >"$logs/other.tsv" &&
	for rst in "$top"/Documentation/*/*.rst; do
		RESULTS=$logs/other.tsv "$top/scripts/series/quote-results" --rst "$rst" >"$logs/other.rst" || return 1
		diff "$rst" "$logs/other.rst" | sed -n "s|^>|${rst##*/}:|p"
	done >"$logs/rows"
	cat "$logs/rows"
	grep -q '^events-trap.rst:' "$logs/rows" && [ "$(wc -l <"$logs/rows")" = 4 ]
}

check 'patches/ is what the sources give' patches_of_sources
check 'the series is the same with other settings' same_elsewhere
check 'git am gives what the sources give' git_am
check 'git am of the folders by name gives the same' any_order
check 'no cover letter is named *.patch' cover_letters
name='the series keep to their budgets of added lines'
if selected "$name"; then
	if within_budgets; then
		pass "$name"
	else
		fail "$name"
	fi
	sed 's/^/# /' "$logs/budgets"
fi
check 'bench/ is as "make bench" left it' bench_as_made
if [ "$source_version" = "$base_version" ]; then
	! have patch 'each patch applies without fuzz and offset' ||
		check 'each patch applies without fuzz and offset' no_fuzz
	check 'bench/ is of this series' bench_of_series
else
	for test in 'each patch applies without fuzz and offset' 'bench/ is of this series'; do
		skip "$test" "that is of $base_version, and this source is $source_version"
	done
fi
check 'README.md, cover letter and documentation quote what was measured' figures_of_bench
check 'edits in a tree come back into the sources' round_trip
check 'git am of the README takes all of the patches' readme_names_all
