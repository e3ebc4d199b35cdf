# SPDX-License-Identifier: MIT
"""What the Python package does without any other package: reports, errors, streams that no one reads.

Runs in this Python, and then in each other one of this machine: started with the name of a Python, in that one.
"""

import dataclasses
import gc
import glob
import os
import pickle
import re
import shutil
import subprocess
import sys
import unittest

import cli
import stories
import tap
import write_recording as w

import gpumemtrace

OTHERS = "GMT_TEST_OTHER_PYTHONS"


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = stories.training("plain.gmt.gz")
        cls.recording = gpumemtrace.open(cls.path)
        cls.addClassCleanup(cls.recording.close)

    def test_report_has_the_numbers_of_the_program(self):
        expected, report = cli.report(self.path), self.recording.report()
        self.assertEqual(report.raw, expected)
        layer = expected["devices"][0]["layers"][1]
        self.assertEqual(report.layer("torch").peak_bytes, layer["peak_bytes"])
        self.assertEqual(report.layer("cuda", None).live_bytes, expected["host"]["live_bytes"])
        self.assertEqual([site.peak_bytes for site in report.sites], [one["peak_bytes"] for one in expected["sites"]])
        self.assertEqual(str(report.sites[0].own_line), "/home/me/train.py:4 in main")
        self.assertEqual((report.pid, report.complete, report.rank), (7, True, None))
        with self.assertRaises(KeyError):
            report.layer("torch", 5)

    def test_leaks_have_the_findings_of_the_program(self):
        leaks = self.recording.leaks()
        (expected,) = cli.reports("leaks", self.path)
        self.assertEqual(leaks.raw, expected)
        (growth,) = [one for one in leaks.findings if one.definition == "growth"]
        self.assertEqual((growth.bytes, growth.blocks), (12 * 65536, 12))
        self.assertEqual((growth.own_line.file, growth.own_line.line), ("/home/me/train.py", 33))
        self.assertEqual(self.recording.leaks(definition="phase").findings, ())

    def test_check_passes_and_fails_as_the_program_does(self):
        self.assertFalse(self.recording.check())
        check = self.recording.check(max_growth="1MiB/step", max_leaked="1GiB", max_ooms=1, max_peak="10GiB")
        self.assertTrue(check.passed)
        self.assertEqual(check.exit_code, 0)
        failed = self.recording.check(max_peak=["torch=1MiB", "cuda=10GiB"])
        names = {one.name for one in failed.checks if one.state == "failed"}
        self.assertIn("peak", names)
        self.assertTrue(any("GMT002" == one.rule and one.own_line for one in failed.findings))

    def test_diff_compares_with_a_newer_recording(self):
        newer = stories.training("newer.gmt.gz", steps=20)
        diff = self.recording.diff(newer)
        with gpumemtrace.open(newer) as other:
            self.assertEqual(self.recording.diff(other), diff)
        (torch,) = [one for one in diff.accounts if one.layer == "torch"]
        self.assertEqual(torch.live_bytes.difference, 8 * 65536)
        grown = [one for one in diff.changes if one.change == "grown" and one.live_bytes.difference]
        self.assertEqual([one.name for one in grown], ["train.py:keep"])

    def test_results_cannot_be_changed_and_can_be_sent_to_other_processes(self):
        report = self.recording.report()
        with self.assertRaises(dataclasses.FrozenInstanceError):
            report.pid = 1
        self.assertEqual(pickle.loads(pickle.dumps(report)), report)

    def test_html_is_the_page_of_the_program_in_a_frame(self):
        try:
            page = self.recording.html(height=300)
        except gpumemtrace.Error as error:
            # scripts/setup/page builds the page, where there is Node.js.
            self.assertIn("html", str(error))
            self.skipTest(str(error))
        self.assertTrue(page.html.startswith("<!"))
        shown = page._repr_html_()
        self.assertTrue(shown.startswith("<iframe srcdoc="))
        self.assertEqual(shown.count("<"), 2)
        self.assertIn("height: 300px", shown)
        path = cli.place("saved.html")
        page.save(path)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), page.html)

    def test_members_that_a_newer_program_adds_are_in_raw(self):
        from gpumemtrace import _results

        raw = {**cli.report(self.path), "colour": "green"}
        self.assertEqual(_results.report_of(raw).raw["colour"], "green")


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = stories.training("streams.gmt.gz")

    def test_each_table_has_names_and_streams(self):
        with gpumemtrace.open(self.path) as recording:
            self.assertEqual(
                " ".join(recording.tables),
                "events blocks sites stacks frames curve steps phases findings segments devices process",
            )
            for name, columns in recording.tables.items():
                table = recording.table(name)
                self.assertEqual(table.columns, columns)
                self.assertIn("arrow_array_stream", repr(table.__arrow_c_stream__()))

    def test_streams_that_no_one_reads_are_freed(self):
        recording = gpumemtrace.open(self.path)
        capsules = [recording.table(name).__arrow_c_stream__() for name in recording.tables]
        recording.close()
        # The capsule's destructor runs after the recording was closed.
        del capsules
        gc.collect()

    def test_a_recording_that_is_forgotten_is_closed(self):
        descriptors = len(os.listdir("/proc/self/fd"))
        for _ in range(50):
            gpumemtrace.open(self.path)
        gc.collect()
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), descriptors + 1)


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = stories.training("errors.gmt.gz")

    def check(self, kinds, words, function, *arguments, **more):
        with self.assertRaises(gpumemtrace.Error) as caught:
            function(*arguments, **more)
        for kind in kinds:
            self.assertIsInstance(caught.exception, kind)
        self.assertIn(words, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def words_of(self, path):
        """Returns the error of the program about a file."""
        return re.match(r"gpumemtrace: error: (.*)\n", cli.run("report", path).stderr)[1]

    def test_a_file_that_is_missing_or_no_recording_has_the_words_of_the_program(self):
        text = cli.place("text.gmt.gz")
        with open(text, "w", encoding="utf-8") as file:
            file.write("hello")
        newer = cli.place("version.gmt.gz")
        w.write(newer, w.process(), head=w.header(major=99))
        for path, kinds in (
            (cli.place("missing.gmt.gz"), (gpumemtrace.FileError, OSError)),
            (text, (gpumemtrace.FormatError, ValueError)),
            (newer, (gpumemtrace.NewerError, gpumemtrace.FormatError)),
        ):
            with self.subTest(path=path):
                self.check(kinds, self.words_of(path), gpumemtrace.open, path)

    def test_wrong_names_and_filters_are_named(self):
        wrong = (gpumemtrace.ArgumentError, ValueError)
        with gpumemtrace.open(self.path) as recording:
            table = recording.table
            self.check(wrong, 'there is no table "planets"; the tables are events', table, "planets")
            self.check(wrong, 'has no column "colour"', table, "blocks", columns=["address", "colour"])
            self.check(wrong, "is one text; give a list", table, "blocks", columns="address")
            self.check(wrong, "no column is wanted", table, "blocks", columns=[])
            self.check(wrong, 'there is no layer "vulkan"', table, "blocks", layer="vulkan")
            self.check(wrong, "table process cannot be filtered by time", table, "process", time=(0, 1))
            self.check(wrong, "table sites cannot be filtered by step", table, "sites", steps=3)
            self.check(wrong, "is not a pair", table, "blocks", time=5)
            self.check(wrong, "is neither nanoseconds", table, "blocks", time=("1s", None))
            self.check(wrong, "is no number of a step", table, "blocks", steps=(1.5, None))
            self.check(wrong, "has gaps", table, "blocks", steps=range(0, 9, 2))
            self.check(wrong, "neither a number of a device", table, "blocks", device="gpu")
            self.check(wrong, "unknown option", recording.report, colour="green")

    def test_paths_that_are_no_text_are_refused(self):
        self.check((gpumemtrace.ArgumentError,), "is no text", gpumemtrace.open, b"x.gmt.gz")
        self.check((gpumemtrace.FileError,), "a path has no NUL", gpumemtrace.open, "x\0y")
        with self.assertRaises(TypeError):
            gpumemtrace.open(None)

    def test_a_closed_recording_says_so(self):
        with gpumemtrace.open(self.path) as recording:
            table = recording.table("blocks")
        for function in (table.__arrow_c_stream__, lambda: recording.table("sites"), lambda: recording.is_complete):
            self.check((), "the recording is closed", function)
        recording.close()
        self.assertIn("(closed)", repr(recording))

    def test_a_damaged_recording_opens_and_says_what_is_wrong(self):
        path = stories.damaged("damaged.gmt.gz")
        with gpumemtrace.open(path) as recording:
            self.assertTrue(recording.is_damaged)
            self.assertFalse(recording.is_complete)
            (warning,) = recording.warnings
            self.assertIn(f"gpumemtrace: warning: {warning}\n", cli.run("info", path).stderr)
            self.assertFalse(recording.report().complete)
        with gpumemtrace.open(self.path) as recording:
            self.assertEqual((recording.is_damaged, recording.is_complete, recording.warnings), (False, True, ()))

    def test_a_path_that_looks_like_an_option_is_a_path(self):
        shutil.copy(self.path, cli.place("-x.gmt.gz"))
        before = os.getcwd()
        os.chdir(cli.FOLDER)
        self.addCleanup(os.chdir, before)
        with gpumemtrace.open("-x.gmt.gz") as recording:
            self.assertEqual(recording.report().pid, 7)

    def test_a_missing_library_and_a_missing_program_are_explained(self):
        alone = cli.place("alone")
        shutil.copytree(os.path.join(stories.PACKAGE, "gpumemtrace"), os.path.join(alone, "gpumemtrace"))
        script = (
            "import sys, gpumemtrace\n"
            "try: gpumemtrace.open(sys.argv[1]).report()\n"
            "except gpumemtrace.InstallationError as error: print(error)\n"
        )

        def run(**variables):
            return subprocess.run(
                [sys.executable, "-S", "-c", script, self.path],
                env={"PYTHONPATH": alone, **variables},
                capture_output=True,
                text=True,
                check=True,
            ).stdout

        self.assertRegex(
            run(PATH="/nowhere"), r"^cannot load libgpumemtrace-read\.so\.1: .*: install gpumemtrace again\n$"
        )
        found = run(PATH="/nowhere", LD_LIBRARY_PATH=os.path.dirname(stories.LIBRARY))
        self.assertRegex(found, r"^cannot start the program: .*gpumemtrace: No such file or directory: install")


class Import(unittest.TestCase):
    def run_python(self, script, *flags):
        return subprocess.run(
            [sys.executable, *flags, "-c", script],
            env={**os.environ, "PYTHONPATH": stories.PACKAGE},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def test_import_loads_nothing_that_only_recordings_need(self):
        heavy = (
            "numpy pandas polars pyarrow json typing dataclasses inspect subprocess tempfile ctypes.util html datetime"
        )
        script = (
            "import sys; before = set(sys.modules); import gpumemtrace;"
            f"print([name for name in {heavy.split()} if name in sys.modules and name not in before],"
            "[name for name in sys.modules if name.startswith('gpumemtrace.')])"
        )
        self.assertEqual(self.run_python(script, "-S"), "[] []\n")

    def test_opening_a_recording_loads_no_other_package(self):
        script = (
            f"import sys, gpumemtrace; gpumemtrace.open({stories.training('import.gmt.gz')!r}).table('blocks');"
            "print([name for name in 'numpy pandas polars pyarrow json dataclasses'.split() if name in sys.modules])"
        )
        self.assertEqual(self.run_python(script, "-S"), "[]\n")

    def test_star_import_leaves_pythons_open_alone(self):
        script = (
            "import builtins, gpumemtrace\nfrom gpumemtrace import *\n"
            "print(open is builtins.open, 'open' in dir(gpumemtrace), gpumemtrace.open is builtins.open)"
        )
        self.assertEqual(self.run_python(script), "True True False\n")

    def test_a_copy_of_the_marks_works_alone(self):
        folder = cli.place("copy")
        os.mkdir(folder)
        shutil.copy(os.path.join(stories.PACKAGE, "gpumemtrace", "__init__.py"), os.path.join(folder, "gpumemtrace.py"))
        script = f"import sys; sys.path.insert(0, {folder!r}); import gpumemtrace; gpumemtrace.step(); print(hasattr(gpumemtrace, 'open'))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env={})
        self.assertEqual(done.stdout, "False\n")


class Library(unittest.TestCase):
    def test_the_library_exports_the_functions_of_its_header_and_nothing_else(self):
        if not shutil.which("nm"):
            self.skipTest("no nm")
        text = cli.read_source("include", "gpumemtrace-read.h")
        declared = set(re.findall(r"^GPUMEMTRACE_READ_API [^;(]*?(gpumemtrace_read_\w+)\(", text, re.M))
        lines = subprocess.run(
            ["nm", "--dynamic", "--defined-only", stories.LIBRARY], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        exported = {line.split()[2].split("@")[0] for line in lines if line.split()[1] != "A"}
        self.assertEqual(exported, declared)
        self.assertGreater(len(declared), 12)

    def test_the_header_compiles_as_c_and_as_cpp_next_to_arrows_own_structures(self):
        source = cli.place("header.c")
        guarded = "#include <gpumemtrace-read.h>\n#include <gpumemtrace-read.h>\n"
        with open(source, "w", encoding="utf-8") as file:
            file.write(
                guarded + "int main(void)\n{\n"
                "\tstruct gpumemtrace_read_options options = GPUMEMTRACE_READ_EVERYTHING;\n"
                "\treturn options.device == GPUMEMTRACE_READ_HOST || gpumemtrace_read_version() != GPUMEMTRACE_READ_VERSION;\n}\n"
            )
        for compiler, language in (("cc", "c"), ("c++", "c++")):
            if not shutil.which(compiler):
                continue
            standard = "-std=c99" if language == "c" else "-std=c++11"
            strict = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(stories.SOURCE, "include")]
            program = cli.place("header-" + language.replace("+", "p"))
            subprocess.run(
                [compiler, "-x", language, standard, *strict, source, "-x", "none", stories.LIBRARY, "-o", program],
                check=True,
            )
            folder = os.path.dirname(stories.LIBRARY)
            self.assertEqual(subprocess.run([program], env={"LD_LIBRARY_PATH": folder}).returncode, 0)


class OtherPythons(unittest.TestCase):
    """These tests, in the other Pythons of this machine."""

    def test_the_oldest_and_the_newest_python_pass_the_same_tests(self):
        if os.environ.get(OTHERS):
            self.skipTest("runs in another Python already")
        folders = glob.glob(os.path.expanduser("~/.pyenv/versions/3.9.*/bin"))
        folders += filter(None, os.environ.get("GMT_TEST_PYTHONS", "").split(":"))
        folders += glob.glob(os.path.expanduser("~/.cache/gpumemtrace/pythons/3.15/usr/bin"))
        pythons = {}
        for folder in folders:
            for version in ("3.9", "3.15"):
                path = os.path.join(folder, f"python{version}")
                if os.access(path, os.X_OK):
                    pythons.setdefault(version, path)
        if not pythons:
            self.skipTest("neither Python 3.9 nor 3.15 is on this machine")
        for version, path in pythons.items():
            with self.subTest(version=version):
                done = subprocess.run(
                    [path, os.path.abspath(__file__)],
                    capture_output=True,
                    text=True,
                    env={**os.environ, OTHERS: "1"},
                )
                print(f"# Python {version}: {len(re.findall('^ok', done.stdout, re.M))} tests")
                self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-2000:])
                self.assertNotIn("not ok", done.stdout)


if __name__ == "__main__":
    tap.main()
