# SPDX-License-Identifier: MIT
"""The recorder's estimate of its own cost: it times some calls, and adds the processor time of its thread."""

import json
import unittest

import tap
from recorded_run import cli, events
from running import Running

EVERY = 1021  # of a thread's calls, one is timed
ROUNDS = 5000


def recorded(*asked):
    """Runs the commands. Returns the recorder's estimate, and the number of events."""
    with Running("stacks=native:overflow=wait") as run:
        run.send(*asked)
        run.ps()
        run.end()
        measured = json.loads(cli("info", "--json", run.path).stdout)["overhead_estimate"]
        return measured, len(list(events(run.path)))


class Overhead(unittest.TestCase):
    def test_every_nth_call_is_timed_and_the_estimate_covers_all_calls(self):
        measured, count = recorded(f"many {ROUNDS}")
        self.assertEqual(measured["timed_calls"] + measured["long_calls"], count // EVERY)
        # No call takes less than 5 ns. The recorder counts very long calls as long_calls, not as timed_calls.
        self.assertGreater(measured["call_ns"], 5)
        self.assertLess(measured["call_ns"], 1000000)
        self.assertAlmostEqual(measured["calls_ns"] / (measured["call_ns"] * count), 1, delta=0.3)
        self.assertGreater(measured["writer_ns"], 0)

    def test_few_calls_are_not_timed(self):
        measured, _ = recorded("alloc 4096", "free")
        self.assertEqual((measured["timed_calls"], measured["call_ns"], measured["calls_ns"]), (0, 0, 0))
        self.assertGreater(measured["writer_ns"], 0)


if __name__ == "__main__":
    tap.main()
