# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/series/make
# How files, diffs and messages become commits. Sourced by scripts/series/make.

# maintainers: each section as far as its files exist, in its place
maintainers() {
	local there
	set -f	# They are patterns for git
	# shellcheck disable=SC2086 # a list
	there=$(plain_git ls-files -- $patterns)
	set +f
	plain_git cat-file blob base:MAINTAINERS |
		"$top/scripts/series/maintainers.py" "$tmp/snippet" "$there" >"$tmp/MAINTAINERS"
	entry_of 100644 "$tmp/MAINTAINERS" MAINTAINERS | plain_git update-index --index-info
}

# entry_of MODE FILE KERNEL-PATH: a line for the index
entry_of() {
	printf '%s %s\t%s\n' "$1" "$(plain_git hash-object -w "$2")" "$3"
}

# line_of REF ENTRY...: a line of commits on the base with these entries
line_of() {
	local ref="$1" parent="$base_commit" entry
	shift
	plain_git read-tree "$parent"
	for entry in "$@"; do
		commit_of "$entry"
	done
	plain_git update-ref "$ref" "$parent"
}

commit_of() {	# ENTRY
	local files="$series_dir/$1.files" diff msg file path mode tree
	msg=$(message_of "$1")
	[ -s "$msg" ] || die "no message for '$1': write $msg"

	if [ -f "$files" ]; then
		list "$files" >"$tmp/files"
		: >"$tmp/new"
		# A second word is the name in the kernel, of a file that two series have
		while read -r file path; do
			if [ "$path" ]; then
				:
			elif [ "$base" = lttng-modules ]; then
				path=$file file=lttng-modules/$file
			else
				path=$(kernel_path "${1%/*}" "$file") ||
					die "$files: path_map of scripts/series/lists.sh has no folder for $file"
			fi
			[ -f "$top/$file" ] || die "$files: there is no file $file"
			! plain_git cat-file -e "base:$path" 2>/dev/null ||
				die "$files: $base has $path: change it with $hooks/$1.diff"
			mode=100644
			[ ! -x "$top/$file" ] || mode=100755
			entry_of $mode "$top/$file" "$path" >>"$tmp/new"
		done <"$tmp/files"
		plain_git update-index --index-info <"$tmp/new"
		[ "$base" = lttng-modules ] || maintainers
	fi
	# Those of lttng-modules are both in one folder
	for diff in $(printf '%s\n' "$shared_hooks/$1.diff" "$hooks/$1.diff" | uniq); do
		[ -s "$diff" ] || continue
		plain_git apply --cached --whitespace=nowarn "$diff" 2>"$tmp/err" ||
			die "$diff does not apply $where: $(head -n 1 "$tmp/err")"
	done
	plain_git interpret-trailers --no-divider \
		--trailer "Signed-off-by: $IDENTITY_NAME <$IDENTITY_EMAIL>" \
		<"$msg" >"$tmp/msg"
	tree=$(plain_git write-tree)
	[ "$tree" != "$(plain_git rev-parse "$parent^{tree}")" ] ||
		die "commit '$1' changes nothing: give it files or a diff"
	parent=$(plain_git commit-tree -p "$parent" -F "$tmp/msg" "$tree")
}
