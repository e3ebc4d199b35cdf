# SPDX-License-Identifier: MIT
"""Tables by module: the row of a block that PyTorch named is its module, the row of any other block its classes."""

import unittest

import cli
import write_recording as w
from definitions import MarkSource
from recording import MiB, Story

PARAMETER, GRADIENT, STATE, BUFFER, ROLES = range(11, 16)
BUILD = "/home/me/model.py:5 in build", "/home/me/model.py:90 in main"
CALL = (
    "/home/me/model.py:7 in Attention.forward",
    "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py:1 in Module._call_impl",
    "/home/me/model.py:91 in main",
)


class Named(Story):
    def add_role(self, kind, address=0, name=None):
        self.stamp += 10
        self.marks.append(
            w.mark(self.stamp, kind, MarkSource.INTERPRETER, object=address, name=self.name(name) if name else 0)
        )


def rows(path, *arguments):
    (table,) = [table["rows"] for table in cli.report(path, "--by", "module", *arguments)["tables"]]
    return {row["name"]: row for row in table}


def amounts(row):
    return {part["category"]: part["live_bytes"] // MiB for part in row["instance"]}


class Modules(unittest.TestCase):
    def layers(self):
        """Returns two layers made by the same lines: the blocks that they hold, and a block that a call makes."""
        story = Named()
        held = [story.alloc((number + 1) * size * MiB, *BUILD) for number in range(2) for size in (1, 10, 100)]
        for number in range(2):
            for kind, address in zip((PARAMETER, GRADIENT, STATE), held[number * 3 :]):
                story.add_role(kind, address, f"layers.{number}.weight")
        story.add_role(ROLES)
        story.alloc(1000 * MiB, *CALL)
        return story

    def test_blocks_of_one_line_are_distinguished_by_their_names(self):
        found = rows(self.layers().write("layers.gmt.gz"))
        self.assertEqual(
            {name: row["peak_bytes"] // MiB for name, row in found.items()},
            {"layers.0": 111, "layers.1": 222, "Attention": 1000},
        )
        self.assertEqual(amounts(found["layers.1"]), {"parameters": 2, "gradients": 20, "optimizer state": 200})
        self.assertEqual(
            [found["layers.1"][key] for key in ("live_blocks", "allocs", "sites", "largest_bytes")],
            [3, 3, 1, 200 * MiB],
        )

    def test_the_text_marks_rows_of_classes(self):
        text = cli.run("report", "--by", "module", self.layers().write("text.gmt.gz")).stdout
        self.assertIn(
            "  layers.0 (parameters 1.00 MiB, gradients 10.0 MiB, optimizer state 100 MiB)\n", cli.unwrapped(text)
        )
        self.assertIn("  Attention  (by class)\n", text)
        self.assertIsNone(rows(self.layers().write("text.gmt.gz"))["Attention"]["instance"])

    def test_rows_sum_to_the_layer(self):
        story = self.layers()
        story.free(story.alloc(512, *BUILD))
        path = story.write("sums.gmt.gz")
        (layer,) = [layer for layer in cli.report(path)["devices"][0]["layers"] if layer["layer"] == "torch"]
        for key, of_layer in (
            ("peak_bytes", "peak_bytes"),
            ("live_bytes", "live_bytes"),
            ("total_bytes", "total_alloc_bytes"),
        ):
            self.assertEqual(sum(row[key] for row in rows(path).values()), layer[of_layer], key)

    def test_a_block_without_a_name_stays_with_its_classes(self):
        story = self.layers()
        story.add_role(PARAMETER, story.alloc(MiB, *BUILD))
        story.add_role(ROLES)
        row = rows(story.write("unnamed.gmt.gz"))[None]
        self.assertEqual((row["live_bytes"], row["allocs"], row["instance"]), (MiB, 1, None))

    def test_memory_shared_by_modules_is_marked(self):
        story = Named()
        shared = story.alloc(MiB, *BUILD)
        for _ in range(3):
            for name in ("first.weight", "second.weight", "second.bias"):
                story.add_role(PARAMETER, shared, name)
            story.add_role(ROLES)
        path = story.write("shared.gmt.gz")
        self.assertEqual(set(rows(path)), {"first and 1 more"})
        (table,) = cli.report(path, "--by", "category")["tables"]
        self.assertEqual([(row["name"], row["live_bytes"]) for row in table["rows"]], [("parameters", MiB)])

    def test_a_name_belongs_to_the_block_that_was_live_at_its_address_then(self):
        story = Named()
        story.add_role(GRADIENT, story.alloc(MiB, *BUILD, address=4096), "first.weight")
        story.add_role(ROLES)
        story.free(4096)
        story.alloc(2 * MiB, *BUILD, address=4096)
        found = rows(story.write("reused.gmt.gz"))
        self.assertEqual((found["first"]["live_bytes"], found["first"]["total_bytes"]), (0, MiB))
        self.assertEqual((found["first"]["peak_bytes"], found[None]["peak_bytes"]), (0, 2 * MiB))

    def test_names_after_the_moment_do_not_count(self):
        story = Named()
        block = story.alloc(MiB, *BUILD)
        story.stamp += 10**6
        story.add_role(PARAMETER, block, "layer.weight")
        path = story.write("later.gmt.gz")
        self.assertEqual(set(rows(path)), {"layer"})
        self.assertEqual(set(rows(path, "--until", "100000")), {None})

    def test_a_compaction_keeps_the_names(self):
        path, compacted = self.layers().write("whole.gmt.gz"), cli.place("compacted.gmt.gz")
        self.assertEqual(cli.run("fold", path, "-o", compacted).returncode, 0)
        found = rows(compacted)
        self.assertEqual(
            {name: row["live_bytes"] // MiB for name, row in found.items() if row["live_bytes"]},
            {"layers.0": 111, "layers.1": 222, "Attention": 1000},
        )


if __name__ == "__main__":
    cli.main()
