# SPDX-License-Identifier: GPL-2.0
"""Makes the records of bench/results.tsv of what tests/trap_cost.c printed in the guests."""
import collections
import os
import pathlib
import re
import statistics

# The records: a line each, with the name of the record in the first column
RECORDS = {name: collections.namedtuple(name, fields) for name, fields in {
    'fact': 'name value',
    'kind': 'kind traps rounds',
    'tells': 'way text',
    # Least, median and most are of the means of the rounds, single is of one trap
    'price': 'guest way kind least median most single extra ratio bytes',
    # Over off, of the rounds: the least and the most of single traps and of means
    'beside': 'guest way kind least most least_mean most_mean',
    'scale': 'way cpus least median most extra',
    'rate': 'way asked taken mean events lost',
    'loss': 'way buffer asked taken events lost delay needs',
    'path': 'path base extra',
    'target': 'name limit measured result',
    'size': 'what base patched',
    'patch': 'series subject text data bss',
    'skip': 'guest way kind why',
    'fail': 'guest way kind why'}.items()}

Round = collections.namedtuple('Round', 'turn number mean median')

# Without one of these tools a way may be skipped. Nothing else may be
EXCUSE = re.compile(r'(perf|(new_)?bpftrace|lttng|trapstat|load_bpf|gnuplot) is not there$|'
                    r'bpftrace lists no raw tracepoint$|no program (perf|bpftrace|lttng)$|'
                    r'no lttng-modules for this kernel')

RESOLVED = 'zero_page first_write page_cache major'
SIGNALS = 'int3 ud2 divide'
# What was measured: guests, ways, kinds. The kernel without the series has today's ways
WANTED = (
    ('base patched', 'off', 'getppid %s segv %s' % (SIGNALS, RESOLVED)),
    ('patched', 'trap all', 'getppid %s segv %s' % (SIGNALS, RESOLVED)),
    ('patched', 'pagefault pagefault_exit hist hist_outcome synthetic eprobe '
     'pagefault_exit_perf pagefault_exit_bpftrace raw_tp_bpftrace pagefault_exit_lttng', 'getppid segv ' + RESOLVED),
    ('patched', 'walk walk_guarded', 'walk_fault walk_page'),
    ('base patched', 'page_fault_user page_fault_user_hist page_fault_user_perf lttng',
     'getppid segv ' + RESOLVED),
    ('base patched', 'kprobe kretprobe fprobe function_graph kretprobe_bpftrace',
     'getppid ' + RESOLVED),
    ('base patched', 'signal_generate signal_kprobe signal_kretprobe',
     'getppid %s segv' % SIGNALS),
    ('bpf-base bpf', 'off trapstat', 'getppid segv ' + RESOLVED),
    ('bpf-base bpf', 'kretprobe kretprobe_bpftrace perf_trace fentry_count fexit_count fexit_hist '
     'fexit_hash', 'getppid ' + RESOLVED),
    ('bpf', 'tp_btf_count tp_btf_hist raw_tp_count raw_tp_hist', 'getppid segv ' + RESOLVED),
    ('scale1 scale2 scale4', 'off trap pagefault pagefault_exit all kretprobe', 'scale'),
    ('rates', 'off pagefault_exit', '1000 10000 100000 300000 0 full'),
    ('grow', 'off pagefault_exit instances_1 instances_2 instances_4 instances_8',
     'getppid zero_page'),
    ('grow', 'off user_stack', 'getppid frames_1 frames_8 frames_32'),
    ('loss', 'pagefault_exit', ' '.join('%s/%s' % (rate, buffer) for buffer in (64, 512, 4096)
                                        for rate in (10000, 100000, 300000, 0))),
    ('loss', 'hist', '10000/- 100000/- 300000/- 0/-'))

# How many instructions a path through a page fault may take more while all events are off. A
# static branch that is off is one instruction. exc_page_fault() has one and a jump,
# handle_mm_fault() has one and a tail jump to its body. A mark is one more: a fixup or a
# signal ends the fault there, or a page is copied or swapped in. The compiler saves a jump
# here and there, so some limits are below the sum. Of a trap, entry and exit have one each; the
# series does not touch getpid. The loops page_fault1 to 3 have a limit by page: a thousandth is 2
# of the last, and 7 of the others. Their means move by half an instruction. The emulator's clock
# is off by up to ten in the two million of a huge page, by another number at each boot.
LIMITS = {'zero_page': '4', 'first_write': '4', 'zero_write': '5', 'copy_on_write': '5',
          'reuse': '5', 'page_cache': '5', 'private_file': '5', 'kernel_write': '5', 'segv': '4',
          'segv_access': '4', 'sigbus': '5', 'fixup': '2', 'get_user_pages': '2', 'munmap': '1',
          'getpid': '0', 'int3': '2', 'divide': '2', 'swap_in': '5', 'thp': '15',
          'page_fault1': '5.5', 'page_fault2': '5.5', 'page_fault3': '5.5'}
