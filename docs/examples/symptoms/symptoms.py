#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the cases of docs/symptoms on the simulated device and prints the output of the tool for them.

usage: symptoms.py BUILD_DIR [--update] [BLOCK...]

Prints the named blocks, or all of them. --update writes each block into its page, between a comment
`<!-- block: NAME -->` and the end of the fenced lines below it.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

import cases

ROOT = pathlib.Path(__file__).resolve().parents[3]
INDEX = ROOT / 'docs' / 'symptoms.md'
PAGES = sorted((ROOT / 'docs' / 'symptoms').glob('*.md'))  # one for each symptom
BLOCK = re.compile(r'<!-- block: (?P<name>[a-z-]+) -->\n```\n(?P<text>.*?)^```\n', re.DOTALL | re.MULTILINE)


def run_recorded(command, file, **how):
    """Runs a command that records to `file`. Repeats it a few times if PyTorch aborts at its end (docs/internals/testing.md)."""
    for _ in range(4):
        file.unlink(missing_ok=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
        if 'terminate called without an active exception' not in done.stderr:
            break
    return done


class Recordings:
    """The recordings of the cases, in a folder, and the output of the tool for them."""

    def __init__(self, build, folder):
        self.cli = pathlib.Path(build).resolve() / 'tools' / 'gpumemtrace'
        self.folder = pathlib.Path(folder)
        # Finds Python first, so that the recording does not contain the shell.
        find = [ROOT / 'scripts' / 'sim-python', pathlib.Path(build).resolve(), '-c',
                'import os, sys; print(sys.executable, os.environ["LD_LIBRARY_PATH"], sep="\\n")']
        self.python, self.libraries = subprocess.run(
            find, capture_output=True, text=True, check=True).stdout.splitlines()

    def record(self, name):
        script, arguments, environment = cases.RECORDINGS[name]
        path = ROOT / script
        is_run = name not in cases.WITHOUT_RUN
        variables = {**os.environ, 'GPUMEMTRACE_OPTIONS': '', 'PYTHONPATH': str(ROOT / 'tests' / 'torch' / 'programs'),
                     'TORCH_EXTENSIONS_DIR': str(self.folder), **environment}
        variables['LD_LIBRARY_PATH'] = self.libraries
        rank = '.r' + environment['RANK'] if 'RANK' in environment else ''
        output = self.folder / (name.removesuffix(rank) + '.gmt.gz')
        if not is_run:
            library = subprocess.run([self.cli, 'env', '--path'], capture_output=True, text=True, check=True).stdout
            variables.update(LD_PRELOAD=library.strip(), GPUMEMTRACE_OPTIONS=f'output={output}')
        words = [self.cli, 'run', '-q', '-o', output, '--'] if is_run else []
        done = run_recorded([*words, self.python, path.name, *arguments],
                            self.folder / f'{name}.gmt.gz', env=variables, cwd=path.parent, timeout=600)
        if not (self.folder / f'{name}.gmt.gz').exists():
            raise RuntimeError(f'{name} was not recorded: {done.stderr}')

    def record_for(self, blocks):
        wanted = [name for name in cases.RECORDINGS if name not in cases.WITHOUT_RUN
                  and any(uses(block, name) for block in blocks)]
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(self.record, wanted))

    def block(self, name):
        """Returns what a page shows: commands and the kept lines of their output."""
        text = []
        # `recover` changes such a recording, so each block records it again.
        for recording in cases.WITHOUT_RUN:
            if uses(name, recording):
                self.record(recording)
        for command, kept in cases.BLOCKS[name]:
            done = subprocess.run([self.cli, *shlex.split(command)], cwd=self.folder, capture_output=True, text=True,
                                  timeout=300)
            if done.returncode not in (0, 1):
                raise RuntimeError(f'{command}: {done.stderr}')
            # A message may be longer than a line of a page.
            messages = ['\n  '.join(textwrap.wrap(line, 110)) for line in done.stderr.splitlines()]
            text += [f'$ gpumemtrace {command}', *shorten([*messages, *done.stdout.splitlines()], kept, command)]
        return ''.join(line + '\n' for line in text)


def uses(block, recording):
    """Returns whether a command of the block reads the recording."""
    return any(f'{recording}.gmt.gz' in shlex.split(command) for command, _ in cases.BLOCKS[block])


def shorten(lines, kept, command):
    """Returns the lines to keep, with […] in place of omitted lines between them."""
    shown, at = [], 0
    for begin, end in kept:
        first = next((i for i in range(at, len(lines)) if lines[i].startswith(begin)), None)
        if first is None:
            raise RuntimeError(f'{command}: no line begins with {begin!r}')
        after = first + 1
        while end is not None and after < len(lines) and not (lines[after].startswith(end) if end else not lines[after]):
            after += 1
        if shown and any(lines[at:first]):
            shown.append('[…]')
        shown += lines[first:after]
        at = after
    return shown


def written(name, text):
    return f'<!-- block: {name} -->\n```\n{text}```\n'


def main():
    build, *rest = sys.argv[1:] or sys.exit(__doc__)
    names = [name for name in rest if name != '--update'] or list(cases.BLOCKS)
    with tempfile.TemporaryDirectory(prefix='gpumemtrace-symptoms.') as folder:
        recordings = Recordings(build, folder)
        recordings.record_for(names)
        blocks = {name: recordings.block(name) for name in names}
    if '--update' not in rest:
        for name, text in blocks.items():
            print(written(name, text))
        return
    for page in PAGES:
        page.write_text(BLOCK.sub(lambda found: written(found['name'], blocks.get(found['name'], found['text'])),
                                  page.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main()
