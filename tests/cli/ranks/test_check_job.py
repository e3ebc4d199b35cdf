# SPDX-License-Identifier: MIT
"""check: one verdict on all ranks of a job."""

import glob
import json
import os
import unittest
import xml.etree.ElementTree as xml

import cli
from job_story import empty_folder, write_job, write_rank
from recording import MiB, Story, train

# The job holds five times `size`.
APART = {"size": lambda rank: (100 + 10 * (rank == 2)) * MiB}


RULES = {"spread": "GMT010", "missing-rank": "GMT011"}


def check(folder, *options):
    """Judges all files of a folder. Returns the exit code and the checks by rule."""
    done = cli.run("check", "--json", *options, *sorted(glob.glob(f"{folder}/*.gmt.gz")))
    answer = json.loads(done.stdout)
    return done.returncode, {
        rule: [row for row in answer["checks"] if row["rule"] == number] for rule, number in RULES.items()
    }


def text(folder, *options):
    return cli.run("check", *options, *sorted(glob.glob(f"{folder}/*.gmt.gz")))


class Job(unittest.TestCase):
    def test_without_the_options_the_job_is_not_judged(self):
        self.assertEqual(check(write_job("as_files", 3, world=4, **APART)), (0, {"spread": [], "missing-rank": []}))

    def test_a_spread_above_the_limit_fails_with_the_rank_and_the_lines(self):
        folder = write_job("spread", 4, **APART)
        code, checks = check(folder, "--max-spread=5%")
        (spread,) = checks["spread"]
        self.assertEqual((code, spread["state"], round(spread["measured"], 3)), (1, "failed", 0.1))
        done = text(folder, "--max-spread=5%")
        self.assertIn("GMT010 spread: rank 2", done.stdout)
        self.assertIn("peaks of 4 ranks: 500 MiB to 550 MiB (rank 2), 10 % apart, 5 % allowed", done.stdout)
        self.assertIn("+40.0 MiB  train.py:5 in build", done.stdout)
        self.assertIn("+10.0 MiB  train.py:31 in step", done.stdout)

    def test_a_spread_up_to_the_limit_passes(self):
        code, checks = check(write_job("near", 4, **APART), "--max-spread=10%")
        self.assertEqual((code, [row["state"] for row in checks["spread"]]), (0, ["passed"]))

    def test_each_role_is_judged_alone(self):
        folder = write_job(
            "roles_apart",
            4,
            size=lambda rank: (100 + 100 * (rank % 2)) * MiB,
            environment=lambda rank: {"ROLE_NAME": ("actor", "learner")[rank % 2]},
        )
        code, checks = check(folder, "--max-spread=1%")
        self.assertEqual((code, [row["state"] for row in checks["spread"]]), (0, ["passed", "passed"]))

    def test_missing_ranks_fail_and_are_named(self):
        folder = write_job("gaps", 3, world=6)
        code, checks = check(folder, "--max-missing-ranks=0")
        self.assertEqual((code, checks["missing-rank"][0]["measured"]), (1, 3))
        self.assertIn("3 of 6 ranks have no recording: 3-5, 0 allowed", text(folder, "--max-missing-ranks=0").stdout)
        self.assertEqual(check(folder, "--max-missing-ranks=3")[0], 0)

    def test_a_restarted_rank_counts_with_its_newest_attempt(self):
        folder = write_job("restarted", 3)
        again = {"environment": {"TORCHELASTIC_RESTART_COUNT": "1"}, "start_time_ns": 10**18 + 10**11}
        write_rank(1, 3, "restarted", size=200 * MiB, name="restarted/again.gmt.gz", **again)
        code, checks = check(folder, "--max-spread=5%")
        self.assertEqual((code, checks["spread"][0]["state"]), (1, "failed"))
        self.assertIn("1 rank restarted", text(folder, "--max-spread=5%").stdout)

    def test_files_without_ranks_and_single_files_are_not_judged_with_the_reason(self):
        empty_folder("one")
        train(Story()).write("one/a.gmt.gz")
        code, checks = check(cli.place("one"), "--max-spread=5%", "--max-missing-ranks=0")
        self.assertEqual(code, 0)
        self.assertEqual([rows[0]["state"] for rows in checks.values()], ["skipped", "skipped"])
        self.assertEqual(checks["missing-rank"][0]["text"], "not judged: no file has a rank")

    def test_ci_systems_get_the_same_verdict(self):
        folder = write_job("forms", 4, world=5, **APART)
        options = ["--max-spread=5%", "--max-missing-ranks=0", "--junit=forms.xml", "--sarif=forms.sarif"]
        self.assertEqual(text(folder, *options).returncode, 1)
        tree = xml.parse(cli.place("forms.xml"))
        failed = [case.get("name") for case in tree.iter("testcase") if case.find("failure") is not None]
        self.assertEqual(len(failed), 2)
        self.assertTrue(any("spread" in name for name in failed) and any("missing-rank" in name for name in failed))
        with open(cli.place("forms.sarif")) as file:
            results = json.load(file)["runs"][0]["results"]
        self.assertEqual(sorted(row["ruleId"] for row in results), ["GMT010", "GMT011"])

    def test_limits_of_the_job_may_be_in_a_limits_file(self):
        folder = write_job("limits_file", 3, world=4)
        with open(cli.place("job.limits"), "w") as file:
            file.write("max-spread = 5%\nmax-missing-ranks = 0\n")
        self.assertEqual(check(folder, f"--limits={cli.place('job.limits')}")[0], 1)
        self.assertEqual(os.path.basename(folder), "limits_file")

    def test_a_wrong_limit_is_one_line(self):
        for option, said in ("--max-spread=5", "write 2%"), ("--max-missing-ranks=x", "is not a count"):
            done = cli.run("check", option, "x.gmt.gz")
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    cli.main()