# A base may have other limits: arch-x86-hooks/BASE/limits has the path, the limit and the reason
BASE_LIMITS = pathlib.Path(os.environ.get('TRAP_HOOKS', '')) / 'limits'
if os.environ.get('TRAP_HOOKS') and BASE_LIMITS.is_file():
    LIMITS |= dict(line.split()[:2] for line in BASE_LIMITS.read_text().splitlines()
                   if not line.startswith('#'))
# The rows of "off". make check-cost is of page faults alone, once each; its kernel has no swap, and
# does not count huge pages
PATHS = ('getpid int3 divide zero_page first_write zero_write copy_on_write reuse swap_in page_cache '
         'private_file thp segv fixup get_user_pages munmap fork page_fault1 page_fault2 '
         'page_fault3').split()
BENCH_ONLY = 'getpid int3 divide swap_in thp page_fault1 page_fault2 page_fault3'.split()
# Those that are compared, and the one whose control counts: BTF makes another kernel
COMPARED = {'base': 'base', 'patched': 'base', 'grow': 'base', 'bpf-base': 'bpf-base', 'bpf': 'bpf-base'}


def record(name, *fields):
    """The record of that name; numbers become text of at most 12 digits."""
    return RECORDS[name](*(field if isinstance(field, str) else '%.12g' % (field + 0.0)
                           for field in fields))


def rounded(x, digits):
    """X with so many digits; a half is rounded away from zero."""
    size = int(abs(x) * 10 ** digits + 0.5) / 10 ** digits
    return -size if x < 0 else size


LOW = 'page_cache', 'get_user_pages', 'thp', 'munmap'


def typical(line):
    """What a single trap took. Half of the page_cache faults and of get_user_pages take more than the
    other half, and a timer's interrupt is in half of the huge pages: the median is one or the other
    by chance, so their tenth percentile counts. It counts for munmap as well, as many of these calls
    free slabs; see least(). The loops of page_fault1 to 3 are hardly ever the same, so their mean counts."""
    if line.kind.startswith('page_fault'):
        return float(line.mean)
    return float(line.tenth if line.kind in LOW else line.median)


def least(lines):
    """What a trap of each kind takes, of the lines "price" of several rounds: the least. munmap has
    two figures, the tenth percentile and the median. Of page_fault1 to 3, the median of the rounds
    counts: a round with little other work would move the least."""
    found = collections.defaultdict(list)
    for line in lines:
        more = [float(line.median)] if line.kind == 'munmap' else []
        found[line.kind].append([typical(line), *more])
    return {kind: [(statistics.median if kind.startswith('page_fault') else min)(rounds)
                   for rounds in zip(*figures)] for kind, figures in found.items()}


def more(base, patched):
    """What a path takes more with the series, of what least() says of it. Slabs move the median of
    munmap, and the number of VMAs its tenth percentile, on Linux 6.1 by six for each. An instruction
    more moves both, so the lesser difference counts."""
    return min((y - x for x, y in zip(base, patched)), key=abs)


def over(x, y):
    """The share of X in Y. A Y that is missing is a failure, and gives no small share."""
    return x / y if y > 0 else 999


def beside(way):
    """Whether the way has a program of its own, whose work is among that of the round."""
    return way.endswith(('perf', 'trace', 'lttng', 'trapstat'))


