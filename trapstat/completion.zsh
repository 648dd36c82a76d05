#compdef trapstat
# SPDX-License-Identifier: GPL-2.0
# zsh completion for trapstat(8)
_arguments -s -S \
	'(-p --pid)'{-p+,--pid=}'[only this process]:process:_pids' \
	'(-c --comm)'{-c+,--comm=}'[only tasks of this name]:name:' \
	'--cgroup=[only this control group]:folder:_files -/ -W /sys/fs/cgroup' \
	'--vector=[only this trap]:vector:(DE DB BP OF BR UD NM DF TS NP SS GP PF MF AC MC XM
		VE CP VC SPLIT-LOCK BUS-LOCK UMIP)' \
	'--outcome=[only faults with this outcome]:outcome:(minor major retry failed interrupted oom
		fixup signal arch oops error unknown)' \
	'(-u --user -k --kernel)'{-u,--user}'[only user mode]' \
	'(-u --user -k --kernel)'{-k,--kernel}'[only kernel mode]' \
	'(-C --per-cpu)'{-C,--per-cpu}'[a column for each CPU]' \
	'(-t --by-thread)'{-t,--by-thread}'[faults by thread]' \
	'(-g --by-cgroup)'{-g,--by-cgroup}'[faults by control group]' \
	'(-f --by-file)'{-f,--by-file}'[faults by file]' \
	'(-o --output)'{-o+,--output=}'[write to this file]:file:_files' \
	'--listen=[let Prometheus scrape]:address and port:(127.0.0.1\:9876)' \
	'(-n --rows)'{-n+,--rows=}'[so many rows]:number:' \
	'--sort=[sort by this column]:column:(pid tid comm cgroup path inode file user kernel trap
		count share faults time median p99 longest outcome mode memory minor major other
		anon shmem hugetlb cow swapin refault off-cpu io reclaim compact lock uffd
		preempt)' \
	'(-H --histogram)'{-H,--histogram}'[histograms of durations]' \
	'(-S --stacks)'{-S,--stacks}'[the calls that led there]' \
	'(-w --why)'{-w,--why}'[why faults take long]' \
	'(-T --timestamp)'{-T,--timestamp}'[the time in front of each line]' \
	'(-b --batch)'{-b,--batch}'[no alternate screen]' \
	'--json[JSON, a line for each row]' \
	'--duration=[end after so many seconds]:seconds:' \
	'--debuginfod[ask for debug information]' \
	'--slower=[each fault that takes as long]:time:(100us 1ms 10ms 1s)' \
	'--source=[source of page faults]:source:(event record fentry kprobe perf none)' \
	'--capabilities[what this kernel can tell]' \
	'(-v --verbose)'{-v,--verbose}'[say more]' \
	'(-h --help)'{-h,--help}'[print the options]' \
	'(-V --version)'{-V,--version}'[print the version]' \
	'1:view:(faults crashes record report export)' \
	'*:: :_normal'
