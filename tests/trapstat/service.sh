# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# Of the part packages: a minimal Debian, which installs trapstat and starts its service

installs() {	# SUITE
	local root="$logs/$1"
	[ -f "$deb" ] || makes_all || return 1
	find_mirror
	rm -rf --one-file-system "$root"
	# shellcheck disable=SC2016 # of mmdebstrap's shell
	mmdebstrap --variant=minbase --keyring="$keyring" --customize-hook="copy-in $deb /" \
		--customize-hook='chroot "$1" sh -c "apt-get install -y /*.deb && rm /*.deb"' \
		"$1" "$root" "deb [signed-by=$keyring] $mirror $1 main" &&
	(cd "$root" && find . -xdev) >"$logs/$1.files" && holds "$logs/$1.files"
}
# in_root SUITE COMMAND...: with the kernel's file systems, as a machine has them
in_root() {
	local root="$logs/$1"
	shift
	# shellcheck disable=SC2016 # of that shell
	unshare -m sh -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" &&
		exec chroot "$0" "$@"' "$root" "$@"
}
at_once() {	# SUITE
	in_root "$1" trapstat -- ls >"$logs/$1.ls" 2>&1 || {
		! grep 'cannot load' "$logs/$1.ls" || echo "$cannot_load" >"$cannot"
		cat "$logs/$1.ls"
		return 1
	}
	cat "$logs/$1.ls"
	grep -qx etc "$logs/$1.ls" && grep -qE '^ *[1-9][0-9]* .* #PF$' "$logs/$1.ls" &&
	grep -qE ' MINOR +user ' "$logs/$1.ls" && grep -qE '^0( to [0-9]+)? lost' "$logs/$1.ls"
}
# Of systemd, from 0 to 10; without the hardening, it is above 9
hardened() {
	local score
	score=$(exposure "$packaging/trapstat.service") && echo "exposure: $score" &&
	[ "$score" -le 18 ] &&
	sed '/^DynamicUser/,/^IPAddressAllow/d' "$packaging/trapstat.service" \
		>"$logs/trapstat.service" &&
	[ "$(exposure "$logs/trapstat.service")" -gt 80 ]
}
exposure() {	# UNIT
	systemd-analyze security --offline=true --no-pager "$1" >"$logs/exposure"
	sed -n 's/.*Overall exposure level .*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p' "$logs/exposure"
}
# systemd of the root starts the service in the guest, in a PID namespace, as PID 1 is ours
served() {	# SUITE KERNEL
	local root="$logs/$1" job="$logs/service-$1"
	in_root "$1" apt-get update &&
	in_root "$1" apt-get install -y --no-install-recommends systemd systemd-sysv curl &&
	rm -rf "$job" && mkdir -p "$job" && put_stock "$2" "$job" || return 1
	# Neither waits for the services of a boot
	mkdir -p "$root/etc/systemd/system/trapstat.service.d" &&
	printf '[Unit]\nDefaultDependencies=no\n' \
		>"$root/etc/systemd/system/trapstat.service.d/alone.conf" || return 1
	cat >"$root/etc/systemd/system/look.service" <<-'END'
		[Unit]
		DefaultDependencies=no
		FailureAction=exit-force
		SuccessAction=exit-force
		[Service]
		Type=oneshot
		ExecStart=/job/look
	END
	cat >"$job/look" <<-'END'
		#!/bin/sh
		exec >/job/out 2>&1
		systemctl start trapstat
		for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
			sleep 4
			curl -s http://127.0.0.1:9876/metrics >/job/metrics
			! grep -q '^trapstat_page_fault_seconds_sum.*minor' /job/metrics || break
		done
		systemctl status trapstat
		pid=$(systemctl show -P MainPID trapstat)
		grep -E '^(Uid|Cap(Eff|Bnd)|NoNewPrivs|Seccomp):' /proc/$pid/status
		ls -l /proc/$pid/exe
		systemctl stop trapstat
		systemctl show -P Result -P ExecMainStatus trapstat
	END
	cat >"$job/run" <<-'END'
		#!/bin/sh
		rm -f /etc/resolv.conf
		exec unshare -fpm --mount-proc env -i container=other PATH="$PATH" \
			/lib/systemd/systemd --unit=look.service
	END
	chmod +x "$job/run" "$job/look"
	TIMEOUT=${TIMEOUT:-600} "$top/scripts/vm/boot" -r "$root" "$job" || :
	cat "$job/out" && grep -q '^trapstat_page_fault_seconds_sum.*minor' "$job/metrics" &&
	! grep '^Uid:	0' "$job/out" && grep -qx 'CapEff:	000000c000000000' "$job/out" &&
	grep -qx 'CapBnd:	000000c000000000' "$job/out" &&
	[ "$(tail -n 2 "$job/out" | tr '\n' ' ')" = 'success 0 ' ]
}
