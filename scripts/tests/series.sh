# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# series: that the patches are what the sources give, and that git am takes them

# The series
patches_of_sources() {
	"$top/scripts/series" --to "$logs/patches" "$base" &&
	if [ "$source_version" = "$base_version" ]; then
		diff -r "$patches" "$logs/patches"
	else
		# Another source package: its blobs and line numbers differ
		normal_patches "$patches" >"$logs/normal.patches" &&
		normal_patches "$logs/patches" | diff "$logs/normal.patches" -
	fi
}
normal_patches() (
	cd "$1" && sed 's/^@@ .* @@/@@/; /^index /d; /^Base: /d' ./*
)
same_elsewhere() (
	[ -d "$logs/patches" ] || "$top/scripts/series" --to "$logs/patches" "$base" || exit 1
	umask 077
	mkdir -p "$logs/home"
	HOME=$logs/home TZ=Asia/Tokyo LC_ALL=C LANG=de_DE.UTF-8 COLUMNS=200
	GIT_AUTHOR_NAME=else GIT_COMMITTER_EMAIL=else@where.invalid CACHE=$cache
	export HOME TZ LANG COLUMNS GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL CACHE
	printf '[diff]\n\tcontext = 7\n\tnoprefix = true\n[format]\n\tsignature = x\n' >"$HOME/.gitconfig"
	export GIT_DIR=/nowhere GIT_INDEX_FILE=/nowhere/index GIT_DIFF_OPTS=-u7
	"$top/scripts/series" --to "$logs/patches.2" "$base" &&
	! diff -r "$logs/patches" "$logs/patches.2" | head -n 12 | grep .
)
git_am() {
	rm -rf "$logs/am.git" &&
	"$top/scripts/series" --to "$logs/patches.3" --commits "$logs/am.git" "$base" &&
	plain_git -C "$src" ls-tree -r HEAD >"$logs/am.files" &&
	GIT_DIR=$logs/am.git git ls-tree -r series | diff "$logs/am.files" -
}
no_fuzz() {
	# patch says "offset" and "fuzz" of hunks that git am would shift
	rm -rf "$logs/fuzz" && mkdir "$logs/fuzz" &&
	plain_git -C "$src" diff --name-only --diff-filter=M base HEAD |
		(cd "$logs/fuzz" && while read -r file; do
			mkdir -p "$(dirname "$file")"
			plain_git -C "$src" cat-file blob "base:$file" >"$file"
		done) &&
	for file in $(list "$patches/series"); do
		(cd "$logs/fuzz" && patch -p1 -F0 <"$patches/$file") || return 1
	done >"$logs/fuzz.out" 2>&1 && ! grep -E '^Hunk .*(fuzz|offset)' "$logs/fuzz.out"
}
round_trip() {
	copy=$logs/round-trip
	rm -rf "$copy" && mkdir "$copy" &&
	(cd "$top" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$copy" &&
	"$top/scripts/test-edits" "$copy" "$base" &&
	rm -rf "$copy"
}

# Without the cover letter, which git am does not take
readme_names_all() (
	# shellcheck disable=SC2046 # patterns
	set -- $(sed -n "s|^    git am \(.*/patches/$base/.*\)|\1|p" "$top/README.md" | sed "s|[.][.][.]/|$top/|g")
	[ $# -gt 0 ] && printf '%s\n' "$@" | sed 's|.*/||' >"$logs/readme.patches" &&
	list "$patches/series" | diff "$logs/readme.patches" -
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
	"$top/scripts/figures" --readme | diff "$top/README.md" - &&
	"$top/scripts/figures" --rst | diff "$top/Documentation/events-trap.rst" - &&
	for figure in PAGEFAULT_OFF PAGEFAULT_EXIT KPROBE_PAIR; do
		if ! grep -qF -e "<!--=$figure-->" "$top/README.md" ||
		   ! grep -qF "@$figure@" "$series_dir/cover"; then
			echo "$figure is not quoted"
			return 1
		fi
	done || return 1
	# Each row of the table has its price: with others, each would be another one
	awk -F '\t' -v OFS='\t' '$1 == "price" { $9 += 1000 } { print }' "$top/bench/results.tsv" >"$logs/other.tsv" &&
	RESULTS=$logs/other.tsv "$top/scripts/figures" --rst >"$logs/other.rst" || return 1
	rows=$(diff "$top/Documentation/events-trap.rst" "$logs/other.rst" | grep -c '^>')
	echo "rows of the table: $rows"
	[ "$rows" = 5 ]
}

check 'patches/ is what the sources give' patches_of_sources
check 'the series is the same with other settings' same_elsewhere
check 'git am gives what the sources give' git_am
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
