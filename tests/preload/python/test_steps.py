# SPDX-License-Identifier: MIT
"""Automatic steps in this interpreter, with the recorder and a PyTorch that has only hooks."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "helpers"))

from definitions import MarkKind  # noqa: E402
from recorded_run import RecordedRun, records  # noqa: E402

FAKE_TORCH = os.environ.get("GMT_TEST_FAKE_TORCH", "")


class Steps(unittest.TestCase):
    def record(self, way, *more, options=None):
        # Python 3.12 warns about a fork of a process with threads. The recorder has one.
        run = RecordedRun(
            [
                sys.executable,
                "-W",
                "ignore::DeprecationWarning",
                os.path.join(HERE, "fake_training.py"),
                FAKE_TORCH,
                way,
                *more,
            ],
            options,
            timeout=300,
        )
        self.assertEqual((run.code, run.err), (0, ""), way)
        return run

    def marks(self, path, kind=MarkKind.STEP):
        return [mark for mark in records(path, "mark") if mark["kind"] == kind]

    def notes(self, run):
        return [row["text"] for row in run.records("note") if "steps" in row["text"]]

    def check(self, way, steps=3):
        run = self.record(way)
        self.assertEqual(int(run.out.split()[0]), steps)
        self.assertEqual(len(self.marks(run.file)), steps)
        self.assertEqual(len(self.marks(run.file, MarkKind.TEARDOWN)), 1)
        self.assertEqual(self.notes(run), [])
        return run

    def test_the_first_step_of_the_main_thread_is_marked(self):
        self.check("main_released")
        self.check("main_held")

    def test_the_first_step_of_a_worker_is_marked_while_the_main_thread_waits(self):
        run = self.check("worker_released")
        names = [row["text"] for row in run.records("name")]
        self.assertEqual(names, ["Optimizer"])

    def test_a_worker_that_keeps_the_gil_has_its_steps_marked_once_it_lets_go(self):
        self.check("worker_held")

    def test_optimizers_that_are_imported_later_are_found(self):
        self.check("absent_at_first")
        self.check("absent_at_first_in_worker")

    def test_the_hook_does_not_wait_for_a_blocked_main_thread(self):
        self.check("main_stays_in_c")

    def test_threads_without_python_request_no_hook(self):
        self.check("native_thread_first")

    def test_no_hook_is_added_to_those_that_are_being_called(self):
        self.check("while_hooks_are_called")

    def test_if_the_hooks_are_elsewhere_pytorchs_function_is_called(self):
        self.check("without_a_place")

    def test_a_pytorch_without_hooks_is_reported_in_a_note(self):
        run = self.record("without_hooks")
        self.assertEqual(self.marks(run.file), [])
        (note,) = self.notes(run)
        self.assertIn("this PyTorch has no global optimizer hooks", note)

    def test_a_forked_child_marks_steps_in_its_own_recording(self):
        for way in "forked", "forked_before":
            run = self.record(way)
            self.assertEqual(sorted(len(self.marks(path)) for path in run.files), [2, 3], way)
            self.assertEqual([len(self.marks(path, MarkKind.TEARDOWN)) for path in run.files], [1, 1], way)

    def test_the_interpreter_may_end_at_any_moment(self):
        for wait in *(each / 400 for each in range(8)), 0.3, 0.5:
            # The default: the program does not wait for a recorder thread that waits for the GIL.
            self.record("ending", str(wait), options={"overflow": "block"})
        self.record("first_block_at_the_end")


if __name__ == "__main__":
    unittest.main()
