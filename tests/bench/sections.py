# SPDX-License-Identifier: MIT
"""What scripts/bench measures. Each function measures one thing and returns rows of the table."""
import json
import os
import statistics

from sampling import HERE, Row, alternate, slower_percent, spawn_ms, time_and_memory

# How the loop is run: (options of the shim, or None: without it; PyTorch's own recorder)
LOOPS = {
    "without the shim": (None, "none"),
    "stacks=all": ("stacks=all", "none"),
    "stacks=python": ("stacks=python", "none"),
    "stacks=native": ("stacks=native", "none"),
    "stacks=none": ("stacks=none", "none"),
    "stacks=all, free_stacks=on": ("stacks=all:free_stacks=on", "none"),
    "PyTorch's recorder, stacks=python": (None, "python"),
    "PyTorch's recorder, stacks=all": (None, "all"),
}
PLAIN = "without the shim"
SLOWER_GOAL_PERCENT = 12
BYTES_GOAL = 10
STARTUP_GOAL_MS = 2
REPORT_GOAL_SECONDS, REPORT_GOAL_MIB = 2, 300
READER_GOAL_NS, READER_GOAL_MIB = 100, 381  # 10 million events in a second and 400 MB
SAME_PERCENT = 5  # what "costs the same" allows for noise


def compare(section, unit, samples, goals, compared="slower"):
    """A row for each variant, held against the first one."""
    plain = next(iter(samples))
    rows = []
    for variant, values in samples.items():
        row = Row(section, variant, unit, min(values), statistics.median(values), samples=values)
        if variant != plain:
            row.compared = compared
            row.figure, row.middle_figure = slower_percent(values, samples[plain])
            row.figure_unit, row.goal = "%", goals.get(variant)
        rows.append(row)
    return rows


def training_loop(machine, quick, progress):
    steps, rounds, cycles = (5, 10, 2) if quick else (5, 30, 7)
    script = os.path.join(HERE, "training_loop.py")
    bytes_per_event = {}

    def measure(variant):
        options, recorder = LOOPS[variant]
        machine.forget_snapshots()
        told = json.loads(machine.run([machine.python, script, str(steps), str(rounds), recorder], options))
        if options is not None:
            snapshot = machine.take_snapshot()
            events = machine.report(snapshot)["events"]
            if events["dropped"]:
                raise SystemExit(f"scripts/bench: {events['dropped']} events were dropped with {options}")
            bytes_per_event.setdefault(variant, []).append(os.path.getsize(snapshot) / events["recorded"])
        return told

    told = alternate(LOOPS, cycles, measure, progress)

    def column(key):
        return {variant: [sample[key] for sample in samples] for variant, samples in told.items()}

    rows = compare("training loop, a step in the fastest of some rounds", "ms", column("wall_ms"),
                   {"stacks=all": SLOWER_GOAL_PERCENT})
    rows += compare("training loop, processor time of a step in all threads, the writer's too", "ms",
                    column("cpu_ms"), {})
    for variant, values in bytes_per_event.items():
        rows.append(Row("size on disk", variant, "bytes/event", min(values), statistics.median(values),
                        goal=BYTES_GOAL, samples=values))
    return rows


def exceptions(machine, quick, progress):
    cycles = 3 if quick else 9
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
            machine.forget_snapshots()
            return float(machine.run(command, variants[variant]))

        samples = alternate(variants, cycles if name == "C++" or quick else 5, measure, progress)
        rows += compare("exceptions", "ns", samples, {f"{name}, with it": SAME_PERCENT})
    return rows


def startup(machine, quick, progress):
    rows = []
    for command in (["true"], ["ls", "/usr"]):
        environments = {f"{command[0]}, {PLAIN}": machine.environment(), f"{command[0]}, with it": machine.environment("")}
        # The simulated device's folder in front of the library path would count as part of both.
        for variables in environments.values():
            variables.pop("LD_LIBRARY_PATH", None)
        samples = alternate(environments, 100 if quick else 500,
                            lambda variant: spawn_ms(command, environments[variant]), progress)
        plain, shimmed = samples.values()
        rows.append(Row("start-up", f"{command[0]}, {PLAIN}", "ms", min(plain), statistics.median(plain), samples=plain))
        rows.append(Row("start-up", f"{command[0]}, with it", "ms", min(shimmed), statistics.median(shimmed),
                        compared="more", figure=min(shimmed) - min(plain), figure_unit="ms",
                        middle_figure=statistics.median(a - b for a, b in zip(shimmed, plain)),
                        goal=STARTUP_GOAL_MS, samples=shimmed))
    return rows


