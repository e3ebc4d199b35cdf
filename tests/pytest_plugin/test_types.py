# SPDX-License-Identifier: MIT
"""The types of the Python package."""

import os
import shutil
import subprocess
import tempfile
import unittest

import tap
from project import PYTHON, SOURCE, needs_pytest

PROGRAM = """
import gpumemtrace
import pytest
from gpumemtrace.pytest_plugin import gpu_memory

gpumemtrace.step()
with gpumemtrace.phase("a"), gpumemtrace.Heap("pool") as heap:
    heap.suballoc(1, 2)
"""


@needs_pytest
class Types(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-types.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def mypy(self, *arguments, cwd=SOURCE):
        return subprocess.run(
            [PYTHON, "-m", "mypy", f"--cache-dir={self.folder}/cache", *arguments],
            cwd=cwd,
            env={**os.environ, "MYPYPATH": os.path.join(SOURCE, "python")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def test_the_package_passes_mypy_strict(self):
        done = self.mypy()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"no issues found in \d\d+ source files")

    def test_a_program_sees_the_types(self):
        path = os.path.join(self.folder, "program.py")
        for line, code in ("", 0), ("gpumemtrace.mark(1)\n", 1), ("heap.suballoc('x', 2)\n", 1):
            with self.subTest(line):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(PROGRAM + line)
                options = ("--strict", "--config-file=", "--ignore-missing-imports", "--allow-subclassing-any")
                done = self.mypy(*options, path, cwd=self.folder)
                self.assertEqual(done.returncode, code, done.stdout)


if __name__ == "__main__":
    tap.main()
