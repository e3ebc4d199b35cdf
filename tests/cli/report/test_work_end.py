# SPDX-License-Identifier: MIT
"""The end of the program's work: blocks that are live then, before the interpreter frees them."""

import unittest

import cli
import write_recording as w
from definitions import Kind, Layer, MarkKind, MarkSource


def event(stamp, kind, address, size, **more):
    return {
        **w.EVENT,
        "stamp": stamp,
        "kind": kind,
        "layer": Layer.TORCH,
        "device": 0,
        "address": address,
        "size_bytes": size,
        **more,
    }


class WorkEnd(unittest.TestCase):
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
        path = cli.place(name)
        w.write(
            path,
            w.process(start_stamp=0),
            w.block("option", {"key": "stacks", "value": "python"}),
            w.block(
                "clock",
                {"stamp": 0, "monotonic_ns": 0, "realtime_ns": 10**18},
                {"stamp": 10**6, "monotonic_ns": 10**6, "realtime_ns": 10**18 + 10**6},
            ),
            w.block("code", {"id": 1, "function": "main", "file": "/home/me/train.py"}),
            w.block("frame", *({"id": number, "code": 1, "line": 10 * number} for number in (1, 2))),
            w.block("frames", *({"id": number, "items": [number << 1]} for number in (1, 2))),
            *([w.block("mark", *marks)] if marks else []),
            w.block("event", *events),
            w.end(len(events), events[-1]["stamp"] + 1000),
        )
        return path

    def live(self, path, *arguments):
        result = cli.report(path, *arguments)
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

    def test_a_compacted_recording_has_the_same_end(self):
        path, compacted = self.write("whole.gmt.gz", self.TEARDOWN), cli.place("compacted-end.gmt.gz")
        self.assertEqual(cli.run("fold", "--keep-steps=1", path, "-o", compacted).returncode, 0)
        self.assertEqual(self.live(compacted)[1], 4096)


if __name__ == "__main__":
    cli.main()
