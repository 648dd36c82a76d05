# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # variables of scripts/check/run
# kselftest: the kselftest in one guest, with the kernel of make run
#
# That kernel lacks what only tests need, so more is skipped than in the part guest.

kernels run
passes_kselftest kselftest run "$(kselftest_programs | grep -v _32)"
