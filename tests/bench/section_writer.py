# SPDX-License-Identifier: MIT
"""Measures how many events the writer thread can take, and how long a recorded process waits for it at its end."""

import subprocess
import time

import rivals
from rows import added, row_of
from sampling import alternate
from section_stack import PLAIN, libraries_of

STACKS = 64
WRITER_GOAL_PER_S = 5_000_000
END_GOAL_S = 0.3
OURS = {"stacks=none": "stacks=none:overflow=wait", "stacks=all": "stacks=all:overflow=wait"}


def record(machine, pairs, options):
    """Returns (deep_stack_loop.py's figures for `pairs` pairs of calls, seconds from its last output to the process's end)."""
    library, _, one_page = libraries_of(machine)
    machine.forget_recordings()
    command = [machine.python, rivals.DEEP, "-", library, "record", str(pairs), str(STACKS), "0"]
    with subprocess.Popen(
        command,
        env=machine.environment(options, [one_page]),
        cwd=machine.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        # Waits for the process, then reads the pipes. The process writes less than the pipes hold.
        status = process.wait()
        ended_ns = time.monotonic_ns()
        out, err = process.stdout.read(), process.stderr.read()
    if status:
        raise SystemExit(f"scripts/bench: deep_stack_loop.py ended with {status}: {err[-500:]}")
    printed = rivals.printed_by(out)
    if options is not None:
        events = machine.report(machine.take_recording())["events"]
        if events["dropped"] or events["recorded"] < 2 * pairs:
            raise SystemExit(f"scripts/bench: of {2 * pairs} events {events['recorded']} were recorded")
    return printed, (ended_ns - printed["end_ns"]) / 1e9


def writer(machine, effort, progress):
    """Measures with a thread that only allocates and frees, and waits when its ring is full."""
    pairs = effort.pick(2_000_000, 500_000, 5000)

    def measure(variant):
        printed, _ = record(machine, pairs, OURS[variant])
        return {"thread": printed["writer_cpu_ns"] / (2 * pairs), "wall": printed["loop_wall_ns"] / (2 * pairs)}

    samples = alternate(
        OURS,
        effort.processes(7, 3),
        measure,
        progress,
        lambda sample: f"{sample['thread']:.0f} ns of the writer an event",
    )
    rows = []
    for key, section, goal in (
        ("thread", "the writer's thread, processor time of an event", WRITER_GOAL_PER_S),
        ("wall", "recording without a rest, wall time of an event", None),
    ):
        for variant in OURS:
            row = row_of(
                section,
                variant,
                "ns",
                [sample[key] for sample in samples[variant]],
                compared="so, a second",
                figure_unit="events",
                goal=goal,
                at_least=True,
            )
            row.figure, row.middle_figure = 1e9 / row.low, 1e9 / row.middle
            rows.append(row)
    return rows


def end(machine, effort, progress):
    """Measures the time from the program's last output to its process's end, including the interpreter's end."""
    pairs = effort.pick(5_000_000, 500_000, 5000)
    variants = {PLAIN: None, **OURS}
    samples = alternate(
        variants,
        effort.processes(5, 2),
        lambda variant: record(machine, pairs, variants[variant])[1],
        progress,
        lambda seconds: f"{seconds:.3f} s",
    )
    rows = []
    for variant, values in samples.items():
        row = row_of(f"the end of a process with {2 * pairs:,} events", variant, "s", values)
        if variant != PLAIN:
            row.compared, row.figure_unit, row.goal = "added", "s", END_GOAL_S
            row.figure, row.middle_figure = added(values, samples[PLAIN])
        rows.append(row)
    return rows
