# SPDX-License-Identifier: GPL-2.0
"""Tests of figures.py and functions.py."""
import os
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../report'))
import figures
import functions
import records


def measured(base, patched, bpf={}, work={}):
    """What was measured, of {(way, kind): [a list of single traps for each turn]}. The means of a
    turn have WORK more in them, by guest, way, kind and turn."""
    m = figures.Measured()
    for guest, rows in ('base', base), ('patched', patched), ('bpf-base', bpf), ('bpf', bpf):
        for turn in range(2):
            for (way, kind), turns in rows.items():
                if turn >= len(turns):
                    continue
                lines = ['kind\t%s\t9' % kind]
                if kind == 'getppid':
                    lines.append('way\t%s\tall' % way)
                more = work.get((guest, way, kind, turn), 0) + 0.2
                lines += ['price\t%s\t%s\t%d\t%s\t%s.0\t1' % (way, kind, i + 1, x + more, x)
                          for i, x in enumerate(turns[turn])]
                for line in records.prices(lines):
                    m.add(guest, line)
    return m


STEADY = {('off', 'getppid'): [[189, 189], [189, 189]],
          ('off', 'zero_page'): [[900, 904], [902, 902]]}


def named(name, found):
    return [record for record in found if type(record).__name__ == name]


class TestFigures(unittest.TestCase):
    def test_rounded(self):
        for x, digits, text in ((2.25, 1, '2.3'), (-2.25, 1, '-2.3'), (-0.04, 1, '0'),
                                (1234567.5, 0, '1234568'), (0.3335, 3, '0.334')):
            self.assertEqual(figures.record('fact', 'x', figures.rounded(x, digits)).value, text)

    def test_medians(self):
        m = measured(STEADY, {**STEADY, ('trap', 'getppid'): [[189]],
                              ('trap', 'zero_page'): [[1000]]})
        self.assertEqual(m.mean('base', 'off', 'zero_page'), 902.2)
        self.assertEqual(m.single('base', 'off', 'zero_page'), 900)
        self.assertAlmostEqual(m.extra('patched', 'trap', 'zero_page'), 98)
        self.assertEqual(m.extra('patched', 'off', 'zero_page'), 0)
        self.assertEqual(m.mean('base', 'trap', 'zero_page'), 0)

    def test_goal(self):
        self.assertEqual(figures.goal('x', '4', 4).result, 'reached')
        self.assertEqual(figures.goal('x', '4', 4.001)[1:], ('4', '4', 'missed'))
        self.assertEqual(figures.over(1, 0), 999)

    def test_paths(self):
        base = {path: [1000.0] for path in figures.PATHS}
        found = list(figures.goals_off(base, base))
        self.assertEqual({goal.result for goal in named('target', found)}, {'reached'})
        self.assertEqual([path.path for path in named('path', found)], figures.PATHS)
        more = {**base, 'munmap': [1002.0], 'fork': [1002.0], 'getpid': [1001.0], 'swap_in': [1006.0]}
        found = list(figures.goals_off(base, more))
        self.assertEqual([goal.name.split()[1].strip(',') for goal in named('target', found)
                          if goal.result == 'missed'], ['getpid', 'swap_in', 'munmap', 'fork'])
        del more['thp']
        self.assertEqual([fail.kind for fail in named('fail', figures.goals_off(base, more))],
                         ['thp'])

    def test_typical(self):
        lines = ['price\toff\t%s\t1\t3.0\t2.0\t1' % kind for kind in
                 ('zero_page', 'page_cache', 'thp', 'page_fault3')]
        self.assertEqual([figures.typical(line) for line in records.prices(lines)], [2, 1, 1, 3])

    def test_losses(self):
        m = measured({}, {})
        m.bytes['patched', 'pagefault_exit', 'zero_page'] = '64.0'
        lines = ['\t'.join(['loss', *line.split()]) for line in (
            'pagefault_exit 512 9 100000 60 %d 160000000',
            'pagefault_exit 1024 9 100000 60 %d 160000000', 'hist - 9 100000 60 %d 0')]
        for lost, results in (((7, 0, 0), ['reached', 'reached']), ((0, 1, 0), ['missed', 'reached']),
                              ((0, 0, 1), ['reached', 'missed'])):
            m.losses = list(records.prices(line % x for line, x in zip(lines, lost)))
            found = list(figures.losses(m))
            self.assertEqual([loss.needs for loss in named('loss', found)], ['1000', '1000', '0'])
            self.assertEqual([goal.result for goal in named('target', found)], results)
        m.losses = []
        self.assertEqual([goal.result for goal in figures.losses(m)], ['missed'] * 2)

    def test_control(self):
        self.assertEqual(named('fail', figures.controls(measured(STEADY, STEADY))), [])
        moved = {**STEADY, ('trap', 'getppid'): [[189, 192]]}
        found = list(figures.controls(measured(STEADY, moved)))
        self.assertEqual(found[0].why, 'the control has moved by 3')
        self.assertEqual(found[-1][2:], ('1', 'missed'))
        self.assertEqual(list(figures.controls(measured({}, {})))[-1].result, 'missed')

    def test_control_with_work(self):
        rows = {**STEADY, ('lttng', 'getppid'): [[250]], ('trap', 'getppid'): [[189, 189]]}
        for more, fails in (3, 0), (5, 1):
            work = {('patched', 'trap', 'getppid', 0): more}
            found = figures.controls(measured(STEADY, rows, work=work))
            self.assertEqual(len(named('fail', found)), fails)

    def test_control_of_another_kernel(self):
        other = {('off', 'getppid'): [[200, 200], [200, 200]]}
        self.assertEqual(named('fail', figures.controls(measured(STEADY, STEADY, other))), [])
        moved = {**other, ('fexit_hist', 'getppid'): [[203]]}
        found = figures.controls(measured(STEADY, STEADY, moved))
        self.assertEqual([record.guest for record in named('fail', found)], ['bpf-base', 'bpf'])

    def test_control_beside_a_tool(self):
        moved = {**STEADY, ('lttng', 'getppid'): [[250, 250]]}
        self.assertEqual(named('fail', figures.controls(measured(STEADY, moved))), [])

    def test_drift(self):
        self.assertEqual(list(figures.drift(measured(STEADY, STEADY))), [])
        other = {**STEADY, ('off', 'zero_page'): [[900], [902]]}
        found = list(figures.drift(measured(other, STEADY)))
        self.assertEqual([record.why for record in found],
                         ['it has drifted, from 900 to 902, and rounds differ by 0'])
        noisy = {**STEADY, ('off', 'zero_page'): [[900, 903], [902, 901]]}
        self.assertEqual(list(figures.drift(measured(noisy, STEADY))), [])
        # The timer, or RCU, in all rounds of a turn
        work = {('base', 'off', 'zero_page', 1): 50}
        self.assertEqual(list(figures.drift(measured(STEADY, STEADY, work=work))), [])
        self.assertEqual(len(list(figures.drift(measured(other, STEADY, work=work)))), 1)
        once = {**STEADY, ('off', 'zero_page'): [[900]]}
        self.assertIn('at the end', list(figures.drift(measured(STEADY, once)))[0].why)

    def test_missing(self):
        m = measured(STEADY, STEADY)
        before = len(list(figures.missing(m)))
        for line in records.prices(['skip\tlttng\t-\tlttng is not there', 'skip\ttrap\t-\tno disk',
                                    'Killed']):
            m.add('patched', line)
        self.assertEqual(len(list(figures.missing(m))), before - 6)
        self.assertEqual([record.why for record in named('fail', m.records)],
                         ['it was left out: no disk', 'it said: Killed'])

    def test_least(self):
        lines = records.prices(['price\toff\tfork\t1\t9\t7\t5', 'price\toff\tfork\t2\t9\t6\t5',
                                'price\toff\tmunmap\t1\t9\t7\t5',
                                *('price\toff\tpage_fault1\t1\t%d\t7\t5' % n for n in (8, 2, 9))])
        self.assertEqual(figures.least(lines), {'fork': [6], 'munmap': [5, 7], 'page_fault1': [8]})

    def test_more(self):
        for base, patched, more in ([5], [7], 2), ([9002, 9942], [9014, 9942], 0), ([5, 7], [7, 8], 1), ([9, 5], [3, 8], 3):
            self.assertEqual(figures.more(base, patched), more)

    def test_excuse(self):
        m = measured(STEADY, STEADY)
        before = len(list(figures.missing(m)))
        m.excuse('base', 'fprobe', '-', 'the base has none')
        self.assertEqual(len(list(figures.missing(m))), before - 5)
        self.assertEqual([goal.result for goal in figures.losses(m)], ['missed', 'missed'])
        m.excuse('loss', '-', '-', 'it has one CPU')
        self.assertEqual(list(figures.losses(m)), [])

    def test_missing_bpf(self):
        m = measured(STEADY, STEADY)
        before = len(list(figures.missing(m)))
        for line in records.prices(['skip\ttrapstat\t-\ttrapstat is not there',
                                    'skip\tfexit_hist\t-\tthis kernel has no BTF']):
            m.add('bpf', line)
        self.assertEqual(len(list(figures.missing(m))), before - 6)
        self.assertEqual([record.why for record in named('fail', m.records)],
                         ['it was left out: this kernel has no BTF'])

    def test_goals_of_bpf(self):
        rows = {('off', 'zero_page'): [[900], [900]], ('kretprobe', 'zero_page'): [[2900]],
                ('trapstat', 'zero_page'): [[1600]]}
        self.assertEqual(list(figures.goals_bpf(measured(STEADY, STEADY))), [])
        found = list(figures.goals_bpf(measured({}, {}, rows)))
        self.assertEqual([goal[2:] for goal in found], [('0.35', 'reached')])
        rows['trapstat', 'zero_page'] = [[2000]]
        self.assertEqual(list(figures.goals_bpf(measured({}, {}, rows)))[0].result, 'missed')
        del rows['kretprobe', 'zero_page']
        self.assertEqual(list(figures.goals_bpf(measured({}, {}, rows)))[0].measured, '999')

    def test_guard(self):
        rows = {('walk', 'walk_fault'): [[50]], ('walk', 'walk_page'): [[20]],
                ('walk_guarded', 'walk_fault'): [[90]], ('walk_guarded', 'walk_page'): [[20]]}
        m = measured({}, rows)
        self.assertEqual(named('target', figures.guard_hit(m)), [])
        m.hits['walk_guarded', 'walk_fault'] = 1.0
        self.assertEqual(list(figures.guard_hit(m))[0].measured, '40')

    def test_padding(self):
        line = '\tfield:int x;\toffset:%d;\tsize:%d;\tsigned:0;\n'
        common = '\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n'
        self.assertEqual(figures.padding(common + line % (8, 8) + line % (16, 4)), 4)
        self.assertEqual(figures.padding(common + line % (8, 4) + line % (16, 8)), 4)
        self.assertEqual(figures.padding(common), 99)


