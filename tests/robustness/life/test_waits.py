# SPDX-License-Identifier: MIT
"""Every wait of the recorder ends, even if the thread that it waits for does not exist or does not run."""

import os
import shutil
import subprocess
import unittest

import tap
from recorded_run import RecordedRun, built

TIMEOUT_S = 100  # only an endless wait lasts so long
REAL_TIME = ["chrt", "-f", "50", "taskset", "-c", str(min(os.sched_getaffinity(0)))]
HAS_REAL_TIME = (
    shutil.which("chrt")
    and shutil.which("taskset")
    and subprocess.run([*REAL_TIME, "true"], capture_output=True, check=False).returncode == 0
)


class Waits(unittest.TestCase):
    def test_a_child_forked_during_a_note_of_another_thread_can_make_notes(self):
        run = RecordedRun([built("notes")], timeout=TIMEOUT_S)
        self.assertEqual((run.code, run.out), (0, "0\n"), run.err)
        self.assertEqual(len(run.files), 1)
        notes = [row["text"] for row in run.records("note")]
        self.assertTrue(any("called exec to run another program" in note for note in notes), notes)

    @unittest.skipUnless(HAS_REAL_TIME, "no right to run in real time")
    def test_real_time_threads_on_one_processor_let_the_recorder_run(self):
        for overflow in ("block", "wait"):
            with self.subTest(overflow):
                run = RecordedRun(
                    [*REAL_TIME, built("descriptors"), "lowest", "20000"], {"overflow": overflow}, timeout=TIMEOUT_S
                )
                self.assertEqual((run.code, run.out, run.err), (0, "0\n", ""))
                self.assertTrue(run.report()["complete"])


if __name__ == "__main__":
    tap.main()
