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
# shellcheck source=tests/stock.sh
. "$top/tests/stock.sh"
# shellcheck source=tests/trapstat/expect-arm64.sh
. "$top/tests/trapstat/expect-arm64.sh"
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
	export APT_CONFIG="$logs/apt.conf"
	use_suite "$logs/apt-$1" "$1" >&2 || exit 1
	folder=$(stock_kernel "$2" apt_own) &&
	echo "$folder/boot/vmlinuz-${folder##*/linux-image-}"
)
boots() {	# SUITE PACKAGE
	local image
	[ -f "$logs/initrd" ] || { unpacked && builds; } || return 1
	image=$(arm_kernel "$1" "$2") || { echo "there is no $2 in $1" >"$cannot"; return 1; }
	rm -f "$job"
	timeout "${TIMEOUT:-900}" qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 \
		-m 1024 -nodefaults -display none -no-reboot -serial "file:$job.console" \
		-kernel "$image" -initrd "$logs/initrd" -append 'console=ttyAMA0 panic=-1'
	tr -d '\r' <"$job.console" >"$job"
	of kernel && ! grep -E 'Oops|Kernel panic|BUG:' "$job" && grep -qx '==== end' "$job"
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
