# SPDX-License-Identifier: MIT
"""Which pass made a block, and when the program's work ended: the reader's conclusions from stacks and marks."""

import json
import unittest

import cli
import write_recording as w
from definitions import Kind, Layer, MarkKind, MarkSource

TORCH, OTHER = "/env/lib/python3.11/site-packages/torch/", "/env/lib/python3.11/site-packages/fast_optim/"
OWN = "/home/me/train.py"
CODES = {
    "main": ("main", OWN),
    "closure": ("main.<locals>.closure", OWN),
    "lambda": ("main.<locals>.<lambda>", OWN),
    "compute": ("compute", OWN),
    "own step": ("Own.step", OWN),
    "own helper": ("Own._buffer", OWN),
    "hook": ("on_step", OWN),
    "adam": ("Adam.step", TORCH + "optim/adam.py"),
    "foreach": ("_multi_tensor_adam", TORCH + "optim/adam.py"),
    "grad": ("Optimizer._use_grad.<locals>.wrapped", TORCH + "optim/optimizer.py"),
    "no_grad": ("no_grad.<locals>.decorate_context", TORCH + "utils/_contextlib.py"),
    "any step": ("Optimizer.profile_hook_step.<locals>.wrapper", TORCH + "optim/optimizer.py"),
    "package step": ("Fast.step", OTHER + "fast.py"),
    "package helper": ("update", OTHER + "kernels.py"),
    "contextlib": ("ContextDecorator.__call__.<locals>.inner", "/usr/lib/python3.11/contextlib.py"),
}
NUMBERS = {name: i + 1 for i, name in enumerate(CODES)}

# Leaf first. The optimizer itself makes the blocks of the first stacks.
BY_OPTIMIZER = (
    ("foreach", "adam", "grad", "any step", "main"),
    ("contextlib", "foreach", "adam", "grad", "any step", "main"),
    ("own step", "any step", "main"),
    ("own helper", "own step", "no_grad", "any step", "main"),
    ("package helper", "package step", "no_grad", "any step", "main"),
    ("foreach", "adam", "grad", "any step", "own step", "any step", "main"),
)
BY_CLOSURE = (
    ("closure", "adam", "grad", "any step", "main"),
    ("compute", "lambda", "adam", "grad", "any step", "main"),
    ("closure", "no_grad", "adam", "grad", "any step", "main"),
    ("compute", "adam", "any step", "main"),
    ("closure", "own step", "any step", "main"),
    ("compute", "closure", "own step", "no_grad", "any step", "main"),
    ("compute", "package step", "no_grad", "any step", "main"),
    ("hook", "any step", "main"),
)


def event(stamp, kind, address, size, **more):
    return {
        **w.EVENT,
        "stamp": stamp,
        "kind": kind,
        "layer": Layer.TORCH,
        "device": 0,
        "api": 1,
        "address": address,
        "size_bytes": size,
        **more,
    }


def write(name, events, stacks, marks=(), command=b"python\0train.py\0"):
    path = cli.place(name)
    w.write(
        path,
        w.process(command=command, start_stamp=0),
        w.block("option", {"key": "stacks", "value": "python"}),
        w.block(
            "clock",
            {"stamp": 0, "monotonic_ns": 0, "realtime_ns": 10**18},
            {"stamp": 10**6, "monotonic_ns": 10**6, "realtime_ns": 10**18 + 10**6},
        ),
        w.block("thread", {"id": 1, "tid": 7, "name": "python"}),
        w.block("api", {"id": 1, "name": "reportMemoryUsageToProfiler", "library": "c10"}),
        w.block(
            "code",
            *({"id": number, "function": CODES[name][0], "file": CODES[name][1]} for name, number in NUMBERS.items()),
        ),
        w.block("frame", *({"id": number, "code": number, "line": 10 * number} for number in NUMBERS.values())),
        w.block(
            "frames",
            *({"id": i + 1, "items": [NUMBERS[name] << 1 for name in stack]} for i, stack in enumerate(stacks)),
        ),
        *([w.block("mark", *marks)] if marks else []),
        w.block("event", *events),
        w.end(len(events), events[-1]["stamp"] + 1000),
    )
    return path


