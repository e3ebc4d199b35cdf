# SPDX-License-Identifier: MIT
"""Real PyTorch runs out of memory: the recording and the reports."""

import json
import os
import unittest

import shared_recordings
import tap
from recorded_run import SIM_PYTHON, RecordedRun, cli, report, sim_python

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "ooms.py")
MIB = 1 << 20
TOTAL = 1000 * MIB


def run(how):
    command, libraries = sim_python(SCRIPT, how)
    recording = RecordedRun(command, environment={"SIMCUDA_MEMORY": "1000M"}, libraries=libraries)
    recording.path = max(recording.files, key=os.path.getsize)
    recording.result = report(recording.path)
    return recording


def said(recording):
    assert recording.code == 0, recording.err
    return json.loads(recording.out.splitlines()[-1])


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Oom(unittest.TestCase):
    def check_full(self, recording):
        """Checks that blocks of 100 MiB from one line fill the device, and that the program requested one more."""
        (oom,) = recording.result["ooms"]
        self.assertEqual((oom["layer"], oom["device"], oom["recovered"]), ("torch", 0, False))
        self.assertEqual((oom["requested_bytes"], oom["total_bytes"]), (100 * MIB, TOTAL))
        self.assertGreaterEqual(oom["driver_refusals"], 2)
        self.assertLess(oom["free_bytes"], 100 * MIB)
        self.assertFalse(oom["would_fit"])
        self.assertEqual(oom["live_bytes"] % (100 * MIB), 0)
        self.assertEqual(oom["cached_bytes"], 0)
        self.assertEqual(oom["free_bytes"] + oom["reserved_bytes"], TOTAL)
        self.assertEqual(sum(oom["holder_bytes"]), oom["live_bytes"])
        self.assertEqual(oom["stack"][oom["own_frame"]]["function"], "make")
        sites = [recording.result["sites"][index] for index in oom["holders"]]
        self.assertEqual(
            {frame["function"] for site in sites for frame in site["stack"]} & {"make", "fill", "main"},
            {"make", "fill", "main"},
        )
        return oom

    def test_the_report_of_a_process_that_dies_has_one_paragraph(self):
        recording = run("dies")
        self.assertEqual(recording.code, 1)
        self.assertIn("OutOfMemoryError", recording.err)
        self.check_full(recording)
        text = cli("report", "--full", recording.path).stdout
        self.assertIn("Out of memory: 1 request failed\n", text)
        self.assertIn("PyTorch could not allocate 100 MiB on GPU 0 for ", " ".join(text.split()))

    def test_a_caught_error_is_reported_too_and_the_program_continues(self):
        recording = run("caught")
        said(recording)
        self.check_full(recording)
        self.assertTrue(recording.result["complete"])
        self.assertGreater(recording.result["process"]["duration_ns"], recording.result["ooms"][0]["time_ns"])

    def test_the_file_of_a_process_killed_right_afterwards_has_the_error(self):
        for how in "aborts", "killed":
            with self.subTest(how):
                recording = run(how)
                self.assertNotEqual(recording.code, 0)
                self.check_full(recording)
                self.assertTrue(recording.result["complete"])
                # Read it again without the recorder's shared memory, as after a restart of the machine.
                shared_recordings.remove_below(recording.folder)
                recording.result = report(recording.path)
                self.check_full(recording)
                self.assertFalse(recording.result["complete"])

    def test_a_request_that_succeeds_once_the_cache_is_free_is_a_retry_and_no_failure(self):
        recording = run("retry")
        printed = said(recording)
        self.assertEqual((printed["retries"], printed["ooms"]), (1, 0))
        self.assertEqual(recording.result["oom_counts"], {"failed": 0, "recovered": 1, "left_out": 0})
        (oom,) = recording.result["ooms"]
        self.assertEqual((oom["layer"], oom["recovered"], oom["would_fit"]), ("cuda", True, True))
        self.assertEqual((oom["requested_bytes"], oom["cached_bytes"]), (500 * MIB, 800 * MIB))
        self.assertEqual(oom["free_bytes"], 200 * MIB)
        self.assertEqual(oom["stack"][oom["own_frame"]]["function"], "make")
        self.assertIn(
            "The driver refused once, and PyTorch succeeded after it emptied its cache: 500 MiB at",
            " ".join(cli("report", "--full", recording.path).stdout.split()),
        )

    def test_an_extensions_refusal_is_reported_whatever_pytorch_does_next(self):
        recording = run("extension")
        self.assertEqual(said(recording)["errors"], [2, 2, 2, 0])
        self.assertEqual(recording.result["oom_counts"], {"failed": 1, "recovered": 0, "left_out": 0})
        (oom,) = recording.result["ooms"]
        self.assertEqual((oom["layer"], oom["requested_bytes"], oom["free_bytes"]), ("cuda", 500 * MIB, 380 * MIB))
        self.assertEqual((oom["holders_layer"], oom["holder_bytes"]), ("torch", [600 * MIB]))
        self.assertEqual(oom["stack"][oom["own_frame"]]["function"], "extension")

    def test_a_failure_by_fragmentation_alone_is_reported_as_such(self):
        recording = run("fragmented")
        self.assertEqual(recording.code, 1)
        (oom,) = recording.result["ooms"]
        self.assertEqual(oom["requested_bytes"], 300 * MIB)
        self.assertLess(oom["free_bytes"], 300 * MIB)
        self.assertEqual((oom["cached_bytes"], oom["largest_hole_bytes"]), (400 * MIB, 100 * MIB))
        self.assertTrue(oom["would_fit"])
        self.assertIn(
            "without fragmentation the request would have succeeded",
            " ".join(cli("report", "--full", recording.path).stdout.split()),
        )

    def test_a_limit_of_pytorchs_own_is_not_taken_for_a_full_device(self):
        recording = run("limited")
        self.assertEqual(recording.code, 1)
        (oom,) = recording.result["ooms"]
        self.assertEqual((oom["driver_refusals"], oom["free_bytes"] >= 400 * MIB), (0, True))
        self.assertIn(
            "set_per_process_memory_fraction", " ".join(cli("report", "--full", recording.path).stdout.split())
        )

    def test_a_graph_capture_with_the_error_stays_valid(self):
        recording = run("captured")
        self.assertEqual(said(recording)["failed"], True)
        (oom,) = recording.result["ooms"]
        self.assertEqual((oom["requested_bytes"], oom["total_bytes"]), (5000 * MIB, TOTAL))


if __name__ == "__main__":
    tap.main()
