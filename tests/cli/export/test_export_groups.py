# SPDX-License-Identifier: MIT
"""`--by` of exports: the outermost frame is a group, and the groups have the numbers of `report --by`."""

import collections
import json
import re
import unittest

import cli
import exports
from exports import export, folded

KEYS = ("line", "function", "operator", "module", "owner", "library", "category", "part", "phase", "step")
# For each choice of a number: options of `export`, and the key of the table's rows.
NUMBERS = (
    ([], "peak_bytes"),
    (["--at=end"], "live_bytes"),
    (["--at=end", "--value=blocks"], "live_blocks"),
    (["--value=allocated"], "total_bytes"),
    (["--value=allocations"], "allocs"),
)


def groups(path, key, *options):
    """Returns the sums of the groups of each device, from folded stacks."""
    found = collections.defaultdict(collections.Counter)
    for device, stacks in folded(export("folded", path, f"--by={key}", *options)).items():
        for stack, number in stacks.items():
            found[device][stack.partition(";")[0]] += number
    return found


def expected(path, key, number, layer):
    """Returns the numbers of the table's rows of each device, smallest first."""
    (table,) = [one for one in cli.report(path, f"--by={key}")["tables"] if one["by"] == key]
    found = collections.defaultdict(list)
    for row in table["rows"]:
        if row["layer"] == layer and row[number]:
            found[exports.device_name(row["device"])].append(row[number])
    return {device: sorted(numbers) for device, numbers in found.items()}


def without_groups(stacks):
    found = collections.Counter()
    for stack, number in stacks.items():
        found[stack.partition(";")[2]] += number
    return dict(found)


class Groups(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("groups.gmt.gz")
        cls.made = cli.make("groups-made.gmt.gz", events=3000, torch=1, devices=2, depth=6, sites=40)

    def test_the_groups_have_the_numbers_of_the_report(self):
        for path in (self.path, self.made):
            for key in KEYS:
                for options, number in NUMBERS:
                    found = groups(path, key, "--layer=torch", *options)
                    found = {device: sorted(sums.values()) for device, sums in found.items()}
                    self.assertEqual(found, expected(path, key, number, "torch"), (path, key, number))

    def test_names_of_groups(self):
        self.assertEqual(
            groups(self.path, "step", "--value=allocations")["GPU 0"],
            {**{f"step {number}": 2 for number in range(1, 6)}, "step 0": 5},
        )
        self.assertEqual(
            groups(self.path, "phase", "--value=allocations")["GPU 0"], {"forward": 6, "(outside of phases)": 9}
        )
        self.assertIn("forward (model.py:20)", groups(self.path, "line")["GPU 0"])
        self.assertIn("forward (model.py)", groups(self.path, "function")["GPU 0"])
        self.assertIn("(no operator of PyTorch)", groups(self.path, "operator")["GPU 0"])

    def test_without_the_groups_the_stacks_are_the_same(self):
        for key in KEYS:
            for options in (
                [],
                ["--at=end"],
                ["--value=allocated"],
                ["--from=step:1", "--until=step:3"],
                ["--phase=forward"],
            ):
                plain = folded(export("folded", self.path, *options))
                grouped = folded(export("folded", self.path, f"--by={key}", *options))
                self.assertEqual({d: without_groups(s) for d, s in grouped.items()}, plain, (key, options))

    def test_a_stretch_has_only_its_own_steps(self):
        found = groups(self.path, "step", "--from=step:1", "--until=step:3", "--value=allocations")["GPU 0"]
        self.assertEqual(found, {"step 2": 2, "step 3": 2})

    def test_a_compacted_recording_says_what_is_unknown(self):
        done = cli.run("fold", "--force", "-o", "groups-less.gmt.gz", "--keep-events=6", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        for options in ([], ["--at=end"], ["--value=allocations"]):
            found = folded(export("folded", "groups-less.gmt.gz", "--by=step", *options))
            plain = folded(export("folded", self.path, *options))
            self.assertEqual({d: without_groups(s) for d, s in found.items()}, plain, options)
        self.assertIn("(folded events)", groups("groups-less.gmt.gz", "step", "--value=allocations")["GPU 0"])

    def test_speedscope_and_pprof_have_the_group_as_outermost_frame(self):
        document = json.loads(export("speedscope", self.path, "--by=owner", "--device=0"))
        frames = [frame["name"] for frame in document["shared"]["frames"]]
        profile = document["profiles"][0]
        sums = collections.Counter()
        for stack, weight in zip(profile["samples"], profile["weights"]):
            sums[frames[stack[0]]] += weight
        self.assertEqual(sums, groups(self.path, "owner", "--device=0")["GPU 0"])
        self.assertIn(b"\x1f\x8b", export("pprof", self.path, "--by=owner")[:2])

    def test_trees_begin_with_the_group(self):
        done = cli.run("tree", "--json", "--by=step", "--device=0", self.path)
        nodes = json.loads(done.stdout)["nodes"]
        sums = {node["group"]: node["value"] for node in nodes if node["depth"] == 1}
        self.assertEqual(sums, groups(self.path, "step", "--device=0")["GPU 0"])
        self.assertTrue(all(node["group"] is None for node in nodes if node["depth"] != 1))
        (root,) = [node for node in nodes if not node["depth"]]
        self.assertEqual(root["value"], sum(sums.values()))
        for verb in ("tree", "flamegraph"):
            shown = cli.run(verb, "--by=step", "--device=0", self.path).stdout
            self.assertRegex(shown, r"step 3", verb)

    def test_a_hostile_phase_does_not_break_a_line(self):
        story = exports.Training()
        story.phase("a;b\nc", True)
        story.alloc(4096, f"{exports.TRAIN}:4 in main")
        story.phase("a;b\nc", False)
        self.assertEqual(list(groups(story.write("hostile-phase.gmt.gz"), "phase")["GPU 0"]), ["a:b?c"])

    def test_formats_without_stacks_refuse_groups(self):
        for form in ("heaptrack", "chrome", "tensorboard", "sqlite"):
            done = cli.run("export", f"--format={form}", "--by=step", "-o", "never", self.path)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(re.search(r"--by has no meaning for --format=" + form, done.stderr), done.stderr)


if __name__ == "__main__":
    cli.main()
