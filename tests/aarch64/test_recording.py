# SPDX-License-Identifier: MIT
"""A recording that the wheel for AArch64 makes under qemu. The program of this machine reads it.

Only with --long: the wheel and its libraries are compiled first, which takes minutes.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import unittest

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "package"))
import packages  # noqa: E402
from packages import SOURCE, must, run  # noqa: E402
from test_aarch64 import CROSS, QEMU, SYSROOT, needs_compiler, needs_qemu  # noqa: E402

CLI = os.path.join(packages.BUILD, "tools", "gpumemtrace")
# Numbers of record.c.
MIB, BLOCKS, KEPT, THREADS, ROUNDS = 1 << 20, 10, 5, 4, 1000


@needs_compiler
@needs_qemu
class Recording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.environ.get("GMT_TEST_LONG"):
            raise unittest.SkipTest("only with --long: building the wheel takes minutes")
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-aarch64.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        (wheel,) = packages.make("wheel", "aarch64")
        must(sys.executable, "-m", "zipfile", "--extract", wheel, cls.folder)
        cls.recorder = os.path.join(cls.folder, "gpumemtrace", "lib", "gpumemtrace", "libgpumemtrace.so")
        cls.program = cls.build_program()

    @classmethod
    def build_program(cls):
        """Compiles the simulated driver as the wheel is compiled, and the program with the cross compiler."""
        built = os.path.join(SOURCE, "build-wheel-aarch64")
        tools = must(os.path.join(SOURCE, "scripts", "setup", "package-tools")).splitlines()[-1]
        must(os.path.join(tools, "ninja"), "-C", built, "simcuda/libcuda.so.1", timeout=1800)
        driver = shutil.copy(os.path.join(built, "simcuda", "libcuda.so.1"), cls.folder)
        path = os.path.join(cls.folder, "record")
        flags = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"]
        source = os.path.join(HERE, "record.c")
        must(CROSS, *flags, "-Wl,-rpath,$ORIGIN", "-o", path, source, driver)
        return path

    def record(self, *arguments, code=0, options=""):
        """Runs the program under qemu. Returns the path of its recording and what it wrote to stderr."""
        folder = tempfile.mkdtemp(dir=self.folder)
        path = os.path.join(folder, "x.gmt.gz")
        variables = [f"LD_PRELOAD={self.recorder}", f"GPUMEMTRACE_OPTIONS=output={path}{options}"]
        words = [word for one in variables for word in ("-E", one)]
        done = run(QEMU, "-L", SYSROOT, *words, self.program, *arguments, cwd=folder)
        self.assertEqual((done.returncode, done.stdout), (code, "done\n"), done.stderr)
        self.assertEqual(os.listdir(folder), ["x.gmt.gz"])
        return path, done.stderr

    def check_totals(self, report):
        self.assertTrue(report["complete"], report["remarks"])
        (device,) = report["devices"]
        (cuda,) = [one for one in device["layers"] if one["layer"] == "cuda"]
        churn = THREADS * ROUNDS
        self.assertEqual((cuda["alloc_count"], cuda["free_count"]), (BLOCKS + churn, BLOCKS - KEPT + churn))
        self.assertEqual(cuda["total_alloc_bytes"], BLOCKS * MIB + churn * 4096)
        self.assertEqual((cuda["live_bytes"], cuda["live_blocks"]), (KEPT * MIB, KEPT))
        self.assertTrue(BLOCKS * MIB <= cuda["peak_bytes"] <= BLOCKS * MIB + THREADS * 4096, cuda["peak_bytes"])
        self.assertEqual(sum(report["anomalies"].values()), 0)

    def check_stacks(self, report):
        """Checks the native stacks: the program's functions and lines, and the C library's functions that started it."""
        with open(os.path.join(HERE, "record.c"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        allocs = {}
        for site in [one for one in report["sites"] if one["layer"] == "cuda"]:
            own = [frame for frame in site["stack"] if os.path.basename(frame["file"] or "") == "record.c"]
            functions = tuple(frame["function"] for frame in own)
            allocs[functions] = allocs.get(functions, 0) + site["allocs"]
            calls = [lines[frame["line"] - 1] for frame in own]
            for line, call in zip(calls, ("cuMemAlloc_v2(", "allocate(", "make_block(")):
                self.assertIn(call, line)
            modules = [os.path.basename(frame["module"]) for frame in site["stack"]]
            self.assertEqual(modules[: len(own) + 1], ["record"] * len(own) + ["libc.so.6"], site["stack"])
        chain = ("allocate", "make_block")
        self.assertEqual(allocs, {(*chain, "main"): BLOCKS, (*chain, "work"): THREADS * ROUNDS})

    def read(self, path):
        return json.loads(must(CLI, "report", "--json", "--native=all", path))

    def test_the_wheel_records_under_qemu_with_exact_totals_and_whole_native_stacks(self):
        for way in "auto", "libunwind", "frame-pointers":
            with self.subTest(unwind=way):
                path, messages = self.record(options=f":unwind={way}")
                self.assertEqual(messages, "")
                report = self.read(path)
                self.assertEqual(report["process"]["machine"], "aarch64")
                self.check_totals(report)
                self.check_stacks(report)

    def test_the_events_of_a_process_killed_under_qemu_are_recovered(self):
        path, _ = self.record("killed", code=-signal.SIGKILL)
        self.assertIn("x.gmt.gz: complete: ", must(CLI, "recover", path))
        self.check_totals(self.read(path))
        self.check_stacks(self.read(path))


if __name__ == "__main__":
    tap.main()
