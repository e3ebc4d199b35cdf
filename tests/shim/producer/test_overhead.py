# SPDX-License-Identifier: MIT
"""The recorder's estimate of its own cost: it times some calls, and adds the processor time of its thread."""

import json
import unittest

import tap
from snapshots import cli, events
from running import Running

EVERY = 1021  # of a thread's calls, one is timed
ROUNDS = 5000


def recorded(*asked):
    """Runs the commands. Returns the recorder's estimate, and the number of events."""
    with Running("stacks=native:overflow=wait") as run:
        run.do(*asked)
        run.ps()
        run.end()
        told = json.loads(cli("info", "--json", run.path).stdout)["overhead_estimate"]
        return told, len(list(events(run.path)))


class Overhead(unittest.TestCase):
    def test_one_call_in_some_is_timed_and_the_estimate_is_of_all(self):
        told, count = recorded(f"many {ROUNDS}")
        self.assertEqual(told["timed_calls"] + told["long_calls"], count // EVERY)
        # No call takes less than 5 ns. The recorder counts very long calls as long_calls, not as timed_calls.
        self.assertGreater(told["call_ns"], 5)
        self.assertLess(told["call_ns"], 1000000)
        self.assertAlmostEqual(told["calls_ns"] / (told["call_ns"] * count), 1, delta=0.3)
        self.assertGreater(told["writer_ns"], 0)

    def test_of_a_few_calls_none_is_timed(self):
        told, _ = recorded("alloc 4096", "free")
        self.assertEqual((told["timed_calls"], told["call_ns"], told["calls_ns"]), (0, 0, 0))
        self.assertGreater(told["writer_ns"], 0)


if __name__ == "__main__":
    tap.main()
