# SPDX-License-Identifier: MIT
"""Compacts a recording in several ways and compares the findings for each result with those for the whole recording."""

import json
import os
import tempfile

from recorded_run import cli
from verdict import SAMPLES, own

# The rate in a compacted recording may differ from the rate in the whole recording by this part.
RATE_TOLERANCE = 0.01
# Each way is a list of successive compactions, each with its options.
WAYS = {
    'all': [[]],
    'keep-steps': [['--keep-steps=7']],
    'keep-events': [['--keep-events=300']],
    'keep-seconds': [['--keep-seconds=1']],
    'repeated': [['--keep-steps=30'], ['--keep-events=200'], []],
}


def fold(path, ways, folder):
    """Compacts a recording with each of `ways` in turn and returns the path of the result."""
    for number, options in enumerate(ways):
        compacted = os.path.join(folder, f'compacted-{number}.gmt.gz')
        done = cli('fold', '--force', path, '-o', compacted, *options)
        if done.returncode:
            raise AssertionError(f'fold {options}: {done.stderr}')
        path = compacted
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


def differences(whole, compacted, steps):
    """Returns as sentences how the findings for a compacted recording differ from those for the whole recording, which has `steps` steps."""
    # A compacted recording has at least half as many samples as the whole recording.
    tolerance = 2 * -(-steps // SAMPLES)
    found = [f'also {key}' for key in compacted.lines.keys() - whole.lines.keys()]
    # A compacted recording may lack findings that it does not judge. The first definition that fits reports a line: `exit` if growth is not judged.
    if compacted.why_not() and not whole.why_not():
        lines = {key[-2:] for key in whole.lines}
        found = [
            f'also {key}'
            for key in compacted.lines.keys() - whole.lines.keys()
            if key[0] != 'exit' or key[-2:] not in lines
        ]
        return found + ([] if compacted.strict else ['check --strict passes what was not judged'])
    found += [f'lacks {key}' for key in whole.lines.keys() - compacted.lines.keys()]
    if compacted.status != whole.status:
        found.append(f'check exits with {compacted.status}, not {whole.status}')
    for key in whole.lines.keys() & compacted.lines.keys():
        rate, other = (sum(leak['bytes_per_step'] or 0 for leak in said.lines[key]) for said in (whole, compacted))
        if abs(other - rate) > RATE_TOLERANCE * rate:
            found.append(f'{key}: {other:.0f} bytes a step, not {rate:.0f}')
        first, other = (min(leak['first_step'] or 0 for leak in said.lines[key]) for said in (whole, compacted))
        if abs(other - first) > tolerance:
            found.append(f'{key}: from step {other} on, not {first}')
    return found


def compare(verdict, file):
    """Sets `verdict.compactions`: for each way, the differences, and why the compacted recording does not judge something that the whole recording judges."""
    whole = Said(file)
    with tempfile.TemporaryDirectory() as folder:
        for way, options in WAYS.items():
            compacted = Said(fold(file, options, folder))
            verdict.compactions[way] = (
                differences(whole, compacted, verdict.truth['steps']),
                None if whole.why_not() else compacted.why_not(),
            )
