# SPDX-License-Identifier: MIT
"""docs/internals/coverage.md agrees with the tables of hooks."""

import os
import re
import subprocess
import unittest

import tap
from runtimes import SOURCE, cuda_functions

PAGE = os.path.join(SOURCE, "docs", "internals", "coverage.md")


class Coverage(unittest.TestCase):
    def test_the_page_equals_its_generated_text(self):
        done = subprocess.run(
            [os.path.join(SOURCE, "scripts", "make-coverage"), "--check"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_each_row_and_each_name_without_one_is_on_the_page_once(self):
        with open(PAGE, encoding="utf-8") as file:
            hooked, without = file.read().split("## Not hooked")
        for row in cuda_functions.rows():
            if row.library == "CUDA":
                self.assertEqual(len(re.findall(rf"^\| `{row.symbol}` \|", hooked, re.M)), 1, row.symbol)
            elif row.library == "CUDART":
                self.assertGreaterEqual(hooked.count(f"`{row.symbol}`"), 1, row.symbol)
        for name, (reason, _) in cuda_functions.not_hooked().items():
            self.assertEqual(without.count(f"| `{name}` | {reason} |"), 1, name)

    def test_each_row_is_parsed_completely(self):
        rows = cuda_functions.rows()
        text = re.sub(r"/\*.*?\*/", "", cuda_functions.read_table(cuda_functions.HOOKS), flags=re.S)
        self.assertGreater(len(rows), 150)
        self.assertEqual(len(rows), len(re.findall(r"^GMT_HOOK\w*\s*\(", text, re.M)))
        for row in rows:
            self.assertRegex(row.symbol, r"^(cu|_ZN3c10)\w+$")
            self.assertIn(row.mode, ("LEGACY", "PTDS"))
            if row.macro == "GMT_HOOK":
                self.assertRegex(row.parameters, r"^\(.*\)$")
                self.assertRegex(row.kind, r"^[A-Z_]+$")
                self.assertRegex(row.space, r"^[A-Z_]+$")


if __name__ == "__main__":
    tap.main()
