# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# series: that the patches are what the sources give, and checkers on them

# The series
patches_of_sources() {
	"$top/scripts/series" --to "$logs/patches" "$base" &&
	if [ "$source_version" = "$base_version" ]; then
		diff -r "$patches" "$logs/patches"
	else
		# Another source package: its blobs and line numbers differ
		for dir in "$patches" "$logs/patches"; do
			(cd "$dir" && sed 's/^@@ .* @@/@@/; /^index /d; /^Base: /d' ./*) \
				>"$logs/normal.$(basename "$(dirname "$dir")")" || return 1
		done
		diff "$logs/normal.patches" "$logs/normal.check"
	fi
}
same_elsewhere() (
	umask 077
	mkdir -p "$logs/home"
	HOME=$logs/home TZ=Asia/Tokyo LC_ALL=C LANG=de_DE.UTF-8 COLUMNS=200
	GIT_AUTHOR_NAME=else GIT_COMMITTER_EMAIL=else@where.invalid CACHE=$cache
	export HOME TZ LANG COLUMNS GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL CACHE
	printf '[diff]\n\tcontext = 7\n\tnoprefix = true\n[format]\n\tsignature = x\n' >"$HOME/.gitconfig"
	export GIT_DIR=/nowhere GIT_INDEX_FILE=/nowhere/index GIT_DIFF_OPTS=-u7
	"$top/scripts/series" --to "$logs/patches.2" "$base" &&
	diff -r "$logs/patches" "$logs/patches.2"
)
git_am() {
	rm -rf "$logs/am.git" &&
	"$top/scripts/series" --to "$logs/patches.3" --commits "$logs/am.git" "$base" &&
	[ "$(GIT_DIR=$logs/am.git git rev-parse 'series^{tree}')" = \
	  "$(plain_git -C "$src" rev-parse 'HEAD^{tree}')" ] || return 1
	[ "$source_version" = "$base_version" ] || return 0
	# patch says "offset" and "fuzz" of hunks that git am would shift
	rm -rf "$logs/fuzz" && mkdir "$logs/fuzz" &&
	plain_git -C "$src" diff --name-only --diff-filter=M base HEAD |
		(cd "$logs/fuzz" && while read -r file; do
			mkdir -p "$(dirname "$file")"
			plain_git -C "$src" cat-file blob "base:$file" >"$file"
		done) &&
	for file in $(list "$patches/series"); do
		(cd "$logs/fuzz" && patch -p1 -F0 <"$patches/$file") || return 1
	done >"$logs/fuzz.out" 2>&1 && ! grep -E 'fuzz|offset' "$logs/fuzz.out"
}
checkpatch() (
	# The kernel's own python scripts want Debian's python. <linux/nmi.h> has
	# what <asm/nmi.h> has in some configurations only; and MAINTAINERS has
	# the folder of the file that the patch for the filters adds
	ignore=ARCH_INCLUDE_LINUX
	case $1 in *-tracing-Accept-*) ignore=$ignore,FILE_PATH_CHANGES ;; esac
	cd "$src" && PATH=/usr/bin:/bin:/usr/sbin:/sbin scripts/checkpatch.pl \
		--strict --codespell --ignore "$ignore" --no-summary --terse --show-types \
		"$patches/$1" >"$logs/cp.out"
	status=$?
	cat "$logs/cp.out"
	[ ! -s "$logs/cp.out" ] && [ $status = 0 ]
)
round_trip() {
	copy=$logs/round-trip
	rm -rf "$copy" && mkdir "$copy" &&
	(cd "$top" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$copy" &&
	"$top/scripts/test-edits" "$copy" "$base" &&
	rm -rf "$copy"
}

# The house
spdx() {
	(cd "$top" && git ls-files -co --exclude-standard) >"$logs/files"
	! (cd "$top" && grep -v -e '^COPYING$' -e '^patches/' -e '\.msg$' -e '\.diff$' \
		-e '/settings$' -e '/cover$' "$logs/files" |
		xargs grep -L 'SPDX-License-Identifier: GPL-2.0') | grep .
}
shell_scripts() (
	cd "$top" && git ls-files -co --exclude-standard |
		xargs grep -lE '^#!/bin/(ba)?sh|^# shellcheck shell=' | xargs shellcheck -x
)
spelling() (
	# "Reenabled" is a word of the kernel's, around our hunks
	cd "$top" && codespell -L ist,erro,reenabled README.md Documentation selftests scripts \
		include-trace-events arch-x86-hooks
)
kernel_doc() (
	cd "$src" && plain_git diff --name-only base HEAD -- '*.[ch]' | grep -v ^tools/ |
		PATH=/usr/bin:/bin xargs scripts/kernel-doc -none -Wall >"$logs/kd.out" 2>&1
	grep -E 'trap|pagefault|IDTENTRY_VECTOR' "$logs/kd.out" | grep -E 'warning|error' && exit 1
	exit 0
)
documentation() {
	for rst in "$top"/Documentation/*.rst; do
		PATH=/usr/bin:/bin rst2html --halt=2 "$rst" >/dev/null || return 1
	done
}

check 'patches/ is what the sources give' patches_of_sources
check 'the series is the same with other settings' same_elsewhere
check 'git am gives what the sources give, no fuzz, no offset' git_am
for file in $(list "$patches/series"); do
	check "checkpatch --strict: ${file%.patch}" checkpatch "$file"
done
check 'kernel-doc of what the series adds' kernel_doc
check 'Documentation/ is valid reStructuredText' documentation
check 'edits in a tree come back into the sources' round_trip
check 'SPDX in every file' spdx
check 'shellcheck' shell_scripts
check 'codespell' spelling
