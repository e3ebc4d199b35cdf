# SPDX-License-Identifier: MIT
"""The measurements of scripts/bench. Each function measures one thing and returns rows of the table.

Larger measurements have their own files.
"""

import os
import subprocess

from rows import added, compare, memory_row, row_of
from sampling import HERE, alternate, runtime_arguments, spawn_ms, time_and_memory
from section_exports import exports
from section_loop import PLAIN, training_loop, training_turns
from section_reader import reader, readers
from section_stack import stack
from section_writer import end, writer

STARTUP_GOAL_MS = 2
REPORT_GOAL_SECONDS, REPORT_GOAL_MIB = 2, 300
UNWATCHED, WATCHED = "not watched", "watched by top"
SAME_PERCENT = 5  # noise that "costs the same" allows


def exceptions(machine, effort, progress):
    binding = os.path.join(machine.build, "tests", "binding")
    programs = {
        "C++": [os.path.join(binding, "thrower"), os.path.join(binding, "libthrows.so"), "10000", "10"],
        "PyTorch, x.view": [machine.python, os.path.join(HERE, "torch_throws.py"), "2000", "10"],
    }
    rows = []
    for name, command in programs.items():
        if not os.path.exists(command[0]):
            raise SystemExit(f"scripts/bench: {command[0]} is not built (meson option tests)")
        variants = {f"{name}, {PLAIN}": None, f"{name}, with it": ""}

        def measure(variant):
            machine.forget_recordings()
            return float(machine.run(command, variants[variant]))

        samples = alternate(
            variants,
            effort.processes(9 if name == "C++" else 5, 3),
            measure,
            progress,
            lambda value: f"{value:,.0f} ns",
        )
        rows += compare("exceptions", "ns", samples, {f"{name}, with it": SAME_PERCENT})
    return rows


def startup(machine, effort, progress):
    rows = []
    for command in (["true"], ["ls", "/usr"]):
        environments = {
            f"{command[0]}, {PLAIN}": machine.environment(),
            f"{command[0]}, with it": machine.environment(""),
        }
        # The simulated device's folder in the library path would add to both times.
        for variables in environments.values():
            variables.pop("LD_LIBRARY_PATH", None)
        samples = alternate(
            environments, effort.pick(500, 100, 3), lambda variant: spawn_ms(command, environments[variant]), progress
        )
        plain, shimmed = samples.values()
        row = row_of(
            "start-up", f"{command[0]}, with it", "ms", shimmed, compared="more", figure_unit="ms", goal=STARTUP_GOAL_MS
        )
        row.figure, row.middle_figure = added(shimmed, plain)
        rows += [row_of("start-up", f"{command[0]}, {PLAIN}", "ms", plain), row]
    return rows


def report(machine, effort, progress):
    synthetic = os.path.join(machine.folder, "million.synthetic")
    files = {"1 million synthetic events": synthetic}
    progress("writing a million events")
    machine.run(
        [
            os.path.join(machine.build, "tests", "unit", "make_recording"),
            synthetic,
            "events=1000000",
            "threads=4",
            "sites=2000",
            "depth=30",
            "live=20000",
        ]
    )
    if effort.size == "full":
        progress("recording a million events")
        # 1130 events per step. Such a report also reads the symbols of PyTorch's libraries.
        machine.run_torch([machine.python, os.path.join(HERE, "training_loop.py"), "5", "175", "none"], "")
        real = machine.take_recording()
        recorded = machine.report(real)["events"]["recorded"]
        files[f"the training loop's {recorded:,} events"] = real
    rows = []
    # Measures the first run, and runs with the symbol cache of an earlier run.
    cases = [(name, ["--no-symbol-cache", path]) for name, path in files.items()]
    cases += [(f"{name}, again", [path]) for name, path in files.items() if path != synthetic]
    for name, arguments in cases:
        taken = [time_and_memory([machine.cli, "report", *arguments]) for _ in range(effort.processes(7, 3))]
        seconds, memory, _ = ([sample[i] for sample in taken] for i in range(3))
        rows.append(row_of("report", name, "s", seconds, goal=REPORT_GOAL_SECONDS))
        rows.append(memory_row("report", "memory at most for it", memory, REPORT_GOAL_MIB))
    return rows


