# SPDX-License-Identifier: MIT
"""While a stream is captured, calls make graph nodes and no blocks. The recorder's own calls spoil no capture."""

import collections
import os
import subprocess
import unittest

import tap
from definitions import Kind
from recorded_run import SIMCUDA, RecordedRun, built

PROGRAM = built("captures")
MACHINE = {
    "SIMCUDA_DEVICES": "2",
    "SIMCUDA_MEMORY": "1000M",
    "SIMCUDA_MODULE_MEMORY": "1M",
    "SIMCUDA_LIMIT_MEMORY": "1",
}
ACTIVE, SPOILT = "1", "2"
CAPTURED = {1000: "capture_memory", 1100: "capture_by_runtime", 1200: "capture_from_pool"}


class Captures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recording = RecordedRun([PROGRAM], environment=MACHINE)
        cls.lines = [line.split() for line in cls.recording.out.splitlines()]
        cls.events = cls.recording.events()

    def test_captures_end_the_same_way_without_a_recorder(self):
        plain = subprocess.run(
            [PROGRAM],
            env={**os.environ, **MACHINE, "LD_LIBRARY_PATH": SIMCUDA},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((plain.returncode, self.recording.code), (0, 0), self.recording.err)
        self.assertEqual(self.recording.out.splitlines(), plain.stdout.splitlines())
        self.assertEqual(len(self.lines), 126)

    def test_calls_invalidate_captures_by_mode_and_thread(self):
        # The driver must spoil these captures; otherwise the comparison would prove nothing.
        spoilt = {tuple(line[:2]) for line in self.lines if line[2] == "allocate" and line[4] == SPOILT}
        self.assertEqual(spoilt, {("global", "same"), ("global", "other"), ("thread_local", "same")})
        self.assertEqual(
            {
                line[4]
                for line in self.lines
                if line[2] in ("make_context", "map_memory", "set_limit", "ask_for_memory", "capture_memory")
            },
            {ACTIVE},
        )

    def test_captured_allocations_are_nodes_and_not_blocks(self):
        for size, action in CAPTURED.items():
            with self.subTest(action):
                made = [event for event in self.events if event["size_bytes"] == size]
                self.assertEqual({event["kind"] for event in made}, {Kind.NODE_ALLOC})
                done = [line for line in self.lines if line[2] == action and line[4] == ACTIVE]
                self.assertEqual(len(made), len(done))
                self.assertEqual(len(made), 6)
                freed = [
                    event
                    for event in self.events
                    if event["kind"] == Kind.NODE_FREE and event["address"] in {event["address"] for event in made}
                ]
                self.assertGreaterEqual(len(freed), 6)

    def test_calls_refused_in_an_invalid_capture_are_recorded_as_refused(self):
        # The results are of cuMemAlloc_v2, of its free if that succeeded, and of the captured call.
        given = [line[3].split(",") for line in self.lines if line[2] == "capture_after_allocation"]
        results = [results[2] if results[0] == "0" else results[1] for results in given]
        recorded = collections.Counter(event["kind"] for event in self.events if event["size_bytes"] == 1250)
        self.assertEqual(recorded, {Kind.NODE_ALLOC: results.count("0"), Kind.ALLOC_FAILED: results.count("901")})
        self.assertEqual(len(results), 6)
        self.assertGreater(results.count("901"), 1)

    def test_allocations_of_other_streams_are_blocks_during_and_after_a_capture(self):
        kinds = collections.Counter((event["kind"], event["size_bytes"]) for event in self.events)
        self.assertEqual((kinds[Kind.ALLOC, 1300], kinds[Kind.NODE_ALLOC, 1300]), (6, 0))
        self.assertEqual((kinds[Kind.ALLOC, 1800], kinds[Kind.NODE_ALLOC, 1800]), (1, 0))

    def test_a_too_large_request_is_refused_in_a_capture_too(self):
        refused = [event for event in self.events if event["kind"] == Kind.ALLOC_FAILED and event["result"] == 2]
        expected = sum(line[3].split(",")[0] == "2" for line in self.lines if "too_much" in line[2])
        self.assertGreater(expected, 6)
        self.assertEqual(len(refused), expected)

    def test_a_graph_launched_during_a_capture_leaves_no_block(self):
        launched = [line for line in self.lines if line[2] == "launch_other_graph" and line[3].startswith("0")]
        self.assertEqual(len([event for event in self.events if event["kind"] == Kind.LAUNCH]), len(launched))
        self.assertTrue(launched)

    def test_no_block_is_live_at_the_end_and_each_free_has_its_block(self):
        report = self.recording.report()
        self.assertEqual(self.recording.totals()["live_bytes"], 0)
        self.assertEqual((report["anomalies"]["unknown_frees"], report["anomalies"]["missed_frees"]), (0, 0))


if __name__ == "__main__":
    tap.main()
