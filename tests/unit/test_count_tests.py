# SPDX-License-Identifier: MIT
"""Tests scripts/count_tests.py, which writes the summary at the end of scripts/test."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import tap

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "count_tests.py")
JUNIT = '<testsuites><testsuite errors="0" failures="1">{}</testsuite></testsuites>'
CASE = "<testcase>{}</testcase>"


class Reporting(unittest.TestCase):
    def summary_of(self, stdout, result="OK", stderr="", cases=("",), builds=1):
        with tempfile.TemporaryDirectory() as folder:
            logs = os.path.join(folder, "meson-logs")
            os.mkdir(logs)
            with open(os.path.join(logs, "testlog.junit.xml"), "w", encoding="utf-8") as file:
                file.write(JUNIT.format("".join(CASE.format(each) for each in cases)))
            with open(os.path.join(logs, "testlog.json"), "w", encoding="utf-8") as file:
                row = {"name": "torch steps", "stdout": stdout, "stderr": stderr, "result": result, "returncode": 1}
                print(json.dumps(row), file=file)
            return subprocess.run(
                [sys.executable, SCRIPT, *[folder] * builds], capture_output=True, text=True, check=False, timeout=60
            ).stdout.splitlines()

    def test_a_failure_is_shown_with_the_output_around_it(self):
        summary = self.summary_of(
            "1..3\nok 1 - fine\n# of the fine one\nnot ok 2 - bad\n# AssertionError: why\nok 3 - end\n",
            "FAIL",
            cases=("", "<failure/>", ""),
        )
        self.assertEqual(
            summary,
            [
                "failed: torch steps: FAIL, exit code 1",
                "  # of the fine one",
                "  not ok 2 - bad",
                "  # AssertionError: why",
                "2 passed, 1 failed, 0 skipped",
            ],
        )

    def test_control_characters_in_the_output_of_a_test_do_not_end_the_summary(self):
        summary = self.summary_of("not ok 1 - bad\n", "FAIL", cases=("<failure>\x1b[31mred\x1b[0m \x00</failure>", ""))
        self.assertEqual(summary[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_long_failure_is_shown_from_both_ends(self):
        summary = self.summary_of(
            "not ok 1 - bad\n" + "".join(f"# {line}\n" for line in range(500)), "FAIL", cases=("<failure/>",)
        )
        self.assertEqual(len(summary), 63)
        self.assertEqual((summary[1], summary[-2]), ("  not ok 1 - bad", "  # 499"))

    def test_the_end_of_output_without_tap_is_shown(self):
        summary = self.summary_of("FAILED test_steps.py\n", "TIMEOUT", "died here\n", cases=("<failure/>",))
        self.assertEqual(summary[1:-1], ["  FAILED test_steps.py", "  died here"])

    def test_a_skipped_test_is_named_with_its_reason(self):
        summary = self.summary_of("ok 1 - on a device # SKIP needs one\n", cases=("<skipped/>", ""))
        self.assertEqual(summary[0], "skipped: torch steps: on a device: needs one")

    def test_an_abort_by_pytorch_itself_is_counted_and_shown(self):
        summary = self.summary_of("# PyTorch aborted at its own end (abort 1): the program is run again\nok 1 - fine\n")
        self.assertEqual(summary[0], "torch steps: PyTorch aborted at its own end (abort 1): the program is run again")

    def test_tests_of_several_builds_are_counted_as_one_run(self):
        summary = self.summary_of("not ok 1 - bad\n", "FAIL", cases=("<failure/>", "", "<skipped/>"), builds=2)
        self.assertEqual(summary[-1], "2 passed, 2 failed, 2 skipped")
        self.assertEqual(summary.count("  not ok 1 - bad"), 2)

    def test_a_skipped_build_is_counted_with_its_reason(self):
        summary = subprocess.run(
            [sys.executable, SCRIPT, "skipped:sanitizers: no libasan", "failed:others: no space"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.assertEqual(
            summary.stdout.splitlines(),
            ["skipped: sanitizers: no libasan", "failed: others: no space", "0 passed, 1 failed, 1 skipped"],
        )
        self.assertEqual(summary.returncode, 1)


if __name__ == "__main__":
    tap.main()
