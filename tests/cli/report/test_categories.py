# SPDX-License-Identifier: MIT
"""Categories of a recording with marks of parameters, gradients and buffers: which blocks, and until when."""

import unittest

import cli
import write_recording as w
from definitions import MarkSource
from recording import MiB, Story

PARAMETER, GRADIENT, STATE, BUFFER, ROLES = range(11, 16)


class StoryWithRoles(Story):
    def add_role(self, kind, address=0):
        self.stamp += 10
        self.marks.append(w.mark(self.stamp, kind, MarkSource.INTERPRETER, object=address))


def live(path, *arguments):
    """Returns the live bytes at the end by category."""
    (table,) = [
        table["rows"]
        for table in cli.report(path, "--by", "category", *arguments)["tables"]
        if table["by"] == "category"
    ]
    return {row["name"]: row["live_bytes"] for row in table if row["live_bytes"]}


class Roles(unittest.TestCase):
    def test_each_role_is_a_category(self):
        story = StoryWithRoles()
        for line, kind in enumerate((PARAMETER, GRADIENT, STATE, BUFFER)):
            story.add_role(kind, story.alloc((line + 1) * MiB, f"/home/me/a.py:{line + 1} in make"))
        story.add_role(ROLES)
        story.alloc(16 * MiB, "/home/me/a.py:9 in other")
        self.assertEqual(
            live(story.write("each.gmt.gz")),
            {
                "parameters": MiB,
                "gradients": 2 * MiB,
                "optimizer state": 3 * MiB,
                "buffers": 4 * MiB,
                "other": 16 * MiB,
            },
        )

    def test_a_category_needs_roles_for_half_of_the_bytes_of_a_stack(self):
        for named, category in (5, "parameters"), (4, "other"):
            story = StoryWithRoles()
            blocks = [story.alloc(MiB, "/home/me/a.py:1 in make") for _ in range(10)]
            for block in blocks[:named]:
                story.add_role(PARAMETER, block)
            story.add_role(ROLES)
            story.alloc(512, "/home/me/a.py:2 in last")
            self.assertEqual(live(story.write("half.gmt.gz"))[category] // MiB, 10)

    def test_a_role_without_an_end_does_not_count(self):
        story = StoryWithRoles()
        story.add_role(PARAMETER, story.alloc(MiB, "/home/me/a.py:1 in make"))
        story.alloc(512, "/home/me/a.py:2 in last")
        self.assertEqual(live(story.write("open.gmt.gz")), {"other": MiB + 512})

    def test_a_role_belongs_to_the_block_that_was_live_at_its_address_then(self):
        story = StoryWithRoles()
        first = story.alloc(MiB, "/home/me/a.py:1 in first", address=4096)
        story.add_role(PARAMETER, first)
        story.add_role(ROLES)
        story.free(first)
        story.alloc(MiB, "/home/me/a.py:2 in second", address=4096)
        self.assertEqual(live(story.write("again.gmt.gz")), {"other": MiB})

    def test_a_later_role_does_not_count_before_its_moment(self):
        story = StoryWithRoles()
        block = story.alloc(MiB, "/home/me/a.py:1 in make")
        story.stamp += 10**6
        story.add_role(PARAMETER, block)
        story.add_role(ROLES)
        path = story.write("later.gmt.gz")
        self.assertEqual(live(path), {"parameters": MiB})
        self.assertEqual(live(path, "--until", "100000"), {"other": MiB})

    def backward(self, name, keep):
        """Returns the categories of a backward pass's blocks besides gradients. Each step keeps `keep` of them."""
        story, back = StoryWithRoles(), "/venv/lib/python3.11/site-packages/torch/autograd/__init__.py:5 in backward"
        story.add_role(GRADIENT, story.alloc(MiB, "/home/me/a.py:1 in make"))
        story.add_role(ROLES)

        def step(_number):
            blocks = [story.alloc(MiB, back, "/home/me/a.py:2 in train") for _ in range(4)]
            for block in blocks[keep:]:
                story.free(block)

        story.steps(8, step)
        (table,) = cli.report(story.write(name), "--by", "category")["tables"]
        return {row["name"]: row["allocs"] for row in table["rows"]}

    def test_backward_memory_kept_by_a_hook_is_not_temporary(self):
        self.assertEqual(self.backward("kept.gmt.gz", 3), {"gradients": 1, "backward results": 32})
        self.assertEqual(self.backward("brief.gmt.gz", 1), {"gradients": 1, "temporaries": 32})

    def test_a_compaction_keeps_the_categories(self):
        story = StoryWithRoles()
        story.add_role(BUFFER, story.alloc(MiB, "/home/me/a.py:1 in make"))
        story.add_role(ROLES)
        story.alloc(512, "/home/me/a.py:2 in last")
        path = story.write("whole.gmt.gz")
        compacted = cli.place("compacted.gmt.gz")
        self.assertEqual(cli.run("fold", path, "-o", compacted).returncode, 0)
        self.assertEqual(live(compacted), {"buffers": MiB, "other": 512})


if __name__ == "__main__":
    cli.main()
