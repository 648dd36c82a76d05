# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/vm/run-guest
# What make run and make shell say. Sourced by scripts/vm/run-guest.

# show: the summary of trapstat, and the output of CMD: one screen, with bold headings
show() {
	bold='' plain=''
	[ ! -t 1 ] || [ "${NO_COLOR:-}" ] || bold=$(printf '\033[1m') plain=$(printf '\033[0m')
	sed "s/^\(trapstat: \|USER\|KERNEL\|PAGE \| *COUNT \|DURATION \).*/$bold&$plain/" "$job/summary"
	printf '\n%sOUTPUT%s\n' "$bold" "$plain"
	tr -d '\000-\010\013-\037\177' <"$job/output" | cut -c 1-100 |
		awk 'NR <= 6 { print } END { if (NR > 6) print "... and " NR - 6 " more lines" }'
	! grep -qv ' 0$' "$job/overrun" ||
		printf '\nThe trace lacks the first events, as the ring buffer was full: shorten CMD.\n'
	printf '\ntrace:   %s/trace\n' "${job#"$here/"}"
	echo "next:    make run CMD='ls -l /', make shell, make trapstat"
}

# welcome: the script of the shell, with what it says first
welcome() {
	size=$(stty size) shell=${SHELL:-/bin/sh}
	[ -z "${ROOT:-}" ] || shell=/bin/bash
	cat <<EOF
stty rows ${size% *} cols ${size#* }
cat <<'END'
The patched kernel, with $whose, read-only under a tmpfs: what
is written here is gone at the end, but for /job, which is
$job
Only the last ten runs stay there, and "make clean" removes them.
    echo 'trap:* pagefault:*' >/sys/kernel/tracing/set_event; cat /sys/kernel/tracing/trace
    /job/trapstat -- ls
"exit" powers the guest off, Ctrl-A X ends QEMU.
END
PS1='guest# ' exec $shell -i
EOF
}
