# SPDX-License-Identifier: GPL-2.0
"""Unit tests of tap.py: python3 -m unittest"""
import contextlib
import io
import os
import unittest
from unittest import mock

import tap

TAP = '''selftests: trap: trap_events
TAP version 13
1..3
# raised 3, traced 2
not ok 1 user DE, div by zero
ok 2 user BP, int3
ok 3 # SKIP kernel CP: this CPU does not raise it'''.splitlines()
WRAPPED = ['# ' + line for line in TAP]


class Programs(unittest.TestCase):
    def test_runner_of_the_kselftest(self):
        failed = 'not ok 1 selftests: pagefault: trap_events # exit=%d'
        self.assertEqual(tap.unwrap(['1..1'] + WRAPPED + [failed % 1]), TAP)
        self.assertEqual(tap.unwrap(WRAPPED + [failed % 139])[-1],
                         'Bail out! trap_events: exit=139')

    def test_complete(self):
        self.assertTrue(tap.complete(TAP, 1)[0])
        for lines, programs in ((TAP, 2), (TAP[:-1], 1), (TAP + ['Bail out! it'], 1), ([], 0),
                                (['1..0'], 1)):
            self.assertFalse(tap.complete(lines, programs)[0])


class Numbers(unittest.TestCase):
    def number(self, *lines, **environment):
        out = io.StringIO()
        with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(out):
            passed = tap.Numbered('make check').read(line + '\n' for line in lines)
        return passed, out.getvalue().splitlines()

    def test_passed(self):
        passed, lines = self.number('a\tok - one', 'b\tok - two # SKIP no way', '# a comment',
                                    'a\ttook\t7', 'complete', TRAP_COMMIT='1234567-dirty')
        self.assertTrue(passed)
        self.assertEqual(lines[:4],
                         ['ok 1 - one', 'ok 2 - two # SKIP no way', '# a comment', '1..2'])
        self.assertIn('# a             1234567-dirty       1       0       0        7', lines)
        self.assertIn('# skipped in b: no way', lines)
        self.assertEqual(lines[-1], '1 passed, 0 failed, 1 skipped')

    def test_failed(self):
        passed, lines = self.number('a\tnot ok - one\tone, two\tLOADS=1', 'complete', BASE='it')
        self.assertFalse(passed)
        self.assertEqual(lines[:2], ['not ok 1 - one',
                                     "# repeat: make check-a ONLY='one, two' LOADS=1 BASE=it"])
        self.assertEqual(lines[-1], '0 passed, 1 failed')

    def test_nothing_passed(self):
        for line in 'a\tok - b # SKIP c', 'a\ttook\t1', '':
            self.assertFalse(self.number(line, 'complete')[0])
        self.assertIn('not ok 1 - the part a has a result',
                      self.number('a\ttook\t1', 'complete')[1])
        self.assertIn('not ok 1 - the checks run to their end', self.number()[1])


if __name__ == '__main__':
    unittest.main()
