# SPDX-License-Identifier: MIT
"""Writes docs/internals/verdicts.md from the verdicts of all programs of the corpus."""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))

import form
from known import DOUBTED, KNOWN
from verdict import FOLDER, RATE_TOLERANCES

PAGE = FOLDER.parent.parent / 'docs' / 'internals' / 'verdicts.md'

CLASSES = {
    'healthy/bounded': 'lists and tables that stop growing',
    'healthy/caches': 'caches that fill up and then stay constant, weak caches, garbage that is collected',
    'healthy/data': 'loaders, queues with a limit, batches of varying size',
    'healthy/evaluation': 'results of an evaluation that the next epoch replaces',
    'healthy/generation': 'key-value caches and search trees of one request',
    'healthy/held_out_1': 'blind test 1: programs of all classes by another author, tested before the rules were improved',
    'healthy/held_out_2': 'blind test 2: programs of all classes by another author, tested with the improved rules',
    'healthy/held_out_3': 'blind test 3: programs of all classes by a third author, tested before the rules were improved',
    'healthy/models': 'checkpoints, cross-validation, searches that free the models they tried',
    'healthy/passes': 'results gathered during one pass or epoch',
    'healthy/serving': 'servers, sessions that expire, notebooks',
    'healthy/steps': 'servers, passes and simulations whose steps are found by loops, calls and patterns',
    'healthy/training': 'techniques of training that change how much memory a step takes',
    'healthy/windows': 'the last N losses, frames or transitions',
    'leaking/caches': 'caches without a limit, or whose entries something else holds',
    'leaking/cycles': 'reference cycles while the collector is off',
    'leaking/exceptions': 'exceptions whose tracebacks keep frames and their tensors',
    'leaking/graphs': 'tensors kept with their autograd graph',
    'leaking/growing': 'one tensor that a larger one replaces again and again',
    'leaking/held_out_1': 'blind test 1: programs of all classes by another author, tested before the rules were improved',
    'leaking/held_out_2': 'blind test 2: programs of all classes by another author, tested with the improved rules',
    'leaking/held_out_3': 'blind test 3: programs of all classes by a third author, tested before the rules were improved',
    'leaking/histories': 'lists and dictionaries of results that nothing empties',
    'leaking/hooks': 'hooks and callbacks that keep what they see',
    'leaking/late': 'leaks that begin in the last quarter of the program',
    'leaking/models': 'copies of models, optimizers and their state',
    'leaking/queues': 'queues and pools that are filled faster than they are emptied',
    'leaking/serving': 'answers and caches of requests that are over',
    'leaking/steps': 'results that stay, in programs whose steps are found by loops, calls and patterns',
    'leaking/windows': 'a reference that is kept next to a bounded window, from the same line',
}

WAYS = {
    'all': '`gpumemtrace fold`',
    'keep-steps': '`--keep-steps=7`',
    'keep-events': '`--keep-events=300`',
    'keep-seconds': '`--keep-seconds=1`',
    'repeated': '`--keep-steps=30`, then `--keep-events=200`, then all',
}

COLUMNS = ('programs', 'right', 'accused', 'missed', 'rate wrong', 'other', 'doubted', 'not judged')


def folder_of(verdict):
    return verdict.name.rpartition('/')[0]


def counts_of(verdicts):
    """Returns one number for each of COLUMNS. A program may count in several columns."""
    return [
        len(verdicts),
        *(
            sum(map(bool, column))
            for column in (
                [not verdict.wrong for verdict in verdicts],
                [verdict.accused for verdict in verdicts],
                [verdict.missed for verdict in verdicts],
                [verdict.rates for verdict in verdicts],
                [verdict.others for verdict in verdicts],
                [verdict.doubted for verdict in verdicts],
                [not verdict.is_judged for verdict in verdicts],
            )
        ),
    ]


def summary(verdicts):
    """Returns one line for a terminal."""
    count, right, accused, missed, rates, _others, doubted, not_judged = counts_of(verdicts)
    return (
        f'{count} programs: {right} right, {accused} with a wrong accusation, {missed} with a leak that was missed, '
        f'{rates} with a wrong rate; {doubted} with a line that is named with doubt; growth was not judged in {not_judged}'
    )


def row(*cells):
    return f'| {" | ".join(map(str, cells))} |'


