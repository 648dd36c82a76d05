# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034,SC2046 # variables of scripts/check/run
# tools: tracefs, trace-cmd, perf, bpftrace and libbpf show what was raised, to the last one
#
# In the guest, scripts/guest/tools has each of them look at a program that raises so many
# of each kind of trap and page fault, and says which (scripts/guest/raise.c). What they
# printed is compared with that here. The tools are Debian's newest: see scripts/vm/rootfs.

need clang-19 trace-cmd perf bpftrace
root=$("$top/scripts/vm/rootfs" "$base" 2>"$logs/root.log") || no_source 'the root of the guest is made' "$logs/root.log"
check 'tools: the kernel builds without a warning' builds_clean tools
kernels tools guest
out=$logs/tools/out
raise=$logs/tools/raise
n=4			# of each kind, as scripts/guest/tools has it

# The programs: of the sort that has no library, and for BPF with those of the root
programs_built() (
	mkdir -p "$logs/programs" && cd "$top/scripts/guest" &&
	gcc -O0 -Wall -mno-red-zone -static -o "$logs/programs/raise" raise.c &&
	bpf_object trap_bpf.o && bpf_object trap_bpf.other.o -DOTHER_KERNEL &&
	gcc -O2 -Wall -Werror --sysroot="$root" -L"$root/usr/lib/x86_64-linux-gnu" \
		-o "$logs/programs/trap_bpf" trap_bpf.c -lbpf
)
bpf_object() {	# FILE OPTION...
	file=$1
	shift
	clang-19 --target=bpf -g -O2 -Wall -Werror "$@" -nostdinc \
		-isystem "$(clang-19 -print-resource-dir)/include" -isystem "$root/usr/include" \
		-isystem "$root/usr/include/x86_64-linux-gnu" -c -o "$logs/programs/$file" \
		trap_bpf.bpf.c
}

# The recipes of the document, each in a file of its name
recipes_of_document() {
	rm -rf "$logs/recipes" && mkdir -p "$logs/recipes" &&
	"$top/scripts/guest/recipe" "$top/Documentation/trap/events-trap.rst" >"$logs/recipes.names" &&
	[ -s "$logs/recipes.names" ] || return 1
	while read -r recipe; do
		"$top/scripts/guest/recipe" "$top/Documentation/trap/events-trap.rst" "$recipe" >"$logs/recipes/$recipe"
	done <"$logs/recipes.names"
}

# One guest for all that needs no other kernel
parts='boot switch filters triggers pids clocks pipes trace_cmd perf_tool bpf_trace libbpf recipes'
tools_guest() {
	programs_built && recipes_of_document && rm -rf "$logs/tools" || return 1
	guest tools "$logs/tools" -r "$root" \
		-a 'trace_event=trap:trap_entry,pagefault:pagefault_exit trace_instance=early,trap:trap_exit' <<EOF
mkdir -p /job/out/recipes
cp $logs/programs/* /job
cp $logs/recipes/* /job/out/recipes
$top/scripts/guest/tools /job/raise /job/out $parts >/job/log 2>&1
EOF
	cat "$logs/tools/log" "$out/seconds"
	[ "$(wc -l <"$out/seconds")" = "$(echo "$parts" | wc -w)" ] && ! grep -H . "$out"/*/errors
}

