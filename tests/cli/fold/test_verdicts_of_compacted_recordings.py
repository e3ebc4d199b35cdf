# SPDX-License-Identifier: MIT
"""leaks and check on a compacted recording: the verdicts of the whole recording, or a note on what could not be judged."""

import json
import unittest

import cli
import read_recording
import write_recording as w
from definitions import Layer, MarkKind, MarkSource, Space
from recording import Story

STEPS = 30
# Each row is the options of several compactions, one after the other.
WAYS = ([], ["--keep-steps=7"], ["--keep-events=50"]), (["--keep-steps=40"], ["--keep-events=30"], [])


def without_curves(name, teardown_stamp=None):
    """Writes a recording as a compaction without curves leaves it. Each of its 30 compacted steps left a block."""
    event = {**w.EVENT, "layer": Layer.TORCH, "device": 0, "size_bytes": 1024, "frames": 1}
    marks = [w.mark(2000 + 10 * step, MarkKind.STEP, MarkSource.PROGRAM) for step in range(1, STEPS + 1)]
    if teardown_stamp:
        marks.append(w.mark(teardown_stamp, MarkKind.TEARDOWN, MarkSource.INTERPRETER))
    path = cli.place(name)
    w.write(
        path,
        w.process(),
        w.block("thread", {"id": 1, "tid": 7}),
        w.block("code", {"id": 1, "function": "train", "file": "/home/me/train.py", "first_line": 1}),
        w.block("frame", {"id": 1, "code": 1, "line": 7}),
        w.block("frames", {"id": 1, "items": [3]}),
        w.block(
            "event", *({**event, "stamp": 1995 + 10 * step, "address": 4096 * step} for step in range(1, STEPS + 1))
        ),
        w.block("mark", *marks),
        w.block(
            "past_account",
            {
                "layer": Layer.TORCH,
                "device": 0,
                "live_bytes": 1024 * STEPS,
                "live_blocks": STEPS,
                "alloc_count": 10 * STEPS,
            },
        ),
        w.block(
            "past_site",
            {
                "layer": Layer.TORCH,
                "device": 0,
                "space": Space.DEVICE,
                "frames": 1,
                "thread": 1,
                "alloc_count": 10 * STEPS,
            },
        ),
        w.block(
            "fold", {"stamp": 2000 + 10 * STEPS + 100, "events": 20 * STEPS, "survivors": STEPS, "why": "max_size"}
        ),
        w.end(20 * STEPS, stamp=4000),
    )
    return path


