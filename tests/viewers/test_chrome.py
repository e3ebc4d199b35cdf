# SPDX-License-Identifier: MIT
"""Exports in Chrome's trace format: its rules, its clock, and numbers that are those of the report."""

import collections
import json
import unittest

import cli
import exports
import tap
import write_recording as w
from definitions import Kind, MarkKind, MarkSource

# The base of PyTorch's profiler: the last multiple of three months of 7889238 s each.
BASE_NS = 7889238 * 10**9
# Keys that each kind of event has, in addition to `ph`.
KEYS = {
    "M": {"name", "pid", "tid", "ts", "args"},
    "X": {"name", "pid", "tid", "ts", "dur"},
    "C": {"name", "pid", "tid", "ts", "args"},
    "i": {"name", "pid", "tid", "ts", "s", "args"},
}


def ns(number):
    """Returns a number of the file, in microseconds, as nanoseconds."""
    whole, _, rest = number.partition(".")
    assert len(rest) == 3, number
    return int(whole) * 1000 + int(rest)


def read(path, *options):
    # Numbers with a point stay texts, so that no digit is lost.
    return json.loads(exports.export("chrome", path, *options), parse_float=str)


def of_kind(found, kind):
    return [one for one in found["traceEvents"] if one["ph"] == kind]


def curves(found):
    rows = collections.defaultdict(list)
    for one in of_kind(found, "C"):
        rows[one["name"]].append((ns(one["ts"]), one["args"]["bytes"]))
    return rows


def slices(found):
    """Returns {name of the track: [(name, begin, end)]}."""
    names = {one["tid"]: one["args"]["name"] for one in of_kind(found, "M") if one["name"] == "thread_name"}
    rows = collections.defaultdict(list)
    for one in of_kind(found, "X"):
        rows[one["tid"], names[one["tid"]]].append((one["name"], ns(one["ts"]), ns(one["ts"]) + ns(one["dur"])))
    return rows


class Chrome(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("chrome.gmt.gz")
        cls.made = cli.make("chrome-made.gmt.gz", events=3000, torch=1, devices=2, depth=3)

    def check(self, found):
        """Checks the rules of the format: keys, order of time, and slices that nest."""
        for one in found["traceEvents"]:
            self.assertEqual(set(one) - {"ph"}, KEYS[one["ph"]], one)
            self.assertGreater(one["tid"], 1 << 22)  # not the id of a thread
        for name, row in curves(found).items():
            self.assertEqual([time for time, _ in row], sorted(time for time, _ in row), name)
        for name, row in slices(found).items():
            ends = []
            self.assertEqual([one[1] for one in row], sorted(one[1] for one in row), name)
            for one, begin, end in row:
                while ends and ends[-1] <= begin:
                    ends.pop()
                self.assertTrue(not ends or end <= ends[-1], (name, one))
                ends.append(end)

    def test_curves_reach_the_peak_and_end_at_what_is_left(self):
        for path in (self.path, self.made):
            found = read(path)
            self.check(found)
            rows = curves(found)
            for (layer, device), row in exports.accounts(path).items():
                values = [value for _, value in rows[f"live memory, {layer}, {exports.device_name(device)}"]]
                self.assertEqual((max(values), values[-1]), (row["peak_bytes"], row["left_bytes"]), (layer, device))

    def test_a_curve_keeps_the_peak_and_the_end_of_an_interval(self):
        path = cli.place("interval.gmt.gz")
        begun = [{**w.EVENT, "stamp": 1001 + i, "address": (1 + i) << 12, "size_bytes": 9} for i in range(10)]
        ended = [{**w.EVENT, "stamp": 1011 + i, "kind": Kind.FREE, "address": (1 + i) << 12} for i in range(5)]
        later = {**w.EVENT, "stamp": 10**9, "address": 1 << 20, "size_bytes": 9}
        w.write(path, w.process(), w.block("event", *begun, *ended, later))
        (row,) = curves(read(path)).values()
        self.assertEqual([value for _time, value in row], [90, 45, 54])
        self.assertEqual([time - row[0][0] for time, _value in row], [0, 5, 10**9 - 1010])

    def test_the_clock_is_that_of_pytorchs_profiler(self):
        found = read(self.path)
        lines = exports.export("ndjson", self.path).decode("utf-8").splitlines()
        events = [json.loads(line) for line in lines]
        start = events[0]["start_time_ns"]
        self.assertEqual(found["baseTimeNanoseconds"], start // BASE_NS * BASE_NS)
        # The parts before the first counter have the whole time, to the nanosecond.
        expected = [(f"step {one['step']}", one["begin_ns"], one["end_ns"]) for one in events if one["type"] == "step"]
        base = found["baseTimeNanoseconds"]
        (steps,) = [row for (_tid, name), row in slices(found).items() if name == "steps (program)"]
        self.assertEqual([(name, begin + base - start, end + base - start) for name, begin, end in steps], expected)
        self.assertEqual(len(expected), 6)
        (phases,) = [row for (_tid, name), row in slices(found).items() if name.startswith("phases")]
        expected = [(one["name"], one["begin_ns"], one["end_ns"]) for one in events if one["type"] == "phase"]
        self.assertEqual([(name, begin + base - start, end + base - start) for name, begin, end in phases], expected)

    def test_a_refused_request_is_an_instant(self):
        (one,) = of_kind(read(self.path), "i")
        self.assertEqual(one["s"], "p")
        expected = {"layer": "cuda", "device": "GPU 0", "bytes": 1 << 40, "result": 2, "stack": "[no stack]"}
        self.assertEqual(one["args"], expected)

    def test_ranges_that_overlap_are_on_tracks_of_their_own(self):
        path = cli.place("overlap.gmt.gz")
        ranges = (("a", 1, 1000, 5000), ("b", 2, 2000, 7000), ("c", 3, 3000, 4000), ("d", 4, 6000, 8000))
        names = [{"id": 1 + i, "text": name.encode()} for i, (name, *_rest) in enumerate(ranges)]
        marks = []
        for i, (_name, key, begin, end) in enumerate(ranges):
            marks.append(w.mark(begin, MarkKind.START, MarkSource.NVTX, name=1 + i, object=key))
            marks.append(w.mark(end, MarkKind.STOP, MarkSource.NVTX, object=key))
        marks.sort(key=lambda mark: mark["stamp"])
        alloc = w.block("event", {**w.EVENT, "stamp": 500, "address": 4096, "size_bytes": 9})
        w.write(path, w.process(), w.block("name", *names), alloc, w.block("mark", *marks))
        found = read(path)
        self.check(found)
        rows = sorted([name for name, *_times in row] for row in slices(found).values())
        self.assertEqual(rows, [["a", "c", "d"], ["b"]])

    def test_an_end_one_layer_and_one_device_can_be_chosen(self):
        found = read(self.path, "--layer=torch", "--device=0", "--until=step:2")
        self.check(found)
        row = exports.accounts(self.path, "--until=step:2")["torch", 0]
        ((name, values),) = curves(found).items()
        self.assertEqual(name, "live memory, torch, GPU 0")
        self.assertEqual(values[-1][1], row["live_bytes"])
        latest = max(ns(one["ts"]) + ns(one.get("dur", "0.000")) for one in of_kind(found, "X"))
        self.assertLessEqual(latest, values[-1][0])
        self.assertFalse(of_kind(found, "i"))


if __name__ == "__main__":
    tap.main()
