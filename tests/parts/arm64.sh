# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# arm64: the page fault events; and trapstat, on our kernels and Debian's own
#
# clang compiles trapstat with Debian's libraries for arm64. With Debian's kernels, a guest is a
# kernel and an initramfs, and says all on its console: see tests/trapstat/arm64-init.

# shellcheck source=scripts/kernel/archive.sh
. "$top/scripts/kernel/archive.sh"
# shellcheck source=tests/ports.sh
. "$top/tests/ports.sh"
need clang-19 ld.lld-19 bpftool mmdebstrap qemu-system-aarch64 cpio bc
if has_port arm64 && have aarch64-linux-gnu-gcc 'arm64: the page fault events'; then
	port arm64 arch/arm64/mm/fault.c '-f mte=on' 'arm64-1 arm64 -c 1' 'arm64-2 arm64 -c 2' \
		'arm64-4 arm64 -c 4' 'arm64-mte arm64 -c 2 -f mte=on' 'arm64-16k arm64-16k -c 2' \
		'arm64-64k arm64-64k -c 2'
fi
sysroot=$logs/sysroot
files=$logs/files
libraries=libc6-dev,libgcc-12-dev,linux-libc-dev,libbpf-dev,libdw-dev,libelf-dev
libraries=$libraries,libiberty-dev,libjansson-dev
libraries=$libraries,libmicrohttpd-dev,zlib1g-dev,liblzma-dev,libbz2-dev,busybox-static
cross='clang-19 --target=aarch64-linux-gnu'

# Unpacked: no program of it runs here
unpacked() {
	find_mirror
	rm -rf "$sysroot" && mmdebstrap --variant=extract --architectures=arm64 \
		--keyring="$keyring" --include="$libraries" bookworm "$sysroot" \
		"deb [signed-by=$keyring] $mirror bookworm main"
}
is_arm() { [ "$(od -An -tu2 -j18 -N2 "$1" | tr -d ' ')" = 183 ]; }
builds() {
	local kind
	rm -rf "$files" && mkdir -p "$files/bin" "$files/dev" "$files/proc" "$files/sys" \
		"$files/tmp" || return 1
	for kind in '' 1; do
		mkdir -p "$logs/built$kind" &&
		make -s -C "$top/trapstat" OUTPUT="$logs/built$kind" STATIC=$kind \
			CC="$cross" LDFLAGS=-fuse-ld=lld-19 SYSROOT="$sysroot" &&
		is_arm "$logs/built$kind/trapstat" || return 1
	done
	llvm-strip-19 -o "$files/bin/trapstat" "$logs/built1/trapstat" &&
	$cross --sysroot="$sysroot" -fuse-ld=lld-19 -O2 -Wall -static -pthread \
		-o "$files/bin/workload" "$top/tests/trapstat/workload.c" &&
	cp "$sysroot/bin/busybox" "$files/bin/" &&
	cp "$top/tests/trapstat/arm64-init" "$files/init" &&
	chmod 755 "$files/init" && cd "$files" && find . | cpio -o -H newc --quiet >"$logs/initrd"
}

