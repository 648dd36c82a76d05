# SPDX-License-Identifier: GPL-2.0
"""Tests of hardware.py."""
import collections
import os
import random
import tempfile
import unittest

import hardware

FACTS = {'kernel': '7.3', 'CPU': 'Some CPU', 'PMU': 'cycles instructions cache-misses',
         'hypervisor': 'no', 'seed': '1', 'loops': 'page_fault1 getpid', 'ways': 'off trap exit'}


def lines(kernel='patched', figures={}, rounds=8, recorded=100, recorded_off=0, **facts):
    """Data: of each loop and way, cycles of an iteration by round; 100 iterations each."""
    found = ['\t'.join((kernel, 'fact', *fact)) for fact in {**FACTS, **facts}.items()]
    for (loop, way), cycles in figures.items():
        for turn in range(rounds):
            c = cycles[turn % len(cycles)]
            found.append('\t'.join(map(str, (
                kernel, 'run', turn + 1, loop, way, 100, 5000, 100, 0, 0,
                recorded if way != 'off' else recorded_off,
                '-' if c is None else int(100 * c), '-', '-'))))
    return found


def report(*data):
    kernels = {one[0].split('\t')[0]: hardware.Kernel(one) for one in data}
    return '\n'.join(hardware.report(kernels))


STEADY = {('page_fault1', 'off'): [1000, 1002], ('page_fault1', 'exit'): [1300, 1302],
          ('getpid', 'off'): [200, 206], ('getpid', 'exit'): [206, 200]}


class TestPlan(unittest.TestCase):
    def test_rounds_have_all_once(self):
        plan = [line.split() for line in hardware.plan('5', '3', 'a=7 b=9', 'off on')]
        for turn in '123':
            rows = sorted(line[1:] for line in plan if line[0] == turn)
            self.assertEqual(rows, [['a', '7', 'off'], ['a', '7', 'on'],
                                    ['b', '9', 'off'], ['b', '9', 'on']])
        self.assertEqual([line[0] for line in plan], sorted(line[0] for line in plan))

    def test_seed(self):
        args = '20', 'a=1 b=1 c=1', 'off on'
        self.assertEqual(list(hardware.plan('5', *args)), list(hardware.plan('5', *args)))
        self.assertNotEqual(list(hardware.plan('5', *args)), list(hardware.plan('6', *args)))
        first = collections.Counter(line.split()[3] for line in hardware.plan('5', *args))
        self.assertEqual(first, {'off': 60, 'on': 60})
        # No way always comes first
        of_a = [line.split()[3] for line in hardware.plan('5', *args) if ' a ' in line]
        self.assertEqual({'off', 'on'}, set(of_a[::2]))


class TestBootstrap(unittest.TestCase):
    def test_covers_the_median(self):
        """Of many samples, about 95 % have an interval with the true median in it."""
        rng, covered, resamples = random.Random(1), 0, hardware.RESAMPLES
        hardware.RESAMPLES = 400
        try:
            for seed in range(200):
                x = {turn: rng.gauss(100, 5) for turn in range(15)}
                off = hardware.compare(seed, x, x, True)[0]
                self.assertLessEqual(off.low, off.value)
                self.assertLessEqual(off.value, off.high)
                covered += off.low <= 100 <= off.high
        finally:
            hardware.RESAMPLES = resamples
        self.assertGreater(covered, 176)
        self.assertLess(covered, 200)

    def test_change(self):
        off = dict(enumerate([10, 11, 12, 10, 11, 12, 11, 11]))
        on = {turn: 2 * x for turn, x in off.items()}
        for paired in True, False:
            median, other, more, ratio = hardware.compare(1, off, on, paired)
            self.assertEqual((median.value, other.value, more.value, ratio.value), (11, 22, 11, 2))
            self.assertTrue(0 < more.low <= 11 <= more.high)
        # Pairs keep what rounds have in common
        ratio = hardware.compare(1, off, on, True)[3]
        self.assertEqual(ratio[1:], (2, 2))
        self.assertLess(hardware.compare(1, off, on, False)[3].low, 2)

    def test_repeatable(self):
        x, y = dict(enumerate(range(9))), dict(enumerate(range(2, 11)))
        self.assertEqual(hardware.compare(3, x, y, False), hardware.compare(3, x, y, False))
        self.assertNotEqual([hardware.compare(seed, x, y, False) for seed in range(5)],
                            [hardware.compare(seed, x, y, False) for seed in range(5, 10)])

    def test_pairs_only(self):
        """A round that failed with one of the two is not compared."""
        off = {turn: 10 for turn in range(9)}
        on = {turn: 15 for turn in range(1, 9)}
        off[0] = 1000
        self.assertEqual(hardware.compare(1, off, on, True)[0], (10, 10, 10))
        self.assertIsNone(hardware.compare(1, off, {}, True))

    def test_verdict(self):
        of = hardware.Interval
        self.assertEqual(hardware.verdict(of(5, 1, 9)), '')
        self.assertEqual(hardware.verdict(of(-5, -9, -1)), '')
        for low, high in (-1, 9), (0, 9), (-9, 0), (0, 0):
            self.assertEqual(hardware.verdict(of(0, low, high)), 'not seen')
        x = dict.fromkeys(range(5), 1)
        self.assertEqual(hardware.verdict(hardware.compare(1, x, x, True)[2]), 'too few rounds')


