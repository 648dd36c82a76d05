# SPDX-License-Identifier: GPL-2.0
"""Tests of compare.py: each comparison passes, and fails for a change."""
import contextlib
import io
import os
import tempfile
import unittest

import compare

RAISED = '''pid 9
raise_gp function=raise_gp vector=13 error_code=0x0 mode=user ip=0x40 count=2
read_nothing function=raise_read vector=14 error_code=0x4 mode=user ip=0x50 count=1 \
outcome=SIGNAL signo=11 si_code=1 flags=0x0 vm_fault=0x0 address=0x7000-0x8000 tgid=9
kernel_write function=- vector=14 error_code=0x2 mode=kernel ip=- count=1 outcome=FIXUP \
signo=0 si_code=0 flags=0x0 vm_fault=0x0 address=0x10-0x11 tgid=9
remote_read function=- vector=- error_code=- mode=- ip=- count=1 outcome=MINOR signo=0 \
si_code=0 flags=0x1 vm_fault=0x0 address=0x9000-0xa000 tgid=9
'''
TRACE = '''raise-9 [000] ..... 1.1: trap_entry: vector=13(#GP) error_code=0x0 mode=user ip=0x40
raise-9 [000] ..... 1.2: trap_exit: vector=13(#GP) error_code=0x0 mode=user ip=0x40
raise-9 [000] ..... 1.3: trap_entry: vector=13(#GP) error_code=0x0 mode=user ip=0x40
raise-9 [000] ..... 1.4: trap_exit: vector=13(#GP) error_code=0x0 mode=user ip=0x40
raise-9 [000] ..... 1.5: pagefault_entry: address=0x7fff ip=0x50 error_code=0x4 mode=user
raise-9 [000] ..... 1.6: pagefault_exit: address=0x7fff ip=0x50 error_code=0x4 mode=user \
outcome=SIGNAL signo=11 si_code=1 flags=0x40(RETRIED_VMA) vm_fault=0x0() duration=30ns
raise-9 [000] ..... 1.7: pagefault_entry: address=0x10 ip=put_user+0x1/0x2 error_code=0x2 \
mode=kernel
raise-9 [000] ..... 1.8: pagefault_exit: address=0x10 ip=put_user+0x1/0x2 error_code=0x2 \
mode=kernel outcome=6 signo=0 si_code=0 flags=0x0() vm_fault=0x0() duration=3ns
raise-9 [000] ..... 1.9: pagefault_noregs: address=0x9001 tgid=9 fault_flags=0x80(REMOTE) \
outcome=MINOR flags=0x1(ANON) vm_fault=0x0() duration=40ns
'''
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
BPFTRACE = '''@none: 0
@ns[13]:\x20
[4K, 8K)               3 |@@@@@@    |
[8K, 16K)              1 |@@        |

@ns[1]:\x20
[0]                    1 |@@@       |

@raw[1, 16384]: 4
@user[13, 64,\x20
    0x40
    0x44
]: 4
@kernel[6,\x20
    exc_invalid_op+12
]: 2
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

    def test_counted(self):
        self.put(raised=RAISED, trace=TRACE)
        self.assertEqual(self.fails(compare.counted, 'raised', 'trace', compare.EVENTS), '')
        for of, to, said in (
                ('1.3: trap_entry', '1.3: other', 'raise_gp, trap_entry: 1 of 2'),
                ('ip=0x40\n', 'ip=0x41\n', 'raise_gp, trap_exit: 0 of 2'),
                ('mode=user ip=0x40', 'mode=kernel ip=0x40', 'raise_gp, trap_entry: 0 of 2'),
                ('0x7fff', '0x8000', 'read_nothing, pagefault_entry: 0 of 1'),
                ('si_code=1', 'si_code=2', 'read_nothing, pagefault_exit: 0 of 1'),
                ('0x40(', '0x41(', 'read_nothing, pagefault_exit: 0 of 1'),
                ('outcome=6', 'outcome=7', 'kernel_write, pagefault_exit: 0 of 1'),
                (' duration=3ns', ' duration=0ns', 'kernel_write, pagefault_exit: 0 of 1'),
                (' duration=40ns', '', 'remote_read, pagefault_noregs: 0 of 1'),
                ('tgid=9', 'tgid=8', 'remote_read, pagefault_noregs: 0 of 1'),
                (' vm_fault=0x0() duration=40', ' vm_fault=0x4() duration=40',
                 'remote_read, pagefault_noregs: 0 of 1')):
            self.put(trace=TRACE.replace(of, to))
            self.assertIn(said, self.fails(compare.counted, 'raised', 'trace', compare.EVENTS))
        self.put(trace=TRACE + TRACE)
        self.assertIn('raise_gp, trap_entry: 4 of 2',
                      self.fails(compare.counted, 'raised', 'trace', compare.EVENTS))
        self.assertIn('0 of 0', self.fails(compare.counted, 'raised', 'trace', []))
        self.put(raised='')
        self.assertTrue(self.fails(compare.counted, 'raised', 'trace', compare.EVENTS))

    def test_table(self):
        """Each row has a way that there is, and what it needs. Each check can fail."""
        for row in compare.TABLE.strip().splitlines():
            check, how, file, *what = row.split(' ', 3)
            self.assertRegex(how, r'^(=|raised|N|\d+\+?)$', row)
            self.assertTrue(what or how == '=', row)
        os.mkdir('pipes')
        self.put(**{'pipes/trace_pipe': TRACE, 'pipes/raised': RAISED, 'pipes/trace': ''})
        self.assertEqual(self.fails(compare.check, 'trace_pipe'), '')
        self.put(**{'pipes/trace': TRACE})
        self.assertIn('4, not 0', self.fails(compare.check, 'trace_pipe'))
        self.assertIn('no check', self.fails(compare.check, 'trace_pipes'))

    def test_rows(self):
        self.assertEqual([row[3] for row in compare.rows('libbpf_shows')],
                         ['^vector %d: %d$' % (number, compare.N) for number in compare.VECTORS])

    def test_maps(self):
        self.put(all=BPFTRACE)
        numbers, stacks = compare.maps('all')
        self.assertEqual(numbers, {'@none': 0, '@ns[13]': 4, '@ns[1]': 1, '@raw[1, 16384]': 4,
                                   '@user[13, 64': 4, '@kernel[6': 2})
        self.assertEqual(stacks, {'@user[13, 64': ['0x40', '0x44'],
                                  '@kernel[6': ['exc_invalid_op+12']})

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

    def test_extract(self):
        self.put(document='Text\n\n.. code-block:: text\n\t:name: recipe-a-b\n\n\techo 1 \\\n'
                 '\t\t2\n\n\techo 3\n\nText\n')
        with contextlib.redirect_stdout(io.StringIO()) as said:
            compare.extract('document')
        self.assertEqual(said.getvalue(), 'a-b\n')
        self.assertEqual(compare.read('a-b.sh'), ['', 'echo 1 \\', '\t2', '', 'echo 3', ''])


if __name__ == '__main__':
    unittest.main()
