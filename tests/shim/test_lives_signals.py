# SPDX-License-Identifier: MIT
"""Allocations from signal handlers: recorded, or counted with a reason; no deadlock, and no byte of the host's changed."""
import collections
import os
import unittest

import tap
from snapshots import SHIM, Recording

PROGRAMS = os.environ["GMT_TEST_PROGRAMS"]
LONG = bool(os.environ.get("GMT_TEST_LONG"))
TIMEOUT_S = 240
OF_HANDLER, OF_PROGRAM = 1024, 2048  # bytes that each of them allocates


class Signals(unittest.TestCase):
    def run_mode(self, *arguments, **more):
        run = Recording([os.path.join(PROGRAMS, "lives-signals"), *map(str, arguments)], timeout=TIMEOUT_S, **more)
        self.assertEqual((run.code, run.err), (0, ""))
        return run

    def drops(self, run):
        return {row["reason"]: row["count"] for row in run.records("drop")}


class SignalStacks(Signals):
    """What a kernel says of its frames, and what they take, depends on the processor: the tests hold for all of them."""
    FRAME_BYTES = None

    def run_mode(self, *arguments, **more):
        preload = [more.pop("preload", SHIM)]
        if self.FRAME_BYTES:
            preload.append(os.path.join(PROGRAMS, "libauxv.so"))
            more["environment"] = {"FRAME_BYTES": str(self.FRAME_BYTES)}
        return super().run_mode(*arguments, preload=":".join(filter(None, preload)), **more)

    def test_a_signal_stack_with_room_gets_events_with_stacks(self):
        for when in ("first", "later"):
            run = self.run_mode(when, 30720)
            damaged, used = map(int, run.out.split())
            self.assertEqual(damaged, 0)
            self.assertLess(used, 14336)  # what capture/room.c keeps for it
            made = [event for event in run.events() if event["size_bytes"] == OF_HANDLER]
            self.assertEqual([event["kind"] for event in made], [1, 1])
            self.assertTrue(all(event["stack"] for event in made))

    def test_a_signal_stack_that_is_too_small_for_stacks_gets_events_without_and_the_file_says_so(self):
        for when in ("first", "later"):
            run = self.run_mode(when, 6144)
            self.assertEqual(int(run.out.split()[0]), 0)
            made = [event["stack"] for event in run.events() if event["size_bytes"] == OF_HANDLER]
            self.assertEqual(made, [0, 0])
            self.assertEqual(self.drops(run), {})
            self.assertTrue(any("signal stack" in row["text"] for row in run.records("note")))
            self.assertTrue(run.report()["complete"])

    def test_what_is_made_on_the_smallest_signal_stack_is_counted_and_nothing_below_it_is_changed(self):
        # What the program's own calls take of it without the recorder, and some words for a wrapper.
        _, used = map(int, self.run_mode("later", 6144, preload="").out.split())
        run = self.run_mode("later", used + 512)
        self.assertEqual(int(run.out.split()[0]), 0)
        self.assertEqual([event["size_bytes"] for event in run.events() if event["kind"] == 1], [OF_PROGRAM] * 2)
        self.assertEqual(self.drops(run), {"made on a signal stack without room for the recorder": 4})


class SignalStacksWhereFramesMayTake3KiB(SignalStacks):
    FRAME_BYTES = 3 << 10


class SignalStacksWhereFramesMayTake12KiB(SignalStacks):
    FRAME_BYTES = 12 << 10


class Storm(Signals):
    def test_handlers_that_interrupt_the_recorder_lose_at_most_their_own_events(self):
        gate = os.path.join(PROGRAMS, "liblives-gate.so")
        run = self.run_mode("storm", 400000 if LONG else 15000, preload=f"{SHIM}:{gate}")
        rounds, handled = map(int, run.out.split())
        made, freed = [collections.Counter(event["size_bytes"] for event in run.events() if event["kind"] == kind)
                       for kind in (1, 2)]
        counted = self.drops(run)["made in a signal handler while the recorder ran"]
        recorded = made[OF_HANDLER] + freed.total() - rounds
        self.assertEqual((made[OF_PROGRAM], made.total()), (rounds, rounds + made[OF_HANDLER]))
        self.assertGreater(counted, 0)
        # Between the recorder and the driver are some instructions in which a handler's calls look like the driver's own.
        self.assertLessEqual(recorded + counted, 2 * handled)
        self.assertGreaterEqual(recorded + counted, handled)
        self.assertEqual(run.totals()["live_blocks"], 0)
        self.assertEqual(len(run.records("end")), 1)


if __name__ == "__main__":
    tap.main()
