# SPDX-License-Identifier: MIT
"""Exports for heaptrack, read by heaptrack_print."""

import collections
import os
import shutil
import subprocess
import unittest

import cli
import exports
import tap
import viewers

PROGRAM = shutil.which("heaptrack_print")
# For each cost of heaptrack_print: the key of the report.
COSTS = {"allocations": "alloc_count", "leaked": "live_bytes", "peak": "peak_bytes"}


def heaptrack_print(path, *words):
    done = subprocess.run([PROGRAM, *words, path], capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stderr
    return done.stdout


def flames(path, cost):
    """Returns the folded stacks that heaptrack_print writes, {stack: number}. They have no lines of files."""
    out = cli.place("flames.txt")
    heaptrack_print(path, "-F", out, "--flamegraph-cost-type", cost)
    with open(out, encoding="utf-8", errors="replace") as file:
        lines = [line.rsplit(" ", 1) for line in file.read().splitlines()]
    found = collections.Counter()
    for stack, number in lines:
        found[stack.rstrip(";")] += int(number)
    return found


@unittest.skipUnless(PROGRAM, "needs heaptrack: run scripts/setup/packages --test")
class Heaptrack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("heaptrack.gmt.gz")

    def test_each_number_sums_to_that_of_the_report(self):
        made = cli.make("heaptrack-made.gmt.gz", events=3000, torch=1, devices=2, depth=5)
        for path in (self.path, made):
            for (layer, device), row in exports.accounts(path).items():
                if layer not in ("cuda", "torch"):
                    continue
                options = f"--layer={layer}", f"--device={'host' if device is None else device}"
                out = viewers.write("heaptrack", path, "sums.heaptrack", *options)
                for cost, key in COSTS.items():
                    self.assertEqual(sum(flames(out, cost).values()), row[key], (layer, device, key))

    def test_stacks_are_whole_although_a_frame_of_python_is_named_main(self):
        found = flames(viewers.write("heaptrack", self.path, "stacks.heaptrack"), "leaked")
        stacks = {tuple(stack.split(";")): number for stack, number in found.items()}
        self.assertEqual(stacks["train.main (train.py)", "build (model.py)"], 4 * exports.MiB)
        self.assertEqual(stacks["train.main (train.py)", "keep (train.py)"], 6 * 65536)
        self.assertEqual(stacks[("[no stack]",)], 512)

    def test_a_file_ends_at_the_moment_that_was_asked_for(self):
        out = viewers.write("heaptrack", self.path, "until.heaptrack", "--until=step:2")
        row = exports.accounts(self.path, "--until=step:2")["torch", 0]
        self.assertEqual(sum(flames(out, "leaked").values()), row["live_bytes"])

    def test_the_device_that_is_left_out_is_named(self):
        done = cli.run("export", "--format=heaptrack", "-o", "one.heaptrack", self.path)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("only the memory of GPU 0 is included", done.stderr)
        done = cli.run("export", "--format=heaptrack", "--device=1", "-o", "one.heaptrack", self.path)
        self.assertEqual(done.stderr, "")
        self.assertEqual(sum(flames(cli.place("one.heaptrack"), "leaked").values()), 2 * exports.MiB)

    def test_names_with_line_breaks_and_separators_keep_the_file_whole(self):
        out = viewers.write("heaptrack", self.path, "names.heaptrack")
        with open(out, "rb") as file:
            for line in file.read().splitlines():
                self.assertIn(line[:1], b"vXIsitac+-", line)
        self.assertIn("c \\d?<e> ?[2J 1??", heaptrack_print(out).replace('"', ""))
        self.assertTrue(os.path.getsize(out))


if __name__ == "__main__":
    tap.main()
