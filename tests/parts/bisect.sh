# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# bisect: each patch builds, boots and passes its kselftest, FIRST= to LAST=
#
# So that git bisect never meets a kernel that is broken by the series. There is one
# work tree for all of them, and make builds what the next patch changes. At the end,
# pagefault comes once more, whole, on the base, and so does each series that stands on the
# first patches of another one, on these alone. FIRST and LAST are numbers in this order:
# without them, all are built.

demo=$logs/bisect.demo
gcc -O2 -static -o "$demo" "$top/scripts/vm/demo.c"

builds() {
	plain_git -C "$src" checkout -q -f --detach "$commit" &&
	"$top/scripts/kernel/build" -t "$src" bisect && no_warning bisect
}

# With the events on, as far as there are any
boots() {
	local job="$logs/bisect.$number.boots"
	guest bisect "$job" <<END || return 1
for system in trap pagefault; do
	[ ! -d /sys/kernel/tracing/events/\$system ] ||
		echo 1 >/sys/kernel/tracing/events/\$system/enable
done
$demo >/job/output
END
	"$demo" | diff - "$job/output" && console_clean "$job/console.log"
}

# The kselftest of this commit, in the guest of this commit
passes() {
	make -s -C "$src" O="$dir/kselftest" headers &&
	make -s -C "$src/tools/testing/selftests" O="$dir/kselftest" TARGETS="$targets" install \
		INSTALL_PATH="$dir/installed" || return 1
	local job="$logs/bisect.$number.passes" to="$dir/installed"
	# shellcheck disable=SC2046 # a list
	set -- $(sed -nE "s#^(trap|pagefault):#$to/\1/#p" "$to/kselftest-list.txt")
	run_programs bisect "$job" "$@" && "$tap" judge bisect $# "$job/tap" &&
	console_clean "$job/console.log"
}

# Lines COMMIT NAME: what is tested
patches_of all | sed 's/[.]patch$//' >"$logs/bisect.list"
plain_git -C "$shared/src" rev-list --reverse base..HEAD |
	paste -d ' ' - "$logs/bisect.list" >"$logs/bisect.commits"
for one in pagefault $(list "$series_dir/order" | sed -n 's/[[:space:]].*:.*//p'); do
	[ "$(patches_of "$one")" ] || continue
	rm -rf "$logs/am" && plain_git -C "$shared/src" worktree prune
	files=$({ below "$one" patches_of && patches_of "$one"; } | sed "s|^|$patches/|")
	# shellcheck disable=SC2086 # a list
	(use_identity && am_on "$shared/src" "$logs/am" base $files) >"$logs/am.log" 2>&1 || {
		fail "bisect: $one stands on no more than series/order says (log: $logs/am.log)"
		continue
	}
	echo "$(plain_git -C "$logs/am" rev-parse HEAD) $one-alone"
done >>"$logs/bisect.commits"
work_tree "$src" base
number=0
while read -r commit patch <&3; do
	number=$((number + 1))
	[ "$number" -ge "${FIRST:-1}" ] || continue
	[ "$number" -le "${LAST:-$number}" ] || break
	group="bisect: $patch"
	selected "$group" || continue
	check "$group: the kernel builds without a warning" builds
	[ -f "$dir/bisect/built" ] || continue
	check "$group: it boots" boots
	# The first patch has no program yet
	targets=''
	for target in trap pagefault; do
		! grep -qs '^int main(' "$src/tools/testing/selftests/$target"/*.c ||
			targets="$targets $target"
	done
	[ ! "$targets" ] || check "$group: it passes the kselftest" passes
done 3<"$logs/bisect.commits"
group=''
