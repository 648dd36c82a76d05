# SPDX-License-Identifier: GPL-2.0
"""Reads the lines of tests/trap_cost.c."""
import collections

# The lines of trap_cost, see the head of tests/trap_cost.c; "other" for one that it has not
PRICES = {name: collections.namedtuple(name, fields) for name, fields in {
    'kind': 'kind traps', 'way': 'way tells', 'price': 'way kind round mean median tenth',
    'bytes': 'way kind bytes', 'hits': 'way kind hits', 'scale': 'way threads round mean',
    'section': 'way kind number traps', 'rate': 'way asked taken mean events lost',
    'loss': 'way buffer asked taken events lost delay',
    'skip': 'way kind why', 'fail': 'way kind why', 'other': 'text'}.items()}


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
