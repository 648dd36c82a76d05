# SPDX-License-Identifier: GPL-2.0
"""Tests of records.py."""
import unittest

import records


class TestRecords(unittest.TestCase):
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

    def test_prices(self):
        found = list(records.prices(['# a comment\r\n', '', 'hits\twalk\twalk_fault\t1.000\r\n',
                                     'hits\twalk', 'Killed\tby 9', 'skip\tlttng\t-\tno tool']))
        self.assertEqual([type(line).__name__ for line in found],
                         ['hits', 'other', 'other', 'skip'])
        self.assertEqual((found[0].hits, found[2].text), ('1.000', 'Killed'))


if __name__ == '__main__':
    unittest.main()