# counted RAISED TRACE EVENT...: that many of each of these events are in TRACE as RAISED
# says, of each kind that has them. TRACE is what any of the tools printed, as long as it
# has "EVENT: FIELD=VALUE..."; an outcome may be a number. A page fault has no trap event.
# ONLY_VECTOR= is for a trace that leaves the others out
counted() {
	raised=$1 trace=$2
	shift 2
	for file in "$raised" "$trace"; do
		[ -s "$file" ] || { echo "$file is empty"; return 1; }
	done
	awk -v events="$*" -v only="${ONLY_VECTOR:-}" '
		function hex(text,	n, i) {
			for (i = 3; i <= length(text); i++)
				n = n * 16 + index("123456789abcdef", substr(text, i, 1))
			return n
		}
		# Addresses are too long for a number
		function padded(text)	{ return substr("0000000000000000" substr(text, 3), length(text) - 1) }
		function is_in(address, range,	ends) {
			split(range, ends, "-")
			return padded(address) >= padded(ends[1]) && padded(address) < padded(ends[2])
		}
		function has(k, event) {
			if (event ~ /^trap_/)
				return kind[k, "vector"] >= 0 && kind[k, "vector"] != 14 &&
					(only == "" || kind[k, "vector"] == only)
			if (event == "pagefault_noregs")
				return kind[k, "vector"] < 0
			return kind[k, "vector"] == 14
		}
		function fits(k, event) {
			if (!has(k, event))
				return 0
			if (event ~ /^trap_/) {
				if (kind[k, "vector"] != field["vector"] || kind[k, "ip"] != field["ip"])
					return 0
			} else if (!is_in(field["address"], kind[k, "address"]))
				return 0
			if (event != "pagefault_noregs" &&
			    (kind[k, "error_code"] != field["error_code"] || kind[k, "mode"] != field["mode"]))
				return 0
			if (event ~ /^pagefault_e/ && kind[k, "ip"] != "-" && kind[k, "ip"] != field["ip"])
				return 0
			if (event == "pagefault_exit" &&
			    (kind[k, "signo"] != field["signo"] || kind[k, "si_code"] != field["si_code"]))
				return 0
			if (event == "pagefault_noregs" && kind[k, "tgid"] != field["tgid"])
				return 0
			# Of the flags, not how often it was tried
			if (event ~ /^pagefault_(exit|noregs)$/ &&
			    (kind[k, "outcome"] != field["outcome"] ||
			     hex(kind[k, "vm_fault"]) != hex(field["vm_fault"]) ||
			     hex(kind[k, "flags"]) != hex(field["flags"]) % 64 || field["duration"] !~ /^[1-9]/))
				return 0
			return 1
		}
		function parse(text,	words, i, at, m) {
			split("", field)
			m = split(text, words)
			for (i = 1; i <= m; i++)
				if ((at = index(words[i], "="))) {
					field[substr(words[i], 1, at - 1)] = substr(words[i], at + 1)
					sub(/\(.*/, "", field[substr(words[i], 1, at - 1)])
				}
			if (field["outcome"] in outcome)
				field["outcome"] = outcome[field["outcome"]]
		}
		BEGIN {
			outcome[0] = "MINOR"; outcome[1] = "MAJOR"; outcome[6] = "FIXUP"; outcome[7] = "SIGNAL"
			asked = split(events, event)
		}
		NR == FNR && / vector=/ {
			parse($0)
			name[++kinds] = $1
			for (f in field)
				kind[kinds, f] = field[f]
		}
		NR == FNR { next }
		match($0, /(trap|pagefault)_(entry|exit|noregs): /) {
			this = substr($0, RSTART, RLENGTH - 2)
			parse(substr($0, RSTART + RLENGTH))
			for (k = 1; k <= kinds; k++)
				if (fits(k, this))
					found[k, this]++
		}
		END {
			for (k = 1; k <= kinds; k++)
				for (i = 1; i <= asked; i++) {
					if (!has(k, event[i]))
						continue
					compared++
					if (found[k, event[i]] + 0 != kind[k, "count"]) {
						printf "%s, %s: %d of %d\n", name[k], event[i], found[k, event[i]], kind[k, "count"]
						wrong++
					}
				}
			printf "%d of %d as raised\n", compared - wrong, compared
			exit wrong || !compared
		}' "$raised" "$trace"
}
all_events='trap_entry trap_exit pagefault_entry pagefault_exit pagefault_noregs'

# lines FILE REGEX: how many
lines() { grep -cE -- "$2" "$1" || true; }
is() {		# WHAT NUMBER EXPECTED
	[ "$2" = "$3" ] || { echo "$1: '$2', not '$3'"; return 1; }
}
least() {	# WHAT NUMBER EXPECTED
	[ "${2:-0}" -ge "$3" ] || { echo "$1: ${2:-0}, less than $3"; return 1; }
}
# The vectors that raise.c raises, but for page faults
vectors='0 1 3 4 6 11 12 13 16'
nr_vectors=9

# The comparison must notice a missing event, one too many, and a wrong field
counts_are_seen() {
	trace=$out/switch/set_event.trace
	counted "$out/switch/raised" "$trace" trap_entry || return 1
	line=$(grep -m 1 'trap_entry: vector=13' "$trace")
	grep -vxF -- "$line" "$trace" >"$logs/less"
	{ cat "$trace"; echo "$line"; } >"$logs/more"
	sed '/trap_entry: vector=13/s/error_code=0x0/error_code=0x8/' "$trace" >"$logs/other"
	for wrong in less more other; do
		! counted "$out/switch/raised" "$logs/$wrong" trap_entry >"$logs/wrong" &&
		grep '^privileged, trap_entry: ' "$logs/wrong" || return 1
	done
}

early_events() {
	cat "$out/boot/cmdline"
	is 'enabled at the top' "$(paste -sd ' ' "$out/boot/top.enabled")" '1 1 0' &&
	is 'enabled in the instance' "$(cat "$out/boot/early.enabled")" 1 &&
	least 'trap_entry before init' "$(lines "$out/boot/top" '<idle>-0 .* 0\.[0-9]{6}: trap_entry: ')" 1 &&
	least 'pagefault_exit' "$(lines "$out/boot/top" ': pagefault_exit: ')" 100 &&
	is 'trap_exit at the top' "$(lines "$out/boot/top" ': trap_exit: ')" 0 &&
	least 'trap_exit before init' "$(lines "$out/boot/early" '<idle>-0 .* 0\.[0-9]{6}: trap_exit: ')" 1 &&
	is 'others in the instance' "$(grep -v '^#' "$out/boot/early.later" | grep -vc ': trap_exit: ')" 0 &&
	counted "$out/boot/raised" "$out/boot/early.later" trap_exit
}

switched() {
	is set_event "$(sort "$out/switch/set_event" | paste -sd ' ')" 'trap:trap_entry trap:trap_exit' &&
	counted "$out/switch/raised" "$out/switch/set_event.trace" trap_entry trap_exit &&
	is 'pagefault, off' "$(lines "$out/switch/set_event.trace" ': pagefault_')" 0 &&
	is 'set_event after !' "$(cat "$out/switch/set_event.none")" '' &&
	is 'events after !' "$(lines "$out/switch/set_event.off" ': (trap|pagefault)_')" 0 &&
	is 'enable' "$(paste -sd ' ' "$out/switch/enable")" '1 0' &&
	counted "$out/switch/raised.enable" "$out/switch/enable.trace" pagefault_entry pagefault_exit pagefault_noregs &&
	is 'events after 0' "$(lines "$out/switch/enable.off" ': (trap|pagefault)_')" 0
}
instances_apart() {
	is 'of the top one in the other' "$(lines "$out/switch/other.trace" ': (trap|pagefault)_')" 0 &&
	is 'of the other in the top one' "$(lines "$out/switch/enable.top" ': (trap|pagefault)_')" 0
}

# The records of an event, without what an instance adds
records() {	# FILE EVENT
	sed -n "s/.*: $2: /$2: /p" "$1" | sort
}
# A filter and its opposite together let through each record, and none twice. Where a field
# has more than one value, each of them lets some through.
filtered() {
	counted "$out/filters/again" "$out/filters/all.trace" "$all_events" || return 1
	fields=$(cat "$out"/filters/*.format | grep -c '^	field:.*[ *][a-z_]*;' || true)
	common=$(cat "$out"/filters/*.format | grep -c '^	field:.* common_' || true)
	is 'fields in filters' "$(wc -l <"$out/filters/filters")" $((fields - common)) || return 1
	while read -r event field filter; do
		event=${event#*/}
		records "$out/filters/$field.in.trace" "$event" >"$logs/in"
		records "$out/filters/$field.out.trace" "$event" >"$logs/out"
		records "$out/filters/all.trace" "$event" >"$logs/all"
		echo "$event: $filter: $(wc -l <"$logs/in") in, $(wc -l <"$logs/out") out"
		sort -m "$logs/in" "$logs/out" | diff - "$logs/all" || return 1
		case $event.$field in
		*.duration)
			# Of another run than the one that the limit is from
			ns=${filter##* }
			for side in in out; do
				sed 's/.* duration=\([0-9]*\)ns.*/\1/' "$logs/$side" >"$logs/$side.ns"
			done
			awk -v ns="$ns" '!($1 > ns)' "$logs/in.ns" | grep . && return 1
			awk -v ns="$ns" '$1 > ns' "$logs/out.ns" | grep . && return 1
			least all "$(wc -l <"$logs/all")" 4 || return 1
			continue ;;
		*_noregs.vm_fault)	least out "$(wc -l <"$logs/out")" 1 || return 1; continue ;;
		*_noregs.*flags | *_noregs.outcome | *.tgid | trap_*.user_mode)
			least in "$(wc -l <"$logs/in")" 1 || return 1
			continue ;;
		esac
		least in "$(wc -l <"$logs/in")" 1 && least out "$(wc -l <"$logs/out")" 1 || return 1
		case $filter in
		*' == 6')	value='error_code=0x6[( ]' ;;
		'user_mode == 1') value='mode=user' ;;
		*' == '*)	value="$field=${filter##* }" ;;
		*)		continue ;;
		esac
		is "in, not $value" "$(grep -cvE "$value" "$logs/in")" 0 &&
		is "out, with $value" "$(grep -cE "$value" "$logs/out")" 0 || return 1
	done <"$out/filters/filters"
}

