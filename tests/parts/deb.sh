# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# deb: make deb with Debian's cloud configuration, installed in a Debian
#
# All is as on a user's machine: the packages are installed by dpkg, initramfs-tools makes the
# initramfs, and the modules that reach the disk are those of the package. To compile fewer
# files, the configuration has no BTF, and no modules but those that the guest needs. The guest
# is Debian's release of the base, on a disk, and runs the demo and the kselftest.

# shellcheck source=scripts/kernel/archive.sh
. "$top/scripts/kernel/archive.sh"
need mmdebstrap mke2fs
packages=$dir/deb-cloud
suite=${base_suite%-backports}
find_mirror
use_suite "$logs/apt" "$suite" "$base_suite" >"$logs/apt.log" 2>&1 ||
	skip_part "apt-get update of $suite failed (see $logs/apt.log)"

configuration() {
	local package="linux-config-${base#linux-}"
	cd "$logs" && apt_own apt-get download "$package" &&
	dpkg-deb -x "$package"_*.deb unpacked || return 1
	xz -dc unpacked/usr/src/"$package"/config.amd64_none_cloud-amd64.xz |
		sed '/^CONFIG_DEBUG_INFO_BTF=y$/d' >cloud.config
	grep -x CONFIG_VIRTIO_BLK=m cloud.config
}
no_tracing() {
	printf '%s\n' CONFIG_MODULES=y '# CONFIG_FTRACE is not set' \
		'# CONFIG_DEBUG_KERNEL is not set' >"$logs/no-tracing.config"
	fails 'need: CONFIG_FTRACE CONFIG_TRACING' \
		env CONFIG="$logs/no-tracing.config" "$top/scripts/kernel/deb" deb-bad &&
	rm -rf "$dir/deb-bad"
}
make_deb() {
	printf '%s 0 0\n' Module virtio_pci virtio_blk ext4 >"$logs/lsmod"
	rm -rf "$packages" && CONFIG=$logs/cloud.config LOCALMODCONFIG=$logs/lsmod \
		"$top/scripts/kernel/deb" deb-cloud >"$logs/said" &&
	! grep -x CONFIG_XFS_FS=m "$packages/build/.config"
}
says_commands() {
	local image
	image=$(cd "$packages" && echo linux-image-*-trap_*_amd64.deb)
	cat "$logs/said"
	[ -f "$packages/$image" ] &&
	grep -q "apt-get install ./$image ./linux-headers-" "$logs/said" &&
	grep -q "apt-get purge linux-image-.*-trap linux-headers-.*-trap" "$logs/said" &&
	! ls "$packages"/*-dbg_*.deb && ! ls /boot/*-trap /lib/modules/*-trap
}
again() {
	CONFIG=$packages/build/.config "$top/scripts/kernel/deb" deb-cloud | diff "$logs/said" - &&
	! find "$packages" -maxdepth 1 -name '*.deb' -newer "$logs/said" | grep .
}

# The Debian of the guest, on a disk. Its root is mounted once more, without /proc of the host.
# What its init says goes to the second serial line
installed() (
	image=$(ls "$packages"/linux-image-*-trap_*_amd64.deb) && build_kselftest || return 1
	rm -rf "$logs/add" && mkdir -p "$logs/add/check" && cd "$logs/add/check" &&
	cp "$image" image.deb && cp "$kselftest"/trap/*_* "$kselftest"/pagefault/*_* . &&
	gcc -O2 -static -o demo "$top/scripts/vm/demo.c" || return 1
	cat >init <<-'END'
	#!/bin/sh
	exec >/dev/ttyS1 2>&1
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin
	mount -t tracefs tracefs /sys/kernel/tracing
	mount -t debugfs debugfs /sys/kernel/debug
	echo "release $(uname -r)"
	echo "root $(findmnt -no SOURCE,FSTYPE /)"
	echo "module $(grep '^virtio_blk ' /proc/modules) $(modinfo -n virtio_blk)"
	cd /sys/kernel/tracing
	echo 'trap:* pagefault:*' >set_event
	/check/demo
	echo >set_event
	for event in trap_entry trap_exit pagefault_entry pagefault_exit; do
		echo "demo $event $(grep -c " demo-.* $event: " trace)"
	done
	cd /check
	for program in trap_events trap_guard pagefault_outcome pagefault_count; do
		./$program
		echo "$program $?"
	done
	sync
	echo o >/proc/sysrq-trigger
	# A program may not start any more, as the disk is shut down, too
	while :; do :; done
	END
	chmod +x init
	rm -f "$logs/disk"
	# shellcheck disable=SC2016 # of mmdebstrap's shell
	mmdebstrap --variant=minbase --include=initramfs-tools,zstd --keyring="$keyring" \
		--customize-hook="copy-in $logs/add/check /" \
		--customize-hook='chroot "$1" dpkg -i /check/image.deb' \
		--customize-hook="copy-out /boot $logs" \
		--customize-hook="mount --bind \"\$1\" $logs/add" \
		--customize-hook="/usr/sbin/mke2fs -q -t ext4 -d $logs/add $logs/disk 2G" \
		--customize-hook="umount $logs/add" \
		"$suite" /dev/null "deb [signed-by=$keyring] $mirror $suite main" &&
	ls -l "$logs/boot" && [ -s "$(echo "$logs"/boot/initrd.img-*-trap)" ]
)
boots() {
	local release accel=tcg,thread=single append="no_timer_check tsc=nowatchdog"
	release=$(cat "$packages/build/include/config/kernel.release")
	! grep -qwE 'vmx|svm' /proc/cpuinfo || [ ! -w /dev/kvm ] || accel=kvm
	rm -f "$logs/console" "$logs/result"
	timeout "${TIMEOUT:-900}" qemu-system-x86_64 -accel "$accel" -cpu max -smp 2 -m 2048 \
		-nodefaults -display none -no-reboot \
		-serial "file:$logs/console" -serial "file:$logs/result" \
		-kernel "$logs/boot/vmlinuz-$release" -initrd "$logs/boot/initrd.img-$release" \
		-drive "file=$logs/disk,if=virtio,format=raw,cache=unsafe" \
		-append "console=ttyS0 root=/dev/vda rw init=/check/init panic=-1 $append" ||
		return 1
	tr -d '\r' <"$logs/result" >"$logs/results"
	cat "$logs/results"
	result "release $release" 'root /dev/vda ext4' && console_clean "$logs/console"
}
result() {	# PATTERN...
	for pattern in "$@"; do
		grep -qxE -e "$pattern" "$logs/results" || { echo "no '$pattern'"; return 1; }
	done
}

check 'bad input: a configuration without tracing' no_tracing
group='make deb'
check 'deb: there is a cloud configuration of Debian' configuration
if [ -s "$logs/cloud.config" ]; then
	check 'deb: it makes the packages' make_deb
	check 'deb: it says how to install and remove them, and installs nothing' says_commands
	check 'deb: a second run rebuilds nothing' again
	check 'deb: the package installs in a Debian, and makes an initramfs' installed
	check 'deb: it boots from its disk' boots
	check 'deb: the module of the disk comes from the package' \
		result 'module virtio_blk .* /.*/modules/.*-trap/kernel/.*/virtio_blk\.ko.*'
	check 'deb: the events have each trap and the faults of the demo' \
		result 'demo trap_entry 9' 'demo trap_exit 9' 'demo pagefault_entry [3-9][0-9]' \
		'demo pagefault_exit [3-9][0-9]'
	check 'deb: the kselftest passes' \
		result 'trap_events 0' 'trap_guard 0' 'pagefault_outcome 0' 'pagefault_count 0'
fi
