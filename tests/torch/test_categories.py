# SPDX-License-Identifier: MIT
"""The bytes of each category equal sums over the program's own objects, in real PyTorch."""

import json
import os
import re
import subprocess
import unittest

import tap
from definitions import MarkKind
from recorded_run import SIM_PYTHON, RecordedRun, cli, report, sim_python

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "categories")
MAX_DEVIATION = 0.02


def record(script, *arguments):
    """Returns the bytes of each category, as the program declares them and as the report of that moment shows them."""
    command, libraries = sim_python(os.path.join(SCRIPTS, script), *arguments)
    run = RecordedRun(command, libraries=libraries)
    assert run.code == 0, (run.code, run.err)
    printed = json.loads(run.out.splitlines()[-1])
    result = report(max(run.files, key=os.path.getsize), "--until", str(printed["time_ns"]), "--by", "category")
    (table,) = [table["rows"] for table in result["tables"] if table["by"] == "category"]
    rows = {row["name"]: row["live_bytes"] for row in table if row["layer"] == "torch"}
    return printed["held"], rows


def roles_in(path):
    """Returns the kinds of the marks that give the roles of tensors."""
    marks = map(json.loads, cli("dump", "--json", "--record=mark", path).stdout.splitlines())
    return [mark["kind"] for mark in marks if 11 <= mark["kind"] <= 15]


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Categories(unittest.TestCase):
    def check(self, script, *arguments):
        held, rows = record(script, *arguments)
        self.assertTrue(held)
        for category, size in held.items():
            with self.subTest(category=category):
                self.assertGreater(size, 0)
                self.assertLessEqual(abs(rows.get(category, 0) - size), size * MAX_DEVIATION, (held, rows))
        return rows

    def test_parameters_may_be_tensors_of_no_module(self):
        self.check("bare_parameters.py")

    def test_one_buffer_may_hold_all_gradients(self):
        self.check("flat_gradients.py")

    def test_master_weights_are_parameters(self):
        self.check("master_weights.py")

    def test_statistics_of_batch_normalization_and_masks_are_buffers(self):
        self.check("buffers.py")

    def test_rows_that_an_index_takes_are_inputs(self):
        self.check("indexed_batches.py")

    def test_memory_of_a_closure_is_no_optimizer_state(self):
        self.check("closure.py")

    def test_two_models_and_an_average_are_distinguished_from_activations(self):
        self.check("two_models.py")

    def test_recomputed_memory_of_a_checkpoint_is_activations(self):
        for how in ("reentrant", "saved"):
            with self.subTest(how=how):
                self.check("checkpoints.py", how)

    def test_buckets_that_ranks_exchange_are_gradients(self):
        self.check("replicas.py")

    def test_shards_are_distinguished_from_gathered_tensors(self):
        self.check("shards.py")

    def test_each_module_holds_as_much_as_pytorch_says(self):
        command, libraries = sim_python(os.path.join(SCRIPTS, "modules.py"))
        run = RecordedRun(command, libraries=libraries)
        self.assertEqual(run.code, 0, run.err)
        printed = json.loads(run.out.splitlines()[-1])
        (table,) = report(run.file, "--until", str(printed["time_ns"]), "--by", "module")["tables"]
        found = {
            row["name"]: {part["category"]: part["live_bytes"] for part in row["instance"] if part["live_bytes"]}
            for row in table["rows"]
            if row["instance"] and row["layer"] == "torch"
        }
        self.maxDiff = None
        # The numbers of models follow the order in which Python's collector lists them.
        self.assertEqual({re.sub("^model [12]", "model", name): held for name, held in found.items()}, printed["held"])

    def test_the_search_for_roles_runs_no_code_of_the_program(self):
        command, libraries = sim_python(os.path.join(SCRIPTS, "step_side_effects.py"))
        alone = subprocess.run(
            command, env={**os.environ, "LD_LIBRARY_PATH": libraries}, capture_output=True, text=True, check=True
        )
        run = RecordedRun(command, libraries=libraries)
        self.assertEqual((run.code, run.out), (0, alone.stdout))
        self.assertIn("True", alone.stdout)
        self.assertTrue(roles_in(run.file))

    def test_modules_that_share_each_other_are_not_searched_path_by_path(self):
        command, libraries = sim_python(os.path.join(SCRIPTS, "shared_modules.py"))
        run = RecordedRun(command, libraries=libraries, timeout=120)
        self.assertEqual((run.code, run.out), (0, "done\n"), run.err)
        self.assertTrue(roles_in(run.file))

    def test_gradients_that_another_thread_may_be_writing_are_not_read(self):
        command, libraries = sim_python(os.path.join(SCRIPTS, "other_thread.py"))
        run = RecordedRun(command, libraries=libraries)
        self.assertEqual((run.code, run.err), (0, ""))
        stepped, other = json.loads(run.out)
        kinds = roles_in(max(run.files, key=os.path.getsize))
        first = kinds[: kinds.index(MarkKind.ROLES)]
        self.assertEqual(first.count(MarkKind.PARAMETER), stepped + other)
        self.assertEqual(first.count(MarkKind.GRADIENT), stepped)

    def test_tensors_off_records_no_roles(self):
        command, libraries = sim_python(os.path.join(SCRIPTS, "bare_parameters.py"))
        run = RecordedRun(command, {"tensors": "off"}, libraries=libraries)
        self.assertEqual((run.code, roles_in(run.file)), (0, []))


if __name__ == "__main__":
    tap.main()
