# SPDX-License-Identifier: MIT
"""The recorder records NVTX ranges without a change of the environment. Other NVTX tools get the same calls."""

import os
import shutil
import subprocess
import tempfile
import unittest

import tap
from recorded_run import SHIM, RecordedRun, built
from test_marks import marks_of, texts_of_marks

TOOL = built("libnvtx-tool.so")
NVTX = 2


def nvtx(*words, options=None, tool=None, **more):
    return RecordedRun(
        [built("nvtx"), *words],
        {"stacks": "none", **(options or {})},
        {"NVTX_INJECTION64_PATH": tool} if tool else None,
        **more,
    )


class Ranges(unittest.TestCase):
    def check(self, run, *expected):
        self.assertEqual((run.code, run.err), (0, ""), run.out)
        self.assertEqual(texts_of_marks(run.file, NVTX), list(expected))

    def test_pushes_pops_and_marks_are_recorded_and_depths_are_returned(self):
        run = nvtx("alloc", "push:a", "push:b", "mark:c", "pop", "pop", "pop")
        self.check(run, "push a", "push b", "point c", "pop", "pop")
        self.assertEqual(run.out.split(), ["tool", "1", "extension", "0", "0", "1", "1", "0", "-1"])

    def test_wide_strings_become_utf_8(self):
        run = nvtx("alloc", "wpush:grün 🙂", "wmark:" + "€" * 100, "pop")
        self.check(run, "push grün 🙂", "point " + "€" * 85, "pop")

    def test_ranges_that_any_thread_may_end_have_a_number(self):
        run = nvtx("start:before", "alloc", "start:a", "end", "dstart:b", "dend")
        self.check(run, "start before", "start a", "stop", "start our domain: b", "stop")
        self.assertEqual([row["object"] for _, row in marks_of(run.file, NVTX)], [1, 2, 2, 3, 3])

    def test_a_range_that_ended_before_the_recording_is_not_in_it(self):
        self.check(
            nvtx("start:over", "end", "push:over", "pop", "start:open", "push:open", "alloc", "end", "pop"),
            "start open",
            "push open",
            "stop",
            "pop",
        )

    def test_domains_have_stacks_of_their_own_and_registered_strings_are_names(self):
        run = nvtx("alloc", "push:a", "dpush:b", "rpush:c", "pop", "dmark:d", "dpop", "dpop")
        self.check(
            run, "push a", "push our domain: b", "push our domain: c", "pop", "point our domain: d", "pop", "pop"
        )
        rows = [row["object"] for _, row in marks_of(run.file, NVTX)]
        self.assertEqual((rows[0], rows[3]), (0, 0))
        self.assertEqual(len({rows[i] for i in (1, 2, 4, 5, 6)}), 1)
        self.assertNotEqual(rows[1], 0)
        self.assertEqual(run.out.split()[4:], ["0", "0", "1", "0", "1", "0"])

    def test_marks_of_each_copy_of_nvtx_are_recorded(self):
        self.check(
            nvtx("alloc", "push:a", "copy", "push:b", "dpush:c", "pop", "pop"),
            "push a",
            "push b",
            "push our domain: c",
            "pop",
            "pop",
        )

    def test_a_program_without_cuda_memory_leaves_no_file(self):
        run = nvtx("push:a", "start:b", "mark:c", "pop")
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertEqual(os.listdir(run.folder), [])

    def test_with_nvtx_off_no_call_is_answered_or_recorded(self):
        run = nvtx("alloc", "push:a", "pop", options={"nvtx": "off"})
        self.check(run)
        self.assertEqual(run.out.splitlines()[0], "tool -1")

    def test_a_relative_path_of_the_recorder_is_found_from_another_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(SHIM, os.path.join(folder, "relative.so"))
            script = (
                "import os, ctypes; os.chdir('/'); p = ctypes.CDLL(None); p.getenv.restype = ctypes.c_char_p; "
                "n = p.getenv(b'NVTX_INJECTION64_PATH'); print(n.decode(), bool(ctypes.CDLL(n.decode()).gpumemtrace_step))"
            )
            done = subprocess.run(
                ["env", "LD_PRELOAD=./relative.so", "python3", "-c", script],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
            )
        self.assertEqual((done.stdout, done.stderr), ("./relative.so True\n", ""))


