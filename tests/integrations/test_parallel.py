# SPDX-License-Identifier: MIT
"""Trainings on eight ranks under torchrun: DDP, FSDP2, pipeline and tensor parallel. Only with --long."""

import json
import os
import re
import unittest

import recipes
import recorded_run
import tap
from packages import PLAIN
from recipes import commands

RANKS = 8


@unittest.skipUnless(recipes.is_long(), "only with --long: eight processes of PyTorch take a minute")
@unittest.skipUnless(recorded_run.SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Parallel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = recipes.Installed(cls)

    def run_line(self, line, folder):
        (python, *_), libraries = recorded_run.sim_python("train.py")
        environment = {
            "PATH": f"{os.path.dirname(python)}:{self.installed.venv}/bin:{PLAIN['PATH']}",
            "LD_LIBRARY_PATH": libraries,
            "SIMCUDA_DEVICES": str(RANKS),
            "OMP_NUM_THREADS": "1",
        }
        done = recipes.run("bash", "-c", line, cwd=folder, **environment)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def record(self, way):
        """Runs the page's line for many ranks. Returns the answer of `ranks`, and the folder."""
        train, ranks = commands("clusters.md", "Many ranks")
        folder = self.installed.place("train_parallel.py")
        output = self.run_line(f"{train} {way}", folder)
        peaks = {int(rank): int(peak) for rank, peak in re.findall(r"rank (\d+) peak (\d+)", output)}
        self.assertEqual(sorted(peaks), list(range(RANKS)), output)
        answer = json.loads(self.run_line(f"{ranks} --json", folder))
        self.assertEqual((answer["world_size"], answer["missing_ranks"]), (RANKS, []))
        self.assertEqual({rank["rank"]: rank["peak_bytes"] for rank in answer["ranks"]}, peaks)
        self.assertEqual({(rank["end"], rank["complete"]) for rank in answer["ranks"]}, {("clean", True)})
        self.assertEqual(answer["growth"]["ranks"], 0)
        return answer, folder

    def test_ddp_has_the_same_memory_on_all_ranks_and_the_gate_passes(self):
        answer, folder = self.record("ddp")
        self.assertEqual(answer["outliers"], [])
        # Each rank has its folder, with the recording and its summary.
        self.assertEqual(sorted(os.listdir(f"{folder}/mem")), [f"{rank:02x}" for rank in range(RANKS)])
        for rank in range(RANKS):
            here = sorted(os.listdir(f"{folder}/mem/{rank:02x}"))
            self.assertEqual(here, [f"mem.r{rank}.gmt.gz", f"mem.r{rank}.summary.gz"])
        self.run_line("gpumemtrace check --max-spread=5% --max-missing-ranks=0 mem/*/*.gmt.gz", folder)

    def test_fsdp2_has_less_memory_than_ddp(self):
        ddp, _ = self.record("ddp")
        fsdp2, folder = self.record("fsdp2")
        self.assertLess(fsdp2["peaks"]["max_bytes"], ddp["peaks"]["min_bytes"])
        self.assertEqual(len(fsdp2["groups"]), 1, folder)

    def test_the_stages_of_a_pipeline_are_recorded(self):
        answer, _ = self.record("pipeline")
        self.assertGreater(answer["peaks"]["min_bytes"], 0)

    def test_tensor_parallel_ranks_are_recorded(self):
        answer, _ = self.record("tensor")
        self.assertEqual(answer["outliers"], [])

    def test_only_chosen_ranks_are_recorded(self):
        train, ranks = commands("clusters.md", "Many ranks")
        folder = self.installed.place("train_parallel.py")
        self.run_line(train.replace("run ", "run '--ranks=*/4' ", 1) + " ddp", folder)
        answer = json.loads(self.run_line(f"{ranks} --json", folder))
        self.assertEqual([rank["rank"] for rank in answer["ranks"]], [0, 4])


if __name__ == "__main__":
    tap.main()