stack_trigger() {
	trace=$out/triggers/stack.trace
	is stacks "$(lines "$trace" '<stack trace>')" "$n" &&
	is '=> exc_invalid_op' "$(lines "$trace" '^ => exc_invalid_op$')" "$n" &&
	is '=> asm_exc_invalid_op' "$(lines "$trace" '^ => asm_exc_invalid_op$')" "$n"
}
# Up to the first #GP, which is the trigger's own event
up_to_first() {	# TRACE
	for vector in 0 1 3 4 6 11 12; do
		is "vector $vector" "$(lines "$1" "trap_entry: vector=$vector\(")" "$n" || return 1
	done
	is 'vector 16' "$(lines "$1" 'trap_entry: vector=16\(')" 0
}
snapshot_trigger() {
	up_to_first "$out/triggers/snapshot" &&
	after=$(lines "$out/triggers/snapshot.trace" 'trap_entry: vector=13\(') &&
	is '#GP in the snapshot and behind it' \
		"$(($(lines "$out/triggers/snapshot" 'trap_entry: vector=13\(') + after))" "$n" &&
	least '#GP behind it' "$after" 1 &&
	is '#MF behind it' "$(lines "$out/triggers/snapshot.trace" 'trap_entry: vector=16\(')" "$n" &&
	is '#UD behind it' "$(lines "$out/triggers/snapshot.trace" 'trap_entry: vector=6\(')" 0
}
traceoff_trigger() {
	is tracing_on "$(cat "$out/triggers/off.tracing_on")" 0 &&
	is 'tracing_on of another instance' "$(cat "$out/triggers/snapshot.tracing_on")" 1 &&
	up_to_first "$out/triggers/off.trace"
}
# A histogram as lines: KEY... HITCOUNT [SUM]
histogram() { sed -n 's/[{},]//g; s/~ 2^//; /hitcount:/s/[a-z_0-9.]*: *//gp' "$1" | tr -s ' ' | sed 's/^ //'; }
hist_triggers() {
	histogram "$out/triggers/hist.entry" >"$logs/hist"
	for vector in $vectors; do
		is "vector $vector" "$(awk -v v="$vector" '$1 == v { print $2, $3 }' "$logs/hist")" "1 $n" || return 1
	done
	sort -n -k 1,1 -s "$logs/hist" | diff "$logs/hist" - || return 1
	# By count, and then by vector, downwards; and the sum of a field
	histogram "$out/triggers/hist.exit" >"$logs/hist"
	sort -k 2,2nr -k 1,1nr "$logs/hist" | diff "$logs/hist" - &&
	is 'sum of error_code of #DB' "$(awk '$1 == 1 { print $3 }' "$logs/hist")" $((n * 0x4000)) &&
	least 'FAULT_FLAG_REMOTE' "$(histogram "$out/triggers/hist.noregs" | awk '$1 == 0 { print $2 }')" "$n"
}
# ~ 2^14 is from 8193 to 16384, here counted again from the trace of the same events
log2_trigger() {
	sed -n 's/.*pagefault_exit: .*outcome=MINOR .*duration=\([0-9]*\)ns.*/\1/p' "$out/triggers/hist.trace" |
		awk '{ for (b = 0; 2 ^ b < $1; b++); count[b]++ } END { for (b in count) print 0, b, count[b] }' |
		sort -n -k 2,2 >"$logs/log2"
	least buckets "$(wc -l <"$logs/log2")" 2 &&
	histogram "$out/triggers/hist.log2" | grep '^0 ' | diff - "$logs/log2"
}
synthetic_event() {
	for vector in $vectors; do
		is "vector $vector" "$(lines "$out/triggers/synthetic" "raise-.*: trap_pair: vector=$vector lat=[1-9][0-9]*\$")" "$n" ||
			return 1
	done
}
one_process() {
	traced=$(sed -n 's/^pid //p' "$out/pids/raised") other=$(sed -n 's/^pid //p' "$out/pids/other")
	counted "$out/pids/raised" "$out/pids/trace" trap_entry trap_exit &&
	least "of $traced" "$(lines "$out/pids/trace" "[a-z]-$traced +\[")" $((2 * n * nr_vectors)) &&
	is "of $other, which is another" "$(lines "$out/pids/trace" "[a-z]-$other +\[")" 0
}
# Each has all events in order; the ones that know the time since the boot agree on it
clock() {	# NAME
	sed -n 's/.*\[00[0-9]\] [^ ]* *\([0-9.]*\): trap_.*/\1/p' "$out/clocks/$1" >"$logs/times"
	echo "$1: $(sed -n '1p;$p' "$logs/times" | paste -sd ' ')"
	is "events by $1" "$(wc -l <"$logs/times")" $((2 * 2 * nr_vectors)) &&
	sort -n "$logs/times" | diff - "$logs/times" || return 1
	# A tick of this one can be longer than all of it takes; it is compared below
	[ "$1" = uptime ] || [ "$(sort -u "$logs/times" | wc -l)" -gt 1 ] ||
		{ echo "$1 stands still"; return 1; }
	# The program raises the vectors in their order
	sed -n 's/.*: \(trap_[a-z]*\): vector=\([0-9]*\).*/\1 \2/p' "$out/clocks/$1" | awk '
		NR % 2	{ vector = $2; if ($1 != "trap_entry" || vector < last) exit 1 }
		!(NR % 2) { last = vector; if ($1 != "trap_exit" || $2 != vector) exit 1 }' ||
		{ echo "$1: not in order"; return 1; }
	case $1 in
	mono | boot)
		set -- $(cat "$out/clocks/proc.uptime")
		awk -v from="$1" -v to="$2" '
			$1 < from - 0.1 || $1 > to + 0.1 { print; wrong++ }
			END { exit wrong > 0 }' "$logs/times" ;;
	uptime)
		# Hundredths of a second by jiffies, of which the boot has lost some, and
		# which begin with INITIAL_JIFFIES
		hz=$(sed -n 's/^CONFIG_HZ=//p' "$dir/tools/.config")
		set -- $(cat "$out/clocks/proc.jiffies")
		awk -v from="$1" -v to="$2" -v hz="$hz" '
			function clock(jiffies) { return int((jiffies - (2 ^ 32 - 300 * hz)) * 100 / hz) }
			$1 < clock(from) || $1 > clock(to) { print; wrong++ }
			END { print "from", clock(from), "to", clock(to); exit wrong > 0 || !hz }' \
			"$logs/times" ;;
	counter | x86-tsc)
		! grep '[.]' "$logs/times" && [ "$(sort -u "$logs/times" | wc -l)" = "$(wc -l <"$logs/times")" ] ;;
	tai)
		awk '$1 < 1e9 { exit 1 }' "$logs/times" ;;
	esac
}
all_clocks() {
	for clock in $(tr -d '[]' <"$out/clocks/clocks"); do
		clock "$clock" || return 1
	done
	least clocks "$(wc -w <"$out/clocks/clocks")" 9
}
through_the_pipe() {
	counted "$out/pipes/raised" "$out/pipes/trace_pipe" trap_entry trap_exit &&
	is 'left in the trace' "$(lines "$out/pipes/trace" ': trap_')" 0
}

