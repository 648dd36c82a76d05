# SPDX-License-Identifier: GPL-2.0
"""Unit tests of parse.py: python3 -m unittest"""
import unittest

import parse

KNOWN = [('trap/one', 'One'), ('trap/two', 'Two'), ('mm/three', 'Three')]
MAINTAINERS = 'Head\n\nMaintainers List\n---\n\nALPHA\nM:\tA\n\nZULU\nM:\tZ\n'
SNIPPET = '# A comment\nMIKE\nM:\t@IDENTITY@\nF:\tmm/mike*\nF:\tkernel/\n\nTWO\nF:\tlib/\n'
PATCH = '''diff --git a/x b/x
@@ -1,3 +1,4 @@
@@ -8,2 +9,3 @@ int f(void)
diff --git a/y b/y
@@ -1 +1 @@ g()'''.split('\n')
CONFLICT = '''diff --cc x
--- a/x
+++ b/x
@@@ -7,4 -8,4 +8,9 @@@ int f(void)
  same
++<<<<<<< ours
 +ours
++=======
+ theirs
++>>>>>>> theirs
  same'''.split('\n')


class Entries(unittest.TestCase):
    def test_by_subject(self):
        self.assertEqual(parse.entries(KNOWN, [('b', 'Two'), ('a', 'One'), ('c', 'Three')]),
                         [('b', 'trap/two'), ('a', 'trap/one'), ('c', 'mm/three')])

    def test_in_order(self):
        self.assertEqual(parse.entries(KNOWN, [('a', 'One'), ('b', 'Other'), ('c', 'Three')])[1],
                         ('b', 'trap/two'))

    def test_new_and_gone(self):
        commits = [('a', 'One'), ('b', 'A: New, one!'), ('c', 'A: new one'), ('d', 'Three')]
        self.assertEqual(parse.entries(KNOWN, commits),
                         [('a', 'trap/one'), ('b', 'trap/a-new-one'), ('c', 'trap/a-new-one-2'),
                          ('d', 'mm/three'), ('-', 'trap/two')])


class Maintainers(unittest.TestCase):
    def test_add(self):
        self.assertEqual(parse.add(MAINTAINERS, SNIPPET, ['mm/mike.c', '']),
                         MAINTAINERS.replace('ZULU', 'MIKE\nM:\t@IDENTITY@\nF:\tmm/mike*\n\nZULU'))
        self.assertEqual(parse.add(MAINTAINERS, SNIPPET, ['']), MAINTAINERS)

    def test_take(self):
        new = parse.add(MAINTAINERS, SNIPPET, ['kernel/x', 'mm/mike.c'])
        new = new.replace('@IDENTITY@', 'I <i>')
        self.assertEqual(parse.take(SNIPPET, 'I <i>', new, MAINTAINERS), (SNIPPET, []))
        self.assertEqual(parse.take(SNIPPET, 'I <i>', MAINTAINERS, new), (SNIPPET, ['MIKE']))
        odd = new.replace('F:\tk', 'S:\tOdd\nF:\tk')
        self.assertIn('S:\tOdd', parse.take(SNIPPET, 'I <i>', odd, new)[0])


class Places(unittest.TestCase):
    def test_places(self):
        self.assertEqual(parse.places(PATCH, 'x', CONFLICT), ['x: hunk 2 of 2, int f(void)'])
        self.assertEqual(parse.places(PATCH, 'y', CONFLICT), [])


if __name__ == '__main__':
    unittest.main()
