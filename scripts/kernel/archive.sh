# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # variables of the scripts
# Debian's archive, by the mirror that the machine's apt uses, through an apt
# configuration of its own: the system's sources stay as they are. Sourced by what
# takes packages of the kernel's source from there.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

find_mirror() {
	# shellcheck disable=SC2016 # apt-get's own variable
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		'Origin: Debian' 'Label: Debian' | head -n 1)
	# shellcheck disable=SC2016
	[ -n "$mirror" ] || mirror=$(apt-get indextargets \
		--no-release-info --format '$(REPO_URI)' 'Created-By: Packages' \
		"Release: $(. /etc/os-release && echo "$VERSION_CODENAME")" | head -n 1)
}

# use_suite DIR SUITE...: have apt_own look into these only, and keep its things in DIR
use_suite() {
	apt_dir=$1
	shift
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	printf "deb [signed-by=$keyring] $mirror %s main\n" "$@" >"$apt_dir/sources.list"
	apt_own apt-get update -o APT::Update::Error-Mode=any
}

# apt_own COMMAND ARGS: a mirror that stands still will do, as versions are pinned
apt_own() {
	cmd=$1
	shift
	"$cmd" -q -o Dir::Etc::sourcelist="$apt_dir/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
		-o Acquire::Check-Valid-Until=false -o APT::Sandbox::User="$(id -un)" "$@"
}

# unpack_source PACKAGE FOLDER OPTION...: the kernel in PACKAGE_*.deb here
unpack_source() {
	package=$1 folder=$2
	shift 2
	dpkg-deb --fsys-tarfile "$package"_*.deb | tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ --strip-components=1 -C "$folder" "$@"
}
