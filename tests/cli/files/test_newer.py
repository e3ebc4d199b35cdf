# SPDX-License-Identifier: MIT
"""Recordings whose name was taken: the number in the new name, and the note of verbs that read the first file."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import cli


class Newer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.made = cli.make("newer.gmt.gz", events=50)

    def add(self, *names):
        """Adds recordings. Each is newer than the one before."""
        for name in names:
            path = os.path.join(self.folder, name)
            shutil.copy(self.made, path)
            self.age = getattr(self, "age", 10**9) + 10
            os.utime(path, (self.age, self.age))

    def hints(self, *arguments):
        done = cli.run(*arguments, cwd=self.folder)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return [line.removeprefix("gpumemtrace: hint: ") for line in done.stderr.splitlines() if "newer" in line]

    def test_each_verb_that_reads_the_first_file_names_the_newest(self):
        self.add("train.gmt.gz", "train.1.gmt.gz", "train.2.gmt.gz", "train.3.gmt.gz", "other.gmt.gz")
        said = ["train.gmt.gz: 3 newer recordings of this name; the newest is train.3.gmt.gz"]
        for arguments in (
            ["report"],
            ["leaks"],
            ["info"],
            ["check"],
            ["dump"],
            ["fold", "-o", "small"],
            ["diff", "other.gmt.gz"],
            ["report", "--json"],
            ["report", "-o", "out"],
        ):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.hints(*arguments, "train.gmt.gz"), said)
        json.loads(cli.run("report", "--json", os.path.join(self.folder, "train.gmt.gz")).stdout)
        self.assertEqual(self.hints("info", "train.2.gmt.gz", "other.gmt.gz"), [])

    def test_there_is_no_note_if_the_verb_also_reads_the_newest_file(self):
        self.add("train.gmt.gz", "train.1.gmt.gz")
        self.assertEqual(self.hints("info", "train.gmt.gz", "train.1.gmt.gz"), [])
        self.assertEqual(self.hints("diff", "train.gmt.gz", "./train.1.gmt.gz"), [])
        os.symlink("train.1.gmt.gz", os.path.join(self.folder, "link"))
        self.assertEqual(self.hints("info", "train.gmt.gz", "link"), [])

    def test_older_files_and_files_of_other_names_are_not_newer(self):
        self.add(
            "train.1.gmt.gz",
            "train.2.gmt.gz",
            "train.gmt.gz",
            "train.4711.gmt.gz",
            "training.1.gmt.gz",
            "train.1",
            "train.gmt.gz.1",
        )
        os.mkdir(os.path.join(self.folder, "train.3.gmt.gz"))
        self.assertEqual(self.hints("info", "train.gmt.gz"), [])

    def test_removed_files_hide_no_later_file_and_every_suffix_has_numbers(self):
        self.add("train.gmt.gz", "train.5.gmt.gz", "a.gz", "a.1.gz", "b", "b.1")
        self.assertEqual(
            self.hints("info", "train.gmt.gz"),
            ["train.gmt.gz: 1 newer recording of this name; the newest is train.5.gmt.gz"],
        )
        self.assertEqual(self.hints("info", "a.gz"), ["a.gz: 1 newer recording of this name; the newest is a.1.gz"])
        self.assertEqual(self.hints("info", "b"), ["b: 1 newer recording of this name; the newest is b.1"])

    def test_run_names_what_was_written_under_a_number_or_a_rank_and_nothing_else(self):
        program = os.path.join(self.folder, "gpumemtrace")
        shutil.copy(cli.CLI, program)
        with open(os.path.join(self.folder, "libgpumemtrace.so"), "wb") as file:
            # Only the library's name matters: the program does not use CUDA.
            with open(os.path.join(cli.BUILD, "tests", "cli", "libfake_recorder.so"), "rb") as fake:
                file.write(fake.read())
        for template, names, more in (
            ("train.gmt.gz", ["train.1.gmt.gz"], "training.gmt.gz"),
            ("t.gmt.gz", ["t.r3.gmt.gz"], "t2.gmt.gz"),
            ("t.gmt.gz", ["t.r3.1.gmt.gz"], "tt.1.gmt.gz"),
            ("x{a,b}.gz", ["x{a,b}.2.gz"], "xa.gz"),
            ("plain", ["plain.1"], "plainer"),
            ("%p.gmt.gz", ["7.1.gmt.gz"], "7.gmt"),
        ):
            with self.subTest(template=template):
                done = subprocess.run(
                    [program, "run", "-o", template, "--", "touch", *names, more],
                    cwd=self.folder,
                    capture_output=True,
                    text=True,
                    env=cli.PLAIN,
                    timeout=60,
                    check=False,
                )
                last = done.stderr.splitlines()[-1].removeprefix("next: gpumemtrace report ")
                self.assertEqual(last.replace("'", "").split(" "), names)


if __name__ == "__main__":
    cli.main()
