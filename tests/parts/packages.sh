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
# shellcheck source=tests/trapstat/completions.sh
. "$top/tests/trapstat/completions.sh"
# shellcheck source=tests/trapstat/service.sh
. "$top/tests/trapstat/service.sh"
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
