# SPDX-License-Identifier: MIT
"""Folds a recording in several ways and compares the findings for each fold with those for the whole recording."""

import json
import os
import tempfile

from recorded_run import cli
from verdict import SAMPLES, own

# The rate in a fold may differ from the rate in the whole recording by this part.
RATE_TOLERANCE = 0.01
# Each way is a list of successive folds, each with its options.
WAYS = {
    'all': [[]],
    'keep-steps': [['--keep-steps=7']],
    'keep-events': [['--keep-events=300']],
    'keep-seconds': [['--keep-seconds=1']],
    'fold of a fold': [['--keep-steps=30'], ['--keep-events=200'], []],
}


def fold(path, ways, folder):
    """Folds a recording with each of `ways` in turn and returns the path of the result."""
    for number, options in enumerate(ways):
        folded = os.path.join(folder, f'fold-{number}.gmt.gz')
        done = cli('fold', '--force', path, '-o', folded, *options)
        if done.returncode:
            raise AssertionError(f'fold {options}: {done.stderr}')
        path = folded
    return path


class Said:
    """The output of `leaks` and `check` for a recording."""

    def __init__(self, path):
        self.said = json.loads(cli('leaks', '--json', path).stdout)
        self.status = cli('check', path).returncode
        self.strict = cli('check', '--strict', path).returncode
        self.lines = {}
        for leak in self.said['leaks']:
            self.lines.setdefault((leak['definition'], leak['layer'], leak['phase'], *own(leak)), []).append(leak)

    def why_not(self):
        """Returns why the tool did not judge something, or None if it judged everything."""
        return self.said['growth_not_judged'] or self.said['phases_not_judged'] or self.said['end_not_judged']


def differences(whole, folded, steps):
    """Returns as sentences how the findings for a fold differ from those for the whole recording, which has `steps` steps."""
    # A fold has at least half as many samples as the whole recording.
    tolerance = 2 * -(-steps // SAMPLES)
    found = [f'also {key}' for key in folded.lines.keys() - whole.lines.keys()]
    # A fold may lack findings that it does not judge. The first definition that fits reports a line: `exit` if growth is not judged.
    if folded.why_not() and not whole.why_not():
        lines = {key[-2:] for key in whole.lines}
        found = [
            f'also {key}'
            for key in folded.lines.keys() - whole.lines.keys()
            if key[0] != 'exit' or key[-2:] not in lines
        ]
        return found + ([] if folded.strict else ['check --strict passes what was not judged'])
    found += [f'lacks {key}' for key in whole.lines.keys() - folded.lines.keys()]
    if folded.status != whole.status:
        found.append(f'check exits with {folded.status}, not {whole.status}')
    for key in whole.lines.keys() & folded.lines.keys():
        rate, other = (sum(leak['bytes_per_step'] or 0 for leak in said.lines[key]) for said in (whole, folded))
        if abs(other - rate) > RATE_TOLERANCE * rate:
            found.append(f'{key}: {other:.0f} bytes a step, not {rate:.0f}')
        first, other = (min(leak['first_step'] or 0 for leak in said.lines[key]) for said in (whole, folded))
        if abs(other - first) > tolerance:
            found.append(f'{key}: from step {other} on, not {first}')
    return found


def compare(verdict, file):
    """Sets `verdict.folds`: for each way, the differences, and why the fold does not judge something that the whole recording judges."""
    whole = Said(file)
    with tempfile.TemporaryDirectory() as folder:
        for way, options in WAYS.items():
            folded = Said(fold(file, options, folder))
            verdict.folds[way] = (
                differences(whole, folded, verdict.truth['steps']),
                None if whole.why_not() else folded.why_not(),
            )
