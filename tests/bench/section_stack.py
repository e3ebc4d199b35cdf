# SPDX-License-Identifier: MIT
"""Compares one event below 30 native and 15 Python frames with other profilers: they record malloc, we cudaMalloc."""

import rivals
from rivals import DEEP
from rows import MIN_NS, Row, added, row_of, times
from sampling import alternate, runtime_arguments

PLAIN, PLAIN_HOST = "without the shim", "without a profiler, malloc and free"
OURS = {"stacks=none": "none", "stacks=native": "native", "stacks=all": "all"}
SHAPES = {
    "same": "the same stack each time",
    "counting": "the same stack, in whose innermost frames a counter is saved",
    "differing": "the innermost 4 to 7 frames differ",
}
EVENT_GOALS_NS = {("differing", "stacks=all"): 200, ("same", "stacks=native"): 60}
CHEAPER_GOALS = {"differing": 5}
CHEAPER_THAN = ("memray --native", "heaptrack")
TWO_THREADS_GOAL = 1.2
FIRST_GOAL_US = 10
KINDS = {"cpu_ns": "processor time", "wall_ns": "wall time"}


def libraries_of(machine):
    """Returns deep_stack_loop.c for the device, deep_stack_loop.c for malloc, and one_page.c, which avoids system calls of the device."""
    arguments = ["-shared", "-fPIC", "-pthread"]
    return (
        machine.compile("deep_stack_loop.c", *arguments, *runtime_arguments(machine), out="deep_device.so"),
        machine.compile("deep_stack_loop.c", *arguments, "-DHOST_MEMORY", out="deep_host.so"),
        machine.compile("one_page.c", *arguments, "-D_GNU_SOURCE", out="one_page.so"),
    )


def runner_of(machine, library, options, one_page):
    """Returns a function that runs deep_stack_loop.py on a library, with our options or without the shim (None)."""

    def run(arguments):
        machine.forget_recordings()
        return rivals.printed_by(
            machine.run([machine.python, DEEP, "-", library, *map(str, arguments)], options, preload=[one_page])
        )

    return run


def variants_of(machine, progress):
    """Returns ({variant: function that runs deep_stack_loop.py}, {missing rival: reason}, {variant: variant to compare with})."""
    on_device, on_host, one_page = libraries_of(machine)
    progress("looking for other profilers")
    usable, missing = rivals.checked(
        [rivals.Memray("python"), rivals.Memray("native"), rivals.Heaptrack(), *rivals.on_device(machine)],
        machine,
        on_host,
    )
    variants = {PLAIN: runner_of(machine, on_device, None, one_page)}
    variants |= {name: runner_of(machine, on_device, f"stacks={value}", one_page) for name, value in OURS.items()}
    variants[PLAIN_HOST] = runner_of(machine, on_host, None, one_page)
    bases = dict.fromkeys(OURS, PLAIN)
    for rival in usable:
        library = on_device if rival.on_device else on_host
        variants[rival.name] = lambda arguments, rival=rival, library=library: rival.run(machine, library, arguments)
        bases[rival.name] = PLAIN if rival.on_device else PLAIN_HOST
    return variants, missing, bases


def event_rows(samples, missing, bases):
    """Returns rows for single events. `samples`: {shape: {variant: nanoseconds of a pair of calls, by process}}"""
    rows = []
    for shape, by_variant in samples.items():
        section = f"an allocation and its free, {SHAPES[shape]}"
        costs = {variant: added(by_variant[variant], by_variant[base]) for variant, base in bases.items()}
        for variant, values in by_variant.items():
            row = row_of(section, variant, "ns", values)
            if variant in bases:
                row.compared, row.figure_unit = "added", "ns"
                row.figure, row.middle_figure = costs[variant]
            rows.append(row)
        rows += [Row(section, rival, note=why) for rival, why in missing.items()]
        # One event without a stack takes half of two such events. The rest of the time is the stack's.
        for variant in ("stacks=native", "stacks=all"):
            low, middle = (whole - none / 2 for whole, none in zip(costs[variant], costs["stacks=none"]))
            rows.append(
                Row(
                    section,
                    f"an allocation's event, {variant}",
                    "ns",
                    low,
                    middle,
                    goal=EVENT_GOALS_NS.get((shape, variant)),
                )
            )
        for rival in bases:
            if rival not in OURS:
                low, middle = times(costs[rival], costs["stacks=all"], MIN_NS)
                rows.append(
                    Row(
                        section,
                        f"{rival} against stacks=all",
                        "times",
                        low,
                        middle,
                        at_least=True,
                        goal=CHEAPER_GOALS.get(shape) if rival in CHEAPER_THAN else None,
                    )
                )
    return rows


