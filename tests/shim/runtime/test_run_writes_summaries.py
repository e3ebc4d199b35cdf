# SPDX-License-Identifier: MIT
"""run --summary: writes a summary next to each recording when the program has ended."""

import json
import os
import subprocess
import tempfile
import unittest

import tap
from recorded_run import CLI, SIMCUDA, built, cli

PROGRAM = built("late-rank")


class Summaries(unittest.TestCase):
    def run_job(self, script, *options):
        """Runs a shell script under `run --summary`. Returns the finished process and the names of the files."""
        folder = tempfile.TemporaryDirectory(prefix="gpumemtrace-test.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        command = [CLI, "run", "--summary", "-q", "-o", "mem.r%r.gmt.gz", *options, "--", "sh", "-c", script]
        environment = {**os.environ, "LD_LIBRARY_PATH": SIMCUDA}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=self.folder, timeout=120, check=False
        )
        return done, sorted(os.listdir(self.folder))

    def ranks(self):
        return json.loads(cli("ranks", "--json", self.folder).stdout)["ranks"]

    def test_each_rank_of_a_job_has_a_summary_next_to_its_recording(self):
        done, names = self.run_job(f"for i in 0 1 2; do RANK=$i WORLD_SIZE=3 {PROGRAM} & done; wait")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(names, [f"mem.r{rank}.{kind}.gz" for rank in range(3) for kind in ("gmt", "summary")])
        self.assertEqual([os.path.basename(rank["file"]) for rank in self.ranks()], names[1::2])

    def test_a_killed_rank_has_a_summary_that_says_so(self):
        done, names = self.run_job(f"RANK=0 {PROGRAM} 0 mem.r0.gmt.gz; RANK=1 {PROGRAM}")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(names[1::2], ["mem.r0.summary.gz", "mem.r1.summary.gz"])
        self.assertEqual([rank["end"] for rank in self.ranks()], ["killed", "clean"])

    def test_a_rank_that_is_killed_at_once_belongs_to_its_job(self):
        for _ in range(20):
            done, _ = self.run_job(f"RANK=0 WORLD_SIZE=2 {PROGRAM} 0 now; RANK=1 WORLD_SIZE=2 {PROGRAM}")
            self.assertEqual(done.returncode, 0)
            ranks = self.ranks()
            self.assertEqual([(rank["rank"], rank["end"]) for rank in ranks], [(0, "killed"), (1, "clean")])

    def test_the_exit_code_of_the_program_has_priority_and_its_summary_is_written(self):
        done, names = self.run_job(f"RANK=0 {PROGRAM}; exit 7")
        self.assertEqual((done.returncode, names), (7, ["mem.r0.gmt.gz", "mem.r0.summary.gz"]))

    def test_a_summary_that_cannot_be_written_is_one_line_and_exit_code_3(self):
        done, names = self.run_job(f"mkdir mem.r0.summary.gz; RANK=0 {PROGRAM} && RANK=1 {PROGRAM}")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
        self.assertIn("mem.r0.summary.gz", done.stderr)
        self.assertIn("mem.r1.summary.gz", names)

    def test_without_a_recording_there_is_no_summary_and_no_message(self):
        done, names = self.run_job("exit 0")
        self.assertEqual((done.returncode, done.stderr, names), (0, "", []))


if __name__ == "__main__":
    tap.main()
