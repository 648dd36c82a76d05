#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Compares the results of the kernel's ftracetest with those on the base.

ftracetest.py tests FOLDER NAMES: the tests of FOLDER in the files and folders NAMES, in the
order in which ftracetest runs them.
ftracetest.py results FOLDER NAMES JOB...: a line "TEST RESULT..." for each of these tests,
from JOB/N.out. JOB/N.test has the name of the file or folder that was run.
ftracetest.py again BASE HERE: the files whose result differs from the base or is missing.
ftracetest.py verdicts BASE HERE BASE-ALONE HERE-ALONE: a line "VERDICT TEST WORDS" for each
test, by the results of both, and by those of the tests that ran again, alone."""
import pathlib
import re
import sys

INSTANCE = ' (instance)'


def tests_of(folder, names):
    folder, files = pathlib.Path(folder), []
    for name in names.split():
        found = folder / name
        files += sorted(found.rglob('*.tc') if found.is_dir() else [found], key=str)
    tests = [str(file.relative_to(folder)) for file in files]
    return tests + [test + INSTANCE for test, file in zip(tests, files)
                    if re.search(r'(?m)^#\s*flags:.*instance', file.read_text())]


def results_in(output):
    """The results of the tests, by their number from 1."""
    return {int(number): result for number, result in
            re.findall(r'(?m)^\[(\d+)\].*\t\[([A-Z]+)\]$', output)}


def results(folder, names, *jobs):
    of = {test: [] for test in tests_of(folder, names)}
    for job in map(pathlib.Path, jobs):
        for output in sorted(job.glob('*.out'), key=lambda file: int(file.stem)):
            tests = tests_of(folder, output.with_suffix('.test').read_text())
            for number, result in results_in(output.read_text(errors='replace')).items():
                of[tests[number - 1]].append(result)
    for test, found in of.items():
        print(test, ' '.join(found) or 'nothing', sep='\t')
    return any(of.values())


def again(base, here):
    base = read(base)
    for file in sorted({test.removesuffix(INSTANCE) for test, found in read(here).items()
                        if not found or found != base[test]}):
        print(file)
    return True


def verdict(base, here, base_alone, here_alone):
    """'pass', 'skip' or 'fail', what follows the name of the test, and why."""
    if base == here and here:
        if here[0] in ('PASS', 'XFAIL'):
            return 'pass', '', ''
        too = here[0] + ' without the series, too'
        return ('pass', ' (%s)' % too, '') if here[0] == 'FAIL' else ('skip', '', too)
    said = '%s, and alone: %s (without the series %s, and alone: %s)' % tuple(
        ' '.join(found) or 'nothing' for found in (here, here_alone, base, base_alone))
    there, now = base_alone + base, here_alone + here
    most = max(there, key=lambda result: (there.count(result), result), default='')
    if len(here_alone) == 3 and 2 * now.count(most) >= len(now) and set(now) <= set(there):
        return 'pass', ' (varies without the series, too)' if len(set(there)) > 1 else '', said
    return 'fail', '', said


def verdicts(*files):
    base, here, base_alone, here_alone = map(read, files)
    for test in sorted(here):
        what, more, said = verdict(base[test], here[test], base_alone.get(test, []),
                                   here_alone.get(test, []))
        print(what, test + more, said, sep='\t')
    return True


def read(file):
    lines = (line.split('\t') for line in pathlib.Path(file).read_text().splitlines())
    return {test: found.replace('nothing', '').split() for test, found in lines}


def main(what, *words):
    if what == 'tests':
        print('\n'.join(tests_of(*words)))
    else:
        sys.exit(not {'results': results, 'again': again, 'verdicts': verdicts}[what](*words))


if __name__ == '__main__':
    main(*sys.argv[1:])
