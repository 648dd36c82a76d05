# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2046,SC2086 # variables of scripts/check/run, lists
# checkers: sparse, W=1, coccicheck, Sphinx, get_maintainer and spdxcheck, against the base
#
# What they say of the files that a patch touches is compared, without line numbers,
# with what they say of these files in the base. What is new is a failure. The
# documentation is built as the whole series leaves it.

work=$dir/checkers
mkdir -p "$work"
work_tree "$work/src" HEAD >"$logs/checkers.tree" 2>&1 || {
	fail_part "there is a source for the checkers (log: $logs/checkers.tree)"
	exit
}
wgit() { plain_git -C "$work/src" "$@"; }
all_c=$(wgit diff --name-only base HEAD -- '*.c' | grep -v ^tools/)

# Debian's sparse does not know __typeof_unqual__
sparse='sparse -D__typeof_unqual__=__typeof__'

# To Debian's sparse, the length of __builtin_strlen() is no constant: MODULE_INFO() needs one
without_module_info() {
	local said line
	while IFS= read -r said; do
		case $said in
		*': error: bad constant expression')
			line=${said#*:}
			! sed -n "${line%%:*}p" "${said%%:*}" | grep -qi '^module_[a-z_]*(' || continue ;;
		esac
		printf '%s\n' "$said"
	done
}

# Lines without their place and the places that they name ("preceding lock on line 5383"),
# and without the length of a text, in an order of their own.
# What is said of a header is said once for each file that includes it
normal() {
	sed "s|$work/src/||g; s/:[0-9][0-9]*\(:[0-9]*\)\{0,1\}/:/g; s/\(lines*\) [0-9][0-9]*/\1 N/g
		s/[0-9]*-character/N-character/" |
		awk '/\.c:/ || !told[$0]++' | sort
}

# What a tree in which no kernel is built needs for single objects. They are for x86_64,
# unless of= says i386
of=checkers
configure() {
	wgit checkout -q -f --detach "$1" &&
	"$top/scripts/kernel/build" -c "$work/src" $of "$top/scripts/kernel/config/checkers.config" \
		"$top/scripts/kernel/config/foreign.config"
}

# objects FILES...: the objects of these .c files, as far as this tree has them. A file that
# another one includes stands for the object of that one.
objects() {
	local file
	for file in "$@"; do
		[ -f "$work/src/$file" ] || continue
		case $of:$file in
		i386:*/startup/* | i386:*/coco/* | i386:*/entry_fred.c | i386:*/head64.c | i386:*/vsyscall_64.c | i386:*/xen/*)
			;;
		*/startup/sev-shared.c)	echo "${file%/*}/sev-startup.o" ;;
		*)			echo "${file%.c}.o" ;;
		esac
	done
}

# compile OBJECT...: with W=1 and sparse, and report what was not checked. After an error of
# sparse, which the base has too, it goes on with the next object. A note on the way to an
# included file is no warning, and it changes with each new #include.
compile() {
	local arch=x86_64 said object
	[ $of != i386 ] || arch=i386
	use_ccache "$work"
	said=$(kmake "$work/src" "$work/$of" -k ARCH=$arch W=1 C=2 CHECK="$sparse" "$@" 2>&1)
	printf '%s\n' "$said" | grep -E 'warning|[Ee]rror|note:|Segmentation|Killed' |
		grep -v 'note: in included file' | without_module_info | normal
	for object in "$@"; do
		printf '%s\n' "$said" | grep -qE "^ +CHECK +(.*/)?${object%.o}\.c$" ||
			echo "$object: error: this was not checked"
	done
}
compile_base() {
	configure base && compile $(objects $all_c) >"$logs/compile.$of.new" &&
	! grep 'this was not checked' "$logs/compile.$of.new" &&
	mv "$logs/compile.$of.new" "$logs/compile.$of"
}

