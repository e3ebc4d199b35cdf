# SPDX-License-Identifier: MIT
"""Measures a training loop without the recorder, with it, and with PyTorch's own memory recorders."""

import json
import os
import statistics

from rows import MIN_PERCENT, Row, compare, row_of, slower_percent, times
from sampling import HERE, alternate

# Variants of the loop: (options of the shim, or None: without it; PyTorch's recorder, see training_loop.py)
LOOPS = {
    "without the shim": (None, "none"),
    "stacks=all": ("stacks=all", "none"),
    "stacks=python": ("stacks=python", "none"),
    "stacks=native": ("stacks=native", "none"),
    "stacks=none": ("stacks=none", "none"),
    "stacks=all, free_stacks=on": ("stacks=all:free_stacks=on", "none"),
    "PyTorch's recorder, stacks=python": (None, "python"),
    "PyTorch's recorder, stacks=all": (None, "all"),
    "torch.profiler, memory and stacks": (None, "profiler"),
}
PLAIN, RIVAL = "without the shim", "PyTorch's recorder, stacks=all"
SLOWER_GOALS_PERCENT = {"stacks=all": 3, "stacks=python": 1.5}
BYTES_GOAL = 6


def cheaper_row(section, samples):
    """Returns a row: the overhead of PyTorch's own recorder divided by ours."""
    theirs, ours = (slower_percent(samples[variant], samples[PLAIN]) for variant in (RIVAL, "stacks=all"))
    low, middle = times(theirs, ours, MIN_PERCENT)
    return Row(section, f"{RIVAL}: its overhead against ours", "times", low, middle, at_least=True)


def training_loop(machine, effort, progress):
    steps, rounds, cycles = effort.pick(5, 5, 1), effort.pick(30, 10, 2), effort.processes(7, 2)
    script = os.path.join(HERE, "training_loop.py")
    bytes_per_event = {}

    def measure(variant):
        options, recorder = LOOPS[variant]
        printed = json.loads(machine.run_torch([machine.python, script, str(steps), str(rounds), recorder], options))
        if options is not None:
            recording = machine.take_recording()
            events = machine.report(recording)["events"]
            if events["dropped"]:
                raise SystemExit(f"scripts/bench: {events['dropped']} events were dropped with {options}")
            bytes_per_event.setdefault(variant, []).append(os.path.getsize(recording) / events["recorded"])
        return printed

    printed = alternate(
        LOOPS,
        cycles,
        measure,
        progress,
        lambda sample: f"{sample['wall_ms']:.2f} ms, processor time {sample['cpu_ms']:.2f} ms",
    )

    def column(key):
        return {variant: [sample[key] for sample in samples] for variant, samples in printed.items()}

    wall = "training loop, a step in the fastest of some rounds"
    cpu = "training loop, processor time of a step in all threads, the writer's too"
    rows = [
        *compare(wall, "ms", column("wall_ms"), SLOWER_GOALS_PERCENT),
        cheaper_row(wall, column("wall_ms")),
        *compare(cpu, "ms", column("cpu_ms"), {}),
    ]
    rows += [
        row_of("size on disk", variant, "bytes/event", values, goal=BYTES_GOAL)
        for variant, values in bytes_per_event.items()
    ]
    return rows


# One process records in turns: (options of the shim, or None: without it; the recorder that is switched on and off)
TURNS = {
    "stacks=all": ("stacks=all", "shim"),
    "stacks=python": ("stacks=python", "shim"),
    "stacks=native": ("stacks=native", "shim"),
    "stacks=none": ("stacks=none", "shim"),
    "stacks=all, free_stacks=on": ("stacks=all:free_stacks=on", "shim"),
    "PyTorch's recorder, stacks=python": (None, "python"),
    "PyTorch's recorder, stacks=all": (None, "all"),
}


def slower_of_pairs(printed, recorded, other):
    """Returns for each process how many percent slower its recorded steps were: the median of its pairs."""
    return [(statistics.median(pair[recorded] / pair[other] for pair in pairs) - 1) * 100 for pairs in printed]


def training_turns(machine, effort, progress):
    steps, pairs, cycles = effort.pick(3, 3, 1), effort.pick(150, 50, 2), effort.processes(5, 2)
    command = [machine.python, os.path.join(HERE, "training_turns.py"), str(steps), str(pairs)]
    switch = machine.compile("torch_report_switch.c", "-shared", "-fPIC", out="libtorch_report_switch.so")

    def measure(variant):
        options, recorder = TURNS[variant]
        in_front = [] if options is None else ["env", f"LD_PRELOAD={switch}:{machine.shim}"]
        printed = json.loads(machine.run_torch([*in_front, *command, recorder], options))
        if options is not None:
            machine.take_recording()
        return printed

    printed = alternate(TURNS, cycles, measure, progress, lambda pairs: f"{slower_of_pairs([pairs], 0, 2)[0]:+.1f} %")
    wall = {variant: slower_of_pairs(pairs, 0, 2) for variant, pairs in printed.items()}
    cpu = {variant: slower_of_pairs(pairs, 1, 3) for variant, pairs in printed.items()}
    section = "training loop, a step that is recorded against one that is not, in turns of one process"
    # A single process may have run on a quiet machine, so the goal is compared with the median process.
    rows = [
        Row(
            section,
            variant,
            "%",
            min(values),
            statistics.median(values),
            compared="in the middle",
            figure=statistics.median(values),
            figure_unit="%",
            goal=SLOWER_GOALS_PERCENT.get(variant),
            samples=values,
        )
        for variant, values in wall.items()
    ]
    theirs, ours = (statistics.median(wall[variant]) for variant in (RIVAL, "stacks=all"))
    rows.append(
        Row(
            section,
            f"{RIVAL}: its overhead against ours",
            "times",
            theirs / max(ours, MIN_PERCENT),
            theirs / max(ours, MIN_PERCENT),
            at_least=True,
        )
    )
    return rows + [
        row_of(section + ", processor time of all threads", variant, "%", values) for variant, values in cpu.items()
    ]