class TestFunctions(unittest.TestCase):
    def setUp(self):
        prices = ['section\toff\tint3\t1\t10', 'section\ttrap\tint3\t2\t10', 'section\t-\t-\t3\t0']
        counts = ['count\t1\t%016x\t10' % 0x100, 'count\t2\t%016x\t30' % 0x104,
                  'count\t2\t%016x\t10' % 0x204, 'shared\t2\t%016x\t5' % 0x104,
                  'count\t2\t%016x\t20' % 0x900, 'count\t2\t%016x\t99' % 0,
                  'count\t3\t%016x\t1' % 0x100]
        symbols = functions.symbols(['100 T one', '200 t two', '300 d data', '800 B _end'])
        self.profile = functions.Profile(prices, counts, 'int3', symbols)

    def test_more(self):
        for name, more in ('one', 2), ('two', 1), (functions.OUTSIDE, 2), (functions.USER, 9.9):
            self.assertAlmostEqual(self.profile.more('trap', name), more)
        self.assertEqual(functions.worst(self.profile, ['trap', 'pagefault']), 0.5)

    def test_listing(self):
        lines = ['100 <one>:', '  104:\tmov x', '  204:\tpush y']
        guard = ['  3.0 *   104: mov x', '  1.0     204: push y']
        for number in 'cpu_number', 'pcpu_hot+0xc':
            call = ['  108:\tmov <%s>' % number, '  104:\tmov x']
            self.assertEqual(list(functions.listing(self.profile, 'trap', lines + call, mark=True)),
                             ['100 <one>:', *guard, '          108: mov <%s>' % number,
                              '  3.0     104: mov x'])


if __name__ == '__main__':
    unittest.main()
