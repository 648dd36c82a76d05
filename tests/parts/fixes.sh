# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# fixes: each reproducer fails on the base and passes with the fixes
#
# The base kernels are built for this alone.

# reproduced KERNEL JOB [OPTION OF BOOT...]: tests/fixes/reproduce in a guest
reproduced() {
	local kernel="$1" job="$2" status=0
	shift 2
	guest "$kernel" "$job" "$@" <<END || status=$?
[ ! -f $logs/rcu_eqs.$kernel/rcu_eqs.ko ] || cp $logs/rcu_eqs.$kernel/rcu_eqs.ko /job
$top/tests/fixes/reproduce >/job/tap 2>&1
END
	cat "$job/tap"
	return $status
}
result() { sed -n "s/^\(not \)\{0,1\}ok [0-9]* - \($1.*\)/\1\2/p" "$2/tap"; }

# is_fixed NAME JOB: no longer seen, and not skipped
is_fixed() {
	[ "$(result "$1" "$2")" = "$1" ]
}
# was_there NAME JOB: seen
was_there() {
	result "$1" "$2" | grep "^not $1: status "
}

# The module that faults on the way into a guest, for a kernel that tracks its context
build_rcu_eqs() {	# SOURCE KERNEL
	rm -rf "$logs/rcu_eqs.$2" && takes_modules "$@" &&
	kernel_make "$1" "$2" M="$top/tests/fixes" MO="$logs/rcu_eqs.$2" modules
}

hangs_in_printk() {
	! TIMEOUT=60 reproduced "$1" "$2" -a tp_printk || { echo 'it does not hang'; return 1; }
	! grep -q '^ok .* tp_printk' "$2/tap"
}

kernels guest fixes guest-base fixes-base
check 'fixes: the module of rcu_eqs builds' build_rcu_eqs "$src" fixes
check 'fixes: the module of rcu_eqs builds for the base' \
	build_rcu_eqs "$dir/src-base" fixes-base
check 'fixes: the reproducers run' reproduced guest "$logs/fixed"
for bug in cr2 subbuf; do
	check "fixes: $bug is fixed" is_fixed "$bug" "$logs/fixed"
done
# 256 MiB of persistent memory
check 'fixes: the reproducers run on the kernel for them' \
	reproduced fixes "$logs/fixed-fixes" -a 'memmap=256M!1G'
check 'fixes: tp_printk runs' reproduced guest "$logs/fixed-printk" -a tp_printk
check 'fixes: tp_printk is fixed' is_fixed tp_printk "$logs/fixed-printk"
check 'fixes: the reproducers run on the base' reproduced guest-base "$logs/base"
# fgraph_filter has a report and no fix
for bug in cr2 subbuf fgraph_filter; do
	check "fixes: $bug is in the base" was_there "$bug" "$logs/base"
done
check 'fixes: the reproducers run on the base of the kernel for them' \
	reproduced fixes-base "$logs/base-fixes" -a 'memmap=256M!1G'
for bug in rcu_eqs fault_flags f2fs_flags branch; do
	check "fixes: $bug is fixed" is_fixed "$bug" "$logs/fixed-fixes"
	check "fixes: $bug is in the base" was_there "$bug" "$logs/base-fixes"
done
check 'fixes: tp_printk hangs the base' hangs_in_printk guest-base "$logs/base-printk"
