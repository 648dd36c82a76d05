# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# trapstat: trapstat's counts match a known workload, on our kernel and on Debian's
#
# Debian's kernels are those that this release has packages of.

# shellcheck source=tests/trapstat-common.sh
. "$top/tests/trapstat-common.sh"
# shellcheck source=tests/stock.sh
. "$top/tests/stock.sh"
for subject in views sources tasks records; do
	# shellcheck source=/dev/null
	. "$top/tests/trapstat/expect-$subject.sh"
done
need modprobe xz cpio
static=$logs/compiled/trapstat-static

# runs KERNEL WORDS [OPTION OF BOOT...]: run tests/trapstat/guest with these WORDS; with
# options, the folder of the job has a name of its own
runs() {
	local words="$2" name="$1"
	is_built || return 1
	job=$logs/$1
	shift 2
	[ $# = 0 ] || job=$job-$(echo "$*" | tr -cd '[:alnum:]')
	set -- "$name" "$@"
	rm -rf "$job" && mkdir -p "$job" || return 1
	if [ "$1" = guest ] || [ "$1" = tools ]; then
		put_kernel "$1" "$job" && rm -f "$job/trap_test.ko" || return 1
	else
		put_stock "$1" "$job" || return 1
	fi
	echo "#!/bin/sh
exec env crashing='$crashing' $top/tests/trapstat/guest $trapstat $workload $words" >"$job/run"
	chmod +x "$job/run"
	shift
	TIMEOUT=${TIMEOUT:-1800} "$top/scripts/vm/boot" -d 512 "$@" "$job" && [ -s "$job/status" ] &&
	console_clean "$job/console.log"
}
# stock_guest JOB [OPTION OF BOOT...]: Debian's default kernel, with the commands of stdin
stock_guest() {
	job=$1
	shift
	rm -rf "$job" && mkdir -p "$job" && put_stock linux-image-amd64 "$job" </dev/null || return 1
	{ echo '#!/bin/sh'; cat; } >"$job/run"
	chmod +x "$job/run"
	"$top/scripts/vm/boot" "$@" "$job"
}
locked_down() {
	stock_guest "$logs/lockdown" -a lockdown=confidentiality <<-END || return 1
		mount -t securityfs securityfs /sys/kernel/security
		$trapstat 1 1 >/job/out 2>&1
		echo \$? >/job/out.status
	END
	exits out 1 && says 'locked down'
}
# Room for 512 CPUs, of which two are there, and for fewer open files
many_cpus() {
	stock_guest "$logs/cpus" -a possible_cpus=512 <<-END && grep -x 0-511 "$job/possible" || return 1
		cat /sys/devices/system/cpu/possible >/job/possible
		prlimit --nofile=300: $trapstat --source perf -- $workload anon 1000 >/job/perf 2>&1
		echo \$? >/job/perf.status
	END
	exits perf 0 && faults 1000 1050 'MINOR user anon'
}
# Each compiler of this Debian that the Makefile takes makes a program that the kernel loads
compiles() {
	local c n=0
	mkdir -p "$logs/compiled" "$logs/old/bpf"
	for c in clang-14 clang-15 clang-16 clang-17 clang-18 clang-19; do
		command -v "$c" >/dev/null || { echo "there is no $c"; continue; }
		make -s -C "$top/trapstat" OUTPUT="$logs/compiled" CLANG="$c" &&
			cp "$logs/compiled/trapstat" "$logs/compiled/trapstat-$c" || return 1
		n=$((n + 1))
	done
	printf '#define LIBBPF_MAJOR_VERSION 0\n#define LIBBPF_MINOR_VERSION 7\n' \
		>"$logs/old/bpf/libbpf.h"
	[ "$n" != 0 ] && refused CLANG=gcc 'gcc is not clang 14 or newer' &&
	refused CC="gcc -I$logs/old" 'no libbpf-dev 0.8 or newer' &&
	make -s -C "$top/trapstat" OUTPUT="$logs/compiled" STATIC=1 &&
	cp "$logs/compiled/trapstat" "$static" && ! ldd "$static" &&
	[ "$(stat -c %s "$static")" -lt 4000000 ]
}
refused() {	# SETTING MESSAGE
	! make -s -C "$top/trapstat" OUTPUT="$logs/compiled" "$1" 2>"$logs/refused" &&
	grep -F "$2" "$logs/refused"
}
boots() {
	[ -e "$static" ] || compiles || return 1
	runs "$kernel" ''
}

check 'trapstat builds' built
check 'each clang, and a binary without libraries' compiles
for kernel in guest tools linux-image-amd64 linux-image-6.12-amd64; do
	group=$kernel
	if selected && is_ours; then
		kernels "$kernel"
	fi
	check "$kernel: the guest boots and runs each view" boots
	check "$kernel: the counts on one CPU" short_right -c 1
	check "$kernel: the counts on four CPUs" short_right -c 4
	[ -s "$logs/$kernel/started" ] || continue
	job=$logs/$kernel
	check "$kernel: the programs of each clang run" compiled_right
	check "$kernel: the capabilities name the sources" sources_named
	check "$kernel: the summary has what the workload did" summary_right
	check "$kernel: the counts are those of getrusage(), and rows sum up" sums_right
	check "$kernel: exit status and children of a command, and two at once" commands_right
	check "$kernel: filters" filters_right
	check "$kernel: a fault that is held for 20 ms takes as long" durations_right
	check "$kernel: why faults take long: refaults, userfaultfd" why_right
	check "$kernel: faults by process, thread, file and cgroup" faults_right
	check "$kernel: fallback sources" other_sources_right
	check "$kernel: the source perf has the same faults" perf_right
	check "$kernel: perf_event_open() that fails, and few open files" perf_refused
	check "$kernel: ten thousand processes, and rows sum up to the total" processes_right
	check "$kernel: exec by a thread, PIDs used again, a CPU that goes off" lives_right
	check "$kernel: nothing is left of threads that are gone" leaks_right
	check "$kernel: BPF finds mapping and function" mappings_right
	check_with strace "$kernel: an idle system takes few calls of bpf()" calls_right
	check "$kernel: steps, nested signals, SIGBUS, and trapstat in trapstat" known_right
	check "$kernel: stack overflows, FPU, bad pointers, a PID namespace" cases_right
	check_with node "$kernel: each wasm trap of node" node_right
	check_with javac "$kernel: each division by zero and null reference of a JVM" java_right
	check_with gdb "$kernel: each single step of gdb" gdb_right
	check "$kernel: UMIP has a row of its own" names_right
	check "$kernel: other senders of signals do not count" senders_right
	check "$kernel: a command that ends soon, and one that is stopped" ends_right
	check "$kernel: a command finds nothing changed" ends same 0
	check "$kernel: control groups" groups_right
	check "$kernel: each signal of a trap, and why" crashes_right "$job/crashes"
	check "$kernel: records, and the page of one" records_right
	check "$kernel: the order of a huge page" orders_right
	check "$kernel: a full disk or SIGKILL leaves a record that can be read" cut_right
	check "$kernel: metrics" metrics_right
	check "$kernel: missing capabilities, a narrow terminal and a resize" rights_right
	check "$kernel: signals end it, and names are escaped" signals_right
done
check 'a locked-down kernel: the message says so' locked_down
check 'a kernel for 512 CPUs: as many files are open as there are CPUs' many_cpus
