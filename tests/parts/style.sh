# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2046 # variables of tests/check
# style: checkpatch, SPDX, kernel-doc, shellcheck, spelling, unit tests

checkpatch() { is_silent "$top/scripts/series/checkpatch" "$src" "$base" "$1"; }
checkpatch_programs() (
	# It leaves a file with names where it runs
	cd "$logs" && is_silent find "$top/bench" "$top/scripts" "$top/tests" "$top/trapstat" \
		-name '*.[chS]' -exec "$top/tests/checkpatch-programs" {} +
)
# With Debian's python, which the kernel's own scripts want, it succeeds and says nothing
is_silent() {
	local said status=0
	said=$(PATH=/usr/bin:/bin:/usr/sbin:/sbin "$@") || status=$?
	printf '%s\n' "$said"
	[ ! "$said" ] && [ $status = 0 ]
}

spdx() (
	cd "$top" && ! plain_git ls-files -co --exclude-standard |
		grep -vE '^COPYING$|^patches/|\.(msg|diff|png)$|/(settings|cover)$' |
		xargs grep -L 'SPDX-License-Identifier: GPL-2.0' | grep .
)
shell_scripts() (
	# tick and trap call functions that shellcheck takes for unreachable (SC2317)
	cd "$top" && plain_git ls-files -co --exclude-standard |
		xargs grep -lE '^#!/bin/(ba)?sh|^# shellcheck shell=' |
		xargs shellcheck -x -e SC2317
)
spelling() (
	cd "$top" && plain_git ls-files -co --exclude-standard | xargs codespell
)
kernel_doc() (
	PATH=/usr/bin:/bin "$src/scripts/kernel-doc" -rst "$src/arch/x86/include/asm/trap_trace.h" \
		2>/dev/null | grep trap_trace_entry || exit 1
	files=$(plain_git -C "$src" diff --name-only base HEAD)
	of_commit base "$files" && of_commit HEAD "$files" &&
	! comm -13 "$logs/kernel-doc.base" "$logs/kernel-doc.HEAD" | grep .
)
# of_commit COMMIT FILES: what kernel-doc says of those that are there then
of_commit() {
	rm -rf "$logs/kernel-doc" && mkdir "$logs/kernel-doc" && cd "$logs/kernel-doc" || return 1
	: >"$logs/kernel-doc.$1"
	echo "$2" | grep '\.[ch]$' | grep -v ^tools/ >"$logs/kernel-doc.asked" || return 0
	plain_git -C "$src" ls-tree -r --name-only "$1" -- $(cat "$logs/kernel-doc.asked") \
		>"$logs/kernel-doc.files" &&
	plain_git -C "$src" archive "$1" -- $(cat "$logs/kernel-doc.files") | tar -xf - || return 1
	wc -l <"$logs/kernel-doc.files"
	PATH=/usr/bin:/bin xargs "$src/scripts/kernel-doc" -none -Wall \
		<"$logs/kernel-doc.files" 2>&1 | sed 's/:[0-9][0-9]*:* /: /' |
		sort >"$logs/kernel-doc.$1"
}
# Each enum is written once, in pagefault_trace.h, and its names stand in four more places
enums() {
	local enum names events lttng document
	for enum in outcome kind; do
		names=$(sed -n "/^enum pagefault_$enum/,/^}/s/^.PAGEFAULT_\([A-Z]*\).*/\1/p" \
			"$src/include/linux/pagefault_trace.h")
		events=$(sed -n "/^#define PAGEFAULT_${enum}S/I,/EMe/p" \
			"$src/include/trace/events/pagefault.h")
		lttng=$(sed -n "/^LTTNG.*(pagefault_$enum,/,/^)/s/.*(\"\(.*\)\".*/\1/p" \
			"$top/lttng-modules/include/instrumentation/events/pagefault.h")
		document=$(sed -n "/^$enum  *number/,/^\$/s/^\([A-Z]\+\) *\([0-9]\+\) .*/\1 \2/p" \
			"$src/Documentation/trace/events-pagefault.rst")
		[ "$names" ] && same "$names" "$lttng" &&
		same "$names" "$(echo "$events" | grep -oE 'EMe?[(][A-Z]*' | sed 's/.*(//')" &&
		same "$(echo "$names" | awk '{ print $1, NR - 1 }')" "$document" &&
		same "$(echo "$names" | sort)" "$(grep -ohwE "\"($(echo "$names" | paste -sd '|'))\"" \
			"$top/trapstat/text.c" "$top/trapstat/names.c" | tr -d '"' | sort -u)" || return 1
	done
}
documentation() {
	local rst
	for rst in "$top"/Documentation/*/*.rst; do
		PATH=/usr/bin:/bin rst2html --halt=2 "$rst" >/dev/null || return 1
	done
}

for file in $(patches_of all); do
	check_with "$licences" "checkpatch --strict: ${file%.patch}" checkpatch "$file"
done
name='checkpatch --strict on our programs'
if [ "$base" = "$(default_base)" ]; then
	check_with "$licences" "$name" checkpatch_programs
elif selected "$name"; then
	skip "$name" "checkpatch.pl of $(default_base) reads them"
fi
check 'kernel-doc of what the series adds' kernel_doc
check 'events, document and LTTng have the names of the enums in pagefault_trace.h' enums
check_with rst2html 'Documentation/ is valid reStructuredText' documentation
check 'SPDX in every file' spdx
check 'the unit tests pass' "$top/tests/unit-tests"
check_with shellcheck shellcheck shell_scripts
check_with codespell codespell spelling
