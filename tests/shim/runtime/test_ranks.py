# SPDX-License-Identifier: MIT
"""Which ranks of a job are recorded, and into which folders."""

import os
import subprocess
import unittest

import tap
from recorded_run import CLI, SIMCUDA, RecordedRun, built, cli

PROGRAM = built("late-rank")


def job(ranks, options, *arguments):
    """Runs the program as each of these ranks, and returns the runs by rank."""
    return {
        rank: RecordedRun([PROGRAM, *arguments], options, environment={} if rank is None else {"RANK": str(rank)})
        for rank in ranks
    }


def recorded(runs):
    for run in runs.values():
        assert (run.code, run.err) == (0, ""), (run.code, run.err)
    return [rank for rank, run in runs.items() if run.files]


class Ranks(unittest.TestCase):
    def test_only_the_ranks_of_the_list_are_recorded(self):
        self.assertEqual(recorded(job(range(8), {"ranks": "1,4-6"})), [1, 4, 5, 6])
        self.assertEqual(recorded(job((0, 1, 4, 8, 11), {"ranks": "*/4"})), [0, 4, 8])
        self.assertEqual(recorded(job((0, 4, 6, 9), {"ranks": "4-8/2,9"})), [4, 6, 9])
        self.assertEqual(recorded(job((0, 5), {"ranks": "all"})), [0, 5])

    def test_the_recorder_stays_out_of_the_way_of_the_other_ranks(self):
        # Here the program's look-up of cuMemAlloc finds the driver's function, and there is one thread.
        runs = job((0, 1), {"ranks": "1", "verbosity": "2", "overflow": None})
        self.assertEqual((runs[0].out, runs[0].err, runs[0].files), ("libcuda.so.1 1\n", "", []))
        self.assertRegex(runs[1].out, "libgpumemtrace.so [2-9]\n")

    def test_a_process_without_a_rank_is_recorded(self):
        self.assertEqual(recorded(job((None,), {"ranks": "1"})), [None])

    def test_a_rank_that_the_program_sets_itself_counts_at_the_first_event(self):
        self.assertEqual(recorded(job((None,), {"ranks": "1,3"}, "2")), [])
        runs = job((None,), {"ranks": "1,3"}, "3")
        self.assertEqual(recorded(runs), [None])
        self.assertEqual(runs[None].records("process")[0]["rank"], 3)

    def test_a_child_of_fork_is_left_out_with_its_parent(self):
        run = RecordedRun([built("forks")], {"ranks": "1"}, environment={"RANK": "0"})
        self.assertEqual((run.code, run.files), (0, []))

    def test_a_list_that_is_wrong_is_one_line_and_all_ranks_are_recorded(self):
        for text in "8-1", "0;8", "a", "*/0", "1,", "-1", ",".join(map(str, range(30))):
            run = job((0,), {"ranks": text})[0]
            self.assertEqual(len(run.err.splitlines()), 1, run.err)
            self.assertIn(f"ranks={text[:40]}", run.err)
            self.assertTrue(run.files, text)

    def test_run_says_that_no_rank_may_have_been_chosen(self):
        environment = {**os.environ, "RANK": "0", "LD_LIBRARY_PATH": SIMCUDA}
        done = subprocess.run(
            [CLI, "run", "--ranks=1", "--", PROGRAM], capture_output=True, text=True, env=environment, timeout=60
        )
        self.assertEqual(done.returncode, 0)
        self.assertIn("or none of its ranks is in --ranks", done.stderr)

    def test_doctor_says_that_the_rank_is_not_in_the_list(self):
        for rank, words in (("0", "rank 0 of this process is not in it"), ("1", "ok")):
            environment = {**os.environ, "RANK": rank, "GPUMEMTRACE_OPTIONS": "ranks=1"}
            done = subprocess.run([CLI, "doctor"], capture_output=True, text=True, env=environment, timeout=120)
            line = next(line for line in done.stdout.splitlines() if "ranks=1" in line)
            self.assertIn(words, line)


class Folders(unittest.TestCase):
    def names(self, template, rank=None):
        run = job((rank,), {"output": template})[rank]
        self.assertEqual((run.code, run.err), (0, ""))
        return [os.path.relpath(path, run.folder) for path in run.files]

    def test_folders_in_the_name_are_made(self):
        environment = {"RANK": "2", "SLURM_JOB_ID": "77"}
        run = RecordedRun([PROGRAM], {"output": "%q{SLURM_JOB_ID}/%l/a.r%r.gmt.gz"}, environment)
        self.assertEqual(os.path.relpath(run.file, run.folder), "77/0/a.r2.gmt.gz")

    def test_ranks_are_spread_over_folders_by_the_end_of_their_number(self):
        self.assertEqual(self.names("%H/a.r%r.gmt.gz", 300), ["2c/a.r300.gmt.gz"])
        self.assertEqual(self.names("%H/a.gmt.gz", 5), ["05/a.r5.gmt.gz"])

    def test_without_a_rank_processes_are_spread_by_host_and_process(self):
        folders = {self.names("%H/a.gmt.gz")[0] for _ in range(12)}
        self.assertGreater(len(folders), 4)
        for name in folders:
            self.assertRegex(name, "^[0-9a-f]{2}/a.gmt.gz$")

    def test_ranks_reads_the_recordings_of_all_folders(self):
        run = job((0,), {"output": "%H/a.r%r.gmt.gz"})[0]
        self.assertIn("1 rank on 1 host", cli("ranks", run.folder).stdout)


if __name__ == "__main__":
    tap.main()
