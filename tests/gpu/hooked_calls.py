# SPDX-License-Identifier: MIT
"""Calls every hooked function once by every route, as tests/shim/hooks does, on the machine's device.

First, each function is called alone without the recorder. If this call fails, the device or driver does not support the
function. The check then prints the reason and leaves the function out.
"""

import concurrent.futures
import glob
import os
import re
import sys
import tempfile

from runner import SOURCE, Run
from definitions import Layer

WORKERS = 4
ERROR_TEXTS = {
    "1": "invalid value",
    "2": "out of memory",
    "101": "no such device",
    "500": "not found",
    "800": "not permitted",
    "801": "not supported",
}
NOT_ON_REAL_DEVICES = {
    # The simulated driver accepts any number or pointer as a resource of the other interface.
    "cuGraphicsEGLRegisterImage": "needs an image of EGL",
    "cuGraphicsGLRegisterBuffer": "needs OpenGL",
    "cuGraphicsGLRegisterImage": "needs OpenGL",
    "cuGraphicsVDPAURegisterVideoSurface": "needs VDPAU",
    "cuGraphicsVDPAURegisterOutputSurface": "needs VDPAU",
    "cuGraphicsUnregisterResource": "needs OpenGL",
    # The simulated driver recognizes a handle's process by bytes in its own layout.
    "cuIpcOpenMemHandle": "needs a handle of another process",
    "cuIpcOpenMemHandle_v2": "needs a handle of another process",
    "cuIpcCloseMemHandle": "needs a handle of another process",
    "cudaIpcOpenMemHandle": "needs a handle of another process",
    "cudaIpcCloseMemHandle": "needs a handle of another process",
    # The simulated driver does not read the descriptor.
    "cuImportExternalMemory": "needs memory of Vulkan",
    "cuExternalMemoryGetMappedBuffer": "needs memory of Vulkan",
    "cuExternalMemoryGetMappedMipmappedArray": "needs memory of Vulkan",
    "cuDestroyExternalMemory": "needs memory of Vulkan",
    "cudaImportExternalMemory": "needs memory of Vulkan",
    "cudaExternalMemoryGetMappedBuffer": "needs memory of Vulkan",
    "cudaDestroyExternalMemory": "needs memory of Vulkan",
}


def load_shim_test(runner):
    """Loads tests/shim/hooks/test_routes.py, which knows the expected events."""
    os.environ["GMT_TEST_PROGRAMS"] = os.environ["GMT_TEST_BUILD"] = runner.programs
    sys.path[:0] = [os.path.join(SOURCE, "tests", "shim", "hooks"), os.path.join(SOURCE, "tests", "helpers")]
    import test_routes

    return test_routes


class Snippets:
    """Runs the program snippets, which calls functions by one route, and compares the events of its recording."""

    def __init__(self, runner, expectations, libraries):
        self.runner, self.expectations, self.libraries = runner, expectations, libraries
        self.machine = expectations.MACHINE if runner.is_simulated else {}

    def run(self, route, symbols, name=None):
        others = self.runner.libraries or os.environ.get("LD_LIBRARY_PATH", "")
        # Several programs run at the same time, and they write files.
        with tempfile.TemporaryDirectory() as folder:
            return self.runner.run(
                [self.runner.program("snippets"), route, *symbols],
                name=name,
                folder=folder,
                LD_LIBRARY_PATH=self.libraries + (":" + others if others else ""),
                **self.machine,
            )

    def why_not(self, symbol):
        """Returns why a function cannot be called here even without the recorder, or ''."""
        if not self.runner.is_simulated and symbol in NOT_ON_REAL_DEVICES:
            return NOT_ON_REAL_DEVICES[symbol]
        if self.runner.seconds_left() < 0:
            return "no time is left"
        plain = self.run("dlsym", [symbol])
        if f"none {symbol}" in plain.out:
            return "not there"
        failed = re.findall(r"^(\w+): (.*) is (\d+)$", plain.err, re.M)
        if failed:
            _, expression, code = failed[0]
            inside = re.match(r"D\((\w+)\)|(\w+)\(", expression)
            name = (inside.group(1) or inside.group(2)) if inside else expression
            return f"error {code} ({ERROR_TEXTS.get(code, 'see cuda.h')})" + (
                "" if name == "call" else f" of {name}, which it needs"
            )
        return plain.why() if plain.code else ""

    def expected(self, out):
        return [
            self.expectations.expected_event(line.split()[1:]) for line in out.splitlines() if line.startswith("event ")
        ]

    def differences(self, run):
        """Returns the events that the recording lacks or has too many, compared with the program's output."""
        expected = self.expected(run.out)
        recorded = [self.expectations.recorded_event(row) for row in self.runner.events(run.file)] if run.file else []
        if not self.runner.is_simulated:
            # The real runtime makes contexts and loads code by itself, and the test cannot know their sizes.
            expected, recorded = (
                [event for event in events if event[2] != Layer.DRIVER] for events in (expected, recorded)
            )
        for place, (mine, seen) in enumerate(zip(expected, recorded)):
            if mine != seen:
                return [f"event {place}: {seen} instead of {mine}"]
        if len(recorded) > len(expected):
            return [f"{len(recorded) - len(expected)} events too many, first {recorded[len(expected)]}"]
        if len(recorded) < len(expected):
            return [f"{len(expected) - len(recorded)} events are missing, first {expected[len(recorded)]}"]
        return []

    def leftovers(self, run):
        """Returns the live blocks and unmatched events at the end of the run."""
        result = self.runner.json_report(run.file)
        wrong = [] if result["complete"] else ["the recording is not complete"]
        if not self.runner.is_simulated:
            layers = [layer for device in result["devices"] for layer in device["layers"] if layer["layer"] == "cuda"]
        else:
            layers = [layer for device in result["devices"] for layer in device["layers"]]
        wrong += [
            f"{layer['live_bytes']} bytes of {layer.get('layer', 'the host')} are live at the end"
            for layer in [*layers, result["host"]]
            if layer["live_bytes"] or layer["live_blocks"]
        ]
        # The program frees some memory twice.
        expected = {"refused_frees": run.out.count(" free_failed ")}
        return wrong + [
            f"{name}: {count} instead of {expected.get(name, 0)}"
            for name, count in result["anomalies"].items()
            if count != expected.get(name, 0)
        ]

    def compare(self, route, symbols, name):
        """Calls all symbols in one process. Returns (errors, events, symbols without this route)."""
        plain, recorded = self.run(route, symbols), self.run(route, symbols, name)
        if plain.code:
            return [f"without the recorder: {plain.why()}"], 0, set()
        if recorded.code:
            return [recorded.why()], 0, set()
        printed = [
            [line for line in run.out.splitlines() if not line.startswith("event ")] for run in (plain, recorded)
        ]
        wrong = [f"'{ours}' instead of '{theirs}'" for theirs, ours in zip(*printed) if theirs != ours]
        nowhere = {line.split()[1] for line in printed[0] if line.startswith("none ")}
        if not recorded.file:
            return [*wrong, "nothing was recorded"], 0, nowhere
        wrong += self.differences(recorded) + self.leftovers(recorded)
        return wrong, recorded.out.count("\nevent "), nowhere


