# SPDX-License-Identifier: MIT
"""The program's descriptors are the same as without the recorder, also while the recorder opens and closes files."""

import os
import unittest

import tap
from recorded_run import RecordedRun, built

PROGRAM = built("descriptors")
LONG = bool(os.environ.get("GMT_TEST_LONG"))
ROUNDS = 5_000_000 if LONG else 200_000
SECONDS = "60" if LONG else "3"
FREE_BELOW_8 = 5  # the numbers below 8 without the three standard streams


def has_own_tables():
    """Returns whether the recorder has its own descriptor table: from Linux 5.14 on."""
    release = os.uname().release.split("-")[0].split(".")
    return (int(release[0]), int(release[1])) >= (5, 14)


@unittest.skipUnless(has_own_tables(), "Linux is older than 5.14: the recorder shares the program's descriptor table")
class Descriptors(unittest.TestCase):
    def run_mode(self, *arguments, options=None):
        run = RecordedRun([PROGRAM, *arguments], options)
        self.assertEqual((run.code, run.err), (0, ""))
        return run

    def test_the_lowest_free_number_is_the_programs_while_the_writer_opens_and_closes(self):
        run = self.run_mode("lowest", str(ROUNDS))
        self.assertEqual(run.out, "0\n")
        self.assertTrue(run.report()["complete"])

    def test_the_recorder_never_uses_a_descriptor_of_the_program(self):
        # A thread with the program's table opens NVML once, because libraries like NVML and the driver need that table.
        for options in ({}, {"mode": "window", "window": "1000"}):
            with self.subTest(options):
                self.assertEqual(self.run_mode("watch", SECONDS, options={"nvml": "off", **options}).out, "0\n")

    def test_a_program_that_may_open_eight_files_can_open_all_of_them(self):
        run = self.run_mode("limit")
        self.assertEqual(run.out, f"{FREE_BELOW_8} {FREE_BELOW_8}\n")
        self.assertEqual(len(run.events()), 2)

    def test_a_pipe_that_the_program_closes_is_closed(self):
        self.assertEqual(self.run_mode("pipe").out, "end\n")

    def test_a_child_has_no_descriptor_of_the_recorder(self):
        self.assertEqual(self.run_mode("forked").out, "")


class Refused(unittest.TestCase):
    """If the kernel refuses close_range, the recorder shares the program's table."""

    def test_without_its_own_descriptor_table_the_recorder_records(self):
        run = RecordedRun([PROGRAM, "refused"])
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertTrue(run.report()["complete"])
        self.assertEqual(len(run.events()), 2)

    def test_without_free_descriptors_nothing_is_recorded_and_a_line_reports_it(self):
        run = RecordedRun([PROGRAM, "refused-limit"])
        self.assertEqual((run.code, run.out), (0, f"{FREE_BELOW_8} {FREE_BELOW_8}\n"))
        self.assertIn("RLIMIT_NOFILE leaves no descriptor for the recorder", run.err)
        self.assertEqual(run.files, [])


if __name__ == "__main__":
    tap.main()
