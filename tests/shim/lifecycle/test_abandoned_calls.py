# SPDX-License-Identifier: MIT
"""Calls that never return: the recorder counts the call as lost, and records all later calls."""

import unittest

import tap
from definitions import Loss
from recorded_run import SHIM, RecordedRun, built

GATE = built("libdriver-callback.so")
WAYS = ("jump", "deep", "handler", "throw", "cancel", "thread", "exit")


class Jumps(unittest.TestCase):
    def check(self, way, **options):
        run = RecordedRun([built("abandoned-calls"), way], options=options, preload=f"{SHIM}:{GATE}")
        self.assertEqual((run.code, run.err), (0, ""), way)
        made, freed = map(int, run.out.split())
        kinds = [event["kind"] for event in run.events()]
        self.assertEqual((kinds.count(1), kinds.count(2)), (made, freed), way)
        self.assertEqual({row["reason"]: row["count"] for row in run.records("drop")}, {Loss.ABANDONED_CALL: 1}, way)
        self.assertFalse(run.report()["complete"], way)

    def test_calls_after_an_abandoned_call_are_recorded(self):
        for way in WAYS:
            self.check(way)

    def test_they_are_recorded_with_native_stacks_only_and_without_stacks(self):
        for stacks in ("native", "none"):
            for way in WAYS:
                self.check(way, stacks=stacks)


if __name__ == "__main__":
    tap.main()
