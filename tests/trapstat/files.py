#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""files.py events RECORD: a line for each kind of event: count, trap, outcome, mode, memory,
mapping and function. RECORD is of "trapstat record", with .json or .csv.
files.py traps FILE: count and name of each trap in a record, or in its page.
files.py waits FILE: what page faults waited for in a record or in its page, and how many of them.
files.py faults FILE: of "trapstat faults --json", a line for each row: its type, name, number, and
how many faults, minor, major, other, anon, file, shmem, hugetlb, cow, swapin.
files.py crashes FILE: of "trapstat crashes --json", a line for each kind of signal, with a count.
files.py stacks FILE: of the same with -S, a line for each stack, the innermost function first.
files.py schema MAN FILE...: each line of --json there is an object with the keys that the man page
has for its type, which may be none of another.
files.py nested RECORD.json: fails if slices of a thread overlap without one being within the
other; prints how many are within another.
files.py pairs RECORD.csv RECORD.csv: fails if a fault of user or kernel mode is in one alone,
or has another outcome, kind of memory or duration there.
files.py begin RECORD.json: fails if its times do not begin at 0, or its begin is none of today's.
files.py metrics FILE: the samples of an OpenMetrics text, or of one of Prometheus (.prom), which
has to be well-formed.
files.py terminal COLUMNS COMMAND...: run the command in a terminal of that size, which
gets 40 columns more after a few frames. Print the longest line before and after that.
files.py fits COMMAND...: fails if what the command prints is too large for a terminal of 80x24.
files.py keys COMMAND...: the keys of the live view that the command begins do what they should.
files.py once WORDS COMMAND...: a live view says WORDS once, whichever view a key shows."""
import collections
import csv
import fcntl
import json
import os
import pty
import re
import signal
import struct
import sys
import termios
import time


def events(path):
    """The events of a record, each a dict with the names of the columns of the CSV."""
    if path.endswith('.csv'):
        with open(path, encoding='ascii', newline='') as file:
            return list(csv.DictReader(file))
    with open(path, encoding='ascii') as file:
        found = json.load(file)
    return [dict(e['args'], tid=e['tid'], ts=e['ts'], dur=e.get('dur', 0))
            for e in found if e['ph'] != 'M']


def page_data(path):
    """What the script of a page draws."""
    with open(path, encoding='ascii') as file:
        text = file.read()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>',
                                text).group(1))


def print_events(path):
    """A line for each kind of event."""
    print_counts((e['trap'], e.get('outcome') or '-', e['mode'], e.get('memory') or '-',
                  re.sub(r'\+.*', '', e.get('place') or '-'),
                  re.sub(r' .*', '', e['instruction']) or '-') for e in events(path))


def print_traps(path):
    """How often each trap is in a record or in its page."""
    if path.endswith('.html'):
        for name, values in sorted(page_data(path)['series']):
            print(sum(values), name)
    else:
        print_counts((e['trap'],) for e in events(path))


def print_waits(path):
    """How many page faults waited for what."""
    if path.endswith('.html'):
        for name, cells in sorted(page_data(path)['waits']):
            print(sum(n for _, n, _, _ in cells), name)
    else:
        print_counts((key[:-3],) for e in events(path) for key, ns in e.items() if key in (
            'io_ns', 'reclaim_ns', 'compaction_ns', 'mmap_lock_ns', 'uffd_ns', 'preempted_ns',
            'other_ns') and int(ns or 0))


def print_counts(kinds):
    """Each kind with its count, in the order of their names."""
    for kind, n in sorted(collections.Counter(kinds).items()):
        print(n, *kind)


def json_lines(path):
    """The lines of JSON in a file, which may have messages too."""
    with open(path, encoding='ascii') as file:
        return [json.loads(line) for line in file if line.startswith('{')]


def print_faults(path):
    """Rows of the view of faults, as numbers of the interval."""
    for row in json_lines(path):
        if 'faults_per_s' not in row:
            continue
        name, number = (next((row[k] for k in keys if row.get(k) is not None), '-') for keys in (
            ('comm', 'path', 'file'), ('pid', 'tid', 'cgroup', 'inode')))
        print(row['type'], name, number, *(
            round((row[kind + '_per_s'] or 0) * row['seconds']) for kind in (
                'faults', 'minor', 'major', 'other', 'anon', 'file', 'shmem', 'hugetlb', 'cow',
                'swapin')))


def documented(man):
    """The keys of each type of line, by the table in the man page."""
    with open(man, encoding='ascii') as file:
        text = re.search(r'^\.SH JSON$.*?^\.TS\n.*?\n(.*?)^\.TE$', file.read(),
                         re.S | re.M).group(1)
    keys = {}
    for row in re.findall(r'^([a-z_, ]+)\t(T\{.*?^T\}|.*?$)', text, re.S | re.M):
        for kind in row[0].split(', '):
            keys[kind] = set(re.findall(r'\b[a-zN]\w+', row[1]))
    keys['total'] = keys['process']
    return keys


def check_schema(man, *paths):
    """Lines have the keys that are documented."""
    keys, seen = documented(man), collections.Counter()
    for path in paths:
        for row in json_lines(path):
            kind = row.pop('type')
            seen[kind] += 1
            if not (row.pop('time') > 1e9 and row.pop('seconds') >= 0):
                sys.exit('%s: a line has no time' % path)
            extra = {re.sub(r'^cpu\d+', 'cpuN', key) for key in row} - keys[kind]
            if extra:
                sys.exit('%s: %s has no documented %s' % (path, kind, ' '.join(extra)))
    print(*('%s %d' % pair for pair in sorted(seen.items())))
    if set(keys) - set(seen):
        sys.exit('no line of type %s' % ', '.join(sorted(set(keys) - set(seen))))


def print_crashes(path):
    """A line for each kind of signal; all have the PID of their container."""
    print_counts((e['code'], e['vector'] or '-', e['fatal'] or '-', e['error'] or '-',
                  re.sub(r' .*', '', e['instruction'] or '-'),
                  re.sub(r'^workload\+.*', 'workload', e['mapping'] or '-'),
                  'here' if e['own_pid'] in (None, e['pid']) else 'within')
                 for e in json_lines(path) if e['type'] == 'crash')


def print_stacks(path):
    """A line for each stack."""
    print_counts((';'.join(e['frames']),) for e in json_lines(path) if e['type'] == 'stack')


def check_nested(path):
    """Slices of a thread are apart, or one is within the other."""
    within = 0
    threads = collections.defaultdict(list)
    for e in events(path):
        if e['dur']:
            threads[e['tid']].append((e['ts'], -e['dur']))
    for slices in threads.values():
        ends = []
        for begin, minus in sorted(slices):
            while ends and ends[-1] <= begin:
                ends.pop()
            if ends and begin - minus > ends[-1] + 0.002:
                sys.exit('a slice at %f overlaps with the one before' % begin)
            within += bool(ends)
            ends.append(begin - minus)
    print(within, 'within another')


def check_pairs(*paths):
    """Two sources have seen the same faults."""
    faults = [collections.defaultdict(list) for _ in paths]
    for found, path in zip(faults, paths):
        for e in events(path):
            if e['outcome'] in ('MINOR', 'MAJOR') and e['mode'] != 'noregs':
                found[e['tid'], e['address'], e['ip'], e['mode'], e['outcome']].append(e)
    one, other = faults
    single = [key for key in set(one) | set(other) if len(one[key]) != len(other[key])]
    both = [pair for key in one for pair in zip(one[key], other[key])]
    kinds = [pair for pair in both if '-' not in (pair[0]['memory'], pair[1]['memory'])
             and pair[0]['memory'].split(',')[0] != pair[1]['memory'].split(',')[0]]
    near = sum(0.5 < int(b['duration_ns']) / int(a['duration_ns']) < 1.5 for a, b in both)
    print('%d in both, %d of them took about as long, %d in one alone, %d of another kind'
          % (len(both), near, len(single), len(kinds)))
    # An interrupt may come within one of the two durations
    if len(both) < 1000 or single or kinds or near < 0.9 * len(both):
        sys.exit('they differ: %s' % single[:5])


def check_begin(path):
    """Times of a command begin at 0, and are exact to a nanosecond."""
    with open(path, encoding='ascii') as file:
        found = json.load(file)
    end = found[-1]['args']
    first, last = (f(e['ts'] for e in found if 'ts' in e) for f in (min, max))
    age = time.time() - int(end['begin_realtime_ns']) / 1e9
    up = time.clock_gettime(time.CLOCK_MONOTONIC) - int(end['begin_monotonic_ns']) / 1e9
    print('from %f to %f us, in %f s, %f s and %f s ago' % (first, last, end['seconds'], age, up))
    if not (0 <= first < 1e6 * end['seconds'] and last < 1e6 * end['seconds'] + 1e6
            and 0 < age < 3600 and abs(age - up) < 1):
        sys.exit('the times are wrong')


def print_metrics(path):
    """The samples of a text of metrics."""
    if path.endswith('.prom'):
        from prometheus_client.parser import text_string_to_metric_families
    else:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    with open(path, encoding='ascii') as file:
        for family in text_string_to_metric_families(file.read()):
            for sample in family.samples:
                print('%.9g' % sample.value, sample.name,
                      *('%s=%s' % label for label in sorted(sample.labels.items())))


def start_in_terminal(columns, command):
    """Run a command in a terminal of 24 lines."""
    pid, terminal = pty.fork()
    if not pid:
        time.sleep(0.5)     # until it has its size
        os.environ['TERM'] = 'xterm'
        os.execvp(command[0], command)
    resize(terminal, columns)
    return pid, terminal


def resize(terminal, columns):
    """Change the size of a terminal."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))