# For a patch with headers alone: the .c files that use most of them
compile_patch() {	# COMMIT
	[ -f "$logs/compile.$of" ] || compile_base || return 1
	configure "$1" || return 1
	set -- $(wgit diff --name-only --diff-filter=AM "$1^" "$1" | grep -v ^tools/)
	case " $* " in
	*.c\ *)	;;
	*.h\ *)	set -- arch/x86/kernel/traps.c arch/x86/mm/fault.c mm/memory.c ;;
	esac
	set -- $(printf '%s\n' "$@" | grep '\.c$')
	compile_new $(objects "$@")
}
compile_new() {	# OBJECT...
	[ $# -gt 0 ] || return 1
	echo "checked: $*"
	! compile "$@" | sort | comm -13 "$logs/compile.$of" - | grep .
}
# The whole series at once: what it has for 32 bit is in files that both have
compile_i386() (
	of=i386
	compile_base && configure "$head" && compile_new $(objects $all_c)
)

# The semantic patches that have a report, and no part in OCaml, whose compiler is no
# tool of this project
semantic_patches() {
	(cd "$work/src" && grep -rl --include='*.cocci' '^virtual report' scripts/coccinelle |
		xargs grep -L 'script:ocaml' | sort)
}

# coccicheck COMMIT FOLDER FILES: with each semantic patch of the input. What they say,
# and the names of those that fail, or take too long, as some do on the large files of mm/
coccicheck() {
	local semantic_patch file
	wgit checkout -q -f --detach "$1" && rm -rf "$2" && mkdir -p "$2" || return 1
	while read -r semantic_patch; do
		for file in $3; do
			echo "$semantic_patch $file"
		done
	done >"$2.list"
	# shellcheck disable=SC2016 # of the inner shell
	PATH=/usr/bin:/bin xargs -P "$(nproc)" -L 1 sh -c '
		out=$2/$(echo "$3-$4" | tr / -)
		cd "$1" || exit
		timeout --foreground 60 spatch -D report --no-show-diff --very-quiet \
			--no-includes --include-headers --cocci-file "$3" "$4" \
			>"$out.said" 2>"$out.err"
		case $? in
		0)	sed -i "s|^|$3 |" "$out.said" && mv "$out.said" "$out.ran" ;;
		124)	echo "$3 on $4" >"$out.slow" ;;
		*)	{ echo "error: $3 on $4:"; cat "$out.err"; } >"$out.failed" ;;
		esac' \
		sh "$work/src" "$2" <"$2.list"
}
cocci() {	# COMMIT
	set -- "$1" $(wgit diff --name-only --diff-filter=AM "$1^" "$1" -- '*.c' '*.h' | grep -v ^tools/)
	local commit="$1"
	shift
	semantic_patches | coccicheck "$commit" "$logs/cocci" "$*" || return 1
	echo "$(wc -l <"$logs/cocci.list") times a semantic patch on a file, these did not end:"
	find "$logs/cocci" -name '*.slow' -exec cat {} +
	! find "$logs/cocci" -name '*.failed' -exec cat {} + | grep . || return 1
	for file in "$@"; do
		ran=$(find "$logs/cocci" -name "*-$(echo "$file" | tr / -).ran" | wc -l)
		echo "$file: $ran"
		[ "$ran" -gt 40 ] || return 1
	done
	find "$logs/cocci" -name '*.ran' -exec cat {} + | normal >"$logs/cocci.said"
	[ -s "$logs/cocci.said" ] || return 0

	# Does the base have the same? Those files of the patch's that it has
	set -- $(wgit ls-tree --name-only base "$@")
	cut -d ' ' -f 1 "$logs/cocci.said" | sort -u | coccicheck base "$logs/cocci.base" "$*" || return 1
	find "$logs/cocci.base" -name '*.ran' -exec cat {} + | normal >"$logs/cocci.base.said"
	wc -l "$logs/cocci.said" "$logs/cocci.base.said"
	! comm -23 "$logs/cocci.said" "$logs/cocci.base.said" | grep .
}

# Build the folder trace/ alone. Labels of other folders are missing, in the base as well.
sphinx() {
	local commit
	for commit in base "$head"; do
		wgit checkout -q -f --detach "$commit" &&
		rm -rf "$work/checkers/Documentation/output" || return 1
		PATH=/usr/bin:/bin:/usr/sbin:/sbin make -C "$work/src" O="$work/checkers" htmldocs \
			SPHINXDIRS=trace SPHINXOPTS=-q >"$logs/sphinx.make" 2>&1 ||
			{ tail "$logs/sphinx.make"; return 1; }
		grep -E 'WARNING|ERROR|CRITICAL' "$logs/sphinx.make" | normal >"$logs/sphinx.$commit"
	done
	ls "$work"/checkers/Documentation/output/trace/events-trap.html \
		"$work"/checkers/Documentation/output/trace/events-pagefault.html || return 1
	wc -l "$logs/sphinx.base" "$logs/sphinx.$head"
	! comm -13 "$logs/sphinx.base" "$logs/sphinx.$head" | grep .
}