trace_cmd_records() {
	cat "$out/trace_cmd/err" "$out/trace_cmd/report.err"
	is 'its errors' "$(cat "$out/trace_cmd/err" "$out/trace_cmd/report.err")" '' &&
	counted "$out/trace_cmd/raised" "$out/trace_cmd/report" "$all_events"
}
# The format of trace.dat, as its readers look for it: KernelShark is one
trace_dat() {
	cat "$out/trace_cmd/dump"
	grep -q '\[Version\]' "$out/trace_cmd/dump" && grep -q 'Events format, 2 systems' "$out/trace_cmd/dump"
}
trace_cmd_stacks() {
	cat "$out/trace_cmd/hist"
	is '#GP' "$(lines "$out/trace_cmd/stack" 'trap_entry: *vector=13\(')" "$n" &&
	is others "$(grep 'trap_entry:' "$out/trace_cmd/stack" | grep -vc vector=13)" 0 &&
	is 'stacks from exc_general_protection' "$(lines "$out/trace_cmd/stack" '^=> exc_general_protection ')" "$n" &&
	grep -q 'raise .*trap_entry' "$out/trace_cmd/hist" &&
	grep -q ' exc_general_protection$' "$out/trace_cmd/hist"
}

perf_lists() {
	cat "$out/perf_tool/list"
	for event in trap:trap_entry trap:trap_exit pagefault:pagefault_entry \
		pagefault:pagefault_exit pagefault:pagefault_noregs; do
		grep -qE "^ +$event +\[Tracepoint event\]" "$out/perf_tool/list" || return 1
	done
}
perf_counts() {
	cat "$out"/perf_tool/stat*
	stat() { awk -F , -v event="$2" '$3 == event { print $1 }' "$out/perf_tool/$1"; }
	is 'all traps' "$(stat stat trap:trap_entry)" $((n * nr_vectors)) &&
	is '#GP' "$(stat stat.gp trap:trap_exit)" "$n" &&
	is SIGBUS "$(stat stat.sigbus pagefault:pagefault_exit)" "$n" &&
	least 'page faults' "$(stat stat pagefault:pagefault_entry)" $((n * 6)) &&
	is 'exits as entries' "$(stat stat trap:trap_exit)" "$(stat stat trap:trap_entry)" &&
	is 'exits as entries' "$(stat stat pagefault:pagefault_exit)" "$(stat stat pagefault:pagefault_entry)"
}
perf_records() {
	cat "$out/perf_tool/record.err"
	counted "$out/perf_tool/raised" "$out/perf_tool/script" "$all_events"
}
# From main() to the very instruction, and on to the handler: perf script prints it the
# other way around, each frame as ADDRESS NAME
perf_stacks() {
	awk -v n="$n" '
		function ip_of(text)	{ sub(/.* ip=0x/, "", text); sub(/ .*/, "", text); return text }
		NR == FNR && / mode=user / {
			ip = ip_of($0)
			name[ip] = $1
			family[ip] = / vector=14 / ? "pagefault:pagefault" : "trap:trap"
			kinds++
		}
		NR == FNR { next }
		/^ *(trap|pagefault):[a-z_]+: / {
			event = $1
			ip = ip_of($0)
			state = ip in name ? "kernel" : ""
			next
		}
		state == "main" && $2 == "main" { found[event, ip]++ }
		{
			if (state == "kernel")
				state = $2 ~ /^asm_exc_/ ? "instruction" : "kernel"
			else if (state == "instruction")
				state = $1 == ip && $2 == name[ip] ? "caller" : ""
			else
				state = state == "caller" && $2 == "raise_each" ? "main" : ""
		}
		END {
			for (ip in name)
				for (i = split("_entry: _exit:", ends, " "); i; i--) {
					event = family[ip] ends[i]
					if (found[event, ip] != n) {
						print name[ip], event, found[event, ip] + 0, "of", n
						wrong++
					}
				}
			print kinds, "kinds"
			exit wrong || kinds != 14
		}' "$out/perf_tool/raised" "$out/perf_tool/stacks"
}
perf_reports() {
	cat "$out/perf_tool/report.err"
	grep -E '^# Samples|raise ' "$out/perf_tool/report"
	for event in trap:trap_entry trap:trap_exit pagefault:pagefault_entry pagefault:pagefault_exit \
		pagefault:pagefault_noregs; do
		samples=$(sed -n "s/^# Samples: \([0-9]*\) .* '$event'\$/\1/p" "$out/perf_tool/report")
		is "samples of $event" "$samples" "$(lines "$out/perf_tool/script" " $event: ")" || return 1
	done
}
perf_traces() {
	sed -n 's/.* trap:\(trap_[a-z]*\)(\(.*\)).*/\1 \2/p' "$out/perf_tool/trace" | awk '
		{
			split("", field)
			for (i = 2; i < NF; i += 2) {
				sub(/:$/, "", $i); sub(/,$/, "", $(i + 1))
				field[$i] = $(i + 1)
			}
			v = 0
			for (i = 3; i <= length(field["vector"]); i++)
				v = v * 16 + index("123456789abcdef", substr(field["vector"], i, 1))
			printf "%s: vector=%d error_code=%s mode=%s ip=0x%x\n", $1, v,
				"error_code" in field ? field["error_code"] : "0x0",
				"user_mode" in field ? "user" : "kernel", field["ip"]
		}' >"$logs/perf-trace"
	counted "$out/perf_tool/trace.raised" "$logs/perf-trace" trap_entry trap_exit
}
# A sample makes no event that makes a sample: what perf itself raises stays far below
perf_does_not_loop() {
	cat "$out/perf_tool/loop.stats" "$out/perf_tool/loop.err"
	counted "$out/perf_tool/loop.raised" "$out/perf_tool/loop" "$all_events" &&
	perf=$(lines "$out/perf_tool/loop" '^ *perf ') raise_samples=$(lines "$out/perf_tool/loop" '^ *raise ') &&
	echo "$perf samples of perf, $raise_samples of raise" &&
	least 'of raise' "$raise_samples" 1500 && [ "$perf" -lt $((raise_samples / 2)) ]
}

