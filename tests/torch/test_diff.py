# SPDX-License-Identifier: MIT
"""diff of real PyTorch runs: it reports what changed, and equals what PyTorch counted."""

import json
import os
import tempfile
import unittest

import tap
from recorded_run import SIM_PYTHON, cli
from test_exact import SCRIPTS, own_file, record

SCRIPT = "diff_training.py"
SITE = "programs/diff_training.py:"


def diff(base, new, *arguments):
    done = cli("diff", "--json", *arguments, base, new)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def account_of(result, layer):
    (found,) = [entry for entry in result["accounts"] if (entry["layer"], entry["device"]) == (layer, 0)]
    return found


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = cls.run_script("4096")

    @staticmethod
    def run_script(*arguments, script=SCRIPT):
        run, printed = record(script, *arguments, environment={"PYTHONPATH": SCRIPTS})
        return own_file(run), printed

    def compare(self, new):
        """Returns the diff by functions. Checks that its totals equal PyTorch's, and that its rows sum to them."""
        results = {sort: diff(self.base[0], new[0], f"--sort={sort}") for sort in ("peak", "live", "total")}
        (base_printed, new_printed) = (side[1]["devices"][0] for side in (self.base, new))
        torch = account_of(results["peak"], "torch")
        for name, key in (
            ("peak_bytes", "max_memory_allocated"),
            ("reserved_peak_bytes", "max_memory_reserved"),
            ("allocs", "allocated_count"),
        ):
            self.assertEqual(
                torch[name],
                {
                    "base": base_printed[key],
                    "new": new_printed[key],
                    "difference": new_printed[key] - base_printed[key],
                },
                name,
            )
        self.assertEqual(torch["total_bytes"]["base"], self.base[1]["total_bytes"])
        self.assertEqual(torch["total_bytes"]["new"], new[1]["total_bytes"])
        for sort, key in ("peak", "peak_bytes"), ("live", "live_bytes"), ("total", "total_bytes"):
            for account in results[sort]["accounts"]:
                self.assertEqual(sum(row[key]["difference"] for row in account["rows"]), account[key]["difference"])
        return results

    def rows_of(self, result):
        return {row["site"]: row for row in account_of(result, "torch")["rows"]}

    def test_the_same_run_again_has_no_difference(self):
        for sort, result in self.compare(self.run_script("4096")).items():
            self.assertFalse(
                result["differs"],
                [row for account in result["accounts"] for row in account["rows"] if row["change"] != "unchanged"],
            )
            self.assertEqual(result["warnings"], [], sort)

    def test_a_doubled_batch_adds_its_activations_and_no_weight(self):
        results = self.compare(self.run_script("8192"))
        result, rows = results["peak"], self.rows_of(results["peak"])
        self.assertEqual(rows[f"{SITE}Block.forward"]["change"], "grown")
        # 3 steps of 6 layers, each of which makes 10 times its width for each of 4096 more rows.
        self.assertEqual(rows[f"{SITE}Block.forward"]["total_bytes"]["difference"], 3 * 6 * 10 * 256 * 4 * 4096)
        self.assertEqual(rows[f"{SITE}make_model"]["change"], "unchanged")
        self.assertEqual(result["warnings"], ["the commands differ; the first difference is `4096` and `8192`"])

    def test_the_diff_shows_how_much_and_where_checkpointing_saves(self):
        new = self.run_script("4096", "checkpoint")
        result = self.compare(new)["peak"]
        self.assertLess(account_of(result, "torch")["peak_bytes"]["difference"], 0)
        worst = account_of(result, "torch")["rows"][0]
        self.assertEqual((worst["site"], worst["change"]), (f"{SITE}Block.forward", "shrunk"))

    def test_mixed_precision_is_compared_with_pytorchs_own_numbers(self):
        result = self.compare(self.run_script("4096", "half"))["peak"]
        self.assertTrue(result["differs"])

    def test_a_line_inserted_above_makes_no_row_new_or_gone(self):
        folder = os.path.join(tempfile.mkdtemp(prefix="gpumemtrace-test."), "programs")
        os.mkdir(folder)
        moved = os.path.join(folder, SCRIPT)
        with (
            open(os.path.join(SCRIPTS, SCRIPT), encoding="utf-8") as source,
            open(moved, "w", encoding="utf-8") as copy,
        ):
            copy.write("# One.\n# Two.\n" + source.read())
        new = self.run_script("4096", script=moved)
        for result in self.compare(new).values():
            self.assertFalse(result["differs"])
        by_stack = diff(self.base[0], new[0], "--by=stack")
        for account in by_stack["accounts"]:
            self.assertEqual({kind for kind, count in account["changes"].items() if count}, {"unchanged"})
        by_line = account_of(diff(self.base[0], new[0], "--by=line"), "torch")
        self.assertGreater(by_line["changes"]["gone"], 0)


if __name__ == "__main__":
    tap.main()
