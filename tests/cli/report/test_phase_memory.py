# SPDX-License-Identifier: MIT
"""`report --json`: what each layer held while a phase of the program was open."""

import random
import unittest

import cli
import write_recording as w
from definitions import Layer, MarkKind, MarkSource
from recording import CUDA, TORCH, MiB, Story

LINE = "/home/me/train.py:{} in f"


class Phases(Story):
    """A story with phases. Keeps, slowly and simply, what each phase should have in its row of a layer."""

    def __init__(self):
        super().__init__()
        self.held = {}
        self.open, self.closed = [], []

    def mark(self, kind, source=MarkSource.PROGRAM, **fields):
        self.stamp += 10
        self.marks.append(w.mark(self.stamp, kind, source, **fields))

    def push(self, name, source=MarkSource.PROGRAM):
        self.mark(MarkKind.PUSH, source, name=self.name(name))
        self.open.append({"name": name, "begin": dict(self.held), "peak": dict(self.held), "allocs": {}, "frees": {}})

    def pop(self):
        self.mark(MarkKind.POP)
        self.closed.append({**self.open.pop(), "end": dict(self.held)})

    def count(self, layer, size):
        for key in (layer, None) if layer in (CUDA, TORCH) else (layer,):
            self.held[key] = self.held.get(key, 0) + size
            for phase in self.open:
                phase["peak"][key] = max(phase["peak"].get(key, 0), self.held[key])
                counts = phase["allocs" if size > 0 else "frees"]
                counts[key] = counts.get(key, 0) + 1

    def make(self, size, layer=TORCH, line=1):
        address = self.alloc(size, LINE.format(line), layer=layer)
        self.count(layer, size)
        return address

    def drop(self, address):
        layer, size = self.live[address]
        self.free(address)
        self.count(layer, -size)


def rows_of(phase):
    return {row["layer"]: row for row in phase["memory"]}


class PhaseMemory(unittest.TestCase):
    def check(self, story, report):
        names = {CUDA: "cuda", TORCH: "torch", None: None}
        shown = {phase["name"]: rows_of(phase) for phase in report["phases"]}
        self.assertEqual(len(shown), len(story.closed))
        for phase in story.closed:
            for layer, name in names.items():
                row = shown[phase["name"]].get(name)
                amounts = [phase[key].get(layer, 0) for key in ("begin", "peak", "end", "allocs", "frees")]
                if row is None:
                    self.assertEqual(amounts, [0] * 5, phase["name"])
                    continue
                found = [row[key] for key in ("begin_bytes", "peak_bytes", "end_bytes", "alloc_count", "free_count")]
                self.assertEqual(found, amounts, (phase["name"], name))

    def test_random_nested_phases_have_the_bytes_of_a_simple_count(self):
        for seed in range(5):
            choice = random.Random(seed)
            story, blocks = Phases(), []
            for number in range(400):
                action = choice.randrange(8)
                if action == 0 and len(story.open) < 6:
                    story.push(f"phase {number}")
                elif action == 1 and story.open:
                    story.pop()
                elif action < 5 or not blocks:
                    blocks.append(story.make(choice.randrange(1, 4096), choice.choice([CUDA, TORCH])))
                else:
                    story.drop(blocks.pop(choice.randrange(len(blocks))))
            while story.open:
                story.pop()
            path = story.write(f"random-{seed}.gmt.gz")
            report = cli.report(path)
            self.check(story, report)
            for phase in report["phases"][:: len(report["phases"]) // 6]:
                (one,) = cli.reports("report", f"--phase={phase['name']}", path)
                self.assertEqual(
                    (one["memory"], one["from_ns"], one["until_ns"]),
                    (phase["memory"], phase["begin_ns"], phase["end_ns"]),
                )

    def test_the_sites_at_the_peak_of_a_phase_add_up_to_its_peak(self):
        story = Phases()
        story.make(5 * MiB, line=1)
        story.push("test")
        first = story.make(3 * MiB, line=2)
        story.make(MiB, line=3)
        story.drop(first)
        story.make(MiB, line=4)
        story.pop()
        path = story.write("sums.gmt.gz")
        row = rows_of(cli.report(path)["phases"][0])["torch"]
        self.assertEqual((row["peak_bytes"], row["end_bytes"]), (9 * MiB, 7 * MiB))
        sites = cli.report(path, f"--until={row['peak_ns']}")["sites"]
        self.assertEqual(sum(site["live_bytes"] for site in sites), 9 * MiB)

    def test_a_phase_that_is_open_at_the_end_ends_with_what_is_held_there(self):
        story = Phases()
        story.push("test")
        story.make(MiB)
        row = rows_of(cli.report(story.write("open.gmt.gz"))["phases"][0])["torch"]
        self.assertEqual((row["begin_bytes"], row["peak_bytes"], row["end_bytes"]), (0, MiB, MiB))

    def test_a_phase_without_memory_has_no_rows(self):
        story = Phases()
        story.push("empty")
        story.pop()
        story.make(MiB)
        self.assertEqual(cli.report(story.write("empty.gmt.gz"))["phases"][0]["memory"], [])

    def test_phases_of_nvtx_are_not_counted(self):
        story = Phases()
        story.push("range", MarkSource.NVTX)
        story.make(MiB)
        path = story.write("nvtx.gmt.gz")
        self.assertIsNone(cli.report(path)["phases"][0]["memory"])
        self.assertIsNone(cli.reports("report", "--phase=range", path)[0]["memory"])

    def test_blocks_of_the_programs_own_pools_do_not_count_twice(self):
        story = Phases()
        story.push("test")
        story.make(4 * MiB, CUDA)
        story.alloc(MiB, LINE.format(2), layer=Layer.CUSTOM)
        story.pop()
        rows = rows_of(cli.report(story.write("custom.gmt.gz"))["phases"][0])
        self.assertEqual(rows[None]["end_bytes"], 4 * MiB)

    def test_only_the_newest_phases_in_a_deep_nest_are_not_counted(self):
        story = Phases()
        for number in range(70):
            story.push(f"phase {number}")
        story.make(MiB)
        counted = [phase["memory"] is not None for phase in cli.report(story.write("deep.gmt.gz"))["phases"]]
        self.assertEqual(counted, [True] * 64 + [False] * 6)

    def test_phases_in_the_compacted_part_are_not_counted(self):
        story = Phases()
        kept = story.make(MiB)
        story.push("before")
        story.make(MiB)
        story.pop()
        for _ in range(200):
            story.drop(story.make(512, line=3))
        story.push("after")
        story.drop(kept)
        story.pop()
        path = story.write("whole.gmt.gz")
        compacted = cli.place("compacted.gmt.gz")
        done = cli.run("fold", "--keep-events=20", "-o", compacted, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        before, after = cli.report(compacted)["phases"]
        self.assertIsNone(before["memory"])
        self.assertEqual(rows_of(after)["torch"]["begin_bytes"], 2 * MiB)
        self.assertEqual(rows_of(after)["torch"]["end_bytes"], MiB)


if __name__ == "__main__":
    cli.main()