bpftrace_shows() {
	cat "$out/bpf_trace/all.err"
	grep -E '^(pid|[a-z_0-9]+ vector)' "$out/bpf_trace/all" >"$logs/raised"
	counted "$logs/raised" "$out/bpf_trace/all" "$all_events"
}
bpftrace_maps() {
	cat "$out/bpf_trace/all.err"
	for vector in $vectors; do
		is "@vector[$vector]" "$(sed -n "s/^@vector\[$vector\]: //p" "$out/bpf_trace/all")" "$n" &&
		is "@raw[$vector]" "$(sed -n "s/^@raw\[$vector, [0-9]*\]: //p" "$out/bpf_trace/all")" "$n" &&
		is "@ns[$vector]" "$(awk -v name="@ns[$vector]:" '
			/^@/ { mine = $1 == name }
			mine && /^\[/ { sub(/^\[[^)\]]*[)\]] */, ""); n += $1 }
			END { print n + 0 }' "$out/bpf_trace/all")" "$n" || return 1
	done
	is 'the error code of #DB' "$(lines "$out/bpf_trace/all" '^@raw\[1, 16384\]: ')" 1 &&
	for signal in '7, 2' '11, 1' '11, 2'; do
		is "@signal[$signal]" "$(sed -n "s/^@signal\[$signal\]: //p" "$out/bpf_trace/all")" "$n" || return 1
	done &&
	is 'of a vector that was not raised' "$(sed -n 's/^@none: //p' "$out/bpf_trace/all")" 0
}
# The user's stack begins at the instruction, and leads to main(); the kernel's has the
# handler. The addresses are those of the file, which is not relocated
bpftrace_stacks() {
	grep -E '^[a-z_0-9]+ vector=' "$out/bpf_trace/all" >"$logs/kinds"
	for vector in $vectors; do
		read -r function ip <<-EOF
			$(sed -n "s/^\([a-z_0-9]*\) vector=$vector .* ip=\([^ ]*\) .*/\1 \2/p" "$logs/kinds")
		EOF
		awk -v name="@user[$vector," '
			index($0, name) == 1 { mine = 1; next }
			mine && /^\]/ { exit }
			mine { print $1 }' "$out/bpf_trace/all" >"$logs/stack"
		cat "$logs/stack"
		is 'first frame' "$(head -n 1 "$logs/stack")" "$ip" &&
		is 'functions' "$(addr2line -f -e "$raise" <"$logs/stack" | grep -v : | paste -sd ' ')" \
			"$function raise_each main" || return 1
	done
	awk '/^@kernel\[6,/ { mine = 1; next } mine && /^\]/ { exit } mine' "$out/bpf_trace/all" >"$logs/stack"
	cat "$logs/stack"
	grep -qE '^ +exc_invalid_op\+' "$logs/stack" && grep -qE '^ +asm_exc_invalid_op\+' "$logs/stack"
}
# perf and bpftrace name the event or the field that does not exist
tools_refuse() {
	cat "$out/bpf_trace/missing" "$out/bpf_trace/field"
	cat "$out/bpf_trace/perf.missing"
	grep -q 'unknown tracepoint' "$out/bpf_trace/perf.missing" &&
	grep -q 'events/trap/trap_entri not found' "$out/bpf_trace/perf.missing" &&
	grep -qx 'status 129' "$out/bpf_trace/perf.missing" &&
	grep -q 'ERROR: tracepoint not found: trap:trap_entri' "$out/bpf_trace/missing" &&
	grep -q "ERROR: .* does not contain a field named 'trapnr'" "$out/bpf_trace/field" &&
	grep -qx 'status 1' "$out/bpf_trace/missing" && grep -qx 'status 1' "$out/bpf_trace/field"
}
libbpf_shows() {
	cat "$out/libbpf/err"
	grep -E '^(pid|[a-z_0-9]+ vector)' "$out/libbpf/all" >"$logs/raised"
	for vector in $vectors; do
		is "vector $vector" "$(sed -n "s/^vector $vector: //p" "$out/libbpf/all")" "$n" || return 1
	done
	grep -v '^argument ' "$out/libbpf/all" >"$logs/records" &&
	counted "$logs/raised" "$logs/records" "$all_events"
}
# The same of the tracepoints' argument
libbpf_arguments() {
	grep -E '^(pid|[a-z_0-9]+ vector)' "$out/libbpf/all" >"$logs/raised"
	sed -n 's/^argument //p' "$out/libbpf/all" >"$logs/arguments" &&
	counted "$logs/raised" "$logs/arguments" pagefault_entry pagefault_exit pagefault_noregs
}
libbpf_refuses() {
	is 'what it says' "$(paste -sd ' ' "$out/libbpf/other")" \
		'error: no field other_field in trace_event_raw_trap here: the program is for another kernel status 1'
}

