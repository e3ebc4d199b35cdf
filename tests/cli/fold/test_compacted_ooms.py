# SPDX-License-Identifier: MIT
"""Compacted refused requests: the counts of failed and of recovered requests stay the same after any cut."""

import json
import unittest

import cli
from oom_story import ALLOC, CUDA, FREE, MIB, REFUSED, OomStory


def story_of_all_outcomes():
    """Returns requests that fail, that succeed when repeated, and that fail in PyTorch too. Each has its own line."""
    story = OomStory()
    for i in range(4):
        block = 0x10000000 * (i + 1)
        story.add(REFUSED, CUDA, 30 * MIB, frames=4)  # a retry: the driver refuses twice, then gives
        story.add(REFUSED, CUDA, 30 * MIB, frames=4)
        story.add(ALLOC, CUDA, 30 * MIB, block, frames=4)
        story.torch(ALLOC, 25 * MIB, block, 30 * MIB, frames=4)
        story.add(REFUSED, CUDA, 40 * MIB, frames=5)  # reaches the program: PyTorch's request failed too
        story.add(REFUSED, CUDA, 40 * MIB, frames=5)
        story.torch(REFUSED, 33 * MIB, frames=5)
        story.add(REFUSED, CUDA, 50 * MIB, frames=6)  # reaches the program, which asked the driver directly
        story.add(REFUSED, CUDA, 7, frames=7, result=1)  # an error other than lack of memory
        story.torch(FREE, 25 * MIB, block, 30 * MIB)
        story.add(FREE, CUDA, 30 * MIB, block)
    story.add(ALLOC, CUDA, MIB, 0x90000000)
    return story


def check(path, *options):
    done = cli.run("check", "--json", *options, path)
    (rule,) = [row for row in json.loads(done.stdout)["checks"] if row["rule"] == "GMT005"]
    return rule, json.loads(done.stdout)


class CompactedOoms(unittest.TestCase):
    def fold(self, path, name, *options):
        compacted = cli.place(name)
        done = cli.run("fold", path, "--force", "-o", compacted, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return compacted

    def counts(self, path):
        counts = cli.report(path)["oom_counts"]
        return counts["failed"], counts["recovered"]

    def test_at_each_cut_the_counts_are_those_of_the_whole_recording(self):
        story = story_of_all_outcomes()
        path = story.write("outcomes.gmt.gz")
        self.assertEqual(self.counts(path), (8, 4))
        for kept in range(len(story.events) + 1):
            with self.subTest(kept=kept):
                options = [f"--keep-events={kept}"] if kept else []
                compacted = self.fold(path, "outcomes-compacted.gmt.gz", *options)
                self.assertEqual(self.counts(compacted), (8, 4))
                twice = self.fold(
                    compacted, "outcomes-twice.gmt.gz", *([f"--keep-events={kept // 2}"] if kept > 1 else [])
                )
                self.assertEqual(self.counts(twice), (8, 4))

    def test_check_fails_on_compacted_refusals_and_names_their_lines(self):
        path = self.fold(story_of_all_outcomes().write("gate.gmt.gz"), "gate-compacted.gmt.gz")
        rule, verdict = check(path)
        self.assertEqual((rule["state"], rule["measured"]), ("failed", 8), rule)
        self.assertIn("8 requests were refused", rule["text"])
        titles = [finding["title"] for finding in verdict["findings"] if finding["rule"] == "GMT005"]
        self.assertEqual(sorted(title[:16] for title in titles), ["4 requests were "] * 2, titles)
        rule, _ = check(path, "--max-ooms=8")
        self.assertEqual(rule["state"], "passed", rule)

    def test_a_suppression_hides_compacted_refusals_of_its_line(self):
        path = self.fold(story_of_all_outcomes().write("hidden.gmt.gz"), "hidden-compacted.gmt.gz")
        rules = cli.place("hide")
        with open(rules, "w", encoding="utf-8") as file:
            file.write("oom:^place6$\n")
        rule, _ = check(path, f"--suppressions={rules}")
        self.assertEqual((rule["state"], rule["measured"]), ("failed", 4), rule)

    def test_only_retries_were_compacted_and_check_passes(self):
        story = OomStory()
        for i in range(3000):  # more refusals than a compaction keeps as events
            story.add(REFUSED, CUDA, 30 * MIB, frames=4)
            story.add(ALLOC, CUDA, 30 * MIB, 0x10000000, frames=4)
            story.torch(ALLOC, 25 * MIB, 0x10000000, 30 * MIB, frames=4)
            story.torch(FREE, 25 * MIB, 0x10000000, 30 * MIB)
            story.add(FREE, CUDA, 30 * MIB, 0x10000000)
        path = self.fold(story.write("retries.gmt.gz"), "retries-compacted.gmt.gz", "--keep-events=1234")
        self.assertEqual(self.counts(path), (0, 3000))
        rule, _ = check(path)
        self.assertEqual((rule["state"], rule["measured"]), ("passed", 0), rule)
        self.assertIn("PyTorch recovered from 3,000 more by emptying its cache", rule["text"])

    def test_failures_beyond_those_that_are_kept_as_events_are_counted(self):
        story = OomStory()
        for _ in range(3000):
            story.add(REFUSED, CUDA, 30 * MIB, frames=4)
        path = self.fold(story.write("many.gmt.gz"), "many-compacted.gmt.gz")
        self.assertEqual(self.counts(path), (3000, 0))
        rule, _ = check(path)
        self.assertEqual((rule["state"], rule["measured"]), ("failed", 3000), rule)

    def test_the_report_shows_the_known_facts_of_compacted_refusals(self):
        path = self.fold(story_of_all_outcomes().write("text.gmt.gz"), "text-compacted.gmt.gz")
        text = cli.run("report", "--full", path).stdout
        self.assertIn("Out of memory: 8 requests failed\n", text)
        words = " ".join(text.split())
        self.assertIn(
            "Among the compacted events, 8 requests failed, and 4 requests succeeded after PyTorch emptied its cache; "
            "the lines that held the memory then are not known.",
            words,
        )


if __name__ == "__main__":
    cli.main()
