# SPDX-License-Identifier: GPL-2.0
"""Tests of records.py."""
import unittest

import records

EXIT = ('   my - prog-43      [001] d.h1.     2.845073: pagefault_exit: address=0x7f0000001008 '
        'ip=0x402a01 error_code=0x%x mode=user outcome=%s signo=%d si_code=%d flags=%s '
        'vm_fault=0x0() duration=261511ns\n')


def page_fault(code=6, outcome='MINOR', signo=0, si_code=0, flags='0x1(ANON)'):
    return records.parse(EXIT % (code, outcome, signo, si_code, flags))


class TestRecords(unittest.TestCase):
    def test_record(self):
        r = page_fault()
        self.assertEqual((r.task, r.pid, r.cpu, r.time, r.event),
                         ('   my - prog'.strip(), 43, 1, 2.845073, 'pagefault_exit'))
        self.assertEqual(r.fields['address'], '0x7f0000001008')
        self.assertEqual(records.duration(r), 261511)

    def test_trap(self):
        r = records.parse(' demo-7 [000] ..... 1.5: trap_entry: vector=0(#DE) ip=0x40 mode=user')
        self.assertEqual(records.vector(r), (0, '#DE'))

    def test_with_tgid(self):
        r = records.parse(' a-12  (     10) [000] d..1. 1.000001: trap_exit: vector=3(#BP)')
        self.assertEqual((r.task, r.pid), ('a', 12))

    def test_without_irq_info(self):
        self.assertEqual(records.parse(' a-12 [000] 1.000001: trap_exit: vector=3(#BP)').pid, 12)

    def test_other_lines(self):
        for line in '# tracer: nop\n', '\n', 'CPU:1 [LOST 12 EVENTS]\n', ' => do_one', '':
            self.assertIsNone(records.parse(line))
        self.assertEqual(len(list(records.read(['#', EXIT % (6, 'MINOR', 0, 0, '0x0()')]))), 1)

    def test_outcome(self):
        self.assertEqual(records.outcome(page_fault()), 'MINOR')
        self.assertEqual(records.outcome(page_fault(outcome='SIGNAL', signo=11, si_code=1)),
                         'SIGNAL SEGV_MAPERR')
        self.assertEqual(records.outcome(page_fault(outcome='SIGNAL', signo=7, si_code=2)),
                         'SIGNAL BUS_ADRERR')
        self.assertEqual(records.outcome(page_fault(outcome='SIGNAL', signo=11, si_code=99)),
                         'SIGNAL signo 11, si_code 99')

    def test_kind(self):
        for code, flags, kind in ((4, '0x1(ANON)', 'anon read'), (6, '0x1(ANON)', 'anon write'),
                                  (20, '0x2(FILE)', 'file exec'), (7, '0x12(FILE|COW)', 'file copy'),
                                  (4, '0x21(ANON|SWAPIN)', 'anon read, swapped in'),
                                  (4, '0x0()', 'no page read')):
            self.assertEqual(records.kind(page_fault(code=code, flags=flags)), kind)

    def test_events(self):
        self.assertEqual(records.events([
            'perf 7 [000] 1.5: trap:trap_entry: vector=3(#BP) ip=0x1', '=> trap_entry', '',
            'tracepoint:pagefault:pagefault_exit: address=0x8', 'trap_exit:      vector=4']),
            [('trap_entry', 'vector=3(#BP) ip=0x1'), ('pagefault_exit', 'address=0x8'),
             ('trap_exit', 'vector=4')])

    def test_value(self):
        for text, value in (('3', 3), ('-1', -1), ('0x10(COW)', 16), ('4660ns', 4660),
                            ('3(#BP)', 3), ('MINOR', 'MINOR'), ('do_it+0x1/0x2', 'do_it+0x1/0x2'),
                            ('-', '-'), ('', '')):
            self.assertEqual(records.value(text), value)

    def test_histogram(self):
        self.assertEqual(records.histogram([
            '# event histogram', '',
            '{ outcome:          0, duration: ~ 2^14 } hitcount:          7',
            '{ common_pid: a b             [        53], vector:          1 } '
            'hitcount:          4  error_code:      65536', 'Totals:']),
            [({'outcome': 0, 'duration': 14}, {'hitcount': 7}),
             ({'common_pid': 'a b             [        53]', 'vector': 1},
              {'hitcount': 4, 'error_code': 65536})])

    def test_place(self):
        maps = records.mappings(['400000-401000 r--p 00002000 00:16 9   /usr/bin/my prog\n',
                                 '7f00-8f00 rw-p 00000000 00:00 0 \n',
                                 'a0000-b0000 rw-p 00000000 00:00 0    [stack]\n', 'bad\n'])
        self.assertEqual(records.place(0x400010, maps), 'my prog+0x2010')
        self.assertEqual(records.place(0x7f00, maps), 'anonymous')
        self.assertEqual(records.place(0xaffff, maps), '[stack]')
        for address in 0x401000, 0x8f00, 8:
            self.assertEqual(records.place(address, maps), 'no mapping')

    def test_prices(self):
        found = list(records.prices(['# a comment\r\n', '', 'hits\twalk\twalk_fault\t1.000\r\n',
                                     'hits\twalk', 'Killed\tby 9', 'skip\tlttng\t-\tno tool']))
        self.assertEqual([type(line).__name__ for line in found],
                         ['hits', 'other', 'other', 'skip'])
        self.assertEqual((found[0].hits, found[2].text), ('1.000', 'Killed'))


if __name__ == '__main__':
    unittest.main()
