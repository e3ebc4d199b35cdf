# SPDX-License-Identifier: MIT
"""The first screen of a report, its sections, the moments that --until takes, and the pager."""

import json
import os
import pty
import re
import select
import subprocess
import time
import unittest

import cli
from definitions import Kind
from recording import CUDA, PINNED, Story

MIB = 1 << 20
LINE = "/home/me/train.py:{} in {}"
FULL = re.findall(r"^GMT_REPORT_SECTION\(\w+, \"(\w+)\"", cli.read_source("src", "render", "report_sections.def"), re.M)


def training(steps=20, leak=False):
    """Makes a training with 1 MiB of parameters. A step needs 6 MiB more for a moment. With `leak`, it keeps 512 B."""
    story = Story()
    story.alloc(MIB, LINE.format(3, "build"))

    def step(_):
        batch = story.alloc(2 * MIB, LINE.format(11, "load"))
        hidden = story.alloc(4 * MIB, LINE.format(12, "forward"))
        if leak:
            story.alloc(512, LINE.format(13, "log"))
        story.free(hidden)
        story.free(batch)

    story.steps(steps, step)
    return story


def screen(story, name, *arguments, utf8=False):
    environment = {"LC_ALL": "C.UTF-8" if utf8 else "C"}
    done = cli.run("report", *arguments, story.write(name), environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


class FirstScreen(unittest.TestCase):
    def check_size(self, text):
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 24, text)
        for line in lines:
            # A command must not be cut.
            if "gpumemtrace report" not in line and "gpumemtrace leaks" not in line:
                self.assertLessEqual(len(line), 80, line)

    def test_the_answer_comes_first(self):
        text = screen(training(leak=True), "screen.gmt.gz")
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^prog on here: 20 steps by program, .*, complete$")
        self.assertRegex(lines[1], r"^peak +7\.01 MiB of 80\.0 GiB on GPU 0, at .*, step 19$")
        self.assertRegex(lines[2], r"^out of memory +no$")
        self.assertRegex(lines[3], r"^leaks +1 found$")
        self.assertIn("  4.00 MiB   57 %        1 x  train.py:12 in forward\n", text)
        self.assertIn("  leak  +512 B a step  train.py:13 in log\n", text)
        self.check_size(text)

    def test_the_lines_are_those_of_the_table_by_line(self):
        path = training(leak=True).write("lines.gmt.gz")
        report = json.loads(cli.run("report", "--json", "--by=line", path).stdout)
        rows = [row for row in report["tables"][0]["rows"] if row["layer"] == "torch"]
        overview = report["overview"]
        self.assertEqual(
            [(row["bytes"], row["blocks"], row["frame"]["line"]) for row in overview["lines"]],
            [(row["peak_bytes"], row["peak_blocks"], row["frame"]["line"]) for row in rows if row["peak_bytes"]][:5],
        )
        self.assertEqual(overview["peak_bytes"], 7 * MIB + 20 * 512)
        self.assertEqual((overview["layer"], overview["device"], overview["step"]), ("torch", 0, 19))

    def test_the_curve_has_the_peak_of_each_step(self):
        path = training(leak=True).write("curve.gmt.gz")
        report = cli.report(path)
        peaks = [step["devices"][0]["peak_bytes"] for step in report["steps"]]
        self.assertEqual(report["overview"]["curve"], {"by": "step", "max_bytes": peaks})

    def test_the_curve_without_steps_has_the_maxima_of_the_changes(self):
        story = Story()
        blocks = [story.alloc(MIB, LINE.format(1, "f")) for _ in range(300)]
        # It frees so few blocks that they do not show steps.
        for block in blocks[:60]:
            story.free(block)
        path = story.write("changes.gmt.gz")
        curve = cli.report(path)["overview"]["curve"]
        self.assertEqual((curve["by"], max(curve["max_bytes"])), ("changes", 300 * MIB))
        # 360 changes in at most 256 points: each point has two.
        self.assertEqual(curve["max_bytes"][:3], [2 * MIB, 4 * MIB, 6 * MIB])
        self.assertEqual(curve["max_bytes"][-1], 241 * MIB)

    def test_a_terminal_with_utf8_gets_bars_whose_height_is_the_value(self):
        story = Story()
        for size in 1, 2, 4, 8, 8, 4, 2, 1:
            story.steps(2, lambda _, size=size: story.free(story.alloc(size * MIB, LINE.format(1, "f"))))
        text = screen(story, "bars.gmt.gz", utf8=True)
        lines = text.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("  8.00 MiB "))
        bars = [line[11:] for line in lines[first : first + 3]]
        heights = ["".join(column).strip() for column in zip(*bars)]
        # Each of 16 steps has 4 columns. Full height is three blocks.
        self.assertEqual(heights[12 * 2], "███")
        self.assertEqual(heights[0], "▃")
        self.assertEqual(len(heights), 64)
        self.assertIn("peak of each step, 0 to 15", text)
        self.assertNotIn("█", screen(story, "bars.gmt.gz"))
        self.check_size(text)

    def test_a_long_path_loses_its_front_and_a_command_nothing(self):
        story = Story()
        story.alloc(MIB, "/home/me/" + "folder/" * 20 + "train.py:7 in a_function")
        text = screen(story, "a" * 100 + ".gmt.gz")
        self.assertRegex(text, r"\n +1\.00 MiB  100 % +1 x  \.\.\..*/train\.py:7 in a_function\n")
        self.assertIn("report --full " + cli.place("a" * 100 + ".gmt.gz"), text)
        self.check_size(text)

    def test_many_findings_fit(self):
        story = Story(rank=3)
        story.alloc(MIB, LINE.format(1, "f"), device=1)
        for number in range(12):
            story.event(
                Kind.ALLOC_FAILED, layer=CUDA, size_bytes=90 << 30, result=2, frames=story.stack(LINE.format(9, "big"))
            )
        kept = [story.alloc(100 * MIB, LINE.format(line, "w" * 90)) for line in range(20, 40)]
        story.steps(30, lambda _: [story.alloc(MIB, LINE.format(line, "leak" + "x" * 70)) for line in range(1, 8)])
        self.assertEqual(len(kept), 20)
        for utf8 in False, True:
            text = screen(story, "many.gmt.gz", utf8=utf8)
            self.check_size(text)
            self.assertIn("other GPUs      GPU 1 1.00 MiB", text)
            self.assertIn("and 4 more", text)
            self.assertRegex(text, r"out of memory   12 requests failed; the last: 90\.0 GiB at .* in ")

    def test_a_recording_of_nothing_says_so(self):
        text = screen(Story(), "nothing.gmt.gz")
        self.assertIn("peak            nothing was allocated\n", text)
        self.check_size(text)

    def test_what_is_missing_is_on_the_first_screen(self):
        path = cli.make("missing.gmt.gz", drop=7)
        text = cli.run("report", path).stdout
        self.assertRegex(text, r"\nrecording +INCOMPLETE\n +7 events were lost")
        self.check_size(text)


