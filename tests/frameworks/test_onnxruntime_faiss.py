# SPDX-License-Identifier: MIT
"""ONNX Runtime has an arena. FAISS allocates its indices from the driver.

Their packages are large: scripts/test --long sets them up.
"""

import unittest

import tap
from frameworks import MIB, Run, needs

DOUBT = "blocks inside ONNX Runtime's arena are not recorded, so leaks there cannot be found"


def arenas(run):
    return [
        (row["owner"], row["certain"], row["blocks_are_seen"])
        for row in run.json("leaks")["arenas"]
        if row["device"] == 0
    ]


class OnnxRuntime(unittest.TestCase):
    @needs("onnxruntime")
    def test_the_arena_is_named_and_its_content_is_not_judged(self):
        for arguments in ["leak"], []:
            with self.subTest(arguments=arguments):
                run = Run("onnxruntime", "onnxruntime_leak.py", *arguments)
                self.assertEqual(run.growth(), [])
                # The libraries of the wheel have no function names.
                self.assertEqual(arenas(run), [("ONNX Runtime", False, False)])
                (row,) = [row for row in run.json("leaks")["arenas"] if row["device"] == 0]
                self.assertGreaterEqual(row["peak_bytes"], run.printed["in_use_bytes"])
                self.assertEqual(run.gate()[:2], (0, "skipped"))
                self.assertIn("not judged: " + DOUBT, run.gate()[2])

    @needs("onnxruntime")
    def test_with_the_programs_own_allocator_each_block_is_recorded(self):
        run = Run("onnxruntime", "onnxruntime_leak.py", "leak", "direct")
        self.assertEqual(run.growth(), [("cuda", run.printed["callback"], MIB)])
        (row,) = [row for row in run.json("leaks")["leaks"] if row["definition"] == "growth"]
        self.assertIn(run.printed["line"], [frame["line"] for frame in row["stack"] if "line" in frame])
        self.assertEqual((arenas(run), run.gate()[:2]), ([], (1, "failed")))
        run = Run("onnxruntime", "onnxruntime_leak.py", "direct")
        self.assertEqual((run.json("leaks")["leaks"], arenas(run), run.gate()[:2]), ([], [], (0, "passed")))


class Faiss(unittest.TestCase):
    @needs("faiss")
    def test_an_index_that_is_kept_is_found_by_the_line_that_filled_it(self):
        run = Run("faiss", "faiss_leak.py", "leak")
        self.assertEqual(run.growth(), [("cuda", run.printed["line"], run.printed["index_bytes"])])
        self.assertEqual((arenas(run), run.gate()[:2]), ([], (1, "failed")))

    @needs("faiss")
    def test_the_stack_for_temporaries_is_no_leak_and_growth_is_still_judged(self):
        run = Run("faiss", "faiss_leak.py")
        self.assertEqual((run.json("leaks")["leaks"], arenas(run), run.gate()[:2]), ([], [], (0, "passed")))
        largest = run.json("report")["sites"][0]
        self.assertEqual((largest["owner"], largest["peak_bytes"]), ("FAISS", 1536 * MIB))


if __name__ == "__main__":
    tap.main()
