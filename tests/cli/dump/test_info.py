# SPDX-License-Identifier: MIT
"""gpumemtrace info: the recorder's estimate of its own cost."""

import json
import unittest

import cli
import read_recording
import write_recording as w

EVENT = {**w.EVENT, "address": 4096, "size_bytes": 100}
TICKS_PER_NS = 3


def recorded(*overheads, events=1000):
    """Writes a recording whose clock has three ticks in a nanosecond."""
    path = cli.place("overhead.gmt.gz")
    w.write(
        path,
        w.process(start_stamp=0),
        w.block(
            "clock",
            {"stamp": 0, "monotonic_ns": 0, "realtime_ns": 10**18},
            {"stamp": 10**9 * TICKS_PER_NS, "monotonic_ns": 10**9, "realtime_ns": 10**18 + 10**9},
        ),
        w.block("event", *({**EVENT, "stamp": i + 1, "address": 4096 * (i + 1)} for i in range(events))),
        *(w.block("overhead", row) for row in overheads),
        w.end(events),
    )
    return path


def estimate(path):
    return json.loads(cli.run("info", "--json", path).stdout)["overhead_estimate"]


def line(path):
    """Returns the lines about the overhead, each with its continuation."""
    text = cli.run("info", path).stdout.replace("\n            ", " ")
    return [line for line in text.splitlines() if line.startswith("  overhead")]


class Overhead(unittest.TestCase):
    LAST = {"timed_events": 4, "timed_ticks": 4 * 200 * TICKS_PER_NS, "long_events": 1, "writer_ns": 5000000}

    def test_the_estimate_is_of_all_calls_from_those_that_were_timed_by_the_last_record(self):
        path = recorded({"timed_events": 1, "timed_ticks": 10**6, "writer_ns": 1}, self.LAST)
        self.assertEqual(
            estimate(path),
            {"timed_calls": 4, "call_ns": 200, "calls_ns": 200 * 1000, "long_calls": 1, "writer_ns": 5000000},
        )
        self.assertEqual(
            line(path),
            [
                "  overhead  estimated from 4 timed calls: 200 ns for each call in the program's threads, "
                "200 us for all; 5.00 ms in the recorder's writer thread"
            ],
        )

    def test_a_recording_of_few_calls_has_no_estimate_of_them(self):
        path = recorded({"writer_ns": 2000000}, events=3)
        self.assertEqual(
            line(path),
            [
                "  overhead  too few calls to estimate it in the program's threads; 2.00 ms in the recorder's writer thread"
            ],
        )

    def test_without_records_of_overhead_no_estimate_is_shown(self):
        path = recorded()
        self.assertEqual((estimate(path), line(path)), (None, []))

    def test_impossible_numbers_are_limited(self):
        path = recorded({"timed_events": 1, "timed_ticks": 2**64 - 1, "writer_ns": 2**64 - 1})
        self.assertEqual(estimate(path)["calls_ns"], 2**64 - 1)

    def test_a_compacted_recording_has_the_same_estimate(self):
        path, compacted = recorded({"writer_ns": 1}, self.LAST), cli.place("compacted.gmt.gz")
        self.assertEqual(cli.run("fold", path, "-o", compacted).returncode, 0)
        self.assertEqual(estimate(compacted), estimate(path))
        self.assertEqual(len([row for row in read_recording.read(compacted) if row["record"] == "overhead"]), 1)


if __name__ == "__main__":
    cli.main()
