# SPDX-License-Identifier: MIT
"""leaks: a training with known leaks, in text and JSON; options; a mistake is one clear line."""

import json
import os
import unittest

import cli
from definitions import Kind, Layer, MarkSource
from recording import Story, train_with_spread_leak
import write_recording as w

GOLDEN = os.path.join(cli.TESTS, "golden")
EXPECTED = os.path.join(cli.TESTS, "cli", "expected")
KEYS = {
    "definition",
    "layer",
    "device",
    "space",
    "bytes",
    "blocks",
    "bytes_per_step",
    "confidence",
    "ground",
    "source",
    "steps",
    "first_step",
    "steps_to_oom",
    "attribution",
    "rose_most",
    "followers",
    "phase",
    "heap",
    "category",
    "owner",
    "hint",
    "own_frame",
    "stack",
    "stacks",
    "freed",
}
MIB = 1 << 20
TORCH = "/env/lib/python3.11/site-packages/torch"
CODES = [
    ("<module>", "/home/me/train.py"),
    ("train", "/home/me/train.py"),
    ("evaluate", "/home/me/train.py"),
    ("relu", TORCH + "/nn/functional.py"),
    ("Buffer.grow", "/home/me/buffer.py"),
]


class Training:
    """Each step leaves 1 KiB and each phase leaves a batch. The driver's block and a cache stay too."""

    def __init__(self, steps=20):
        self.stamp, self.events, self.marks = 10**6, [], []
        self.next_address = 0
        self.put(MIB, layer=Layer.CUDA, api=2, frames=4)
        for step in range(steps):
            temporary = self.put(MIB, frames=1)
            self.put(1024, frames=2)
            self.take(temporary, MIB)
            self.mark(1)
            if step % 5 == 4:
                self.mark(2, name=1)
                self.put(4096, frames=3)
                self.mark(3)

    def tick(self):
        self.stamp += 1000
        return self.stamp

    def put(self, size, **more):
        self.next_address += 16 * MIB
        row = {
            **w.EVENT,
            "stamp": self.tick(),
            "layer": Layer.TORCH,
            "device": 0,
            "api": 1,
            "address": self.next_address,
            "size_bytes": size,
            **more,
        }
        self.add(row)
        return self.next_address

    def take(self, address, size):
        self.add(
            {
                **w.EVENT,
                "stamp": self.tick(),
                "kind": Kind.FREE,
                "layer": Layer.TORCH,
                "device": 0,
                "api": 1,
                "address": address,
                "size_bytes": size,
            }
        )

    def add(self, row):
        """Adds an event. The first event of PyTorch reserves 4 MiB."""
        if row["layer"] == Layer.TORCH and not any(event["layer"] == Layer.TORCH for event in self.events):
            row = {**row, "reserved_bytes": 4 * MIB}
        self.events.append(row)

    def mark(self, kind, name=0):
        self.marks.append(w.mark(self.tick(), kind, MarkSource.PROGRAM, name=name))

    def write(self, name, end=True):
        codes = [{"id": i + 1, "function": function, "file": file} for i, (function, file) in enumerate(CODES)]
        frames = [{"id": i + 1, "code": i + 1, "line": 10 * (i + 1)} for i in range(len(CODES))]
        stacks = [
            {"id": 1, "items": [4, 3]},
            {"id": 2, "items": [8, 4, 3]},
            {"id": 3, "items": [8, 6, 3]},
            {"id": 4, "items": [10, 4, 3]},
        ]
        path = cli.place(name)
        w.write(
            path,
            w.process(
                command=b"python\0train.py\0",
                start_time_ns=1700000000 * 10**9,
                start_stamp=10**6,
                directory="/home/me",
                host="node7",
            ),
            w.block("option", {"key": "stacks", "value": "python"}),
            w.block(
                "clock",
                {"stamp": 10**6, "monotonic_ns": 10**9, "realtime_ns": 1700000000 * 10**9},
                {"stamp": 2 * 10**6, "monotonic_ns": 2 * 10**9, "realtime_ns": 1700000001 * 10**9},
            ),
            w.block("device", {"ordinal": 0, "name": "NVIDIA H100", "uuid": "GPU-1", "total_bytes": 64 * MIB}),
            w.block("thread", {"id": 1, "tid": 7, "name": "python"}),
            w.block(
                "api",
                {"id": 1, "name": "reportMemoryUsageToProfiler", "library": "c10"},
                {"id": 2, "name": "cuMemAlloc_v2", "library": "cuda"},
            ),
            w.block("code", *codes),
            w.block("frame", *frames),
            w.block("frames", *stacks),
            w.block("name", {"id": 1, "text": "evaluation"}),
            w.block("mark", *self.marks),
            w.block("event", *self.events),
            *([w.end(len(self.events), self.stamp + 1000)] if end else []),
        )
        return path


