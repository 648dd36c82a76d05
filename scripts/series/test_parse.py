# SPDX-License-Identifier: GPL-2.0
"""Unit tests of parse.py: python3 -m unittest"""
import unittest

import parse

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


class Maintainers(unittest.TestCase):
    def test_add(self):
        self.assertEqual(parse.add(MAINTAINERS, SNIPPET, ['mm/mike.c', '']),
                         MAINTAINERS.replace('ZULU', 'MIKE\nM:\t@IDENTITY@\nF:\tmm/mike*\n\nZULU'))
        self.assertEqual(parse.add(MAINTAINERS, SNIPPET, ['']), MAINTAINERS)


class Places(unittest.TestCase):
    def test_places(self):
        self.assertEqual(parse.places(PATCH, 'x', CONFLICT), ['x: hunk 2 of 2, int f(void)'])
        self.assertEqual(parse.places(PATCH, 'y', CONFLICT), [])


if __name__ == '__main__':
    unittest.main()
