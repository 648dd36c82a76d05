#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Reads and writes the results of tests, which are in TAP.

tap.py number COMMAND: number the results of tests/check as they come on stdin. Then
print a table and the total. COMMAND repeats all.
tap.py report PART NAME SETTINGS FILE: the results in FILE, of programs in a guest, for
"number". NAME is the kernel, SETTINGS are those of "make" that repeat them.
tap.py judge NAME PROGRAMS FILE: fail if one of them failed, or not all of them are there
tap.py complete PROGRAMS FILE: fail if FILE has not all results of PROGRAMS programs"""
import collections
import os
import re
import signal
import sys
import time

Result = collections.namedtuple('Result', 'program passed name skipped notes')

# A test may skip for these reasons, where "KERNEL, PROGRAM: TEST: REASON" matches. Those of one
# base alone are in bases/BASE/skips
KNOWN_SKIPS = (
    r'.*: (this CPU does not raise it|this kernel is 64-bit|this program is (32|64)-bit)',
    r'.*, [^:]*_32: .*: no address of the kernel in /proc/kallsyms',
    r'i386, [^:]*: kernel CP: .*',
    r'i386, .*: this machine has (none|no protection keys|one node only)',
    r'(i386|rt), .*: this kernel has no NUMA balancing',
    r'bisect, .*: (this kernel has no page fault events|no pagefault_noregs)',
    r'arm64-(?!mte,).*: no MTE',
    r'smp1, .*: no (QEMU_MONITOR|userfaultfd), or a single CPU',
    r'rt, .*: this kernel has no transparent huge pages, or they are off',
    r'(kselftest|no-memcg), .*: \$TMPDIR is not on a disk',
    r'(?!x86_64,).*: (hugetlb: no free page of hugetlb|swap-in: the page did not go to swap)',
)


def skips_of_base():
    file = os.path.join(os.environ.get('TRAP_BASE_DIR', ''), 'skips')
    return [line for line in read(file) if line and not line.startswith('#')]


def known_skip(name):
    return any(re.fullmatch(known, name) for known in (*KNOWN_SKIPS, *skips_of_base()))


def unwrap(lines):
    """What the programs printed. The runner of the kselftest puts "# " before that, and adds a
    result for each program. Of these, keep only crashes: the TAP does not show them."""
    if not any(line.startswith('# selftests: ') for line in lines):
        return lines
    kept = []
    for line in lines:
        ended = re.match(r'not ok .* selftests: \w+: (.*) # (exit=.*|TIMEOUT.*)', line)
        if line.startswith('# '):
            kept.append(line[2:])
        elif ended and ended[2] != 'exit=1':
            kept.append('Bail out! %s: %s' % ended.groups())
    return kept


def results(lines):
    """The results in these lines, each with its program and the comments before it."""
    program, notes = '', []
    for line in lines:
        found = re.match(r'(not )?ok \d+ +(# SKIP )?(.*)', line)
        if line.startswith('selftests: '):
            program, notes = line.split()[2], []
        elif line.startswith('# '):
            notes.append(line)
        elif found:
            yield Result(program, not found[1], found[3], '# SKIP' in line, notes)
            notes = []


def complete(lines, programs):
    """Whether these are all the results of so many programs, and why not."""
    bailed = [line for line in lines if line.startswith('Bail out!')]
    plans = [int(line[3:]) for line in lines if re.fullmatch(r'1\.\.\d+', line)]
    there = len(list(results(lines)))
    plan = '%d programs of %d, %d planned, %d there' % (
        len(list(filter(None, plans))), programs, sum(plans), there)
    return (not bailed and 0 < programs == len(list(filter(None, plans))) and
            sum(plans) == there), '\n'.join([plan] + bailed)


def judge(name, lines):
    """The results, each with its name in the run, and the reason if it was skipped. One that
    was skipped for no known reason has failed."""
    for result in results(lines):
        test = '%s, %s: %s' % (name, result.program, result.name)
        if not result.passed or not result.skipped:
            yield result, test, ''
        elif known_skip(test):
            yield (result, *test.rsplit(': ', 1))
        else:
            skipped = '%s, %s: skipped, %s' % (name, result.program, result.name)
            yield result._replace(passed=False), skipped, ''


def report(part, name, settings, file):
    for result, test, reason in judge(name, read(file)):
        if result.passed:
            print('%s\tok - %s%s' % (part, test, reason and ' # SKIP ' + reason), flush=True)
            continue
        only = '%s, %s' % (name, result.program)
        print('\n'.join(['%s\tnot ok - %s\t%s\t%s' % (part, test, only, settings),
                         *(note[:200] for note in result.notes[-15:]), '# log: ' + file]),
              flush=True)


class Numbered:
    """The results so far, for the table and the total."""
    def __init__(self, command):
        self.command = command
        self.base = 'BASE=' + os.environ['BASE'] if os.environ.get('BASE') else ''
        self.only = os.environ.get('ONLY', '')
        self.commit = os.environ.get('TRAP_COMMIT', '?')
        self.count = collections.Counter()
        self.parts = {}
        self.skips = {}

    def say(self, line):
        print(line, flush=True)

    def result(self, part, text, only='', settings=''):
        """TEXT is a line of TAP without its number."""
        status, _, name = text.partition(' - ')
        name, _, reason = name.partition(' # SKIP ')
        kind = 'failed' if status == 'not ok' else 'skipped' if reason else 'passed'
        self.count.update(['all', kind])
        self.parts.setdefault(part, collections.Counter())[kind] += 1
        if reason:
            self.skips.setdefault('%s: %s' % (part, reason), []).append(name)
        self.say('%s %d - %s' % (status, self.count['all'], text.partition(' - ')[2]))
        if kind == 'failed':
            words = ['make check-' + part, only and "ONLY='%s'" % only, settings, self.base]
            self.say('# repeat: ' + (self.command if part == 'check' else
                                     ' '.join(filter(None, words))))

    def took(self, part, seconds):
        if part not in self.parts and not self.only:
            self.result(part, 'not ok - the part %s has a result' % part)
        self.parts.setdefault(part, collections.Counter())['seconds'] = seconds

    def read(self, lines):
        """Status of the whole."""
        for line in lines:
            columns = line.rstrip('\n').split('\t')
            if columns == ['complete']:
                break
            if columns[1:2] == ['took']:
                self.took(columns[0], columns[2])
            elif len(columns) > 1 and re.match('(not )?ok - ', columns[1]):
                self.result(*columns)
            else:
                self.say(line.rstrip('\n'))
        else:
            self.result('check', 'not ok - the checks run to their end')
        return self.total()

    def total(self):
        every, failed, skipped = (self.count[kind] for kind in ('all', 'failed', 'skipped'))
        lines = ['1..%d' % every, '#',
                 '# part          commit        passed  failed skipped  seconds']
        for part, of in self.parts.items():
            lines.append('# %-13s %-12s %7d %7d %7d %8s' % (
                part, self.commit, of['passed'], of['failed'], of['skipped'],
                of['seconds'] or ''))
        lines.append('#')
        for reason, names in self.skips.items():
            lines += ['# skipped in ' + reason] + ['#     ' + name for name in names]
        began = float(os.environ.get('TRAP_BEGAN', time.time()))
        lines += ['#', '# %d seconds in all' % (time.time() - began)]
        if not every:
            lines.append("# no test was run: is there one whose name begins with '%s'?" % self.only)
        elif every == skipped:
            lines.append('# all tests were skipped, for the reasons above: that is a failure')
        lines.append('%d passed, %d failed' % (every - failed - skipped, failed) +
                     (', %d skipped' % skipped if skipped else ''))
        self.say('\n'.join(lines))
        return failed == 0 and every > skipped


def read(file):
    """What the programs printed into this file. A guest that died early has left none."""
    if not os.path.exists(file):
        return []
    with open(file, errors='replace') as stream:
        return unwrap(stream.read().split('\n'))


def main(what, *words):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if what == 'number':
        sys.exit(not Numbered(*words).read(sys.stdin))
    if what == 'report':
        return report(*words)
    good = True
    if what == 'judge':
        name, *words = words
        for result, test, reason in judge(name, read(words[1])):
            if not result.passed:
                print('\n'.join(result.notes + ['not ok ' + test]))
                good = False
    whole, why = complete(read(words[1]), int(words[0]))
    print(why)
    sys.exit(not (good and whole))


if __name__ == '__main__':
    main(*sys.argv[1:])
