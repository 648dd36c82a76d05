# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # variables of scripts/lib.sh
# The base kernels, and the architectures. Sourced by scripts/lib.sh.

# all_bases: the oldest first
# default_base: the newest
all_bases() { (cd "$top/bases" && ls -d linux-*) | sort -V; }
default_base() { all_bases | tail -n 1; }

# nearest_base VERSION: the base with the fewest releases between it and Linux VERSION, X.Y.
# Linux 5 and 6 had 20 releases each.
nearest_base() {
	local other best='' least='' distance
	for other in $(all_bases); do
		distance=$(($(releases "$1") - $(releases "${other#linux-}")))
		distance=${distance#-}
		if [ ! "$best" ] || [ "$distance" -lt "$least" ]; then
			best=$other least=$distance
		fi
	done
	echo "$best"
}
releases() { echo "$((${1%%.*} * 20 + ${1#*.}))"; }

# set_base [NAME]: set base, and read its pin; base_tag is upstream's name of that version
set_base() {
	base=${1:-$(default_base)}
	base_dir=$top/bases/$base
	hooks=$top/arch-x86-hooks/$base
	patches=$top/patches/$base
	# Just its name: a path with a slash at its end is a file as well
	case $base in
	*/*)	false ;;
	*)	[ -f "$base_dir/base" ] ;;
	esac || die "no base $base; choose one of these: $(all_bases | paste -sd " ")"
	# shellcheck source=bases/linux-7.3/base
	. "$base_dir/base"
	base_tag=v$(echo "${base_version%%-*}" | tr '~' -)
}

# set_arch KERNEL: what a kernel of that name is for: ARCH and CROSS_COMPILE of its make, machine
# as QEMU and the compiler call it, the image and the console
set_arch() {
	case $1 in
	arm64*)	set -- arm64 aarch64-linux-gnu- aarch64 arch/arm64/boot/Image ttyAMA0 ;;
	riscv*)	set -- riscv riscv64-linux-gnu- riscv64 arch/riscv/boot/Image ttyS0 ;;
	i386*)	set -- i386 '' x86_64 arch/x86/boot/bzImage ttyS0 ;;
	*)	set -- x86_64 '' x86_64 arch/x86/boot/bzImage ttyS0 ;;
	esac
	ARCH=$1 CROSS_COMPILE=$2 machine=$3 image=$4 tty=$5
	export ARCH CROSS_COMPILE
}