class Measured:
    """What trap_cost printed in the guests."""
    def __init__(self):
        self.kinds, self.ways = {}, {}	# how many traps of a kind, what a way tells
        self.turns = collections.Counter()	# a guest takes "off" first and last
        self.rounds = collections.defaultdict(list)
        self.bytes, self.hits = {}, {}
        self.scales, self.cpus = collections.defaultdict(list), {}
        self.losses = []
        self.there, self.excused = set(), set()
        self.records = []

    def add(self, guest, line):
        """Take a line of a guest."""
        what = type(line).__name__
        if what == 'kind':
            self.kinds.setdefault(line.kind, line.traps)
        elif what == 'way':
            self.turns[guest, line.way] += 1
            self.ways.setdefault(line.way, line.tells)
        elif what == 'price':
            self.there.add((guest, line.way, line.kind))
            self.rounds[guest, line.way, line.kind].append(
                Round(self.turns[guest, line.way], int(line.round), float(line.mean),
                      typical(line)))
        elif what == 'bytes':
            self.bytes[guest, line.way, line.kind] = line.bytes
        elif what == 'hits':
            self.hits[line.way, line.kind] = float(line.hits)
        elif what == 'scale':
            self.there.add((guest, line.way, 'scale'))
            self.scales[guest, line.way].append(float(line.mean))
            self.cpus[guest] = line.threads
        elif what == 'rate':
            self.there.add((guest, line.way, line.asked))
            self.records.append(record('rate', *line))
        elif what == 'loss':
            self.there.add((guest, line.way, '%s/%s' % (line.asked, line.buffer)))
            self.losses.append(line)
        elif what == 'skip' and EXCUSE.match(line.why):
            self.excuse(guest, *line)
        elif what == 'skip':
            self.fail(guest, line.way, line.kind, 'it was left out: ' + line.why)
        elif what == 'fail':
            self.fail(guest, *line)
        else:
            self.fail(guest, '-', '-', 'it said: ' + (line.text if what == 'other' else what))

    def excuse(self, guest, way, kind, why):
        """Record what was left out, and need not be there."""
        self.excused.add((guest, way, kind))
        self.records.append(record('skip', guest, way, kind, why))

    def fail(self, *fields):
        """Record a failure."""
        self.records.append(record('fail', *fields))

    def means(self, *row, turn=None):
        """The means of the rounds of a guest, way and kind, sorted; of one turn, or of all."""
        return sorted(r.mean for r in self.rounds.get(row, ()) if turn in (None, r.turn))

    def singles(self, *row, turn=None):
        """The same of what a single trap took, see typical()."""
        return sorted(r.median for r in self.rounds.get(row, ()) if turn in (None, r.turn))

    def mean(self, *row):
        """The median of the means, 0 if there is none."""
        return statistics.median(self.means(*row) or [0])

    def single(self, *row):
        """The least of single traps."""
        return min(self.singles(*row), default=0)

    def extra(self, guest, way, kind):
        """The instructions that a trap takes more than off, or off more than in base. A few
        instructions are less than what the timer does, so off is of a single trap."""
        if way != 'off':
            return self.mean(guest, way, kind) - self.mean(guest, 'off', kind)
        if guest != 'patched':
            return 0
        return self.single(guest, way, kind) - self.single('base', way, kind)


def prices(m):
    """The records of all kinds, ways and prices."""
    for kind, traps in m.kinds.items():
        yield record('kind', kind, traps, max(
            (r.number for row, found in m.rounds.items() if row[2] == kind for r in found),
            default=0))
    for way in m.ways.items():
        yield record('tells', *way)
    for guest in *COMPARED, 'wall-base', 'wall':
        for row in ((guest, way, kind) for way in m.ways for kind in m.kinds):
            if row in m.rounds:
                yield from price(m, *row)


def price(m, *row):
    """The record of a row, and "beside" for a way with a program of its own."""
    guest, way, kind = row
    extra, ratio = '-', '-'
    means, singles, off = m.means(*row), m.singles(*row), (guest, 'off', kind)
    if not way.startswith('walk'):
        more = m.extra(*row)
        extra = rounded(more, 1)
        pairs = [m.mean(guest, pair, kind) for pair in ('kretprobe', 'signal_kretprobe')
                 if (guest, pair, kind) in m.rounds]
        if pairs and kind != 'getppid':
            ratio = rounded(over(more, pairs[0] - m.mean(*off)), 2)
    yield record('price', *row, *(rounded(x, 1) for x in (means[0], m.mean(*row), means[-1])),
                 singles[0], extra, ratio, m.bytes.get(row, '-'))
    if beside(way):
        yield record('beside', *row, *(rounded(x, 1) for x in (
            singles[0] - m.single(*off), singles[-1] - m.single(*off),
            means[0] - m.mean(*off), means[-1] - m.mean(*off))))


def scales(m):
    """The records of more CPUs."""
    for guest in 'scale1', 'scale2', 'scale4':
        for way in m.ways:
            found = sorted(m.scales.get((guest, way), ()))
            if found:
                median = statistics.median(found)
                off = statistics.median(m.scales.get((guest, 'off')) or [0])
                yield record('scale', way, m.cpus[guest], *(
                    rounded(x, 1) for x in (found[0], median, found[-1], median - off)))


