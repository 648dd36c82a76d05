#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py CHECK DIR WORDS...: check what recipes and LTTng printed into the files of DIR.
CHECK is a function of CHECKS, at the end. What differs is printed, as an error at the end."""
import collections
import os
import re
import sys

EVENT = re.compile(r'\b((?:trap|pagefault|page_fault)_[a-z]+): +(.*)')
FIELD = re.compile(r'(\w+)=(\S*)')
NUMBER = re.compile(r'(0x[0-9a-fA-F]+|-?\d+)(?:ns|\(.*\))?$')


def read(path):
    with open(path, errors='replace') as f:
        return f.read()


def equal(what, found, wanted):
    if found != wanted:
        sys.exit('error: %s: %r, not %r' % (what, found, wanted))


def same(what, found, wanted):
    """Two lists of words, in any order."""
    equal(what, sorted(set(found) - set(wanted)), [])
    equal(what + ', missing', sorted(set(wanted) - set(found)), [])


def values(text):
    """Fields by name. The number of 13(#GP), 0x3(COW|SWAPIN) and 40ns; the name of an outcome;
    else the word."""
    found = {}
    for name, word in FIELD.findall(text):
        number = NUMBER.match(word)
        found[name] = int(number[1], 0) if number else word
    if 'mode' in found:
        found['user_mode'] = int(found.pop('mode') == 'user')
    return found


def event_of(line):
    """Event and fields of a line of ftrace or babeltrace2, or None."""
    line = re.sub(r'(outcome|kind) = \( "(\w+)" : container = \d+ \)', r'\1 = \2', line)
    line = re.sub(r'\( "[^"]*" : container = (\d+) \)', r'\1', line)
    line = re.sub('[{},]', '', line.replace(' = ', '=').replace('x86_exceptions_', ''))
    found = EVENT.search(line)
    return found and (found[1], values(found[2]))


# The recipes of the documents: so many lines are in what each prints of "raise each 300"
RECIPES = {
    'trap-count': (1, r'common_pid: raise .*vector: +13, user_mode: +1 } hitcount: +300'),
    'trap-where': (1, r'common_pid: raise .*vector: +13, ip: +\w+ } hitcount: +300'),
    'trap-perf': (300, r'^\s+[0-9a-f]+ raise_de$'),
    'trap-trace-cmd': (300, r'trap_entry: +vector=0\b'),
    'trap-bpftrace-divide': (1, r'^@\[raise, *\n( +.*\n)+\]: 300$'),
    'trap-bpftrace-latency': (1, r'^@ns\[13\]: *\n\['),
    'pagefault-all': (900, r'pagefault_exit: .*outcome=SIGNAL'),
    'pagefault-histogram': (1, r'outcome: +5, duration: .* } hitcount: +\d+'),
    'pagefault-slowest': (10, r'^(\d+) +\S.*: pagefault_exit: address=0x.* duration=\1ns$'),
    'pagefault-major-perf': (300, r'^\s+[0-9a-f]+ raise_read$'),
    'pagefault-cow': (1, r'common_pid: raise .* } hitcount: +\d+ +duration: +\d+'),
    'pagefault-signals': (900, r'pagefault_exit: .*signo='),
}


def extract(*documents):
    """Write each recipe to a file of its name, and print the names. Each has a check."""
    for document in documents:
        blocks = dict(re.findall(r'\t:name: recipe-(\S+)\n((?:\t.*\n|\n)*)', read(document)))
        same('recipes', blocks, [name for name in RECIPES
                                 if document.endswith(name.split('-')[0] + '.rst')])
        for name, block in blocks.items():
            with open(name + '.sh', 'w') as f:
                f.write(re.sub('(?m)^\t', '', block))
            print(name)


def recipe(name):
    """It succeeds, leaves nothing behind and prints what it must; the tools may add messages."""
    text = read(name + '.out') + read(name + '.err')
    print(text[-1000:])
    equal('status', re.findall(r'(?m)^status (\d+)$', text), ['0'])
    same('left behind', *(read(name + when).splitlines() for when in ('.after', '.before')))
    number, pattern = RECIPES[name]
    found = len(re.findall(pattern, text, re.M))
    equal(pattern, 'found %d times of %d' % (min(found, number), number),
          'found %d times of %d' % (number, number))


def of_programs(path):
    """The records of the programs of in-guest/record-lttng, by task, and NMIs apart: one may come
    between the probes of ftrace and of LTTng. A kernel address is a symbol for ftrace."""
    first, last = map(int, read('tids').split())
    tasks = collections.defaultdict(list)
    for line in read(path).splitlines():
        if not event_of(line):
            continue
        event, record = event_of(line)
        tid = record.pop('tid', None) or int(re.search(r'-(\d+) +\[\d+\] ', line)[1])
        if first < tid < last:
            for name in 'address', 'ip':
                if (name == 'ip' or event.startswith('page_fault_')) and name in record and \
                        (isinstance(record[name], str) or record[name] >> 63):
                    record[name] = 'of the kernel'
            record.pop('cpu_id', None)
            tasks[tid, record.get('vector') == 2].append((event, record))
    return tasks


def lttng_records(path='ctf.text', least=1000, only=lambda event, record: True):
    """LTTng has the records of ftrace, with the same fields."""
    found, wanted = of_programs(path), of_programs('ftrace')
    numbers = collections.Counter()
    for task, records in wanted.items():
        records = [record for record in records if only(*record)]
        for record, other in zip(records, found[task]):
            equal('of LTTng', other, record)
        equal('records of LTTng', len(found.pop(task, [])), len(records))
        numbers.update(event for event, _ in records)
    equal('tasks of LTTng alone', list(found), [])
    print(numbers)
    equal('enough records', numbers.total() >= least, True)


def lttng_filter():
    lttng_records('filtered.text', 1, lambda event, record: event == 'trap_entry' and
                  record['vector'] == 13 and record['user_mode'] == 1)


CHECKS = {check.__name__: check for check in (
    extract, recipe, lttng_records, lttng_filter)}

if __name__ == '__main__':
    os.chdir(sys.argv[2])
    CHECKS[sys.argv[1]](*sys.argv[3:])
