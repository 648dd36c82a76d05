#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the events cost, of the lines of trap_cost:

figures.py paths                        print the kinds of trap to measure while all is off
figures.py check BASE [PATCHED]         compare with the goals; fail if one is missed
figures.py results BASE PATCHED BTF     print what make bench has measured, but for its facts
figures.py hardware LINES               print the table of make bench-hardware

BASE is of the kernel without the series. TRAP_BASE_DIR names the folder of the base, whose file
"limits" may have other limits for it."""
import collections
import os
import pathlib
import statistics
import sys

# The goals: the way, the kind of trap, and the most instructions. "off" compares with the
# unpatched kernel: a static branch that is off is one instruction. exc_page_fault() has one,
# handle_mm_fault() has two, and a mark is one more. GCC 12 lays out the path of a fault from
# kernel mode with two more, and that of a first write with one more. Other ways compare with
# "off" in the same boot. All compare tenth percentiles, as a mean has the interrupts of the timer.
GOALS = '''
off             getpid          0
off             int3            2
off             divide          2
off             zero_page       4
off             first_write     5
off             zero_write      4
off             copy_on_write   4
off             reuse           4
off             page_cache      4
off             private_file    4
off             kernel_write    5
off             get_user_pages  2
off             fixup           4
off             segv            4
off             segv_access     4
off             sigbus          4
trap            int3            1166
trap            zero_page       2
pagefault_exit  zero_page       740
pagefault       zero_page       1310
'''


def limits():
    """The goals of this base: the limit by way and kind."""
    path = pathlib.Path(os.environ.get('TRAP_BASE_DIR', ''), 'limits')
    own = path.read_text() if path.is_file() else ''
    lines = [line.split() for line in (GOALS + own).splitlines() if line and line[0] != '#']
    return {(way, kind): float(limit) for way, kind, limit, *_ in lines}


class Lines:
    """What trap_cost printed in a boot."""
    def __init__(self, path):
        self.means, self.tenths = (collections.defaultdict(list) for _ in range(2))
        self.skipped, self.facts, self.ticks = [], [], []
        for line in pathlib.Path(path).read_text().splitlines():
            what, *fields = line.split('\t')
            if what == 'cost':
                self.means[tuple(fields[:2])].append(float(fields[3]))
                self.tenths[tuple(fields[:2])].append(float(fields[4]))
            elif what == 'skip':
                self.skipped.append(fields[0])
            elif what == 'fact':
                self.facts.append(fields)
            elif what == 'tick':
                self.ticks.append(float(fields[0]))
            else:
                sys.exit('%s: unexpected line: %s' % (path, line))

    def single(self, kind, way='off'):
        """What a trap takes in this way, if no interrupt comes."""
        return min(self.tenths[way, kind])

    def extra(self, way, kind):
        """What a trap takes more than off."""
        return statistics.median(self.means[way, kind]) - statistics.median(self.means['off', kind])


def compare(base, patched):
    """The goals, with what was measured, or None."""
    for (way, kind), limit in limits().items():
        value = None
        if way == 'off' and {(way, kind)} <= base.means.keys() & patched.means.keys():
            value = patched.single(kind) - base.single(kind)
        elif way != 'off' and {(way, kind), ('off', kind)} <= patched.means.keys():
            value = patched.single(kind, way) - patched.single(kind)
        yield way, kind, limit, value


def verdict(limit, value):
    """The last column of the goals."""
    if value is None:
        return 'NOT MEASURED'
    return 'TOO MANY' if round(value, 2) > limit else 'reached'


def goals(rows):
    """The table of the goals."""
    text = '%-16s%-16s%10s%10s\n' % ('way', 'trap', 'at most', 'measured')
    for way, kind, limit, value in rows:
        text += '%-16s%-16s%10g%10s  %s\n' % (
            way, kind, limit, '-' if value is None else '%.1f' % value, verdict(limit, value))
    return text


def results(*paths):
    """Two tables. Fails if a way could not be switched on, or if getpid, which no event concerns,
    takes longer with it. trapstat itself wakes up on that CPU from time to time."""
    boots = dict(zip(('base', 'patched', 'btf'), map(Lines, paths)))
    base, patched = boots['base'], boots['patched']
    print('\noff: instructions without the series, and how many more with it')
    for way, kind in base.means:
        if way == 'off':
            print('%-16s%8g%8g' % (kind, base.single(kind), patched.single(kind) -
                                   base.single(kind)))
    kinds = list(dict.fromkeys(kind for lines in boots.values() for way, kind in lines.means
                               if way != 'off'))
    row = '%-8s%-17s' + '%12s' * len(kinds)
    print('\non: instructions more than off, in the same boot\n' + row % ('kernel', 'way', *kinds))
    wrong = []
    for kernel, lines in boots.items():
        wrong += ['%s cannot be switched on' % way for way in lines.skipped]
        for way in dict.fromkeys(way for way, _ in lines.means if way != 'off'):
            print(row % (kernel, way, *('%.1f' % lines.extra(way, kind) if (way, kind) in
                                        lines.means else '-' for kind in kinds)))
            if abs(lines.extra(way, 'getpid')) > (15 if way.startswith('trapstat') else 4):
                wrong.append('%s changes getpid' % way)
    if wrong:
        sys.exit('error: ' + ', '.join(wrong))


def hardware(path):
    """The table that a person mails."""
    lines = Lines(path)
    tick = statistics.median(lines.ticks)
    text = ''.join('%-22s%s\n' % (name + ':', value) for name, value in lines.facts)
    kinds = [kind for way, kind in lines.means if way == 'off']
    rounds = len(lines.means['off', kinds[0]])
    text += '\nns of a trap or page fault, of %d rounds: the median (least to most). off is all\n' \
        'of it, each other row is what it takes more than off in the same round.\n\n' % rounds
    text += ' ' * 18 + ''.join('%24s' % kind for kind in kinds) + '\n'
    for way in dict.fromkeys(way for way, _ in lines.means):
        text += '%-18s' % way
        for kind in kinds:
            ns = [x * tick for x in lines.means[way, kind]]
            if way != 'off':
                ns = [x - y * tick for x, y in zip(ns, lines.means['off', kind])]
            text += ' %23s' % ('%.0f (%.0f to %.0f)' % (statistics.median(ns), min(ns), max(ns)))
        text += '\n'
    skipped = ' '.join(dict.fromkeys(lines.skipped))
    print(text + ('\nnot here: %s\n' % skipped if skipped else ''), end='')


def check(base, patched=None):
    """Print the goals. With BASE alone, only see that it has all kinds."""
    base = Lines(base)
    rows = list(compare(base, Lines(patched) if patched else base))
    if not patched:
        rows = [row for row in rows if row[0] == 'off']
    print(goals(rows), end='')
    sys.exit(any(verdict(*row[2:]) != 'reached' for row in rows))


def paths():
    """The kinds that are measured while all is off."""
    print(*[kind for way, kind in limits() if way == 'off'])


{f.__name__: f for f in (paths, check, results, hardware)}[sys.argv[1]](*sys.argv[2:])
