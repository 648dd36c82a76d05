#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py CHECK DIR WORDS...: compare what tools printed, in files of the folder DIR. CHECK
is one of the functions below; what it prints says what is wrong."""
import collections
import os
import re
import sys

sys.dont_write_bytecode = True
import records


def read(path):
    with open(path, errors='replace') as f:
        return f.read().splitlines()


def least(what, number, wanted):
    if number < wanted:
        sys.exit('%s: %d, less than %d' % (what, number, wanted))


def same(what, found, wanted):
    """Two lists of lines: print what only one of them has."""
    for sign, some, others in ('-', wanted, found), ('+', found, wanted):
        for line in list(collections.Counter(some) - collections.Counter(others))[:6]:
            print(sign + line)
    if found != wanted:
        sys.exit('%s: %d lines are not the %d wanted' % (what, len(found), len(wanted)))


LTTNG_FIELDS = ('vector outcome user_mode address ip error_code signo si_code tgid fault_flags '
                'flags vm_fault duration').split()


def normal(trace, first, last):
    """What ftrace or babeltrace2 prints, in one form, for processes between two PIDs: PID
    and "EVENT FIELD=VALUE...", of each task in its order. That is without the addresses of
    the kernel, which ftrace prints as symbols, and without the names of bits of masks."""
    found = []
    for line in trace:
        line = re.sub(r'\( "([^"]*)" : container = (\d+) \)', r'\2(\1)', line)
        line = re.sub('[{},]', '', line.replace(' = ', '=').replace('x86_exceptions_', ''))
        for event, text in records.events([line]):
            field = dict(records.FIELD.findall(text))
            task = re.search(r'-(\d+) +\[\d+\] ', line)
            pid = int(field.get('tid') or task[1])
            if not first < pid < last:
                continue
            if 'mode' in field:
                field['user_mode'] = '%d' % (field['mode'] == 'user')
            for name in list(field):
                if name == 'ip' or event.startswith('page_fault_'):
                    if not field[name].startswith('0x') or len(field[name]) > 17:
                        del field[name]
                elif name == 'outcome':
                    field[name] = field[name].rpartition('(')[2].rstrip(')')
                elif name == 'duration':
                    field[name] = field[name].removesuffix('ns')
            # An NMI may come between the probes of ftrace and of LTTng for another
            nmi = field.get('vector', '').startswith('2(')
            words = [event]
            for name in LTTNG_FIELDS:
                word = field.get(name)
                if word and name not in ('vector', 'outcome'):
                    word = word.partition('(')[0].lower()
                if word:
                    words.append(name + '=' + word)
            found.append(((pid, nmi), ' '.join(words)))
    return ['%d %s' % (pid[0], line) for pid, line in sorted(found, key=lambda item: item[0])]


def of_programs(path):
    return normal(read(path), *map(int, read('tids')))


def lttng_records():
    wanted, found = of_programs('ftrace'), of_programs('ctf.text')
    for what, number in sorted(collections.Counter(
            ' '.join(w for w in line.split()[1:3] if not re.match('[aiu]', w))
            for line in found).items()):
        print(number, what)
    least('records', len(wanted), 1001)
    same('records of LTTng', found, wanted)


def lttng_filter():
    """The filter that scripts/guest/lttng gives, by LTTng's own evaluation of it."""
    wanted = [line for line in of_programs('ftrace')
              if ' trap_entry vector=13(#GP) user_mode=1 ' in line]
    least('#GP', len(wanted), 1)
    same('filtered', of_programs('filtered.text'), wanted)


LTTNG_TYPES = {
    'trap_entry trap_exit': 'ip 64 16, error_code 32 16, vector 16 10 enum, user_mode 16 10',
    'pagefault_entry pagefault_exit':
        'address 64 16, ip 64 16, error_code 64 16, user_mode 32 10',
    'pagefault_exit': 'signo 32 10, si_code 32 10',
    'pagefault_noregs': 'address 64 16, fault_flags 32 16, tgid 32 10',
    'pagefault_exit pagefault_noregs':
        'duration 64 10, vm_fault 32 16, flags 32 16, outcome 32 10 enum',
}


def lttng_types(headers):
    """The types, as the metadata of the trace has them: EVENT FIELD SIZE BASE, and what is
    an enumeration. That has the names which the kernel's headers have."""
    found, names = [], set()
    for event, body in re.findall(r'name = "?((?:trap|pagefault)_\w+)"?;(.*?)\n\};',
                                  '\n'.join(read('metadata')), re.S):
        for enum, integer, labels, field in re.findall(
                r'(enum : )?integer \{(.*?)\}\s*(?:\{(.*?)\})? _(\w+);', body, re.S):
            size, base = (re.search(r' %s = (\w+);' % word, integer)[1]
                          for word in ('size', 'base'))
            found.append(' '.join([event, field, size, base] + ['enum'] * bool(enum)))
            names |= {field + ' ' + label for label in re.findall('"(.*?)" =', labels)}
    same('types', sorted(found), sorted(
        event + ' ' + field for events, fields in LTTNG_TYPES.items()
        for event in events.split() for field in fields.split(', ')))
    wanted = []
    for field, header, macro, name in (
            ('vector', 'trap.h', r'show_trap_vector\(.*?\}\)', r'"(.*?)" \}'),
            ('outcome', 'pagefault.h', r'PAGEFAULT_OUTCOMES.*?EMe\(.*?\)', r'EMe?\((.*?)\)')):
        text = re.search('#define ' + macro, '\n'.join(read(headers + '/' + header)), re.S)[0]
        wanted += [field + ' ' + word for word in re.findall(name, text)]
    same('names', sorted(names), sorted(wanted))


if __name__ == '__main__':
    os.chdir(sys.argv[2])
    globals()[sys.argv[1]](*sys.argv[3:])
