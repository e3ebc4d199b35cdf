# SPDX-License-Identifier: MIT
"""check: a rule fails only when it is broken. It names the place, and check exits with the documented code."""

import json
import os
import shutil
import subprocess
import unittest

import cli
import write_recording as w
from definitions import MarkKind, MarkSource
from recording import CUDA, MiB, PINNED, Story, train, train_with_spread_leak

FAKE = os.path.join(cli.BUILD, "tests", "cli", "libfake_recorder.so")


def check(*arguments, **more):
    return cli.run("check", *arguments, **more)


def verdict(*arguments):
    """Returns check's JSON. Checks that its verdict agrees with the exit code."""
    done = check("--json", *arguments)
    assert done.returncode in (0, 1, 4), done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == "gpumemtrace.check/1" and answer["exit_code"] == done.returncode
    assert (answer["verdict"] == "failed") == (done.returncode == 1)
    return answer


def failed(*arguments):
    """Returns the rules that fail, as (id, layer, device)."""
    return [
        (row["rule"], row["layer"], row["device"]) for row in verdict(*arguments)["checks"] if row["state"] == "failed"
    ]


def state(answer, rule, layer=None):
    (row,) = (row for row in answer["checks"] if row["rule"] == rule and row["layer"] == layer)
    return row["state"]


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.good = train(Story()).write("good.gmt.gz")
        cls.growing = train(Story(), leak=4096).write("growing.gmt.gz")

    def test_a_program_that_keeps_nothing_passes_without_options(self):
        done = check(self.good)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("PASSED: all 5 checks passed, in 1 file\n"), done.stdout)

    def test_memory_that_grows_from_step_to_step_fails_and_names_the_line(self):
        done = check(self.growing)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("FAILED: 1 of 5 checks failed"), done.stdout)
        block = done.stdout.split("\n\n")[1]
        self.assertTrue(block.startswith("GMT002 growth: torch on GPU 0, growing.gmt.gz\n"), block)
        self.assertIn("\n    train.py:32 in keep\n", block)
        self.assertIn("grows by 4.00 KiB a step, to 80.0 KiB in 20 blocks", block)
        self.assertIn("\n  do: look for a reference that keeps", block)

    def test_growth_up_to_the_limit_is_allowed_and_a_byte_more_is_not(self):
        self.assertEqual(failed("--max-growth=4KiB/step", self.growing), [])
        self.assertEqual(failed("--max-growth=4095B/step", self.growing), [("GMT002", "torch", 0)])

    def test_growth_that_no_line_explains_fails_names_the_lines_and_cannot_be_suppressed(self):
        path = train_with_spread_leak(Story()).write("spread.gmt.gz")
        self.assertEqual(failed(path), [("GMT002", "torch", 0)])
        done = check(path)
        self.assertIn("grows by 1.50 KiB a step in total, and no single line explains it", done.stdout)
        self.assertIn("grew by 3.00 KiB: spread.py:16 in part6", done.stdout)
        (finding,) = verdict(path)["findings"]
        self.assertEqual(
            (finding["definition"], finding["bytes_per_step"], finding["stack"], finding["own_frame"]),
            ("unexplained", 1536, [], None),
        )
        with open(cli.place("spread.supp"), "w", encoding="utf-8") as file:
            file.write("growth:*\n")
        self.assertEqual(failed("--suppressions", cli.place("spread.supp"), path), [("GMT002", "torch", 0)])
        self.assertNotIn("growth:", check("--gen-suppressions", path).stdout)
        self.assertEqual(failed("--max-growth=1536B/step", path), [])
        self.assertEqual(failed("--definition=growth", path), [("GMT002", "torch", 0)])
        for option in "--junit", "--sarif":
            self.assertEqual(check(option, cli.place("spread.out"), path).returncode, 1)
            with open(cli.place("spread.out"), encoding="utf-8") as file:
                self.assertIn("no single line explains it", file.read())

    def test_growth_that_is_probably_no_leak_is_judged_only_on_request(self):
        story = Story()
        model = story.alloc(4 * MiB, "/home/me/serve.py:5 in main")
        kept = []
        for _ in range(60):
            story.free(story.alloc(MiB, "/home/me/serve.py:10 in main"))
            kept.append(story.alloc(4096, "/home/me/serve.py:11 in main"))
            story.free(story.alloc(MiB, "/home/me/serve.py:12 in main"))
        for block in (*kept, model):
            story.free(block)
        path = story.write("doubtful.gmt.gz")
        answer = verdict(path)
        self.assertEqual((answer["exit_code"], state(answer, "GMT002", "torch")), (0, "warned"))
        self.assertIn(
            "grows by 4.00 KiB a step, but with less confidence than min-confidence (50 %): serve.py:11 in main; ",
            check(path).stdout,
        )
        self.assertEqual(failed("--min-confidence=0%", path), [("GMT002", "torch", 0)])
        self.assertIn("it may be the memory of one request", cli.unwrapped(check("--min-confidence=0%", path).stdout))

    def test_a_rate_below_one_byte_is_not_zero(self):
        story = train(Story(), steps=0)
        story.steps(100, lambda number: number % 20 or story.alloc(16, "/home/me/train.py:32 in keep"))
        done = check(story.write("slow.gmt.gz"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("grows by less than 1 B a step, 0 B allowed", done.stdout)
        self.assertIn("no lasting growth, 0 B a step allowed", check(self.good).stdout)

    def test_a_leak_of_driver_memory_fails_up_to_what_is_allowed(self):
        story = train(Story())
        story.alloc(3 * MiB, "/home/me/ext.py:7 in table", layer=CUDA)
        path = story.write("leak.gmt.gz")
        self.assertEqual(failed(path), [("GMT001", "cuda", 0)])
        self.assertEqual(failed("--max-leaked=3MiB", path), [])
        self.assertEqual(failed("--max-leaked=3145727B", path), [("GMT001", "cuda", 0)])
        (finding,) = verdict(path)["findings"]
        self.assertEqual(
            (finding["definition"], finding["bytes"], finding["blocks"], finding["key"]),
            ("exit", 3 * MiB, 1, "ext.py:table"),
        )
        self.assertEqual(finding["stack"][finding["own_frame"]]["line"], 7)

    def test_memory_of_pytorch_at_the_end_is_a_leak_only_on_request(self):
        self.assertEqual(failed("--definition=exit", self.good), [("GMT001", "torch", 0)])
        self.assertEqual(failed("--definition=phase", self.good), [])

    def test_blocks_older_than_allowed_fail_by_age_in_steps(self):
        path = train(Story(), steps=30).write("old.gmt.gz")
        self.assertEqual(failed("--definition=age", "--max-age=20steps", path), [("GMT001", "torch", 0)])
        self.assertEqual(failed("--definition=age", "--max-age=40 steps", path), [])

    def test_peaks_are_judged_in_each_layer_on_each_gpu_up_to_the_limit(self):
        story = train(Story())
        story.free(story.alloc(9 * MiB, "/home/me/a.py:1 in f", layer=CUDA, device=1))
        path = story.write("peak.gmt.gz")
        self.assertEqual(failed("--max-peak=9MiB", path), [])
        self.assertEqual(failed("--max-peak=8MiB", path), [("GMT003", "cuda", 1)])
        self.assertEqual(failed("--max-peak=4.5MiB", path), [("GMT003", "torch", 0), ("GMT003", "cuda", 1)])

    def test_a_peak_limit_can_name_a_layer_a_gpu_and_host_memory(self):
        story = train(Story())
        story.free(story.alloc(9 * MiB, "/home/me/a.py:1 in f", layer=CUDA, device=1))
        story.free(story.alloc(2 * MiB, "/home/me/a.py:2 in f", layer=CUDA, device=-1, space=PINNED))
        path = story.write("peaks.gmt.gz")
        for limit, expected in (
            ("torch=4MiB", [("GMT003", "torch", 0)]),
            ("cuda:0=1MiB", []),
            ("cuda:1=1MiB", [("GMT003", "cuda", 1)]),
            ("1KiB", 2),
            ("host=1MiB", 1),
            ("host=2MiB", []),
        ):
            rows = failed(f"--max-peak={limit}", path)
            self.assertEqual(len(rows) if isinstance(expected, int) else rows, expected, limit)

    def test_a_failed_peak_names_the_lines_that_held_it(self):
        text = check("--max-peak=4MiB", self.good).stdout
        self.assertIn("peak 5.00 MiB, 4.00 MiB allowed, at ", text)
        self.assertIn("4.00 MiB (80.0 %) held by train.py:5 in build", text)

    def test_fragmentation_is_reserved_by_allocated_memory_at_the_peak(self):
        story = Story()
        story.alloc(2 * MiB, "/home/me/a.py:1 in f", reserved_bytes=3 * MiB)
        story.free(story.alloc(2 * MiB, "/home/me/a.py:2 in f", reserved_bytes=2 * MiB))
        # The cache reserves more memory later, when the program allocates less. This is not fragmentation.
        story.alloc(512, "/home/me/a.py:3 in f", reserved_bytes=8 * MiB)
        path = story.write("fragmented.gmt.gz")
        self.assertEqual(failed("--max-fragmentation=1.25", path), [])
        self.assertEqual(failed("--max-fragmentation=1.24", path), [("GMT006", "torch", 0)])
        self.assertEqual(state(verdict(path), "GMT006", "torch"), "skipped")

    def test_a_refused_request_fails_unless_that_many_are_allowed(self):
        story = train(Story())
        story.event(3, layer=CUDA, size_bytes=90 << 30, result=2, frames=story.stack("/home/me/big.py:3 in grab"))
        path = story.write("refused.gmt.gz")
        self.assertEqual(failed(path), [("GMT005", None, None)])
        self.assertEqual(failed("--max-ooms=1", path), [])
        self.assertIn("90.0 GiB could not be allocated (layer cuda)", check(path).stdout)

    def test_a_request_that_pytorch_repeated_with_success_does_not_fail(self):
        story = train(Story())
        story.event(3, layer=CUDA, size_bytes=20 * MiB, result=2)
        story.alloc(20 * MiB, layer=CUDA)
        story.free(story.alloc(MiB, "/home/me/a.py:1 in f", address=0x7000_0000 + 30 * MiB))
        answer = verdict("--max-leaked=1GiB", story.write("retried.gmt.gz"))
        self.assertEqual(state(answer, "GMT005"), "passed")
        story.event(3, layer=CUDA, size_bytes=90 << 30, result=2)
        answer = verdict("--max-leaked=1GiB", story.write("retried-in-vain.gmt.gz"))
        self.assertEqual([row["bytes"] for row in answer["findings"]], [90 << 30])

    def test_freeing_twice_fails_and_names_the_first_free(self):
        story = train(Story())
        block = story.alloc(MiB, "/home/me/a.py:1 in f", layer=CUDA)
        story.free(block, frames=story.stack("/home/me/a.py:2 in first"))
        story.event(4, layer=CUDA, address=block, result=1, frames=story.stack("/home/me/a.py:3 in second"))
        path = story.write("twice.gmt.gz")
        self.assertEqual(failed(path), [("GMT007", None, None)])
        text = check(path).stdout
        self.assertIn("second free of the same block", text)
        self.assertRegex(text, r"first freed at .* by a\.py:2 in first")
        self.assertIn("\n    a.py:3 in second\n", text)

    def test_a_free_refused_at_the_end_of_the_runtime_is_not_invalid(self):
        story = train(Story())
        story.event(4, layer=CUDA, address=0x1234, result=4)
        self.assertEqual(failed(story.write("teardown.gmt.gz")), [])

    def test_an_incomplete_recording_passes_with_a_warning_and_exits_with_4_when_strict(self):
        path = train(Story()).write("cut.gmt.gz", ends=False)
        done = check(path)
        self.assertEqual(done.returncode, 0)
        self.assertIn("the recording is incomplete", done.stdout.splitlines()[0])
        self.assertIn("GMT008 incomplete", done.stdout)
        self.assertIn("the recording has no end", done.stdout)
        self.assertEqual(check("--strict", path).returncode, 4)
        self.assertEqual(check("--strict", self.good).returncode, 0)

    def test_a_recording_is_incomplete_if_only_its_second_warning_says_so(self):
        """The first warning is a remark about a pause. PyTorch's totals show later that an event is missing."""
        story = train(Story())
        for kind in MarkKind.PAUSE, MarkKind.RESUME:
            story.stamp += 10
            story.marks.append(w.mark(story.stamp, kind, MarkSource.PROGRAM))
        paused = story.write("paused.gmt.gz")
        self.assertEqual(check("--strict", paused).returncode, 0)
        story.free(story.alloc(512, allocated_bytes=4096))
        path = story.write("paused-incomplete.gmt.gz")
        self.assertTrue(cli.report(path)["complete"])  # the file itself lacks nothing
        remark, incomplete = cli.report(path)["remarks"]
        self.assertIn("stacks were not recorded for", remark)
        self.assertIn("PyTorch reports 4096 bytes more than its recorded blocks", incomplete)
        done = check(path)
        self.assertEqual(done.returncode, 0)
        self.assertIn("the recording is incomplete", done.stdout.splitlines()[0])
        self.assertIn("GMT008 incomplete", done.stdout)
        self.assertIn(incomplete, cli.unwrapped(done.stdout))
        self.assertNotIn("stacks were not recorded", done.stdout)
        self.assertEqual(check("--strict", path).returncode, 4)

    def test_a_failed_rule_wins_over_incomplete_data(self):
        path = train(Story(), leak=512).write("cut-growing.gmt.gz", ends=False)
        self.assertEqual(check("--strict", path).returncode, 1)


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        story = Story()
        story.free(story.alloc(MiB, "/home/me/a.py:1 in f"))
        cls.stepless = story.write("stepless.gmt.gz")

    def test_without_steps_growth_is_skipped_and_the_reason_is_reported(self):
        done = check(self.stepless)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"\nskipped GMT002 growth: torch on GPU 0: not judged: .+\n")

    def test_without_steps_the_first_line_reports_that_growth_was_not_judged(self):
        done = check(self.stepless)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^NOT JUDGED: growth, in 1 of 1 file; all \d+ other checks passed\n")
        self.assertRegex(
            cli.unwrapped(done.stdout), r"\nGMT009 not-judged: .+\n  growth was not judged: .+\n  do: .+ --strict .+\n"
        )
        self.assertEqual(verdict(self.stepless)["growth_not_judged"], 1)

    def test_strict_fails_if_growth_was_not_judged(self):
        self.assertEqual(check("--strict", self.stepless).returncode, 4)
        # A user who does not ask for growth does not miss it.
        done = check("--strict", "--definition=exit", self.stepless)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^PASSED: ")

    def test_a_requested_rule_about_steps_fails_without_steps(self):
        for option in "--max-growth=1MiB/step", "--warmup=3", "--definition=growth,phase":
            done = check(option, self.stepless)
            self.assertEqual(done.returncode, 1, option)
            self.assertIn("requested, but cannot be judged: ", done.stdout)
        done = check("--definition=age", "--max-age=3steps", self.stepless)
        self.assertEqual(done.returncode, 1)

    def test_a_warm_up_that_leaves_no_steps_fails(self):
        path = train(Story(), steps=8).write("short.gmt.gz")
        self.assertEqual(failed("--warmup=2", path), [])
        self.assertEqual(failed("--warmup=7", path), [("GMT002", None, None)])

    def test_a_child_process_without_steps_does_not_fail_when_its_parent_has_them(self):
        parent = train(Story(pid=100)).write("parent.gmt.gz")
        story = Story(pid=101, parent_pid=100)
        story.free(story.alloc(MiB, "/home/me/a.py:1 in f"))
        child = story.write("child.gmt.gz")
        self.assertEqual(failed("--warmup=3", parent, child), [])
        self.assertEqual(failed("--warmup=3", child), [("GMT002", None, None)])
        self.assertEqual(failed("--warmup=3", parent, self.stepless), [("GMT002", None, None)])


class Ranks(unittest.TestCase):
    def test_each_rank_is_judged_and_those_that_fail_are_named(self):
        paths = [
            train(Story(rank=rank, pid=rank + 10), leak=4096 * (rank == 2)).write(f"r{rank}.gmt.gz")
            for rank in range(4)
        ]
        done = check(*paths)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stdout.splitlines()[:2], ["FAILED: 1 of 20 checks failed, in 1 of 4 files", "  failed in rank 2"]
        )
        answer = verdict(*paths)
        self.assertEqual([row["failed"] for row in answer["files"]], [False, False, True, False])
        self.assertEqual([answer["files"][row["file"]]["rank"] for row in answer["findings"]], [2])
        self.assertIn("\npassed  GMT002 growth: 3 checks\n", done.stdout)

    def test_a_file_that_cannot_be_read_exits_with_3_and_the_others_are_judged(self):
        path = train(Story()).write("readable.gmt.gz")
        done = check(path, "missing.gmt.gz")
        self.assertEqual(done.returncode, 3)
        self.assertIn("missing.gmt.gz could not be read and was not judged", done.stdout)
        self.assertFalse(done.stdout.startswith("PASSED"))
        done = check("missing.gmt.gz")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1)