def leaks(*arguments, code=0):
    done = cli.run("leaks", "--json", *arguments)
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout)


class Leaks(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.path = Training().write("leaky.gmt.gz")

    def check_text(self, name, *arguments):
        done = cli.run("leaks", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = os.path.join(EXPECTED, name + ".txt")
        if os.environ.get("GMT_TEST_UPDATE"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(done.stdout)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(done.stdout, file.read())

    def check_wrong(self, arguments, *said, code=2):
        done = cli.run("leaks", *arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), arguments)
        self.assertTrue(done.stderr.startswith("gpumemtrace: error: "), done.stderr)
        for words in said:
            self.assertIn(words, done.stderr)

    def test_the_text_reads_as_expected(self):
        self.check_text("leaks", "leaky.gmt.gz")

    def test_the_text_in_colours_with_few_findings_and_frames_reads_as_expected(self):
        self.check_text("leaks-color", "--color=always", "--limit=1", "--frames=1", "leaky.gmt.gz")

    def test_growth_that_no_line_explains_reads_as_expected(self):
        story = Story()
        request = []
        train_with_spread_leak(
            story, also=lambda _number: request.append(story.alloc(4096, "/home/me/spread.py:700 in answer"))
        )
        for block in request:
            story.free(block)
        story.alloc(512, "/home/me/spread.py:800 in last")
        path = story.write("spread.gmt.gz")
        self.check_text("leaks-unexplained", "spread.gmt.gz")
        answer = leaks(path)
        (row,) = answer["leaks"]
        self.assertEqual(set(row), KEYS)
        self.assertEqual((row["definition"], row["stack"]), ("unexplained", []))
        for key in "blocks", "category", "owner", "own_frame", "hint", "phase", "heap", "freed":
            self.assertIsNone(row[key])
        self.assertEqual(cli.report(path)["given_back"], answer["given_back"])

    def test_two_leaks_of_one_line_are_shown_with_both_stacks(self):
        story, make = Story(), "/home/me/two.py:3 in make"

        def step(_number):
            story.alloc(1024, make, "/home/me/two.py:5 in small")
            story.alloc(5120, make, "/home/me/two.py:6 in large")

        story.steps(20, step)
        path = story.write("two.gmt.gz")
        (row,) = leaks(path)["leaks"]
        self.assertEqual(
            [(stack["bytes"], stack["blocks"], stack["stack"][1]["function"]) for stack in row["stacks"]],
            [(20 * 5120, 20, "large"), (20 * 1024, 20, "small")],
        )
        text = cli.run("leaks", path).stdout
        self.assertIn(
            "100 KiB in 20 blocks allocated here:\n            > two.py:3 in make\n              two.py:6 in large",
            text,
        )
        self.assertIn(
            "20.0 KiB in 20 blocks allocated here:\n            > two.py:3 in make\n              two.py:5 in small",
            text,
        )

    def test_an_empty_recording_has_no_leaks_and_a_reason_why_growth_was_not_judged(self):
        w.write(cli.place("nothing.gmt.gz"), w.process(), w.end(0))
        self.check_text("leaks-nothing", "nothing.gmt.gz")

    def test_every_finding_has_the_documented_keys(self):
        answer = leaks(self.path)
        self.assertEqual(answer["schema"], "gpumemtrace.leaks/2")
        self.assertEqual(
            set(answer),
            {
                "schema",
                "file",
                "complete",
                "leaks",
                "cached",
                "arenas",
                "given_back",
                "levels_off",
                "growth_not_judged",
                "phases_not_judged",
                "end_not_judged",
            },
        )
        with open(os.path.join(cli.SOURCE, "docs", "internals", "report-json-analyses.md"), encoding="utf-8") as file:
            documented = file.read()
        for row in answer["leaks"]:
            self.assertEqual(set(row), KEYS)
            for key in row:
                self.assertIn(f"`{key}`", documented)

    def test_leaks_finds_what_the_training_leaves_to_the_byte(self):
        growth, phase, end = leaks(self.path)["leaks"]
        self.assertEqual([row["definition"] for row in (growth, phase, end)], ["growth", "phase", "exit"])
        self.assertEqual((growth["bytes"], growth["blocks"], growth["bytes_per_step"]), (20 * 1024, 20, 1024))
        self.assertEqual((growth["source"], growth["steps"], growth["first_step"]), ("program", 16, 0))
        self.assertEqual(growth["stack"][growth["own_frame"]]["function"], "train")
        self.assertEqual(sum(row["bytes"] for row in growth["attribution"]), 20 * 1024)
        # The report leaves out the newest of four batches: the next evaluation would have replaced it.
        self.assertEqual((phase["phase"], phase["bytes"], phase["blocks"]), ("evaluation", 3 * 4096, 3))
        self.assertIsNone(phase["bytes_per_step"])
        self.assertEqual((end["layer"], end["bytes"], end["attribution"]), ("cuda", MIB, []))

    def test_the_report_has_the_same_leaks_and_its_steps_and_phases(self):
        report = cli.report(self.path)
        self.assertEqual(report["leaks"], leaks(self.path)["leaks"])
        self.assertEqual([row["index"] for row in report["steps"]], list(range(20)))
        self.assertEqual([row["name"] for row in report["phases"]], ["evaluation"] * 4)
        torch = [row for row in report["steps"][7]["devices"] if row["layer"] == "torch"]
        self.assertEqual([row["end_live_bytes"] for row in torch], [8 * 1024 + 4096])
        self.assertEqual([row["peak_bytes"] for row in torch], [MIB + 8 * 1024 + 4096])

    def test_only_the_requested_definitions_are_applied(self):
        def found(*arguments):
            return [(row["definition"], row["bytes"]) for row in leaks(*arguments, self.path)["leaks"]]

        # The batches of the evaluations grow too. `phase` says more about them, so it wins where both judge.
        self.assertEqual(found("--definition=growth"), [("growth", 20 * 1024), ("growth", 3 * 4096)])
        self.assertEqual(found("--definition=phase"), [("phase", 3 * 4096)])
        self.assertEqual(found("--definition=exit"), [("exit", MIB), ("exit", 20 * 1024), ("exit", 4 * 4096)])
        self.assertEqual(found("--definition=phase,growth"), [("growth", 20 * 1024), ("phase", 3 * 4096)])
        self.assertEqual(found("--definition=growth", "--definition=phase"), found("--definition=phase,growth"))
        self.assertEqual(found("--definition=all"), [("growth", 20 * 1024), ("phase", 3 * 4096), ("exit", MIB)])

    def test_age_judges_by_steps_or_seconds(self):
        by_steps = leaks("--age-steps=15", self.path)["leaks"]
        self.assertEqual({row["definition"] for row in by_steps}, {"age"})
        self.assertIn(5 * 1024, [row["bytes"] for row in by_steps])
        self.assertEqual(leaks("--definition=age", "--age-seconds=10", self.path)["leaks"], [])
        self.assertEqual(len(leaks("--definition=age", "--age-seconds=0", self.path)["leaks"]), 3)

    def test_a_warm_up_as_long_as_the_recording_leaves_nothing_to_judge(self):
        answer = leaks("--warmup=18", self.path)
        self.assertNotIn("growth", [row["definition"] for row in answer["leaks"]])
        self.assertIn("too few steps", answer["growth_not_judged"])
        self.assertEqual(leaks("--warmup=0", self.path)["leaks"][0]["steps"], 20)
        leaks("--warmup=18446744073709551614", self.path)

    def test_up_to_a_moment_only_phases_that_had_ended_are_judged(self):
        steps = cli.report(self.path)["steps"]
        for count in 10, 6:
            answer = leaks(f"--until={steps[count - 1]['end_ns']}", "--definition=growth", self.path)
            self.assertEqual([row["blocks"] for row in answer["leaks"]], [count])
        self.assertEqual(leaks("--until=0", self.path)["leaks"], [])

    def test_without_steps_the_reason_is_in_the_json_of_both(self):
        path = cli.make("stepless.gmt.gz", events=100)
        self.assertIn("no optimizer made a step", leaks(path)["growth_not_judged"])
        self.assertEqual(cli.report(path)["no_steps"], leaks(path)["growth_not_judged"])

    def test_several_files_have_a_line_each_and_unreadable_files_none(self):
        self.assertEqual([len(file["leaks"]) for file in cli.reports("leaks", self.path, self.path)], [3, 3])
        done = cli.run("leaks", "--json", "missing.gmt", self.path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("missing.gmt", done.stderr)
        self.assertEqual(done.stdout, cli.run("leaks", "--json", self.path).stdout)

    def test_an_incomplete_recording_fails_with_strict(self):
        path = Training().write("cut.gmt.gz", end=False)
        self.assertEqual(cli.run("leaks", path).returncode, 0)
        done = cli.run("leaks", "--strict", path)
        self.assertEqual(done.returncode, 4)
        self.assertIn("Leaks: 3 findings", done.stdout)
        self.assertFalse(leaks("--strict", path, code=4)["complete"])
        self.assertEqual(cli.run("leaks", "--strict", self.path).returncode, 0)

    def test_mistakes_are_reported(self):
        self.check_wrong(["--definition=leak", self.path], "`leak`", "growth, unexplained, phase, age, exit or all")
        self.check_wrong(["--definition=growth,leak", self.path], "`leak`")
        self.check_wrong(["--definition=growth,", self.path], "``")
        self.check_wrong(["--definition=", self.path], "``")
        self.check_wrong(["--definition=age", self.path], "--age-steps or --age-seconds")
        self.check_wrong(["--definition=growth,age", self.path], "--age-steps or --age-seconds")
        self.check_wrong(["--definition=growth", "--age-steps=3", self.path], "need --definition=age")
        for option in "--warmup=-1", "--warmup=some", "--age-steps=", "--age-seconds=1.5", "--until=x":
            self.check_wrong([option, self.path], option.split("=", maxsplit=1)[0])

    def test_files_that_cannot_be_read_are_reported(self):
        self.check_wrong(["missing.gmt"], "missing.gmt", code=3)
        with open(cli.place("text.gmt"), "w", encoding="utf-8") as file:
            file.write("no recording")
        self.check_wrong(["text.gmt"], "text.gmt", code=3)

    def test_a_damaged_file_is_judged_up_to_the_damage(self):
        with open(self.path, "rb") as file:
            content = file.read()
        with open(cli.place("damaged.gmt.gz"), "wb") as file:
            file.write(content[: len(content) * 9 // 10])
        done = cli.run("leaks", "damaged.gmt.gz")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Leaks: ", done.stdout)

    def test_the_output_for_the_golden_file_of_version_1_1_stays_the_same(self):
        path = os.path.join(GOLDEN, "version-1.1.gmt")
        report = cli.report(path)
        self.assertEqual((len(report["steps"]), len(report["phases"])), (20, 4))
        self.assertEqual([row["name"] for row in report["phases"]], ["epoch", "range"] * 2)
        self.assertEqual(len(report["ooms"]), 1)
        growth = report["leaks"][0]
        self.assertEqual(
            (growth["definition"], growth["bytes_per_step"], growth["source"]), ("growth", 2048, "optimizer")
        )


if __name__ == "__main__":
    cli.main()
