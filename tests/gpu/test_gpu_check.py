# SPDX-License-Identifier: MIT
"""scripts/gpu-check itself: without a GPU, and with the simulated device in its place."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import tap
from snapshots import BUILD, SIM_PYTHON

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                      "scripts", "gpu-check")

needs_torch = unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
is_long = unittest.skipUnless(os.environ.get("GMT_TEST_LONG"), "takes minutes: scripts/test --long")


def gpu_check(*arguments, **variables):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=900,
                          env={**os.environ, **variables})


def verdicts(text):
    return re.findall(r"^(ok|FAILED|skipped) ", text, re.M)


@needs_torch
class OnTheSimulatedDevice(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, self.folder)

    def check(self, *arguments, without=""):
        return gpu_check("-o", os.path.join(self.folder, "told.txt"), *arguments, GPUMEMTRACE_CHECK_DEVICE=BUILD,
                         GPUMEMTRACE_CHECK_WITHOUT=without)

    @is_long
    def test_all_is_well_when_built_with_meson_or_with_the_compiler_alone(self):
        for without, road in (("", "built with Meson"), ("meson", "alone")):
            run = self.check(without=without)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn(road, run.stdout)
            self.assertNotIn("FAILED", verdicts(run.stdout))
            self.assertGreater(verdicts(run.stdout).count("ok"), 14)
            with open(os.path.join(self.folder, "told.txt"), encoding="utf-8") as file:
                self.assertEqual(file.read(), run.stdout)

    @is_long
    def test_what_is_kept_is_compared_elsewhere_and_a_wrong_count_is_found(self):
        kept = os.path.join(self.folder, "kept")
        run = self.check("--keep", kept, without="meson libdw")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("the CLI cannot be", run.stdout)
        self.assertEqual(verdicts(run.stdout).count("ok"), 1)

        run = gpu_check("--compare", kept)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(set(verdicts(run.stdout)), {"ok"})

        told = os.path.join(kept, "convnet.json")
        with open(told, encoding="utf-8") as file:
            counts = json.load(file)
        counts["devices"][0]["max_memory_allocated"] += 512
        with open(told, "w", encoding="utf-8") as file:
            json.dump(counts, file)
        run = gpu_check("--compare", kept)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertRegex(run.stdout, r"FAILED +convnet.py .* peak: recorded \d+, PyTorch says \d+")
        self.assertEqual(verdicts(run.stdout).count("FAILED"), 1)


@unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU")
class WithoutGpu(unittest.TestCase):
    def test_it_says_so_in_one_line_and_ends_with_77(self):
        with tempfile.TemporaryDirectory() as folder:
            told = os.path.join(folder, "told.txt")
            run = gpu_check("-o", told, GPUMEMTRACE_CHECK_DEVICE="")
            self.assertEqual((run.returncode, run.stderr), (77, ""))
            self.assertRegex(run.stdout, r"\A[^\n]*there is no NVIDIA GPU[^\n]*\n\Z")
            with open(told, encoding="utf-8") as file:
                self.assertIn("there is no NVIDIA GPU", file.read())

    def test_a_wrong_argument_is_a_usage_error(self):
        run = gpu_check("--no-such-option")
        self.assertEqual((run.returncode, run.stdout), (2, ""))


if __name__ == "__main__":
    tap.main()