class Run(unittest.TestCase):
    """`run --check`. The program brings finished recordings, and the recorder is a fake."""

    @classmethod
    def setUpClass(cls):
        cls.program = cli.place(os.path.join("installed", "bin", "gpumemtrace"))
        library = cli.place(os.path.join("installed", "lib", "gpumemtrace", "libgpumemtrace.so"))
        for source, target in (cli.CLI, cls.program), (FAKE, library):
            os.makedirs(os.path.dirname(target))
            shutil.copy(source, target)

    def setUp(self):
        self.good = train(Story()).write("run-good.gmt.gz")
        self.bad = train(Story(), leak=4096).write("run-bad.gmt.gz")
        self.folder = cli.place(self.id())
        os.mkdir(self.folder)

    def run_it(self, script, check="--check", *more):
        return subprocess.run(
            [self.program, "run", "-q", check, "-o", "out.%p.gmt.gz", *more, "--", "sh", "-c", script],
            cwd=self.folder,
            env=cli.PLAIN,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def test_a_program_that_succeeds_within_its_limits_exits_with_0(self):
        done = self.run_it(f"cp {self.good} out.1.gmt.gz; echo hello")
        self.assertEqual((done.returncode, done.stdout), (0, "hello\n"))
        self.assertTrue(done.stderr.startswith("PASSED"), done.stderr)

    def test_a_rule_that_fails_makes_it_1_and_all_new_files_are_judged(self):
        done = self.run_it(f"cp {self.good} out.1.gmt.gz; cp {self.bad} out.2.gmt.gz")
        self.assertEqual(done.returncode, 1)
        self.assertIn("in 1 of 2 files", done.stderr)

    def test_files_that_were_there_before_are_not_judged(self):
        self.run_it(f"cp {self.bad} out.1.gmt.gz")
        self.assertEqual(self.run_it(f"cp {self.good} out.2.gmt.gz").returncode, 0)

    def test_a_failure_of_the_program_wins_over_the_check(self):
        done = self.run_it(f"cp {self.bad} out.1.gmt.gz; exit 42")
        self.assertEqual(done.returncode, 42)
        self.assertTrue(done.stderr.startswith("FAILED"), done.stderr)

    def test_a_signal_that_ends_the_program_wins_over_the_check(self):
        self.assertEqual(self.run_it(f"cp {self.good} out.1.gmt.gz; kill -TERM $$").returncode, 128 + 15)

    def test_a_limits_file_or_options_can_be_given(self):
        with open(os.path.join(self.folder, "limits"), "w") as file:
            file.write("max-growth = 1MiB/step\n")
        self.assertEqual(self.run_it(f"cp {self.bad} out.1.gmt.gz", "--check=limits").returncode, 0)
        self.assertEqual(
            self.run_it(f"cp {self.bad} out.2.gmt.gz", "--check=--max-growth=1MiB/step --max-peak 1MiB").returncode, 1
        )

    def test_wrong_limits_are_reported_before_the_program_runs(self):
        for demand in "--check=--max-peak=5MB", "--check=missing-file", "--check=--no-such", "--check=--json file":
            done = self.run_it("echo ran", demand)
            self.assertEqual((done.returncode, done.stdout), (125, ""), demand)

    def test_a_run_that_recorded_nothing_does_not_pass(self):
        done = self.run_it("true")
        self.assertEqual(done.returncode, 3)
        self.assertIn("nothing to judge", done.stderr)


if __name__ == "__main__":
    cli.main()