def leaks(path, *options):
    done = cli.run("leaks", "--json", path, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class NotJudged(unittest.TestCase):
    def test_growth_in_compacted_steps_is_not_judged_and_the_reason_is_reported(self):
        path = without_curves("no-curves.gmt.gz")
        answer = leaks(path)
        self.assertEqual(answer["leaks"], [])
        self.assertIn("compacted part", answer["growth_not_judged"])
        self.assertEqual((answer["phases_not_judged"], answer["end_not_judged"]), (None, None))
        for verb in ["leaks"], ["report", "--full"]:
            text = cli.run(*verb, path).stdout
            self.assertIn("Leaks: none found in the part that could be judged over 30 steps", text)
            self.assertIn(f"growth was not judged: {answer['growth_not_judged']}", " ".join(text.split()))
        self.assertEqual(cli.report(path)["growth_not_judged"], answer["growth_not_judged"])

    def test_check_does_not_pass_growth_that_it_did_not_judge_and_strict_fails(self):
        path = without_curves("no-curves.gmt.gz")
        done = cli.run("check", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped GMT002 growth: torch on GPU 0: not judged: ", done.stdout)
        self.assertNotIn("no lasting growth", done.stdout)
        self.assertIn("GMT008 incomplete", done.stdout)
        self.assertIn("not judged: growth: ", done.stdout)
        for verb in "check", "leaks", "report":
            self.assertEqual(cli.run(verb, "--strict", path).returncode, 4, verb)
        # Growth that a user asks for fails if it cannot be judged.
        self.assertEqual(cli.run("check", "--max-growth=1MiB/step", path).returncode, 1)

    def test_blocks_at_a_compacted_end_of_the_work_are_not_judged(self):
        path = without_curves("no-end.gmt.gz", teardown_stamp=2000 + 10 * STEPS + 50)
        answer = leaks(path, "--definition=exit")
        self.assertIn("compacted part", answer["end_not_judged"])
        self.assertIn("age, exit and cached memory were not judged", cli.run("leaks", path).stdout)
        done = cli.run("check", "--definition=exit", "--max-leaked=1GiB", path)
        self.assertIn(
            "skipped GMT001 leak: torch on GPU 0: not judged: the program's work ended in the compacted part",
            done.stdout,
        )
        # The blocks that outlive the compaction are leaks, whatever else lived at the end.
        self.assertEqual(cli.run("check", "--definition=exit", path).returncode, 1)


def fold(path, *ways):
    """Compacts the recording with each of these options in turn, and returns the path of the last result."""
    for number, options in enumerate(ways):
        compacted = cli.place(f"compacted-{number}.gmt.gz")
        done = cli.run("fold", path, "--force", "-o", compacted, *options)
        assert done.returncode == 0, done.stderr
        path = compacted
    return path


class Training(Story):
    """A program that may have several optimizers."""

    def optimizer_steps(self, optimizer):
        self.stamp += 10
        self.marks.append(w.mark(self.stamp, MarkKind.STEP, MarkSource.OPTIMIZER, object=optimizer))

    def teardown(self):
        self.stamp += 10
        self.marks.append(w.mark(self.stamp, MarkKind.TEARDOWN, MarkSource.INTERPRETER))
        for address in list(self.live):
            self.free(address)


def window_of(story, line, length):
    """Returns a function that makes a block at `line` and keeps only the last `length` blocks."""
    kept = []

    def make(size=512):
        kept.append(story.alloc(size, line))
        if len(kept) > length:
            story.free(kept.pop(0))

    return make


class Same(unittest.TestCase):
    def check_same(self, path, lines, compacted_share=0.2):
        """Checks that each compacted recording has the verdict of the whole one: these lines of train.py with these rates."""
        whole = leaks(path)
        events = cli.report(path)["events"]["recorded"]
        self.assertEqual(
            {leak["stack"][leak["own_frame"]]["line"]: leak["bytes_per_step"] for leak in whole["leaks"]}, lines
        )
        for ways in [[way] for way in WAYS[0]] + [WAYS[1]]:
            with self.subTest(ways=ways):
                compacted = fold(path, *ways)
                self.assertGreater(cli.report(compacted)["folded"]["events"], compacted_share * events)
                said = leaks(compacted)
                for key in "growth_not_judged", "phases_not_judged", "end_not_judged":
                    self.assertEqual(said[key], whole[key])
                self.assertEqual(len(said["leaks"]), len(whole["leaks"]))
                for leak, other in zip(said["leaks"], whole["leaks"]):
                    for key in (
                        "definition",
                        "layer",
                        "bytes",
                        "blocks",
                        "steps",
                        "source",
                        "stack",
                        "own_frame",
                        "attribution",
                    ):
                        self.assertEqual(leak[key], other[key], key)
                    self.assertAlmostEqual(
                        leak["bytes_per_step"], other["bytes_per_step"], delta=other["bytes_per_step"] / 100
                    )
                    self.assertAlmostEqual(leak["first_step"], other["first_step"], delta=2 * -(-leak["steps"] // 256))
                self.assertEqual(
                    {leak["bytes"] for leak in said["given_back"] + said["levels_off"]},
                    {leak["bytes"] for leak in whole["given_back"] + whole["levels_off"]},
                )
                for options in [], ["--strict"]:
                    self.assertEqual(*(cli.run("check", *options, each).returncode for each in (compacted, path)))

    def test_a_leak_and_a_window_of_the_same_line(self):
        story = Training()
        recent = window_of(story, "train.py:6 in main", 20)

        def step(number):
            story.free(story.alloc(4096, "train.py:5 in main"))
            recent()
            if number % 2:
                story.alloc(1024, "train.py:6 in main", "train.py:9 in main")

        story.steps(200, step)
        story.teardown()
        self.check_same(story.write("beside.gmt.gz"), {6: 512})

    def test_a_leak_that_begins_late(self):
        story = Training()
        story.steps(
            200,
            lambda number: (
                story.free(story.alloc(4096, "train.py:5 in main")),
                number >= 170 and story.alloc(2048, "train.py:7 in main"),
            ),
        )
        story.teardown()
        self.check_same(story.write("late.gmt.gz"), {7: 2048})

    def test_freed_memory_and_full_caches_are_not_leaks(self):
        story = Training()
        pages, cache = [], []

        def step(number):
            story.free(story.alloc(4096, "train.py:5 in main"))
            pages.append(story.alloc(1024, "train.py:7 in main"))
            if number % 45 == 44:
                while pages:
                    story.free(pages.pop())
            if number < 40 or number in (55, 90):
                cache.append(story.alloc(512, "train.py:8 in main"))

        story.steps(180, step)
        story.teardown()
        self.check_same(story.write("healthy.gmt.gz"), {})

    def test_more_steps_than_a_compaction_has_marks_for(self):
        story = Training()
        recent = window_of(story, "train.py:6 in main", 20)

        def step(number):
            recent()
            if number >= 3000 and number % 5 == 0:
                story.alloc(2048, "train.py:8 in main")

        story.steps(5000, step)
        story.teardown()
        path = story.write("many.gmt.gz")
        whole, compacted = leaks(path), leaks(fold(path, *WAYS[1]))
        for said in whole, compacted:
            (leak,) = said["leaks"]
            self.assertEqual((leak["steps"], leak["blocks"], leak["first_step"]), (4990, 400, 3000))
            self.assertAlmostEqual(leak["bytes_per_step"], 409.6, delta=4)
        self.assertEqual(len(cli.report(fold(path, []))["steps"]), 5000)

    def test_two_optimizers_that_take_turns(self):
        story = Training()
        for number in range(80):
            story.alloc(1024, "train.py:5 in main")
            story.optimizer_steps(1)
            if number % 2:
                story.free(story.alloc(2048, "train.py:6 in main"))
            story.optimizer_steps(2)
        story.teardown()
        self.check_same(story.write("turns.gmt.gz"), {5: 1024})

    def test_an_optimizer_for_each_of_ten_epochs(self):
        story = Training()
        for epoch in range(10):
            state = story.alloc(8192, "train.py:4 in main")
            for _ in range(12):
                story.free(story.alloc(4096, "train.py:5 in main"))
                story.alloc(1024, "train.py:6 in main")
                story.optimizer_steps(epoch + 1)
            story.free(state)
        story.teardown()
        # --keep-steps counts the steps of the first optimizer.
        self.check_same(story.write("epochs.gmt.gz"), {6: 1024}, compacted_share=0.01)

    def test_memory_of_the_driver_that_is_left_when_the_work_is_done(self):
        story = Training()
        story.alloc(4096, "train.py:3 in main", layer=Layer.CUDA)
        story.steps(20, lambda number: story.free(story.alloc(4096, "train.py:5 in main")))
        story.teardown()
        path = story.write("exit.gmt.gz")
        for way in [[]], WAYS[1]:
            said = leaks(fold(path, *way))
            self.assertEqual([(leak["definition"], leak["bytes"]) for leak in said["leaks"]], [("exit", 4096)])
            self.assertIsNone(said["end_not_judged"])


class Bounds(unittest.TestCase):
    def test_a_compaction_keeps_a_few_hundred_samples_of_a_site_and_fewer_of_many_sites(self):
        story = Training()
        kept = {}

        def step(number):
            for line in range(200):
                if line in kept:
                    story.free(kept.pop(line))
                kept[line] = story.alloc(512 * (1 + number % 7), f"train.py:{line + 1} in main")

        story.steps(500, step)
        rows = [
            row for row in read_recording.read(fold(story.write("sites.gmt.gz"), [])) if row["record"] == "past_curve"
        ]
        self.assertLessEqual(len(rows), 32768 + 200)
        samples = {row["step"] for row in rows}
        self.assertGreater(len(samples), 60)
        self.assertLessEqual(len(samples), 257)

    def test_impossible_curves_are_not_judged(self):
        story = Training()
        story.steps(
            60,
            lambda number: (
                story.free(story.alloc(512, "train.py:4 in main")),
                story.alloc(1024, "train.py:5 in main"),
            ),
        )
        path = fold(story.write("good.gmt.gz"), [])
        rows = list(read_recording.read(path))
        self.assertIsNone(leaks(path)["growth_not_judged"])
        (counter,) = (row for row in rows if row["record"] == "past_counter")
        curves = [row for row in rows if row["record"] == "past_curve"]
        top = (1 << 64) - 1

        def less(row):
            return {key: value for key, value in row.items() if key != "record"}

        def write(counters, curves):
            bad, out = cli.place("bad.gmt.gz"), []
            for row in rows:
                if row["record"] in ("past_counter", "past_curve"):
                    continue
                if row["record"] == "fold":
                    out += [("past_counter", each) for each in counters] + [("past_curve", each) for each in curves]
                out.append((row["record"], less(row)))
            w.write(bad, *(w.block(name, fields) for name, fields in out))
            return bad

        counter, curves = less(counter), [less(row) for row in curves]
        self.assertIsNone(leaks(write([counter], curves))["growth_not_judged"])
        for counters, others in (
            ([], curves),
            ([{**counter, "marks": 59}], curves),
            ([{**counter, "stride": 0}], curves),
            ([{**counter, "stride": top}], curves),
            ([{**counter, "marks": top}], curves),
            ([counter], [{**row, "site": 99} for row in curves]),
            ([counter], [{**row, "step": top - number} for number, row in enumerate(curves)]),
            ([counter], curves[::-1]),
            ([counter], [{**row, "counter": 7} for row in curves]),
        ):
            bad = write(counters, others)
            self.assertIn("compacted part", leaks(bad)["growth_not_judged"] or "", (counters, others[:2]))
            # A compaction of this recording has no curves either, and does not judge.
            self.assertIn("compacted part", leaks(fold(bad, []))["growth_not_judged"] or "", (counters, others[:2]))
        # Impossible sizes do no harm.
        leaks(write([counter], [{**row, "live_bytes": top, "low_bytes": top, "ended_bytes": top} for row in curves]))


if __name__ == "__main__":
    cli.main()
