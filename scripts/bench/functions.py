# SPDX-License-Identifier: GPL-2.0
"""Writes profile.txt from the counts of scripts/bench/count.c: the extra instructions of a trap
with events on, by function; the functions of the events, by instruction; and the stores to
cache lines that several CPUs write."""
import bisect
import collections
import re

import records

OUTSIDE, USER = '(not_in_vmlinux)', '(user_mode)'


def symbols(lines):
    """The addresses and the names of the kernel's functions, of the lines of nm. Past the end
    of vmlinux there are trampolines, slots of kprobes, modules and BPF programs: these are not
    of the function that happens to be last."""
    found = [(int(words[0], 16), words[2] if words[1] in 'tTwW' else OUTSIDE)
             for words in map(str.split, lines)
             if len(words) == 3 and (words[1] in 'tTwW' or words[2] == '_end')]
    return sorted([*found, (0, OUTSIDE)])


class Profile:
    """What was counted for the traps of one kind: COUNT and SHARED are by way and function,
    AT is by way and instruction, all of a trap."""
    def __init__(self, prices, counts, kind, functions):
        sections = {line.number: line for line in records.prices(prices, 'section')
                    if line.kind == kind and line.traps != '0'}
        self.count, self.shared, self.at = (collections.defaultdict(float) for _ in range(3))
        rows = sorted((int(address, 16), section, what, int(times))
                      for what, section, address, times in map(str.split, counts)
                      if section in sections)
        addresses = [address for address, _ in functions]
        for address, section, what, times in rows:
            way, times = sections[section].way, times / int(sections[section].traps)
            name = functions[bisect.bisect(addresses, address) - 1][1] if address else USER
            if what == 'count':
                self.at[way, address] += times
            getattr(self, what)[way, name] += times

    def more(self, way, name, what='count'):
        """What a trap has of a function more than off."""
        times = getattr(self, what)
        return times.get((way, name), 0) - times.get(('off', name), 0)

    def names(self, what='count'):
        """The functions, by address."""
        return list(dict.fromkeys(name for _, name in getattr(self, what)))


def table(profile, what, ways):
    """A line for each function, the most expensive first, a column for each way."""
    line = ('%-36s' + '%17.1f' * len(ways) + '\n').__mod__
    lines, sums = [], [0] * len(ways)
    for name in profile.names(what):
        more = [profile.more(way, name, what) for way in ways]
        sums = [x + y for x, y in zip(sums, more)]
        if max(more) >= (0.05 if what == 'shared' else 0.5):
            lines.append('%012.3f' % max(more) +
                         line((name.replace('not_in_vmlinux', 'not in vmlinux'), *more)))
    return (' ' * 36 + ''.join('%17s' % way for way in ways) + '\n' +
            ''.join(text[12:] for text in sorted(lines, reverse=True)) + line(('all of it', *sums)))


def shares(profile):
    """What of pagefault_exit any event costs, as page_fault_user does, what its record and its
    duration cost, and the rest."""
    event = record = clock = total = 0
    for name in profile.names():
        more = profile.more('pagefault_exit', name)
        total += more
        if name.startswith('trace_event_raw_event_'):
            record += more
        elif name.startswith(('ktime_get_mono_fast_ns', 'read_tsc')):
            clock += more
        elif (not name.startswith(('handle_page_fault', 'exc_page_fault'))
              and profile.more('page_fault_user', name) > 0.5):
            event += more
    return ('%8.1f  any event: the functions that page_fault_user executes, too\n'
            '%8.1f  making the record\n'
            '%8.1f  reading the clock, at the beginning and at the end\n'
            '%8.1f  the rest: guard, outcome, kind of memory\n%8.1f  all of it\n' % (
                event, record, clock, total - event - record - clock, total))


def worst(profile, ways):
    """Of these ways, the most that all functions together store to shared lines, more than
    off. What off stores more is another matter, and does not make up for it."""
    return max(sum(max(profile.more(way, name, 'shared'), 0) for name in profile.names('shared'))
               for way in ways)


def listing(profile, way, lines, mark=False):
    """The lines of objdump, with how often a trap executes each instruction. With MARK, a * is
    for those of the guard: what is before and after the call of the tracepoint, which begins
    with the number of the CPU (in pcpu_hot on Linux 6.2 to 6.14) and ends with a counter of
    SRCU; but for the registers that are saved, and the return."""
    inside = called = False
    for line in (line.rstrip().replace('\t', ' ') for line in lines):
        if not line or re.match('[0-9a-f]+ <', line):
            yield line
            continue
        at, code = (line.split() + [''])[:2]
        times = profile.at.get((way, int(at.rstrip(':'), 16)))
        inside = inside or '<cpu_number>' in line or '<pcpu_hot+0xc>' in line
        guard = (mark and not inside and times is not None
                 and not code.startswith(('push', 'pop', 'ret')))
        yield '%5s %s %s' % ('' if times is None else '%.1f' % times, '*' if guard else ' ', line)
        if '<__SCT__tp_func_' in line or '<__traceiter_' in line:
            called = True
        elif called and code.startswith('inc'):
            inside = called = False


def text(lines):
    """profile.txt; the instructions of the guard in __trap_trace_exit(); and the stores of an
    event to shared lines. LINES gives the lines of a file that was measured."""
    def profile(guest, kind):
        return Profile(lines(guest + '/prices'), lines(guest + '/counts'), kind, functions)

    functions = symbols(lines('symbols'))
    fault, int3 = profile('profile', 'zero_page'), profile('profile', 'int3')
    shared = profile('sharing', 'scale')
    title = ('\nInstructions that a trap of the kind %s executes more than off, function by '
             'function:\n\n')
    executes = '\n%s(), as often as a page fault with pagefault_exit on executes it:\n\n'
    made = [title % 'zero_page',
            table(fault, 'count', ['page_fault_user', 'pagefault_exit', 'pagefault', 'kretprobe']),
            '\nOf those with pagefault_exit on:\n\n', shares(fault)]
    for name in 'handle_page_fault_traced', 'handle_mm_fault_traced':
        made.append(executes % name)
        made += (line + '\n' for line in listing(fault, 'pagefault_exit', lines(name + '.s')))
    marked = list(listing(int3, 'trap', lines('__trap_trace_exit.s'), mark=True))
    made += [title % 'int3', table(int3, 'count', ['trap', 'signal_generate']), '''
__trap_trace_exit(), as often as an INT3 with the trap events on executes it. * is of
the recursion guard: what a trap from user mode executes of it. One from kernel mode
executes four more: the tests after that of the mode.

''', *(line + '\n' for line in marked), '''
Stores to cache lines that several CPUs write, while two threads fault on memory of
their own: how many of a page fault, more than off, by the function that stores. (What an
event writes to is its stack, what each CPU has of its own (the guard, the counters of
SRCU, the count of preemption), and the ring buffer of the CPU.) results.txt judges by the
sum of the rows above zero: what one function stores less does not make up for another.

''', table(shared, 'shared', ['trap', 'pagefault_exit', 'pagefault', 'kretprobe'])]
    return (''.join(made), len([line for line in marked if re.match(r' *1\.0 \* ', line)]),
            worst(shared, ['trap', 'pagefault_exit', 'pagefault']))
