# SPDX-License-Identifier: MIT
"""Training scripts that leak in known ways, their repaired twins, and scripts that do not leak."""

import json
import os
import shutil
import tempfile
import unittest

import tap
from recorded_run import SIM_PYTHON, RecordedRun, cli, report, sim_python

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "leaks")
LONG = os.environ.get("GMT_TEST_LONG")
RUNS = 20 if LONG else 1


def record(script, *arguments, environment=None):
    command, libraries = sim_python(os.path.join(SCRIPTS, script), *arguments)
    run = RecordedRun(command, None, environment, libraries=libraries)
    assert run.code == 0, (run.code, run.err)
    return max(run.files, key=os.path.getsize), json.loads(run.out.splitlines()[-1]), run


def own(leak):
    """Returns the user's own line of a finding: the first frame in the program's own files."""
    return leak["stack"][leak["own_frame"]]


def growth_of(printed):
    """Returns the median growth per step of PyTorch's own count. Skips the first steps, which warm up."""
    grown = [after - before for before, after in zip(printed["allocated"][2:], printed["allocated"][3:])]
    return sorted(grown)[len(grown) // 2]


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Leaks(unittest.TestCase):
    def check_first(self, found, script, line):
        first = own(found[0])
        self.assertEqual((os.path.basename(first["file"]), first["line"]), (script, line), found[0])

    def check(self, script, per_step=None, definition="growth", **expected):
        """Checks that the report of `leak` has its line and rate, and that the report of `repaired` has no finding."""
        for _ in range(RUNS):
            path, printed, _run = record(script, "leak")
            found = report(path)["leaks"]
            self.assertTrue(found, "nothing was found")
            self.check_first(found, script, printed["expected_line"])
            self.assertEqual(found[0]["definition"], definition)
            for key, value in expected.items():
                self.assertEqual(found[0][key], value)
            same = [
                leak
                for leak in found
                if own(leak)["line"] == printed["expected_line"] and leak["definition"] == "growth"
            ]
            wanted = printed[per_step] if per_step else growth_of(printed)
            self.assertGreater(wanted, 0)
            self.assertAlmostEqual(sum(leak["bytes_per_step"] for leak in same), wanted, delta=wanted * 0.01)
            repaired, _told, _run = record(script, "repaired")
            self.assertEqual(report(repaired)["leaks"], [])
        return found, printed

    def hint(self, found, words):
        self.assertIn(words, found[0]["hint"])

    def test_a_loss_that_is_appended_to_a_list(self):
        found, _told = self.check("loss_list.py", category="activations")
        self.hint(found, "loss.item()")

    def test_outputs_of_evaluation_that_are_kept_with_their_graph(self):
        found, _told = self.check("eval_outputs.py", source="forward")
        self.hint(found, "no_grad")

    def test_a_global_cache_of_activations(self):
        found, _told = self.check("activation_cache.py", category="activations")
        self.hint(found, "a cache")

    def test_a_hidden_state_that_keeps_its_graph(self):
        found, _told = self.check("rnn_hidden.py")
        self.hint(found, "detach()")

    def test_reference_cycles_with_the_collector_off(self):
        self.check("cycles.py")

    def test_modules_that_are_kept_with_their_gradients(self):
        found, printed = self.check("module_list.py", per_step="parameter_bytes_per_step", category="parameters")
        (gradients,) = [leak for leak in found if own(leak)["line"] == printed["backward_line"]]
        self.assertEqual(gradients["category"], "gradients")
        self.assertAlmostEqual(gradients["bytes_per_step"], printed["gradient_bytes_per_step"], delta=1)
        self.assertEqual(len(found), 2)
        # The script makes an optimizer in each step, often at the address of an older one.
        path, printed, _run = record("module_list.py", "repaired")
        self.assertEqual([step["source"] for step in report(path)["steps"]], ["optimizer"] * len(printed["allocated"]))

    def test_a_logged_tensor_that_holds_its_graph(self):
        self.check("logged_grad_fn.py")

    def test_kept_results_of_a_checkpointed_function(self):
        found, _told = self.check("checkpoint_kept.py")
        self.hint(found, "checkpoint")

    def test_512_bytes_a_step_under_a_hundred_megabytes_of_churn(self):
        _found, printed = self.check("small_under_churn.py")
        self.assertGreater(printed["churn_bytes_per_step"], 100_000_000)

    def test_an_extension_that_calls_cudaMalloc_itself(self):
        folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        environment = {"TORCH_EXTENSIONS_DIR": folder}
        for _ in range(RUNS):
            path, printed, _run = record("extension.py", "leak", environment=environment)
            found = report(path)["leaks"]
            self.check_first(found, "extension.py", printed["expected_line"])
            self.assertEqual((found[0]["layer"], found[0]["definition"]), ("cuda", "growth"))
            self.assertAlmostEqual(found[0]["bytes_per_step"], printed["extension_bytes_per_step"], delta=1)
            self.assertIn(printed["expected_function"], [frame["function"] for frame in found[0]["stack"]])
            path, _told, _run = record("extension.py", "repaired", environment=environment)
            self.assertEqual(report(path)["leaks"], [])

    def test_growing_pinned_memory_is_counted_as_requested_from_the_driver(self):
        found, _told = self.check("pinned.py", per_step="pinned_bytes_per_step", space="pinned", device=None)
        self.hint(found, "pinned")

    def test_one_of_two_ranks_that_leaks(self):
        for _ in range(RUNS):
            self.check_ranks()

    def check_ranks(self):
        paths = []
        for rank in ("0", "1"):
            path, printed, _run = record("two_ranks.py", environment={"RANK": rank, "WORLD_SIZE": "2"})
            paths.append(path)
            result = report(path)
            self.assertEqual(result["process"]["rank"], int(rank))
            if rank == "0":
                self.assertEqual(result["leaks"], [])
            else:
                self.check_first(result["leaks"], "two_ranks.py", printed["expected_line"])
                self.assertAlmostEqual(result["leaks"][0]["bytes_per_step"], growth_of(printed), delta=1)
        verdict = cli("check", *paths)
        self.assertEqual(verdict.returncode, 1)
        self.assertIn("failed in rank 1\n", verdict.stdout)


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class NoLeaks(unittest.TestCase):
    def check(self, script):
        for _ in range(RUNS):
            path, _told, _run = record(script)
            result = report(path)
            self.assertEqual(result["leaks"], [])
            self.assertTrue(result["steps"])
            self.assertIsNone(result["growth_not_judged"])
        return result

    def test_warm_up_growth_that_stops_is_no_leak(self):
        self.check("no_leak_warm_up.py")

    def test_variable_batch_sizes_are_no_leak(self):
        self.check("no_leak_batch_sizes.py")

    def test_an_allocator_that_fills_up_is_no_leak(self):
        self.check("no_leak_reserved.py")

    def test_schedules_and_lazy_optimizer_state_are_no_leak(self):
        result = self.check("no_leak_schedule.py")
        # A schedule wraps the optimizer's step. Its frame is in the stack of each allocation of the step.
        state = [
            site["category"]
            for site in result["sites"]
            if site["layer"] == "torch" and any(frame["function"].endswith("_init_group") for frame in site["stack"])
        ]
        self.assertEqual(set(state), {"optimizer state"})

    def test_workspaces_are_no_leak(self):
        # The script only multiplies matrices, without optimizer and module. Its steps are the passes of its loop.
        self.check("no_leak_workspaces.py")

    def test_gradient_accumulation_is_no_leak(self):
        self.check("no_leak_accumulation.py")

    def test_a_loaders_prefetch_is_no_leak(self):
        self.check("no_leak_prefetch.py")


if __name__ == "__main__":
    tap.main()