def routes_of(runner, runtimes):
    routes = ["export", "dlsym", "handle", "default", "proc_address", "proc_address_v2"]
    if 13 in runtimes:
        routes += ["dlvsym", "entry_point"]
    if 12 in runtimes:
        routes.append("entry_point12")
    return routes


def compare_route(snippets, route, usable):
    """Returns the result of Snippets.compare for the route."""
    if snippets.runner.seconds_left() < 10:
        return None
    wrong, events, nowhere = snippets.compare(route, usable, f"snippets-{route}")
    if wrong and wrong[0].startswith("without the recorder") and len(usable) > 1:
        # A call breaks another call, so each function gets its own process.
        each = [(symbol, *snippets.compare(route, [symbol], f"snippets-{route}-{symbol}")) for symbol in usable]
        wrong = [f"{symbol}: {ours[0]}" for symbol, ours, _, _ in each if ours]
        events, nowhere = sum(row[2] for row in each), set().union(*(row[3] for row in each))
    return wrong, events, nowhere


def usable_symbols(snippets, table):
    """Returns the functions that can be called here. Adds the others to the table, by reason."""
    symbols = [row[1] for row in snippets.expectations.hooks()]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        reasons = dict(zip(symbols, pool.map(snippets.why_not, symbols)))
    usable = [symbol for symbol in symbols if not reasons[symbol]]
    by_reason = {}
    for symbol, reason in reasons.items():
        if reason:
            by_reason.setdefault(reason, []).append(symbol)
    for reason, names in sorted(by_reason.items()):
        table.add("not supported here", "skipped", f"{reason}: {', '.join(names)}", symbols=names)
    if not usable:
        table.add("functions can be called", "FAILED", "none of them")
    return usable


def keep_calls(runner, table, runtimes, libraries):
    """Records each route for compare_kept, when there is no CLI."""
    snippets = Snippets(runner, load_shim_test(runner), libraries)
    usable = usable_symbols(snippets, table)
    for route in routes_of(runner, runtimes) if usable else []:
        run = snippets.run(route, usable, f"snippets-{route}")
        with open(runner.kept_path(f"snippets-{route}.out"), "w", encoding="utf-8") as file:
            file.write(run.out)
        table.add(
            f"each function is one exact event, by {route}",
            "skipped" if run.code == 0 and run.file else "FAILED",
            run.not_compared() if run.code == 0 else run.why(),
        )


def compare_kept(runner, table):
    snippets = Snippets(runner, load_shim_test(runner), "")
    for path in sorted(glob.glob(runner.kept_path("snippets-*.out"))):
        route = os.path.basename(path)[len("snippets-") : -len(".out")]
        files = runner.recordings(f"snippets-{route}")
        with open(path, encoding="utf-8") as file:
            run = Run(0, file.read(), "", files)
        table.judge(
            f"each function is one exact event, by {route}",
            snippets.differences(run) + snippets.leftovers(run) if files else ["nothing was recorded"],
        )


def check_calls(runner, table, runtimes, libraries):
    snippets = Snippets(runner, load_shim_test(runner), libraries)
    usable = usable_symbols(snippets, table)
    routes = routes_of(runner, runtimes) if usable else []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(lambda route: compare_route(snippets, route, usable), routes))
    for route, result in zip(routes, results):
        what = f"each function is one exact event, by {route}"
        if result is None:
            table.add(what, "skipped", "no time is left")
            continue
        wrong, events, nowhere = result
        count = len(usable) - len(nowhere)
        table.judge(
            what,
            wrong,
            f"{count} functions, {events} events",
            functions=count,
            events=events,
            without_route=sorted(nowhere),
        )
