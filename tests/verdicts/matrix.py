#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""matrix.py [--jobs N] [--keep FOLDER] [--markdown] [PROGRAM...]: what the tool says of programs whose verdict is known.

Needs GMT_TEST_BUILD and GMT_TEST_SIM_PYTHON, as tests do. Exits with 1 when a verdict is wrong.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

from snapshots import CLI, Recording, cli, sim_python  # noqa: E402

RATE_TOLERANCE = 0.01


def programs():
    return sorted(path for kind in ('healthy', 'leaking') for path in (FOLDER / kind).rglob('*.py'))


def own(leak):
    frame = leak['stack'][leak['own_frame']] if leak['stack'] else {}
    return os.path.basename(frame.get('file') or ''), frame.get('line')


def is_near(value, wanted):
    return value is not None and abs(value - wanted) <= RATE_TOLERANCE * abs(wanted) + 1


class Verdict:
    """One program: its truth, what was said, and what of that is wrong."""

    def __init__(self, path, keep=None):
        self.path = path
        self.name = str(path.relative_to(FOLDER) if path.is_relative_to(FOLDER) else path)
        command, libraries = sim_python(str(path))
        run = Recording(command, None, {'PYTHONPATH': str(FOLDER)}, libraries=libraries)
        self.wrong = []
        if run.code:
            self.wrong.append(f'the program failed: {run.err.strip().splitlines()[-1:]}')
            self.truth, self.leaks, self.exit, self.file = {'leaks': []}, [], None, None
            return
        self.truth = json.loads(run.out.splitlines()[-1])
        self.file = max(run.files, key=os.path.getsize)
        if keep:
            shutil.copy(self.file, os.path.join(keep, self.name.strip('/').removesuffix('.py').replace('/', '-') + '.gmt.gz'))
        self.judge(self.file)

    def judge(self, file):
        said = cli('leaks', '--json', file)
        self.said = json.loads(said.stdout) if said.returncode == 0 else {}
        self.leaks = self.said.get('leaks', [])
        gate = cli('check', file)
        self.exit = gate.returncode
        wanted = self.truth['leaks']
        if said.returncode:
            self.wrong.append(f'leaks: {said.stderr.strip()}')
        if not wanted:
            self.wrong += [f'accused: {leak["definition"]} {":".join(map(str, own(leak)))}' for leak in self.leaks]
        for leak in wanted:
            self.compare(leak)
        lines = {(leak['file'], leak['line']) for leak in wanted}
        if wanted:
            self.wrong += [f'accused: {leak["definition"]} {":".join(map(str, own(leak)))}' for leak in self.leaks
                           if own(leak) not in lines]
        if self.exit != (1 if wanted else 0):
            self.wrong.append(f'check exits with {self.exit}')

    def compare(self, wanted):
        found = [leak for leak in self.leaks if own(leak) == (wanted['file'], wanted['line'])]
        if not found:
            self.wrong.append(f'missed: {wanted["file"]}:{wanted["line"]}')
            return
        rate = sum(leak['bytes_per_step'] or 0 for leak in found)
        if wanted['bytes_per_step'] is not None and not is_near(rate, wanted['bytes_per_step']):
            self.wrong.append(f'rate {rate:.0f}, not {wanted["bytes_per_step"]:.0f}')

    @property
    def is_accusation(self):
        return any(text.startswith('accused') for text in self.wrong)

    @property
    def is_miss(self):
        return any(text.startswith('missed') for text in self.wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--keep', help='a folder for the recordings')
    parser.add_argument('programs', nargs='*')
    asked = parser.parse_args()
    chosen = [FOLDER / name if (FOLDER / name).exists() else pathlib.Path(name) for name in asked.programs] or programs()
    assert os.path.exists(CLI), CLI
    if asked.keep:
        os.makedirs(asked.keep, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        verdicts = []
        for verdict in pool.map(lambda path: Verdict(path.resolve(), asked.keep), chosen):
            verdicts.append(verdict)
            print(f'{"wrong" if verdict.wrong else "right"}  {verdict.name}  {"; ".join(verdict.wrong)}', flush=True)
    wrong = [verdict for verdict in verdicts if verdict.wrong]
    print(f'{len(verdicts)} programs: {len(verdicts) - len(wrong)} right, '
          f'{sum(verdict.is_accusation for verdict in verdicts)} with a wrong accusation, '
          f'{sum(verdict.is_miss for verdict in verdicts)} with a leak that was missed')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
