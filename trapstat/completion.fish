# SPDX-License-Identifier: GPL-2.0
# fish completion for trapstat(8)
complete -c trapstat -f
complete -c trapstat -n __fish_use_subcommand -a 'faults crashes record report export'
# Behind --, a command and its own arguments
complete -c trapstat -n 'contains -- -- (commandline -opc)' \
	-a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c trapstat -n '__fish_seen_subcommand_from report' -F
complete -c trapstat -s p -l pid -x -a '(__fish_complete_pids)' -d 'Only this process'
complete -c trapstat -s c -l comm -x -d 'Only tasks of this name'
complete -c trapstat -l cgroup -x -d 'Only this control group' \
	-a '(__fish_complete_directories /sys/fs/cgroup/)'
complete -c trapstat -l vector -x -d 'Only this trap' -a 'DE DB BP OF BR UD NM DF TS NP SS GP PF
	MF AC MC XM VE CP VC SPLIT-LOCK BUS-LOCK UMIP'
complete -c trapstat -l outcome -x -d 'Only faults with this outcome' -a 'minor major retry failed
	interrupted oom fixup signal arch oops error unknown'
complete -c trapstat -s u -l user -d 'Only user mode'
complete -c trapstat -s k -l kernel -d 'Only kernel mode'
complete -c trapstat -s C -l per-cpu -d 'A column for each CPU'
complete -c trapstat -s t -l by-thread -d 'Faults by thread'
complete -c trapstat -s g -l by-cgroup -d 'Faults by control group'
complete -c trapstat -s f -l by-file -d 'Faults by file'
complete -c trapstat -s o -l output -r -d 'Write to this file'
complete -c trapstat -l listen -x -a '127.0.0.1:9876' -d 'Let Prometheus scrape'
complete -c trapstat -s n -l rows -x -d 'So many rows'
complete -c trapstat -l sort -x -d 'Sort by this column' -a 'pid tid comm cgroup path inode file
	user kernel trap count share faults time median p99 longest outcome mode memory minor major
	other anon shmem hugetlb cow swapin refault off-cpu io reclaim compact lock uffd preempt'
complete -c trapstat -s H -l histogram -d 'Histograms of durations'
complete -c trapstat -s S -l stacks -d 'The calls that led there'
complete -c trapstat -s w -l why -d 'Why faults take long'
complete -c trapstat -s T -l timestamp -d 'The time in front of each line'
complete -c trapstat -s b -l batch -d 'No alternate screen'
complete -c trapstat -l json -d 'JSON, a line for each row'
complete -c trapstat -l duration -x -d 'End after so many seconds'
complete -c trapstat -l debuginfod -d 'Ask for debug information'
complete -c trapstat -l slower -x -a '100us 1ms 10ms 1s' -d 'Each fault that takes as long'
complete -c trapstat -l source -x -d 'Source of page faults' \
	-a 'event record fentry kprobe perf none'
complete -c trapstat -l capabilities -d 'What this kernel can tell'
complete -c trapstat -s v -l verbose -d 'Say more'
complete -c trapstat -s h -l help -d 'Print the options'
complete -c trapstat -s V -l version -d 'Print the version'
