#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py CHECK DIR WORDS...: check what the tracing tools printed into the files of DIR.
CHECK is a function of CHECKS, at the end. What differs is printed, as an error at the end."""
import collections
import os
import re
import sys

EVENT = re.compile(r'\b((?:trap|pagefault|page_fault)_[a-z]+): +(.*)')
FIELD = re.compile(r'(\w+)=(\S*)')
NUMBER = re.compile(r'(0x[0-9a-fA-F]+|-?\d+)(?:ns|\(.*\))?$')
# Of include-trace-events/pagefault/pagefault.h, in its order
OUTCOMES = 'MINOR MAJOR INTERRUPTED OOM FIXUP SIGNAL ARCH RETRY FAILED'.split()
KINDS = 'NONE ANON FILE SHMEM HUGETLB SPECIAL'.split()
TRIED = 0xc			# the flags that say how often a fault was tried
FIELDS = {
    'trap_entry': 'vector error_code user_mode ip',
    'trap_exit': 'vector error_code user_mode ip',
    'pagefault_entry': 'address error_code user_mode ip',
    'pagefault_exit':
        'address error_code user_mode ip outcome kind signo si_code flags fault_flags vm_fault '
        'order duration',
    'pagefault_noregs': 'address tgid outcome kind flags fault_flags vm_fault order duration',
}
FAULTS = 'pagefault_entry pagefault_exit pagefault_noregs'.split()


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
    for name, names in ('outcome', OUTCOMES), ('kind', KINDS):
        if isinstance(found.get(name), int):
            found[name] = names[found[name]]
    if 'mode' in found:
        found['user_mode'] = int(found.pop('mode') == 'user')
    return found


def event_of(line):
    """Event and fields of a line of ftrace, trace-cmd, perf, bpftrace or babeltrace2, or None."""
    line = re.sub(r'\( "[^"]*" : container = (\d+) \)', r'\1', line)
    line = re.sub('[{},]', '', line.replace(' = ', '=').replace('x86_exceptions_', ''))
    found = EVENT.search(line)
    return found and (found[1], values(found[2]))


def events(text):
    return list(filter(None, map(event_of, text.splitlines())))


def kinds(text):
    """The kinds of trap and page fault that raise.c has raised, by name."""
    return {name: values(rest) for name, rest in re.findall(r'(?m)^(\w+) (function=.*)', text)}


def events_of(kind):
    return {14: ['pagefault_entry', 'pagefault_exit'], '-': ['pagefault_noregs']}.get(
        kind['vector'], ['trap_entry', 'trap_exit'])


def is_of(kind, event, record):
    """Whether the record has the fields of its event, with the values of this kind."""
    def fits(name, found):
        wanted = kind.get(name, '-')
        if name == 'address':
            start, end = (int(word, 16) for word in wanted.split('-'))
            return start <= found < end
        if name == 'duration':
            return found > 0
        return wanted in ('-', found & ~TRIED if name == 'flags' else found)

    return set(record) == set(FIELDS[event].split()) and \
        all(fits(*field) for field in record.items())


def raised(text, of=tuple(FIELDS), only=lambda kind: True):
    """The text has each event OF the kinds that it names as often as raised, and how many."""
    raised_kinds = {name: kind for name, kind in kinds(text).items() if only(kind)}
    wanted = {(name, event): kind['count'] for name, kind in raised_kinds.items()
              for event in events_of(kind) if event in of}
    found = collections.Counter((name, event) for event, record in events(text)
                                for name, kind in raised_kinds.items()
                                if (name, event) in wanted and is_of(kind, event, record))
    wrong = ['%s, %s: %d, not %d' % (*key, found[key], number)
             for key, number in wanted.items() if found[key] != number]
    print('%d of %d numbers as raised' % (len(wanted) - len(wrong), len(wanted)))
    if wrong or not wanted:
        sys.exit('error: ' + ('; '.join(wrong) or 'nothing was raised'))
    return sum(wanted.values())


def only_raised(text, *words):
    """The same, and no other event is there."""
    equal('events in all', len(events(text)), raised(text, *words))


def by_vector(text, pairs):
    """The PAIRS of a vector and its number are as raised; a vector may have more than one."""
    found = collections.Counter()
    for vector, number in pairs:
        found[int(vector)] += int(number)
    wanted = {kind['vector']: kind['count'] for kind in kinds(text).values()
              if 'trap_entry' in events_of(kind)}
    equal('by vector', {vector: found[vector] for vector in wanted or ['none was raised']}, wanted)


# The tools, each with a program that raises each kind, in files that scripts/guest/tools writes
def tool(name):
    raised(read(name))


def filtered(name):
    only_raised(read(name), ['trap_entry', 'trap_exit'], lambda kind: kind['vector'] == 13)


def perf_stat():
    def stat(file):
        return {event: int(number) for number, event in
                re.findall(r'(?m)^(\d+),,(?:trap|pagefault):(\w+),', read(file))}

    every, of = stat('perf-stat'), kinds(read('perf-stat'))
    print(every)
    for system in 'trap', 'pagefault':
        equal(system, every[system + '_exit'], every[system + '_entry'])
    equal('traps', every['trap_entry'], sum(kind['count'] for kind in of.values()
                                            if 'trap_entry' in events_of(kind)))
    equal('#GP', stat('perf-stat.gp'), dict.fromkeys(('trap_entry', 'trap_exit'),
                                                     of['raise_gp']['count']))


# The recipes of the documents: each gets what the recipe and the program printed
def frames(text, name):
    return len(re.findall(r'(?m)^\s+[0-9a-f]+ %s$' % name, text))


def trap_trace_cmd(text):
    only_raised(text, ['trap_entry'], lambda kind: kind['vector'] == 0)


def trap_count(text):
    by_vector(text, re.findall(
        r'common_pid: raise .*vector: +(\d+), user_mode: +1 } hitcount: +(\d+)', text))


def trap_where(text):
    gp = kinds(text)['raise_gp']
    found = re.findall(r'common_pid: raise .*vector: +13, ip: +(\w+) } hitcount: +(\d+)', text)
    equal('#GP', found, [('%x' % gp['ip'], str(gp['count']))])


def trap_perf(text):
    trap_trace_cmd(text)
    for name in 'main', 'raise_de':
        equal(name, frames(text, name), kinds(text)['raise_de']['count'])


def trap_bpftrace_divide(text):
    de = kinds(text)['raise_de']
    equal('stacks', re.findall(r'(?ms)^@\[raise, *\n +(\w+)\n.*?^\]: (\d+)$', text),
          [('0x%x' % de['ip'], str(de['count']))])


def trap_bpftrace_latency(text):
    by_vector(text, [(vector, number)
                     for vector, buckets in re.findall(r'@ns\[(\d+)\]: *\n((?:\[.*\n)+)', text)
                     for number in re.findall(r' (\d+) \|', buckets)])


def pagefault_all(text):
    raised(text, FAULTS)


def pagefault_histogram(text):
    found = collections.Counter()
    for outcome, number in re.findall(r'outcome: +(\d+), duration: .* } hitcount: +(\d+)', text):
        found[OUTCOMES[int(outcome)]] += int(number)
    for kind in kinds(text).values():
        if kind['vector'] == 14:
            found[kind['outcome']] -= kind['count']
    print('more than raised:', found)
    equal('less than raised', [name for name in found if found[name] < 0], [])


def pagefault_slowest(text):
    found = [int(number) for number in re.findall(
        r'(?m)^(\d+) +\S.*: pagefault_exit: address=0x.* duration=\1ns$', text)]
    equal('slowest', found, sorted(found, reverse=True))
    equal('10 of more than 100 us', len([number for number in found if number > 100000]), 10)


def pagefault_major_perf(text):
    raised(text, ['pagefault_exit'], lambda kind: kind.get('outcome') == 'MAJOR')
    equal('outcomes', {record['outcome'] for _, record in events(text)}, {'MAJOR'})
    equal('raise_read', frames(text, 'raise_read'), kinds(text)['read_file']['count'])


def pagefault_cow(text):
    found = re.search(r'common_pid: raise .* } hitcount: +(\d+) +duration: +(\d+)', text)
    equal('COW', int(found[1]) >= kinds(text)['copy_page']['count'] and int(found[2]) > 1000, True)


def pagefault_signals(text):
    only_raised(text, ['pagefault_exit'], lambda kind: kind.get('signo'))


RECIPES = {check.__name__.replace('_', '-'): check for check in (
    trap_count, trap_where, trap_perf, trap_trace_cmd, trap_bpftrace_divide, trap_bpftrace_latency,
    pagefault_all, pagefault_histogram, pagefault_slowest, pagefault_major_perf, pagefault_cow,
    pagefault_signals)}


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
    RECIPES[name](text)


def of_programs(path):
    """The records of the programs of scripts/guest/lttng, by task, and NMIs apart: one may come
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
    tool, filtered, perf_stat, extract, recipe, lttng_records, lttng_filter)}

if __name__ == '__main__':
    os.chdir(sys.argv[2])
    CHECKS[sys.argv[1]](*sys.argv[3:])
