#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""hardware.py plan SEED ROUNDS 'LOOP=N...' 'WAY...': lines "ROUND LOOP N WAY", in random order
hardware.py report FILE...: the report of what scripts/bench/hardware has measured, and its data.
    The files are of one machine: of the patched kernel, of the unpatched one, or of both."""
import collections
import random
import statistics
import sys

KERNELS = 'patched', 'unpatched'
RESAMPLES, LEAST_ROUNDS = 2000, 6
FIGURES = {'cycles': 'cycles', 'instructions': 'instructions', 'misses': 'cache misses', 'ns': 'ns'}
Run = collections.namedtuple('Run', 'round loop way n ns faults major switches recorded '
                             'cycles instructions misses')
Interval = collections.namedtuple('Interval', 'value low high', defaults=(None, None))

NOT_OF_HARDWARE = '''
THESE FIGURES ARE NOT OF HARDWARE, AND SAY NOTHING ABOUT ANY: %s.
'''
READING = '''
How to read it

Each figure is of one iteration: a page fault in most loops, a system call in getpid, a trap with
its signal handler in int3 and divide, in fork a fork() and wait() with 16 MiB written.
page_fault1 to 3 are the loops of will-it-scale, with files in memory. A figure is the median of
all rounds. In brackets is its interval of 95 %, by a bootstrap of {resamples} resamples of the
rounds. "more" and "ratio" compare medians, and their resamples are of whole rounds. "not seen"
says that the interval of "more" has 0 in it. One interval of 20 is wrong by chance. No event
concerns getpid: what is seen there is of the machine. Two kernels are two boots, and no interval
has what differs from boot to boot: repeat both.

pagefault_exit is this event, pagefault is pagefault_entry with it, trap is trap_entry and
trap_exit, kretprobe is a kprobe and a kretprobe on handle_mm_fault(), page_fault_user is the
event of exceptions. All record to a ring buffer that overwrites what is old.
'''
COUNTS = '''Page faults of the process and major ones, and events that were recorded, in an iteration; the
latter with those of preparing the memory'''


def plan(seed, rounds, loops, ways):
    """Each round has each loop once, and with it each way once."""
    rng = random.Random(int(seed))
    for turn in range(1, int(rounds) + 1):
        for loop in rng.sample(loops.split(), len(loops.split())):
            for way in rng.sample(ways.split(), len(ways.split())):
                yield '%d %s %s' % (turn, loop.replace('=', ' '), way)


class Kernel:
    """What was measured on one kernel."""
    def __init__(self, lines):
        self.lines, self.facts, self.said = lines, {}, collections.defaultdict(list)
        self.runs = collections.defaultdict(dict)
        for _, what, *fields in (line.split('\t') for line in lines):
            if what == 'fact':
                self.facts[fields[0]] = fields[1].strip() or '-'
            elif what == 'run':
                run = Run(*fields)
                self.runs[run.loop, run.way][int(run.round)] = run
            else:
                self.said[what].append(', '.join(field for field in fields if field != '-'))

    def figures(self, loop, way, figure):
        """{ROUND: figure of an iteration}, without what was not counted."""
        return {turn: int(getattr(run, figure)) / int(run.n)
                for turn, run in self.runs.get((loop, way), {}).items()
                if getattr(run, figure) != '-'}

    def median(self, *row):
        return statistics.median(self.figures(*row).values() or [0])


def load(files):
    """{NAME: Kernel}"""
    lines, source = collections.defaultdict(list), {}
    for file in files:
        with open(file) as f:
            for line in f:
                name = line.split('\t')[0]
                if name in KERNELS and source.setdefault(name, file) != file:
                    sys.exit('error: %s and %s both have figures of the %s kernel: give one file '
                             'of each kernel' % (source[name], file, name))
                if name in KERNELS:
                    lines[name].append(line.rstrip('\n'))
    return {name: Kernel(lines[name]) for name in KERNELS if name in lines}


def change(off, on):
    """The medians, how much more the second is, and the ratio."""
    off, on = statistics.median(off), statistics.median(on)
    return off, on, on - off, on / off if off else float('inf')


def compare(seed, off, on, paired):
    """The Intervals of these, by bootstrap; None if one was not counted. OFF and ON are of
    Kernel.figures(). If they are paired, a resample takes the same rounds of both. Too few
    rounds have no bounds."""
    if paired:
        off, on = ({turn: x[turn] for turn in off.keys() & on.keys()} for x in (off, on))
    off, on = ([x[turn] for turn in sorted(x)] for x in (off, on))
    if not off or not on:
        return None
    if min(len(off), len(on)) < LEAST_ROUNDS:
        return [Interval(value) for value in change(off, on)]
    rng, found = random.Random(seed), []
    for _ in range(RESAMPLES):
        of_off, of_on = ([int(rng.random() * len(x)) for _ in x] for x in (off, on))
        found.append(change([off[i] for i in of_off],
                            [on[i] for i in (of_off if paired else of_on)]))
    cut = RESAMPLES // 40
    return [Interval(value, sorted(resampled)[cut], sorted(resampled)[-1 - cut])
            for value, resampled in zip(change(off, on), zip(*found))]


def verdict(more):
    if more.low is None:
        return 'too few rounds'
    return 'not seen' if more.low <= 0 <= more.high else ''


def number(x):
    return '%.*f' % (3 if abs(x) < 1 else 2 if abs(x) < 100 else 1, x)


def cell(interval, as_text=number):
    bounds = '(%s to %s)' % tuple(map(as_text, interval[1:])) if interval.low is not None else ''
    return '%10s %-22s' % (as_text(interval.value), bounds)


def table(title, rows):
    """The lines of a table. ROWS are (loop, way, Intervals of change()); those that were not
    counted are left out."""
    rows = [row for row in rows if row[2]]
    if not rows:
        return
    yield '\n%s\n\n%-32s%-33s%-33s%s' % (title, '', '    median', '      more', '     ratio')
    for loop, way, (off, on, more, ratio) in rows:
        if way:
            yield ('%-15s%-17s' % (loop, way) + cell(on) + cell(more) +
                   cell(ratio, '{:.3f}'.format) + verdict(more)).rstrip()
        else:
            yield ('%-15s%-17s' % (loop, 'off') + cell(off)).rstrip()


def on_over_off(kernel, figure):
    """The rows of a table: each loop, off and then with each way."""
    for loop in kernel.facts['loops'].split():
        for way in kernel.facts['ways'].split():
            off, on = (kernel.figures(loop, w, figure) for w in ('off', way))
            seed = repr((kernel.facts['seed'], loop, way, figure))
            yield loop, '' if way == 'off' else way, compare(seed, off, on, True)


def off_over_unpatched(kernels, figure):
    """The rows of a table: each loop, off, over that of the unpatched kernel."""
    main, base = (kernels[name] for name in KERNELS)
    for loop in main.facts['loops'].split():
        off, on = (kernel.figures(loop, 'off', figure) for kernel in (base, main))
        yield loop, 'off', compare(repr((main.facts['seed'], loop, figure)), off, on, False)


def warnings(name, kernel):
    """What a reader has to know of the figures of a kernel first."""
    facts = kernel.facts
    why = [text for text, is_so in (
        ('it is a virtual machine or an emulator', facts['hypervisor'] != 'no'),
        ('it has no PMU that counts', facts['PMU'] == 'none')) if is_so]
    if why:
        yield NOT_OF_HARDWARE % ', and '.join(why)
    if kernel.said['wrong']:
        yield 'The %s kernel was measured although\n  - %s' % (
            name, '\n  - '.join(kernel.said['wrong']))
    # The child of fork takes the CPU away, too
    runs = [run for (loop, _), rounds in kernel.runs.items() if loop != 'fork'
            for run in rounds.values()]
    switched = sum(run.switches != '0' for run in runs)
    yield 'Other tasks took the CPU in %d of %d measurements of the %s kernel.' % (
        switched, len(runs), name)
    for (loop, way) in sorted(kernel.runs):
        recorded = kernel.median(loop, way, 'recorded')
        concerned = loop != 'getpid' and (loop in ('int3', 'divide')) == (way == 'trap')
        if recorded if way == 'off' else concerned and recorded < 0.9:
            yield 'ITS FIGURES ARE WRONG: %s has recorded %s events in an iteration of %s.' % (
                way, number(recorded), loop)


def summary(kernel, figure):
    """The lines of a table of what each way takes more in each loop."""
    rows = collections.defaultdict(dict)
    for loop, way, found in on_over_off(kernel, figure):
        more = found[2] if found else None
        rows[loop][way] = '-' if not more or verdict(more) == 'not seen' else number(more.value)
    ways = kernel.facts['ways'].split()[1:]
    yield '\nWhat an iteration takes more than off, in %s ("-": not seen, or not measured)\n' % FIGURES[figure]
    yield '%-15s' % '' + ''.join('%16s' % way for way in ways)
    for loop, row in rows.items():
        yield '%-15s' % loop + ''.join('%16s' % row[way] for way in ways)


def counts(kernel):
    """The lines of a table of what happened in an iteration."""
    ways = kernel.facts['ways'].split()[1:]
    yield '\n%s\n' % COUNTS
    yield '%-15s%8s%8s' % ('', 'faults', 'major') + ''.join('%16s' % way for way in ways)
    for loop in kernel.facts['loops'].split():
        yield '%-15s%8s%8s' % (loop, *(number(kernel.median(loop, 'off', figure))
                                       for figure in ('faults', 'major'))) + ''.join(
            '%16s' % number(kernel.median(loop, way, 'recorded')) for way in ways)


def report(kernels):
    """Its lines."""
    name, main = next(iter(kernels.items()))
    base = kernels['unpatched'] if len(kernels) == 2 else None
    if base and base.facts['CPU'] != main.facts['CPU']:
        sys.exit('error: the files are of two CPUs, %s and %s: give those of one machine' % (
            main.facts['CPU'], base.facts['CPU']))
    yield 'What the trap and page fault trace events cost: Linux %s on %s' % (
        main.facts['kernel'], main.facts['CPU'])
    for item in kernels.items():
        yield from warnings(*item)
    counted = [figure for figure in FIGURES if any(main.figures(*row, figure) for row in main.runs)]
    yield from summary(main, counted[0])
    yield '\nThe machine, and how it was measured\n'
    for fact in {**main.facts, **(base.facts if base else {})}:
        of_main, *of_base = (k.facts.get(fact, '-') for k in (main, base) if k)
        yield '%-49s%s' % (fact, of_main)
        if of_base not in ([], [of_main]):
            yield '%-49s%s' % ('  of the unpatched kernel', *of_base)
    yield READING.format(resamples=RESAMPLES)
    for kernel in kernels:
        yield from ('Left out on the %s kernel: %s' % (kernel, skip)
                    for skip in kernels[kernel].said['skip'])
        yield from ('FAILED on the %s kernel: %s' % (kernel, fail)
                    for fail in kernels[kernel].said['fail'])
    for figure in FIGURES:
        if figure not in counted:
            yield '\nThere are no %s: they were not counted.' % FIGURES[figure]
        if base:
            yield from table('Off, in %s: over "off" of the unpatched kernel' % FIGURES[figure],
                             off_over_unpatched(kernels, figure))
    for kernel in kernels:
        for figure in FIGURES:
            yield from table('%s kernel, in %s: on, over off' % (kernel.capitalize(), FIGURES[figure]),
                             on_over_off(kernels[kernel], figure))
        yield from counts(kernels[kernel])
    yield '\nThe data of this report. make bench-hardware RESULT=THIS_FILE makes it again\n'
    for kernel in kernels.values():
        yield from kernel.lines


if __name__ == '__main__':
    lines = plan(*sys.argv[2:]) if sys.argv[1] == 'plan' else report(load(sys.argv[2:]))
    print('\n'.join(lines))
