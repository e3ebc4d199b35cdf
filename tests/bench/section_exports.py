# SPDX-License-Identifier: MIT
"""Measures exports: time and memory of each format for a recording with many events."""

import os

from rows import memory_row, row_of
from sampling import time_and_memory

# Goals in seconds for 10 million events: formats with sums, formats with a line for each event, the database.
SUMS_S, EVENTS_S, DATABASE_S = 4, 20, 40
GOALS = {
    "folded": SUMS_S,
    "speedscope": SUMS_S,
    "pprof": SUMS_S,
    "dhat": SUMS_S,
    "tensorboard": EVENTS_S,
    "chrome": EVENTS_S,
    "perfetto": EVENTS_S,
    "torch": EVENTS_S,
    "heaptrack": EVENTS_S,
    "ndjson": EVENTS_S,
    "sqlite": DATABASE_S,
}


def exports(machine, effort, progress):
    events = effort.pick(10_000_000, 10_000_000, 10_000)
    recording = os.path.join(machine.folder, "exported.gmt.gz")
    output = os.path.join(machine.folder, "exported")
    progress(f"writing {events:,} events")
    machine.run(
        [
            os.path.join(machine.build, "tests", "unit", "make_recording"),
            recording,
            f"events={events}",
            "threads=2",
            "sites=200",
            "depth=10",
            "live=5000",
            "level=1",
        ]
    )
    rows = []
    for form, goal in GOALS.items():
        progress(f"export --format={form}")
        command = [machine.cli, "export", f"--format={form}", "--force", "-o", output, recording]
        taken = [time_and_memory(command) for _ in range(effort.processes(3, 1))]
        seconds, memory, _cpu = ([sample[i] for sample in taken] for i in range(3))
        section = f"exports of {events:,} events"
        size = os.path.getsize(output) / 1e6
        os.unlink(output)
        rows.append(row_of(section, f"{form}, {size:,.1f} MB", "s", seconds, goal=goal))
        rows.append(memory_row(section, "memory at most for it", memory))
    os.unlink(recording)
    return rows
