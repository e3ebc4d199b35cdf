# SPDX-License-Identifier: MIT
"""Threads that start and end in each possible way: all events are recorded, and the recorder's memory stays bounded."""

import os
import unittest

import tap
from definitions import Kind, Loss
from recorded_run import RecordedRun, built

LONG = bool(os.environ.get("GMT_TEST_LONG"))
TIMEOUT_S = 240
MIB = 1 << 20


class Threads(unittest.TestCase):
    def run_mode(self, *arguments, program="thread-lifetimes", **more):
        run = RecordedRun([built(program), *map(str, arguments)], timeout=TIMEOUT_S, **more)
        self.assertEqual((run.code, run.err), (0, ""))
        return run

    def check_totals(self, run, made, freed):
        """Checks that all allocations and frees are recorded and no event is lost."""
        report, layer = run.report(), run.totals()
        self.assertEqual(report["events"]["dropped"], 0, report["events"]["drops"])
        self.assertTrue(report["complete"], report["remarks"])
        self.assertEqual((layer["alloc_count"], layer["free_count"], layer["live_blocks"]), (made, freed, made - freed))


class Many(Threads):
    def test_ten_thousand_threads_share_a_few_rings_and_each_has_its_record_and_its_events(self):
        count = 10000
        run = self.run_mode("come-and-go", count, options={"stacks": "none"})
        self.check_totals(run, count, count)
        threads = run.records("thread")
        self.assertEqual({row["name"] for row in threads}, {f"n{i}" for i in range(count)})
        self.assertEqual(len({row["id"] for row in threads}), len(threads))
        self.assertEqual(len(threads), count)
        of_thread = {row["id"]: int(row["name"][1:]) for row in threads}
        for event in run.events():
            if event["kind"] == Kind.ALLOC:
                self.assertEqual(event["size_bytes"], 512 + of_thread[event["thread"]])
        # The writer may be late, but the number of rings bounds the memory.
        self.assertLess(int(run.out), 1200 * MIB)

    def test_memory_of_ended_threads_is_freed(self):
        # More threads than the recorder has stacks (GMT_RECORDER_STACKS): some wait for a stack of another thread.
        count = 200
        # On a busy machine, the writer may not get to run in time.
        run = self.run_mode("burst", count, options={"overflow": "wait"})
        self.check_totals(run, count + 1, count)
        with_all, after = map(int, run.out.split())
        self.assertGreater(with_all, count * MIB)
        self.assertLess(after, 30 * MIB)

    def test_threads_without_a_ring_are_counted_and_get_one_later(self):
        count, loud = 48, 20
        run = self.run_mode("too-many", count)
        report = run.report()
        made = 1 + count * (1 + loud) + 11 * loud
        events = run.events()
        self.assertEqual(len(events) + report["events"]["dropped"], made)
        self.assertGreaterEqual(report["events"]["dropped"], (count - 31) + loud)
        later = [event for event in events if event["size_bytes"] == 1024]
        self.assertGreater(len(later), 100)
        reasons = {row["reason"] for row in run.records("drop")}
        self.assertEqual(reasons, {Loss.NO_RING})


class Ends(Threads):
    def test_calls_in_key_destructors_belong_to_their_thread(self):
        count = 300
        run = self.run_mode("key-destructors", count)
        self.check_totals(run, count * 5, count * 5)
        by_thread = {}
        for event in run.events():
            by_thread.setdefault(event["thread"], []).append(event["kind"])
        self.assertEqual(list(by_thread.values()), [[1, 2] * 5] * count)
        self.assertEqual(len(run.records("thread")), count)

    def test_frees_in_destructors_of_thread_local_and_static_objects_are_recorded(self):
        run = self.run_mode(200, program="thread-destructors")
        self.check_totals(run, 202, 202)
        self.assertEqual(len(run.records("thread")), 201)

    def test_rings_of_threads_that_end_by_the_system_call_are_reused(self):
        count = 1300 if LONG else 100
        run = self.run_mode("unseen-ends", count)
        self.check_totals(run, count, 0)
        self.assertLess(int(run.out), 30 * MIB)


class Routines(Threads):
    def test_each_of_two_coroutines_has_its_own_stacks(self):
        count = 50
        run = self.run_mode("routines", count)
        self.check_totals(run, 2 * count, 0)
        first, second, damaged = run.out.split()
        self.assertEqual(damaged, "0")
        stacks = {row["id"]: row["items"] for row in run.records("stack")}
        for event in run.events():
            frames = stacks[event["stack"]]
            function, other = (first, second) if event["size_bytes"] == 1111 else (second, first)
            self.assertTrue(any(0 < frame - int(function, 16) < 64 for frame in frames), (function, frames))
            self.assertFalse(any(0 < frame - int(other, 16) < 64 for frame in frames), (other, frames))


if __name__ == "__main__":
    tap.main()
