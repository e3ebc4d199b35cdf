# SPDX-License-Identifier: MIT
"""Blocks that an optimizer allocates are its state, except blocks that its closure allocates."""

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


if __name__ == "__main__":
    cli.main()
