# SPDX-License-Identifier: MIT
"""check: the meaning of limits, baselines and suppressions, and the messages about wrong ones."""

import json
import os
import re
import unittest

import cli
from recording import CUDA, MiB, Story, train


def check(*arguments):
    return cli.run("check", *arguments)


def text_file(name, text):
    with open(cli.place(name), "w") as file:
        file.write(text)
    return cli.place(name)


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.good = train(Story()).write("good.gmt.gz")

    def assert_usage(self, done, *said):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        for text in said:
            self.assertIn(text, done.stderr)
        self.assertNotIn("error", done.stderr.split("\n", 1)[1])

    def test_a_wrong_limit_is_one_line_that_says_what_to_write(self):
        for option, said in (
            ("--max-peak=18GB", "`18GB`: units are powers of 1024: write 18GiB"),
            ("--max-peak=18G", "write 18GiB"),
            ("--max-peak=1.5mb", "write 1.5MiB"),
            ("--max-peak=4096", "has no unit: write 4096B"),
            ("--max-peak=big", "is not a size"),
            ("--max-peak=-1MiB", "is not a size"),
            ("--max-peak=1.5B", "too large, or not a whole number of bytes"),
            ("--max-peak=99999999TiB", "too large, or not a whole number of bytes"),
            ("--max-peak=vram=1GiB", "names unknown memory"),
            ("--max-peak=torch:x=1GiB", "names unknown memory"),
            ("--max-leaked=1MiB/step", "is not a size"),
            ("--max-growth=1MiB", "growth is per step: write 1MiB/step"),
            ("--max-growth=1MB/step", "write 1MiB"),
            ("--max-fragmentation=30%", "is not a ratio"),
            ("--max-fragmentation=0.5", "is not a ratio"),
            ("--tolerance=2", "write 2%"),
            ("--tolerance=x%", "is not a tolerance"),
            ("--warmup=two", "is not a count"),
            ("--max-ooms=-1", "is not a count"),
            ("--definition=grow", "is not a definition of a leak"),
            ("--definition=growth,,exit", "is not a definition"),
            ("--max-age=5", "is not an age"),
            ("--definition=age", "needs a maximum age"),
            ("--max-age=5s", "no effect without definition `age`"),
        ):
            with self.subTest(option):
                self.assert_usage(check(option, self.good), said)

    def test_sizes_are_powers_of_1024_with_fractions_and_spaces(self):
        for size in "5MiB", "5 MiB", "5120KiB", "5242880B", "0.0048828125 GiB":
            self.assertEqual(check(f"--max-peak={size}", self.good).returncode, 0, size)
        for size in "4.999MiB", "5119KiB", "5242879B", "0":
            self.assertEqual(check(f"--max-peak={size}", self.good).returncode, 1, size)

    def test_options_win_over_the_limits_file(self):
        limits = text_file(
            "limits", "# for the big model\nmax-peak = torch=4MiB  # too small\n\nmax-peak=cuda = 1GiB\r\n"
        )
        self.assertEqual(check("--limits", limits, self.good).returncode, 1)
        self.assertEqual(check("--limits", limits, "--max-peak=6MiB", self.good).returncode, 0)

    def test_no_limits_file_is_read_unless_it_is_named(self):
        text_file("gpumemtrace.limits", "max-peak = 1KiB\n")
        self.assertEqual(check(self.good).returncode, 0)
        os.remove(cli.place("gpumemtrace.limits"))

    def test_a_wrong_line_of_a_limits_file_is_named_with_its_number(self):
        for text, said in (
            ("\nmax-peek = 1GiB\n", ":2: unknown limit `max-peek`"),
            ("max-peak 1GiB", ":1: `max-peak 1GiB` is not a line of a limits file"),
            ("max-peak = 1GB", ":1: `1GB`: units are powers of 1024: write 1GiB"),
            ("tolerance = 1%\ntolerance = 2%", ":2: `tolerance` is given twice"),
            ("max-peak = 1GiB\nmax-peak = 2GiB", ":2: `2GiB` is the second max-peak for the same memory"),
        ):
            path = text_file("wrong", text)
            with self.subTest(text):
                self.assert_usage(check("--limits", path, self.good), path + said)
        self.assert_usage(check("--limits", cli.place("none"), self.good), "none: No such file")


