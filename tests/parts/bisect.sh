# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# bisect: each patch of the series builds, boots, and does what it says, FIRST= to LAST=
#
# So that git bisect never meets a kernel that is broken by the series. There is one
# work tree for all of them, and make builds what the next patch changes. A series that
# stands on the first patches of another one comes once more at the end, whole, on these
# alone. FIRST and LAST are numbers in this order: without them, it is all.

demo=$logs/bisect.demo
gcc -O2 -static -o "$demo" "$top/scripts/guest/demo.c"

# has SERIES/NAME: whether this commit is in
has() { echo "$so_far" | grep -qx "$1"; }

builds() {
	plain_git -C "$src" checkout -q -f --detach "$commit" &&
	"$top/scripts/kernel/build" -t "$src" bisect && no_warning bisect
}

# What the patches so far promise: events, the traps of the demo, and what of the rest
# a line or two can try
promised() {
	local wrapper=0 first=0 paired=none
	! has trap/idtentry-hooks || wrapper=2
	! has trap/trap-events || first=1
	! has pagefault/pagefault-events || paired=some
	! has pagefault/pagefault-mm ||
		printf 'events/pagefault/%s\n' pagefault_entry pagefault_exit pagefault_noregs
	! has trap/trap-events || printf 'events/trap/%s\n' trap_entry trap_exit
	echo "#DE: $wrapper entries, $wrapper exits"
	echo "#BP: $((first * 3)) entries, $((first * 3)) exits"
	echo "#UD: $((first * 2)) entries, $((first * 2)) exits"
	echo "#GP: $wrapper entries, $wrapper exits"
	! has pagefault/pagefault-mm || echo "page faults: $paired, balanced"
	! has pagefault/pagefault-mm || echo "without registers: some"
	! has filter/filter-symbols || echo "names in filters: 2 passed"
	echo "#OF in kernel mode: $((wrapper / 2))"
}
observed() {	# JOB
	local vector
	cat "$1/events"
	for vector in '#DE' '#BP' '#UD' '#GP'; do
		echo "$vector: $(count "p_entry: .*($vector) .* mode=user" "$1/trace") entries," \
			"$(count "p_exit: .*($vector) .* mode=user" "$1/trace") exits"
	done
	if has pagefault/pagefault-mm; then
		echo "page faults: $(balance "$1/faults" ' pagefault_entry: ' ' pagefault_exit: ')"
		! grep -q ' pagefault_noregs: ' "$1/faults" || echo "without registers: some"
	fi
	! has filter/filter-symbols ||
		echo "names in filters: $(count '\[PASS\]' "$1/filters") passed"
	echo "#OF in kernel mode: $(count ' trap_entry: .*(#OF) .* mode=kernel' "$1/raised")"
}
count() { grep -c -e "$1" "$2" || true; }
balance() {	# FILE ENTRY EXIT
	local entries exits
	entries=$(count "$2" "$1") exits=$(count "$3" "$1")
	case $entries/$exits in
	0/0)			echo "none, balanced" ;;
	"$exits/$entries")	echo "some, balanced" ;;
	*)			echo "$entries entries, $exits exits" ;;
	esac
}
works() {
	local job="$logs/bisect.$number.works"
	guest bisect "$job" <<END || return 1
cd /sys/kernel/tracing
ls -d events/pagefault/*_* events/trap/*_* >/job/events
echo 16384 >buffer_size_kb
if [ -d events/trap ]; then
	/job/init traced $demo >/job/output
else
	$demo >/job/output
fi
cat trace >/job/trace
echo >trace
if [ -d events/pagefault ]; then
	sh -c 'echo \$\$ >set_event_pid; echo "pagefault:*" >set_event; exec $demo' >/job/output
	cat trace >/job/faults
fi
echo >set_event
echo >set_event_pid
echo >trace
echo 'trap:*' >set_event
echo 4 >/sys/kernel/debug/x86_trap_test/raise
echo >set_event
cat trace >/job/raised
cd $src/tools/testing/selftests/ftrace
[ ! -f test.d/filter/event-filter-symbol.tc ] ||
	./ftracetest -l /tmp/logs test.d/filter/event-filter-symbol.tc >/job/filters 2>&1
true
END
	same "$(promised)" "$(observed "$job")" && "$demo" | diff - "$job/output" &&
	console_clean "$job/console.log"
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

# Lines COMMIT NAME ENTRY...: what is tested, with the entries that it is the first to have
entries all >"$logs/bisect.entries"
patches_of all | sed 's/[.]patch$//' >"$logs/bisect.list"
plain_git -C "$shared/src" rev-list --reverse base..HEAD |
	paste -d ' ' - "$logs/bisect.list" "$logs/bisect.entries" >"$logs/bisect.commits"
# A dash: the commits above do not count for this one
for one in $(list "$series_dir/series" | sed -n 's/[[:space:]].*:.*//p'); do
	[ "$(patches_of "$one")" ] || continue
	rm -rf "$logs/am" && plain_git -C "$shared/src" worktree prune
	files=$({ below "$one" patches_of && patches_of "$one"; } | sed "s|^|$patches/|")
	# shellcheck disable=SC2086 # a list
	(use_identity && am_on "$shared/src" "$logs/am" base $files) >"$logs/am.log" 2>&1 || {
		fail "bisect: $one stands on no more than commits/series says (log: $logs/am.log)"
		continue
	}
	# shellcheck disable=SC2046 # a list
	echo "$(plain_git -C "$logs/am" rev-parse HEAD) $one-alone -" \
		$(below "$one" entries; entries "$one")
done >>"$logs/bisect.commits"
work_tree "$src" base
so_far=''
number=0
while read -r commit patch added <&3; do
	case $added in -*) so_far='' ;; esac
	so_far="$so_far
$(echo "$added" | tr ' ' '\n')"
	number=$((number + 1))
	[ "$number" -ge "${FIRST:-1}" ] || continue
	[ "$number" -le "${LAST:-$number}" ] || break
	group="bisect: $patch"
	selected "$group" || continue
	check "$group: the kernel builds without a warning" builds
	[ -f "$dir/bisect/built" ] || continue
	check "$group: it boots and does what it says" works
	# The first patch has no program yet
	targets=''
	for target in trap pagefault; do
		! grep -qs '^int main(' "$src/tools/testing/selftests/$target"/*.c ||
			targets="$targets $target"
	done
	[ ! "$targets" ] || check "$group: it passes the kselftest" passes
done 3<"$logs/bisect.commits"
group=''
