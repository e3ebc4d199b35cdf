# SPDX-License-Identifier: MIT
"""The recorder shows all knowable frames of allocations below machine code of numba, LuaJIT and a JVM."""

import os
import shutil
import subprocess
import tempfile
import unittest

import tap
from recorded_run import SOURCE, RecordedRun, built

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
SETUP = os.path.join(SOURCE, "scripts", "setup")
LIBRARY = built("libjit-allocate.so")
LONG = bool(os.environ.get("GMT_TEST_LONG"))
COUNT = 20000
ALLOC = 1
WHOLE, STOPPED = 0, 2
STAY = [4711, 4712]


def source(name):
    return os.path.join(SOURCES, name)


@unittest.skipUnless(LONG, "takes long: scripts/test --long")
class Jits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_checked(self, command, count, options=None, min_whole=0.0):
        """Checks the program's end, that each allocation has all knowable frames, and that the live blocks are right."""
        run = RecordedRun(command, options, timeout=280)
        self.assertEqual((run.code, run.out), (0, "0\n"), run.err[-2000:])
        found = run.report()
        self.assertTrue(found["complete"])
        self.assertEqual(found["anomalies"], {key: 0 for key in found["anomalies"]})
        (layer,) = (row for row in found["devices"][0]["layers"] if row["layer"] == "cuda")
        self.assertEqual((layer["alloc_count"], layer["live_bytes"]), (count + len(STAY), sum(STAY)))
        stacks = {row["id"]: row for row in run.records("stack")}
        allocations = [event for event in run.events() if event["kind"] == ALLOC]
        ends = [stacks[event["stack"]]["truncated"] for event in allocations]
        self.assertEqual(set(ends) - {WHOLE, STOPPED}, set())
        self.assertGreaterEqual(ends.count(WHOLE), min_whole * len(ends))
        for site in (site for site in found["sites"] if site["layer"] == "cuda"):
            names = [(frame["function"] or "").split("(")[0] for frame in site["stack"]]
            self.assertEqual(names[0], "jit_allocate")
            self.assertGreater(len(names), 1)
            self.assertEqual(names.count("[unknown-caller]"), names[-1] == "[unknown-caller]", names)
            # With frame pointers, the chain ends somewhere in the C library, not at a known end.
            self.assertTrue(
                names[-1] in ("[unknown-caller]", "_start")
                or "clone" in names[-1]
                or (options or {}).get("unwind") == "frame-pointers",
                names,
            )
        return found

    def test_numba(self):
        made = subprocess.run([os.path.join(SETUP, "numba")], stdout=subprocess.PIPE, text=True, check=False)
        if made.returncode == 77:
            self.skipTest("no numba is to be had")
        python = made.stdout.splitlines()[-1]
        for options in ({}, {"unwind": "libunwind"}, {"unwind": "frame-pointers"}):
            found = self.run_checked([python, source("jit_numba.py"), LIBRARY, str(COUNT)], COUNT, options)
            # Python stacks are complete even if the native stack stops.
            for site in (site for site in found["sites"] if site["layer"] == "cuda"):
                names = [frame["function"] for frame in site["stack"]]
                self.assertEqual(names.count("<module>"), 1, names)
                self.assertTrue("python_caller" in names or site["allocs"] == 1, names)

    @unittest.skipUnless(shutil.which("luajit"), "no LuaJIT here")
    def test_luajit(self):
        for options in ({}, {"unwind": "libunwind"}, {"unwind": "frame-pointers"}):
            found = self.run_checked(
                ["luajit", source("jit.lua"), LIBRARY, str(COUNT)], COUNT + 2 * COUNT // 10, options
            )
            if not options:
                # Functions that the interpreter called have unwind tables, up to main.
                self.assertIn("main", str([site["stack"] for site in found["sites"]]))

    def java(self, *arguments, **checks):
        subprocess.run(["javac", "-d", self.folder, source("Jit.java")], check=True)
        # Each of the three threads has a loop and a recursion.
        return self.run_checked(
            ["java", "-Xmx64m", *arguments, "-cp", self.folder, "Jit", LIBRARY, str(COUNT)],
            3 * (COUNT + COUNT // 10),
            **checks,
        )

    @unittest.skipUnless(shutil.which("javac"), "no Java compiler here")
    def test_a_jvm(self):
        for arguments in ([], ["-Xint"], ["-Xcomp"]):
            self.java(*arguments)

    @unittest.skipUnless(shutil.which("javac"), "no Java compiler here")
    def test_a_jvm_that_keeps_frame_pointers_is_walked_to_its_end(self):
        self.java("-XX:+PreserveFramePointer", "-Xcomp", min_whole=0.9)

    @unittest.skipUnless(shutil.which("javac"), "no Java compiler here")
    def test_a_jvm_with_the_unwinder_and_by_frame_pointers(self):
        for way in "libunwind", "frame-pointers":
            self.java(options={"unwind": way})


if __name__ == "__main__":
    tap.main()