def table(verdicts):
    by_folder = collections.defaultdict(list)
    for verdict in verdicts:
        by_folder[folder_of(verdict)].append(verdict)
    lines = [row('folder', 'contains', *COLUMNS), row('---', '---', *('---:' for _ in COLUMNS))]
    lines += [
        row(f'[{folder}](../../tests/verdicts/{folder})', CLASSES.get(folder, ''), *counts_of(found))
        for folder, found in sorted(by_folder.items())
    ]
    return lines + [row('**all**', '', *(f'**{number}**' for number in counts_of(verdicts)))]


def overview(verdicts):
    leaking = [verdict for verdict in verdicts if verdict.is_leaking]
    healthy = [verdict for verdict in verdicts if not verdict.is_leaking]
    return [
        row('', *COLUMNS),
        row('---', *('---:' for _ in COLUMNS)),
        row('leaking', *counts_of(leaking)),
        row('healthy', *counts_of(healthy)),
        row('**all**', *(f'**{number}**' for number in counts_of(verdicts))),
    ]


def rates(verdicts):
    lines = [
        row('sizes of the blocks', 'leaks found', 'rate exact to 0.1 %', 'right', 'largest deviation of a right one'),
        row('---', '---:', '---:', '---:', '---:'),
    ]
    for sizes, tolerance in RATE_TOLERANCES.items():
        found = [
            abs(deviation) for verdict in verdicts for of_sizes, deviation in verdict.deviations if of_sizes == sizes
        ]
        right = [deviation for deviation in found if deviation <= tolerance]
        lines.append(
            row(
                sizes,
                len(found),
                sum(deviation <= 0.001 for deviation in found),
                len(right),
                f'{max(right, default=0) * 100:.1f} %',
            )
        )
    return lines


def wrong_ones(verdicts):
    wrong = [verdict for verdict in verdicts if verdict.wrong]
    if not wrong:
        return ['All verdicts are right.']
    return [row('program', 'what is wrong', 'why'), row('---', '---', '---')] + [
        row(
            f'[{verdict.name}](../../tests/verdicts/{verdict.name})',
            '<br>'.join(text.replace('|', '\\|') for text in verdict.wrong),
            KNOWN.get(verdict.name, 'not yet understood'),
        )
        for verdict in wrong
    ]


def confidence(verdicts):
    """Returns the numbers of src/analysis/leaks/leak_reasons.def."""
    found = collections.defaultdict(list)
    for verdict in verdicts:
        for ground, is_right in verdict.grounds:
            found[ground].append(is_right)
    return [row('reason', 'findings', 'right', 'confidence'), row('---', '---:', '---:', '---:')] + [
        row(ground, len(rights), sum(rights), f'{(sum(rights) + 1) / (len(rights) + 2) * 100:.0f} %')
        for ground, rights in sorted(found.items())
    ]


def doubted(verdicts):
    lines = [
        f'- `{verdict.name}`: {", ".join(verdict.doubted)}. {DOUBTED.get(verdict.name, "")}'
        for verdict in verdicts
        if verdict.doubted
    ]
    return lines or ['None.']


def not_judged(verdicts):
    reasons = collections.defaultdict(list)
    for verdict in verdicts:
        if verdict.said and not verdict.is_judged:
            reasons[verdict.said['growth_not_judged']].append(verdict.name)
    return [f'- {reason}: {", ".join(f"`{name}`" for name in names)}' for reason, names in sorted(reasons.items())]


def verdicts_of_compacted(verdicts):
    """Returns a row for each way to compact: how many compacted recordings have the verdict of the whole recording."""
    lines = [row('way', 'the same verdict', 'not judged', 'another verdict'), row('---', '---:', '---:', '---:')]
    reasons = collections.defaultdict(set)
    for way in WAYS:
        found = [(verdict.name, *verdict.compactions[way]) for verdict in verdicts if verdict.compactions]
        lines.append(
            row(
                WAYS[way],
                sum(not differences and not why for _, differences, why in found),
                sum(bool(why) and not differences for _, differences, why in found),
                sum(bool(differences) for _, differences, _ in found),
            )
        )
        for name, differences, why in found:
            if differences or why:
                reasons['; '.join(differences) or why].add(name)
    return (
        lines
        + ['']
        + [
            f'- {reason}: {", ".join(f"`{name}`" for name in sorted(names))}'
            for reason, names in sorted(reasons.items())
        ]
    )