def thread_rows(one, two, bases):
    """Returns rows for one thread and for two at the same time.

    `one`, `two`: {variant: [deep_stack_loop.py's figures for differing stacks, by process]}
    """
    rows = []
    for kind, words in KINDS.items():
        section = f"two threads at once, differing stacks, {words} of a pair"
        for variant, base in bases.items():
            both, alone = ([sample[kind] for sample in printed[variant]] for printed in (two, one))
            bases_two, bases_one = ([sample[kind] for sample in printed[base]] for printed in (two, one))
            low, middle = times(added(both, bases_two), added(alone, bases_one), MIN_NS)
            goal = TWO_THREADS_GOAL if kind == "cpu_ns" and variant == "stacks=all" else None
            rows.append(
                row_of(
                    section,
                    variant,
                    "ns",
                    both,
                    compared="added, next to one thread",
                    figure=low,
                    middle_figure=middle,
                    figure_unit="times",
                    goal=goal,
                )
            )
    return rows


def first_rows(samples, bases):
    """Returns rows for the first pair of calls in a new thread. `samples`: {variant: wall nanoseconds, by process}"""
    rows = []
    for variant, values in samples.items():
        row = row_of("the first allocation and free of a new thread", variant, "us", [value / 1000 for value in values])
        if variant in bases:
            low, middle = added(values, samples[bases[variant]])
            row.compared, row.figure_unit, row.figure, row.middle_figure = "added", "us", low / 1000, middle / 1000
            row.goal = FIRST_GOAL_US if variant == "stacks=all" else None
        rows.append(row)
    return rows


def stack(machine, effort, progress):
    cycles = effort.processes(9, 3)
    count, rounds, threads = effort.pick(5000, 5000, 500), effort.pick(40, 10, 2), effort.pick(50, 20, 3)
    variants, missing, bases = variants_of(machine, progress)
    failed = {}

    def measure(variant):
        if variant in failed:
            return None
        try:
            run = variants[variant]
            return {
                "one": run(["measure", count, rounds]),
                "two": run(["measure", count, rounds, 2]),
                "first": run(["first", threads]),
            }
        except rivals.Unusable as why:
            failed[variant] = str(why)
            return None

    def text_of(sample):
        return (
            "failed"
            if sample is None
            else (
                f"{sample['one']['same']['cpu_ns']:,.0f} ns, differing "
                f"{sample['one']['differing']['cpu_ns']:,.0f} ns, first {sample['first']:,.0f} ns"
            )
        )

    printed = alternate(variants, cycles, measure, progress, text_of)
    printed = {variant: samples for variant, samples in printed.items() if variant not in failed}
    bases = {variant: base for variant, base in bases.items() if variant not in failed}
    one = {
        shape: {variant: [sample["one"][shape]["cpu_ns"] for sample in samples] for variant, samples in printed.items()}
        for shape in SHAPES
    }
    differing = [
        {variant: [sample[threads]["differing"] for sample in samples] for variant, samples in printed.items()}
        for threads in ("one", "two")
    ]
    return [
        *event_rows(one, {**missing, **failed}, bases),
        *thread_rows(*differing, bases),
        *first_rows({variant: [sample["first"] for sample in samples] for variant, samples in printed.items()}, bases),
    ]
