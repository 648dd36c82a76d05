# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2046,SC2086 # variables of tests/check, lists
# checkers: sparse, W=1, coccicheck and Sphinx, against the base
#
# What they say of the files that the series touch is compared, without line numbers, with what
# they say of these files in the base. What is new is a failure.

work=$dir/checkers
mkdir -p "$work"
work_tree "$work/src" HEAD >"$logs/checkers.tree" 2>&1 || {
	fail_part "there is a source for the checkers (log: $logs/checkers.tree)"
	exit
}
wgit() { plain_git -C "$work/src" "$@"; }
commits="base $(plain_git -C "$src" rev-parse HEAD)"
head=${commits#* }
touched=$(wgit diff --name-only --diff-filter=d base "$head")
all_c=$(echo "$touched" | grep '\.c$' | grep -v ^tools/)

# no_news NAME COMMAND...: COMMAND COMMIT prints what it finds. It finds nothing new
no_news() {
	local name="$1" commit
	shift
	for commit in $commits; do
		wgit checkout -q -f --detach "$commit" || return 1
		"$@" "$commit" >"$logs/$name.$commit" || { cat "$logs/$name.$commit"; return 1; }
		# Without lines, and the lines that a text names, and the length of a text. What
		# is said of a header is said once for each file that includes it
		sed "s|$work/src/||g; s/:[0-9][0-9]*\(:[0-9]*\)\{0,1\}/:/g
			s/\(lines*\) [0-9][0-9]*/\1 N/g; s/[0-9]*-character/N-character/" \
			"$logs/$name.$commit" | awk '/\.c:/ || !told[$0]++' |
			sort >"$logs/$name.$commit.normal"
	done
	wc -l "$logs/$name".*.normal
	! comm -13 "$logs/$name.base.normal" "$logs/$name.$head.normal" | grep .
}

# To Debian's sparse, the length of __builtin_strlen() is not a constant: MODULE_INFO() needs one
without_module_info() {
	local said line
	while IFS= read -r said; do
		case $said in
		*': error: bad constant expression')
			line=${said#*:}
			! sed -n "${line%%:*}p" "${said%%:*}" | grep -qi '^module_[a-z_]*(' ||
				continue ;;
		esac
		printf '%s\n' "$said"
	done
}

# objects ARCH: those of the .c files of x86, as far as this tree has them. A file that another
# one includes stands for the object of that one
objects() {
	local file
	for file in $all_c; do
		[ -f "$work/src/$file" ] || continue
		case $1:$file in
		*:arch/arm64/* | *:arch/riscv/* | i386:*/startup/* | i386:*/coco/* | \
		i386:*/entry_fred.c | i386:*/head64.c | i386:*/vsyscall_64.c | i386:*/xen/*)
			;;
		*/startup/sev-shared.c)	echo "${file%/*}/sev-startup.o" ;;
		*)			echo "${file%.c}.o" ;;
		esac
	done
}

# compile ARCH: with W=1 and sparse, which does not know __typeof_unqual__, and report what was
# not checked. After an error of sparse, which the base has too, it goes on with the next
# object. A note on the way to an included file is not a warning, and changes with each #include
compile() {
	local out=checkers said object config="$top/configs"
	[ "$1" != i386 ] || out=i386
	"$top/scripts/kernel/build" -c "$work/src" $out "$config/checkers.config" \
		"$config/foreign.config" || return 1
	use_ccache "$work"
	said=$(kmake "$work/src" "$work/$out" -k ARCH="$1" W=1 C=2 \
		CHECK='sparse -D__typeof_unqual__=__typeof__' $(objects "$1") 2>&1)
	printf '%s\n' "$said" | grep -E 'warning|[Ee]rror|note:|Segmentation|Killed' |
		grep -v 'note: in included file' | without_module_info
	for object in $(objects "$1"); do
		printf '%s\n' "$said" | grep -qE "^ +CHECK +(.*/)?${object%.o}\.c$" ||
			{ echo "$object: error: this was not checked"; return 1; }
	done
}

# coccicheck COMMIT: the semantic patches that have a report, and no part in OCaml, on each file
# of that commit. Some take too long on the large files of mm/: these are left out
coccicheck() {
	local files semantic_patch file
	cd "$work/src" && rm -rf "$logs/cocci" && mkdir "$logs/cocci" || return 1
	files=$(ls -d $(echo "$touched" | grep '\.[ch]$' | grep -v ^tools/) 2>/dev/null)
	grep -rl --include='*.cocci' '^virtual report' scripts/coccinelle |
		xargs grep -L 'script:ocaml' | sort | while read -r semantic_patch; do
		printf "$semantic_patch %s\n" $files
	done >"$logs/cocci.list"
	# shellcheck disable=SC2016 # of the inner shell
	PATH=/usr/bin:/bin xargs -P "$(nproc)" -L 1 sh -c '
		out=$1/$(echo "$2-$3" | tr / -)
		timeout --foreground 60 spatch -D report --no-show-diff --very-quiet \
			--no-includes --include-headers --cocci-file "$2" "$3" \
			>"$out" 2>"$out.err" ||
			{ echo "$2 on $3: status $?" >>"$1.left-out"; rm "$out"; }' \
		sh "$logs/cocci" <"$logs/cocci.list"
	# It is not a check if more than a quarter was left out
	find "$logs/cocci" -type f ! -name '*.err' -exec cat {} +
	[ "$(find "$logs/cocci" -type f ! -name '*.err' | wc -l)" -gt \
		$(($(wc -l <"$logs/cocci.list") * 3 / 4)) ]
}

# The folder trace/ alone. Labels of other folders are missing, in the base as well
sphinx() {
	rm -rf "$work/checkers/Documentation/output"
	PATH=/usr/bin:/bin:/usr/sbin:/sbin make -C "$work/src" O="$work/checkers" htmldocs \
		SPHINXDIRS=trace SPHINXOPTS=-q >"$logs/sphinx.make" 2>&1 ||
		{ tail "$logs/sphinx.make"; return 1; }
	grep -E 'WARNING|ERROR|CRITICAL' "$logs/sphinx.make" || :
	[ "$1" = base ] || ls "$work"/checkers/Documentation/output/trace/events-trap.html \
		"$work"/checkers/Documentation/output/trace/events-pagefault.html >&2
}

check_with sparse 'sparse and W=1' no_news sparse compile x86_64
check_with sparse 'sparse and W=1 for i386' no_news i386 compile i386
check_with spatch coccicheck no_news cocci coccicheck
check_with 'sphinx-build /usr/lib/python3/dist-packages/yaml' Sphinx no_news sphinx sphinx
