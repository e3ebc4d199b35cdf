# SPDX-License-Identifier: MIT
"""Runs one corpus program under the recorder and compares the reports with the declaration that the program prints."""

import json
import os
import pathlib
import shutil

from recorded_run import RecordedRun, cli, sim_python

FOLDER = pathlib.Path(__file__).resolve().parent

# A rate may differ from the declared rate by this part. It depends on the `sizes` of truth.leak().
RATE_TOLERANCES = {'equal': 0.01, 'varying': 0.05, 'doubling': 0.10}
# The default of `check`.
MIN_CONFIDENCE = 0.5
# Reports sample at most this many steps of a series, evenly spaced.
SAMPLES = 256


def programs():
    """Returns the paths of all corpus programs, sorted by name."""
    return sorted(path for kind in ('healthy', 'leaking') for path in (FOLDER / kind).rglob('*.py'))


def own(leak):
    """Returns file and line of the program that a finding names."""
    frame = leak['stack'][leak['own_frame']] if leak['stack'] else {}
    return os.path.basename(frame.get('file') or ''), frame.get('line')


def steps_of(leak):
    """Returns how many steps the recording has of the kind that the finding counts."""
    return leak['attribution'][-1]['last_step'] + 1 if leak['attribution'] else 0


def is_doubted(leak):
    """Returns whether the report says that the line is probably no leak. `check` then does not judge it."""
    return leak['confidence'] is not None and leak['confidence'] < MIN_CONFIDENCE


def is_near(value, wanted, tolerance):
    """Returns whether a rate is within the tolerance. One byte per step more is allowed for rounding."""
    return abs(value - wanted) <= tolerance * abs(wanted) + 1


class Verdict:
    """One program: its declaration (`truth`), the reports of the tool, and the errors in the reports.

    `accused`, `missed`, `rates` and `others` are lists of sentences. `wrong` has all of them.
    `doubted` has lines that do not leak, and which the report names with so much doubt that `check` does not fail.
    `deviations` has (sizes, relative deviation of the rate) of each leak that the tool finds.
    `grounds` has (ground, whether the line leaks) of each growth that the tool reports.
    """

    def __init__(self, path, keep=None, kept=None, options=None, also=None):
        """Writes the recording and the declaration into the folder `keep`. If `kept` is set, judges those of an earlier run instead.

        `options` are the recorder's options. Calls `also(verdict, file)` after it has judged the recording `file`.
        """
        path = pathlib.Path(path).resolve()
        self.name = str(path.relative_to(FOLDER) if path.is_relative_to(FOLDER) else path)
        self.accused, self.doubted, self.missed, self.rates, self.others = [], [], [], [], []
        self.truth, self.said, self.deviations, self.grounds, self.compactions = {'leaks': []}, {}, [], [], {}
        self.also = also
        stem = self.name.strip('/').removesuffix('.py').replace('/', '-')
        if kept:
            if not os.path.exists(os.path.join(kept, f'{stem}.json')):
                self.others.append('the program failed: no recording was kept')
                return
            self.truth = json.loads(pathlib.Path(kept, f'{stem}.json').read_text())
            self.judge(os.path.join(kept, f'{stem}.gmt.gz'))
            return
        command, libraries = sim_python(str(path))
        run = RecordedRun(command, options, {'PYTHONPATH': str(FOLDER)}, libraries=libraries)
        if run.code:
            self.others.append(f'the program failed: {"".join(run.err.strip().splitlines()[-1:])}')
            return
        self.truth = json.loads(run.out.splitlines()[-1])
        file = max(run.files, key=os.path.getsize)
        if keep:
            shutil.copy(file, os.path.join(keep, f'{stem}.gmt.gz'))
            pathlib.Path(keep, f'{stem}.json').write_text(json.dumps(self.truth))
        self.judge(file)
        shutil.rmtree(run.folder, ignore_errors=True)

    def judge(self, file):
        said = cli('leaks', '--json', file)
        if said.returncode:
            self.others.append(f'leaks: {said.stderr.strip()}')
            return
        self.said = json.loads(said.stdout)
        wanted = self.truth['leaks']
        lines = {(leak['file'], leak['line']) for leak in wanted}
        named = [
            (leak, f'{leak["definition"]} at {":".join(map(str, own(leak)))}')
            for leak in self.said['leaks']
            if own(leak) not in lines
        ]
        self.accused = [text for leak, text in named if not is_doubted(leak)]
        self.doubted = [text for leak, text in named if is_doubted(leak)]
        self.grounds = [(leak['ground'], own(leak) in lines) for leak in self.said['leaks'] if leak['ground']]
        for leak in wanted:
            self.compare(leak)
        if self.truth.get('steps_must_match'):
            steps = len(json.loads(cli('report', '--json', file).stdout)['steps'])
            if steps != self.truth['steps']:
                self.others.append(f'{steps} steps, not {self.truth["steps"]}')
        status = cli('check', file).returncode
        # A wrong finding causes a wrong exit code. Both count as one error.
        if status != (1 if wanted else 0) and not self.accused and not self.missed:
            self.others.append(f'check exits with {status}')
        if self.also:
            self.also(self, file)

    def compare(self, wanted):
        found = [leak for leak in self.said['leaks'] if own(leak) == (wanted['file'], wanted['line'])]
        if not found:
            self.missed.append(f'{wanted["file"]}:{wanted["line"]}')
            return
        rate = sum(leak['bytes_per_step'] or 0 for leak in found)
        # A step of the report may be a module call, or several steps of the program. Then this compares the bytes of all steps.
        in_all = sum((leak['bytes_per_step'] or 0) * steps_of(leak) for leak in found) / self.truth['steps']
        if abs(in_all - wanted['bytes_per_step']) < abs(rate - wanted['bytes_per_step']):
            rate = in_all
        self.deviations.append((wanted['sizes'], rate / wanted['bytes_per_step'] - 1))
        if not is_near(rate, wanted['bytes_per_step'], RATE_TOLERANCES[wanted['sizes']]):
            self.rates.append(f'{rate:.0f} bytes a step, not {wanted["bytes_per_step"]:.0f}')
        # Only late leaks have a declared first step. A cache may fill before or after the first step.
        if wanted['first_step']:
            begins = min((leak['first_step'] for leak in found if leak['first_step'] is not None), default=None)
            margin = -(-self.truth['steps'] // SAMPLES)
            if begins is None or abs(begins - wanted['first_step']) > margin:
                self.others.append(f'begins in step {begins}, not {wanted["first_step"]}')

    @property
    def is_leaking(self):
        return bool(self.truth['leaks']) or self.name.startswith('leaking/')

    @property
    def is_judged(self):
        """Returns whether the report judges growth. If it does not, the lack of findings proves little."""
        return bool(self.said) and self.said['growth_not_judged'] is None

    @property
    def wrong(self):
        return [
            f'{kind}: {text}'
            for kind, texts in (('accused', self.accused), ('missed', self.missed), ('rate', self.rates))
            for text in texts
        ] + self.others
