# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part packages: what the completions of three shells have

# Each option of the program is in all three, which their shells can read
completions() {
	local option n=0
	zsh -n "$top/trapstat/completion.zsh" && fish -n "$top/trapstat/completion.fish" &&
	bash -n "$top/trapstat/completion.bash" || return 1
	sed -n 's/.*{ "\([a-z-]*\)", [a-z]*_argument,.*/\1/p' "$top/trapstat/main.c" \
		>"$logs/options"
	while read -r option; do
		if ! grep -q -- "--$option\b" "$top/trapstat/completion.bash" ||
		   ! grep -q -- "--$option\b" "$top/trapstat/completion.zsh" ||
		   ! grep -qE -- "-l $option( |$)" "$top/trapstat/completion.fish" ||
		   ! sed 's|[^a-z]-|-|g' "$top/trapstat/trapstat.8" | grep -q -- "--$option\b"; then
			echo "$option is missing"
			return 1
		fi
		n=$((n + 1))
	done <"$logs/options"
	[ $n -gt 15 ] &&
	[ "$(in_fish 'trapstat rec')" = record ] && [ "$(in_fish 'trapstat --lis')" = --listen ]
}
# Each column that a view can be sorted by is in all three, and nothing else; each outcome, too
columns_complete() {
	local shell outcomes
	heads "$top/trapstat/faults.c" "$top/trapstat/command.c" "$top/trapstat/traps.c" |
		sort -u >"$logs/heads"
	[ "$(wc -l <"$logs/heads")" -gt 30 ] || return 1
	in_fish 'trapstat --sort ' >"$logs/heads.fish"
	in_bash --sort '' >"$logs/heads.bash"
	tr -s '\n\t' ' ' <"$top/trapstat/completion.zsh" |
		sed 's/.*--sort=[^(]*(\([^)]*\).*/\1/' | tr ' ' '\n' >"$logs/heads.zsh"
	outcomes=$(sed -n '/outcome_names/,/}/s/^\t//p' "$top/trapstat/text.c" | tr -d '",-' |
		tr '[:upper:]\n' '[:lower:] ' | sed 's/ *$//' | grep ' arch oops error unknown$') || return 1
	for shell in fish bash zsh; do
		sort "$logs/heads.$shell" | diff "$logs/heads" - || return 1
		tr -s '\n\t' ' ' <"$top/trapstat/completion.$shell" |
			grep -qF "$outcomes" || return 1
	done
	[ "$(in_bash --outcome = mi)" = minor ] && [ "$(in_bash --source = | wc -l)" = 6 ]
}
# Of C code: the names in front of the keys, without % and /s
heads() {
	grep -ohE '"[A-Z0-9-]+(%|/s)?", "[a-z0-9_]+"' "$@" | cut -d '"' -f 2 | cut -d / -f 1 |
		tr -d % | tr '[:upper:]' '[:lower:]'
}
in_bash() {	# WORD...: how bash completes the last one
	# shellcheck disable=SC2016 # of bash
	bash -c '. "$1"; shift; COMP_WORDS=(trapstat "$@"); COMP_CWORD=$#; _trapstat
		printf "%s\n" "${COMPREPLY[@]}"' sh "$top/trapstat/completion.bash" "$@"
}
in_fish() { fish -c "source $top/trapstat/completion.fish; complete -C '$1'" | cut -f 1; }