# The recipes of the documentation: each succeeds, prints what it must, and leaves nothing
recipe_is() {	# JOB NAME
	file=$1/out/recipes/$2.out raised=$logs/raised
	is status "$(sed -n 's/^status //p' "$file")" 0 || { tail -n 5 "$file"; return 1; }
	grep -E '^(pid|[a-z_0-9]+ vector)' "$file" >"$raised"
	case $2 in
	trap-count)
		for vector in $vectors; do
			is "vector $vector" "$(histogram "$file" | awk -v v="$vector" '
				$1 == "raise" && $(NF - 2) == v && $(NF - 1) == 1 { n += $NF }
				END { print n + 0 }')" "$n" || return 1
		done ;;
	trap-where)
		protected=$(sed -n 's/.* vector=13 .* ip=0x\([^ ]*\) .*/\1/p' "$file")
		is '#GP' "$(histogram "$file" | sed -n 's/^raise \[.*\] //p')" "13 $protected $n" ;;
	trap-perf | trap-trace-cmd)
		ONLY_VECTOR=0 counted "$raised" "$file" trap_entry &&
		is 'of others' "$(grep 'trap_entry: ' "$file" | grep -vc 'vector=0(#DE)')" 0 || return 1
		[ "$2" != trap-perf ] || {
			is 'stacks from main()' "$(lines "$file" '^	 *[0-9a-f]+ main$')" "$n" &&
			is 'to divide()' "$(lines "$file" '^	 *[0-9a-f]+ divide$')" "$n"
		} ;;
	trap-bpftrace-divide)
		divide=$(sed -n 's/^divide .* ip=\([^ ]*\) .*/\1/p' "$file")
		sed -n '/^@\[raise/,/^\]/p' "$file" >"$logs/stack"
		cat "$logs/stack"
		is 'the division' "$(sed -n 2p "$logs/stack" | tr -d ' \t')" "$divide" &&
		is 'functions' "$(sed -n 2,4p "$logs/stack" | tr -d ' \t' | addr2line -f -e "$raise" | grep -v : | paste -sd ' ')" \
			'divide raise_each main' &&
		is 'times' "$(sed -n 's/^\]: //p' "$logs/stack")" "$n" ;;
	trap-bpftrace-latency)
		for vector in $vectors; do
			is "vector $vector" "$(awk -v name="@ns[$vector]:" '
				/^@/ { mine = $1 == name }
				mine && /^\[/ { sub(/^\[[^)\]]*[)\]] */, ""); n += $1 }
				END { print n + 0 }' "$file")" "$n" || return 1
		done ;;
	*)
		echo "there is no check for this recipe"
		return 1 ;;
	esac
}
nothing_left() {	# JOB
	cat "$1/out/recipes/left"
	[ -e "$1/out/recipes/left" ] && [ ! -s "$1/out/recipes/left" ]
}

