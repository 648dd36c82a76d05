# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # variables of scripts/series/send-dry
# How a mail is made, addressed and checked. Sourced by scripts/series/send-dry.

complain() { echo "$1" >&2; bad=1; }
mails() {	# DIR OPTION...
	local to="$1"
	shift
	# shellcheck disable=SC2086 # a few words, or none
	sgit format-patch -q -o "$to" --base=tags/base ${VERSION:+-v "$VERSION"} $rfc \
		--no-renames --no-signature "$@"
}

# address MAIL PATCH...: to the people whom these patches concern
address() {
	local mail="$1" people
	shift
	# It complains about each commit of Fixes: that the tree does not have
	people=$(cd "$src" && scripts/get_maintainer.pl --no-git --no-git-fallback \
		--no-rolestats "$@" 2>/dev/null |
		grep -v -e "<$email>" -e "<$IDENTITY_EMAIL>" | sort -u)
	[ "$people" ] || complain "$one/${mail##*/}: get_maintainer.pl found no recipients"
	# The first header line is mbox's From
	echo "$people" | sed 's/^/To: /' >"$dir/people"
	sed -i "1r $dir/people" "$mail"
	rm "$dir/people"
}

# check_mails: complain about those of the series $one, in $dir
check_mails() {
	local text long n patch mail said
	# Not its records of events, and not links, which are longer
	text=${letter:-$dir/cover-letter.txt}
	long=$(sed '1,/^$/d; /^ [a-zA-Z].* | /,$d' "$text" | grep -E '^.{76}' |
		grep -v -e '[0-9]: ' -e https:// || :)
	[ -z "$long" ] || complain "$one/${text##*/}: longer than 75 columns: $long"
	n=0
	for patch in $(patches_of "$one"); do
		n=$((n + 1))
		mail=$(find "$dir" -name '*.patch' ! -path "$letter" | sort | sed -n "${n}p")
		said=$("$top/scripts/series/checkpatch" "$src" "$base" "$patch" "$mail" || :)
		[ -z "$said" ] || complain "$said"
	done
	said=$(codespell -L damon,ist,erro,reenabled "$dir" || :)
	[ -z "$said" ] || complain "$said"
	git send-email --dry-run --quiet --suppress-cc=all --no-chain-reply-to --no-thread \
		--to-cmd=true --confirm=never --from="$name <$email>" --smtp-server=/bin/false \
		"$dir"/*.patch >"$dir/send-email.log" 2>&1 ||
		complain "$one: git send-email refuses: $(tail -n 1 "$dir/send-email.log")"
}
