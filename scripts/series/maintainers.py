#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""maintainers.py SNIPPET FILES: MAINTAINERS, which is stdin, with the sections of SNIPPET, as far
as FILES has files that their patterns match."""
import fnmatch
import re
import sys


def sections(text):
    """The sections, with their titles, but no comments."""
    text = re.sub('(?m)^#.*\n', '', text)
    return {section.split('\n')[0]: section for section in re.split('\n\n+', text.strip('\n'))}


def add(maintainers, snippet, files):
    lines = maintainers.split('\n')
    for title, section in sections(snippet).items():
        kept = [line for line in section.split('\n') if not line.startswith('F:') or
                fnmatch.filter(files, line[3:] + '*')]
        if not any(line.startswith('F:') for line in kept):
            continue
        for place in range(lines.index('Maintainers List') + 1, len(lines)):
            if (not lines[place - 1] and re.match('(?![A-Z]:\t)[0-9A-Z]', lines[place]) and
                    lines[place] > title):
                break
        else:
            place = len(lines)
        lines[place:place] = kept + ['']
    return '\n'.join(lines)


if __name__ == '__main__':
    with open(sys.argv[1], errors='surrogateescape') as snippet:
        print(add(sys.stdin.read(), snippet.read(), sys.argv[2].split('\n')), end='')
