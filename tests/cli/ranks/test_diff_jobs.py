# SPDX-License-Identifier: MIT
"""diff of two folders: two jobs, rank by rank."""

import json
import os
import unittest

import cli
from job_story import empty_folder, ranks, refuse_request, summary, write_job, write_rank
from recording import MiB


def diff(*arguments, code=0):
    done = cli.run("diff", "--json", *arguments)
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def text(*arguments):
    done = cli.run("diff", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def two_jobs(name):
    """Returns the folders of two jobs. In the new one rank 2 holds more, rank 3 grows, and rank 5 is missing."""
    base = write_job(f"{name}_base", 6)
    new = write_job(
        f"{name}_new",
        5,
        world=6,
        size=lambda rank: (96 if rank == 2 else 64) * MiB,
        leak=lambda rank: MiB * (rank == 3),
    )
    return base, new


class TwoJobs(unittest.TestCase):
    def test_differences_are_those_of_the_peaks_and_the_largest_is_first(self):
        base, new = two_jobs("peaks")
        answer = diff(base, new)
        peaks = [{row["rank"]: row["peak_bytes"] for row in ranks(folder)["ranks"]} for folder in (base, new)]
        self.assertEqual(
            {row["rank"]: row["difference_bytes"] for row in answer["ranks"]},
            {rank: peaks[1][rank] - peaks[0][rank] for rank in range(5)},
        )
        self.assertEqual([row["rank"] for row in answer["ranks"]], [2, 3, 0, 1, 4])

    def test_the_functions_that_make_the_difference_are_named(self):
        first = diff(*two_jobs("functions"))["ranks"][0]
        self.assertEqual(
            [(row["function"], row["new_bytes"] - row["base_bytes"]) for row in first["functions"]],
            [("build", 128 * MiB), ("step", 32 * MiB)],
        )

    def test_a_function_whose_lines_have_moved_is_the_same_function(self):
        base, new = empty_folder("moved_base"), empty_folder("moved_new")
        for folder, line in (base, 7), (new, 9):
            for rank in range(3):
                size = (80 if folder == new and rank == 1 else 40) * MiB
                name = f"{os.path.basename(folder)}/r{rank}.gmt.gz"

                def also(story, size=size, line=line):
                    story.steps(3, lambda _: story.alloc(size, f"/home/me/moved.py:{line} in work"))

                write_rank(rank, 3, os.path.basename(folder), name=name, also=also)
        (row,) = diff(base, new)["ranks"][0]["functions"]
        self.assertEqual((row["file"], row["function"]), ("moved.py", "work"))
        self.assertEqual((row["base_bytes"], row["new_bytes"]), (120 * MiB, 240 * MiB))

    def test_ranks_of_one_job_only_are_named(self):
        base, new = two_jobs("only")
        answer = diff(base, new)
        self.assertEqual((answer["base"]["only_here"], answer["new"]["only_here"]), ([5], []))
        self.assertIn("only in base: 1 rank: 5\n", text(base, new))

    def test_the_text_has_a_row_for_each_rank_that_differs(self):
        base, new = two_jobs("text")
        out = text(base, new)
        self.assertIn("2 of 5 ranks differ\n", out)
        self.assertRegex(out, r"\n    2 +320 MiB +480 MiB +\+160 MiB +\+50\.0 %\n")
        self.assertIn("+128 MiB  train.py:build\n", out)
        self.assertRegex(out, r"\n    3 .* grows now\n")
        self.assertNotRegex(out, r"\n    0 ")
        self.assertIn("1 of 5 ranks differ by 100 MiB or more\n", text("--threshold=100MiB", base, new))

    def test_an_end_that_changed_is_in_the_row(self):
        base = write_job("ends_base", 3)
        new = write_job(
            "ends_new", 3, size=lambda rank: (64 + rank) * MiB, also=lambda rank: refuse_request if rank == 1 else None
        )
        self.assertIn("clean -> out of memory", text(base, new))

    def test_summaries_and_recordings_give_the_same_answer(self):
        base, new = two_jobs("forms")
        before = diff(base, new)
        for rank in range(6):
            path = f"{base}/train.r{rank}.gmt.gz"
            summary(path)
            os.unlink(path)
        after = diff(base, new)
        for answer in before, after:
            for row in answer["ranks"]:
                row["base"].pop("file")
        self.assertEqual(before, after)

    def test_exit_codes_are_those_of_diff(self):
        base, new = two_jobs("codes")
        for options, arguments, code in (
            ((), (base, new), 0),
            (("--exit-code",), (base, new), 1),
            (("--exit-code",), (base, write_job("codes_same", 6)), 0),
            (("--exit-code", "--threshold=1GiB"), (base, write_job("codes_near", 6, size=lambda _: 65 * MiB)), 0),
            (("--strict",), (base, write_job("codes_cut", 6, ends=lambda rank: rank != 2)), 4),
            ((), (base, empty_folder("codes_empty")), 3),
            ((), (base, f"{new}/train.r0.gmt.gz"), 3),
            (("--by=stack",), (base, new), 2),
        ):
            done = cli.run("diff", *options, *arguments)
            self.assertEqual(done.returncode, code, (options, arguments, done.stderr))


if __name__ == "__main__":
    cli.main()