class TestReport(unittest.TestCase):
    def rows(self, text, *words):
        return [line for line in text.splitlines() if line.split()[:len(words)] == list(words)]

    def test_figures(self):
        text = report(lines(figures=STEADY))
        row, = self.rows(text, 'page_fault1', 'exit', '1301.0')
        self.assertIn(' 300.0 (', row)
        self.assertNotIn('not seen', row)
        self.assertTrue(self.rows(text, 'getpid', 'exit', '203.0')[0].endswith('not seen'))
        self.assertNotIn('NOT OF HARDWARE', text)
        self.assertIn('There are no instructions: they were not counted.', text)

    def test_not_of_hardware(self):
        for fact in {'hypervisor': 'yes'}, {'PMU': 'none'}:
            head = report(lines(figures=STEADY, **fact)).split('How to read it')[0]
            self.assertIn('THESE FIGURES ARE NOT OF HARDWARE', head)
        text = report(lines(figures=STEADY), lines('unpatched', STEADY, hypervisor='yes'))
        self.assertIn('THESE FIGURES ARE NOT OF HARDWARE', text)

    def test_wrong(self):
        data = lines(figures=STEADY) + ['patched\twrong\tits governor is powersave']
        self.assertIn('was measured although\n  - its governor is powersave\n', report(data))

    def test_not_recorded(self):
        text = report(lines(figures=STEADY, recorded=0))
        self.assertIn('exit has recorded 0.000 events in an iteration of page_fault1', text)
        self.assertNotIn('iteration of getpid', text.split('How to read it')[0])
        self.assertNotIn('has recorded', report(lines(figures=STEADY)))
        self.assertIn('off has recorded 0.010 events in an iteration of getpid',
                      report(lines(figures=STEADY, recorded_off=1)))

    def test_over_unpatched(self):
        base = {row: [c - 7 for c in cycles] for row, cycles in STEADY.items()}
        text = report(lines(figures=STEADY), lines('unpatched', base, microcode='0x1'))
        row = self.rows(text, 'page_fault1', 'off')[0]
        self.assertIn(' 7.00 (', row)
        self.assertNotIn('not seen', row)
        self.assertIn('  of the unpatched kernel' + 24 * ' ' + '0x1', report(
            lines(figures=STEADY, microcode='0x2'), lines('unpatched', base, microcode='0x1')))
        with self.assertRaisesRegex(SystemExit, 'of two CPUs, Some CPU and Other CPU'):
            report(lines(figures=STEADY), lines('unpatched', base, CPU='Other CPU'))

    def test_again(self):
        """The report has the data that it is made of."""
        with tempfile.TemporaryDirectory() as folder:
            first, second = (os.path.join(folder, name) for name in ('data', 'report'))
            with open(first, 'w') as f:
                f.write('\n'.join(lines(figures=STEADY)) + '\n')
            text = '\n'.join(hardware.report(hardware.load([first])))
            with open(second, 'w') as f:
                f.write(text + '\n')
            self.assertEqual('\n'.join(hardware.report(hardware.load([second]))), text)
            with self.assertRaisesRegex(SystemExit, 'both have figures of the patched kernel'):
                hardware.load([first, second])


if __name__ == '__main__':
    unittest.main()
