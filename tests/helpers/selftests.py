# SPDX-License-Identifier: MIT
"""Reads the results of the option selftest."""

import re
import unittest

NATIVE = re.compile(r"selftest: (\d+) native stacks were compared with the unwinder, (\d+) differ")
PYTHON = re.compile(r"selftest: (\d+) Python stacks were compared with the interpreter's frames, (\d+) differ")


class Selftest(unittest.TestCase):
    @staticmethod
    def compared(run, note=NATIVE):
        """Returns how many stacks the recorder compared, and how many differ."""
        found = [note.fullmatch(row["text"]) for row in run.records("note")]
        (match,) = (each for each in found if each)
        return tuple(int(text) for text in match.groups())

    def check(self, run, least, note=NATIVE):
        """Checks that the run ended, that it compared at least this many stacks, and that all are equal."""
        self.assertEqual(run.code, 0, run.err)
        compared, differ = self.compared(run, note)
        self.assertGreaterEqual(compared, least)
        self.assertEqual(differ, 0)
