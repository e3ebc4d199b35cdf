# SPDX-License-Identifier: MIT
"""Lightning and DeepSpeed run PyTorch's training loop for the program. Ray runs it in another process.

The reports must show the program's steps, lines and rates.
"""

import unittest

import tap
from frameworks import MIB, Run, needs


class OnTorch(unittest.TestCase):
    def assert_leak(self, run):
        self.assertEqual(run.growth(), [("torch", run.printed["line"], MIB)])
        self.assert_steps(run)
        self.assertEqual(run.gate("torch")[:2], (1, "failed"))

    def assert_healthy(self, run):
        self.assertEqual(run.json("leaks")["leaks"], [])
        self.assert_steps(run)
        self.assertEqual(run.gate("torch")[:2], (0, "passed"))

    def assert_steps(self, run):
        steps = run.json("report")["steps"]
        self.assertEqual(len(steps), run.printed["steps"])
        self.assertEqual({row["source"] for row in steps}, {run.printed["source"]})

    @needs("lightning")
    def test_a_leak_in_lightnings_closure_is_found_at_the_line_of_the_training_step(self):
        for way in "automatic", "accumulated", "manual":
            with self.subTest(way=way):
                self.assert_leak(Run("lightning", "lightning_leak.py", way, "leak"))

    @needs("lightning")
    def test_a_healthy_lightning_program_has_no_finding(self):
        self.assert_healthy(Run("lightning", "lightning_leak.py", "automatic"))

    @needs("lightning")
    def test_memory_of_the_closure_is_not_reported_as_the_optimizers(self):
        run = Run("lightning", "lightning_leak.py", "automatic", "leak")
        (row,) = [row for row in run.json("leaks")["leaks"] if row["definition"] == "growth"]
        self.assertEqual(row["category"], "activations")

    @needs("deepspeed")
    def test_a_leak_in_a_loop_with_zero_is_found_at_the_programs_line(self):
        for stage in "1", "3":
            with self.subTest(stage=stage):
                self.assert_leak(Run("deepspeed", "deepspeed_leak.py", stage, "leak"))

    @needs("deepspeed")
    def test_a_healthy_loop_with_zero_has_no_finding(self):
        self.assert_healthy(Run("deepspeed", "deepspeed_leak.py", "1"))

    @needs("deepspeed")
    def test_the_buckets_of_zero_belong_to_deepspeed(self):
        sites = Run("deepspeed", "deepspeed_leak.py", "1").json("report")["sites"]
        largest = next(row for row in sites if row["layer"] == "torch")
        self.assertEqual(largest["owner"], "DeepSpeed")

    @needs("ray")
    def test_a_leak_in_a_ray_actor_is_in_the_recording_of_its_process(self):
        self.assert_leak(Run("ray", "ray_leak.py", "leak"))

    @needs("ray")
    def test_a_healthy_ray_actor_has_no_finding(self):
        self.assert_healthy(Run("ray", "ray_leak.py"))


if __name__ == "__main__":
    tap.main()
