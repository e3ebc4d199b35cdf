# SPDX-License-Identifier: MIT
"""Texts for people equal tests/cli/expected/NAME.txt. GMT_TEST_UPDATE=1 writes these files again."""

import os
import unittest

import cli
import write_recording as w
from definitions import Kind, Layer, Space

EXPECTED = os.path.join(cli.TESTS, "cli", "expected")
GOLDEN = os.path.join(cli.TESTS, "golden")
# The first screen names the page only if the program has one. This program always has one.
cli.CLI = os.environ["GMT_TEST_PAGE_CLI"]


def event(stamp, address, size, **more):
    return {
        **w.EVENT,
        "stamp": stamp * 1000,
        "layer": Layer.TORCH,
        "device": 0,
        "api": 1,
        "address": address,
        "size_bytes": size,
        **more,
    }


def write_story(path):
    """Writes a small training that fills each part of a report: both layers, pinned memory, a refused request."""
    files = {
        1: "/home/me/train.py",
        2: "/home/me/model.py",
        3: "/env/lib/python3.11/site-packages/torch/nn/modules/linear.py",
    }
    codes = [
        {"id": 1, "function": "<module>", "file": files[1]},
        {"id": 2, "function": "train", "file": files[1]},
        {"id": 3, "function": "Net.forward", "file": files[2]},
        {"id": 4, "function": "Linear.forward", "file": files[3]},
        {"id": 5, "function": "Module._call_impl", "file": files[3].replace("linear", "module")},
    ]
    frames = [
        {"id": 1, "code": 1, "line": 40},
        {"id": 2, "code": 2, "line": 31},
        {"id": 3, "code": 3, "line": 12},
        {"id": 4, "code": 4, "line": 125},
        {"id": 5, "code": 5, "line": 1798},
    ]
    # train.py alone; the model's line; a layer's weight through two frames of a package
    stacks = [{"id": 1, "items": [4, 3]}, {"id": 2, "items": [6, 4, 3]}, {"id": 3, "items": [8, 10, 10, 6, 4, 3]}]
    mib = 1 << 20
    events = [
        event(2000, 0x1000000, 20 * mib, layer=Layer.CUDA, api=2, frames=1),
        event(2010, 0x1000000, 6 * mib, frames=3, allocated_bytes=0, reserved_bytes=20 * mib),
        event(2020, 0x1600000, 9 * mib, frames=2),
        event(2030, 0x1F00000, 512, frames=1),
        {**event(2040, 0x1600000, 9 * mib, frames=0), "kind": Kind.FREE},
        event(2050, 0x5000, 2 * mib, layer=Layer.CUDA, space=Space.PINNED, device=-1, api=3, frames=1),
        {**event(2060, 0, 3 << 40, layer=Layer.CUDA, api=2, frames=2), "kind": Kind.ALLOC_FAILED, "result": 2},
    ]
    w.write(
        path,
        w.process(
            command=b"python\0train.py\0--name\0my run\0",
            rank=2,
            start_time_ns=1700000000 * 10**9,
            start_stamp=10**6,
            directory="/home/me",
            host="node7",
        ),
        w.block("option", {"key": "stacks", "value": "python"}, {"key": "depth", "value": "64"}),
        w.block(
            "clock",
            {"stamp": 10**6, "monotonic_ns": 10**9, "realtime_ns": 1700000000 * 10**9},
            {"stamp": 3 * 10**6, "monotonic_ns": 3 * 10**9, "realtime_ns": 1700000002 * 10**9},
        ),
        w.block("device", {"ordinal": 0, "name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-1", "total_bytes": 80 << 30}),
        w.block("thread", {"id": 1, "tid": 7, "name": "python"}),
        w.block(
            "api",
            {"id": 1, "name": "reportMemoryUsageToProfiler", "library": "c10"},
            {"id": 2, "name": "cuMemAlloc_v2", "library": "cuda"},
            {"id": 3, "name": "cuMemHostAlloc", "library": "cuda"},
        ),
        w.block("code", *codes),
        w.block("frame", *frames),
        w.block("frames", *stacks),
        w.block("event", *events),
        w.block("note", {"text": "the driver was reached after 3 s"}),
        w.end(len(events), 3 * 10**6),
    )


class Text(unittest.TestCase):
    maxDiff = None

    def check(self, name, *arguments, code=0, cwd=None):
        done = cli.run(*arguments, cwd=cwd, environment={"LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, code, done.stderr)
        text = done.stdout + done.stderr
        path = os.path.join(EXPECTED, name + ".txt")
        if os.environ.get("GMT_TEST_UPDATE"):
            os.makedirs(EXPECTED, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(text, file.read())

    def story(self):
        write_story(cli.place("story.gmt.gz"))
        return "story.gmt.gz"

    def test_a_report_reads_as_expected(self):
        self.check("report", "report", self.story())
        self.check("report-full", "report", "--full", self.story())

    def test_a_report_up_to_a_moment_reads_as_expected(self):
        self.check("report-until", "report", "--full", "--until=1025ms", "--sort=live", self.story())

    def test_a_report_in_colours_reads_as_expected(self):
        self.check("report-color", "report", "--full", "--color=always", "--limit=1", "--frames=2", self.story())

    def test_a_report_of_an_incomplete_recording_begins_with_that(self):
        cli.make("lost.gmt.gz", events=200, drop=3, end=0, torch=0, devices=1)
        self.check("report-incomplete", "report", "--full", "--limit=1", "lost.gmt.gz")

    def test_a_report_of_two_files_reads_as_expected(self):
        cli.make("a.gmt.gz", events=30, torch=0, devices=1, depth=2)
        cli.make("b.gmt.gz", events=30, torch=0, devices=1, depth=2, rank=0)
        self.check("report-two", "report", "--full", "--limit=1", "a.gmt.gz", "b.gmt.gz")

    def test_a_report_of_nothing_reads_as_expected(self):
        w.write(cli.place("nothing.gmt.gz"), w.process(command=b""), w.end(0))
        self.check("report-nothing", "report", "--full", "nothing.gmt.gz")

    def test_info_reads_as_expected(self):
        self.check("info", "info", self.story())

    def test_dump_reads_as_expected(self):
        self.check("dump", "dump", self.story())
        self.check("dump-events", "dump", "--json", "--record=event", "--record", "clock", self.story())

    def test_help_reads_as_expected(self):
        self.check("help", "help")
        self.check("help-report", "help", "report")
        self.check("help-run", "help", "run")

    def test_the_output_for_the_golden_file_of_version_1_stays_the_same(self):
        self.check("golden-1", "report", "--full", "--limit=2", "version-1.gmt", cwd=GOLDEN)


if __name__ == "__main__":
    cli.main()