def report(path, *arguments):
    done = cli.run("report", "--json", *arguments, path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Closures(unittest.TestCase):
    def test_allocations_of_an_optimizer_are_its_state_except_in_its_closure(self):
        stacks = BY_OPTIMIZER + BY_CLOSURE
        events = [event(10 + i, Kind.ALLOC, 4096 * (i + 1), 512, frames=i + 1) for i in range(len(stacks))]
        marks = [w.mark(1000 * (i + 1), MarkKind.STEP, MarkSource.OPTIMIZER, object=1) for i in range(3)]
        sites = report(write("closures.gmt.gz", events + [event(5000, Kind.ALLOC, 1 << 30, 512)], stacks, marks))[
            "sites"
        ]
        found = {tuple(frame["function"] for frame in site["stack"]): site["category"] for site in sites}
        for stack in stacks:
            with self.subTest(stack):
                category = found[tuple(CODES[name][0] for name in stack)]
                (self.assertEqual if stack in BY_OPTIMIZER else self.assertNotEqual)(category, "optimizer state")


class Ends(unittest.TestCase):
    TEARDOWN = w.mark(2000, MarkKind.TEARDOWN, MarkSource.INTERPRETER)

    def write(self, name, *marks, last=()):
        events = [
            event(100, Kind.ALLOC, 0x1000, 4096, frames=1),
            event(200, Kind.ALLOC, 0x4000, 8192, frames=1),
            event(300, Kind.ALLOC, 0x9000, 512, frames=2),
            event(400, Kind.FREE, 0x9000, 512),
            event(3000, Kind.FREE, 0x4000, 8192),
            *last,
        ]
        return write(name, events, BY_OPTIMIZER[:2], marks)

    def live(self, path, *arguments):
        result = report(path, *arguments)
        (layer,) = [row for row in result["devices"][0]["layers"] if row["layer"] == "torch"]
        sites = [sum(site[key] for site in result["sites"]) for key in ("live_bytes", "left_bytes")]
        self.assertEqual([layer["live_bytes"], layer["left_bytes"]], sites)
        return sites

    def test_live_blocks_are_those_before_the_interpreter_ended(self):
        path = self.write("teardown.gmt.gz", self.TEARDOWN)
        self.assertEqual(self.live(path), [12288, 4096])
        self.assertRegex(
            cli.run("report", "--full", path).stdout, r"\n    left +4\.00 KiB +1  when the process ended\n"
        )

    def test_without_a_mark_live_blocks_are_those_at_the_end_of_the_recording(self):
        path = self.write("no-teardown.gmt.gz")
        self.assertEqual(self.live(path), [4096, 4096])
        self.assertNotIn("when the process ended", cli.run("report", "--full", path).stdout)

    def test_blocks_allocated_after_the_end_are_listed_and_not_live(self):
        path = self.write("late.gmt.gz", self.TEARDOWN, last=[event(4000, Kind.ALLOC, 0x20000, 1024, frames=2)])
        self.assertEqual(self.live(path), [12288, 5120])

    def test_an_earlier_moment_can_still_be_requested(self):
        path = self.write("until.gmt.gz", self.TEARDOWN)
        self.assertEqual(self.live(path, "--until=150"), [4096, 4096])
        self.assertEqual(self.live(path, "--until=2500"), [12288, 12288])

    def test_a_folded_recording_has_the_same_end(self):
        path, folded = self.write("whole.gmt.gz", self.TEARDOWN), cli.place("folded-end.gmt.gz")
        self.assertEqual(cli.run("fold", "--keep-steps=1", path, "-o", folded).returncode, 0)
        self.assertEqual(self.live(folded)[1], 4096)


class Commands(unittest.TestCase):
    def command(self, command):
        path = write(
            "title.gmt.gz", [event(100, Kind.ALLOC, 0x1000, 4096, frames=1)], BY_OPTIMIZER[:1], command=command
        )
        return report(path)["process"]["command"]

    def test_a_process_title_is_one_argument(self):
        self.assertEqual(self.command(b"worker: rank 0" + bytes(60)), ["worker: rank 0"])

    def test_empty_arguments_are_arguments(self):
        self.assertEqual(self.command(b"python\0train.py\0\0\0"), ["python", "train.py", "", ""])
        self.assertEqual(self.command(b"python\0\0"), ["python", ""])


if __name__ == "__main__":
    cli.main()
