# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# packages: packages of trapstat in a fresh Debian, its service, export in a fleet
#
# The roots are minimal ones of Debian 12 and 13. In them, trapstat runs on the kernel of this
# machine; its service runs in a guest, where systemd starts it on Debian's own kernels.

# shellcheck source=scripts/kernel/archive.sh
. "$top/scripts/kernel/archive.sh"
# shellcheck source=tests/stock.sh
. "$top/tests/stock.sh"
need clang-19 bpftool dpkg-buildpackage rpmbuild
version=$(list "$top/VERSION")
made=$build/packages
deb=$made/trapstat_${version}_$(dpkg --print-architecture).deb
static=$made/trapstat-$version-$(uname -m)
built=$logs/built
packaging=$top/packaging
fleet=$top/tests/trapstat/fleet.py
cannot_load='trapstat cannot load its programs here'

makes_all() {
	local kind
	rm -rf "$made"
	for kind in deb rpm static; do
		make -s -C "$top" "trapstat-$kind" || return 1
	done >"$logs/made"
	cat "$logs/made" && cd "$top" && xargs ls -l <"$logs/made" && [ -f "$deb" ] &&
	(cd "$made" && sha256sum -c "${static##*/}.sha256") && ! ldd "$static" &&
	[ "$("$static" --version)" = "trapstat $version" ]
}
# All have the version of the file, and the notes have a day for it
one_version() {
	local copy="$logs/copy"
	sources_copy "$copy" && cd "$copy" && sed -i 's/^[0-9].*/7.8/' VERSION &&
	fails "no heading '## 7.8" packaging/package deb &&
	sed -i "s/^## $version,/## 7.8,/" NEWS.md && packaging/package deb &&
	packaging/package rpm &&
	packaging/package static && cd build/packages && ls || return 1
	ls trapstat_7.8_*.deb trapstat-7.8-1.*.rpm &&
	[ "$("./trapstat-7.8-$(uname -m)" --version)" = 'trapstat 7.8' ] &&
	[ "$(dpkg-deb -f trapstat_7.8_*.deb Version)" = 7.8 ]
}
no_lint() {
	local said
	said=$(lintian --allow-root --pedantic -I "$made"/*.changes 2>&1)
	printf '%s\n' "$said"
	[ ! "$said" ]
}
holds() {	# LIST OF FILES
	local file
	for file in sbin/trapstat share/man/man8/trapstat.8 lib/systemd/system/trapstat.service \
		share/bash-completion/completions/trapstat 'share/zsh/.*/_trapstat' \
		share/fish/vendor_completions.d/trapstat.fish 'share/doc/.*/README.md'; do
		grep -qE "$file(\.gz)?$" "$1" || { echo "there is no $file"; return 1; }
	done
}
deb_right() { dpkg-deb -c "$deb" >"$logs/deb.list" && holds "$logs/deb.list"; }
rpm_right() {
	local said
	rpm -qpl "$made"/*.rpm >"$logs/rpm.list" && holds "$logs/rpm.list" &&
	said=$(rpmlint "$packaging/trapstat.spec") && echo "$said" &&
	echo "$said" | grep ' 0 errors,'
}
# Each option of the program is in all three, which their shells can read
completions() {
	local option n=0
	zsh -n "$top/trapstat/completion.zsh" && fish -n "$top/trapstat/completion.fish" &&
	bash -n "$top/trapstat/completion.bash" || return 1
	sed -n 's/.*{ "\([a-z-]*\)", [a-z]*_argument,.*/\1/p' "$top/trapstat/main.c" \
		>"$logs/options"
	while read -r option; do
		if ! grep -q -- "--$option\b" "$top/trapstat/completion.bash" ||
		   ! grep -q -- "--$option\b" "$top/trapstat/completion.zsh" ||
		   ! grep -qE -- "-l $option( |$)" "$top/trapstat/completion.fish" ||
		   ! sed 's|[^a-z]-|-|g' "$top/trapstat/trapstat.8" | grep -q -- "--$option\b"; then
			echo "$option is missing"
			return 1
		fi
		n=$((n + 1))
	done <"$logs/options"
	[ $n -gt 15 ] &&
	[ "$(in_fish 'trapstat rec')" = record ] && [ "$(in_fish 'trapstat --lis')" = --listen ]
}
# Each column that a view can be sorted by is in all three, and nothing else; each outcome, too
columns_complete() {
	local shell outcomes
	heads "$top/trapstat/faults.c" "$top/trapstat/command.c" "$top/trapstat/traps.c" |
		sort -u >"$logs/heads"
	[ "$(wc -l <"$logs/heads")" -gt 30 ] || return 1
	in_fish 'trapstat --sort ' >"$logs/heads.fish"
	in_bash --sort '' >"$logs/heads.bash"
	tr -s '\n\t' ' ' <"$top/trapstat/completion.zsh" |
		sed 's/.*--sort=[^(]*(\([^)]*\).*/\1/' | tr ' ' '\n' >"$logs/heads.zsh"
	outcomes=$(sed -n '/outcome_names/,/}/s/^\t//p' "$top/trapstat/text.c" | tr -d '",-' |
		tr '[:upper:]\n' '[:lower:] ' | sed 's/ *$//' | grep ' arch oops error unknown$') || return 1
	for shell in fish bash zsh; do
		sort "$logs/heads.$shell" | diff "$logs/heads" - || return 1
		tr -s '\n\t' ' ' <"$top/trapstat/completion.$shell" |
			grep -qF "$outcomes" || return 1
	done
	[ "$(in_bash --outcome = mi)" = minor ] && [ "$(in_bash --source = | wc -l)" = 6 ]
}
# Of C code: the names in front of the keys, without % and /s
heads() {
	grep -ohE '"[A-Z0-9-]+(%|/s)?", "[a-z0-9_]+"' "$@" | cut -d '"' -f 2 | cut -d / -f 1 |
		tr -d % | tr '[:upper:]' '[:lower:]'
}
in_bash() {	# WORD...: how bash completes the last one
	# shellcheck disable=SC2016 # of bash
	bash -c '. "$1"; shift; COMP_WORDS=(trapstat "$@"); COMP_CWORD=$#; _trapstat
		printf "%s\n" "${COMPREPLY[@]}"' sh "$top/trapstat/completion.bash" "$@"
}
in_fish() { fish -c "source $top/trapstat/completion.fish; complete -C '$1'" | cut -f 1; }

# A minimal Debian, in which apt-get installs the package
installs() {	# SUITE
	local root="$logs/$1"
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

scraped() {
	"$built/trapstat" 0.01 1 >/dev/null ||
		{ echo "$cannot_load" >"$cannot"; return 1; }
	"$fleet" "$@"
}
fleet_builds() {
	mkdir -p "$built" && make -s -C "$top/trapstat" OUTPUT="$built"
}
# kubectl reads it with the types of its version, and without a cluster
manifest() {
	yamllint -s "$packaging/daemonset.yaml" &&
	python3 -c 'import json, sys, yaml
print(json.dumps(yaml.safe_load(sys.stdin)))' <"$packaging/daemonset.yaml" >"$logs/given.json" &&
	kubectl set env --local -f "$packaging/daemonset.yaml" -o json A=1 >"$logs/got.json" &&
	"$fleet" round_trip "$logs/given.json" "$logs/got.json" &&
	sed 's/readOnlyRoot/readonlyRoot/' "$packaging/daemonset.yaml" >"$logs/bad.yaml" &&
	kubectl set env --local -f "$logs/bad.yaml" -o json A=1 >"$logs/bad.json" &&
	! "$fleet" round_trip "$logs/given.json" "$logs/bad.json"
}

check 'make trapstat-deb, -rpm and -static' makes_all
check_with lintian 'lintian has nothing to say' no_lint
check 'the Debian package has what it should' deb_right
check_with rpmlint 'the RPM has what it should, and rpmlint finds no error' rpm_right
check 'one place for the version' one_version
check_with 'zsh fish' 'completions for three shells have each option' completions
check_with fish 'completions for three shells have each column and outcome' columns_complete
check 'systemd rates the unit as hardened, and one without that as bad' hardened
for suite in bookworm trixie; do
	group=$suite
	have mmdebstrap "$suite" || continue
	check "$suite: apt-get installs it in a minimal Debian" installs "$suite"
	check "$suite: trapstat -- ls works at once" at_once "$suite"
	kernel=linux-image-amd64
	[ "$suite" = bookworm ] || kernel=linux-image-6.12-amd64
	check_with 'modprobe xz cpio qemu-system-x86_64' \
		"$suite: systemd starts the service, with two capabilities, on $kernel" \
		served "$suite" "$kernel"
	! selected "$suite" || rm -rf --one-file-system "${logs:?}/$suite"
done
group=fleet
check 'fleet: it builds' fleet_builds
check_with 'prometheus prometheus-node-exporter promtool' \
	'fleet: prometheus scrapes the same both ways, and the dashboard shows it' \
	scraped prometheus "$built/trapstat" "$packaging/grafana.json"
check 'fleet: clients of the listener' scraped clients "$built/trapstat"
check_with 'yamllint kubectl' 'fleet: the DaemonSet is one' manifest
