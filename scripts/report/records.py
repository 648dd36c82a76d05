# SPDX-License-Identifier: GPL-2.0
"""Reads what the tracers write: the records of ftrace's text, their fields, and the mappings
of a process; and the lines of tests/trap_cost.c."""
import collections
import re

Record = collections.namedtuple('Record', 'task pid cpu time event fields')
Mapping = collections.namedtuple('Mapping', 'start end name offset')

RECORD = re.compile(r'\s*(?P<task>.*)-(?P<pid>\d+)\s+(?:\([ \d-]*\)\s+)?\[(?P<cpu>\d+)\]\s+'
                    r'(?:\S+\s+)?(?P<time>\d+\.\d+): (?P<event>\w+): (?P<fields>.*)')
FIELD = re.compile(r'(\w+)=(\S*)')
# As any tracer prints it: "trap:trap_entry: vector=3..."
EVENT = re.compile(r'\b((?:trap|pagefault|page_fault)_[a-z]+): +(.*)')
HISTOGRAM = re.compile(r'\{ (.*) \} hitcount: +(\d+)(.*)')
KEY = re.compile(r'([\w.]+): +(.*?)(?=, [\w.]+: |$)')
VALUE = re.compile(r'(\w+): +(\d+)')

# Of include-trace-events/pagefault/pagefault.h, in its order
OUTCOMES = 'MINOR MAJOR RETRY FAILED INTERRUPTED OOM FIXUP SIGNAL ARCH OOPS'.split()

# si_code of SIGBUS and SIGSEGV, by siginfo(2): (signo, si_code)
SI_CODES = {(7, 1): 'BUS_ADRALN', (7, 2): 'BUS_ADRERR', (7, 3): 'BUS_OBJERR',
            (7, 4): 'BUS_MCEERR_AR', (11, 1): 'SEGV_MAPERR', (11, 2): 'SEGV_ACCERR',
            (11, 4): 'SEGV_PKUERR'}
MEMORY = 'ANON', 'FILE', 'SHMEM', 'HUGETLB'
# The lines of trap_cost, see the head of tests/trap_cost.c; "other" for one that it has not
PRICES = {name: collections.namedtuple(name, fields) for name, fields in {
    'kind': 'kind traps', 'way': 'way tells', 'price': 'way kind round mean median tenth',
    'bytes': 'way kind bytes', 'hits': 'way kind hits', 'scale': 'way threads round mean',
    'section': 'way kind number traps', 'rate': 'way asked taken mean events lost',
    'skip': 'way kind why', 'fail': 'way kind why', 'other': 'text'}.items()}
WRITE, INSTRUCTION = 1 << 1, 1 << 4	# of the error code, see the SDM, volume 3, 4.7


def parse(line):
    """The Record of a line of the file trace, or None for another line. The time is in
    seconds, the values of the fields are text."""
    found = RECORD.match(line)
    if not found:
        return None
    return Record(found['task'], int(found['pid']), int(found['cpu']), float(found['time']),
                  found['event'], dict(FIELD.findall(found['fields'])))


def read(lines):
    """The records among these lines."""
    return filter(None, map(parse, lines))


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


def vector(record):
    """The number and the name of the vector of a trap: 3, '#BP'."""
    number, name = record.fields['vector'].split('(')
    return int(number), name.rstrip(')')


def duration(record):
    """The duration of a page fault, in ns."""
    return int(record.fields['duration'].removesuffix('ns'))


def outcome(record):
    """How a page fault ended, with the signal that it raised: 'SIGNAL SEGV_MAPERR'."""
    signal = int(record.fields['signo']), int(record.fields['si_code'])
    if signal[0] == 0:
        return record.fields['outcome']
    return '%s %s' % (record.fields['outcome'], SI_CODES.get(signal, 'signo %d, si_code %d' % signal))


def flags(text):
    """The names of 0x5(ANON|COW)."""
    return [name for name in text.partition('(')[2].rstrip(')').split('|') if name]


def kind(record):
    """In which memory, and by which access: 'anon write', 'file copy-on-write'."""
    names = flags(record.fields['flags'])
    code = int(record.fields['error_code'], 16)
    access = 'exec' if code & INSTRUCTION else 'write' if code & WRITE else 'read'
    if 'COW' in names:
        access = 'copy'
    if 'SWAPIN' in names:
        access += ', swapped in'
    memory = [name.lower() for name in names if name in MEMORY] or ['no page']
    return '%s %s' % (memory[0], access)


def mappings(lines):
    """The mappings of /proc/PID/maps."""
    found = []
    for line in lines:
        words = line.split(None, 5)
        if len(words) < 5:
            continue
        start, end = (int(part, 16) for part in words[0].split('-'))
        name = words[5].strip() if len(words) > 5 else 'anonymous'
        found.append(Mapping(start, end, name, int(words[2], 16)))
    return found


def place(address, maps):
    """Where an address of user space is: 'libc.so.6+0x1f00', the offset in the file."""
    for mapping in maps:
        if mapping.start <= address < mapping.end:
            name = mapping.name.rpartition('/')[2]
            if mapping.name.startswith('/'):
                return '%s+0x%x' % (name, address - mapping.start + mapping.offset)
            return name
    return 'no mapping'


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