def losses(m):
    """The records of what a reader loses, with the KiB that it needs: what comes in the longest
    time until it has read all. And the goals that nothing is lost with so many, or more, or by what
    counts in the kernel."""
    if ('loss', '-', '-') in m.excused:
        return
    lost = {'a buffer of rate x bytes x delay, or larger': [], 'a histogram': []}
    buffers, histograms = lost.values()
    for line in m.losses:
        size = m.bytes.get(('patched', line.way, 'zero_page'), 0)
        needs = float(line.taken) * float(size) * float(line.delay) / 1e9 / 1024
        yield record('loss', *line[:-1], rounded(float(line.delay) / 1e6, 1), rounded(needs, 0))
        if line.buffer == '-':
            histograms.append(float(line.lost))
        elif 0 < needs <= float(line.buffer):
            buffers.append(float(line.lost))
    for what, rows in lost.items():
        yield goal('lost by %s' % what, '0', sum(rows) if rows else 999)


def missing(m):
    """A failure for each wanted row that was not measured, unless a tool is missing."""
    for guests, ways, kinds in WANTED:
        for guest in guests.split():
            for way in ways.split():
                for kind in kinds.split():
                    if (guest, way, kind) not in m.there and not m.excused & {
                            (guest, '-', '-'), (guest, way, '-'), (guest, way, kind)}:
                        yield record('fail', guest, way, kind, 'it was not measured')


def controls(m):
    """Fail where the control has moved: neither an event nor the series concerns getppid. No
    round's median may move. Means have the timer in them, or not, so the least of them may not
    exceed all of off by more than 1; by a fiftieth right after a tool, whose processes are
    about to end."""
    rounds = moved = 0
    for guest, of in COMPARED.items():
        control = m.single(of, 'off', 'getppid')
        most = max(m.means(of, 'off', 'getppid'), default=0)
        for before, way in zip(['', *m.ways], m.ways):
            for turn in range(1, m.turns[guest, way] + 1):
                singles = m.singles(guest, way, 'getppid', turn=turn)
                # A program beside takes its time from all that runs
                if not singles or beside(way):
                    continue
                rounds += len(singles)
                far = [x - control for x in singles if abs(x - control) > 1]
                least = m.means(guest, way, 'getppid', turn=turn)[0]
                if not far and least > most + (control / 50 if beside(before) else 1):
                    far = [least - most]
                moved += len(far)
                if far:
                    yield record('fail', guest, way, 'getppid',
                                 'the control has moved by %.12g' % rounded(far[-1], 2))
    yield record('target', 'rounds of a control that moved, of %d' % rounds, 0, moved,
                 'reached' if rounds and not moved else 'missed')


def drift(m):
    """Fail where "off" is another one at the end of a boot: single traps, by more than a thousandth,
    and by more than they differ between rounds. Means have the timer in them, and other work."""
    for guest in COMPARED:
        turns = m.turns[guest, 'off']
        # missing() tells of a guest that was not measured
        for kind in m.kinds if turns else ():
            first, last = (m.singles(guest, 'off', kind, turn=turn) for turn in (1, turns))
            if turns < 2 or bool(first) != bool(last):
                yield record('fail', guest, 'off', kind,
                             'it was not measured at the beginning and at the end')
            elif first:
                x, y = statistics.median(first), statistics.median(last)
                noise = max(first[-1] - first[0], last[-1] - last[0])
                if abs(y - x) > max(1, x / 1000, noise):
                    yield record('fail', guest, 'off', kind,
                                 'it has drifted, from %.12g to %.12g, and rounds differ by %.12g' %
                                 (x, y, rounded(noise, 2)))


def goal(name, limit, value, digits=1):
    """The record of a goal."""
    return record('target', name, limit, rounded(value, digits),
                  'reached' if value <= float(limit) else 'missed')


def goals_off(base, patched):
    """The records of the paths through a trap, and the goals while all events are off. BASE and
    PATCHED have what each takes without and with the series."""
    of_off = 'off: %s, over the unpatched kernel'
    for path in PATHS:
        if path not in base or path not in patched:
            yield record('fail', 'paths', 'off', path, 'it was not measured')
            continue
        extra = more(base[path], patched[path])
        yield record('path', path, base[path][0], extra)
        if path in LIMITS:
            yield goal(of_off % path, LIMITS[path], extra)
        else:
            # A page more or less of the page tables moves a fork by more than one instruction
            yield goal(of_off % path + ', of a thousand', '1', 1000 * over(extra, base[path][0]), 2)


