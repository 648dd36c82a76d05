# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# send: the mails that make send-dry writes, also with bad input

# send_dry COPY [VARIABLE=VALUE...]: make send-dry there, as somebody
send_dry() (
	copy=$1
	shift
	mkdir -p "$logs/home"
	printf '[user]\n\tname = %s\n\temail = %s\n' "${NAME:-A Sender}" \
		"${SENDER:-sender@kernel.dev}" >"$logs/home/.gitconfig"
	cd "$copy" &&
	env HOME="$logs/home" CACHE="$cache" SERIES=filter "$@" scripts/series/send-dry "$base"
)
not_sent() {	# WORDS VARIABLE=VALUE...
	local words="$1"
	shift
	sources_copy "$logs/not-sent" && fails "$words" send_dry "$logs/not-sent" "$@"
}
mails() (
	sources_copy "$logs/send" && cd "$logs/send" && send_dry . VERSION=2 &&
	cd build/send/filter && same 1 "$(find . -name '*.patch' | wc -l)" || exit 1
	mail=$(echo v2-0001-*.patch)
	in_file "$mail" '^From: A Sender <sender@kernel.dev>$' '^base-commit: [0-9a-f]{40}$' \
		'^Subject: \[RFC PATCH v2\] tracing: Accept symbols in event filters$' \
		'^Signed-off-by: A Sender <sender@kernel.dev>$' || exit 1
	lists=$(sed -n '/^TRACING$/,/^$/s/^L:[[:space:]]*\([^ ]*\).*/\1/p' "$src/MAINTAINERS")
	for list in ${lists:-linux-kernel@vger.kernel.org}; do
		in_file "$mail" "^To: $list\$" || exit 1
	done
	sed '1,/^---$/d' "$mail" >below && in_file below '^Question: ' &&
	in_file send-email.log '\[RFC PATCH v2\]' && ! grep -v '^Dry-' send-email.log || exit 1
	! grep -E 'Trap Trace Events|@example.invalid|^A Sender [(]|^prerequisite' "$mail" || exit 1
	cd ../../.. && NAME='Ä & | Sender' send_dry . SERIES=pagefault &&
	cd build/send/pagefault || exit 1
	count=$(patches_of pagefault | wc -l)
	same $((count + 1)) "$(find . -name '*.patch' | wc -l)" || exit 1
	in_file 0000-cover-letter.patch '^Content-Transfer-Encoding: 8bit$' \
		"^Subject: \[PATCH 0/$count\] x86/mm: Trace events for page faults\$" || exit 1
	! grep 8bit send-email.log || exit 1
	! grep '^prerequisite-patch-id: ' 0000-cover-letter.patch || exit 1
	same '' "$(grep -L '^To: linux-kernel@vger.kernel.org$' ./*.patch)" || exit 1
	! grep -E 'Trap Trace Events|@example.invalid' ./*.patch || exit 1
	[ -d "$patches/rv" ] || exit 0
	cd ../../.. && send_dry . SERIES=rv && cd build/send/rv &&
	same "$(for patch in "$patches"/pagefault/000[1-6]-*.patch; do
		sed 's/Trap Trace Events <.*@example.invalid>/A Sender <sender@kernel.dev>/' \
			"$patch" | git patch-id --stable
	done | cut -d ' ' -f 1)" "$(sed -n 's/^prerequisite-patch-id: //p' ./*.patch)"
)
# git am -3 leaves out the patches that the tree has. The user takes their names away
some_are_there() {
	work_tree "$logs/some" "$(plain_git -C "$src" rev-list --reverse base..HEAD | head -n 1)" &&
	not_sent 'has some of the patches already' KERNEL_TREE="$logs/some" || return 1
	(
		cd "$logs/not-sent" && sed -i '/^cr2$/d' series/fixes/series &&
		scripts/series/make "$base" && send_dry . KERNEL_TREE="$logs/some" &&
		grep -x "base-commit: $(plain_git -C "$logs/some" rev-parse HEAD)" \
			build/send/filter/*.patch
	)
}
# What has an error is not ready, and the mails made before stay
not_ready() (
	cd "$logs/send" && sed -i "s/^Many events print symbols/$(printf '%080d' 0)/" \
		"patches/$base/filter/cover-letter.txt" &&
	sed -i 's/^+\treturn /+        return /' "patches/$base/filter/"0001-*.patch &&
	! send_dry . >out 2>&1 && in_file out 'cover-letter.txt: longer than 75 columns' CODE_INDENT &&
	ls build/send/pagefault/0000-cover-letter.patch
)

if [ "$source_version" = "$base_version" ] &&
   have 'codespell /usr/lib/git-core/git-send-email' 'send-dry: the mails of a series'; then
	check 'send-dry: the mails of a series' mails
	check 'send-dry: a long line in a cover letter, and what checkpatch finds' not_ready
	check_slow 'bad input: send-dry to a tree that has some of the patches' some_are_there
fi
SENDER=you@example.org check 'bad input: no sender' not_sent "is not a person's address"
check 'bad input: send-dry of no such series' not_sent 'one of: fixes structs trap' SERIES=none
