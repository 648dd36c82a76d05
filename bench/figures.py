#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the events cost, of the lines of trap_cost:

figures.py paths check|bench            print the kinds of trap to measure while all is off
figures.py check BASE [PATCHED]         compare with the goals; fail if one is missed
figures.py bench BASE PATCHED BPF FACTS OUT
                                        make OUT/results.tsv and results.txt
figures.py hardware LINES               print the table of make bench-hardware

BASE is of the kernel without the series. TRAP_BASE_DIR names the folder of the base, whose file
"limits" may have other limits for it."""
import collections
import os
import pathlib
import statistics
import sys

# The goals: the way, the kind of trap, the most instructions, and whether make bench alone
# measures it. "off" compares with the unpatched kernel: a static branch that is off is one
# instruction. exc_page_fault() has one, handle_mm_fault() has two, and a mark is one more. GCC
# 12 lays out the path of a fault from kernel mode with two more, and that of a first write with
# one more. Other ways compare with "off" in the same boot. Their means vary by one, with the
# timer that is in them.
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
off             swap_in         5     bench
trap            int3            1174
trap            zero_page       2
pagefault_exit  zero_page       740
pagefault       zero_page       1310
'''


def limits(scope):
    """The goals of make check-cost or of make bench: the limit by way and kind."""
    found = {}
    for way, kind, limit, *only in map(str.split, GOALS.strip().splitlines()):
        if scope == 'bench' or not only:
            found[way, kind] = float(limit)
    path = pathlib.Path(os.environ.get('TRAP_BASE_DIR', ''), 'limits')
    for line in path.read_text().splitlines() if path.is_file() else ():
        if not line.startswith('#'):
            way, kind, limit = line.split()[:3]
            if (way, kind) in found:
                found[way, kind] = float(limit)
    return found


class Lines:
    """What trap_cost printed in a boot."""
    def __init__(self, path):
        self.means, self.tenths = (collections.defaultdict(list) for _ in range(2))
        self.skipped, self.facts, self.ticks = [], [], []
        for line in pathlib.Path(path).read_text().splitlines():
            what, *fields = line.split('\t')
            if what == 'price':
                self.means[tuple(fields[:2])].append(float(fields[3]))
                self.tenths[tuple(fields[:2])].append(float(fields[4]))
            elif what == 'skip':
                self.skipped.append(fields[0])
            elif what == 'fact':
                self.facts.append(fields)
            elif what == 'tick':
                self.ticks.append(float(fields[0]))
            else:
                sys.exit('%s: what is this? %s' % (path, line))

    def single(self, kind):
        """What a trap takes while all is off."""
        return min(self.tenths['off', kind])

    def extra(self, way, kind):
        """What a trap takes more than off."""
        return statistics.median(self.means[way, kind]) - statistics.median(self.means['off', kind])


def compare(base, patched, scope):
    """The goals, with what was measured, or None."""
    for (way, kind), limit in limits(scope).items():
        value = None
        if way == 'off' and {(way, kind)} <= base.means.keys() & patched.means.keys():
            value = patched.single(kind) - base.single(kind)
        elif way != 'off' and {(way, kind), ('off', kind)} <= patched.means.keys():
            value = patched.extra(way, kind)
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


def records(base, patched, bpf):
    """The lines of results.tsv."""
    for kind in (kind for way, kind in patched.means if way == 'off'):
        if ('off', kind) in base.means:
            yield 'path', kind, '%g' % base.single(kind), \
                '%g' % round(patched.single(kind) - base.single(kind), 2)
    for guest, lines in ('base', base), ('patched', patched), ('bpf', bpf):
        for way, kind in lines.means if lines else ():
            if way != 'off':
                yield 'price', guest, way, kind, '%.1f' % lines.extra(way, kind)


def bench(base, patched, bpf, facts, out):
    """Write the results. Fails if a kind or a way is missing, or if getpid, which no event
    concerns, takes longer with a way. trapstat itself wakes up on that CPU from time to time."""
    base, patched, bpf = (pathlib.Path(x).is_file() and Lines(x) for x in (base, patched, bpf))
    facts = [line.split('\t') for line in pathlib.Path(facts).read_text().splitlines()]
    rows = list(compare(base, patched, 'bench'))
    found = [*facts, *records(base, patched, bpf)]
    out = pathlib.Path(out)
    out.joinpath('results.tsv').write_text(
        '# SPDX-License-Identifier: GPL-2.0\n# Made by make bench: bench/README.md\n' +
        ''.join('\t'.join(line) + '\n' for line in found))
    text = ''.join('%s: %s\n' % (line[1], ' '.join(line[2:])) for line in facts)
    text += '\n' + goals(rows)
    text += '\nOff: instructions without the series, and how many more with it\n\n' + ''.join(
        '%-24s%12s%10s\n' % line[1:] for line in found if line[0] == 'path')
    text += '\nOn: instructions more than off in the same boot, by kernel\n\n' + ''.join(
        '%-12s%-24s%-16s%10s\n' % line[1:] for line in found if line[0] == 'price')
    skipped = [way for lines in (base, patched, bpf) if lines for way in lines.skipped]
    text += '\nLeft out: %s\n' % ' '.join(skipped) if skipped else ''
    out.joinpath('results.txt').write_text(text)
    wrong = ['%s of %s was not measured' % row[1::-1] for row in rows if row[3] is None]
    wrong += ['%s moves getpid by %s' % (line[2], line[4]) for line in found
              if line[0] == 'price' and line[3] == 'getpid' and
              abs(float(line[4])) > (15 if line[2].startswith('trapstat') else 4)]
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
    rows = list(compare(base, Lines(patched) if patched else base, 'check'))
    if not patched:
        rows = [row for row in rows if row[0] == 'off']
    print(goals(rows), end='')
    sys.exit(any(verdict(*row[2:]) != 'reached' for row in rows))


def main(what, *args):
    if what == 'paths':
        print(*[kind for way, kind in limits(*args) if way == 'off'])
    else:
        {'check': check, 'bench': bench, 'hardware': hardware}[what](*args)


main(*sys.argv[1:])
