# SPDX-License-Identifier: MIT
"""A root process that changes its user or its root folder has a complete recording, and leaves nothing behind."""

import glob
import os
import unittest

import shared_recordings
import tap
from recorded_run import RecordedRun, built

PROGRAM = built("change-user")


@unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
class ChangeUser(unittest.TestCase):
    def check(self, *steps):
        run = RecordedRun([PROGRAM, *steps])
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertEqual([event["size_bytes"] for event in run.events()], [1111, 3333])
        self.assertTrue(run.report()["complete"])
        pid = run.out.strip()
        left = glob.glob(f"{shared_recordings.folder()}/{pid}.*")
        if os.environ.get("XDG_RUNTIME_DIR"):
            left += glob.glob(f"{os.environ['XDG_RUNTIME_DIR']}/gpumemtrace/{pid}.*")
        self.assertEqual(left, [])
        return run

    def test_each_way_to_become_another_user_leaves_nothing(self):
        for step in ("setuid", "setreuid", "setresuid"):
            with self.subTest(step):
                notes = [row["text"] for row in self.check(step).records("note")]
                self.assertTrue(any("changed from root to another user" in note for note in notes), notes)

    def test_a_temporary_effective_user_leaves_nothing(self):
        self.check("seteuid")

    def test_another_root_folder_leaves_nothing(self):
        self.check("chroot")

    def test_another_user_and_another_root_folder_leave_nothing(self):
        self.check("chroot", "setuid")


if __name__ == "__main__":
    tap.main()
