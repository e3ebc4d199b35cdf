# SPDX-License-Identifier: MIT
"""check: folders, and summaries in place of recordings."""

import glob
import json
import os
import shutil
import unittest

import cli
from job_story import empty_folder, refuse_request, summary, write_job
from recording import MiB

# Rules that a summary answers as its recording does.
ANSWERED = ("GMT001", "GMT002", "GMT003", "GMT005", "GMT008", "GMT009", "GMT010", "GMT011")


def check(*arguments):
    done = cli.run("check", "--json", *arguments)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def answers(verdict, rules=ANSWERED):
    """Returns what the checks of a verdict say, without the order and the names of the files."""
    names = ("rule", "state", "layer", "device", "measured", "limit", "unit")
    ranks = [file["rank"] for file in verdict["files"]]
    return sorted(
        json.dumps([ranks[row["file"]], *(row[name] for name in names)])
        for row in verdict["checks"]
        if row["rule"] in rules
    )


def summaries_of(folder, name):
    """Writes the summaries of a folder's recordings into a folder of their own."""
    to = empty_folder(name)
    for path in sorted(glob.glob(f"{folder}/*.gmt.gz")):
        shutil.move(summary(path), to)
    return to


LIMITS = ("--max-peak=330MiB", "--max-spread=5%", "--max-missing-ranks=0")
DIFFERENT = {
    "size": lambda rank: (64 + 10 * (rank == 2)) * MiB,
    "leak": lambda rank: MiB * (rank == 1),
    "also": lambda rank: refuse_request if rank == 3 else None,
    "ends": lambda rank: rank != 3,
}


class Summaries(unittest.TestCase):
    def test_a_summary_has_the_verdict_of_its_recording(self):
        folder = write_job("same", 4, world=5, **DIFFERENT)
        code, recordings = check(*LIMITS, folder)
        again, summaries = check(*LIMITS, summaries_of(folder, "same_summaries"))
        self.assertEqual((code, again), (1, 1))
        self.assertEqual(answers(summaries), answers(recordings))
        for rule in ("GMT002", "GMT003", "GMT005", "GMT010", "GMT011"):
            self.assertIn("failed", "".join(answers(summaries, (rule,))), rule)

    def test_a_finding_names_its_line(self):
        to = summaries_of(write_job("lines", 3, leak=lambda rank: MiB * (rank == 1)), "lines_summaries")
        done = cli.run("check", to)
        self.assertEqual(done.returncode, 1)
        self.assertIn("GMT002 growth: torch on GPU 0, rank 1", done.stdout)
        self.assertIn("train.py:32 in keep", done.stdout)
        self.assertIn(
            "skipped GMT007 invalid-free: 3 checks; the first: not judged: a summary has no frees", done.stdout
        )

    def test_a_suppression_of_the_line_applies(self):
        to = summaries_of(write_job("hidden", 2, leak=lambda _rank: MiB), "hidden_summaries")
        with open(cli.place("hidden.supp"), "w") as file:
            file.write("growth:keep\n")
        self.assertEqual([check(to)[0], check(f"--suppressions={file.name}", to)[0]], [1, 0])
        written = cli.run("check", "--gen-suppressions", to).stdout
        self.assertIn("growth:^keep$", written)

    def test_an_option_that_needs_events_is_not_judged_and_strict_says_so(self):
        folder = write_job("options", 2)
        baseline = cli.place("options.baseline")
        self.assertEqual(cli.run("check", f"--baseline={baseline}", "--update-baseline", folder).returncode, 0)
        to = summaries_of(folder, "options_summaries")
        for option, rule in (
            (f"--baseline={baseline}", "GMT004"),
            ("--max-fragmentation=1.5", "GMT006"),
            ("--warmup=3", "GMT002"),
            ("--definition=exit", "GMT001"),
        ):
            code, verdict = check(option, to)
            texts = {row["text"] for row in verdict["checks"] if row["rule"] == rule}
            self.assertEqual((code, check(option, "--strict", to)[0]), (0, 4), option)
            self.assertTrue(all(text.startswith("not judged: a summary has no ") for text in texts) and texts, texts)
        self.assertEqual(check("--strict", to)[0], 0)

    def test_a_baseline_is_not_written_from_a_summary(self):
        to = summaries_of(write_job("no_baseline", 2), "no_baseline_summaries")
        path = cli.place("no.baseline")
        done = cli.run("check", f"--baseline={path}", "--update-baseline", to)
        self.assertEqual((done.returncode, os.path.exists(path)), (3, False))
        self.assertIn("a summary has no stacks for a baseline", done.stderr)


class Folders(unittest.TestCase):
    def test_a_recording_counts_and_not_its_summary(self):
        folder = write_job("both", 3)
        before = check(folder)[1]
        for path in glob.glob(f"{folder}/*.gmt.gz"):
            summary(path)
        both = check(folder)[1]
        self.assertEqual([file["path"] for file in both["files"]], [file["path"] for file in before["files"]])
        os.remove(f"{folder}/train.r1.gmt.gz")
        names = [os.path.basename(file["path"]) for file in check(folder)[1]["files"]]
        self.assertEqual(names, ["train.r0.gmt.gz", "train.r2.gmt.gz", "train.r1.summary.gz"])

    def test_recordings_and_summaries_are_one_job(self):
        folder = write_job("mixed", 4, world=4)
        for rank in (1, 2):
            summary(f"{folder}/train.r{rank}.gmt.gz")
            os.remove(f"{folder}/train.r{rank}.gmt.gz")
        code, verdict = check("--max-missing-ranks=0", "--max-spread=1%", folder)
        self.assertEqual((code, [file["rank"] for file in verdict["files"]]), (0, [0, 3, 1, 2]))

    def test_named_recordings_keep_their_order(self):
        folder = write_job("order", 3)
        paths = [f"{folder}/train.r{rank}.gmt.gz" for rank in (2, 0, 1)]
        self.assertEqual([file["path"] for file in check(*paths)[1]["files"]], paths)

    def test_other_files_are_named_in_a_note(self):
        folder = write_job("other", 2)
        with open(f"{folder}/log.txt", "w") as file:
            file.write("hello\n")
        done = cli.run("check", folder)
        self.assertEqual(done.returncode, 0)
        self.assertIn("note: 1 file left out: not a recording", done.stdout)

    def test_an_empty_recording_in_a_folder_is_not_passed_over(self):
        """A process that was killed in its first moment leaves an empty file, or a part of the header."""
        folder = write_job("killed-early", 2)
        for begin in b"", b"\x1f\x8b\x08":
            with open(f"{folder}/train.r2.gmt.gz", "wb") as file:
                file.write(begin)
            done = cli.run("check", folder)
            self.assertEqual(done.returncode, 3, begin)
            self.assertIn("train.r2.gmt.gz could not be read and was not judged", done.stdout)

    def test_what_cannot_be_read_is_exit_code_3(self):
        folder = write_job("damaged", 2)
        path = summary(f"{folder}/train.r1.gmt.gz")
        os.remove(f"{folder}/train.r1.gmt.gz")
        with open(path, "rb") as file:
            whole = file.read()
        with open(path, "wb") as file:
            file.write(whole[: len(whole) // 2])
        self.assertEqual([check(folder)[0], check(path)[0]], [3, 3])
        self.assertEqual(check(empty_folder("empty"))[0], 3)
        self.assertEqual(check(f"{folder}/none.gmt.gz", f"{folder}/train.r0.gmt.gz")[0], 3)


if __name__ == "__main__":
    cli.main()
