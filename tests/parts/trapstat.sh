# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check/run
# trapstat: its figures are what a workload did, on our kernel and on Debian's own ones
#
# Debian's kernels are those that this release has packages of. They come with their modules,
# which tests/trapstat/modules.c loads.

need clang-19 bpftool modprobe xz man
[ -e /usr/include/bpf/libbpf.h ] || skip_part "there is no libbpf-dev"
kernels guest
trapstat=$logs/built/trapstat
workload=$logs/workload

built() {
	mkdir -p "$logs/built" &&
	make -C "$top/trapstat" OUTPUT="$logs/built" install DESTDIR="$logs/root" PREFIX=/usr &&
	[ -x "$logs/root/usr/sbin/trapstat" ] && man --warnings -l "$logs/root/usr/share/man/man8/trapstat.8" &&
	gcc -O2 -Wall -static -pthread -o "$workload" "$top/tests/trapstat/workload.c" &&
	gcc -O2 -Wall -static -o "$logs/modules" "$top/tests/trapstat/modules.c"
}
built_without_warning() {
	! grep -i 'warning' "$logs/trapstat-builds.log"
}

# stock_kernel PACKAGE: unpack the kernel that this package of Debian stands for, and print its
# folder
stock_kernel() {
	local package
	package=$(apt-cache depends "$1" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ "$package" ] || return 1
	if [ ! -d "$cache/stock/$package" ]; then
		mkdir -p "$cache/stock/new.$$" && cd "$cache/stock/new.$$" &&
		apt-get -q download "$package" >&2 && dpkg-deb -x ./*.deb . && rm ./*.deb &&
		find lib -name '*.ko.xz' -exec xz -d {} + && depmod -b . "${package#linux-image-}" &&
		mv "$cache/stock/new.$$" "$cache/stock/$package" || return 1
	fi
	echo "$cache/stock/$package"
}

# put_stock PACKAGE JOB: this kernel, and what loads the modules that scripts/vm/boot needs
put_stock() {
	local folder version
	folder=$(stock_kernel "$1") || { echo "there is no $1" >"$cannot"; return 1; }
	version=${folder##*/linux-image-}
	cp "$folder/boot/vmlinuz-$version" "$2/bzImage" &&
	gcc -O2 -static -o "$2/init" "$top/scripts/vm/init.c" && "$2/init" tsc >"$2/tsc" || return 1
	modprobe -d "$folder" -S "$version" -a --show-depends \
		virtio_pci 9pnet_virtio 9p overlay virtio_blk ext4 |
		awk -v init="$2/init" -v modules="$logs/modules" '
		BEGIN {
			print "dir /dev 755 0 0\nnod /dev/console 600 0 0 c 5 1\ndir /modules 755 0 0"
			print "file /init " modules " 755 0 0\nfile /init.vm " init " 755 0 0"
		}
		$1 == "insmod" && !seen[$2]++ {
			printf "file /modules/%d %s 644 0 0\n", 100 + n++, $2
		}' >"$2/list" &&
	"$dir/guest/usr/gen_init_cpio" "$2/list" >"$2/initrd"
}

runs() {	# KERNEL
	[ -x "$logs/modules" ] || built || return 1
	job=$logs/$1
	rm -rf "$job" && mkdir -p "$job" || return 1
	if [ "$1" = guest ]; then
		put_kernel guest "$job" && rm -f "$job/trap_test.ko" || return 1
	else
		put_stock "$1" "$job" || return 1
	fi
	printf '#!/bin/sh\nexec %s %s %s\n' "$top/tests/trapstat/guest" "$trapstat" "$workload" >"$job/run"
	chmod +x "$job/run"
	TIMEOUT=${TIMEOUT:-900} "$top/scripts/vm/boot" -d 512 "$job" && [ -s "$job/two.status" ] &&
	console_clean "$job/console.log"
}

# faults LEAST MOST WORDS: so many page faults of that outcome, mode and kind of memory are in
# the summary; a fault may have copied a page, too
faults() {
	local n
	n=$(awk -v of="$3" '{ sub(/,.*/, "", $3) } $1 " " $2 " " $3 == of { n += $4 } END { print n + 0 }' "$file")
	echo "$3: $n, $1 to $2"
	[ "$n" -ge "$1" ] && [ "$n" -le "$2" ]
}
# traps ROW USER: so many of these traps in the summary
traps() {
	echo "$1: $(awk -v row="$1" '$1 == row { print $2 }' "$file"), $2"
	[ "$(awk -v row="$1" '$1 == row { print $2 }' "$file")" = "$2" ]
}
says() {	# WORDS
	grep -qF -- "$1" "$file" || { echo "not there: $1"; return 1; }
}
exits() {	# FILE STATUS
	file=$job/$1
	echo "$1: $(cat "$file.status"), $2"
	[ "$(cat "$file.status")" = "$2" ] && { [ "$2" != 0 ] || says '0 lost'; }
}
# of_group NAME LEAST MOST [COLUMN]: of the view of faults, the row whose second word is NAME
of_group() {
	local n
	n=$(awk -v name="$1" -v column="${4:-4}" '$2 == name && NF > 14 { n += $column } END { print n + 0 }' "$file")
	echo "$1: $n, $2 to $3"
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}
# held COUNT FILE: so many faults took 20 ms or more
held() {
	local n
	n=$(awk '$1 ~ /^[0-9.]+(ms|s)$/ && (/ms /? $1 + 0 >= 20 : $1 + 0 > 0) && $3 == "user" { n++ } END { print n + 0 }' "$file")
	echo "held: $n, $1"
	[ "$n" -ge "$1" ]
}

