# SPDX-License-Identifier: GPL-2.0
"""Tests of records.py."""
import unittest

import records


class TestRecords(unittest.TestCase):
    def test_prices(self):
        found = list(records.prices(['# a comment\r\n', '', 'hits\twalk\twalk_fault\t1.000\r\n',
                                     'hits\twalk', 'Killed\tby 9', 'skip\tlttng\t-\tno tool']))
        self.assertEqual([type(line).__name__ for line in found],
                         ['hits', 'other', 'other', 'skip'])
        self.assertEqual((found[0].hits, found[2].text), ('1.000', 'Killed'))


if __name__ == '__main__':
    unittest.main()
