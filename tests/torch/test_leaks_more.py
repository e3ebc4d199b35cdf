# SPDX-License-Identifier: MIT
"""More programs that leak, and more that do not, from a review of leak findings."""

import collections
import json
import os
import unittest

import tap
from recorded_run import SIM_PYTHON, RecordedRun, report, sim_python

LEAKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "leaks")


def record(script, *arguments):
    command, libraries = sim_python(os.path.join(LEAKS, "more", script), *arguments)
    run = RecordedRun(command, None, {"SIMCUDA_DEVICES": "1", "PYTHONPATH": LEAKS}, libraries=libraries)
    assert run.code == 0, (run.code, run.err)
    return report(max(run.files, key=os.path.getsize)), json.loads(run.out.splitlines()[-1])


def own(leak):
    return leak["stack"][leak["own_frame"]]


def median(values):
    return sorted(values)[len(values) // 2]


class Case(unittest.TestCase):
    def leaks(self, script, **expected):
        """Checks line and kind of the first finding. The sum of all findings must grow as fast as PyTorch's count."""
        result, printed = record(script, "leak")
        found = result["leaks"]
        self.assertTrue(found, "nothing was found")
        self.assertEqual(
            (os.path.basename(own(found[0])["file"]), own(found[0])["line"]), (script, printed["expected_line"])
        )
        for key, value in expected.items():
            self.assertEqual(found[0][key], value)
        allocated = printed["allocated"]
        wanted = printed.get("bytes_per_step") or median([b - a for a, b in zip(allocated[2:], allocated[3:])])
        self.assertAlmostEqual(sum(leak["bytes_per_step"] for leak in found), wanted, delta=wanted * 0.01)
        repaired, _printed = record(script, "repaired")
        self.assertEqual(repaired["leaks"], [])
        return found[0]

    def quiet(self, script):
        result, printed = record(script)
        self.assertEqual(result["leaks"], [])
        counts = collections.Counter(step["source"] for step in result["steps"])
        if "optimizer_steps" in printed:
            self.assertEqual(counts["optimizer"], printed["optimizer_steps"])
            self.assertEqual(counts["forward"], printed.get("forward_calls", 0))


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class More(Case):
    def test_images_of_a_gan(self):
        self.leaks("gan_images.py", category="activations", source="optimizer")

    def test_gradients_that_a_hook_keeps(self):
        self.assertIn(
            "allocated in a backward pass and kept", self.leaks("backward_hook.py", category="backward results")["hint"]
        )

    def test_training_in_a_thread_of_an_executor(self):
        self.leaks("executor_thread.py", category="activations")

    def test_predictions_appended_to_a_tensor(self):
        self.assertIn("torch.cat", self.leaks("growing_cat.py", source="loop")["hint"])

    def test_exceptions_that_hold_tensors(self):
        self.leaks("kept_exceptions.py", category="activations")

    def test_an_output_every_tenth_step(self):
        self.leaks("every_tenth_step.py", category="activations")

    def test_the_hint_for_an_output_every_tenth_step(self):
        self.assertNotIn("replaced", self.leaks("every_tenth_step.py")["hint"])

    def test_memory_of_an_optimizers_closure_is_no_state(self):
        self.leaks("optimizer_closure.py", category="activations")

    def test_longer_and_longer_sequences_are_no_leak(self):
        self.quiet("no_leak_curriculum.py")

    def test_a_window_that_is_full_is_no_leak(self):
        self.quiet("no_leak_window.py")

    def test_an_optimizer_for_each_epoch_counts_all_steps(self):
        self.quiet("no_leak_optimizers.py")

    def test_two_classes_of_optimizers_one_after_the_other_count_all_steps(self):
        self.quiet("no_leak_two_classes.py")

    def test_evaluation_with_deep_stacks_counts_calls(self):
        self.quiet("no_leak_bert.py")


if __name__ == "__main__":
    tap.main()
