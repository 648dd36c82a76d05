# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of scripts/check/run
# i386: all test programs on a 32-bit kernel

check 'i386: the kernel builds without a warning' builds_clean i386
kernels i386

# There is no 32-bit shell, so init runs the tests. Their results have the names of the
# programs, without _32, and ONLY takes these names.
programs_32() {	# JOB PROGRAM...
	job=$1
	shift
	rm -rf "$job" && mkdir -p "$job" &&
	for program in "$@"; do
		path_of "${program%_32}_32"
	done >"$job/tests" &&
	put_kernel i386 "$job" && cp "$job/init" "$job/run"
}

export TIMEOUT="${TIMEOUT:-900}"
# shellcheck disable=SC2046 # a list
set -- $(programs i386 $(all_programs | grep -v _32))
group=i386
check 'i386: there is a job for its guest' programs_32 "$logs/i386" "$@"
check 'i386: the guest boots and runs the test programs' \
	"$top/scripts/vm/boot" -d 512 "$logs/i386"
report i386 "$logs/i386" $#
check 'i386: no splat on the console' console_clean "$logs/i386/console.log"
group=''
unset TIMEOUT
