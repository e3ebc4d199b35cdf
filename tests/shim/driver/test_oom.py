# SPDX-License-Identifier: MIT
"""The record of a request that the driver refuses. The program notices nothing of the recorder."""

import unittest

import shared_recordings
import tap
from definitions import Kind
from recorded_run import RecordedRun, built

PROGRAM = built("oom")
MIB = 1 << 20
BLOCK_BYTES = 64 * MIB
BLOCKS = 15  # of the device's 1000 MiB, which leaves 40


def run(how, **environment):
    return RecordedRun([PROGRAM, how], environment={"SIMCUDA_MEMORY": "1000M", **environment})


class Oom(unittest.TestCase):
    def test_a_refusal_is_followed_by_the_free_memory_of_that_moment(self):
        recording = run("alone")
        (event,) = (event for event in recording.events() if event["kind"] == Kind.ALLOC_FAILED)
        (oom,) = recording.records("oom")
        self.assertEqual((oom["stamp"], oom["thread"], oom["device"]), (event["stamp"], event["thread"], 0))
        self.assertEqual((oom["free_bytes"], oom["total_bytes"]), (40 * MIB, 1000 * MIB))
        self.assertEqual((event["size_bytes"], event["result"]), (BLOCK_BYTES, 2))
        self.assertNotEqual(event["stack"], 0)

    def test_errno_the_last_error_and_the_current_context_do_not_change(self):
        recording = run("alone")
        self.assertEqual((recording.code, recording.out.strip()), (0, "0"), recording.err)

    def test_a_capture_stays_valid_and_the_thread_keeps_its_mode(self):
        recording = run("capture")
        self.assertEqual((recording.code, recording.out.strip()), (0, "0"), recording.err)
        (oom,) = recording.records("oom")
        self.assertEqual(oom["total_bytes"], 1000 * MIB)

    def test_a_device_that_is_not_current_is_not_queried(self):
        recording = run("device", SIMCUDA_DEVICES="2")
        self.assertEqual((recording.code, recording.out.strip()), (0, "0"), recording.err)
        (oom,) = recording.records("oom")
        self.assertEqual((oom["device"], oom["free_bytes"], oom["total_bytes"]), (1, 0, 0))

    def test_an_invalid_request_is_not_out_of_memory(self):
        recording = run("nothing")
        self.assertEqual(recording.code, 0, recording.err)
        (event,) = recording.events()
        self.assertEqual((event["kind"], event["result"]), (Kind.ALLOC_FAILED, 1))
        self.assertEqual(recording.records("oom"), [])

    def test_a_process_that_dies_of_out_of_memory_has_it_in_its_file(self):
        for how, code in (("abort", -6), ("kill", -9)):
            with self.subTest(how):
                recording = run(how)
                self.assertIn(recording.code, (code, 128 - code))
                # Only the file counts: its memory would not outlive the machine.
                shared_recordings.remove_below(recording.folder)
                events = recording.events()
                self.assertEqual([event["kind"] for event in events], [Kind.ALLOC] * BLOCKS + [Kind.ALLOC_FAILED])
                (oom,) = recording.records("oom")
                self.assertEqual(oom["stamp"], events[-1]["stamp"])
                report = recording.report()
                self.assertFalse(report["complete"])
                self.assertEqual(recording.totals()["refused_count"], 1)

    def test_ten_thousand_refusals_in_a_loop_are_all_recorded_with_few_waits(self):
        recording = run("loop")
        self.assertEqual((recording.code, recording.out.strip()), (0, "0"), recording.err)
        kinds = [event["kind"] for event in recording.events()]
        self.assertEqual(kinds.count(Kind.ALLOC_FAILED), 10001)
        self.assertEqual(len(recording.records("oom")), 10001)
        # Each wait is a sync point: four in a row, then four a second. The writer adds one per mebibyte and second.
        seconds = 1 + recording.report()["process"]["duration_ns"] / 1e9
        self.assertLess(len(recording.records("sync")), 12 + 9 * seconds)


if __name__ == "__main__":
    tap.main()
