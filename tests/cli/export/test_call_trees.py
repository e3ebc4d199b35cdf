# SPDX-License-Identifier: MIT
"""The verbs `tree` and `flamegraph`: what they show sums to the report, and fits the terminal."""

import json
import re
import unittest

import cli
import exports
import tap

MiB = 1 << 20


def tree(path, *options):
    done = cli.run("tree", "--json", *options, path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def text(verb, path, *options, utf8=True):
    done = cli.run(verb, *options, path, environment={"LC_ALL": "C.UTF-8" if utf8 else "C"})
    assert done.returncode == 0, done.stderr
    return done.stdout


class CallTrees(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("trees.gmt.gz")
        cls.made = cli.make("trees-made.gmt.gz", events=3000, torch=1, devices=2, depth=6, sites=40)

    def test_the_roots_have_the_numbers_of_the_report(self):
        for path in (self.path, self.made):
            for (layer, device), row in exports.accounts(path).items():
                place = ("--layer", layer, "--device", "host" if device is None else str(device))
                for options, expected in (
                    ((), "peak_bytes"),
                    (("--at=end",), "live_bytes"),
                    (("--value=blocks",), "peak_blocks"),
                    (("--value=allocations",), "alloc_count"),
                ):
                    (root,) = [node for node in tree(path, *place, *options)["nodes"] if node["depth"] == 0] or [
                        {"value": 0}
                    ]
                    self.assertEqual(root["value"], row[expected], (layer, device, options))

    def test_a_node_is_the_sum_of_its_children_and_of_what_ends_there(self):
        nodes = {node["id"]: node for node in tree(self.made)["nodes"]}
        sums = {key: node["own_value"] for key, node in nodes.items()}
        for node in nodes.values():
            if node["depth"]:
                sums[node["parent"]] += node["value"]
                self.assertEqual(nodes[node["parent"]]["depth"] + 1, node["depth"])
        self.assertEqual(sums, {key: node["value"] for key, node in nodes.items()})
        self.assertGreater(max(node["depth"] for node in nodes.values()), 3)

    def test_a_tree_in_text(self):
        expected = """\
memory at the peak, torch, GPU 0: 8.25 MiB
  4.25 MiB   52 %  ├ train.py:31 in main
  4.00 MiB   48 %  │ ├ model.py:20 in forward
   256 KiB    3 %  │ └ train.py:33 in keep
  4.00 MiB   48 %  └ train.py:8 in main
  4.00 MiB   48 %    model.py:7 in build

calls below 1 % are not shown: --least=0 shows all
"""
        self.assertEqual(text("tree", self.path, "--device=0"), expected)
        plain = expected.translate(str.maketrans("├└│", "+`|"))
        self.assertEqual(text("tree", self.path, "--device=0", utf8=False), plain)

    def test_small_calls_are_shown_on_demand(self):
        self.assertIn("(no stack)", text("tree", self.path, "--least=0"))
        self.assertNotIn("keep", text("tree", self.path, "--least=10"))
        for wrong in ("-1", "101", "x"):
            done = cli.run("tree", f"--least={wrong}", self.path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("it takes a number from 0 to 100", done.stderr)

    def test_a_flame_graph_has_boxes_as_wide_as_their_shares(self):
        heading, *lines = text("flamegraph", self.path, "--device=0").splitlines()
        self.assertEqual(heading, "memory at the peak, torch, GPU 0: 8.25 MiB")
        outer, inner = (re.findall(r"[^|]*\|", line) for line in lines)
        self.assertEqual([re.split("-{2,}", box)[0] for box in outer], ["train.py:31 in main", "train.py:8 in main"])
        self.assertEqual([len(box) for box in outer], [round(80 * 4.25 / 8.25), 80 - round(80 * 4.25 / 8.25)])
        self.assertEqual(inner[0][: len("model.py:20")], "model.py:20")

    def test_no_line_of_a_flame_graph_is_wider_than_the_terminal(self):
        for line in text("flamegraph", self.made).splitlines():
            self.assertLessEqual(len(line), 80)

    def test_colours_are_there_only_if_wanted(self):
        colored = text("flamegraph", self.path, "--color=always", "--device=0")
        self.assertIn("\x1b[30;48;5;215m", colored)
        for verb in ("tree", "flamegraph"):
            self.assertNotIn("\x1b", text(verb, self.path))

    def test_names_cannot_command_the_terminal(self):
        path = exports.training("hostile.gmt.gz")
        for verb in ("tree", "flamegraph"):
            for line in text(verb, path, "--least=0").splitlines():
                self.assertTrue(line.isprintable(), repr(line))

    def test_a_stretch_counts_only_what_happened_in_it(self):
        nodes = tree(self.path, "--from=step:2", "--at=end", "--device=0")["nodes"]
        self.assertEqual(nodes[0]["value"], 3 * 65536)


if __name__ == "__main__":
    tap.main()
