# SPDX-License-Identifier: MIT
"""Allocations in signal handlers are recorded or counted, without a deadlock or a change of the program's memory."""

import collections
import os
import unittest

import tap
from definitions import Kind, Loss
from recorded_run import SHIM, RecordedRun, built

LONG = bool(os.environ.get("GMT_TEST_LONG"))
TIMEOUT_S = 240
OF_HANDLER, OF_PROGRAM = 1024, 2048  # bytes that each of them allocates
HOST_STACK_BYTES = 1024


class Signals(unittest.TestCase):
    def run_mode(self, *arguments, **more):
        run = RecordedRun([built("signal-handlers"), *map(str, arguments)], timeout=TIMEOUT_S, **more)
        self.assertEqual((run.code, run.err), (0, ""))
        return run

    def drops(self, run):
        return {row["reason"]: row["count"] for row in run.records("drop")}


class SignalStacks(Signals):
    """The size of the kernel's signal frames depends on the processor. These tests hold for all sizes."""

    FRAME_BYTES = None

    def run_mode(self, *arguments, **more):
        preload = [more.pop("preload", SHIM)]
        if self.FRAME_BYTES:
            preload.append(built("libauxv.so"))
            more["environment"] = {"FRAME_BYTES": str(self.FRAME_BYTES)}
        return super().run_mode(*arguments, preload=":".join(filter(None, preload)), **more)

    def check(self, when, stack_bytes):
        """Checks that all allocations are recorded with stacks, and that no byte below the signal stack changed."""
        run = self.run_mode(when, stack_bytes)
        self.assertEqual(int(run.out.split()[0]), 0)
        made = [event for event in run.events() if event["kind"] == Kind.ALLOC]
        self.assertEqual(
            [event["size_bytes"] for event in made], [OF_PROGRAM] * (when == "later") + [OF_HANDLER] * 2 + [OF_PROGRAM]
        )
        self.assertTrue(all(event["stack"] for event in made))
        self.assertEqual(self.drops(run), {})
        self.assertTrue(run.report()["complete"])

    def test_events_on_a_large_signal_stack_have_stacks(self):
        for when in ("first", "later"):
            self.check(when, 30720)

    def test_events_on_the_smallest_usable_signal_stack_have_stacks(self):
        for when in ("first", "later"):
            # The stack use of the program's own calls, plus the limit of an event (preload/runtime/recorder_stack.h).
            _, used = map(int, self.run_mode(when, 6144, preload="").out.split())
            self.check(when, used + HOST_STACK_BYTES)


class SignalStacksWhereFramesMayTake3KiB(SignalStacks):
    FRAME_BYTES = 3 << 10


class SignalStacksWhereFramesMayTake12KiB(SignalStacks):
    FRAME_BYTES = 12 << 10


class Storm(Signals):
    def test_handlers_that_interrupt_the_recorder_lose_at_most_their_own_events(self):
        gate = built("libdriver-gate.so")
        run = self.run_mode("storm", 400000 if LONG else 15000, preload=f"{SHIM}:{gate}")
        rounds, handled = map(int, run.out.split())
        made, freed = [
            collections.Counter(event["size_bytes"] for event in run.events() if event["kind"] == kind)
            for kind in (1, 2)
        ]
        counted = self.drops(run)[Loss.REENTERED]
        recorded = made[OF_HANDLER] + freed.total() - rounds
        self.assertEqual((made[OF_PROGRAM], made.total()), (rounds, rounds + made[OF_HANDLER]))
        self.assertGreater(counted, 0)
        self.assertEqual(recorded + counted, 2 * handled)
        self.assertEqual(run.totals()["live_blocks"], 0)
        self.assertEqual(len(run.records("end")), 1)


class ForkInWait(unittest.TestCase):
    LONGEST_S = 30  # half of what a thread may wait for the writer with overflow=wait

    def test_the_child_of_a_handler_that_forks_in_a_wait_for_the_writer_does_not_wait(self):
        run = RecordedRun([built("fork-in-wait")], {"overflow": "wait"}, timeout=TIMEOUT_S)
        self.assertEqual((run.code, run.err), (0, ""))
        status, seconds = run.out.split()
        self.assertEqual(int(status), 0)
        self.assertLess(float(seconds), self.LONGEST_S)


if __name__ == "__main__":
    tap.main()
