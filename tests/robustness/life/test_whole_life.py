# SPDX-License-Identifier: MIT
"""No event is missing if libraries use CUDA before the recorder's constructor, or after its destructor."""

import unittest

import shared_recordings
import tap
from definitions import Kind
from recorded_run import RecordedRun, built

LINKED, OPENER = (built(name) for name in ("early-host", "early-opener"))
LIBRARY = built("libearly.so")
BLOCKS = 20


class WholeLife(unittest.TestCase):
    def run_host(self, *arguments, program=LINKED, options=None, **parts):
        run = RecordedRun([program, *arguments], options, environment={f"EARLY_{name}": "1" for name in parts})
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertEqual([area.path for area in shared_recordings.recordings() if area.file.startswith(run.folder)], [])
        return run

    def check(self, run, allocated, freed):
        kinds = [event["kind"] for event in run.events()]
        self.assertEqual((kinds.count(Kind.ALLOC), kinds.count(Kind.FREE)), (allocated, freed))
        report = run.report()
        self.assertTrue(report["complete"])
        self.assertEqual(report["events"]["dropped"], 0)

    def test_allocations_of_a_library_constructor_are_recorded(self):
        self.check(self.run_host(ALLOCATE=1), BLOCKS, 0)

    def test_allocations_of_a_constructor_through_dlsym_are_recorded(self):
        self.check(self.run_host(BY_NAME=1), BLOCKS, 0)

    def test_frees_of_a_library_destructor_are_recorded(self):
        for how in ("return", "exit", "pthread_exit"):
            with self.subTest(how):
                self.check(self.run_host(how, ALLOCATE_IN_MAIN=1, FREE=1), BLOCKS, BLOCKS)

    def test_an_end_without_destructors_is_a_whole_recording(self):
        for how in ("quick_exit", "_exit"):
            with self.subTest(how):
                self.check(self.run_host(how, ALLOCATE_IN_MAIN=1, FREE=1), BLOCKS, 0)

    def test_a_library_that_allocates_first_and_frees_last_leaves_no_live_block(self):
        run = self.run_host(ALLOCATE=1, FREE=1)
        self.check(run, BLOCKS, BLOCKS)
        self.assertEqual(run.totals()["live_bytes"], 0)

    def test_frees_of_the_destructor_of_an_opened_library_are_recorded(self):
        # The constructor holds the loader's lock, which opening NVML needs. The recorder must not wait for NVML.
        run = self.run_host(LIBRARY, program=OPENER, options={"samples": "off"}, ALLOCATE=1, FREE=1)
        self.check(run, BLOCKS, BLOCKS)

    def test_a_recording_that_a_destructor_begins_is_whole(self):
        self.check(self.run_host(ALLOCATE_LATE=1), BLOCKS, 0)

    def test_after_the_end_no_recording_begins(self):
        self.assertEqual(self.run_host(LAST=1).files, [])


if __name__ == "__main__":
    tap.main()