def goals_on(m):
    """The goals of the events while they are on."""
    def extra(way, kind='zero_page'):
        return m.extra('patched', way, kind)

    yield goal('trap entry and exit: INT3', '1240', extra('trap', 'int3'))
    yield goal('trap entry and exit: a page fault', '0.5', extra('trap'))
    yield goal('pagefault_exit alone: a page fault', '740', extra('pagefault_exit'))
    yield goal('pagefault_exit alone: its share of kprobe and kretprobe', '0.333',
               over(extra('pagefault_exit'), extra('kretprobe')), 3)
    yield goal('pagefault entry and exit: a page fault', '1360', extra('pagefault'))


def goals_bpf(m):
    """The goals of BPF programs, as far as they were measured: of single traps, as trapstat works
    for each interval, too."""
    off = m.single('bpf', 'off', 'zero_page')
    for name, limit, way, other in (
            ('trapstat, by our event: its share of kprobe and kretprobe', '0.5',
             'trapstat', 'kretprobe'),
            ('tp_btf_hist: its share of fexit_hist', '0.25', 'tp_btf_hist', 'fexit_hist')):
        if ('bpf', way, 'zero_page') in m.there:
            yield goal(name, limit, over(*(m.single('bpf', row, 'zero_page') - off
                                           for row in (way, other))), 3)


def guard_hit(m):
    """What a page fault in a probe takes more if its events are suppressed: of a single one,
    as the mean of each of the four has the timer in it."""
    hits = m.hits.get(('walk_guarded', 'walk_fault'), 0)
    if hits <= 0 or m.hits.get(('walk', 'walk_fault'), 0):
        yield record('fail', 'patched', 'walk_guarded', 'walk_fault',
                     'the guard did not suppress what it should')
        return
    guarded, plain = (m.single('patched', way, 'walk_fault') - m.single('patched', way, 'walk_page')
                      for way in ('walk_guarded', 'walk'))
    more = (guarded - plain) / hits
    yield goal('guard: an event that it suppresses', '12', more)
    # As it is of any page fault, beside those of the zero page
    yield record('tells', 'guard_hit', 'nothing, but counts it in trap_suppressed (for an event)')
    yield record('price', 'patched', 'guard_hit', 'zero_page', *'----', rounded(more, 1),
                 rounded(over(more, m.extra('patched', 'kretprobe', 'zero_page')), 3), 0)


def goals_of_code(m, text, guard, shared, seen):
    """The goals of the series' sizes, TEXT by its name; and of the profile: the instructions
    of the GUARD in __trap_trace_exit(), the SHARED stores of an event, and those that were
    SEEN of two threads that write the same line on purpose. None is what is not known."""
    profiled = ('profile', '-', '-') not in m.excused
    if guard:
        yield goal('guard: a recorded trap_exit of a trap from user mode', '12', guard, 0)
    elif profiled:
        yield record('fail', 'profile', 'trap', 'int3', 'the profile does not tell of the guard')
    for series, limit in ('trap', '4096'), ('pagefault', '6144'):
        if text.get(series, 0) > 0:
            yield goal('text of the series %s, in bytes' % series, limit, text[series], 0)
    if shared is not None:
        yield goal('stores to cache lines that several CPUs write', '0.1', shared)
    if seen == 0:
        yield record('fail', 'sharing', 'shared_line', 'scale',
                     'the plugin saw no store to a shared line')
    if shared is None and profiled:
        yield record('fail', 'sharing', '-', 'scale', 'the profile does not tell of shared stores')


def goals_of_records(m, formats):
    """The goals of the sizes of the records. FORMATS has the text of the events' formats."""
    pair = m.bytes.get(('patched', 'kretprobe', 'zero_page'))
    ours = m.bytes.get(('patched', 'pagefault_exit', 'zero_page'))
    if pair and ours:
        yield goal('bytes of pagefault_exit: those of the kprobe pair', pair, float(ours))
    else:
        yield record('fail', 'patched', 'pagefault_exit', 'zero_page',
                     'the bytes of its record, or of the kprobe pair, were not measured')
    # Behind the last field of pagefault_entry and of pagefault_noregs
    yield goal('bytes of padding in the events', '8', sum(map(padding, formats)) if formats else 99)


def padding(text):
    """Bytes of a record, behind its common fields, that are of no field."""
    fields = [(int(offset), int(size)) for offset, size in
              re.findall(r'^(?!.*common_).*offset:(\d+);.*size:(\d+);', text, re.M)]
    if not fields:
        return 99
    ends = [offset + size for offset, size in fields]
    return sum(offset - end for (offset, _), end in zip(fields[1:], ends)) + -ends[-1] % 8
