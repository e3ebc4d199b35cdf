# SPDX-License-Identifier: MIT
"""Exports of stacks with numbers: each number sums to the number of the report."""

import unittest

import cli
import exports
from exports import export, folded

# For each choice of a number: options of `export`, and the key of the report's layers.
NUMBERS = (
    ([], "peak_bytes"),
    (["--at=peak", "--value=blocks"], "peak_blocks"),
    (["--at=end"], "live_bytes"),
    (["--at=end", "--value=blocks"], "live_blocks"),
    (["--value=allocated"], "total_alloc_bytes"),
    (["--value=allocations"], "alloc_count"),
)


def sums(found):
    return {device: sum(stacks.values()) for device, stacks in found.items()}


def expected(numbers, layer, key):
    return {exports.device_name(device): one[key] for (of, device), one in numbers.items() if of == layer and one[key]}


class FoldedStacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("profile.gmt.gz")

    def test_each_number_sums_to_that_of_the_report(self):
        made = cli.make("made.gmt.gz", events=3000, torch=1, devices=3, depth=5)
        for path in (self.path, made):
            numbers = exports.accounts(path)
            for options, key in NUMBERS:
                for layer in ("torch", "cuda"):
                    found = sums(folded(export("folded", path, f"--layer={layer}", *options)))
                    self.assertEqual(found, expected(numbers, layer, key), (key, layer))

    def test_a_moment_has_what_is_live_then(self):
        for moment in ("step:2", "oom"):
            numbers = exports.accounts(self.path, f"--until={moment}")
            found = sums(folded(export("folded", self.path, f"--at={moment}")))
            self.assertEqual(found, expected(numbers, "torch", "live_bytes"), moment)

    def test_a_stretch_has_the_numbers_of_its_report(self):
        for options in (["--from=step:1", "--until=step:3"], ["--phase=forward"]):
            numbers = exports.stretch(self.path, *options)
            found = sums(folded(export("folded", self.path, "--value=allocated", *options)))
            self.assertEqual(found, expected(numbers, "torch", "alloc_bytes"), options)
            self.assertTrue(found)

    def test_a_compacted_recording_has_the_same_numbers(self):
        done = cli.run("fold", "--force", "-o", "less.gmt.gz", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        for options, _key in NUMBERS:
            self.assertEqual(
                folded(export("folded", "less.gmt.gz", *options)),
                folded(export("folded", self.path, *options)),
                options,
            )

    def test_one_device_can_be_chosen(self):
        found = folded(export("folded", self.path, "--device=1"))
        self.assertEqual(found, {"GPU 1": {"main (train.py:8);head (model.py:9)": 2 * exports.MiB}})
        found = folded(export("folded", self.path, "--device=host", "--layer=cuda"))
        self.assertEqual(found, {"host memory": {"main (train.py:6)": exports.MiB}})

    def test_stacks_are_outermost_first_and_spaces_are_added(self):
        stacks = folded(export("folded", self.path, "--at=end"))["GPU 0"]
        self.assertEqual(stacks["main (train.py:8);build (model.py:7)"], 4 * exports.MiB)
        self.assertEqual(stacks["main (train.py:31);keep (train.py:33)"], 6 * 65536)
        self.assertEqual(stacks["[no stack]"], 512)
        stacks = folded(export("folded", self.path, "--layer=cuda"))["GPU 0"]
        self.assertEqual(stacks["main (train.py:7)"], 5 * exports.MiB)

    def test_names_do_not_break_lines_or_frames(self):
        stacks = folded(export("folded", self.path))["GPU 0"]
        (hostile,) = [stack for stack in stacks if "c" in stack and "main" not in stack and "no stack" not in stack]
        text = 'a:b "c" \\d?<e> ?[2J 1?? \u00e9'
        self.assertEqual(hostile, f"{text} ({text}:1)")


if __name__ == "__main__":
    cli.main()
