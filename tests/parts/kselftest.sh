# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of tests/check
# kselftest: the kselftest in one guest, with the kernel of make run
#
# That kernel has no disk, no 32-bit programs and no monitors of RV: the part guest has.

kernels run
passes_kselftest kselftest run "$(kselftest_programs | grep -v -e _32 -e pagefault_rv)"
