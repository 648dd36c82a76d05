# SPDX-License-Identifier: GPL-2.0
"""Tests of compare.py: each comparison passes, and fails for a change."""
import contextlib
import io
import os
import tempfile
import unittest

import compare

CTF = '''[10:00:00.1] (+0.1) guest trap_entry: { cpu_id = 0 }, { tid = 9 }, { ip = 0x40, \
error_code = 0x0, vector = ( "#GP" : container = 13 ), user_mode = 1 }
[10:00:00.2] (+0.1) guest x86_exceptions_page_fault_user: { cpu_id = 0 }, { tid = 9 }, \
{ address = 0x7FFF, ip = 0x50, error_code = 0x4 }
[10:00:00.3] (+0.1) guest pagefault_exit: { cpu_id = 0 }, { tid = 9 }, { address = 0x10, \
ip = 0xFFFFFFFF81000000, error_code = 0x2, user_mode = 0, outcome = ( "FIXUP" : container = 6 ), \
signo = 0, si_code = 0, flags = 0x0, vm_fault = 0x0, duration = 3 }
'''
FTRACE = '''a b-9 [000] ..... 1.1: trap_entry: vector=13(#GP) error_code=0x0 mode=user ip=0x40
 a b-9 [000] ..... 1.2: page_fault_user: address=0x7fff ip=0x50 error_code=0x4
 a b-9 [000] ..... 1.3: pagefault_exit: address=0x10 ip=put_user+0x1/0x2 error_code=0x2 \
mode=kernel outcome=FIXUP signo=0 si_code=0 flags=0x0() vm_fault=0x0() duration=3ns
 c-12 [000] ..... 1.4: trap_entry: vector=13(#GP) error_code=0x0 mode=user ip=0x40
'''


class TestCompare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def put(self, **files):
        for name, text in files.items():
            with open(name, 'w') as f:
                f.write(text)

    def fails(self, function, *words):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            try:
                function(*words)
            except SystemExit as error:
                return '%s%s' % (said.getvalue(), error)
        return ''

    def test_lttng(self):
        self.put(tids='8\n11\n', ftrace=FTRACE)
        normal = compare.normal(CTF.splitlines(), 8, 11)
        self.assertEqual(normal, compare.of_programs('ftrace'))
        self.assertEqual(normal, [
            '9 trap_entry vector=13(#GP) user_mode=1 ip=0x40 error_code=0x0',
            '9 page_fault_user address=0x7fff ip=0x50 error_code=0x4',
            '9 pagefault_exit outcome=FIXUP user_mode=0 address=0x10 error_code=0x2 signo=0 '
            'si_code=0 flags=0x0 vm_fault=0x0 duration=3'])
        self.assertIn('-9 page_fault_user', self.fails(compare.same, '', normal[:1], normal))


if __name__ == '__main__':
    unittest.main()