class OtherTools(unittest.TestCase):
    WORDS = [
        "alloc",
        "push:a",
        "pop",
        "mark:c",
        "start:d",
        "end",
        "dpush:e",
        "rpush:f",
        "dpop",
        "dmark:g",
        "dstart:h",
        "dend",
        "copy",
        "push:i",
    ]

    def test_a_tool_in_the_environment_gets_all_calls_and_its_results_reach_the_program(self):
        alone = nvtx(*self.WORDS, tool=TOOL, preload="")
        both = nvtx(*self.WORDS, tool=TOOL)
        self.assertIn("tool: push f in my domain", alone.out.replace("my string", "f"))
        self.assertEqual((both.code, both.err), (0, ""))
        self.assertEqual(both.out, alone.out)
        self.assertEqual(
            texts_of_marks(both.file, NVTX),
            [
                "push a",
                "pop",
                "point c",
                "start d",
                "stop",
                "push our domain: e",
                "push our domain: f",
                "pop",
                "point our domain: g",
                "start our domain: h",
                "stop",
                "push i",
            ],
        )
        numbers = [row["object"] for text, row in marks_of(both.file, NVTX) if text.startswith(("start", "stop"))]
        self.assertEqual(numbers, [90, 90, 91, 91])

    def test_calls_that_a_tool_ignores_are_recorded(self):
        run = nvtx("alloc", "wpush:a", "wmark:b", "pop", tool=TOOL)
        self.assertEqual(run.code, 0, run.out)
        self.assertEqual(texts_of_marks(run.file, NVTX), ["push a", "point b", "pop"])

    def test_with_nvtx_off_only_the_tool_gets_the_calls(self):
        run = nvtx(*self.WORDS, tool=TOOL, options={"nvtx": "off"})
        self.assertEqual(run.out, nvtx(*self.WORDS, tool=TOOL, preload="").out)
        self.assertEqual(texts_of_marks(run.file, NVTX), [])

    def test_a_missing_tool_or_the_recorder_as_tool_is_ignored(self):
        for tool in ("/absent.so", "libc.so.6", "./.", SHIM):
            with self.subTest(tool=tool):
                run = nvtx("alloc", "push:a", "pop", tool=tool)
                self.assertEqual((run.code, run.err), (0, ""), run.out)
                self.assertEqual(texts_of_marks(run.file, NVTX), ["push a", "pop"])


class Environment(unittest.TestCase):
    def test_getenv_answers_as_libc_does_in_a_changing_environment_also_before_constructors(self):
        program = built("environment")
        words = {"EARLYX": "1", "EARL": "2", "EARLY": "3"}
        without = RecordedRun([program], environment=words, preload="").out.splitlines()
        answers = [line for line in without if line.startswith("nvtx")]
        self.assertEqual((len(without), answers), (7, ["nvtx -"] * 3 + ["nvtx elsewhere"] + ["nvtx -"] * 2))
        self.assertEqual(RecordedRun([program], {"nvtx": "off"}, words).out.splitlines(), without)
        self.assertEqual(
            RecordedRun([program], environment=words).out.splitlines(),
            [f"nvtx {SHIM}" if line.startswith("nvtx") else line for line in without],
        )
        # The option that is read before the constructor is parsed as in config.c.
        for text, expected in (
            ("nvtx=of", SHIM),
            ("depth=3:nvtx=\"off\"", "-"),
            ("xnvtx=off", SHIM),
            ("nvtx=offf", SHIM),
            ("nvtx=off:depth=3", "-"),
        ):
            run = RecordedRun([program], environment={"GPUMEMTRACE_OPTIONS": text})
            self.assertEqual(run.out.splitlines()[0], f"nvtx {expected}", text)

    def test_another_library_that_replaces_getenv_is_called_too(self):
        behind = built("libgetenv-behind.so")
        for preload in (f"{SHIM}:{behind}", f"{behind}:{SHIM}"):
            run = RecordedRun(
                [
                    "python3",
                    "-c",
                    "import ctypes; p = ctypes.CDLL(None); "
                    "p.getenv.restype = ctypes.c_char_p; print(p.getenv(b'GETENV_BEHIND'))",
                ],
                preload=preload,
            )
            self.assertEqual(run.out, "b'answered behind'\n", run.err)

    def test_children_and_python_see_the_environment_as_it_is(self):
        for command in (
            ["env"],
            ["python3", "-c", "import os; print('\\n'.join(f'{k}={os.environ[k]}' for k in os.environ))"],
            ["bash", "-c", "env; echo \"$NVTX_INJECTION64_PATH\""],
        ):
            run = RecordedRun(command, {"output": "x.gmt.gz"})
            without = RecordedRun(command, {"output": "x.gmt.gz"}, preload="")
            changing = ("LD_PRELOAD=", "PWD=", "OLDPWD=")
            lines = [
                sorted(line for line in text.splitlines() if not line.startswith(changing))
                for text in (run.out, without.out)
            ]
            self.assertEqual(lines[0], lines[1])
            self.assertNotIn("NVTX", run.out)


if __name__ == "__main__":
    tap.main()
