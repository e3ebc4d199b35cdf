# SPDX-License-Identifier: MIT
"""Native stacks are the same as those of another unwinder, and the reader gives them names."""

import os
import unittest

import tap
from recorded_run import SHIM, RecordedRun, built

WITNESS = [built("stack-witness")]


class Stacks(unittest.TestCase):
    def check_against_glibc(self, options):
        run = RecordedRun(WITNESS, options)
        self.assertEqual(run.code, 0, run.err)
        stacks = {row["id"]: row["items"] for row in run.records("stack")}
        events = {event["address"]: event for event in run.events()}
        compared = 0
        for line in run.out.splitlines():
            address, *frames = line.split()
            recorded = stacks[events[int(address)]["stack"]]
            # The first address differs: it is the call of the allocation or of backtrace(). Only one of the
            # unwinders may have _start as a frame.
            seen = [int(frame, 16) for frame in frames]
            length = min(len(recorded), len(seen) + 1)
            self.assertEqual(recorded[1:length], seen[: length - 1])
            self.assertLessEqual(abs(len(recorded) - 1 - len(seen)), 1)
            compared += 1
        self.assertEqual(compared, 16)

    def test_every_frame_equals_that_of_glibc(self):
        self.check_against_glibc({})

    def test_the_libunwind_in_the_folder_of_the_shim_is_used(self):
        paths = [row["path"] for row in RecordedRun(WITNESS).records("module")]
        self.assertIn(os.path.join(os.path.dirname(SHIM), "libgmtunw.so.8"), paths)
        self.assertEqual([path for path in paths if "libunwind" in path or "liblzma" in path], [])

    def test_a_host_gets_its_own_liblzma(self):
        run = RecordedRun(
            [
                "python3",
                "-c",
                "\n".join(
                    [
                        "import ctypes",
                        "block = ctypes.c_void_p()",
                        "ctypes.CDLL('libcudart.so.13').cudaMalloc(ctypes.byref(block), ctypes.c_size_t(1))",
                        "ctypes.CDLL('liblzma.so.5')",
                        "print([line.split()[-1] for line in open('/proc/self/maps') if 'liblzma' in line][0])",
                    ]
                ),
            ]
        )
        self.assertFalse(run.out.startswith(os.path.dirname(SHIM)), run.out)
        self.assertEqual(len(run.records("stack")), 1)

    def test_functions_files_and_lines_are_found(self):
        run = RecordedRun(WITNESS)
        sites = run.report()["sites"]
        with open(
            os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "stack_witness.cc"), encoding="utf-8"
        ) as file:
            lines = file.read().splitlines()
        for site in sites:
            leaf = site["stack"][0]
            self.assertEqual(leaf["function"].split("(")[0], "allocate")
            self.assertTrue(leaf["file"].endswith("stack_witness.cc"))
            self.assertIn("cudaMalloc", lines[leaf["line"] - 1])
        names = {frame["function"].split("(")[0] for site in sites for frame in site["stack"] if frame["function"]}
        self.assertTrue({"main", "void recurse<400>"} <= {name.strip() for name in names}, names)


if __name__ == "__main__":
    tap.main()
