# SPDX-License-Identifier: MIT
"""Measures the cost of a report by the number of events, and compares it with the readers of other profilers."""

import os

import rivals
from rows import Row, memory_row, row_of, times
from sampling import HERE, alternate, time_and_memory
from section_stack import libraries_of

GOAL_NS, GOAL_MIB = 100, 381  # 10 million events in a second and 400 MB
STACKS, LIVE = 500, 1000
# Goals: how many times longer than our reader each other reader takes, at least.
SLOWER_GOALS = {"heaptrack_print": 1, "memray stats": 4, "_memory_viz.py trace_plot": 40}
MIN_S = 0.001
OURS = "gpumemtrace report"


def by_event(section, what, seconds, events, goal=None):
    row = row_of(section, what, "s", seconds, goal=goal, compared="an event", figure_unit="ns")
    row.figure, row.middle_figure = (value * 1e9 / events for value in (row.low, row.middle))
    return row


def reader(machine, effort, progress):
    """Measures the reader for several numbers of events. The sites and live blocks stay the same."""
    rows = []
    for millions in effort.pick((1, 10, 30), (1, 3), (1,)):
        path = os.path.join(machine.folder, "events.gmt.gz")
        name = f"{millions} million events"
        progress(f"writing {name}")
        machine.run(
            [
                os.path.join(machine.build, "tests", "unit", "make_recording"),
                path,
                f"events={millions}000000",
                "threads=2",
                "sites=500",
                "depth=10",
                "live=5000",
                "level=1",
            ]
        )
        progress(f"reading {name}")
        taken = [time_and_memory([machine.cli, "report", path]) for _ in range(effort.processes(5, 3))]
        os.unlink(path)
        seconds, memory, cpu = ([sample[i] for sample in taken] for i in range(3))
        goals = (GOAL_NS, GOAL_MIB) if millions == 10 else (None, None)
        section = "a report by events"
        progress.say(f"{name}: {min(seconds):.2f} s")
        rows += [
            by_event(section, name, seconds, millions * 10**6, goals[0]),
            by_event(section, f"processor time for {name}", cpu, millions * 10**6),
            memory_row(section, f"memory at most for {name}", memory, goals[1]),
        ]
    return rows


def measure_pairs(section, commands, events, machine, effort, progress):
    """Compares our reader, the first of `commands`, with the others on the same events.

    Names of our other readers begin with the first one's name. The rows compare processor time, because load on the
    machine affects it little.
    """
    environment = machine.environment()
    taken = alternate(
        commands,
        effort.processes(5, 2),
        lambda reader: time_and_memory(commands[reader], environment),
        progress,
        lambda sample: f"{sample[0]:.2f} s, processor time {sample[2]:.2f} s",
    )
    elapsed, memory, cpu = (
        {reader: [sample[i] for sample in samples] for reader, samples in taken.items()} for i in range(3)
    )
    rows = [by_event(section, f"{reader}, processor time", seconds, events) for reader, seconds in cpu.items()]
    ours = [(row, name) for row, name in zip(rows, commands) if name.startswith(OURS)]
    for row, reader in [(row, name) for row, name in zip(rows, commands) if not name.startswith(OURS)]:
        for own, name in ours:
            low, middle = times((row.low, row.middle), (own.low, own.middle), MIN_S)
            rows.append(
                Row(
                    section,
                    f"{reader} against {name if own is not rows[0] else 'ours'}",
                    "times",
                    low,
                    middle,
                    goal=SLOWER_GOALS[reader] if own is rows[0] else None,
                    at_least=True,
                )
            )
    rows += [by_event(section, reader, seconds, events) for reader, seconds in elapsed.items()]
    return rows + [memory_row(section, f"{reader}, memory at most", mebibytes) for reader, mebibytes in memory.items()]


def compare_profilers(machine, effort, progress):
    pairs = effort.pick(2_000_000, 250_000, 2000)
    on_device, on_host, one_page = libraries_of(machine)
    arguments = ["record", pairs, STACKS, LIVE]
    progress(f"recording {2 * pairs:,} events")
    machine.forget_recordings()
    machine.run(
        [machine.python, rivals.DEEP, "-", on_device, *map(str, arguments)], "overflow=wait", preload=[one_page]
    )
    ours = machine.take_recording()
    events = machine.report(ours)["events"]["recorded"]
    expected = 2 * pairs - LIVE
    if events < expected:
        raise SystemExit(f"scripts/bench: of {expected} events {events} were recorded")
    section = f"reading {events:,} events of {STACKS} stacks, {LIVE} blocks alive"
    commands, notes = {OURS: [machine.cli, "report", "--no-symbol-cache", ours]}, []
    for name, rival in {"heaptrack_print": rivals.Heaptrack(), "memray stats": rivals.Memray("native")}.items():
        progress(f"recording with {rival.name}")
        try:
            rival.prepare(machine)
            rival.run(machine, on_host, arguments, readable=True)
            rival.check(machine, pairs)
            commands[name] = rival.read_command(machine)
        except rivals.Unusable as why:
            notes.append(Row(section, name, note=str(why)))
    return [*measure_pairs(section, commands, events, machine, effort, progress), *notes]


def compare_pytorch(machine, effort, progress):
    """Compares the readers on one run of a training loop, which both we and PyTorch recorded."""
    rounds = effort.pick(170, 10, 1)
    pickle, page = (os.path.join(machine.folder, name) for name in ("torch.pickle", "page.html"))
    progress("recording a training loop, with PyTorch's recorder too")
    machine.run_torch(
        [machine.python, os.path.join(HERE, "training_loop.py"), "5", str(rounds), "python", pickle], "overflow=wait"
    )
    ours = machine.take_recording()
    events = machine.report(ours)["events"]["recorded"]
    return measure_pairs(
        f"reading a training loop's {events:,} events",
        {
            OURS: [machine.cli, "report", "--no-symbol-cache", ours],
            OURS + ", symbols kept": [machine.cli, "report", ours],
            "_memory_viz.py trace_plot": [machine.python, rivals.memory_viz(machine), "trace_plot", pickle, "-o", page],
        },
        events,
        machine,
        effort,
        progress,
    )


def readers(machine, effort, progress):
    return [*compare_profilers(machine, effort, progress), *compare_pytorch(machine, effort, progress)]
