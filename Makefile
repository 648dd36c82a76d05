# SPDX-License-Identifier: GPL-2.0
# The commands, each one a script of scripts/, tests/ or bench/; "make help" says what they do.

# What a user gives on the command line reaches the scripts as it was typed
override CMD := $(value CMD)
override CONFIG := $(value CONFIG)
override KERNEL_TREE := $(value KERNEL_TREE)
override LOCALMODCONFIG := $(value LOCALMODCONFIG)
override ONLY := $(value ONLY)
# Not that of a developer's environment
export TRAP_ARCH := $(if $(filter command line,$(origin ARCH)),$(ARCH))
export CMD CONFIG KERNEL_TREE LOCALMODCONFIG ONLY BASE CACHE NO_INSTALL ROOT TIMEOUT ROUNDS TRAPS
export STRESS_SECONDS STRESS_SEED STRESS_KERNEL FIRST LAST LOADS

MAKEFLAGS += --no-print-directory

.PHONY: help run shell deb send-dry trapstat trapstat-deb trapstat-rpm trapstat-static install
.PHONY: check check-quick check-ci check-all bench bench-hardware series pin tree clean distclean
.DEFAULT_GOAL := help

help:		## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 28
	@echo
	@echo "The parts of make check-all, each of which can be run alone:"
	@sed -sn '3s/^# \([a-z0-9-]*\): \(.*\)/  make check-\1	\2/p' tests/parts/*.sh | expand -t 28
	@echo
	@echo "  CMD='PROGRAM ARGS'    run: what to run in the guest (default: a demo)"
	@echo "  CONFIG=FILE           deb: a configuration (default: that of the running kernel)"
	@echo "  LOCALMODCONFIG=1      deb: only the modules in use; =FILE: those in FILE, from lsmod"
	@echo "  KERNEL_TREE=DIR       run, shell, deb, send-dry: use HEAD of that git tree, read-only"
	@echo "  ARCH=arm64, riscv     run: on that architecture; or arm64-16k, arm64-64k"
	@echo "  ROOT=tools            run, shell: with trace-cmd, perf and bpftrace of Debian"
	@echo "  ONLY='NAME'           check, check-PART: only tests whose names begin with NAME;"
	@echo "                        or 'KERNEL, PROGRAM': tests/README.md"
	@echo "  SERIES=NAME, VERSION=N  send-dry: only that series; the version in the subjects"
	@echo "  BASE=linux-X.Y        the base kernel (default: the newest)"
	@echo "  CACHE=DIR             downloads, base trees, kernels, ccache (default: the XDG cache)"
	@echo "  NO_INSTALL=1          install nothing, say what is missing"
	@echo "  TIMEOUT=SECONDS       how long a guest may take (default: 300, for some tests more)"
	@echo "  ROUNDS=N, TRAPS=N     bench, bench-hardware: rounds of each measurement, traps in a round"
	@echo "  STRESS_SECONDS=N      check-stress: duration (120); STRESS_SEED=N repeats a run;"
	@echo "                        STRESS_KERNEL=NAME: on that kernel alone"
	@echo "  FIRST=N, LAST=N       check-bisect: from this patch to that one"
	@echo "  LOADS=N               check-sample: how often the module is loaded (100)"

run:		## boot the patched kernel, run a program there, show its traps and faults
	@scripts/vm/run-guest

shell:		## boot the patched kernel, with a shell on this terminal
	@scripts/vm/run-guest shell

deb:		## packages of the patched kernel for your machine, with its configuration
	@scripts/kernel/deb

trapstat:	## build trapstat: page faults on any kernel since 5.13; other traps on x86
	@scripts/deps trapstat
	@mkdir -p build/trapstat
	@$(MAKE) -C trapstat OUTPUT=../build/trapstat

install: trapstat	## install trapstat and its man page, with DESTDIR= and PREFIX=
	@$(MAKE) -C trapstat OUTPUT=../build/trapstat install

trapstat-deb:	## a package for Debian 12 and newer, in build/packages/
trapstat-rpm:	## a package for Fedora and similar
trapstat-static:	## a binary without libraries, with its checksum
trapstat-deb trapstat-rpm trapstat-static:
	@scripts/deps packages
	@packaging/package $(@:trapstat-%=%)

# make runs tests/check itself: a shell in between would not pass a signal on
check:		## the tests for every change
	@tests/check fast

check-quick:	## the first tests to run: patches, style, the kselftest in one guest
	@tests/check quick

check-ci:	## make check, and each seeded bug of the kernel
	@tests/check ci

check-all:	## all tests; this takes hours
	@tests/check all

check-%:
	@tests/check $*

bench:		## measure what the events cost, beside other tools, in build/bench/BASE/
	@scripts/deps trapstat
	@BENCH=1 tests/check cost

bench-hardware:	## measure time on this machine, on the running kernel, and print a table
	@bench/hardware

series:		## make patches/, or that of BASE=, from the sources
	@for base in $(or $(BASE),$(notdir $(wildcard bases/linux-*))); do \
		scripts/series/make $$base || exit; done
	@scripts/series/make lttng-modules

pin:		## move BASE to the newest version of its package, and say what has changed
	@scripts/series/pin $(BASE)

tree:		## a git tree of the base with all series as commits, to work in
	@scripts/series/tree $(BASE)

send-dry:	## write the mails of each series into build/send, and send nothing
	@scripts/deps send
	@scripts/series/send-dry $(BASE)

clean:		## remove builds and logs; keep what make tree and send-dry made
	@scripts/clean

distclean:	## remove all of build/; the cache, which clones share, stays
	@scripts/clean all
