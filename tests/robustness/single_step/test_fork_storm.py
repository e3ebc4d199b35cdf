# SPDX-License-Identifier: MIT
"""If a timer's handler forks in the recorder, no child dies or hangs, and the parent's recording has all calls."""

import json
import os
import unittest

import tap
from recorded_run import RecordedRun, cli
from stepping import DRIVERS, FOLDER

LONG = bool(os.environ.get("GMT_TEST_LONG"))
FORKS = 1000000 if LONG else 200
TIMEOUT_S = 20000


class Storm(unittest.TestCase):
    def test_children_of_handlers_that_interrupt_the_recorder_end_in_order(self):
        run = RecordedRun([os.path.join(FOLDER, "fork-storm"), str(FORKS), "."], libraries=DRIVERS, timeout=TIMEOUT_S)
        self.assertEqual((run.code, run.err), (0, ""))
        forks, ended, died, hung, allocs, frees = map(int, run.out.split())
        print(f"# {forks} forks, {allocs + frees} calls of the parent", flush=True)
        self.assertEqual((forks, ended, died, hung), (FORKS, FORKS, 0, 0))
        # The program removed the children's recordings, so the file is the parent's.
        info = json.loads(cli("info", "--json", run.file).stdout)
        self.assertEqual((info["events"], info["dropped"], info["complete"]), (allocs + frees, 0, True))


if __name__ == "__main__":
    tap.main()
