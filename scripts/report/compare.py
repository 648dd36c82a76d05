#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py CHECK DIR WORDS...: check that the tools recorded what scripts/guest/raise.c raised,
and print the differences. DIR has what both printed. A CHECK is the lines of its name in the
table below, and the function of that name."""
import collections
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import records

N = 4				# of each kind, as scripts/guest/tools has it
VECTORS = 0, 1, 3, 4, 6, 11, 12, 13, 16	# that raise.c raises, but for page faults
TRAPS = ['trap_entry', 'trap_exit']
FAULTS = ['pagefault_entry', 'pagefault_exit', 'pagefault_noregs']
EVENTS = TRAPS + FAULTS
FIELDS = {
    'trap_entry': 'vector error_code user_mode ip',
    'trap_exit': 'vector error_code user_mode ip',
    'pagefault_entry': 'error_code user_mode ip',
    'pagefault_exit': 'error_code user_mode ip outcome signo si_code vm_fault flags',
    'pagefault_noregs': 'tgid outcome vm_fault flags',
}
TRIED = 0xc0			# the flags that say how often it was tried


# CHECK, then "raised TRACE RAISED EVENT...": the file TRACE has that many of each of these
# events as raise.c says in the file RAISED; "= FILE WORDS": these are all words of the file;
# or "NUMBER FILE REGEX": so many lines match, with "+" at least so many. N stands for that
# above, {vector} for each of VECTORS, {first} for those before #GP, {event} for each event
TABLE = r'''
boot = boot/top.enabled 1 1 0
boot = boot/early.enabled 1
boot 1+ boot/top <idle>-0 .* 0\.\d{6}: trap_entry:\s
boot 100+ boot/top : pagefault_exit:\s
boot 0 boot/top : trap_exit:\s
boot 1+ boot/early <idle>-0 .* 0\.\d{6}: trap_exit:\s
boot 0 boot/early.later ^(?!#)(?!.*: trap_exit: )
boot raised boot/early.later boot/raised trap_exit
switch 2 switch/set_event .
switch 1 switch/set_event ^trap:trap_entry$
switch 1 switch/set_event ^trap:trap_exit$
switch raised switch/set_event.trace switch/raised trap_entry trap_exit
switch 0 switch/set_event.trace : pagefault_
switch = switch/set_event.none
switch 0 switch/set_event.off : (trap|pagefault)_
switch = switch/enable 1 0
switch raised switch/enable.trace switch/raised.enable pagefault
switch 0 switch/enable.off : (trap|pagefault)_
instances 0 switch/other.trace : (trap|pagefault)_
instances 0 switch/enable.top : (trap|pagefault)_
filters raised filters/all.trace filters/again all
stack_trigger N triggers/stack.trace <stack trace>
stack_trigger N triggers/stack.trace ^ => exc_invalid_op$
stack_trigger N triggers/stack.trace ^ => asm_exc_invalid_op$
snapshot_trigger N triggers/snapshot trap_entry: vector={first}\(
snapshot_trigger 0 triggers/snapshot trap_entry: vector=16\(
snapshot_trigger 1+ triggers/snapshot.trace trap_entry: vector=13\(
snapshot_trigger N triggers/snapshot.trace trap_entry: vector=16\(
snapshot_trigger 0 triggers/snapshot.trace trap_entry: vector=6\(
traceoff_trigger = triggers/off.tracing_on 0
traceoff_trigger = triggers/snapshot.tracing_on 1
traceoff_trigger N triggers/off.trace trap_entry: vector={first}\(
traceoff_trigger 0 triggers/off.trace trap_entry: vector=16\(
synthetic_event N triggers/synthetic raise-.*: trap_pair: vector={vector} lat=[1-9]\d*$
one_process raised pids/trace pids/raised trap_entry trap_exit
trace_pipe raised pipes/trace_pipe pipes/raised trap_entry trap_exit
trace_pipe 0 pipes/trace : trap_
trace_cmd_records = trace_cmd/err
trace_cmd_records = trace_cmd/report.err
trace_cmd_records raised trace_cmd/report trace_cmd/raised all
trace_dat 1+ trace_cmd/dump \[Version\]
trace_dat 1+ trace_cmd/dump Events format, 2 systems
trace_cmd_stacks N trace_cmd/stack trap_entry: *vector=13\(
trace_cmd_stacks 0 trace_cmd/stack trap_entry:(?!.*vector=13)
trace_cmd_stacks N trace_cmd/stack ^=> exc_general_protection\s
trace_cmd_stacks 1+ trace_cmd/hist raise .*trap_entry
trace_cmd_stacks 1+ trace_cmd/hist \sexc_general_protection$
perf_lists 1+ perf_tool/list ^ +(trap|pagefault):{event} +\[Tracepoint event\]
perf_records raised perf_tool/script perf_tool/raised all
perf_does_not_loop raised perf_tool/loop perf_tool/loop.raised all
bpftrace_shows raised bpf_trace/all bpf_trace/all all
tools_refuse 1+ bpf_trace/perf.missing unknown tracepoint
tools_refuse 1+ bpf_trace/perf.missing events/trap/trap_entri not found
tools_refuse 1+ bpf_trace/perf.missing ^status 129$
tools_refuse 1+ bpf_trace/missing ERROR: tracepoint not found: trap:trap_entri
tools_refuse 1+ bpf_trace/missing ^status 1$
tools_refuse 1+ bpf_trace/field ERROR: .* does not contain a field named 'trapnr'
tools_refuse 1+ bpf_trace/field ^status 1$
libbpf_shows 1 libbpf/all ^vector {vector}: 4$
trap-perf raised trap-perf.all trap-perf.all trap_entry of=0
trap-perf 0 trap-perf.all trap_entry: (?!.*vector=0\(#DE\))
trap-perf N trap-perf.all ^\t *[0-9a-f]+ main$
trap-perf N trap-perf.all ^\t *[0-9a-f]+ raise_de$
trap-trace-cmd raised trap-trace-cmd.all trap-trace-cmd.all trap_entry of=0
trap-trace-cmd 0 trap-trace-cmd.all trap_entry: (?!.*vector=0\(#DE\))
all raised all.all all.all pagefault
'''


def read(path):
    with open(path, errors='replace') as f:
        return f.read().splitlines()


def matching(path, regex):
    return [line for line in read(path) if re.search(regex, line)]


def lines(path, regex):
    return len(matching(path, regex))


def equal(what, found, wanted):
    if found != wanted:
        sys.exit('%s: %r, not %r' % (what, found, wanted))


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


def values(text):
    """The fields of an event or a kind, as records.value() has them, the outcome by name."""
    fields = {name: records.value(word) for name, word in records.FIELD.findall(text)}
    if fields.get('outcome') in range(len(records.OUTCOMES)):
        fields['outcome'] = records.OUTCOMES[fields['outcome']]
    if 'mode' in fields:
        fields['user_mode'] = int(fields.pop('mode') == 'user')
    return fields


def kinds(path):
    """What raise.c says that it raised, by the name of the kind."""
    found = {line.split()[0]: values(line) for line in matching(path, r'^\w+ function=')}
    if not found:
        sys.exit('%s has nothing that was raised' % path)
    return found


def is_of(kind, event):
    """Whether a kind has such an event. A page fault has none of the traps."""
    if event in TRAPS:
        return kind['vector'] in VECTORS
    return kind['vector'] == ('-' if event == 'pagefault_noregs' else 14)


def fits(kind, event, fields):
    """Whether this record can be of the kind."""
    for name in FIELDS[event].split():
        found = fields.get(name)
        if name == 'flags' and isinstance(found, int):
            found &= ~TRIED
        if kind[name] not in (found, '-'):
            return False
    if event in TRAPS:
        return True
    start, end = (int(address, 16) for address in kind['address'].split('-'))
    duration = fields.get('duration', event == 'pagefault_entry')
    return fields['address'] in range(start, end) and isinstance(duration, int) and duration > 0


def differences(raised, trace, events, only=VECTORS):
    """Where the number of an event in the lines TRACE is not the number that was raised, and
    how many were compared. ONLY is for a trace that leaves out other vectors."""
    wanted = {(name, event): kind['count'] for name, kind in raised.items() for event in events
              if is_of(kind, event) and (event in FAULTS or kind['vector'] in only)}
    found = collections.Counter()
    for event, text in records.events(trace):
        fields = values(text)
        for name, kind in raised.items():
            if (name, event) in wanted and fits(kind, event, fields):
                found[name, event] += 1
    return ['%s, %s: %d of %d' % (*key, found[key], number)
            for key, number in wanted.items() if found[key] != number], len(wanted)


def report(wrong, compared):
    print(*wrong, '%d of %d as raised' % (compared - len(wrong), compared), sep='\n')
    if wrong or not compared:
        sys.exit(1)


def counted(raised, trace, events, only=VECTORS):
    """That many of each of these events are in the file TRACE as raise.c says in RAISED."""
    report(*differences(kinds(raised), read(trace), events, only))


# The comparison must notice a missing event, one too many, and a wrong field
def counts_are_seen():
    raised, trace = kinds('switch/raised'), read('switch/set_event.trace')
    line = matching('switch/set_event.trace', r'trap_entry: vector=13\b')[0]
    less = trace[:]
    less.remove(line)
    other = [line.replace('error_code=0x0', 'error_code=0x8') if 'vector=13(' in line else line
             for line in trace]
    equal('of the trace', differences(raised, trace, ['trap_entry'])[0], [])
    for changed, number in (less, N - 1), (trace + [line], N + 1), (other, 0):
        equal('of a changed trace', differences(raised, changed, ['trap_entry'])[0],
              ['raise_gp, trap_entry: %d of %d' % (number, N)])


def filters():
    """A filter and its opposite together let through each record, and none twice. Where a
    field has more than one value, each of them lets some through."""
    def printed(name):
        return [text for found, text in records.events(read('filters/%s.trace' % name))
                if found == event]

    asked = [line.split(None, 2) for line in read('filters/filters')]
    equal('fields in filters', len(asked),
          sum(lines('filters/%s.format' % event, r'^\tfield:(?!.* common_).*[ *][a-z_]*;')
              for event in EVENTS))
    for path, field, text in asked:
        event = path.split('/')[1]
        of_noregs = event == 'pagefault_noregs'
        passed, stopped, every = map(printed, (field + '.in', field + '.out', 'all'))
        print('%s: %s: %d in, %d out' % (event, text, len(passed), len(stopped)))
        same(field, sorted(passed + stopped), sorted(every))
        operator, operand = text.split()[1:3] if ' ' in text else ('', '')
        if field == 'duration':
            # Of another run than the one that the limit is from
            equal('in, not above', [t for t in passed if values(t)[field] <= int(operand)], [])
            equal('out, above', [t for t in stopped if values(t)[field] > int(operand)], [])
            least('all', len(every), 4)
            continue
        if not of_noregs or field != 'vm_fault':
            least('in', len(passed), 1)
        if field != 'tgid' and not (of_noregs and field in ('flags', 'fault_flags', 'outcome')) \
                and not (event in TRAPS and field == 'user_mode'):
            least('out', len(stopped), 1)
        if operator == '==':
            wanted = records.value(operand)
            equal('in', [t for t in passed if values(t)[field] != wanted], [])
            equal('out', [t for t in stopped if values(t)[field] == wanted], [])


def snapshot_trigger():
    equal('#GP in the snapshot and behind it',
          sum(lines('triggers/' + file, r'trap_entry: vector=13\(')
              for file in ('snapshot', 'snapshot.trace')), N)


def hist(file):
    """The keys and values of each line of a histogram, one after another."""
    return [(*key.values(), *numbers.values()) for key, numbers in records.histogram(read(file))]


def hist_triggers():
    entry = hist('triggers/hist.entry')
    for number in VECTORS:
        equal('vector %d' % number, [line[1:] for line in entry if line[0] == number], [(1, N)])
    equal('by vector', entry, sorted(entry, key=lambda line: line[0]))
    # By count, and then by vector, downwards; and the sum of a field
    leave = hist('triggers/hist.exit')
    equal('by count and vector', leave, sorted(leave, key=lambda line: (-line[1], -line[0])))
    equal('sum of error_code of #DB', [line[2] for line in leave if line[0] == 1], [N * 0x4000])
    least('FAULT_FLAG_REMOTE', sum(line[1] for line in hist('triggers/hist.noregs')
                                   if line[0] == 0), N)


def log2_trigger():
    """~ 2^14 is from 8193 to 16384, here counted again from the trace of the same events."""
    faults = [values(text) for _, text in records.events(read('triggers/hist.trace'))]
    buckets = collections.Counter(max(fault['duration'] - 1, 0).bit_length()
                                  for fault in faults if fault['outcome'] == 'MINOR')
    least('buckets', len(buckets), 2)
    equal('histogram', [line for line in hist('triggers/hist.log2') if line[0] == 0],
          [(0, bucket, buckets[bucket]) for bucket in sorted(buckets)])


def one_process():
    pids = [matching('pids/' + file, '^pid ')[0].split()[1] for file in ('raised', 'other')]
    traced, other = (lines('pids/trace', r'[a-z]-%s +\[' % pid) for pid in pids)
    least('of the process', traced, 2 * N * len(VECTORS))
    equal('of another', other, 0)


def clock(name, hz):
    """It has all events in order. Those that know the time since the boot agree on it."""
    trace = [re.search(r'\[00\d\] \S* *([\d.]+): (trap_\w+): vector=(\d+)', line)
             for line in matching('clocks/' + name, ': trap_')]
    text = [line[1] for line in trace]
    times = list(map(float, text))
    print(name, times[:1], times[-1:])
    equal('events by ' + name, len(times), 2 * 2 * len(VECTORS))
    equal(name, times, sorted(times))
    # A tick of this one can be longer than all of it takes; it is compared below
    if name != 'uptime' and len(set(text)) < 2:
        sys.exit('%s stands still' % name)
    # The program raises the vectors in their order, each twice
    equal('events in order', [(line[2], int(line[3])) for line in trace],
          [(event, number) for number in VECTORS for _ in range(2) for event in TRAPS])
    if name in ('mono', 'boot'):
        start, end = map(float, read('clocks/proc.uptime'))
        equal('outside', [t for t in times if not start - 0.1 <= t <= end + 0.1], [])
    elif name == 'uptime':
        # Hundredths of a second by jiffies, of which the boot has lost some, and
        # which begin with INITIAL_JIFFIES
        start, end = ((int(jiffies) - (2 ** 32 - 300 * hz)) * 100 // hz
                      for jiffies in read('clocks/proc.jiffies'))
        equal('outside %d to %d' % (start, end), [t for t in times if not start <= t <= end], [])
    elif name in ('counter', 'x86-tsc'):
        equal('fractions', [word for word in text if '.' in word], [])
        equal('different', len(set(text)), len(text))
    elif name == 'tai':
        least('tai', min(times), 1e9)


def clocks():
    hz = int(read('clocks/hz')[0].split('=')[1])
    names = re.sub(r'[][]', '', ' '.join(read('clocks/clocks'))).split()
    for name in names:
        clock(name, hz)
    least('clocks', len(names), 9)


def system(event):
    return event.split('_')[0] + ':' + event


def perf_counts():
    def stat(file, event):
        return sum(int(line.split(',')[0]) for line in read('perf_tool/' + file)
                   if line.split(',')[2:3] == [system(event)])

    for file in 'stat', 'stat.gp', 'stat.sigbus':
        print(*read('perf_tool/' + file), sep='\n')
    equal('all traps', stat('stat', 'trap_entry'), N * len(VECTORS))
    equal('#GP', stat('stat.gp', 'trap_exit'), N)
    equal('SIGBUS', stat('stat.sigbus', 'pagefault_exit'), N)
    least('page faults', stat('stat', 'pagefault_entry'), N * 6)
    for family in 'trap', 'pagefault':
        equal('exits as entries', stat('stat', family + '_exit'), stat('stat', family + '_entry'))


def stacks_of(path):
    """The samples of perf script: an event, its fields, and the stack, from the innermost
    frame on, each as ADDRESS, NAME."""
    found = []
    for line in read(path):
        found += [(event, values(text), []) for event, text in records.events([line])]
        if re.match(r'\s+[0-9a-f]+ ', line):
            found[-1][2].append(tuple(line.split()[:2]))
    return found


def perf_stacks():
    """From main() to the very instruction, and on to the handler."""
    wanted, found = collections.Counter(), collections.Counter()
    raised = [kind for kind in kinds('perf_tool/raised').values() if kind['user_mode'] == 1]
    equal('kinds', len(raised), len(VECTORS) + 5)
    for kind in raised:
        family = 'pagefault' if kind['vector'] == 14 else 'trap'
        for event in family + '_entry', family + '_exit':
            wanted[event, '%x' % kind['ip'], kind['function']] += N
    for event, _, stack in stacks_of('perf_tool/stacks'):
        names = [name for _, name in stack]
        handler = [i for i, name in enumerate(names) if name.startswith('asm_exc_')]
        if handler and names[handler[0] + 2:handler[0] + 4] == ['raise_each', 'main']:
            found[(event, *stack[handler[0] + 1])] += 1
    for key, number in wanted.items():
        equal(key, found[key], number)


def perf_reports():
    for event in EVENTS:
        samples = [int(re.search(r'\d+', line)[0]) for line in
                   matching('perf_tool/report', "^# Samples: .* '%s'$" % system(event))]
        equal('samples of ' + event, samples, [lines('perf_tool/script', ' %s: ' % system(event))])


def perf_traces():
    """In words of its own, without fields that are 0."""
    trace = ['%s: vector=0 error_code=0 user_mode=0 %s' % (
        event, re.sub(r'(\w+): (\w+),?', r'\1=\2', text)) for event, text in re.findall(
            r' trap:(trap_\w+)\((.*)\)', '\n'.join(read('perf_tool/trace')))]
    report(*differences(kinds('perf_tool/trace.raised'), trace, TRAPS))


# A sample makes no event that makes a sample: what perf itself raises stays far below
def perf_does_not_loop():
    perf, raised = (lines('perf_tool/loop', '^ *%s ' % comm) for comm in ('perf', 'raise'))
    print('%d samples of perf, %d of raise' % (perf, raised))
    least('of raise', raised, 1500)
    least('less than half of it, of perf', raised // 2 - 1, perf)


def maps(path):
    """The maps that bpftrace prints: a number, of a histogram the sum of its buckets, by
    name with keys; and the lines of the stack that is a key."""
    numbers, stacks, name, stack = collections.Counter(), {}, '', []
    for line in read(path):
        begins = re.match(r'(@.*?)(: (-?\d+)|[:,] ?|)$', line)
        bucket = re.match(r'\[[^)\]]*[)\]] +(\d+) ', line)
        if begins:
            name, stack = begins[1], []
            if begins[3]:
                numbers[name] = int(begins[3])
        elif bucket:
            numbers[name] += int(bucket[1])
        elif line.startswith(']: '):
            stacks[name] = stack
            numbers[name] = int(line[3:])
        else:
            stack += line.split()[:1]
    return numbers, stacks


def bpftrace_maps():
    numbers, _ = maps('bpf_trace/all')
    for number in VECTORS:
        equal('@vector[%d]' % number, numbers['@vector[%d]' % number], N)
        equal('@ns[%d]' % number, numbers['@ns[%d]' % number], N)
        code = {1: 0x4000, 11: 4, 12: 4}.get(number, 0)
        equal('@raw[%d]' % number, {name: times for name, times in numbers.items()
              if name.startswith('@raw[%d,' % number)}, {'@raw[%d, %d]' % (number, code): N})
    for signal in '7, 2', '11, 1', '11, 2':
        equal(signal, numbers['@signal[%s]' % signal], N)
    equal('of a vector that was not raised', numbers.get('@none'), 0)


def leads_to_main(program, stack, kind):
    """The user's stack begins at the instruction, and leads to main(). The addresses are
    those of the file, which is not relocated."""
    print(*stack, sep='\n')
    equal('first frame', int(stack[0], 0), kind['ip'])
    found = subprocess.check_output(['addr2line', '-f', '-e', program, *stack], text=True)
    equal('functions', found.splitlines()[::2], [kind['function'], 'raise_each', 'main'])


def bpftrace_stacks():
    _, stacks = maps('bpf_trace/all')
    raised = {kind['vector']: kind for kind in kinds('bpf_trace/all').values()}
    for number in VECTORS:
        leads_to_main('../raise', *[(stack, raised[number]) for name, stack in stacks.items()
                                    if name.startswith('@user[%d,' % number)][0])
    kernel = [stack for name, stack in stacks.items() if name.startswith('@kernel[6')][0]
    print(*kernel, sep='\n')
    for name in 'exc_invalid_op+', 'asm_exc_invalid_op+':
        least(name, sum(frame.startswith(name) for frame in kernel), 1)


def libbpf_shows():
    report(*differences(kinds('libbpf/all'), matching('libbpf/all', '^(?!argument )'), EVENTS))


# The same of the tracepoints' argument
def libbpf_arguments():
    report(*differences(kinds('libbpf/all'), matching('libbpf/all', '^argument '), FAULTS))


# The recipes of the documentation, each a function of its name, and lines in the table. It
# gets the file with all that the recipe and raise.c printed, what that raised, and raise.c
def trap_count(file, raised, program):
    found = collections.Counter()
    for task, number, user_mode, times in hist(file):
        if task.split()[0] == 'raise' and user_mode == 1:
            found[number] += times
    equal('vectors', {number: found[number] for number in VECTORS}, dict.fromkeys(VECTORS, N))


def trap_where(file, raised, program):
    equal('#GP', [(number, str(ip), times) for task, number, ip, times in hist(file)
                  if task.split()[0] == 'raise'], [(13, '%x' % raised['raise_gp']['ip'], N)])


def trap_bpftrace_divide(file, raised, program):
    numbers, stacks = maps(file)
    name = [name for name in stacks if name.startswith('@[raise')][0]
    leads_to_main(program, stacks[name][:3], raised['raise_de'])
    equal('times', numbers[name], N)


def trap_bpftrace_latency(file, raised, program):
    numbers, _ = maps(file)
    for number in VECTORS:
        equal('vector %d' % number, numbers['@ns[%d]' % number], N)


def histogram(file, raised, program):
    found = collections.Counter()
    for outcome, _, times in hist(file):
        found[records.OUTCOMES[outcome]] += times
    for kind in raised.values():
        if is_of(kind, 'pagefault_exit'):
            found[kind['outcome']] -= kind['count']
    print(found)
    least('more than raised', min(found.values()), 0)


def slowest(file, raised, program):
    found = matching(file, r'^\d+ +\S.*: pagefault_exit: address=0x.* outcome=[A-Z]+ .* duration=\d+ns$')
    every = [values(line)['duration'] for line in matching('slowest.trace', 'pagefault_exit: ')]
    least('exits', len(every), 10)
    least('shortest', min(every), 100001)
    equal('slowest', [int(line.split()[0]) for line in found], sorted(every)[:-11:-1])


def major_perf(file, raised, program):
    """Of raise.c, and of the program itself, which is in a file as well."""
    cold = raised['read_file']
    stacks = [[name for _, name in stack] for event, fields, stack in stacks_of(file)
              if event == 'pagefault_exit' and fits(cold, event, fields)]
    equal('from main() to raise_read()', sum('main' in stack and 'raise_read' in stack
                                             for stack in stacks), cold['count'])
    equal('others', lines(file, 'pagefault_exit: (?!.*outcome=MAJOR)'), 0)


def cow(file, raised, program):
    of_raise = [line[1:] for line in hist(file) if line[0].split()[0] == 'raise']
    least('COW', sum(times for times, _ in of_raise), raised['copy_page']['count'])
    least('ns', sum(duration for _, duration in of_raise), 1000)


def signals(file, raised, program):
    raised = {name: kind for name, kind in raised.items() if kind.get('signo')}
    report(*differences(raised, read(file), ['pagefault_exit']))
    equal('in all', lines(file, 'pagefault_exit: '), sum(kind['count'] for kind in raised.values()))


def nothing_left(*names):
    for name in names:
        same(name, read(name + '.after'), read(name + '.before'))


def recipe(name, program=None):
    """It succeeds, prints what it must and, without those of other tools, no error."""
    output, errors = read(name + '.out'), read(name + '.err')
    with open(name + '.all', 'w') as f:
        f.write('\n'.join(output + errors) + '\n')
    print(*(output + errors)[-5:], sep='\n')
    equal('status', output[-1], 'status 0')
    if not name.startswith('trap-'):
        equal('errors', errors, [])
        nothing_left(name)
    check(name, name + '.all', kinds(name + '.all'), program)


def extract(document):
    """Write each recipe of the document to a file of its name, and print the names."""
    with open(document) as f:
        blocks = re.findall(r'\t:name: recipe-(?:pagefault-)?(\S+)\n((?:\t.*\n|\n)*)', f.read())
    for name, text in blocks:
        with open(name + '.sh', 'w') as f:
            f.write(re.sub('(?m)^\t', '', text))
        print(name)
    least('recipes', len(blocks), 1)


def no_other_recipes(*names):
    equal('without a check', [name for name in os.listdir()
                              if name.endswith('.sh') and name[:-3] not in names], [])


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


def rows(check):
    """The rows of the table for a check, as words, with its placeholders filled in."""
    for row in TABLE.splitlines():
        if row.split(' ')[0] == check:
            row = row.replace(' N ', ' %d ' % N, 1)
            for place, words in (('{vector}', VECTORS), ('{first}', VECTORS[:-2]),
                                 ('{event}', EVENTS)):
                if place in row:
                    yield from (row.replace(place, str(word)).split(' ', 3) for word in words)
                    break
            else:
                yield row.split(' ', 3)


def check(name, *words):
    function = globals().get(name.replace('-', '_'))
    known = list(rows(name))
    if not function and not known:
        sys.exit('there is no check ' + name)
    for _, how, file, *rest in known:
        what = ''.join(rest)
        print(how, file, what)
        if how == '=':
            equal(file, ' '.join(read(file)), what)
        elif how == 'raised':
            raised, *events = what.split()
            counted(raised, file, [event for event in EVENTS if 'all' in events or
                                   event in events or event.split('_')[0] in events],
                    [0] if 'of=0' in events else VECTORS)
        elif how.endswith('+'):
            least(what, lines(file, what), int(how[:-1]))
        else:
            equal(what, lines(file, what), int(how))
    if function:
        function(*words)


if __name__ == '__main__':
    os.chdir(sys.argv[2])
    check(sys.argv[1], *sys.argv[3:])