def text_of(verdicts):
    """Returns the text of the whole page."""
    versions = ', '.join(sorted({verdict.truth['torch'] for verdict in verdicts if 'torch' in verdict.truth}))
    percents = {sizes: f'{tolerance * 100:.0f} %' for sizes, tolerance in RATE_TOLERANCES.items()}
    return form.wrap_markdown(
        '\n'.join(
            [
                f'''# Verdicts on programs that we know

How often is a verdict of `gpumemtrace leaks` right? [tests/verdicts](../../tests/verdicts) holds {len(verdicts)} small PyTorch programs of the
kinds that people write. Some leak and some do not. Each program declares whether and where it leaks. This page compares these declarations with
the reports.
All programs ran on the simulated device, with PyTorch {versions}:

```sh
export GMT_TEST_BUILD=$PWD/build GMT_TEST_SIM_PYTHON=$PWD/scripts/sim-python
tests/verdicts/matrix.py --markdown
```

We wrote most programs ourselves, and we improved the rules when they failed on a program. So the numbers show how well the rules work on programs
that the rules were developed with. They do not predict the rate of errors on other programs. Three classes are blind tests: other people wrote
`held_out_1`, `held_out_2` and `held_out_3`. These authors knew neither the rules nor the reports. The first run on each class, before any change
of a rule, gave:

- `held_out_1`: 37 of the 40 verdicts were right (leak or not, and the line), and six rates were wrong. The rules were then improved.
- `held_out_2`: all 40 verdicts were right. One rate was wrong by 5 % (a buffer that doubles).
- `held_out_3`: 39 of the 40 verdicts were right. No healthy line was accused. One leak was missed, because the report found no steps. The
  report said that, and the rules were then improved. Three rates were right for the steps that the report counted, but the program counted other steps.

An older version of the rules looked only at blocks that were never freed. It was wrong on 56 of the 274 programs that existed then.

## Summary
''',
                *overview(verdicts),
                f'''
The columns:

- *right*: the report names each line that leaks, and no other line. Rate, first step and exit code are right too (see below).
- *accused*: the report names a line that does not leak.
- *missed*: the report does not name a line that leaks.
- *rate wrong*: the report names the line, with a wrong number of bytes a step.
- *other*: only the exit code or the first step is wrong, or the program failed.
- *doubted*: the report names a line that does not leak, with less confidence than 50 %, and says why it doubts. `check` does not fail then.
- *not judged*: the report says that it could not judge growth. A healthy program counts as right then, but the verdict says little.

A program may count in several columns. These must be right:

- The rate of a leak, or what it comes to over all steps where the report and the program count different steps: within {percents['equal']}. Where blocks become larger or smaller from step to step: within {percents['varying']}. Where one
  buffer is replaced by a larger one now and then: within {percents['doubling']}.
- The first step of a leak that begins late. The report looks at 256 steps at most; the distance of two of them is the tolerance.
- The exit code of `gpumemtrace check`: 1 for a leaking program, 0 for a healthy one.

## By class
''',
                *table(verdicts),
                '''
## Rates

*equal*: each step that leaves something leaves as much as the others. *varying*: blocks become larger or smaller from step to step.
*doubling*: one buffer is replaced by a larger one now and then.
''',
                *rates(verdicts),
                '''
## Confidence

Each finding of growth has a *reason* (JSON: `ground`), which is the kind of evidence, and has a confidence. The confidence is the share of findings with this
reason that were right in this table. It is computed by Laplace's rule, (right + 1) / (findings + 2), so that a reason with few findings gets
a low confidence. The reasons are in [leak_reasons.def](../../src/analysis/leaks/leak_reasons.def).
`check --min-confidence` ignores findings with a lower confidence.
''',
                *confidence(verdicts),
                '''
## Wrong verdicts
''',
                *wrong_ones(verdicts),
                '''
## Doubted

In these programs the report names a line that does not leak, with less than 50 % confidence and the reason for the doubt:
''',
                *doubted(verdicts),
                '''
## Not judged

Growth needs steps: an optimizer, a loop, calls of a module, allocations that repeat, or marks of the program.
In these programs the report says why it cannot judge:
''',
                *not_judged(verdicts),
                f'''
## Compacted recordings

Each recording is also compacted ([compaction.md](../compaction.md)), in several ways. *The same verdict*: `leaks` names the same lines, with rates within 1 % and
the same first step, and `check` exits with the same code. *Not judged*: the report says that it cannot judge growth, what phases left or what is
left at the end, and why; `check --strict` fails. This table has {sum(bool(verdict.compactions) for verdict in verdicts)} of the {len(verdicts)} programs:
''',
                *verdicts_of_compacted(verdicts),
                '',
            ]
        )
    )
