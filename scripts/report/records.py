# SPDX-License-Identifier: GPL-2.0
"""Reads what the tracers write: the events, their fields and histograms; and the lines of
tests/trap_cost.c."""
import collections
import re

FIELD = re.compile(r'(\w+)=(\S*)')
# As any tracer prints it: "trap:trap_entry: vector=3..."
EVENT = re.compile(r'\b((?:trap|pagefault|page_fault)_[a-z]+): +(.*)')
HISTOGRAM = re.compile(r'\{ (.*) \} hitcount: +(\d+)(.*)')
KEY = re.compile(r'([\w.]+): +(.*?)(?=, [\w.]+: |$)')
VALUE = re.compile(r'(\w+): +(\d+)')

# Of include-trace-events/pagefault/pagefault.h, in its order
OUTCOMES = 'MINOR MAJOR RETRY FAILED INTERRUPTED OOM FIXUP SIGNAL ARCH OOPS'.split()

# The lines of trap_cost, see the head of tests/trap_cost.c; "other" for one that it has not
PRICES = {name: collections.namedtuple(name, fields) for name, fields in {
    'kind': 'kind traps', 'way': 'way tells', 'price': 'way kind round mean median tenth',
    'bytes': 'way kind bytes', 'hits': 'way kind hits', 'scale': 'way threads round mean',
    'section': 'way kind number traps', 'rate': 'way asked taken mean events lost',
    'loss': 'way buffer asked taken events lost delay',
    'skip': 'way kind why', 'fail': 'way kind why', 'other': 'text'}.items()}


def events(lines):
    """The name of the event, and the text of its fields, of each line that has one."""
    return [found.groups() for found in map(EVENT.search, lines) if found]


def value(text):
    """A number for 3, 0x3(A|B) and 3ns, else the text."""
    number = re.match(r'(0x[0-9a-f]+|-?\d+)(ns|\(.*\))?$', text)
    return int(number[1], 0) if number else text


def histogram(lines):
    """The lines of a histogram of ftrace: the keys, and the values, "hitcount" among them.
    A bucket ~ 2^4 has the key 4."""
    found = []
    for line in filter(None, map(HISTOGRAM.match, lines)):
        values = {name: int(number) for name, number in VALUE.findall(line[3])}
        found.append(({name: value(text.strip().removeprefix('~ 2^'))
                       for name, text in KEY.findall(line[1])},
                      {'hitcount': int(line[2]), **values}))
    return found


def prices(lines, *names):
    """The lines of trap_cost, all or those of these names, as one of PRICES each, with text in
    all fields."""
    for line in lines:
        name, *fields = line.strip('\r\n').split('\t')
        if name == '' or name.startswith('#'):
            continue
        if name not in PRICES or len(fields) != len(PRICES[name]._fields):
            name, fields = 'other', [name]
        if not names or name in names:
            yield PRICES[name](*fields)
