# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part trapstat-here: what needs no BPF: the build, arguments, man page

built_without_warning() {
	is_built && ! grep -i 'warning' "$logs/trapstat-builds.log"
}
computes() {
	local sources
	is_built || return 1
	sources=$(find "$top/trapstat" -name '*.c' ! -name '*.bpf.c' ! -name main.c \
		! -name counts.c ! -name maps.c ! -name symbols.c)
	# shellcheck disable=SC2086 # a list of words
	gcc -O2 -Wall -isystem "$logs/built" -I"$top/trapstat" -Wno-format-truncation \
		-DTRAPSTAT_VERSION='"of a test"' -o "$logs/unit" "$top/tests/trapstat/unit.c" $sources \
		-lbpf -ldw -lelf -lz -ljansson -liberty -lmicrohttpd && "$logs/unit"
}
# The message that bad arguments get, before anything is loaded
refuses() {
	local n=0
	is_built || return 1
	while IFS=: read -r args message; do
		# shellcheck disable=SC2086 # a list of words
		"$trapstat" $args >"$logs/refused" 2>&1 </dev/null && return 1
		grep -qF -- "$message" "$logs/refused" || { echo "$args: $(cat "$logs/refused")"; return 1; }
		n=$((n + 1))
	done <<-'END'
	--slower 1 faults:invalid duration '1'
	--slower 0ns faults:invalid duration '0ns'
	--vector 33:unknown vector '33'
	--vector XY:unknown vector 'XY'
	--outcome bad faults:unknown outcome 'bad'
	--source x:unknown source 'x'
	-p 0:invalid PID '0'
	-p 1,x:invalid PID 'x'
	-n x faults:invalid row count 'x'
	0.001:invalid interval '0.001'
	1e9:invalid interval '1e9'
	ls:invalid interval 'ls'; views are faults, crashes, record, report, export
	1 0:invalid count '0'
	1 2 3:extra operand '3'
	--duration x:invalid duration 'x'
	-t -f faults:exclude each other
	-t:are for 'trapstat faults'
	-C faults:-C is for
	-H record -o x.csv:-H is for
	-H faults -g:-H shows all
	-n 1 export:-n is for
	-T export:-T is for
	-T -- true:-T is for
	--json export:--json is not for
	--sort p99 crashes:--sort is not for
	--sort p99 --slower 1ms faults:--sort is not for
	-w 1:-w is for
	record:record takes -o
	record -o x.txt:unknown suffix of 'x.txt'
	-c 1234567890123456 1:invalid name '1234567890123456'
	-p 1 -- true:-p is not for a command
	--listen 1 faults:--listen is for export
	export --listen 0:not ADDRESS:PORT
	export --listen 1.2.3.4:not ADDRESS:PORT
	--cgroup /proc 1:invalid cgroup '/proc'
	report x.csv:report takes
	report -p 1 x.json:report takes no other option
	END
	[ "$n" = 37 ]
}
# finds_clang WANTED COMPILER=VERSION...: of these, the Makefile takes that one, or ''
finds_clang() {
	local want="$1" c make
	make=$(command -v make)
	shift
	rm -rf "$logs/path" && mkdir -p "$logs/path" || return 1
	for c in "$@"; do
		printf '#!/bin/sh\necho %s\n' "${c#*=}" >"$logs/path/${c%=*}"
	done
	chmod +x "$logs/path"/*
	PATH=$logs/path "$make" -pnq -C "$top/trapstat" OUTPUT="$logs/path" >"$logs/clang" 2>&1 || :
	echo "$*: $(grep '^CLANG := ' "$logs/clang")"
	[ "$(sed -n 's|^CLANG := .*/||p' "$logs/clang")" = "$want" ]
}
searches() {
	finds_clang clang-17 clang-17=17 && finds_clang clang-18 clang-18=18 clang-14=14 &&
	finds_clang clang-16 clang=13 clang-16=16 && finds_clang clang clang=21 &&
	finds_clang clang-22 clang=13 clang-22=22 && finds_clang '' clang=13
}
# Root of a user namespace has each capability there, and may load nothing
rootless() {
	is_built || return 1
	unshare -r true 2>/dev/null || { echo 'there are no user namespaces' >"$cannot"; return 1; }
	file=$logs/rootless
	[ "$(unshare -r "$trapstat" 1 1 >"$file" 2>&1 || echo $?)" = 2 ] && says 'user namespace' &&
	[ "$(wc -l <"$file")" = 1 ]
}
# Each column and each row of traps is in the man page
documents() {
	local page="$top/trapstat/trapstat.8" name
	sed 's/\\-/-/g; /^\.SH COLUMNS/,/^\.SH VECTORS/!d' "$page" >"$logs/columns"
	sed '/^\.SH VECTORS/,/^\.SH SIGNALS/!d' "$page" >"$logs/vectors"
	{
		grep -ohE '"[A-Z][A-Z0-9/%s-]+", "[a-z0-9_]+"' "$top"/trapstat/*.c | sort -u
		sed '/row_names\[ROWS\]/,/^};/!d' "$top/trapstat/text.c" | grep -o '] = "[^"]*"' |
			sed '/SIGNAL/d; s/.*= /row /'
	} >"$logs/names"
	while IFS='"' read -r kind name _; do
		if [ "$kind" ]; then
			grep -qE "^$name( |	)" "$logs/vectors"
		else
			grep -qE "(^|[ \"])($name|${name%[/%]*})([ \",]|\$)" "$logs/columns"
		fi || { echo "$name is missing"; return 1; }
	done <"$logs/names"
	[ "$(wc -l <"$logs/names")" -gt 60 ]
}
