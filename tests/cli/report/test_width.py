# SPDX-License-Identifier: MIT
"""The width of text: 120 columns, with the line's number; and texts that are cut between characters."""

import os
import re
import unittest

import cli
from definitions import Kind
from ledger_story import LedgerStory
from recording import CUDA, PINNED, MiB, Story, train

COLUMNS = 120
GOLDEN = os.path.join(cli.TESTS, "golden")
FOLDER = "/home/me/" + "a_long_folder_of_the_project/" * 6
SECTIONS = re.findall(
    r"^GMT_REPORT_SECTION\(\w+, \"(\w+)\"", cli.read_source("src", "render", "report_sections.def"), re.M
)
KEYS = re.findall(
    r"^GMT_TABLE_KEY\(\w+, \"(\w+)\"", cli.read_source("src", "analysis", "tables", "table_keys.def"), re.M
)
FORMS = (
    ["report"],
    ["report", "--full"],
    ["report", "--full", "--frames=100", "--native=all"],
    ["report", "--full", "--color=always"],
    ["report", "--section", ",".join(SECTIONS)],
    *(["report", f"--by={key}"] for key in KEYS),
    ["leaks"],
    ["leaks", "--definition=all", "--age-steps=1"],
    ["info"],
    ["info", "--coverage"],
    ["check"],
    ["check", "--max-peak=1KiB", "--max-growth=0"],
)


def long_names(name):
    """Writes a training whose paths, functions, threads and arguments have long names."""
    story = LedgerStory(command="\0".join(["/usr/bin/python3", FOLDER + "train.py", *["--option=of_the_program"] * 30]))
    story.cuda(64, line=f"{FOLDER}load.py:123456 in load")
    main = f"{FOLDER}train.py:90 in main"
    function = "a_function_of_the_model_with_a_name_of_some_sixty_characters"

    def step(_number):
        block = story.alloc(8 * MiB, f"{FOLDER}train.py:31 in {function}", main)
        story.alloc(MiB, f"{FOLDER}train.py:32 in keep", main)
        story.alloc(MiB, module=FOLDER + "libof_the_program_with_a_long_name.so")
        story.free(block)

    story.steps(20, step)
    story.sample(300)
    frames = story.stack(f"{FOLDER}train.py:31 in {function}", main)
    story.event(Kind.ALLOC_FAILED, layer=CUDA, size_bytes=256 * MiB, frames=frames, result=2)
    story.alloc(MiB, f"{FOLDER}pin.py:7 in pin", main, layer=CUDA, space=PINNED, device=-1)
    return story.write(name)


class Width(unittest.TestCase):
    def check_width(self, *arguments, codes=(0,)):
        done = cli.run(*arguments, environment={"LC_ALL": "C.UTF-8"})
        self.assertIn(done.returncode, codes, done.stderr)
        for line in re.sub("\033\\[[0-9]*m", "", done.stdout).splitlines():
            # A command must not be cut.
            if not re.match(r"(next:)? *gpumemtrace ", line):
                self.assertLessEqual(len(line), COLUMNS, (arguments, line))
        return done.stdout

    def samples(self):
        yield train(Story(), leak=4096).write("sample.gmt.gz")
        yield train(Story(), file=FOLDER + "train.py", leak=4096).write("folder.gmt.gz")
        yield long_names("long.gmt.gz")
        yield os.path.join(GOLDEN, "version-1.gmt")
        yield cli.make("made.gmt.gz", events=2000, depth=20, drop=3, end=0)

    def test_no_line_of_text_has_more_than_120_columns(self):
        for path in self.samples():
            for form in FORMS:
                with self.subTest(path=path, form=form):
                    self.check_width(*form, path, codes=(0, 1))
            other = train(Story(), file=FOLDER + "other.py").write("other.gmt.gz")
            for by in "group", "stack", "line", "module", "owner":
                self.check_width("diff", f"--by={by}", path, other)

    def test_a_path_loses_its_front_and_no_line_number(self):
        path = long_names("front.gmt.gz")
        text = self.check_width("report", "--full", path)
        self.assertRegex(text, r" #\d \.\.\.\S*/train\.py:31 in a_function_of_the_model\w+\n")
        self.assertRegex(
            text, r"\n  growth    \+1\.00 MiB a step  \.\.\.\S*/train\.py:32 in keep  \[torch, GPU 0, other\]\n"
        )
        self.assertRegex(text, r" \.\.\.\S*/load\.py:123456 in load")
        numbers = [len(re.findall(r"train\.py:(?:31|32|90)\b", text)), text.count("train.py:")]
        self.assertEqual(*numbers)
        self.assertGreater(numbers[0], 10)

    def test_a_line_with_a_label_is_continued_below_its_text(self):
        text = self.check_width("info", long_names("label.gmt.gz"))
        command = text[text.index("  command   ") : text.index("  process ")]
        self.assertEqual(
            command.split(), ["command", "/usr/bin/python3", *command.split()[2:3], *["--option=of_the_program"] * 30]
        )
        self.assertTrue(command.split()[2].endswith("project/train.py"))
        self.assertTrue(all(line.startswith(" " * 12 + "-") for line in command.splitlines()[2:]), command)

    def test_several_recordings_have_narrow_lines_too(self):
        path = train(Story(), file=FOLDER + "train.py", leak=4096).write("several.gmt.gz")
        text = self.check_width("report", path, path)
        self.assertRegex(text, r"\n {16}\+4\.00 KiB a step .*train\.py:32 in keep\n")


class Characters(unittest.TestCase):
    """Texts of two bytes a character, with and without an ASCII letter first: one of them would be cut in two."""

    def test_the_program_is_whole_in_json_and_cut_between_characters_in_text(self):
        for script in "\u00e9" * 60 + ".py", "x" + "\u00e9" * 60 + ".py":
            path = train(Story(command="/usr/bin/python3\0" + script)).write("program.gmt.gz")
            self.assertEqual(cli.report(path)["overview"]["program"], script)
            first = cli.run("report", path).stdout.splitlines()[0]
            self.assertRegex(first, "^x?\u00e9{31} on here: ")

    def test_a_recording_with_a_long_name_has_its_end_in_the_summary(self):
        for name in "\u00e9" * 100 + ".gmt.gz", "x" + "\u00e9" * 100 + ".gmt.gz", "\u00e9" * 40 + "/" + "\u00e9" * 100:
            os.makedirs(os.path.dirname(cli.place(name)), exist_ok=True)
            path = train(Story()).write(name)
            rows = [line for line in cli.run("report", path, path).stdout.splitlines() if line.startswith("    - ")]
            self.assertEqual(len(rows), 2)
            for row in rows:
                shown = row.split()[-1]
                self.assertTrue(path.endswith(shown), row)
                self.assertGreater(len(shown), 15)

    def test_a_leak_with_a_long_name_is_cut_between_characters_in_the_summary(self):
        for begin in "", "x":
            story = train(Story(), leak=4096, file="/home/me/" + begin + "\u00e9" * 200 + ".py")
            path = story.write("leak.gmt.gz")
            (line,) = [line for line in cli.run("report", path, path).stdout.splitlines() if "a step" in line]
            self.assertNotIn("?", line)


if __name__ == "__main__":
    cli.main()
