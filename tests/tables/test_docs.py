# SPDX-License-Identifier: MIT
"""The examples of docs/python.md run as they stand there, and print what stands below them."""

import contextlib
import io
import os
import re
import subprocess
import unittest

import stories

stories.enter_environment(os.path.abspath(__file__))

import cli  # noqa: E402 (these need the environment)
import tap  # noqa: E402

PAGE = os.path.join(stories.SOURCE, "docs", "python.md")


def stripped(text):
    """Returns the lines of a text without blanks at their ends."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class Docs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stories.training("train.gmt.gz")
        with open(PAGE, encoding="utf-8") as file:
            cls.page = file.read()

    def test_the_examples_print_what_the_page_shows(self):
        before = os.getcwd()
        os.chdir(cli.FOLDER)
        self.addCleanup(os.chdir, before)
        names, count = {}, 0
        for code, shown in re.findall(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", self.page, re.M | re.S):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(code, PAGE, "exec"), names)
            with self.subTest(code=code):
                self.assertEqual(stripped(output.getvalue()), stripped(shown))
            count += bool(shown)
        self.assertGreaterEqual(count, 3)

    def test_the_page_names_each_table_and_each_exception(self):
        import gpumemtrace

        with gpumemtrace.open(cli.place("train.gmt.gz")) as recording:
            for name, columns in recording.tables.items():
                self.assertIn(f"`{name}`", self.page)
            known = {column for columns in recording.tables.values() for column in columns}
        listed = self.page.partition("| table | rows |")[2].partition("\n\n")[0]
        for words in re.findall(r"\|([^|]*)\|$", listed, re.M)[1:]:
            for column in re.findall(r"`(\w+)`", words):
                self.assertIn(column, known)
        for name in (
            "FileError",
            "FormatError",
            "NewerError",
            "ArgumentError",
            "OutOfMemoryError",
            "InstallationError",
        ):
            self.assertTrue(issubclass(getattr(gpumemtrace, name), gpumemtrace.Error))
            self.assertIn(f"`{name}`", self.page)

    def test_the_example_of_the_header_compiles_and_reads_a_recording(self):
        header = cli.read_source("include", "gpumemtrace-read.h")
        example = re.search(r"-lgpumemtrace-read\.\n \*\n(.*?)\n \*\n \* The tables", header, re.S)[1]
        code = "\n".join(line[3:] for line in example.splitlines())
        source, program = cli.place("example.c"), cli.place("example")
        with open(source, "w", encoding="utf-8") as file:
            file.write(
                f"#include <stdio.h>\n#include <gpumemtrace-read.h>\nint main(void)\n{{\n{code}\n"
                "\telse\n\t\tstream.release(&stream);\n\tgpumemtrace_read_close(recording);\n\treturn 0;\n}\n"
            )
        folder = os.path.dirname(stories.LIBRARY)
        subprocess.run(
            ["cc", "-Wall", "-Werror", "-I", os.path.join(stories.SOURCE, "include"), source, "-o", program]
            + ["-L", folder, "-lgpumemtrace-read"],
            check=True,
        )
        done = subprocess.run(
            [program], cwd=cli.FOLDER, env={"LD_LIBRARY_PATH": folder}, capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    tap.main()
