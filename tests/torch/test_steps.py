# SPDX-License-Identifier: MIT
"""Steps that the recorder finds by itself: as many marks as calls of optimizer.step()."""

import collections
import json
import os
import tempfile
import unittest

import tap
from definitions import Kind, Layer, MarkKind, MarkSource
from recorded_run import SHIM, SIM_PYTHON, RecordedRun, records, run_again_after_aborts, sim_python

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "steps.py")
SHORT_RUNS = 50 if os.environ.get("GMT_TEST_LONG") else 6


class Steps:
    """The steps of one recording."""

    def __init__(self, path):
        self.path = path
        self.names = {row["id"]: row["text"] for row in records(path, "name")}
        self.marks = [
            mark for mark in records(path, "mark") if mark["source"] in (MarkSource.OPTIMIZER, MarkSource.INTERPRETER)
        ]
        self.notes = [row["text"] for row in records(path, "note")]

    def counted(self):
        """Returns [class, steps] of each optimizer, sorted. Each optimizer has its own number."""
        found = collections.Counter(
            (mark["object"], self.names[mark["name"]]) for mark in self.marks if mark["kind"] == MarkKind.STEP
        )
        return sorted([name, count] for (_number, name), count in found.items())

    def teardowns(self):
        return [mark for mark in self.marks if mark["kind"] == MarkKind.TEARDOWN]


def record(way, options=None, script=SCRIPT):
    command, libraries = sim_python(script, way)
    run = RecordedRun(command, options, libraries=libraries)
    assert run.code == 0, f"{way}: exit code {run.code}\n{run.err}"
    return run, json.loads(run.out.splitlines()[-1])


def own_file(run):
    """Returns the file of the script itself, not of a child."""
    return max(run.files, key=os.path.getsize)


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class AutomaticSteps(unittest.TestCase):
    def check(self, way, least=1):
        run, printed = record(way)
        found = Steps(own_file(run))
        self.assertEqual(found.counted(), sorted(row[1:] for row in printed["steps"]))
        self.assertGreaterEqual(len(printed["steps"]), least)
        self.assertEqual(found.notes, [])
        return run, printed, found

    def test_every_step_of_the_main_thread_is_marked_from_the_first_on(self):
        self.check("main_thread")

    def test_every_step_of_a_worker_is_marked_while_the_main_thread_waits_for_it(self):
        self.check("worker")

    def test_every_step_of_a_daemon_thread_is_marked(self):
        self.check("daemon")

    def test_every_step_in_an_executor_is_marked(self):
        self.check("executor", 4)

    def test_two_optimizers_have_marks_of_their_own(self):
        _, printed, _ = self.check("two_optimizers", 2)
        self.assertEqual(sorted(row[1:] for row in printed["steps"]), [["Adam", 6], ["RMSprop", 3]])

    def test_steps_count_from_the_first_block_on(self):
        _, printed, _ = self.check("late")
        self.assertEqual([row[2] for row in printed["steps"]], [3])

    def test_a_step_that_raises_does_not_count_and_others_do(self):
        _, printed, _ = self.check("raising")
        self.assertEqual([row[1:] for row in printed["steps"]], [["SGD", 8]])

    def test_a_step_that_calls_the_step_of_its_base_class_counts_once(self):
        self.check("subclass", 4)

    def test_optimizers_of_every_kind_are_seen(self):
        _, printed, _ = self.check("kinds", 11)
        self.assertIn("LBFGS", [row[1] for row in printed["steps"]])

    def test_a_gradient_scaler_steps_its_optimizer(self):
        self.check("scaler")

    def test_copies_of_optimizers_and_their_hooks_work_as_without_the_recorder(self):
        _, printed, found = self.check("copies", 5)
        self.assertEqual(printed["calls"], ["global"] * 2 + ["own", "global", "own"])
        self.assertEqual(len(found.teardowns()), 1)

    def test_loader_workers_change_nothing(self):
        run, _, _ = self.check("loader")
        self.assertEqual(len(run.files), 1)

    def test_a_spawned_child_has_steps_of_its_own(self):
        self.check_child("spawned")

    def test_a_forked_child_has_steps_of_its_own(self):
        self.check_child("forked")

    def check_child(self, way):
        run, printed = record(way)
        counts = sorted(Steps(path).counted() for path in run.files)
        self.assertEqual(counts, [[["SGD", 2]], [["SGD", 3]]])
        self.assertEqual([row[2] for row in printed["steps"]], [2])

    def test_a_child_that_records_nothing_inherits_no_recording(self):
        run, _, _ = self.check("forked_later")
        self.assertEqual(len(run.files), 1)

    def test_a_compiled_step_is_a_step(self):
        _, printed, _ = self.check("compiled")
        self.assertEqual(printed["graphs"], record("compiled", {"steps": "off"})[1]["graphs"])

    def test_python_shows_no_trace_of_the_recorder(self):
        for way, threads in ("unseen", ["MainThread"]), ("unseen_in_worker", ["MainThread"]):
            with self.subTest(way):
                _, printed, _ = self.check(way)
                self.assertEqual(printed["threads"], threads)
                self.assertTrue(printed["collecting"])
                self.assertNotIn("gmt-python", printed["tasks"])
                self.assertEqual(printed["frames"], 1 if way == "unseen" else 2)

    def test_steps_off_marks_nothing(self):
        for way in "main_thread", "worker":
            run, _ = record(way, {"steps": "off"})
            self.assertEqual(Steps(own_file(run)).marks, [])

    def test_the_end_of_python_is_marked_before_its_teardown(self):
        run, printed, found = self.check("held")
        (teardown,) = found.teardowns()
        self.assertEqual(teardown["source"], MarkSource.INTERPRETER)
        stamps = {}
        for event in records(own_file(run), "event"):
            if event["layer"] == Layer.TORCH and event["size_bytes"] in (3 << 20, 5 << 20):
                stamps[event["kind"], event["size_bytes"] >> 20] = event["stamp"]
        self.assertLess(max(mark["stamp"] for mark in found.marks if mark["kind"] == MarkKind.STEP), teardown["stamp"])
        self.assertLess(stamps[1, 5], teardown["stamp"])
        self.assertLess(teardown["stamp"], stamps[Kind.FREE, 5])
        # The program registered its callback later, so it runs before the mark and still belongs to the program.
        self.assertLess(stamps[Kind.FREE, 3], teardown["stamp"])

    def test_a_process_ends_as_without_the_recorder(self):
        """PyTorch itself sometimes aborts at its end. Its message identifies this abort; the test then tries again."""
        for way in "main_thread", "daemon":
            command, libraries = sim_python(SCRIPT, way)
            for _ in range(SHORT_RUNS):
                with tempfile.TemporaryDirectory() as folder:
                    ended = run_again_after_aborts(
                        ["env", f"LD_PRELOAD={SHIM}", *command],
                        timeout=120,
                        cwd=folder,
                        env={**os.environ, "LD_LIBRARY_PATH": libraries, "GPUMEMTRACE_OPTIONS": "output=a.gmt.gz"},
                    )
                self.assertEqual(ended.returncode, 0, f"{way}: {ended.stderr}")


if __name__ == "__main__":
    tap.main()
