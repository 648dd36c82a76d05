# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check
# bisect: each patch of the series builds, boots, and does what it says, FIRST= to LAST=
#
# So that git bisect never meets a kernel that is broken by the series. There is one
# work tree for all of them, and make builds what the next patch changes. FIRST and LAST
# are numbers of patches: without them, it is all.

demo=$logs/bisect.demo
gcc -O2 -static -o "$demo" "$top/scripts/demo.c"

# has COMMIT: whether this one is in, by its name in the list of commits
has() { echo "$so_far" | grep -qx "$1"; }

# X86_TRAP_TEST comes with a patch of the series
options=$logs/bisect.config
builds() {
	plain_git -C "$src" checkout -q -f --detach "$commit" || return 1
	: >"$options"
	has trap-test || echo '# CONFIG_X86_TRAP_TEST is not set' >"$options"
	"$top/scripts/build" "$src" bisect "$options" && ! grep -i 'warning:' "$dir/bisect.log"
}

# What the patches so far promise: events, the traps of the demo, and what of the rest
# a line or two can try
promised() {
	wrapper=0 by_hand=0 pf=none
	! has idtentry-hooks || wrapper=2
	! has ud-bp-hooks || by_hand=1
	! has pf-hook || pf=some
	! has pagefault-events || printf 'events/pagefault/%s\n' pagefault_entry pagefault_exit
	! has pagefault-notrap || echo events/pagefault/pagefault_notrap
	printf 'events/trap/%s\n' trap_entry trap_exit
	echo "#DE: $wrapper entries, $wrapper exits"
	echo "#BP: $((by_hand * 3)) entries, $((by_hand * 3)) exits"
	echo "#UD: $((by_hand * 2)) entries, $((by_hand * 2)) exits"
	echo "#GP: $wrapper entries, $wrapper exits"
	echo "#PF: $pf, balanced"
	! has pagefault-events || echo "page faults: some, balanced"
	! has filter-symbols || echo "names in filters: 2 passed"
	! has trap-test || echo "#OF by debugfs: 1"
}
observed() {	# JOB
	cat "$1/events"
	for vector in '#DE' '#BP' '#UD' '#GP'; do
		echo "$vector: $(count " trap_entry: .*($vector) .* mode=user" "$1/trace") entries," \
			"$(count " trap_exit: .*($vector) .* mode=user" "$1/trace") exits"
	done
	echo "#PF: $(balance "$1/trace" ' trap_entry: .*(#PF)' ' trap_exit: .*(#PF)')"
	! has pagefault-events ||
		echo "page faults: $(balance "$1/faults" ' pagefault_entry: ' ' pagefault_exit: ')"
	! has filter-symbols || echo "names in filters: $(count '\[PASS\]' "$1/filters") passed"
	! has trap-test || echo "#OF by debugfs: $(count ' trap_entry: .*(#OF) .* mode=kernel' "$1/raised")"
}
count() { grep -c -e "$1" "$2" || true; }
balance() {	# FILE ENTRY EXIT
	entries=$(count "$2" "$1") exits=$(count "$3" "$1")
	case $entries in
	0)		echo "none, balanced" ;;
	"$exits")	echo "some, balanced" ;;
	*)		echo "$entries entries, $exits exits" ;;
	esac
}
works() {
	job=$logs/bisect.$number.works
	guest bisect "$job" <<END || return 1
cd /sys/kernel/tracing
ls -d events/pagefault/*_* events/trap/*_* >/job/events
echo 16384 >buffer_size_kb
/job/init traced $demo >/job/output
cat trace >/job/trace
echo >trace
if [ -d events/pagefault ]; then
	sh -c 'echo \$\$ >set_event_pid; echo "pagefault:*" >set_event; exec $demo' >/job/output
	cat trace >/job/faults
fi
echo >set_event
echo >set_event_pid
echo >trace
if [ -d /sys/kernel/debug/x86_trap_test ]; then
	echo 'trap:*' >set_event
	echo 4 >/sys/kernel/debug/x86_trap_test/raise
	echo >set_event
	cat trace >/job/raised
fi
cd $src/tools/testing/selftests/ftrace
[ ! -f test.d/filter/event-filter-symbol.tc ] ||
	./ftracetest -l /tmp/logs test.d/filter/event-filter-symbol.tc >/job/filters 2>&1
true
END
	promised >"$logs/promised"
	observed "$job" >"$logs/observed"
	"$demo" >"$logs/demo.host"
	diff "$logs/promised" "$logs/observed" && diff "$logs/demo.host" "$job/output" &&
	console_clean "$job/console.log"
}

# The kselftest of this commit, in the guest of this commit
passes() {
	make -s -C "$src" O="$dir/kselftest" headers &&
	make -s -C "$src/tools/testing/selftests" O="$dir/kselftest" TARGETS=trap install \
		INSTALL_PATH="$dir/installed" || return 1
	tests=$dir/installed/trap
	job=$logs/bisect.$number.passes
	# shellcheck disable=SC2046 # a list
	set -- $(sed -n 's/^trap://p' "$dir/installed/kselftest-list.txt")
	run_programs bisect "$job" "$@" || return 1
	results_of "$job"
	cat "$job/results" "$job/said"
	while read -r program line; do
		case $line in
		'not ok'*)	return 1 ;;
		*'# SKIP '*)	known_skip x86_64 "$program" "${line#*# SKIP }" || return 1 ;;
		esac
	done <"$job/results"
	all_there "$job" $# && console_clean "$job/console.log"
}

list "$series_dir/series" >"$logs/bisect.names"
list "$patches/series" | paste "$logs/bisect.names" - >"$logs/bisect.list"
plain_git -C "$src" rev-list --reverse base..HEAD | paste - "$logs/bisect.list" >"$logs/bisect.commits"
mkdir -p "$dir/bisect"
work_tree "$dir/bisect/src" base
dir=$dir/bisect
src=$dir/src
so_far=''
number=0
while read -r commit added patch <&3; do
	so_far="$so_far
$added"
	number=$((number + 1))
	[ "$number" -ge "${FIRST:-1}" ] || continue
	[ "$number" -le "${LAST:-$number}" ] || break
	group="bisect: ${patch%.patch}"
	selected "$group" || continue
	check "$group: the kernel builds without a warning" builds
	[ -f "$dir/bisect/built" ] || continue
	check "$group: it boots and does what it says" works
	! has selftests || check "$group: it passes the kselftest" passes
done 3<"$logs/bisect.commits"
group=''
