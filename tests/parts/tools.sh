# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# tools: the recipes of the documents, with Debian's trace-cmd, perf, bpftrace
#
# They are in a root of their own: see scripts/vm/rootfs.

root=$("$top/scripts/vm/rootfs" "$base" 2>"$logs/root.log") ||
	no_source 'the root of the guest is made' "$logs/root.log"
check 'tools: the kernel builds without a warning' builds_clean tools
kernels tools
out=$logs/tools

run_root() {
	ROOT=tools CMD='perf --version' "$top/scripts/vm/run-guest" >"$logs/run-root" &&
	grep -q 'exit status 0: perf --version$' "$logs/run-root"
}

group=tools
export TIMEOUT="${TIMEOUT:-1200}"
check 'tools: they run in a guest with the root of scripts/vm/rootfs' \
	run_recipes tools "$out" -r "$root"
[ -f "$logs/recipes.names" ] || exit 0
while read -r name; do
	check "tools: the recipe $name" compare recipe "$out" "$name"
done <"$logs/recipes.names"
check 'tools: no splat on the console' console_clean "$out/console.log"
check 'tools: make run ROOT=tools' run_root