def report(machine, quick, progress):
    synthetic = os.path.join(machine.folder, "million.gmt.gz")
    files = {"1 million synthetic events": synthetic}
    progress("writing a million events")
    machine.run([os.path.join(machine.build, "tests", "unit", "make_snapshot"), synthetic, "events=1000000",
                 "threads=4", "sites=2000", "depth=30", "live=20000"])
    if not quick:
        progress("recording a million events")
        # 1130 events a step; the symbols of PyTorch's libraries are part of such a report.
        machine.run([machine.python, os.path.join(HERE, "training_loop.py"), "5", "175", "none"], "")
        real = os.path.join(machine.folder, "real.gmt.gz")
        os.replace([path for path in (os.path.join(machine.folder, name) for name in os.listdir(machine.folder))
                    if path.endswith(".gmt.gz") and path != synthetic and os.path.basename(path)[0].isdigit()][0], real)
        recorded = machine.report(real)["events"]["recorded"]
        files[f"the training loop's {recorded:,} events"] = real
    rows = []
    # The first time, and with what the run before kept of symbols.
    cases = [(name, ["--no-symbol-cache", path]) for name, path in files.items()]
    cases += [] if quick else [(f"{name}, again", [path]) for name, path in files.items() if path != synthetic]
    for name, arguments in cases:
        taken = [time_and_memory([machine.cli, "report", *arguments]) for _ in range(3 if quick else 7)]
        seconds, memory = ([sample[i] for sample in taken] for i in (0, 1))
        rows.append(Row("report", name, "s", min(seconds), statistics.median(seconds), goal=REPORT_GOAL_SECONDS,
                        samples=seconds))
        rows.append(Row("report", "memory at most for it", "MiB", max(memory), statistics.median(memory),
                        goal=REPORT_GOAL_MIB, samples=memory))
    return rows


def reader(machine, quick, progress):
    """What a report costs by the number of events, with the same sites and the same live blocks."""
    rows = []
    for millions in (1, 3) if quick else (1, 10, 30):
        path = os.path.join(machine.folder, "events.gmt.gz")
        name = f"{millions} million events"
        progress(f"writing {name}")
        machine.run([os.path.join(machine.build, "tests", "unit", "make_snapshot"), path, f"events={millions}000000",
                     "threads=2", "sites=500", "depth=10", "live=5000", "level=1"])
        progress(f"reading {name}")
        taken = [time_and_memory([machine.cli, "report", path]) for _ in range(3 if quick else 5)]
        os.unlink(path)
        seconds, memory = ([sample[i] for sample in taken] for i in (0, 1))
        goals = (READER_GOAL_NS, READER_GOAL_MIB) if millions == 10 else (None, None)
        rows.append(Row("a report by events", name, "s", min(seconds), statistics.median(seconds), goal=goals[0],
                        compared="an event", figure=min(seconds) / millions * 1000, figure_unit="ns",
                        middle_figure=statistics.median(seconds) / millions * 1000, samples=seconds))
        rows.append(Row("a report by events", f"memory at most for {name}", "MiB", max(memory),
                        statistics.median(memory), goal=goals[1], samples=memory))
    return rows


def event_cost(machine, quick, progress):
    """Bursts that fit into a ring, with rests for the writer: what a thread pays, not what a core can write."""
    program = machine.compile("malloc_loop.c", "-rdynamic", *runtime_arguments(machine))
    # What each adds to which, and how many of it a pair of calls has.
    variants = {
        PLAIN: (None, None, 0, ""),
        "stacks=none": ("stacks=none", PLAIN, 2, "an event"),
        "stacks=python": ("stacks=python", "stacks=none", 1, "no Python"),
        "stacks=native": ("stacks=native", "stacks=none", 1, "a stack"),
        "stacks=all": ("stacks=all", "stacks=none", 1, "stacks"),
        "stacks=all, free_stacks=on": ("stacks=all:free_stacks=on", "stacks=none", 2, "stacks"),
    }

    def measure(variant):
        machine.forget_snapshots()
        return float(machine.run([program, "5000", "20"], variants[variant][0]))

    samples = alternate(variants, 3 if quick else 15, measure, progress)
    rows = []
    for variant, (_, base, count, what) in variants.items():
        values = samples[variant]
        row = Row("cudaMalloc and cudaFree, twenty functions deep", variant, "ns", min(values),
                  statistics.median(values), samples=values)
        if base:
            row.compared, row.figure_unit = what, "ns"
            row.figure = (min(values) - min(samples[base])) / count
            row.middle_figure = statistics.median(a - b for a, b in zip(values, samples[base])) / count
        rows.append(row)
    return rows


def pauses(machine, quick, progress):
    """Four threads that do nothing but allocate and free: how long a pair of calls takes at worst."""
    program = machine.compile("pauses.c", "-rdynamic", "-pthread", *runtime_arguments(machine))
    variants = {PLAIN: None, "stacks=none": "stacks=none", "stacks=all": "stacks=all",
                "stacks=all, overflow=drop": "stacks=all:overflow=drop"}

    def measure(variant):
        machine.forget_snapshots()
        return [float(value) for value in machine.run([program, "4", "50000"], variants[variant]).split()]

    samples = alternate(variants, 3 if quick else 11, measure, progress)
    return [Row("a pair of calls in one of four busy threads", f"{variant}: {name}", "us",
                min(values) / 1000, statistics.median(values) / 1000, samples=values)
            for variant in variants
            for name, values in zip(("median", "99.99 %", "longest"), zip(*samples[variant]))]


def runtime_arguments(machine):
    """How a C program is linked to the runtime of the device that is measured."""
    headers = []
    with open(os.path.join(machine.build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        for option in json.load(file):
            if option["name"] == "cudaheaders" and option["value"]:
                headers = option["value"].split(":")
    headers = headers or [path for path in ("/usr/local/cuda/include",) if os.path.isdir(path)]
    library = os.path.join(machine.build, "simcuda", "libcudart.so.13") if machine.libraries else "-lcudart"
    return [*(f"-I{path}" for path in headers), library]


SECTIONS = {
    "loop": training_loop,
    "exceptions": exceptions,
    "startup": startup,
    "report": report,
    "reader": reader,
    "event": event_cost,
    "pauses": pauses,
}