def read_frames(terminal, number):
    """So many frames of a live view, as text without escape sequences, but for the first one, which
    may be of before."""
    text, until = b'', time.time() + 60
    while text.count(b'\x1b[H') < number + 2 and time.time() < until:
        try:
            text += os.read(terminal, 65536)
        except OSError:
            break
    frames = text.split(b'\x1b[H')[2:-1]
    return [re.sub(rb'\x1b\[[0-9;?]*[A-Za-z]|\r', b'', f).decode() for f in frames]


def run_in_terminal(columns, *command):
    """Run a command in a terminal, which changes its size once."""
    pid, terminal = start_in_terminal(int(columns), command)
    longest = []
    for width in int(columns), int(columns) + 40:
        resize(terminal, width)
        longest.append(max(len(line) for frame in read_frames(terminal, 3)
                           for line in frame.split('\n')))
    os.kill(pid, signal.SIGINT)
    print(*longest, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def check_fits(*command):
    """A terminal shows all that the command prints."""
    pid, terminal = start_in_terminal(80, command)
    text = read_rest(terminal).replace(b'\r', b'').decode('ascii')
    print(text)
    lines = text.split('\n')
    if os.waitpid(pid, 0)[1] or len(lines) > 24 or max(map(len, lines)) > 80:
        sys.exit('%d lines, the longest has %d columns' % (len(lines), max(map(len, lines))))


def read_rest(terminal):
    """All that comes until the terminal is closed."""
    text = b''
    while True:
        try:
            text += os.read(terminal, 65536)
        except OSError:
            return text


def press_keys(*command):
    """Press each key of a live view, and look for what it shows."""
    pid, terminal = start_in_terminal(80, command)
    first = ', longest ' if '-H' in command else 'USER/s'
    for key, shown in (('', first), ('p', ' COMM\n'), ('s', 'sort by TIME%'), ('t', ' TID '),
                       ('g', ' PATH\n'), ('h', 'Keys: '), ('h', ' PATH\n'), ('v', 'USER/s')):
        os.write(terminal, key.encode())
        for _ in range(5):      # to load the programs of another view takes a while
            frame = '\n' + '\n'.join(read_frames(terminal, 1))
            if shown in frame:
                break
        else:
            sys.exit("the key '%s' does not show '%s', but %s" % (key, shown, frame))
        if len(frame.split('\n')) > 25:
            sys.exit('more than 24 lines: %s' % frame)
        if not frame.rstrip().endswith(' v traps'):
            sys.exit('the last line is cut: %s' % frame)
    os.write(terminal, b'q')
    last = read_rest(terminal)[-100:]
    if not last.endswith(b'\x1b[?25h\x1b[?1049l'):
        sys.exit('the screen of before is not back: %s' % last)
    print('all keys work, exit status', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def say_once(words, *command):
    """Whether a live view says it once, though each key for another view opens the sources anew."""
    pid, terminal = start_in_terminal(80, command)
    for key in 'ptvq':
        time.sleep(2)
        os.write(terminal, key.encode())
    said = read_rest(terminal).count(words.encode())
    os.waitpid(pid, 0)
    if said != 1:
        sys.exit('said %d times: %s' % (said, words))


if __name__ == '__main__':
    {'events': print_events, 'traps': print_traps, 'waits': print_waits, 'faults': print_faults,
     'crashes': print_crashes, 'stacks': print_stacks, 'nested': check_nested,
     'begin': check_begin, 'metrics': print_metrics, 'terminal': run_in_terminal,
     'fits': check_fits, 'keys': press_keys, 'once': say_once, 'schema': check_schema,
     'pairs': check_pairs}[sys.argv[1]](*sys.argv[2:])
