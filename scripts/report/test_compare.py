# SPDX-License-Identifier: GPL-2.0
"""Tests of compare.py: each form of a record, and each difference is noticed."""
import contextlib
import io
import unittest

import compare

RAISED = '''pid 9
raise_gp function=raise_gp vector=13 error_code=0x0 mode=user ip=0x40 count=1
kernel_write function=- vector=14 error_code=0x2 mode=kernel outcome=FIXUP kind=NONE flags=0x0 \
vm_fault=0x0 ip=- signo=0 si_code=0 address=0x10-0x11 tgid=9 count=1
remote_read function=- vector=- error_code=- mode=- outcome=MINOR kind=ANON flags=0x0 \
vm_fault=0x0 \
ip=- signo=0 si_code=0 address=0x9000-0xa000 tgid=9 count=1
'''
TRACE = RAISED + '''\
raise-9 [000] ..... 1.3: trap_entry: vector=13(#GP) error_code=0x0 mode=user ip=0x40
raise 9 [000] 1.4: trap:trap_exit: vector=13(#GP) error_code=0x0 mode=user ip=0x40
raise-9 [000] 1.5: pagefault_entry:   address=0x10 ip=f+0x1/0x2 error_code=0x2 mode=kernel
tracepoint:pagefault:pagefault_exit: address=0x10 ip=0xffffffff81000000 error_code=0x2 \
user_mode=0 outcome=4 kind=0 signo=0 si_code=0 flags=0x4 fault_flags=0x0 vm_fault=0x0 order=0 duration=3
raise-9 [000] ..... 1.9: pagefault_noregs: address=0x9001 tgid=9 outcome=MINOR kind=ANON \
flags=0x0() fault_flags=0x80(REMOTE) vm_fault=0x0() order=0 duration=40ns
'''
CTF = '''[10:00:00.3] (+0.1) guest pagefault_exit: { cpu_id = 0 }, { tid = 9 }, { address = 0x10, \
ip = 0xFFFFFFFF81000000, outcome = ( "FIXUP" : container = 4 ), duration = 3 }'''


class TestCompare(unittest.TestCase):
    def test_event_of(self):
        self.assertEqual(compare.event_of(CTF), (
            'pagefault_exit', {'cpu_id': 0, 'tid': 9, 'address': 16, 'ip': 0xffffffff81000000,
                               'outcome': 'FIXUP', 'duration': 3}))
        self.assertEqual(compare.event_of('x 1 x86_exceptions_page_fault_user: { ip = 0x5 }'),
                         ('page_fault_user', {'ip': 5}))
        self.assertIsNone(compare.event_of(' => trap_entry'))

    def test_raised(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(compare.raised(TRACE), 5)
            for of, to, said in (
                    ('1.3: trap_entry', '1.3: other', 'raise_gp, trap_entry: 0, not 1'),
                    ('outcome=4', 'outcome=5', 'kernel_write, pagefault_exit: 0, not 1'),
                    ('mode=user ip=0x40\nraise ', 'ip=0x40\nraise ', 'raise_gp, trap_entry: 0'),
                    ('address=0x9001', 'address=0xa000', 'remote_read, pagefault_noregs: 0, not'),
                    (' flags=0x4', ' flags=0x5', 'kernel_write, pagefault_exit: 0, not 1'),
                    ('duration=40ns', 'duration=0ns', 'remote_read, pagefault_noregs: 0, not 1'),
                    (RAISED, '', 'nothing was raised')):
                self.assertIn(of, TRACE)
                with self.assertRaisesRegex(SystemExit, said):
                    compare.raised(TRACE.replace(of, to))
            with self.assertRaisesRegex(SystemExit, 'raise_gp, trap_exit: 2, not 1'):
                compare.raised(TRACE + TRACE.replace('trap_entry', 'trap'))


if __name__ == '__main__':
    unittest.main()
