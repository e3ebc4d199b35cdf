# SPDX-License-Identifier: MIT
"""A full ring: the recorder counts lost events by kind and thread, and reports say what the loss means."""

import os
import unittest

import tap
import tasks
from definitions import Drop, Kind
from recorded_run import RecordedRun, built, cli, events, report
from running import Running

ROUNDS = 100000


def starve_the_writer(pid):
    """Puts all threads on one processor. The writer gets it only when no other thread wants it."""
    only, writer = {min(os.sched_getaffinity(0))}, tasks.wait_for_thread(tasks.WRITER, pid)
    for task in tasks.thread_ids(pid):
        os.sched_setaffinity(task, only)
    os.sched_setscheduler(writer, os.SCHED_IDLE, os.sched_param(0))


def record_with_busy_processor(overflow):
    with Running(f"stacks=none:overflow={overflow}") as run:
        run.send("alloc 4096", "free")
        run.ps()
        starve_the_writer(run.process.pid)
        run.send(f"many {ROUNDS}")
        run.end()
        return report(run.path), [row["kind"] for row in events(run.path)], cli("report", "--full", run.path).stdout


def lost_events(report, reason):
    return sum(row["count"] for row in report["events"]["drops"] if row["reason"] == reason)


class Overflow(unittest.TestCase):
    def check_that_all_is_accounted_for(self, numbers, kinds):
        """Checks the counts: the program allocates a known number of blocks, and frees all of them."""
        self.assertEqual(kinds.count(Kind.ALLOC) + lost_events(numbers, Drop.ALLOC), ROUNDS + 1)
        self.assertEqual(kinds.count(Kind.FREE) + lost_events(numbers, Drop.FREE), ROUNDS + 1)
        self.assertEqual({row["reason"] for row in numbers["events"]["drops"]} - {Drop.ALLOC, Drop.FREE}, set())

    def test_dropped_events_are_counted_by_kind_and_bound_the_live_blocks(self):
        numbers, kinds, text = record_with_busy_processor("drop")
        self.check_that_all_is_accounted_for(numbers, kinds)
        self.assertGreater(numbers["events"]["dropped"], 0)
        self.assertFalse(numbers["complete"])
        live = sum(
            layer["live_blocks"]
            for device in numbers["devices"]
            for layer in device["layers"]
            if layer["layer"] == "cuda"
        )
        self.assertLessEqual(live, lost_events(numbers, Drop.FREE))
        self.assertRegex(
            text, r"up to [\d,]+ live blocks may be missing, and up to [\d,]+ freed blocks may count as live"
        )

    def test_waiting_for_ring_space_loses_no_event(self):
        numbers, kinds, _ = record_with_busy_processor("wait")
        self.check_that_all_is_accounted_for(numbers, kinds)
        self.assertEqual(numbers["events"]["dropped"], 0)
        self.assertTrue(numbers["complete"])

    def test_a_limited_wait_counts_the_dropped_events(self):
        numbers, kinds, _ = record_with_busy_processor("block")
        self.check_that_all_is_accounted_for(numbers, kinds)


class FullFiles(unittest.TestCase):
    def test_new_stacks_of_a_full_file_are_written_once_it_has_space(self):
        """The rest of old events takes so much of the file that the file is mostly full between two compactions."""
        for _ in range(3):
            run = RecordedRun([built("many-stacks"), "48000", "2"], {"stacks": "native", "max_size": "1MiB"})
            self.assertEqual(run.code, 0, run.err)
            rows = run.records()
            known = {row["id"] for row in rows if row["record"] == "stack"}
            self.assertEqual(
                {row["stack"] for row in rows if row["record"] in ("event", "past_site")} - known - {0}, set()
            )


if __name__ == "__main__":
    tap.main()
