# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2034 # variables of tests/check
# riscv: the page fault events on riscv64

# shellcheck source=tests/ports.sh
. "$top/tests/ports.sh"
need clang-19 ld.lld-19 riscv64-linux-gnu-gcc qemu-system-riscv64
has_port riscv || skip_part "$base has no hook for riscv"
port riscv arch/riscv/mm/fault.c '' 'riscv-1 riscv -c 1' 'riscv-2 riscv -c 2' 'riscv-4 riscv -c 4'