# The tools that this machine has, which may be old, with its root, on a kernel without BTF
old_tools_guest() {
	rm -rf "$logs/old" && guest guest "$logs/old" <<EOF || return 1
mkdir -p /job/out/recipes
cp $logs/programs/* /job
cp $logs/recipes/* /job/out/recipes
$top/scripts/guest/tools /job/raise /job/out recipes >/job/log 2>&1
/job/trap_bpf /job/trap_bpf.o /job/raise each 1 >/job/btf 2>&1
echo "status \$?" >>/job/btf
EOF
	cat "$logs/old/log"
	grep '^recipes ' "$logs/old/out/seconds"
}
# The same guest for a user, with a program that only the host has
run_root() {
	printf '#!/bin/sh\necho "from the host: $1"\n' >"$logs/on-the-host" &&
	chmod +x "$logs/on-the-host" &&
	ROOT=tools CMD="$logs/on-the-host word" "$top/scripts/vm/run" >"$logs/run-host" &&
	grep -qx '  from the host: word' "$logs/run-host" &&
	env ROOT=tools CMD='perf --version' "$top/scripts/vm/run" >"$logs/run-root" &&
	cat "$logs/run-root" &&
	perf=$(sed -n 's/^linux-perf \([^-]*\)-.*/\1/p' "$root/packages") &&
	grep -qx "  perf version $perf" "$logs/run-root" &&
	grep -q 'exit status 0$' "$logs/run-root"
}
says() {	# FILE WORDS
	is 'what it says' "$(paste -sd ' ' "$1")" "error: $2 status 1"
}
no_events_guest() {
	guest ftracetest-base "$logs/without" <<EOF || return 1
$logs/programs/trap_bpf $logs/programs/trap_bpf.o $logs/programs/raise each 1 >/job/events 2>&1
echo "status \$?" >>/job/events
EOF
	says "$logs/without/events" 'this kernel has no events trap and pagefault: build it with the series'
}

