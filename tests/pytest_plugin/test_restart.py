# SPDX-License-Identifier: MIT
"""The pytest plugin: how pytest starts again under the recorder, and what happens without it."""

import os
import re
import subprocess
import sys
import unittest

import tap

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "package"))
import packages
from project import BUILD, PACKAGE, PYTHON, Project, needs_pytest, table

# The modules of the standard library that the plugin may import although it is not used.
ALLOWED = {"gpumemtrace", "gpumemtrace.pytest_plugin"}
MAIN = """
import sys
import pytest

print("first line", flush=True)
code = pytest.main(["-p", "gpumemtrace.pytest_plugin", "-q", "--gpumemtrace", *sys.argv[1:]])
print("code", int(code), flush=True)
"""


@needs_pytest
class Start(Project):
    def start(self, *words, **variables):
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=280,
        )
        return done.stdout

    def test_exit_codes_are_those_of_pytest(self):
        self.write_tests("def test_good(): work(KiB)\n\ndef test_bad(): assert 0\n")
        for arguments, code in (("-k", "good"), 0), (("-k", "bad"), 1), (("--no-such-option",), 4), (("-k", "zzz"), 5):
            with self.subTest(arguments):
                self.record(*arguments, code=code)

    def test_output_of_tests_and_of_pytest_is_not_lost(self):
        self.write_tests("""
            import os, sys

            def test_prints(capfd):
                os.write(1, b"to a descriptor")
                assert capfd.readouterr().out == "to a descriptor"
                print("to a file", file=sys.stderr)
                assert 0

            def test_other():
                print("to stdout")
                work(KiB)
        """)
        output = self.record(code=1)
        self.assertIn("Captured stderr call", output)
        self.assertIn("to a file", output)
        self.assertNotIn("to stdout", output)
        self.assertIn("to stdout", self.record("-s", code=1))

    def test_pytest_starts_once_more_and_not_twice(self):
        self.write("conftest.py", "print('conftest of', __import__('os').getpid(), flush=True)\n")
        self.write_tests("def test_one(): work(KiB)\n")
        output = self.record("-s", code=0)
        self.assertEqual(len(re.findall(r"conftest of \d+", output)), 1)

    def test_a_plugin_that_conftest_names_records_too(self):
        self.write("conftest.py", "pytest_plugins = ['gpumemtrace.pytest_plugin']\n")
        self.write("pytest.ini", "[pytest]\n")
        self.write_tests("@pytest.mark.limit_gpu_memory(0)\ndef test_one(): work(KiB)\n")
        # pytest does not know an option of such a plugin unless it is given together with the folder of conftest.py.
        output = self.record(self.folder, plugin=False, code=1)
        self.assertIn("(limit_gpu_memory)", output)

    def test_the_ini_file_may_ask_for_the_recording(self):
        self.write("pytest.ini", "[pytest]\ngpumemtrace = true\ngpumemtrace_most_allocations = 1\n")
        self.write_tests("def test_one(): work(MiB)\n\ndef test_two(): work(KiB)\n")
        output = self.run_pytest(code=0)
        self.assertEqual(table(output), {"test_project.py::test_one": ("1.50 MiB", "0 B", 2)})
        self.assertIn("and 1 more; --gpumemtrace-most-allocations=0 shows all", output)

    def test_a_program_that_calls_pytest_main_is_not_started_again_unasked(self):
        self.write("main.py", MAIN)
        self.write_tests("def test_one(): work(KiB)\n")
        output = self.start(PYTHON, "main.py")
        self.assertEqual(output.splitlines().count("first line"), 1)
        self.assertIn("ERROR: --gpumemtrace: main.py called pytest.main().", output)
        self.assertIn("code 4", output)

    def test_a_program_that_calls_pytest_main_may_allow_it(self):
        self.write("main.py", MAIN)
        self.write_tests("def test_one(): work(KiB)\n")
        output = self.start(PYTHON, "main.py", "--gpumemtrace-restart=always")
        self.assertEqual(output.splitlines().count("first line"), 2)
        self.assertEqual(table(output), {"test_project.py::test_one": ("1.50 KiB", "0 B", 2)})

    def test_a_program_under_the_recorder_needs_no_new_start(self):
        self.write("main.py", MAIN)
        self.write_tests("@pytest.mark.limit_gpu_memory(0)\ndef test_one(): work(KiB)\n")
        path = self.place("own.gmt.gz")
        output = self.start("gpumemtrace", "run", "-q", "-o", path, "--", PYTHON, "main.py")
        self.assertEqual(output.splitlines().count("first line"), 1)
        self.assertIn("above its start. The limit is 0 bytes (limit_gpu_memory).", output)
        self.assertRegex(output, rf"more: gpumemtrace report --until=\d+ns {re.escape(path)}\n")
        self.assertEqual([name for name in os.listdir(self.folder) if "snapshot" in name], [])

    def test_a_recording_that_cannot_be_read_fails_the_test_and_says_why(self):
        self.write("main.py", MAIN)
        self.write_tests("@pytest.mark.limit_gpu_memory(0)\ndef test_one(): pass\n\ndef test_two(): pass\n")
        output = self.start("gpumemtrace", "run", "-q", "--writer=lazy", "--", PYTHON, "main.py")
        self.assertIn("gpumemtrace: the limit cannot be checked: the option writer=lazy keeps events in memory", output)
        self.assertIn("1 failed, 1 passed", output)

    def test_without_the_recorder_tests_run_and_one_line_says_why(self):
        self.write_tests("""
            @pytest.mark.limit_gpu_memory(0)
            @pytest.mark.limit_gpu_leaks(0)
            def test_one():
                kept.append(malloc(KiB))

            def test_fixture(gpu_memory):
                assert 0
        """)
        output = self.record("--gpumemtrace-restart=never", code=0)
        self.assertIn("1 passed, 1 skipped", output)
        lines = [line for line in output.splitlines() if "gpumemtrace" in line]
        why = "gpumemtrace: nothing was recorded: the recorder is not loaded; limits that were not checked: 2"
        self.assertEqual(lines, [why])

    def test_on_another_system_tests_run_and_one_line_says_why(self):
        self.write("conftest.py", "")
        self.write(
            "other_system.py",
            "import gpumemtrace._program as program\nprogram.why_unsuitable = lambda: 'it needs Linux; this is Darwin'\n",
        )
        self.write_tests("@pytest.mark.limit_gpu_memory(0)\ndef test_one(): work(KiB)\n")
        output = self.record("-p", "other_system", code=0)
        self.assertIn("nothing was recorded: it needs Linux; this is Darwin; limits that were not checked: 1\n", output)

    def test_a_missing_program_is_a_usage_error(self):
        self.write_tests("def test_one(): pass\n")
        output = self.record(code=4, PATH="/usr/bin:/bin")
        self.assertRegex(output, r"ERROR: --gpumemtrace: cannot start \S+gpumemtrace: No such file or directory\n")
        self.assertEqual(self.left_behind(), [])

    def test_without_cuda_calls_the_table_says_so(self):
        self.write_tests("@pytest.mark.limit_gpu_leaks(0)\ndef test_one(): pass\n")
        output = self.record(code=0)
        self.assertIn("no test allocated GPU memory", output)
        self.assertEqual(self.left_behind(), [])

    def test_help_and_collection_do_not_start_again(self):
        self.write_tests("def test_one(): pass\n")
        for option in "--help", "--collect-only", "--markers", "--fixtures":
            with self.subTest(option):
                output = self.record(option, code=0, PATH="/usr/bin:/bin")
                self.assertNotIn("nothing was recorded", output)

    def test_recordings_are_removed_or_kept_as_the_user_wants(self):
        self.write_tests("def test_one(): work(KiB)\n")
        self.assertNotIn("recordings are in", self.record(code=0))
        self.assertEqual(self.left_behind(), [])
        output = self.record("--gpumemtrace-output", "kept here", code=0)
        self.assertIn(f"gpumemtrace: the recordings are in {self.place('kept here')}\n", output)
        (name,) = os.listdir(self.place("kept here"))
        done = subprocess.run(
            [os.path.join(BUILD, "tools", "gpumemtrace"), "report", "--json", self.place(f"kept here/{name}")],
            capture_output=True,
            text=True,
        )
        # The setup ended before the first CUDA call, with which the recording begins.
        for phase in "test_one", "test_one (call)", "test_one (teardown)":
            self.assertIn(f'"name":"test_project.py::{phase}"', done.stdout)

    def test_the_folder_of_the_recordings_may_have_any_name(self):
        self.write_tests("@pytest.mark.limit_gpu_memory(0)\ndef test_one(): work(KiB)\n")
        name = "a,b: 100%hot %p 'c'"
        output = self.record("--gpumemtrace-output", name, code=1, RANK="1")
        self.assertEqual(table(output), {"test_project.py::test_one": ("1.50 KiB", "0 B", 2)})
        self.assertEqual(len(os.listdir(self.place(name))), 1)

    def test_options_of_the_recorder_that_the_user_set_still_count(self):
        self.write_tests("@pytest.mark.limit_gpu_memory(0)\ndef test_one(): work(KiB)\n")
        output = self.record(code=1, GPUMEMTRACE_OPTIONS="stacks=none:writer=lazy")
        self.assertIn("1.50 KiB  (no stack)  (2 blocks)", output)

    def test_a_library_that_was_preloaded_before_stays(self):
        self.write_tests("""
            import os

            def test_one():
                work(KiB)
                assert os.environ["LD_PRELOAD"].endswith(":libm.so.6")
        """)
        self.assertIn("1 passed", self.record(code=0, LD_PRELOAD="libm.so.6"))

    def test_a_wrong_output_folder_is_a_usage_error(self):
        self.write_tests("def test_one(): pass\n")
        output = self.record("--gpumemtrace-output", "cuda.py", code=4)
        self.assertIn("ERROR: --gpumemtrace-output: ", output)


