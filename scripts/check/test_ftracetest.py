# SPDX-License-Identifier: GPL-2.0
"""Unit tests of ftracetest.py: python3 -m unittest"""
import contextlib
import io
import pathlib
import tempfile
import unittest

import ftracetest

P, F = 'PASS', 'FAIL'


class Verdicts(unittest.TestCase):
    def verdict(self, *results):
        return ftracetest.verdict(*results)[0]

    def test_same(self):
        self.assertEqual(ftracetest.verdict([P], [P], [], []), ('pass', '', ''))
        self.assertEqual(ftracetest.verdict([F], [F], [], [])[:2],
                         ('pass', ' (FAIL without the series, too)'))
        self.assertEqual(self.verdict(['UNSUPPORTED'], ['UNSUPPORTED'], [], []), 'skip')

    def test_alone(self):
        self.assertEqual(self.verdict([P], [F], [P] * 3, [F] * 3), 'fail')
        self.assertEqual(self.verdict([P], [F], [P, F, P], [P] * 3), 'pass')
        self.assertEqual(self.verdict([P], [F], [P, F, P], [P, F, F]), 'fail')
        self.assertEqual(self.verdict([P], ['XFAIL'], [P, F, P], [P] * 3), 'fail')
        self.assertEqual(self.verdict([P], [], [P] * 3, [P] * 2), 'fail')
        self.assertEqual(self.verdict([], [], [P] * 3, [P] * 3), 'pass')
        self.assertEqual(self.verdict([], [], [], []), 'fail')
        self.assertEqual(
            ftracetest.verdict([P], [F], [P] * 3, [F] * 3)[2],
            'FAIL, and alone: FAIL FAIL FAIL (without the series PASS, and alone: PASS PASS PASS)')


class Files(unittest.TestCase):
    def test_results(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / 'a').mkdir()
            (folder / 'a/1.tc').write_text('# description: x\n# flags: instance\n')
            (folder / 'a/2.tc').write_text('# flags: none\n')
            (folder / '1.test').write_text('a\n')
            (folder / '1.out').write_text('[1] x\t[PASS]\n+ echo\n[3] (instance)  x\t[FAIL]\n')
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertTrue(ftracetest.results(name, 'a', name))
            self.assertEqual(out.getvalue(),
                             'a/1.tc\tPASS\na/2.tc\tnothing\na/1.tc (instance)\tFAIL\n')
            (folder / 'base').write_text('a/1.tc\tPASS\na/2.tc\tPASS\na/1.tc (instance)\tPASS\n')
            (folder / 'here').write_text(out.getvalue())
            with contextlib.redirect_stdout(io.StringIO()) as out:
                ftracetest.again(folder / 'base', folder / 'here')
            self.assertEqual(out.getvalue(), 'a/1.tc\na/2.tc\n')


if __name__ == '__main__':
    unittest.main()
