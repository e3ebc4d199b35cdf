# SPDX-License-Identifier: MIT
"""No wait of the recorder is without an end: threads that it could wait for may not exist, and may not run."""
import os
import unittest

import tap
from snapshots import Recording

PROGRAMS = os.environ["GMT_TEST_PROGRAMS"]
LONG_S = 100  # only a wait without an end lasts so long


class Waits(unittest.TestCase):
    def test_a_fork_in_the_middle_of_another_threads_note_leaves_a_child_that_can_make_notes(self):
        run = Recording([os.path.join(PROGRAMS, "notes")], timeout=LONG_S)
        self.assertEqual((run.code, run.out), (0, "0\n"), run.err)
        self.assertEqual(len(run.files), 1)
        notes = [row["text"] for row in run.records("note")]
        self.assertTrue(any("asked to run another program" in note for note in notes), notes)


if __name__ == "__main__":
    tap.main()