@needs_pytest
class Inactive(Project):
    """Runs without --gpumemtrace."""

    def test_the_plugin_imports_nothing_that_it_does_not_need(self):
        self.write("conftest.py", "import atexit, sys\natexit.register(lambda: print('MODULES', *sys.modules))\n")
        self.write_tests("@pytest.mark.limit_gpu_memory(0)\ndef test_one(): pass\n")

        def modules(plugin):
            output = self.run_pytest("-p", "no:cacheprovider", code=0, plugin=plugin)
            return set(re.search(r"^MODULES (.*)$", output, re.M)[1].split())

        more = modules(True) - modules(False)
        self.assertEqual(more, ALLOWED)

    def test_limits_are_not_checked_and_markers_are_known(self):
        self.write_tests(
            "@pytest.mark.limit_gpu_memory(0)\n@pytest.mark.limit_gpu_leaks(0)\ndef test_one(): work(KiB)\n"
        )
        output = self.run_pytest("--strict-markers", code=0)
        self.assertEqual(output.splitlines()[-1].split(" in ")[0], "1 passed")
        self.assertNotIn("gpumemtrace", output)


@needs_pytest
class Wheel(Project):
    def test_the_installed_wheel_registers_the_plugin(self):
        wheel = packages.write_wheel(self.place("tmp"))
        target = self.place("installed")
        install = [PYTHON, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", target, wheel]
        subprocess.run(install, check=True, capture_output=True)
        self.write_tests("@pytest.mark.limit_gpu_memory(0)\ndef test_one(): work(KiB)\n")
        more = {"PYTHONPATH": f"{target}:{self.folder}", "PATH": "/usr/bin:/bin"}
        output = self.record(code=1, plugin=False, **more)
        self.assertIn("above its start. The limit is 0 bytes (limit_gpu_memory).", output)
        # The same plugin, named in two ways, is one plugin.
        self.assertIn("1 failed", self.record(code=1, plugin=True, **more))
        self.write("conftest.py", "pytest_plugins = ['gpumemtrace.pytest_plugin']\n")
        self.assertIn("1 failed", self.record(code=1, plugin=True, **more))


class Package(unittest.TestCase):
    def test_the_package_itself_imports_no_part_of_the_plugin(self):
        code = "import sys, gpumemtrace; print(sorted(name for name in sys.modules if name.startswith('gpumemtrace')))"
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, text=True
        )
        self.assertEqual(done.stdout, "['gpumemtrace']\n", done.stderr)


if __name__ == "__main__":
    tap.main()
