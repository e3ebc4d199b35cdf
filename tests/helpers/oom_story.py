# SPDX-License-Identifier: MIT
"""Writes recordings of programs whose requests the driver or PyTorch refuses."""

import cli
import write_recording as w
from definitions import Kind, Layer, Space

MIB = 1 << 20
CUDA, TORCH = Layer.CUDA, Layer.TORCH
ALLOC, FREE, REFUSED = Kind.ALLOC, Kind.FREE, Kind.ALLOC_FAILED
GPU = {"ordinal": 0, "name": "GPU", "uuid": "GPU-1", "total_bytes": 100 * MIB}


class OomStory:
    """Events of one thread, a millisecond apart, and the answers of the driver about its free memory."""

    def __init__(self):
        self.events, self.answers, self.totals = [], [], (0, 0)

    def add(self, kind, layer, size, address=0, frames=1, **more):
        event = {
            "stamp": 10**6 + 1000 * (len(self.events) + 1),
            "thread": 1,
            "kind": kind,
            "layer": layer,
            "space": Space.DEVICE,
            "device": 0,
            "api": layer,
            "address": address,
            "size_bytes": size,
            "frames": frames,
            **more,
        }
        if kind == REFUSED and layer == CUDA:
            event.setdefault("result", 2)
        self.events.append(event)

    def torch(self, kind, size, address=0, reserved=0, frames=1):
        """Adds an event of PyTorch. It stores PyTorch's totals as differences from the expected totals."""
        allocated, before = self.totals
        expected = allocated + {ALLOC: size, FREE: -size, REFUSED: 0}[kind]
        self.totals = (expected, reserved)
        self.add(kind, TORCH, size, address, frames, reserved_bytes=reserved - before)

    def driver_answer(self, free, total=100 * MIB):
        """Adds the answer of the driver about its free memory, directly after the last event."""
        self.answers.append(
            {
                "stamp": self.events[-1]["stamp"],
                "thread": 1,
                "device": self.events[-1]["device"],
                "free_bytes": free,
                "total_bytes": total,
            }
        )

    def write(self, name="oom.gmt.gz"):
        file = "/home/me/train.py"
        w.write(
            cli.place(name),
            w.process(start_stamp=10**6, directory="/home/me"),
            w.block(
                "clock",
                {"stamp": 10**6, "monotonic_ns": 10**9, "realtime_ns": 10**18},
                {"stamp": 2 * 10**6, "monotonic_ns": 2 * 10**9, "realtime_ns": 10**18 + 10**9},
            ),
            w.block("device", GPU),
            w.block("thread", {"id": 1, "tid": 7, "name": "python"}),
            w.block(
                "api",
                {"id": CUDA, "name": "cudaMalloc", "library": "cudart"},
                {"id": TORCH, "name": "reportOutOfMemoryToProfiler", "library": "c10"},
            ),
            w.block("code", *({"id": i, "function": f"place{i}", "file": file} for i in range(1, 10))),
            w.block("frame", *({"id": i, "code": i, "line": i} for i in range(1, 10))),
            w.block("frames", *({"id": i, "items": [2 * i + 1]} for i in range(1, 10))),
            w.block("event", *self.events),
            *([w.block("oom", *self.answers)] if self.answers else []),
            w.end(len(self.events), 2 * 10**6),
        )
        return cli.place(name)

    def text(self):
        """Returns what the report says about refused requests, as one line without its heading."""
        lines = (
            cli.run("report", "--full", self.write()).stdout.split("\nOut of memory")[1].split("\n\n")[0].split("\n")
        )
        assert all(len(line) <= 110 for line in lines), lines
        self.heading = "Out of memory" + lines[0]
        return " ".join(line.strip() for line in lines[1:])

    def json(self, *arguments):
        return cli.report(self.write(), *arguments)
