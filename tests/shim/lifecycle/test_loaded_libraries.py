# SPDX-License-Identifier: MIT
"""Libraries are loaded and unloaded many times: each stack has the right library, and the library map stays bounded."""

import os
import unittest

import tap
from recorded_run import RecordedRun, built, cli

LONG = bool(os.environ.get("GMT_TEST_LONG"))
ONE, TWO = (built(f"libloaded-{name}.so") for name in ("one", "two"))
TIMEOUT_S = 3000 if LONG else 240


class Modules(unittest.TestCase):
    def run_mode(self, times, every, *libraries):
        run = RecordedRun([built("loaded-libraries"), str(times), str(every), *libraries], timeout=TIMEOUT_S)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertTrue(run.report()["complete"])
        self.modules = run.records("module")
        self.stacks = {row["id"]: row for row in run.records("stack")}
        return run

    def lines_of(self, library):
        return [row for row in self.modules if row["path"] == library]

    def check_stacks(self, run):
        """Checks that each stack of an allocation by a library resolves to that library, and not to the other one."""
        for event in run.events():
            stack = self.stacks[event["stack"]]
            paths = set()
            for address in stack["items"]:
                held = [
                    row
                    for row in self.modules
                    if row["start"] <= address < row["end"] and row["generation"] <= stack["generation"]
                ]
                if held:
                    paths.add(max(held, key=lambda row: (row["generation"], row["id"]))["path"])
            self.assertEqual(paths & {ONE, TWO}, {1000: {ONE}, 2000: {TWO}, 3000: set()}[event["size_bytes"]])

    def test_a_library_loaded_again_at_its_address_is_recorded_once(self):
        run = self.run_mode(300, 1, ONE)
        # The kernel chooses the address, and the recorder's own mappings change. So the library gets a few addresses.
        places = [row["start"] for row in self.lines_of(ONE)]
        self.assertEqual(len(places), len(set(places)))
        self.assertLess(len(places), 10)
        self.check_stacks(run)

    def test_libraries_that_replace_each_other_are_distinguished_in_each_stack(self):
        run = self.run_mode(300, 1, ONE, TWO)
        self.assertEqual((len(self.lines_of(ONE)), len(self.lines_of(TWO))), (150, 150))
        self.check_stacks(run)

    def test_a_report_opens_a_file_once_even_if_loaded_often(self):
        run = self.run_mode(1000, 1, ONE, TWO)
        self.assertEqual((len(self.lines_of(ONE)), len(self.lines_of(TWO))), (500, 500))
        # The reader needs 280 KiB for each open file.
        done = cli("--max-memory=128MiB", "report", "--no-symbol-cache", run.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_libraries_in_no_stack_are_not_recorded(self):
        run = self.run_mode(3001, 1000, ONE, TWO)
        # The map has the libraries of the four calls that allocate, and any library that is loaded while it is written.
        self.assertLessEqual(len(self.lines_of(ONE) + self.lines_of(TWO)), 12)
        self.check_stacks(run)

    @unittest.skipUnless(LONG, "scripts/test --long")
    def test_a_full_map_of_libraries_ends_native_stacks_but_not_events(self):
        run = self.run_mode(70000, 1, ONE, TWO)
        self.assertLessEqual(len(self.modules), 65536)
        self.assertEqual(len(run.events()), 70002)
        self.assertTrue(any("loaded and unloaded" in row["text"] for row in run.records("note")))
        self.assertEqual({event["stack"] for event in run.events()[-1000:]}, {0})


if __name__ == "__main__":
    tap.main()
