# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2046,SC2086 # variables of tests/check, lists
# series: the patches match the sources, and git am applies them

# made: the patches and commits that the sources give, with settings that must not matter
made() (
	[ ! -d "$logs/patches" ] || exit 0
	umask 077
	mkdir -p "$logs/home"
	HOME=$logs/home TZ=Asia/Tokyo LC_ALL=C LANG=de_DE.UTF-8 COLUMNS=200
	GIT_AUTHOR_NAME=else GIT_COMMITTER_EMAIL=else@where.invalid CACHE=$cache
	export HOME TZ LANG COLUMNS GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL CACHE
	printf '%s\n' '[diff]' 'context = 7' 'noprefix = true' '[format]' 'signature = x' \
		>"$HOME/.gitconfig"
	export GIT_DIR=/nowhere GIT_INDEX_FILE=/nowhere/index GIT_DIFF_OPTS=-u7
	"$top/scripts/series/make" --to "$logs/patches" --commits "$logs/am.git" "$base"
)
patches_of_sources() {
	made || return 1
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
git_am() {
	made && plain_git -C "$src" ls-tree -r HEAD >"$logs/am.files" &&
	GIT_DIR=$logs/am.git git ls-tree -r series | diff "$logs/am.files" -
}

# Added lines of what is neither test nor document, in all or below a path:
# SERIES LIMIT [PATH]. SERIES:NUMBER are its first patches. Older bases may need a few more
[ "$base" = "$(default_base)" ] && more=0 || more=3
budgets='trap:3 400
trap 480
pagefault:3 560
pagefault 700
pagefault 35 arch/x86/mm/fault.c
pagefault 20 mm/memory.c
pagefault-arm64 45
pagefault-riscv 40
filter 260'
within_budgets() {
	local one files
	for one in $(all_series); do
		[ "$(patches_of "$one")" ] || continue
		echo "$budgets" | grep "^${one}[ :]" | while read -r name limit path; do
			files=$(patches_of "$one" | sed "s|^|$patches/|")
			[ "$name" = "$one" ] || files=$(echo "$files" | head -n "${name#*:}")
			lines=$(cd / && plain_git apply --numstat --exclude='tools/testing/*' \
				--exclude='Documentation/*' --exclude=MAINTAINERS \
				--include="$path*" $files | awk '{ n += $1 } END { print n + 0 }')
			echo "$name adds $lines lines of $((limit + more))${path:+ to $path}"
			[ "$lines" -le $((limit + more)) ] || exit 1
		done || return 1
	done
}
# What has changed since the last version does not count
cover_letters() {
	ls $(all_series | sed "s|.*|$patches/&|" | while read -r folder; do
		[ ! -d "$folder" ] || echo "$folder/cover-letter.txt"
	done) && ! grep -L '^diff --git ' "$patches"/*/*.patch | grep . &&
	! awk 'FNR == 1 { n = 0 } /^Changes in v/ { nextfile } ++n == 81 { print FILENAME }' \
		"$series_dir"/*/cover | grep .
}
# From a version before it, and not with a diff that does not apply to the newest one
pins() (
	copy=$logs/pin old=${base_version%-*}-0
	sources_copy "$copy" && cd "$copy" && mkdir before &&
	sed -i "s/^base_version=.*/base_version=$old/" "bases/$base/base" || exit 1
	cp -r arch-x86-hooks bases before
	hook=$(find "arch-x86-hooks/$base/trap" -name '*.diff' | head -n 1)
	sed -i 's/^ \(.*[a-z]\)/ no \1/' "$hook"
	fails "$base stays at $old" scripts/series/pin "$base" || exit 1
	cp "before/$hook" "$hook"
	for folder in arch-x86-hooks bases; do
		diff -r before/$folder $folder || exit 1
	done
	diff -r "$patches" "patches/$base" && scripts/series/pin "$base" >out || exit 1
	grep "^$base: $old -> ${source_version%.git}" out &&
	grep -x "base_version=$source_version" "bases/$base/base" || exit 1
	[ "$source_version" != "$base_version" ] || diff -r "$patches" "patches/$base"
)

# The pattern that README.md gives to git am: all patches, in an order in which each builds
readme_names_all() {
	local pattern
	pattern=$(sed -n 's|^    git am .*/patches/linux-7[.]3/\([^ ]*\).*|\1|p' "$top/README.md")
	same "$(patches_of all)" \
		"$(cd "$patches" && bash -O nullglob -c "printf '%s\\n' $pattern")"
}
figures_of_bench() {
	"$top/scripts/series/quote-results" <"$top/README.md" >"$logs/README.md" &&
	diff "$top/README.md" "$logs/README.md" &&
	same 4 "$(grep -o '<!--=[a-z]' "$top/README.md" | wc -l)"
}

check 'patches/ is what the sources give' patches_of_sources
check 'git am gives what the sources give' git_am
check 'no cover letter is named *.patch, or longer than 80 lines' cover_letters
check 'the series keep to their budgets of added lines' within_budgets
check 'README.md quotes what was measured' figures_of_bench
check_slow 'make pin moves a base to the newest version' pins
check 'git am of the README takes all patches in order' readme_names_all
