# SPDX-License-Identifier: MIT
"""The commands of docs/clusters.md for torchrun and MPI, as they are typed, on two simulated devices."""

import os
import re
import shutil
import unittest

import recipes
import recorded_run
import tap
from packages import PLAIN
from recipes import check_train, commands


class Launchers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = recipes.Installed(cls)

    def run_line(self, line, folder, **variables):
        done = recipes.run("bash", "-c", line, cwd=folder, **variables)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def names(self, folder):
        return sorted(name for name in os.listdir(folder) if name.endswith(".gmt.gz"))

    def check_two_ranks(self, folder):
        """Checks that each of two ranks has its recording, and that all verbs read both."""
        self.assertEqual(self.names(folder), ["mem.r0.gmt.gz", "mem.r1.gmt.gz"])
        for rank in (0, 1):
            report = self.installed.report(f"{folder}/mem.r{rank}.gmt.gz")
            check_train(self, report)
            self.assertEqual(report["process"]["rank"], rank)
        lines = recipes.first_commands("clusters.md")
        self.assertEqual([line.split()[1] for line in lines], ["ranks", "report", "check"])
        for line in lines:
            self.run_line(line, folder, **self.installed.environment())

    def mpi_environment(self):
        # root may start ranks, and more of them than there are processors.
        names = "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"
        return self.installed.environment(**dict.fromkeys(names, "1"))

    def check_mpi(self, program, line):
        launcher = shutil.which(program)
        if not launcher:
            self.skipTest(f"no {program} on this machine")
        folder, tools = self.installed.place(), self.installed.place()
        path = os.path.join(tools, line.split()[0])
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {launcher} "$@"\n')
        os.chmod(path, 0o755)
        environment = self.mpi_environment()
        environment["PATH"] = f"{tools}:{environment['PATH']}"
        output = self.run_line(line, folder, **environment)
        for rank in (0, 1):
            self.assertIn(f"rank {rank} ran 20 steps", output)
        self.check_two_ranks(folder)

    def test_open_mpi_records_each_rank(self):
        (line,) = [line for line in commands("clusters.md", "MPI") if line.startswith("mpirun ")]
        self.check_mpi("mpirun.openmpi", line)

    def test_mpich_records_each_rank(self):
        (line,) = [line for line in commands("clusters.md", "MPI") if line.startswith("mpiexec ")]
        self.check_mpi("mpiexec.mpich", line)

    def test_run_records_the_ranks_of_mpi_on_one_machine(self):
        page = " ".join(recipes.read("docs", "clusters.md").split())
        line = re.search(r"`(gpumemtrace run -o 'mem\.r%r\.gmt\.gz' -- mpirun -n 2 python train\.py)`", page)[1]
        self.check_mpi_by_run(line)

    def check_mpi_by_run(self, line):
        if not shutil.which("mpirun.openmpi"):
            self.skipTest("no mpirun.openmpi on this machine")
        folder = self.installed.place()
        output = self.run_line(line, folder, **self.mpi_environment())
        self.assertIn("mem.r1.gmt.gz", output)
        self.check_two_ranks(folder)

    def test_a_name_without_a_rank_gets_it_where_one_is_known(self):
        folder = self.installed.place()
        line = "RANK=3 gpumemtrace run -q -o one.gmt.gz -- python train.py && gpumemtrace run -q -o two.gmt.gz -- python train.py"
        self.run_line(line, folder, **self.installed.environment())
        self.assertEqual(self.names(folder), ["one.r3.gmt.gz", "two.gmt.gz"])

    @unittest.skipUnless(recorded_run.SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
    def test_torchrun_records_each_rank_on_its_own_device(self):
        (line,) = commands("clusters.md", "torchrun")
        (python, *_), libraries = recorded_run.sim_python("train.py")
        folder = self.installed.place("train_torch.py")
        environment = {
            "PATH": f"{os.path.dirname(python)}:{self.installed.venv}/bin:{PLAIN['PATH']}",
            "LD_LIBRARY_PATH": libraries,
            "SIMCUDA_DEVICES": "2",
            "OMP_NUM_THREADS": "1",
        }
        output = self.run_line(line, folder, **environment)
        self.assertEqual(self.names(folder), ["mem.r0.gmt.gz", "mem.r1.gmt.gz"])
        for rank in (0, 1):
            peak = int(re.search(rf"rank {rank} peak (\d+)", output)[1])
            report = self.installed.report(f"{folder}/mem.r{rank}.gmt.gz")
            self.assertTrue(report["complete"])
            self.assertEqual(report["process"]["rank"], rank)
            device = next(one for one in report["devices"] if one["device"] == rank)
            (layer,) = [one for one in device["layers"] if one["layer"] == "torch"]
            self.assertEqual(layer["peak_bytes"], peak)


if __name__ == "__main__":
    tap.main()