# arm_kernel SUITE PACKAGE: print the image of the kernel that this package stands for there
arm_kernel() (
	find_mirror
	printf 'APT::Architecture "arm64";\nAPT::Architectures { "arm64"; };\n' >"$logs/apt.conf"
	APT_CONFIG=$logs/apt.conf
	export APT_CONFIG
	use_suite "$logs/apt-$1" "$1" >&2 || exit 1
	package=$(apt_own apt-cache depends "$2" | sed -n 's/^ *Depends: //p' | head -n 1)
	[ "$package" ] || exit 1
	if [ ! -d "$cache/stock/$package" ]; then
		mkdir -p "$cache/stock/new.$$" && cd "$cache/stock/new.$$" &&
		apt_own apt-get download "$package" >&2 &&
		dpkg-deb --fsys-tarfile ./*.deb | tar -x ./boot && rm ./*.deb &&
		mv "$cache/stock/new.$$" "$cache/stock/$package" || exit 1
	fi
	echo "$cache/stock/$package/boot/vmlinuz-${package#linux-image-}"
)
boots() {	# SUITE PACKAGE
	local image
	image=$(arm_kernel "$1" "$2") || { echo "there is no $2 in $1" >"$cannot"; return 1; }
	rm -f "$job"
	timeout "${TIMEOUT:-900}" qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 \
		-m 1024 -nodefaults -display none -no-reboot -serial "file:$job.console" \
		-kernel "$image" -initrd "$logs/initrd" -append 'console=ttyAMA0 panic=-1'
	tr -d '\r' <"$job.console" >"$job"
	of kernel && ! grep -E 'Oops|Kernel panic|BUG:' "$job" && grep -qx '==== end' "$job"
}
# of NAME: what the guest said there, and in "file" for those that read it
of() {
	file=$job.$1
	awk -v want="==== $1" '/^==== / { on = $0 == want; next } on' "$job" >"$file"
	cat "$file"
	[ -s "$file" ]
}
says() { grep -qF -- "$1" "$file" || { echo "not there: $1"; return 1; }; }
lines() {	# LEAST MOST PATTERN: the sum of their first words
	local n
	n=$(awk -v of="$3" '$1 ~ /^[0-9]+$/ && $0 ~ of { n += $1 } END { print n + 0 }' "$file")
	echo "$3: $n, $1 to $2"
	[ "$n" -ge "$1" ] && [ "$n" -le "$2" ]
}

# The page size, and rows of x86 nowhere
capable() {	# SOURCE KIB
	of kernel && grep -qx "KernelPageSize: *$2 kB" "$file" && of capabilities &&
	grep -qE "^how long they take +$1, .* of handle_mm_fault" "$file" &&
	says '  signal:signal_generate' && says 'status 0' &&
	! grep -E 'NMI|machine check|other traps|time in them' "$file" &&
	of vector && says '--vector is for x86' && says 'status 2' &&
	! grep -E '^#[A-OQ-Z]|other traps' "$job"
}
counts() {	# SOURCE
	of "all-$1" && says 'status 0' && grep -qE '^(at least )?0( to [0-9]+)? lost' "$file" &&
	says 'ILL_ILLOPC 90, SEGV_MAPERR 70' &&
	grep -qE '^counted: (.*); getrusage: \1$' "$file" &&
	lines 4600 4900 ' M[A-Z]+ +user +(anon|-)' && lines 700 720 ' M[A-Z]+ +kernel +anon' &&
	lines 500 560 ' M[A-Z]+ +user +shmem' && lines 900 910 ' M[A-Z]+ +noregs'
}
# A fault that is held takes 20 ms; by perf, nobody knows
takes() {	# SOURCE
	of "held-$1" || return 1
	case $1 in
	perf)	awk -F, '/"#PF"/ { n++; known += $2 } END { exit known || n < 5 }' "$file" ;;
	*)	awk -F, '/"step_held"/ && $2 >= 20000000 { n++ } END { exit n != 5 }' "$file" ;;
	esac
}
# Addresses without their tag, the instruction, the mapping, and the offset in the file
records() {	# KIB
	local size=$(($1 * 1024))
	of record && says 'status 0' && of csv >"$job.csv.csv" && cp "$file" "$job.r.csv" &&
	"$top/tests/trapstat/files.py" events "$job.r.csv" >"$job.events" && cat "$job.events" &&
	grep -qx '300 #PF MINOR user anon \[anon\] step_tagged' "$job.events" &&
	grep -qx '40 #PF MINOR user shmem trapstat-file step_file' "$job.events" &&
	grep -qx '7 SIGSEGV - user - - read_nothing' "$job.events" || return 1
	grep -qE '^[45][0-9] #PF MINOR kernel anon \[anon\] [a-z_]+$' "$job.events" &&
	[ "$(grep -c ',0x8,0x[0-9a-f]*,user,"SIGSEGV"' "$file")" = 7 ] &&
	tagged=$(code_of step_tagged) && strides "$size" "$tagged" 8 300 &&
	strides "$size" "$(code_of step_file)" 15 40 &&
	grep -q "\"trapstat-file+$(printf '%#x' "$size")\"" "$file" &&
	of csv-perf >/dev/null && strides "$size" "$tagged" 8 300
}
# The instruction in a function that faults
code_of() { awk -F, -v of="\"$1\"" '$16 == of { print $9; exit }' "$file" | grep .; }
# strides SIZE INSTRUCTION COLUMN COUNT: so many addresses or offsets, each a page further. The
# function is not known by perf on kernels that disable interrupts for it.
strides() {
	awk -F, -v of="$2" -v c="$3" '
		$9 == of { sub(/.*0x/, "", $c); sub(/"/, "", $c); print toupper($c) }' "$file" |
		{ echo 'ibase=16'; cat; } | bc | sort -n |
		awk -v size="$1" -v count="$4" 'NR > 1 && $1 != last + size { exit 1 } { last = $1 }
			last >= 2 ^ 52 { exit 1 } END { if (NR != count) exit 1 }' ||
		{ echo "$2, column $3: not $4 pages of $1"; return 1; }
}

group=arm64
check 'arm64: Debian has its libraries' unpacked
check 'arm64: trapstat builds for aarch64, with libraries and without' builds
for kernel in 'bookworm linux-image-arm64 kprobe 4' 'trixie linux-image-arm64 fentry 4' \
	'trixie linux-image-arm64-16k fentry 16'; do
	# shellcheck disable=SC2086 # a list of words
	set -- $kernel
	group="$1 $2"
	job=$logs/$1-$2
	check "$group: the guest boots and runs each view" boots "$1" "$2"
	[ -s "$job" ] || continue
	check "$group: pages of $4 KiB, $3, and no traps of x86" capable "$3" "$4"
	for source in event kprobe perf; do
		check "$group, $source: counts are those of getrusage()" counts $source
		check "$group, $source: a fault that is held for 20 ms takes as long" takes $source
	done
	check "$group: records have address, instruction, mapping and offset" records "$4"
done