group=tools
export TIMEOUT="${TIMEOUT:-1200}"
check 'tools: they run in a guest with the root of scripts/vm/rootfs' tools_guest
[ -f "$out/seconds" ] || exit 0
check 'tools: a wrong count is seen' counts_are_seen
check 'tools: trace_event= and trace_instance= on the command line' early_events
check 'tools: set_event and enable, on and off' switched
check 'tools: an instance has its own events' instances_apart
check 'tools: a filter of each field lets through what it names, and no other' filtered
check 'tools: the trigger stacktrace' stack_trigger
check 'tools: the trigger snapshot' snapshot_trigger
check 'tools: the trigger traceoff' traceoff_trigger
check 'tools: the trigger hist, sorted' hist_triggers
check 'tools: the trigger hist, by log2' log2_trigger
check 'tools: a synthetic event of entry and exit' synthetic_event
check 'tools: set_event_pid' one_process
check 'tools: each trace_clock' all_clocks
check 'tools: trace_pipe' through_the_pipe
check 'tools: trace-cmd record and report' trace_cmd_records
check 'tools: trace-cmd reads the file that it wrote' trace_dat
check 'tools: trace-cmd hist' trace_cmd_stacks
check 'tools: perf list' perf_lists
check 'tools: perf stat' perf_counts
check 'tools: perf record and script' perf_records
check 'tools: perf record -g has the stack from main() to the instruction, and the handler' perf_stacks
check 'tools: perf report' perf_reports
check 'tools: perf trace' perf_traces
check 'tools: perf does not sample what its samples do' perf_does_not_loop
check 'tools: bpftrace has each field' bpftrace_shows
check 'tools: bpftrace counts and times' bpftrace_maps
check 'tools: bpftrace has both stacks' bpftrace_stacks
check 'tools: perf and bpftrace say what is not there' tools_refuse
check 'tools: a program of libbpf has each field' libbpf_shows
check 'tools: a program of libbpf reads struct pagefault' libbpf_arguments
check 'tools: a program of libbpf for another kernel says so' libbpf_refuses
check 'tools: the tools of this machine run on a kernel without BTF' old_tools_guest
for job in tools old; do
	of=Debian
	[ $job = tools ] || of='this machine'
	while read -r recipe; do
		check "tools: the recipe $recipe, by the tools of $of" \
			recipe_is "$logs/$job" "$recipe"
	done <"$logs/recipes.names"
	check "tools: the recipes leave nothing behind, by the tools of $of" \
		nothing_left "$logs/$job"
done
for job in tools old; do
	check "tools: no splat on the console of $job" console_clean "$logs/$job/console.log"
done
check 'tools: a program of libbpf says that there is no BTF' says "$logs/old/btf" \
	'this kernel has no /sys/kernel/btf/vmlinux: build it with CONFIG_DEBUG_INFO_BTF=y'
check 'tools: make run ROOT=tools' run_root
if [ "${TRAP_FAST:-}" ]; then
	skip 'tools: a program of libbpf says that there are no events' 'make check-all has a kernel for it'
else
	kernels ftracetest-base
	check 'tools: a program of libbpf says that there are no events' no_events_guest
fi
