# SPDX-License-Identifier: MIT
"""run --html: the page of the recordings that a program left."""

import os
import shutil
import subprocess
import tempfile
import unittest

import cli
import page_checks
import page_packets
from recording import Story, train

FAKE = os.path.join(cli.BUILD, "tests", "cli", "libfake_recorder.so")


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.recording = train(Story()).write("recorded.gmt.gz")

    def install(self, program):
        """Copies a program to its own folder, with a recorder next to it that records nothing."""
        for folder in "bin", os.path.join("lib", "gpumemtrace"):
            os.makedirs(os.path.join(self.folder, folder), exist_ok=True)
        shutil.copy(FAKE, os.path.join(self.folder, "lib", "gpumemtrace", "libgpumemtrace.so"))
        return shutil.copy(program, os.path.join(self.folder, "bin", "gpumemtrace"))

    def run_program(self, script, *options, program=page_checks.CLI):
        """Runs a script in the place of a program that is recorded."""
        return subprocess.run(
            [self.install(program), "run", *options, "--", "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=self.folder,
            env=cli.PLAIN,
        )

    def place(self, name):
        return os.path.join(self.folder, name)

    def record(self, *names):
        return "; ".join(f"cp {self.recording} {name}" for name in names)

    def test_the_page_is_written_when_the_program_has_ended(self):
        done = self.run_program(self.record("gpumemtrace.sh.a.1.gmt.gz"), "--html")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertRegex(done.stderr, r"^\nprog on here: .*, complete\npeak ")
        self.assertTrue(done.stderr.endswith("\ngpumemtrace: the page is gpumemtrace.sh.a.1.html\n"), done.stderr)
        page = page_packets.Page(self.place("gpumemtrace.sh.a.1.html"))
        self.assertEqual([row["file"] for row in page.recordings], ["gpumemtrace.sh.a.1.gmt.gz"])

    def test_all_processes_are_one_page_also_if_the_program_fails(self):
        names = "gpumemtrace.sh.a.1.gmt.gz", "gpumemtrace.sh.a.2.gmt.gz"
        done = self.run_program(self.record(*names) + "; exit 7", "--quiet", "--html=all.html")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "", ""))
        page = page_packets.Page(self.place("all.html"))
        self.assertEqual([row["file"] for row in page.recordings], list(names))

    def test_a_program_that_recorded_nothing_has_no_page(self):
        done = self.run_program("true", "--html=x.html")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no page: no recording was written", done.stderr)
        self.assertEqual(self.run_program("exit 5", "--html=x.html").returncode, 5)
        self.assertFalse(os.path.exists(self.place("x.html")))

    def test_without_the_page_the_program_does_not_start(self):
        done = self.run_program("touch started", "--html=x.html", program=cli.CLI)
        if "built without the page" not in done.stderr:
            self.skipTest("this build has the page")
        self.assertEqual(done.returncode, 125)
        self.assertFalse(os.path.exists(self.place("started")))


if __name__ == "__main__":
    cli.main()
