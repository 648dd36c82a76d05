#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the scripts of series/ and the part releases read of commits, MAINTAINERS and conflicts.

parse.py entries ENTRIES COMMITS: which entry each commit belongs to, as lines "COMMIT ENTRY".
The files have lines "ENTRY SUBJECT" and "COMMIT SUBJECT", with a tab between.
parse.py add SNIPPET FILES: MAINTAINERS, which is stdin, with the sections of SNIPPET, as far
as FILES has files that their patterns match.
parse.py take SNIPPET IDENTITY NEW OLD: SNIPPET with the sections as they are in NEW. The titles
of those that only OLD has go to stderr.
parse.py places PATCH FILE: the hunks of PATCH that conflict, by git diff of FILE on stdin."""
import fnmatch
import re
import sys


def entries(known, commits):
    """Pairs of a commit and its entry. KNOWN has pairs of an entry and its subject, COMMITS of
    a commit and its subject. Entries without a commit come last."""
    of, left = {}, dict(known)
    for commit, subject in commits:
        of[commit] = next((name for name in left if left[name] == subject), None)
        left.pop(of[commit], None)
    # As many on both sides: the subjects have changed
    in_order = iter(left if list(of.values()).count(None) == len(left) else ())
    names, series = {name for name, _ in known}, known[0][0].split('/')[0]
    for commit, subject in commits:
        if not of[commit]:
            slug = re.sub('[^a-z0-9]+', '-', subject.lower()).removeprefix('-')[:40]
            new = '%s/%s' % (series, slug.removesuffix('-'))
            of[commit] = next(in_order, None) or next(
                name for name in (new, *('%s-%d' % (new, n) for n in range(2, len(names) + 3)))
                if name not in names)
            names.add(of[commit])
        series = of[commit].split('/')[0]
    return list(of.items()) + [('-', name) for name in left if name not in of.values()]


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


def take(snippet, identity, new, old):
    """The new snippet, and the titles that are gone."""
    new, old, took, gone = sections(new), sections(old), [], []
    for title, section in sections(snippet).items():
        if title in new:
            section = new[title].replace(identity, '@IDENTITY@')
        elif title in old:
            gone.append(title)
        took.append(section)
    return ''.join(re.findall('(?m)^#.*\n', snippet)) + '\n\n'.join(took) + '\n', gone


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
    if what == 'entries':
        pairs = ([line.split('\t') for line in text_of(word).splitlines()] for word in words)
        for pair in entries(*pairs):
            print(*pair)
    elif what == 'add':
        print(add(sys.stdin.read(), *texts, words[1].split('\n')), end='')
    elif what == 'take':
        took, gone = take(*texts, words[1], text_of(words[2]), text_of(words[3]))
        print(took, end='')
        sys.stderr.writelines(title + '\n' for title in gone)
    elif what == 'places':
        found = places(texts[0].split('\n'), words[1], sys.stdin.read().split('\n'))
        sys.stdout.writelines(place + '\n' for place in found)


if __name__ == '__main__':
    main(*sys.argv[1:])