class Baseline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.good = train(Story()).write("good.gmt.gz")
        cls.path = cli.place("baseline")
        assert check("--baseline", cls.path, "--update-baseline", cls.good).returncode == 0

    def judge(self, story, *options, name="new.gmt.gz"):
        done = check("--json", "--baseline", self.path, *options, story.write(name))
        self.assertIn(done.returncode, (0, 1), done.stderr)
        answer = json.loads(done.stdout)
        found = [row for row in answer["findings"] if row["rule"] == "GMT004"]
        states = [row["state"] for row in answer["checks"] if row["rule"] == "GMT004"]
        self.assertEqual("failed" in states, bool(found))
        return found, answer

    def test_a_baseline_is_a_short_sorted_text_without_lines_and_addresses(self):
        with open(self.path) as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "gpumemtrace-baseline 1 names 1")
        self.assertEqual(
            [line for line in lines[1:] if not line.startswith("#")],
            [
                "layer rank=- layer=torch gpu=0 peak=5242880 retained=4194304 growth=0",
                "site rank=- layer=torch gpu=0 peak=4194304 retained=4194304 growth=0 train.py:build",
                "site rank=- layer=torch gpu=0 peak=1048576 retained=0 growth=0 train.py:step",
            ],
        )

    def test_the_same_recording_gives_the_same_bytes_and_passes(self):
        again = cli.place("again")
        check("--baseline", again, "--update-baseline", self.good)
        with open(self.path) as first, open(again) as second:
            self.assertEqual(first.read(), second.read())
        self.assertEqual(check("--baseline", self.path, self.good).returncode, 0)

    def test_moved_lines_other_addresses_and_another_folder_change_nothing(self):
        story = Story(directory="/elsewhere", pid=99)
        story.next_address = 0x1_0000_0000
        path = train(story, line=77, file="/elsewhere/train.py").write("moved.gmt.gz")
        moved = cli.place("moved")
        check("--baseline", moved, "--update-baseline", path)
        with open(self.path) as first, open(moved) as second:
            self.assertEqual(first.read(), second.read())

    def test_the_tolerance_ends_at_its_last_byte(self):
        """5 MiB and 2 % are 5,347,737.6 bytes."""
        for extra, options, expected in (
            (0, (), 0),
            (104857, (), 0),
            (104858, (), 1),
            (1, ("--tolerance=0%",), 1),
            (524288, ("--tolerance=10%",), 0),
            (524289, ("--tolerance=10%",), 1),
        ):
            story = train(Story())
            story.free(story.alloc(MiB + extra, "/home/me/train.py:40 in late"))
            found, _ = self.judge(story, *options)
            self.assertEqual(len(found), expected, (extra, options))

    def test_a_higher_peak_names_the_lines_that_hold_more(self):
        story = train(Story())
        story.free(story.alloc(3 * MiB, "/home/me/train.py:40 in late"))
        (found,), _ = self.judge(story)
        self.assertEqual(found["title"], "the peak is 7.00 MiB, which is 2.00 MiB more than 5.00 MiB in the baseline")
        self.assertEqual(found["evidence"], ["3.00 MiB more (3.00 MiB, was not in the baseline): train.py:late"])
        self.assertEqual(found["stack"][found["own_frame"]]["function"], "late")

    def test_more_memory_at_the_end_is_a_regression_even_with_the_same_peak(self):
        story = train(Story())
        story.alloc(MiB // 2, "/home/me/train.py:40 in late")
        (found,), _ = self.judge(story)
        self.assertIn("live memory at the end of the work is 4.50 MiB", found["title"])

    def test_growth_that_the_baseline_has_is_accepted_and_more_is_not(self):
        path = cli.place("grown")
        check("--baseline", path, "--update-baseline", train(Story(), leak=4096).write("grown.gmt.gz"))
        for leak, expected in (4096, 0), (8192, 1):
            done = check("--baseline", path, "--max-growth=1MiB/step", train(Story(), leak=leak).write("now.gmt.gz"))
            self.assertEqual(done.returncode, expected, done.stdout)

    def test_growth_in_a_file_that_moved_to_another_folder_is_that_of_the_baseline(self):
        path = cli.place("moves")
        check("--baseline", path, "--update-baseline", train(Story(), leak=4096).write("grown.gmt.gz"))
        for leak, expected in (4096, 0), (8192, 1):
            done = check(
                "--baseline",
                path,
                "--max-growth=1MiB/step",
                train(Story(), leak=leak, file="/home/me/pkg/train.py").write("now.gmt.gz"),
            )
            self.assertEqual(done.returncode, expected, done.stdout)

    def test_new_entries_fail_and_missing_ones_are_noted(self):
        found, answer = self.judge(train(Story(rank=3)))
        self.assertIn("no entry for this memory", found[0]["title"])
        self.assertEqual(answer["notes"], ["the baseline has torch on GPU 0, but none of these recordings does"])

    def test_each_rank_has_its_own_lines(self):
        path = cli.place("ranks")
        files = [train(Story(rank=rank), size=MiB * (rank + 1)).write(f"rank{rank}.gmt.gz") for rank in (0, 1)]
        check("--baseline", path, "--update-baseline", *files)
        with open(path) as file:
            self.assertEqual(
                re.findall(r"^layer rank=(\d) .* peak=(\d+)", file.read(), re.M),
                [("0", str(5 * MiB)), ("1", str(10 * MiB))],
            )
        self.assertEqual(check("--baseline", path, *files).returncode, 0)

    def test_a_missing_baseline_says_how_to_write_one(self):
        done = check("--baseline", cli.place("nowhere"), self.good)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("nowhere: No such file or directory", done.stderr)
        self.assertIn("--update-baseline", done.stderr)
        self.assertEqual(check("--update-baseline", self.good).returncode, 2)

    def test_a_malformed_or_newer_baseline_is_reported_in_one_line(self):
        head = "gpumemtrace-baseline 1 names 1\n"
        row = "layer rank=- layer=torch gpu=0 peak=1 retained=1 growth=0"
        for text, said in (
            ("", "is not a baseline"),
            ("hello\n", "is not a baseline"),
            ("gpumemtrace-baseline 2 names 1\n", "from a newer version of gpumemtrace"),
            ("gpumemtrace-baseline 1 names 99\n", "from a newer version of gpumemtrace"),
            ("gpumemtrace-baseline 1 names 0\n", "names sites in another way than this version"),
            (head + "layer rank=0\n", ":2: `layer rank=0` is not a line"),
            (head + row.replace("torch", "disk") + "\n", ":2: "),
            (head + row.replace("peak=1", "peak=x") + "\n", ":2: "),
            (head + row + " more\n", ":2: "),
            (head + row.replace("layer", "site", 1) + "\n", ":2: "),
            (head + row.replace("peak=1", "peak=99999999999999999999") + "\n", ":2: "),
            ("<<<<<<< HEAD\n" + head, "is not a baseline"),
        ):
            with self.subTest(text):
                done = check("--baseline", text_file("wrong", text), self.good)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertIn(said, done.stderr)

    def test_an_incomplete_recording_makes_no_baseline(self):
        path = cli.place("from-cut")
        done = check("--baseline", path, "--update-baseline", train(Story()).write("cut.gmt.gz", ends=False))
        self.assertEqual(done.returncode, 4)
        self.assertFalse(os.path.exists(path))

    def test_a_baseline_is_replaced_in_one_piece(self):
        folder = cli.place("folder")
        os.mkdir(folder)
        path = os.path.join(folder, "baseline")
        for _ in range(2):
            self.assertEqual(check("--baseline", path, "--update-baseline", self.good).returncode, 0)
        self.assertEqual(os.listdir(folder), ["baseline"])
        done = check("--baseline", os.path.join(folder, "no", "baseline"), "--update-baseline", self.good)
        self.assertEqual(done.returncode, 3)


class Suppressions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        story = train(Story(), leak=4096)
        story.alloc(MiB, "/home/me/ext.py:7 in table", module="/opt/mine/libtable.so.2", layer=CUDA)
        cls.path = story.write("suppress.gmt.gz")

    def suppress(self, *lines, options=()):
        done = check("--json", "--suppressions", text_file("list", "\n".join(lines)), *options, self.path)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        answer = json.loads(done.stdout)
        return {row["rule"] for row in answer["checks"] if row["state"] == "failed"}, answer

    def test_without_suppressions_both_are_found(self):
        self.assertEqual(self.suppress()[0], {"GMT001", "GMT002"})

    def test_patterns_follow_those_of_leaksanitizer(self):
        for pattern, matches in (
            ("table", True),
            ("tabl", True),
            ("^table", True),
            ("^tabl", True),
            ("table$", True),
            ("^table$", True),
            ("able", True),
            ("^able", False),
            ("^able$", False),
            ("tabl$", False),
            ("^tabl$", False),
            ("t*le", True),
            ("^t*le$", True),
            ("^t*l$", False),
            ("*", True),
            ("t**e", True),
            ("^*able$", True),
            ("e*t$", False),
            ("t*e*z", False),
            ("/home/me/ext.py", True),
            ("^/home/*/ext.py$", True),
            ("^ext.py", False),
            ("ext.py$", True),
            ("libtable.so", True),
            ("^/opt/mine/libtable.so.2$", True),
            ("libtable.so$", False),
            ("TABLE", False),
            ("train.py", False),
        ):
            with self.subTest(pattern):
                self.assertEqual("GMT001" not in self.suppress(f"leak:{pattern}")[0], matches)

    def test_each_kind_hides_only_findings_of_its_rule(self):
        for line, left in (
            ("leak:*", {"GMT002"}),
            ("exit:*", {"GMT002"}),
            ("phase:*", {"GMT001", "GMT002"}),
            ("growth:*", {"GMT001"}),
            ("growth:keep", {"GMT001"}),
            ("growth:step", {"GMT001", "GMT002"}),
            ("oom:*", {"GMT001", "GMT002"}),
        ):
            self.assertEqual(self.suppress(line)[0], left, line)

    def test_memory_under_a_peak_suppression_does_not_count(self):
        self.assertIn("GMT003", self.suppress(options=("--max-peak=torch=2MiB",))[0])
        self.assertNotIn("GMT003", self.suppress("peak:build", options=("--max-peak=torch=2MiB",))[0])

    def test_comments_and_empty_lines_are_left_out_and_use_is_counted(self):
        _, answer = self.suppress("# why", "", "  leak:table  ", "leak:nothing")
        self.assertEqual(
            [(row["pattern"], row["line"], row["used"], row["bytes"]) for row in answer["suppressions"]],
            [("table", 3, 1, MiB), ("nothing", 4, 0, 0)],
        )

    def test_unused_ones_are_reported_and_those_built_in_are_not(self):
        path = text_file("list", "leak:table\nleak:nothing\n")
        text = check("--suppressions", path, self.path).stdout
        self.assertIn(f"note: unused suppression {path}:2: leak:nothing\n", text)
        self.assertEqual(text.count("unused"), 1)

    def test_known_caches_are_suppressed_by_default(self):
        story = train(Story())
        story.alloc(MiB, "/home/me/a.py:7 in warm", module="/venv/lib/libnvshmem_host.so.3", layer=CUDA)
        path = story.write("cache.gmt.gz")
        done = check(path)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("exit:libnvshmem (built in)", done.stdout)
        self.assertEqual(check("--no-default-suppressions", path).returncode, 1)

    def test_a_growing_known_cache_is_not_suppressed(self):
        story = Story()
        story.steps(
            20,
            lambda _n: story.alloc(MiB, "/home/me/a.py:7 in warm", module="/venv/lib/libnvshmem_host.so.3", layer=CUDA),
        )
        self.assertEqual(check(story.write("cache-grows.gmt.gz")).returncode, 1)

    def test_generated_suppressions_hide_the_findings(self):
        done = check("--gen-suppressions", self.path)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            sorted(line for line in done.stdout.splitlines() if not line.startswith("#")),
            ["exit:^table$", "growth:^keep$"],
        )
        self.assertEqual(self.suppress(*done.stdout.splitlines())[0], set())

    def test_a_wrong_line_or_a_missing_file_is_one_clear_mistake(self):
        for text in "table", "leek:table", "leak:", ":table":
            path = text_file("wrong", "# first\n" + text)
            done = check("--suppressions", path, self.path)
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertIn(f"{path}:2: `{text}` is not a suppression", done.stderr)
        done = check("--suppressions", cli.place("absent"), self.path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("absent: No such file", done.stderr)


if __name__ == "__main__":
    cli.main()
