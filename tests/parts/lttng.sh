# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC2046 # variables of scripts/check/run
# lttng: the probes for LTTng build, record what ftrace records, and are harmless elsewhere
#
# What is built is in build/lttng/, and stays there: make check builds it again only if
# the source of the modules, the kernel or the compiler is another one.

kernels guest
# shellcheck source=scripts/kernel/lttng.sh
. "$top/scripts/kernel/lttng.sh"
probes='trap pagefault x86-exceptions'
lttng_git=$("$top/scripts/kernel/fetch" lttng-modules 2>"$logs/lttng-source") ||
	no_source 'the source of lttng-modules is there' "$logs/lttng-source"

lttng_patches() {
	"$top/scripts/series/make" --to "$logs/lttng-patches" lttng-modules || return 1
	if [ "$(basename "$lttng_git" .git)" = "$lttng_version" ]; then
		diff -r "$top/patches/lttng-modules" "$logs/lttng-patches"
	else
		# Another version: its blobs and line numbers differ
		for of in "$top/patches/lttng-modules" "$logs/lttng-patches"; do
			(cd "$of" && sed 's/^@@ .* @@/@@/; /^index /d; /^# Made by/d' ./*) \
				>"$logs/normal.$(basename "$of")" || return 1
		done
		diff "$logs/normal.lttng-modules" "$logs/normal.lttng-patches"
	fi
}

lttng_no_fuzz() {
	[ -s "$logs/lttng-fuzz.out" ] && ! grep -E '^Hunk .*(fuzz|offset)' "$logs/lttng-fuzz.out"
}

# The style of that project is the kernel's, but for how it writes its macros
lttng_style() (
	cd "$src" && PATH=/usr/bin:/bin:/usr/sbin:/sbin scripts/checkpatch.pl --strict --no-tree \
		--ignore FILE_PATH_CHANGES,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,SPACING \
		--no-summary --terse --show-types "$top"/patches/lttng-modules/*.patch
)

# The modules, for our kernel: nothing is left out for want of a header
lttng_builds() {
	(
		flock 8
		lttng_build "$src" guest "$(cat "$dir/guest/built")" modules
	) 8>>"$dir/guest.lock" || return 1
	! grep -iE 'warning|Probe "' "$lttng/guest/log" || return 1
	# The kernel need not export the tracepoints
	! nm -u "$lttng"/guest/src/probes/lttng-probe-trap.ko "$lttng"/guest/src/probes/lttng-probe-pagefault.ko |
		grep __tracepoint_ || return 1
	lttng_install guest
}

# lttng_probes KERNEL SUFFIX: those that were built, by name
lttng_probes() {
	find "$lttng/$1/src/probes" -name "lttng-probe-*$2" ! -name '*.mod.o' \
		-exec basename {} "$2" \; | sort
}

# For the base, they are left out, the log says why, and all the others are there
lttng_left_out() {
	(
		flock 8
		work_tree "$dir/src-base" base || exit 1
		lttng_build "$dir/src-base" guest-base \
			"$(plain_git -C "$src" rev-parse base) $(cksum <"$top/scripts/kernel/config/guest.config")" \
			probes/
	) 8>>"$dir/guest-base.lock" || return 1
	for probe in trap pagefault; do
		grep -F "include/trace/events/$probe.h not found. Probe \"$probe\" is disabled." \
			"$lttng/guest-base/log" || return 1
	done
	! grep -iE 'warning|Probe "' "$lttng/guest-base/log" |
		grep -vE '/(trap|pagefault)\.h not found' || return 1
	{
		lttng_probes guest-base .o
		printf 'lttng-probe-%s\n' trap pagefault
	} | sort >"$logs/lttng-probes"
	lttng_probes guest .ko | diff - "$logs/lttng-probes"
}

# The fix, which needs none of the other patches, on the source as it was released
lttng_fix_alone() (
	flock 8
	rm -rf "$lttng/fix" && plain_git clone -q --shared "$lttng_git" "$lttng/fix" && use_identity &&
	plain_git -C "$lttng/fix" am -q --no-3way "$top/patches/lttng-modules/0001-"*.patch &&
	kernel_make "$dir/src-base" guest-base M="$lttng/fix/src" CONFIG_LTTNG=m \
		probes/lttng-probe-x86-exceptions.o >"$lttng/fix/log" 2>&1 || exit 1
	! grep -iE 'warning|Probe "' "$lttng/fix/log" &&
	[ -f "$lttng/fix/src/probes/lttng-probe-x86-exceptions.o" ]
) 8>>"$dir/guest-base.lock"

# The demo, and the traps and page faults of two programs of the kselftest
lttng_guest() {
	gcc -O2 -static -o "$logs/lttng-demo" "$top/scripts/guest/demo.c" &&
	guest guest "$logs/lttng" -d 512 <<EOF
$top/scripts/guest/lttng /job $lttng/guest/modules $logs/lttng-demo $kselftests/trap_events $kselftests/pagefault_outcome
EOF
	cat "$logs/lttng/lttng"
	[ "$(cat "$logs/lttng/lost")" = 0 ] && ! grep -i 'discarded' "$logs/lttng/lttng"
}

# A probe with an event that the kernel does not have: it loads, that event never fires, and
# the other one does
lttng_waits() {
	sed 's/trap_exit/trap_left/g' \
		"$lttng/guest/src/probes/lttng-probe-trap.ko" >"$logs/lttng-without.ko" &&
	guest guest "$logs/lttng-waits" -d 512 <<EOF || return 1
export HOME=/tmp
mkdir -p /lib/modules
ln -s $lttng/guest/modules/lib/modules/\$(uname -r) /lib/modules/
{
	modprobe lttng-tracer
	insmod $logs/lttng-without.ko
	lttng-sessiond --daemonize --kmod-probes=pagefault
	lttng create waits --output=/tmp/waits
	lttng enable-event --kernel trap_entry,trap_left
	lttng start
	$logs/lttng-demo
	lttng destroy
	kill \$(cat /var/run/lttng/lttng-sessiond.pid)
	while [ -e /var/run/lttng/lttng-sessiond.pid ]; do sleep 0.1; done
	rmmod lttng-probe-trap
	echo "rmmod \$?"
} >/job/said 2>&1
cp -r /tmp/waits /job
EOF
	cat "$logs/lttng-waits/said"
	grep -q 'event trap_left created' "$logs/lttng-waits/said" &&
	grep -qx 'rmmod 0' "$logs/lttng-waits/said" &&
	babeltrace2 "$logs/lttng-waits/waits" >"$logs/lttng-waits/records" &&
	grep ' trap_entry: ' "$logs/lttng-waits/records" &&
	! grep ' trap_left: ' "$logs/lttng-waits/records" &&
	console_clean "$logs/lttng-waits/console.log"
}

# records: bring what ftrace or babeltrace2 prints into one form, for processes between the
# two PIDs of "tids": PID EVENT FIELD=VALUE... That is without the addresses of the
# kernel which ftrace prints as symbols, and without the names of the bits of masks.
records() {
	sed -E -e 's/\( "([^"]*)" : container = ([0-9]+) \)/\2(\1)/g' -e 's/ = /=/g' \
		-e 's/[{},]//g' -e 's/x86_exceptions_//' |
	awk '
		FILENAME != "-" { if (!first) first = $1; else last = $1; next }
		!match($0, / (trap|pagefault|page_fault)_[a-z]+: /) { next }
		{
			split("", field)
			event = substr($0, RSTART + 1, RLENGTH - 3)
			pid = $0
			sub(/ +\[[0-9]+\] .*/, "", pid)		# ftrace: TASK-PID [CPU] ...
			sub(/.*-/, "", pid)
			n = split(substr($0, RSTART + RLENGTH), w)
			for (i = 1; i <= n; i++)
				if ((at = index(w[i], "=")))
					field[substr(w[i], 1, at - 1)] = substr(w[i], at + 1)
			if ("tid" in field)
				pid = field["tid"]
			if (pid + 0 <= first + 0 || pid + 0 >= last + 0)
				next
			if ("mode" in field)
				field["user_mode"] = (field["mode"] == "user")
			for (name in field)
				if ((name == "ip" || event ~ /^page_fault_/) &&
				    (field[name] !~ /^0x/ || length(field[name]) > 17))
					delete field[name]
			sub(/ns$/, "", field["duration"])
			sub(/.*\(/, "", field["outcome"])
			sub(/\)$/, "", field["outcome"])
			# An NMI may come between the probes of ftrace and of LTTng for another
			if (field["vector"] ~ /^2[(]/)
				pid = pid "." field["vector"] + 0
			line = pid " " event
			n = split("vector outcome user_mode address ip error_code signo si_code tgid fault_flags flags vm_fault duration", order)
			for (i = 1; i <= n; i++) {
				if (field[order[i]] == "")
					continue
				if (order[i] != "vector")
					sub(/\(.*/, "", field[order[i]])
				line = line " " order[i] "=" (order[i] == "outcome" || order[i] == "vector" ? field[order[i]] : tolower(field[order[i]]))
			}
			print line
		}' "$logs/lttng/tids" -
}

# Record by record, of each task in its order
lttng_compare() {
	records <"$logs/lttng/ftrace" | sort -s -n -k 1,1 >"$logs/lttng/records.ftrace" &&
	babeltrace2 "$logs/lttng/ctf" | records | sort -s -n -k 1,1 >"$logs/lttng/records.lttng" &&
	cut -d ' ' -f 2,3 "$logs/lttng/records.lttng" | sed 's/ [aiu].*//' | sort | uniq -c
	[ "$(wc -l <"$logs/lttng/records.ftrace")" -gt 1000 ] || return 1
	diff "$logs/lttng/records.ftrace" "$logs/lttng/records.lttng" >"$logs/lttng/diff" ||
		{ head -n 12 "$logs/lttng/diff"; return 1; }
}

# The filter that scripts/guest/lttng gives, by LTTng's own evaluation of it
lttng_filter() {
	babeltrace2 "$logs/lttng/ctf-filtered" | records >"$logs/lttng/records.filtered" || return 1
	grep ' trap_entry vector=13(#GP) user_mode=1 ' "$logs/lttng/records.ftrace" |
		sort >"$logs/lttng/records.wanted"
	wc -l <"$logs/lttng/records.wanted"
	[ -s "$logs/lttng/records.wanted" ] &&
	sort "$logs/lttng/records.filtered" | diff - "$logs/lttng/records.wanted"
}

# The types, as the metadata of the trace has them: EVENT FIELD SIZE BASE, and what is an
# enumeration. That has the names which the kernel's header has
lttng_types() {
	babeltrace2 --output-format=ctf-metadata "$logs/lttng/ctf/kernel" >"$logs/lttng/metadata" &&
	awk -v labels="$logs/lttng/labels" '
		$1 == "name"			{ event = $3; gsub(/[";]/, "", event) }
		event !~ /^(trap|pagefault)_/	{ next }
		$1 == "enum" || $1 == "integer"	{
			size = base = $0
			sub(/.* size = /, "", size); sub(/;.*/, "", size)
			sub(/.* base = /, "", base); sub(/;.*/, "", base)
			kind = $1 == "enum" ? " enum" : ""
		}
		kind && $1 ~ /^"/		{ sub(/^[ \t]*/, ""); sub(/ = .*/, ""); label[++n] = $0 }
		match($0, /\} _[a-z_]+;/)	{
			field = substr($0, RSTART + 3, RLENGTH - 4)
			print event, field, size, base kind
			for (i = 1; i <= n; i++)
				print field, label[i] >labels
			n = 0
			kind = ""
		}' "$logs/lttng/metadata" | sort >"$logs/lttng/types"
	sort -u "$logs/lttng/labels" >"$logs/lttng/labels.sorted"
	{
		for event in trap_entry trap_exit; do
			printf "$event %s\n" 'ip 64 16' 'error_code 32 16' 'vector 16 10 enum' 'user_mode 16 10'
		done
		for event in pagefault_entry pagefault_exit; do
			printf "$event %s\n" 'address 64 16' 'ip 64 16' 'error_code 64 16' 'user_mode 32 10'
		done
		printf 'pagefault_exit %s\n' 'signo 32 10' 'si_code 32 10'
		printf 'pagefault_noregs %s\n' 'address 64 16' 'fault_flags 32 16' 'tgid 32 10'
		for event in pagefault_exit pagefault_noregs; do
			printf "$event %s\n" 'duration 64 10' 'vm_fault 32 16' 'flags 32 16' 'outcome 32 10 enum'
		done
	} | sort | diff "$logs/lttng/types" - || return 1
	{
		printed show_trap_vector vector "$src/include/trace/events/trap.h"
		sed -n '/#define PAGEFAULT_OUTCOMES/,/EMe(/p' "$src/include/trace/events/pagefault.h" |
			grep -oE 'EMe?\([A-Z]+\)' | sed 's/EMe*(\(.*\))/outcome "\1"/'
	} | sort | diff - "$logs/lttng/labels.sorted"
}
# printed MACRO FIELD HEADER: the names that a macro of the kernel's prints
printed() {
	sed -n "/#define $1(/,/})/s/.*,[[:space:]]*\(\"[^\"]*\"\) }.*/$2 \1/p" "$3"
}

need lttng babeltrace2 modprobe patch
check 'lttng: patches/lttng-modules is what the sources give' lttng_patches
! have "$licences" 'lttng: checkpatch' || check 'lttng: checkpatch' lttng_style
group=lttng
check 'lttng: git am takes the patches' lttng_am "$lttng_git"
if [ "$(basename "$lttng_git" .git)" = "$lttng_version" ]; then
	check 'lttng: they apply without fuzz and offset' lttng_no_fuzz
else
	skip 'lttng: they apply without fuzz and offset' \
		"that is of $lttng_version, and this source is $(basename "$lttng_git" .git)"
fi
check 'lttng: the modules build without a warning' lttng_builds
check 'lttng: for the base, the probes are left out, and the build says why' lttng_left_out
check 'lttng: the first patch alone applies and builds' lttng_fix_alone
export TIMEOUT="${TIMEOUT:-900}"
check 'lttng: the guest loads them and records' lttng_guest
unset TIMEOUT
check 'lttng: a probe whose event the kernel lacks loads and records nothing' lttng_waits
check "lttng: the same records as ftrace's" lttng_compare
check 'lttng: a filter takes the fields of ftrace' lttng_filter
check 'lttng: the types of the fields' lttng_types
check 'lttng: no splat on the console' console_clean "$logs/lttng/console.log"
