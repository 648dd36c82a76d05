# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# Debian's own kernels for guests. They come with their modules, which tests/trapstat/modules.c
# loads. It takes modprobe, xz and cpio.

# stock_kernel PACKAGE [apt_own]: unpack the kernel that this package of Debian stands for, and
# print its folder. With apt_own, of scripts/kernel/archive.sh, it has no modules, and is of
# the suite and architecture that the caller has set
stock_kernel() {
	local package
	package=$(${2:-} apt-cache depends "$1" |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ "$package" ] || return 1
	if [ ! -d "$cache/stock/$package" ]; then
		rm -rf "$cache/stock/new.$$" && mkdir -p "$cache/stock/new.$$" &&
		cd "$cache/stock/new.$$" && ${2:-} apt-get -q download "$package" >&2 &&
		dpkg-deb --fsys-tarfile ./*.deb | tar -x ${2:+./boot} && rm ./*.deb &&
		# Of Debian 13, modules are in usr/lib
		{ [ -d lib ] || ln -s usr/lib lib; } &&
		{ [ "${2:-}" ] || { find lib/ -name '*.ko.xz' -exec xz -d {} + &&
			depmod -b . "${package#linux-image-}"; }; } &&
		mv "$cache/stock/new.$$" "$cache/stock/$package" || return 1
	fi
	echo "$cache/stock/$package"
}

# put_stock PACKAGE JOB: this kernel, and what loads the modules that scripts/vm/boot needs
put_stock() (
	folder=$(stock_kernel "$1") || { echo "there is no $1" >"$cannot"; exit 1; }
	version=${folder##*/linux-image-}
	to=$2 n=100
	cp "$folder/boot/vmlinuz-$version" "$to/kernel" && rm -rf "$to/files" &&
	mkdir -p "$to/files/modules" && cd "$to/files" &&
	gcc -O2 -Wall -static -o init "$top/tests/trapstat/modules.c" &&
	gcc -O2 -static -o init.vm "$top/scripts/vm/init.c" && ./init.vm tsc >"$to/tsc" || exit 1
	modprobe -d "$folder" -S "$version" -a --show-depends virtio_pci 9pnet_virtio 9p overlay \
		virtio_blk ext4 | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$to/modules"
	while read -r module; do
		cp "$module" "modules/$n" && n=$((n + 1)) || exit 1
	done <"$to/modules"
	find . | cpio -o -H newc --quiet >"$to/initrd" && cd "$to" && rm -rf files modules
)
