# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC2046 # variables of tests/check
# tools: tracefs, trace-cmd, perf and bpftrace show what was raised, to the last one, and recipes
#
# In the guest, tests/in-guest/record-tools has each of them record a program that raises four of each
# kind of trap and page fault, and says which (tests/in-guest/raise.c). tests/compare.py
# compares both. The tools are Debian's newest: see scripts/vm/rootfs.

root=$("$top/scripts/vm/rootfs" "$base" 2>"$logs/root.log") ||
	no_source 'the root of the guest is made' "$logs/root.log"
check 'tools: the kernel builds without a warning' builds_clean tools
kernels tools
out=$logs/tools

tools_guest() {
	build_raise "$logs/raise" && rm -rf "$logs/recipes" && mkdir "$logs/recipes" &&
	compare extract "$logs/recipes" "$top/Documentation/trap/events-trap.rst" \
		"$top/Documentation/pagefault/events-pagefault.rst" >"$logs/recipes.names" &&
	guest tools "$out" -r "$root" -d 64 <<EOF || return 1
{
	$top/tests/in-guest/record-tools $logs/raise /job
	echo "status \$?"
	$top/tests/in-guest/run-recipes $logs/recipes /job $logs/raise each 300 /disk/cold
} >/job/log 2>&1
EOF
	cat "$out/log"
	grep -qx 'status 0' "$out/log"
}

# noticed WORDS EXPRESSION: compare.py fails with WORDS if sed changes what was recorded
noticed() {
	sed "$2" "$out/tracefs" >"$out/changed" && fails "$1" compare tool "$out" changed
}

run_root() {
	ROOT=tools CMD='perf --version' "$top/scripts/vm/run-guest" >"$logs/run-root" &&
	grep -q 'exit status 0: perf --version$' "$logs/run-root"
}

group=tools
export TIMEOUT="${TIMEOUT:-1200}"
check 'tools: they run in a guest with the root of scripts/vm/rootfs' tools_guest
[ -f "$out/log" ] || exit 0
for tool in tracefs trace-cmd perf bpftrace; do
	check "tools: $tool has each field of each event" compare tool "$out" "$tool"
	[ $tool = bpftrace ] ||
		check "tools: $tool with a filter" compare filtered "$out" "$tool.gp"
done
check 'tools: perf stat, and with a filter' compare perf_stat "$out"
check 'tools: a wrong number is noticed' noticed \
	'raise_gp, trap_entry: 4, not 5' '/^raise_gp /s/4$/5/'
check 'tools: a wrong field is noticed' noticed 'raise_gp, trap_exit: 0, not 4' \
	'/trap_exit: vector=13/s/error_code=0x0/error_code=0x8/'
while read -r name; do
	check "tools: the recipe $name" compare recipe "$out" "$name"
done <"$logs/recipes.names"
check 'tools: no splat on the console' console_clean "$out/console.log"
check 'tools: make run ROOT=tools' run_root
