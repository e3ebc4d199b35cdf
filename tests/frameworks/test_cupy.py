# SPDX-License-Identifier: MIT
"""CuPy's pool is an arena. With the hook, or with the driver's pool, the recorder records each block exactly."""

import unittest

import tap
from frameworks import MIB, Run, needs

DOUBT = "blocks inside CuPy's arena are not recorded, so leaks there cannot be found"


@needs("cupy")
class CuPy(unittest.TestCase):
    def test_the_pool_is_an_arena_and_its_content_is_not_judged(self):
        run = Run("cupy", "cupy_leak.py", "pool")
        answer = run.json("leaks")
        self.assertEqual(answer["leaks"], [])
        self.assertEqual(
            [
                (row["owner"], row["device"], row["certain"], row["blocks_are_seen"], row["live_bytes"])
                for row in answer["arenas"]
                if row["device"] == 0
            ],
            [("CuPy", 0, True, False, run.printed["total_bytes"])],
        )
        self.assertEqual(run.gate()[:2], (0, "skipped"))
        self.assertIn("not judged: " + DOUBT + "; to record its blocks, call gpumemtrace.watch_cupy()", run.gate()[2])
        self.assertIn(DOUBT, run.text("report", "--full").split("\n\n")[0])

    def test_the_hook_shows_each_block_by_the_users_line(self):
        run = Run("cupy", "cupy_leak.py", "watched")
        self.assertEqual(run.growth(), [("custom", run.printed["line"], MIB)])
        report = run.json("report")
        (heap,) = report["heaps"]
        self.assertEqual((heap["name"], heap["device"], heap["peak_bytes"]), ("CuPy", 0, 80 * MIB + 4096))
        self.assertEqual([row["blocks_are_seen"] for row in report["arenas"] if row["device"] == 0], [True])
        self.assertNotIn("are not seen", run.text("leaks"))
        self.assertEqual(sum(report["anomalies"].values()), 0)
        self.assertNotIn("Exception", run.done.stderr)

    def test_with_the_drivers_pool_and_without_any_pool_nothing_is_hidden(self):
        for allocator in "async", "direct":
            with self.subTest(allocator=allocator):
                run = Run("cupy", "cupy_leak.py", allocator)
                self.assertEqual(run.growth(), [("cuda", run.printed["line"], MIB)])
                self.assertEqual([row for row in run.json("leaks")["arenas"] if row["device"] == 0], [])
                self.assertEqual(run.gate()[:2], (1, "failed"))

    def test_programs_that_keep_nothing_have_no_finding(self):
        for allocator in "pool", "watched", "async", "direct":
            with self.subTest(allocator=allocator):
                run = Run("cupy", "cupy_leak.py", allocator, "healthy")
                self.assertEqual((run.json("leaks")["leaks"], run.gate()[0]), ([], 0))

    def test_with_python_stacks_alone_the_verdicts_are_the_same(self):
        for allocator in "pool", "watched", "async", "direct":
            with self.subTest(allocator=allocator):
                run = Run("cupy", "cupy_leak.py", allocator, options=":stacks=python")
                layer = {"pool": None, "watched": "custom"}.get(allocator, "cuda")
                self.assertEqual(run.growth(), [(layer, run.printed["line"], MIB)] if layer else [])
                self.assertEqual(
                    [
                        (row["certain"], row["blocks_are_seen"])
                        for row in run.json("leaks")["arenas"]
                        if row["device"] == 0
                    ],
                    {"pool": [(False, False)], "watched": [(False, True)]}.get(allocator, []),
                )

    def test_without_the_recorder_the_adapter_does_nothing(self):
        run = Run("cupy", "cupy_leak.py", "watched", recorded=False)
        self.assertEqual(run.printed["used_bytes"], 40 * MIB + 4096)


if __name__ == "__main__":
    tap.main()
