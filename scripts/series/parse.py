#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the scripts read of MAINTAINERS and of conflicts.

parse.py add SNIPPET FILES: MAINTAINERS, which is stdin, with the sections of SNIPPET, as far
as FILES has files that their patterns match.
parse.py places PATCH FILE: the hunks of PATCH that conflict, by git diff of FILE on stdin."""
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


def hunks_of(patch, file):
    """The first line, the last one and the name of each hunk of FILE, after the patch."""
    in_file = False
    for line in patch:
        if line.startswith('diff --git '):
            in_file = line == 'diff --git a/%s b/%s' % (file, file)
        hunk = re.match(r'@@ \S+ \+(\d+)(?:,(\d+))? @@ *(.*)', line)
        if in_file and hunk:
            first = int(hunk[1])
            yield first, first + int(hunk[2] or 1) - 1, hunk[3]


def places(patch, file, conflicts):
    """git diff shows the lines of both sides of a conflict. The second one is the
    file as the patch has it, on its own base. So its lines are those of the hunks."""
    hunks = list(hunks_of(patch, file))
    line = begin = 0
    found = set()
    for text in conflicts:
        head = re.match(r'@@@ \S+ -(\d+)', text)
        if head:
            line = int(head[1])
        elif text.startswith('++======='):
            begin = line
        elif text.startswith('++>>>>>>> '):
            found |= {n for n, (first, last, _) in enumerate(hunks, 1)
                      if begin <= last and line >= first}
        elif re.match(r'.-|[^-] ', text):
            line += 1
    return ['%s: hunk %d of %d%s%s' % (file, n, len(hunks), name and ', ', name)
            for n, (_, _, name) in enumerate(hunks, 1) if n in found]


def text_of(file):
    with open(file, errors='surrogateescape') as stream:
        return stream.read()


def main(what, *words):
    texts = [text_of(word) for word in words[:1]]
    if what == 'add':
        print(add(sys.stdin.read(), *texts, words[1].split('\n')), end='')
    elif what == 'places':
        found = places(texts[0].split('\n'), words[1], sys.stdin.read().split('\n'))
        sys.stdout.writelines(place + '\n' for place in found)


if __name__ == '__main__':
    main(*sys.argv[1:])
