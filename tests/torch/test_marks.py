# SPDX-License-Identifier: MIT
"""The recorder records ranges of PyTorch's NVTX, and a profiler's own NVTX tool continues to work."""

import json
import os
import subprocess
import unittest
from unittest import mock

import tap
from definitions import MarkSource
from recorded_run import SIM_PYTHON, RecordedRun, records, sim_python

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
TOOL = os.path.join(os.environ["GMT_TEST_BUILD"], "tests", "shim", "libnvtx-tool.so")
OLDER = "2.6.0"
KINDS = {2: "push", 3: "pop", 4: "start", 5: "stop", 6: "point"}


def record(**variables):
    command, libraries = sim_python(os.path.join(SCRIPTS, "nvtx_ranges.py"))
    run = RecordedRun(command, {"stacks": "none"}, variables, libraries=libraries)
    assert run.code == 0, (run.code, run.err)
    # The NVTX library in NVTX_INJECTION64_PATH also prints, through C's stdio.
    # Its lines can come before or after Python's.
    (answers,) = [line for line in run.out.splitlines() if line.startswith("{")]
    return run, json.loads(answers)


def marks_of(run):
    names = {row["id"]: row["text"] for row in run.records("name")}
    return [
        (" ".join([KINDS[row["kind"]], *filter(None, [names.get(row["name"])])]), row)
        for row in sorted(run.records("mark"), key=lambda row: row["stamp"])
        if row["source"] == MarkSource.NVTX
    ]


def has_older():
    if not SIM_PYTHON:
        return False
    setup = os.path.join(os.path.dirname(SIM_PYTHON), "setup", "python")
    return (
        subprocess.run(
            [setup, "--if-ready"], env={**os.environ, "GPUMEMTRACE_TORCH": OLDER}, capture_output=True
        ).returncode
        == 0
    )


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Nvtx(unittest.TestCase):
    def check(self):
        run, returned = record()
        self.assertEqual(
            {key: returned[key] for key in ("before", "inner", "left", "last")},
            {"before": 0, "inner": 2, "left": 2, "last": 0},
        )
        marks = marks_of(run)
        printed = [text for text, _ in marks]
        self.assertEqual(sorted(printed[:2]), ["push before", "start any thread"])
        self.assertEqual(printed[2:6], ["push step 1", "point moment", "push inner", "pop"])
        operators = [text for text in printed if text.startswith("push aten::add")]
        self.assertGreaterEqual(len(operators), 1, printed)
        self.assertEqual(sum(text.startswith("push") for text in printed), printed.count("pop"))
        numbers = [row["object"] for text, row in marks if text.startswith("st")]
        self.assertEqual(numbers, [returned["first"]] * 2)
        # The phase began before the recording and has its own beginning. All later ranges lie inside it.
        first = min(row["stamp"] for row in records(run.file, "event"))
        self.assertTrue(all(row["stamp"] < first for _, row in marks[:2]))
        self.assertTrue(all(row["stamp"] > first for _, row in marks[2:]))

    def test_ranges_of_pytorch_are_recorded(self):
        self.check()

    @unittest.skipUnless(has_older(), f"there is no environment with PyTorch {OLDER}")
    def test_ranges_of_an_older_pytorch_are_recorded(self):
        with mock.patch.dict(os.environ, {"GPUMEMTRACE_TORCH": OLDER}):
            self.check()

    def test_a_tool_in_the_environment_gets_all_and_its_answers_reach_the_program(self):
        run, returned = record(NVTX_INJECTION64_PATH=TOOL)
        self.assertEqual(returned, {"before": 70, "inner": 70, "left": 80, "last": 80, "first": 90})
        for line in ("push before", "start any thread", "mark moment", "push inner", "end 90"):
            self.assertIn(f"tool: {line}\n", run.out)
        self.assertIn("push inner", [text for text, _ in marks_of(run)])


if __name__ == "__main__":
    tap.main()
