# SPDX-License-Identifier: MIT
"""JAX, TensorFlow, cuda.core, Numba and RMM. Their packages are large: scripts/test --long sets them up."""

import unittest

import tap
from frameworks import MIB, Run, needs


class Arenas(unittest.TestCase):
    def assert_closed(self, run, owner, setting):
        doubt = f"blocks inside {owner}'s arena are not recorded, so leaks there cannot be found"
        answer = run.json("leaks")
        self.assertEqual(answer["leaks"], [])
        (row,) = [row for row in answer["arenas"] if row["device"] == 0]
        self.assertEqual((row["owner"], row["certain"], row["setting"]), (owner, True, setting))
        self.assertGreaterEqual(row["peak_bytes"], run.printed["in_use_bytes"])
        self.assertEqual(run.gate(), (0, "skipped", f"not judged: {doubt}; to record its blocks, {setting}"))
        report = run.json("report")
        (lines,) = [{line["name"]: line["bytes"] for line in row["at_peak"]["lines"]} for row in report["ledger"]]
        self.assertEqual(lines["arenas"], row["peak_bytes"])
        self.assertEqual(report["temporaries"]["short_lived"], [])

    def assert_open(self, run):
        self.assertEqual([row for row in run.json("leaks")["arenas"] if row["device"] == 0], [])
        (row,) = run.growth()
        self.assertEqual((row[0], row[1]), ("cuda", run.printed["line"]))
        self.assertAlmostEqual(row[2], MIB, delta=MIB // 100)
        self.assertEqual(run.gate()[:2], (1, "failed"))

    @needs("jax")
    def test_xlas_arena_is_closed_and_the_setting_opens_it(self):
        self.assert_closed(Run("jax", "jax_leak.py"), "XLA", "set XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async")
        for setting in {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}, {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}:
            self.assert_closed(
                Run("jax", "jax_leak.py", **setting), "XLA", "set XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async"
            )
        self.assert_open(Run("jax", "jax_leak.py", XLA_PYTHON_CLIENT_ALLOCATOR="cuda_async"))

    @needs("tensorflow")
    def test_tensorflows_arena_is_closed_and_the_setting_opens_it(self):
        self.assert_closed(
            Run("tensorflow", "tensorflow_leak.py"), "TensorFlow", "set TF_GPU_ALLOCATOR=cuda_malloc_async"
        )
        self.assert_closed(
            Run("tensorflow", "tensorflow_leak.py", TF_FORCE_GPU_ALLOW_GROWTH="true"),
            "TensorFlow",
            "set TF_GPU_ALLOCATOR=cuda_malloc_async",
        )
        self.assert_open(Run("tensorflow", "tensorflow_leak.py", TF_GPU_ALLOCATOR="cuda_malloc_async"))


class Others(unittest.TestCase):
    @needs("cuda-core")
    def test_each_resource_of_cuda_core_has_the_right_kind_of_memory(self):
        run = Run("cuda-core", "core_resources.py")
        report = run.json("report")
        (device,) = report["devices"]
        (layer,) = [row for row in device["layers"] if row["layer"] == "cuda"]
        held = {space["space"]: space["peak_bytes"] for space in layer["spaces"]}
        self.assertEqual((held["pool"], held["managed"], held["vmm"]), (74 * MIB, 6 * MIB, 4 * MIB))
        self.assertEqual(report["host"]["peak_bytes"], MIB)
        for moment in report["ledger"][0], report["ledger"][0]["at_peak"]:
            lines = {line["name"]: line["bytes"] for line in moment["lines"]}
            self.assertGreaterEqual(lines["unexplained"], 0)

    @needs("numba")
    def test_numbas_arrays_end_with_their_last_reference(self):
        run = Run("numba", "numba_leak.py")
        self.assertIn(("custom", run.printed["line"], MIB), run.growth())
        report = run.json("report")
        (heap,) = report["heaps"]
        self.assertEqual(heap["name"], "Numba")
        # Only one temporary is alive at a time. The driver's blocks of the other temporaries wait until they are freed.
        self.assertEqual(heap["peak_bytes"], run.printed["live_bytes"] + 2 * MIB)
        self.assertEqual(sum(report["anomalies"].values()), 0)

    @needs("rmm")
    def test_rmms_adapter_reports_the_blocks_of_rmms_resources(self):
        run = Run("rmm", "rmm_watch.py")
        self.assertIn(("custom", run.printed["line"], MIB), run.growth())
        (heap,) = run.json("report")["heaps"]
        self.assertEqual((heap["name"], heap["peak_bytes"], heap["live_bytes"]), ("RMM", 42 * MIB, 40 * MIB))


if __name__ == "__main__":
    tap.main()
