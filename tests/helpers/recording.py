# SPDX-License-Identifier: MIT
"""Writes a recording as a story: allocations and frees by lines of a program, step by step."""

import cli
import write_recording as w
from definitions import Kind, Layer, MarkKind, MarkSource, Space

CUDA, TORCH = Layer.CUDA, Layer.TORCH
DEVICE, PINNED = Space.DEVICE, Space.PINNED
MiB = 1 << 20


class Story:
    def __init__(self, **process):
        self.process = {"rank": -1, "directory": "/home/me", "pid": 7, **process}
        self.stamp, self.next_address = 2000, 0x7000_0000
        self.events, self.marks, self.codes, self.places, self.stacks = [], [], {}, {}, {}
        self.native, self.mark_names, self.ooms, self.drops, self.live = {}, {}, [], [], {}
        self.samples, self.environment, self.uuid = [], {}, ""

    def stack(self, *lines):
        """Adds a Python stack and returns its id. Lines have the form "FILE:LINE in FUNCTION", leaf first."""
        items = []
        for number, line in enumerate(lines):
            where, function = line.split(" in ")
            file, at = where.rsplit(":", 1)
            code = self.codes.setdefault((function, file), len(self.codes) + 1)
            place = self.places.setdefault((code, int(at)), len(self.places) + 1)
            items.append(place * 2 + (number == len(lines) - 1))
        return self.stacks.setdefault(tuple(items), len(self.stacks) + 1)

    def event(self, kind, **fields):
        self.stamp += 10
        self.events.append(
            {"stamp": self.stamp, "thread": 1, "kind": kind, "layer": TORCH, "space": DEVICE, "device": 0, **fields}
        )
        return self.stamp

    def alloc(self, size, *lines, address=None, module=None, **fields):
        """Allocates a block at this line and returns its address."""
        if address is None:
            address, self.next_address = self.next_address, self.next_address + max(size, 512)
        if module:
            fields["stack"] = self.native.setdefault(module, len(self.native) + 1)
        if lines:
            fields["frames"] = self.stack(*lines)
        self.event(Kind.ALLOC, address=address, size_bytes=size, **fields)
        self.live[address] = fields.get("layer", TORCH), size
        return address

    def free(self, address, **fields):
        layer, size = self.live.pop(address)
        self.event(
            Kind.FREE,
            **{
                "address": address,
                "layer": layer,
                "device": -2 if layer == CUDA else 0,
                "size_bytes": size if layer == TORCH else 0,
                **fields,
            },
        )

    def step(self):
        self.stamp += 10
        self.marks.append(w.mark(self.stamp, MarkKind.STEP, MarkSource.PROGRAM))

    def name(self, text):
        """Returns the id of a name of marks."""
        return self.mark_names.setdefault(text, len(self.mark_names) + 1)

    def steps(self, count, body=lambda number: None):
        for number in range(count):
            body(number)
            self.step()

    def write(self, name, ends=True):
        blocks = [
            w.process(**self.process),
            w.block("device", {"ordinal": 0, "name": "A GPU", "total_bytes": 80 << 30, "uuid": self.uuid}),
            w.block("thread", {"id": 1, "tid": 7, "name": "main"}),
        ]
        if self.environment:
            blocks.append(w.block("environment", *({"name": k, "value": v} for k, v in self.environment.items())))
        if self.codes:
            blocks += [
                w.block(
                    "code",
                    *(
                        {"id": i, "function": function, "file": file, "first_line": 1}
                        for (function, file), i in self.codes.items()
                    ),
                ),
                w.block("frame", *({"id": i, "code": code, "line": line} for (code, line), i in self.places.items())),
                w.block("frames", *({"id": i, "items": list(items)} for items, i in self.stacks.items())),
            ]
        for module, i in self.native.items():
            blocks += [
                w.block("module", {"id": i, "start": i << 20, "end": (i + 1) << 20, "bias": i << 20, "path": module}),
                w.block("stack", {"id": i, "items": [(i << 20) + 64]}),
            ]
        if self.mark_names:
            blocks.append(w.block("name", *({"id": i, "text": text} for text, i in self.mark_names.items())))
        if self.marks:
            blocks.append(w.block("mark", *self.marks))
        if self.events:
            blocks.append(w.block("event", *self.events))
        for kind, rows in ("oom", self.ooms), ("drop", self.drops), ("sample", self.samples):
            if rows:
                blocks.append(w.block(kind, *rows))
        if ends:
            blocks.append(w.end(len(self.events), stamp=self.stamp + 10))
        w.write(cli.place(name), *blocks)
        return cli.place(name)


def train_with_spread_leak(story, steps=60, kept=1536, also=lambda number: None):
    """Adds a loop that leaks in each step. Each line leaks in only two steps, so only the sum of all lines grows."""
    story.alloc(4 * MiB, "/home/me/spread.py:5 in build", "/home/me/spread.py:900 in main")

    def body(number):
        story.alloc(
            kept, f"/home/me/spread.py:{10 + number // 2} in part{number // 2}", "/home/me/spread.py:901 in main"
        )
        also(number)

    story.steps(steps, body)
    return story


def train(story, steps=20, leak=0, size=MiB, line=31, file="/home/me/train.py", layer=TORCH):
    """Adds a loop that holds a model, makes a block in each step and keeps `leak` bytes of each step."""
    story.alloc(4 * size, f"{file}:5 in build", f"{file}:90 in main", layer=layer)

    def body(_number):
        block = story.alloc(size, f"{file}:{line} in step", f"{file}:91 in main", layer=layer)
        if leak:
            story.alloc(leak, f"{file}:{line + 1} in keep", f"{file}:91 in main", layer=layer)
        story.free(block)

    story.steps(steps, body)
    return story