class Sections(unittest.TestCase):
    def test_a_section_prints_only_itself_and_several_come_in_the_order_of_the_report(self):
        path = training().write("sections.gmt.gz")
        self.assertEqual(cli.run("report", "--section=summary", path).stdout, cli.run("report", path).stdout)
        devices = cli.run("report", "--section=devices", path).stdout
        leaks = cli.run("report", "--section=leaks", path).stdout
        self.assertTrue(devices.startswith("\nGPU 0: A GPU") and leaks.startswith("\nLeaks: none found"), devices)
        for several in (["--section=leaks,devices"], ["--section=leaks", "--section", "devices"]):
            self.assertEqual(cli.run("report", *several, path).stdout, devices + leaks)
        for name in FULL:
            self.assertEqual(cli.run("report", "--section", name, path).returncode, 0, name)

    def test_a_named_section_with_nothing_to_show_says_so(self):
        path = Story().write("empty-sections.gmt.gz")
        for name in FULL:
            text = cli.run("report", "--section", name, path).stdout
            self.assertTrue(text.strip(), name)
        self.assertEqual(cli.run("report", "--section=oom", path).stdout, "no request for memory failed\n")
        whole = cli.run("report", "--full", path).stdout
        self.assertNotIn("no request for memory failed", whole)

    def test_a_table_and_a_section_are_both_printed(self):
        path = training().write("both.gmt.gz")
        text = cli.run("report", "--by=line", "--section=devices", path).stdout
        self.assertEqual(
            text,
            cli.run("report", "--section=devices", path).stdout + cli.run("report", "--by=line", path).stdout,
        )

    def test_an_unknown_section_is_an_error_with_the_nearest_one(self):
        done = cli.run("report", "--section=leaks,segmens", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("`segmens` is not valid", done.stderr)
        self.assertIn("did you mean segments?", done.stderr)


class Moments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        story = training()
        story.event(Kind.ALLOC_FAILED, layer=CUDA, size_bytes=90 << 30, result=2)
        story.alloc(64 * MIB, LINE.format(50, "late"))
        cls.path = story.write("until.gmt.gz")
        cls.stamps = story

    def replayed(self, moment):
        return cli.report(self.path, f"--until={moment}")["events"]["replayed"]

    def test_a_step_ends_at_its_mark(self):
        # The parameters, and four events a step.
        self.assertEqual([self.replayed(f"step:{n}") for n in (0, 1, 19)], [5, 9, 81])
        done = cli.run("report", "--until=step:20", self.path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no step 20: the steps are 0 to 19", done.stderr)

    def test_the_peak_and_the_first_refusal_are_moments(self):
        self.assertEqual(self.replayed("oom"), 82)
        self.assertEqual(self.replayed("peak"), 83)
        self.assertEqual(self.replayed("end"), 83)
        done = cli.run("leaks", "--until=oom", training().write("no-oom.gmt.gz"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no request failed for lack of memory", done.stderr)

    def test_a_moment_in_the_compacted_part_is_not_known(self):
        story = Story()
        story.free(story.alloc(100 * MIB, LINE.format(5, "early")))
        story.event(Kind.ALLOC_FAILED, layer=CUDA, size_bytes=90 << 30, result=2)
        story.steps(20, lambda _: story.free(story.alloc(MIB, LINE.format(6, "late"))))
        path, compacted = story.write("moments.gmt.gz"), cli.place("compacted-moments.gmt.gz")
        self.assertEqual(cli.run("fold", "--keep-events=5", "-o", compacted, path).returncode, 0)
        for moment, name in ("peak", "peak"), ("step:3", "end of this step"), ("oom", "first failed request"):
            self.assertEqual(cli.run("report", f"--until={moment}", path).returncode, 0)
            done = cli.run("report", f"--until={moment}", compacted)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"the {name} lies in the compacted part", done.stderr)
        for file in path, compacted:
            self.assertIn("\nout of memory   1 request failed", cli.run("report", file).stdout)

    def test_a_time_with_a_unit_is_never_a_date(self):
        self.assertEqual(self.replayed("99999h"), self.replayed("end"))

    def test_times_have_units(self):
        reports = [
            cli.report(self.path, f"--until={time}")["until_ns"]
            for time in ("1025", "1025ns", "1.025us", "0.001025ms", "0.000001025s", "1.025 us")
        ]
        self.assertEqual(set(reports), {1025})
        self.assertEqual(cli.run("dump", "--json", "--until=1.5us", self.path).returncode, 0)


class SeveralRecordings(unittest.TestCase):
    def test_each_has_a_line_and_the_job_a_verdict(self):
        paths = []
        for rank in range(3):
            story = training(leak=rank == 1)
            story.process["rank"] = rank
            story.alloc((10 + rank) * MIB, LINE.format(77, "last"))
            paths.append(story.write(f"job.r{rank}.gmt.gz", ends=rank != 2))
        done = cli.run("report", *paths)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "3 recordings, 1 INCOMPLETE")
        self.assertEqual(lines[1], "peaks           11.0 MiB to 13.0 MiB; the highest in rank 2")
        self.assertEqual(lines[2:4], ["out of memory   no", "leaks           in 1 of 3 recordings"])
        self.assertEqual(lines[4], "                +512 B a step  train.py:13 in log")
        rows = [line for line in lines if "job.r" in line]
        self.assertEqual(len(rows), 3)
        self.assertRegex(rows[0], r"^ +0 +11\.0 MiB +0 % +0 +0 +\S*job\.r0\.gmt\.gz$")
        self.assertRegex(rows[1], r"^ +1 +12\.0 MiB +0 % +1 +0 +\S*job\.r1\.gmt\.gz$")
        self.assertRegex(rows[2], r"^ +2 +13\.0 MiB +0 % +0 +0 +cut +\S*job\.r2\.gmt\.gz$")
        self.assertTrue(all(len(line) <= 80 for line in lines), done.stdout)

    def test_memory_of_the_host_has_no_share_of_a_gpu(self):
        story = Story()
        story.alloc(MIB, LINE.format(3, "pin"), layer=CUDA, space=PINNED, device=-1)
        path = story.write("job-host.gmt.gz")
        self.assertRegex(cli.run("report", path, path).stdout, r"\n +- +1\.00 MiB +host +1 +0 +\S*job-host")

    def test_a_recording_that_cannot_be_read_is_an_error_and_the_others_are_shown(self):
        path = training().write("job-one.gmt.gz")
        done = cli.run("report", path, "no-such.gmt.gz")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no-such.gmt.gz: No such file", done.stderr)
        self.assertTrue(done.stdout.startswith("1 recording, all complete\n"), done.stdout)

    def test_options_give_each_recording_its_report(self):
        path = training().write("job-two.gmt.gz")
        one = cli.run("report", "--section=devices", path).stdout
        self.assertEqual(cli.run("report", "--section=devices", path, path).stdout, one + "\n\n" + one)


class NewestRecording(unittest.TestCase):
    def test_a_verb_without_operands_takes_the_newest_recording_of_the_folder(self):
        folder = cli.place("newest")
        os.makedirs(folder)
        for number, name in enumerate(("b.gmt.gz", "a.gmt.gz", "-c.gmt.gz", "not.txt")):
            path = training(number + 8).write(os.path.join(folder, name))
            os.utime(path, (1000 + (number != 2) * number, 1000))
        for mtime, name in (1000, "b.gmt.gz"), (3000, "a.gmt.gz"), (2000, "-c.gmt.gz"), (9000, "not.txt"):
            os.utime(os.path.join(folder, name), (mtime, mtime))
        for verb in "report", "leaks", "check", "info", "dump":
            done = cli.run(verb, cwd=folder)
            self.assertEqual(done.stdout, cli.run(verb, "a.gmt.gz", cwd=folder).stdout, verb)
            self.assertIn("no recording is given: this is a.gmt.gz, the newest of this folder", done.stderr)
        os.utime(os.path.join(folder, "-c.gmt.gz"), (5000, 5000))
        self.assertEqual(
            cli.run("info", cwd=folder).stdout.split("\n", 1)[1],
            cli.run("info", "./-c.gmt.gz", cwd=folder).stdout.split("\n", 1)[1],
        )


def on_terminal(*arguments, environment, keys=b""):
    """Runs the program on a terminal of 80 columns. Returns its exit code and what the terminal got."""
    main, secondary = pty.openpty()
    with subprocess.Popen(
        [cli.CLI, *arguments], stdin=secondary, stdout=secondary, stderr=secondary, env={**cli.PLAIN, **environment}
    ) as process:
        os.close(secondary)
        os.write(main, keys)
        got, until = b"", time.monotonic() + 60
        while time.monotonic() < until:
            if select.select([main], [], [], 0.1)[0]:
                try:
                    got += os.read(main, 65536)
                except OSError:
                    break
        code = process.wait(timeout=60)
    os.close(main)
    return code, got.replace(b"\r\n", b"\n")


class Pager(unittest.TestCase):
    def test_text_on_a_terminal_goes_through_the_pager(self):
        path = training().write("pager.gmt.gz")
        environment = {"TERM": "xterm", "NO_COLOR": "1", "GPUMEMTRACE_PAGER": "sed 's/^/> /'", "PAGER": "false"}
        code, got = on_terminal("report", "--full", path, environment=environment)
        expected = cli.run("report", "--full", path).stdout
        self.assertEqual((code, got.decode()), (0, "".join(f"> {line}\n" for line in expected.splitlines())))
        code, got = on_terminal("report", "--full", path, path, environment=environment)
        self.assertEqual(code, 0)
        self.assertTrue(all(line.startswith("> ") for line in got.decode().splitlines()), got)

    def test_json_files_and_other_terminals_need_no_pager(self):
        path, out = training().write("no-pager.gmt.gz"), cli.place("no-pager.txt")
        environment = {"TERM": "xterm", "NO_COLOR": "1", "PAGER": "sed 's/^/> /'"}
        for arguments, more in (
            (["report", "--json", path], {}),
            (["report", "-o", out, path], {}),
            (["report", path], {"TERM": "dumb"}),
            (["report", path], {"PAGER": "cat"}),
            (["report", path], {"PAGER": ""}),
            (["report", path], {"GPUMEMTRACE_PAGER": ""}),
        ):
            code, got = on_terminal(*arguments, environment={**environment, **more})
            self.assertEqual(code, 0)
            self.assertNotIn(b"> ", got)

    def test_a_missing_pager_loses_no_text(self):
        path = training().write("bad-pager.gmt.gz")
        environment = {"TERM": "xterm", "NO_COLOR": "1", "PAGER": "no-such-pager-here"}
        code, got = on_terminal("report", path, environment=environment)
        self.assertEqual(code, 0)
        self.assertIn(cli.run("report", path).stdout, got.decode())

    def test_messages_follow_when_the_pager_has_ended(self):
        path = training().write("message.gmt.gz")
        environment = {"TERM": "xterm", "NO_COLOR": "1", "PAGER": "sed 's/^/> /'; sleep 0.2; echo the pager ends"}
        code, got = on_terminal("report", "--full", path, "no-such.gmt.gz", environment=environment)
        lines = got.decode().splitlines()
        end = lines.index("the pager ends")
        self.assertEqual(code, 3)
        self.assertTrue(all(line.startswith("> ") for line in lines[:end]), lines)
        self.assertEqual(lines[end + 1 :], ["gpumemtrace: error: no-such.gmt.gz: No such file or directory"])

    def test_ctrl_c_loses_no_message(self):
        path = training().write("interrupted.gmt.gz")
        environment = {"TERM": "xterm", "NO_COLOR": "1", "PAGER": "trap '' INT; cat; kill -INT $PPID; sleep 0.2"}
        _code, got = on_terminal("report", "--full", path, "no-such.gmt.gz", environment=environment)
        self.assertIn(b"no-such.gmt.gz: No such file", got)

    def test_a_pager_that_ends_early_is_no_error(self):
        path = cli.make("early.gmt.gz", events=20000)
        environment = {"TERM": "xterm", "NO_COLOR": "1", "PAGER": "head -n 1 >/dev/null"}
        self.assertEqual(on_terminal("report", "--full", path, environment=environment), (0, b""))


if __name__ == "__main__":
    cli.main()