# Each file that the base has, of those that a patch touches, has all the maintainers and
# lists that it had; each other one has a maintainer, and a list beside linux-kernel
who() {	# COMMIT FILE...: lines "FILE: WHO", for those that are there
	local file
	cd "$work/src" && wgit checkout -q -f --detach "$1" || return 1
	shift
	for file in "$@"; do
		[ ! -e "$file" ] || scripts/get_maintainer.pl --no-git --no-git-fallback --no-rolestats \
			-f "$file" | sed "s|^|$file: |"
	done
}
maintainers() (	# COMMIT
	bad=0
	files=$(wgit diff --name-only --no-renames --diff-filter=d "$1^" "$1")
	of_base=$(who base $files) && now=$(who "$1" $files) && cd "$work/src" || exit 1
	! echo "$of_base" | grep -vxF "$now" | grep . |
		sed 's/$/: error: get_maintainer.pl no longer names this/' | grep . || bad=1
	for file in $files; do
		if wgit cat-file -e "base:$file" 2>/dev/null; then
			echo "$of_base" | grep -qF "$file: " ||
				{ echo "$file: get_maintainer.pl names nobody"; exit 1; }
			continue
		fi
		found=$(scripts/get_maintainer.pl --no-git --no-git-fallback -f "$file") || exit 1
		if ! echo "$found" | grep -qE '\((maintainer|supporter)'; then
			printf '%s\n' "$file: error: no maintainer" "$found"
		elif ! echo "$found" | grep -v '^linux-kernel@' | grep -q ' list'; then
			printf '%s\n' "$file: error: no list" "$found"
		else
			continue
		fi
		bad=1
	done
	exit $bad
)
# That each pattern of MAINTAINERS matches a file, and each section is in order
maintainers_file() (
	for commit in base "$head"; do
		wgit checkout -q -f --detach "$commit" && cd "$work/src" || exit 1
		for what in patterns sections; do
			scripts/get_maintainer.pl --self-test=$what
		done 2>&1 | normal >"$logs/self-test.$commit"
	done
	wc -l "$logs/self-test.base" "$logs/self-test.$head"
	! comm -13 "$logs/self-test.base" "$logs/self-test.$head" | grep .
)

spdxcheck() (	# COMMIT
	cd "$work/src" && wgit checkout -q -f --detach "$1" || exit 1
	said=$(wgit diff --name-only --diff-filter=AM "$1^" "$1" |
		PATH=/usr/bin:/bin xargs python3 scripts/spdxcheck.py -v 2>&1) || { echo "$said"; exit 1; }
	# Its status is 0, whatever it finds
	echo "$said"
	echo "$said" | grep -qE 'Files checked: *[1-9]' &&
	! echo "$said" | grep -E -e 'Files with errors: *[1-9]' -e ': [0-9]+:[0-9]+ '
)

head=$(plain_git -C "$src" rev-parse HEAD)
if selected coccicheck && have spatch coccicheck; then
	semantic_patches >"$logs/cocci.used"
	left_out=$(cd "$work/src" && find scripts/coccinelle -name '*.cocci' | sort |
		grep -vxFf "$logs/cocci.used" | sed 's|.*/||' | tr '\n' ' ')
	skip "coccicheck: ${left_out% }" 'these have no mode "report", or a part in OCaml'
fi
for commit in $(wgit rev-list --reverse "base..$head"); do
	subject=$(wgit log -1 --format=%s "$commit")
	check_with "$licences" "spdxcheck: $subject" spdxcheck "$commit"
	check "get_maintainer: $subject" maintainers "$commit"
	wgit diff --name-only "$commit^" "$commit" | grep -v ^tools/ | grep -q '\.[ch]$' || continue
	check_with sparse "sparse and W=1: $subject" compile_patch "$commit"
	if ! have spatch "coccicheck: $subject" || ! selected "coccicheck: $subject"; then
		continue
	fi
	check "coccicheck: $subject" cocci "$commit"
	none=$(find "$logs/cocci" -name '*.slow' | wc -l)
	[ "$none" = 0 ] || skip "coccicheck: $subject: $none of $(wc -l <"$logs/cocci.list") semantic patches and files" \
		'they do not end within a minute'
done
check_with sparse 'sparse and W=1: the whole series, for i386' compile_i386
check_with 'sphinx-build /usr/lib/python3/dist-packages/yaml' Sphinx sphinx
check 'get_maintainer has no new complaint about MAINTAINERS' maintainers_file
