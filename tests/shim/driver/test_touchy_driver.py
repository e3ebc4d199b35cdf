# SPDX-License-Identifier: MIT
"""A driver with strict rules: the recorder breaks none of them, and leaves errno alone."""

import unittest

import tap
from recorded_run import RecordedRun, built

CONTEXT_SPACE, ALLOC, ALLOC_FAILED = 17, 1, 3


class TouchyDriver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        command = [built("touchy"), built("libcuda.so.touchy")]
        cls.recording = RecordedRun(command, libraries=None)
        cls.contexts = [row for row in cls.recording.records("event") if row["space"] == CONTEXT_SPACE]

    def test_a_strict_driver_reports_no_wrong_call(self):
        self.assertEqual(self.recording.code, 0, self.recording.err)
        self.assertEqual(self.recording.out.split()[0], "0", self.recording.err)

    def test_errno_is_that_of_the_driver(self):
        self.assertEqual(self.recording.out.split()[1], "0", self.recording.err)

    def test_a_context_query_before_cuInit_does_not_end_the_samples(self):
        self.assertEqual(self.contexts[0]["kind"], ALLOC_FAILED)
        self.assertTrue(self.recording.records("sample"))

    def test_a_new_context_at_a_reused_handle_is_a_new_one(self):
        made = [row["context"] for row in self.contexts if row["kind"] == ALLOC]
        self.assertEqual((len(made), len(set(made))), (3, 3))


if __name__ == "__main__":
    tap.main()