def event_cost(machine, effort, progress):
    """Measures the cost for a thread: bursts fit into a ring, and the writer catches up between them."""
    program = machine.compile("malloc_loop.c", "-rdynamic", *runtime_arguments(machine))
    # The variant that each is compared with, and how many of its items a pair of calls has.
    variants = {
        PLAIN: (None, None, 0, ""),
        "stacks=none": ("stacks=none", PLAIN, 2, "an event"),
        "stacks=python": ("stacks=python", "stacks=none", 1, "no Python"),
        "stacks=native": ("stacks=native", "stacks=none", 1, "a stack"),
        "stacks=all": ("stacks=all", "stacks=none", 1, "stacks"),
        "stacks=all, free_stacks=on": ("stacks=all:free_stacks=on", "stacks=none", 2, "stacks"),
    }

    def measure(variant):
        machine.forget_recordings()
        return float(
            machine.run([program, *effort.pick(("5000", "20"), ("5000", "20"), ("500", "2"))], variants[variant][0])
        )

    samples = alternate(variants, effort.processes(15, 3), measure, progress, lambda value: f"{value:,.0f} ns")
    rows = []
    for variant, (_, base, count, what) in variants.items():
        values = samples[variant]
        row = row_of("cudaMalloc and cudaFree, twenty functions deep", variant, "ns", values)
        if base:
            row.compared, row.figure_unit = what, "ns"
            row.figure, row.middle_figure = added(values, samples[base], count)
        rows.append(row)
    return rows


def pauses(machine, effort, progress):
    """Measures the longest pair of calls in four threads that only allocate and free."""
    program = machine.compile("pauses.c", "-rdynamic", "-pthread", *runtime_arguments(machine))
    variants = {
        PLAIN: None,
        "stacks=none": "stacks=none",
        "stacks=all": "stacks=all",
        "stacks=all, overflow=drop": "stacks=all:overflow=drop",
    }

    def measure(variant):
        machine.forget_recordings()
        printed = machine.run([program, "4", effort.pick("50000", "50000", "1000")], variants[variant])
        return [float(value) for value in printed.split()]

    samples = alternate(
        variants, effort.processes(11, 3), measure, progress, lambda times: f"longest {times[-1] / 1000:,.0f} us"
    )
    return [
        row_of(
            "a pair of calls in one of four busy threads",
            f"{variant}: {name}",
            "us",
            [value / 1000 for value in values],
        )
        for variant in variants
        for name, values in zip(("median", "99.99 %", "longest"), zip(*samples[variant]))
    ]


def watched(machine, effort, progress):
    """Measures the same loop while `top` shows it five times a second, and while nothing does."""
    program = machine.compile("malloc_loop.c", "-rdynamic", *runtime_arguments(machine))
    loops = effort.pick(("5000", "200"), ("5000", "100"), ("500", "2"))
    command = [machine.cli, "top", "--batch", "--json", "--interval=200ms"]

    def measure(variant):
        machine.forget_snapshots()
        if variant == UNWATCHED:
            return float(machine.run([program, *loops], "stacks=all"))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as watcher:
            try:
                return float(machine.run([program, *loops], "stacks=all"))
            finally:
                watcher.terminate()

    samples = alternate(
        [UNWATCHED, WATCHED], effort.processes(11, 3), measure, progress, lambda value: f"{value:,.0f} ns"
    )
    return compare("cudaMalloc and cudaFree in a recorded loop", "ns", samples, {WATCHED: SAME_PERCENT})


SECTIONS = {
    "loop": training_loop,
    "turns": training_turns,
    "stack": stack,
    "exceptions": exceptions,
    "startup": startup,
    "report": report,
    "reader": reader,
    "readers": readers,
    "writer": writer,
    "end": end,
    "event": event_cost,
    "pauses": pauses,
    "watched": watched,
    "exports": exports,
}