sources_named() {
	file=$job/capabilities
	cat "$file"
	if [ "$kernel" = guest ]; then
		says 'pagefault:pagefault_exit' && says 'trap:trap_entry'
	else
		says 'fentry, fexit of handle_mm_fault()' && says 'exceptions:page_fault_*' &&
		[ "$(awk '$1 " " $2 == "other traps," && $5 == "-"' "$file" | wc -l)" = 1 ]
	fi && says 'signal:signal_generate'
}
summary_right() {
	exits all 0 && cat "$file" && faults 4700 4800 'MINOR user anon' &&
	faults 700 720 'MINOR kernel anon' && faults 900 920 'MINOR noregs anon' &&
	faults 400 450 'MINOR user file' && faults 500 540 'MINOR user shmem' &&
	says 'SIGILL (si_code 2) 90, SIGFPE (si_code 1) 80, SIGSEGV (si_code 1) 70' || return 1
	if [ "$kernel" = guest ]; then
		faults 70 70 'SIGNAL user -' && traps '#DE' 80 && traps '#UD' 90 &&
		[ "$(awk '$1 " " $2 == "MINOR user" && $3 == "anon,cow" && $4 >= 600' "$file" | wc -l)" = 1 ]
	else
		faults 70 70 'ELSEWHERE user -' && traps others -
	fi
}
# All are those of getrusage(), and the rows of faults sum up to the row of the trap
sums_right() {
	for file in all held children killed two kprobe; do
		file=$job/$file
		cat "$file"
		[ "$(sed -n 's/^counted: \(.*\); getrusage: \(.*\)/\1\n\2/p' "$file" | uniq | wc -l)" = 1 ] || return 1
		traps '#PF' "$(awk '$1 ~ /^[A-Z]+$/ && $2 == "user" && $5 ~ /%$/ { n += $4 } END { print n }' "$file")" ||
			return 1
	done
}
commands_right() {
	exits children 7 && faults 3000 3100 'MINOR user anon' && exits killed 137 && exits missing 127 &&
	says 'trapstat: /nonexistent: No such file' && exits gone 2 && says 'there is no process 4000000' &&
	exits two 0 && faults 1000 1050 'MINOR user anon'
}
filters_right() {
	exits user 0 && faults 1000 1050 'MINOR user anon' && faults 0 0 'MINOR kernel anon' &&
	exits kernel 0 && faults 1000 1050 'MINOR kernel anon' && faults 0 0 'MINOR user anon' &&
	exits outcome 0 && faults 1000 1050 'MINOR user anon' && ! grep -E 'SIGNAL|ELSEWHERE' "$file" &&
	exits comm 0 && faults 1000 1050 'MINOR user anon' && exits vector 0 && ! grep -E '#PF|#DE|MINOR' "$file" ||
		return 1
	[ "$kernel" != guest ] || traps '#UD' 50
}
durations_right() {
	exits held 0 && cat "$file" && held 5 && exits slower 0 && cat "$file" && held 5 || return 1
	[ "$kernel" = guest ] || [ "$(grep -cE ' workload +\[anon\]\+0x' "$file")" -ge 5 ]
}
faults_right() {
	exits table 0 && says cpu1 && exits process 0 && of_group workload 3500 3600 && of_group workload 3000 3050 7 &&
	of_group workload 500 540 9 && of_group total 0 0 && exits thread 0 &&
	[ "$(awk '$2 == "workload" && $4 >= 250 && $4 <= 260' "$file" | wc -l)" = 2 ] &&
	exits cgroup 0 && says ' 1 - ' && exits pid 0 && of_group workload 1000 1050 && says 'has ended' || return 1
	if [ "$kernel" = guest ]; then
		exits file 1 && says 'trapstat: no source here has the file of a fault'
	else
		exits file 0 && of_group trapstat-file 400 400
	fi
}
# Without the best source: as it is where fentry, or kprobes as well, are not to be had
other_sources_right() {
	local kind
	kind='MINOR user anon'
	[ "$kernel" != guest ] || kind='MINOR user -'	# it has no BTF
	exits kprobe 0 && cat "$file" && faults 1000 1100 "$kind" && faults 50 50 'ELSEWHERE user -' && held 5 &&
	exits none 0 && cat "$file" && faults 1050 1150 '- user -' && says 'counted: - minor, - major;' &&
	says 'SIGSEGV (si_code 1) 50'
}
signals_right() {
	exits INT 0 && exits TERM 0 && exits name 0 && says 'a?[31mb' && ! grep "$(printf '\033')" "$file"
}

check 'trapstat builds' built
check 'trapstat builds without a warning, and its man page is well-formed' built_without_warning
for kernel in guest linux-image-amd64 linux-image-6.12-amd64; do
	group=$kernel
	check "$kernel: the guest boots and runs each view" runs "$kernel"
	[ -s "$logs/$kernel/two.status" ] || continue
	job=$logs/$kernel
	check "$kernel: the capabilities name the sources" sources_named
	check "$kernel: the summary has what the workload did" summary_right
	check "$kernel: the counts are those of getrusage(), and rows sum up" sums_right
	check "$kernel: exit status and children of a command, and two at once" commands_right
	check "$kernel: filters" filters_right
	check "$kernel: a fault that is held for 20 ms takes as long" durations_right
	check "$kernel: faults by process, thread, file and cgroup" faults_right
	check "$kernel: sources of second choice" other_sources_right
	check "$kernel: signals end it, and no name controls the terminal" signals_right
done
