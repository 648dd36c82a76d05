# SPDX-License-Identifier: GPL-2.0
# bash completion for trapstat(8)
# shellcheck shell=bash

_trapstat()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words='' i

	# "--outcome=mi" is three words for bash
	[ "$word" != = ] || word=''
	[ "$before" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}
	for ((i = 1; i < COMP_CWORD; i++)); do
		# Behind --, a command and its own arguments
		if [ "${COMP_WORDS[i]}" = -- ]; then
			mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
			return
		fi
	done
	case $before in
	-p | --pid)
		words=$(cd /proc && echo [0-9]*) ;;
	-c | --comm)
		words=$(cat /proc/[0-9]*/comm 2>/dev/null) ;;
	--cgroup)
		mapfile -t COMPREPLY < <(compgen -d -- "${word:-/sys/fs/cgroup/}")
		return ;;
	--vector)
		# A shell takes what begins with # as a comment
		words='DE DB BP OF BR UD NM DF TS NP SS GP PF MF AC MC XM VE CP VC
			SPLIT-LOCK BUS-LOCK UMIP' ;;
	--outcome)
		words='minor major retry failed interrupted oom fixup signal arch oops error unknown' ;;
	--slower)
		words='100us 1ms 10ms 1s' ;;
	--sort)
		words='pid tid comm cgroup path inode file user kernel trap count share faults time
			median p99 longest outcome mode memory minor major other anon shmem hugetlb
			cow swapin refault off-cpu io reclaim compact lock uffd preempt' ;;
	--source)
		words='event record fentry kprobe perf none' ;;
	--listen)
		words='127.0.0.1:9876' ;;
	-o | --output | report)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return ;;
	*)
		words='faults crashes record report export -- --batch --by-cgroup --by-file --by-thread
			--capabilities --cgroup --comm --debuginfod --duration --help --histogram
			--json --kernel --listen --outcome --output --per-cpu --pid --rows --slower --sort
			--source --stacks --timestamp --user --vector --verbose --version
			--why' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _trapstat trapstat
