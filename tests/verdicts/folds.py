# SPDX-License-Identifier: MIT
"""Folds a recording in several ways and compares what the tool says of each fold with what it says of the whole recording."""

import json
import os
import tempfile

from snapshots import cli
from verdict import SAMPLES, own

# How far a rate of a fold may be from that of the whole recording.
RATE_TOLERANCE = 0.01
# Options of one fold after the other.
WAYS = {
    'all': [[]],
    'keep-steps': [['--keep-steps=7']],
    'keep-events': [['--keep-events=300']],
    'keep-seconds': [['--keep-seconds=1']],
    'fold of a fold': [['--keep-steps=30'], ['--keep-events=200'], []],
}


def fold(path, ways, folder):
    """The path of a recording that was folded by each of `ways` in turn."""
    for number, options in enumerate(ways):
        folded = os.path.join(folder, f'fold-{number}.gmt.gz')
        done = cli('fold', '--force', path, '-o', folded, *options)
        if done.returncode:
            raise AssertionError(f'fold {options}: {done.stderr}')
        path = folded
    return path


class Said:
    """What leaks and check say of a recording."""

    def __init__(self, path):
        self.said = json.loads(cli('leaks', '--json', path).stdout)
        self.status = cli('check', path).returncode
        self.strict = cli('check', '--strict', path).returncode
        self.lines = {}
        for leak in self.said['leaks']:
            self.lines.setdefault((leak['definition'], leak['layer'], leak['phase'], *own(leak)), []).append(leak)

    def why_not(self):
        """Why something was not judged; None: all was."""
        return self.said['growth_not_judged'] or self.said['phases_not_judged'] or self.said['end_not_judged']


def differences(whole, folded, steps):
    """What the fold says otherwise than the whole recording, of so many steps: a list of sentences."""
    # A fold has half as many samples as the whole recording at least.
    tolerance = 2 * -(-steps // SAMPLES)
    found = [f'also {key}' for key in folded.lines.keys() - whole.lines.keys()]
    # What a fold does not judge it may lack. A line is reported by the first definition that fits: `exit` where growth is not judged.
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
    """Sets `verdict.folds`: for each way to fold, what differs, and why something is not judged that is judged of the whole."""
    whole = Said(file)
    with tempfile.TemporaryDirectory() as folder:
        for way, options in WAYS.items():
            folded = Said(fold(file, options, folder))
            verdict.folds[way] = (
                differences(whole, folded, verdict.truth['steps']),
                None if whole.why_not() else folded.why_not(),
            )
