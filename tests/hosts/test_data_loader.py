# SPDX-License-Identifier: MIT
"""PyTorch's data loader with worker processes behaves the same with the recorder, on the simulated device."""

import os
import re
import unittest

import compare_runs
import host_programs
import tap
from recorded_run import PYTORCH_ABORT, RUNS, SHIM, SIM_PYTHON, cli, sim_python

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "data_loader.py")
# Lengths of pauses, and addresses.
TIMES = ((r'"time_ns": \d+', '"time_ns": T'),)


def run(host, run_folder, preload, libraries):
    """Runs the program again if PyTorch crashed at its end, which happens sometimes also without a recorder."""
    for _ in range(RUNS):
        outcome = compare_runs.run(host, run_folder, preload, libraries)
        if PYTORCH_ABORT.encode() not in outcome.err:
            break
        print("# PyTorch aborted at its own end: the program is run again", flush=True)
    return outcome


@unittest.skipUnless(SIM_PYTHON, "no simulated PyTorch (GMT_TEST_SIM_PYTHON)")
class DataLoader(unittest.TestCase):
    def compare(self, *arguments):
        command, libraries = sim_python(SCRIPT, *arguments)
        host = host_programs.Host(
            "data loader",
            command,
            normalise=TIMES,
            ignored=(r"__pycache__", r"\.gmt\.gz$"),
            environment={"PYTHONDONTWRITEBYTECODE": "1"},
        )
        with compare_runs.RunFolder() as run_folder:
            plain = run(host, run_folder, None, libraries)
            recorded = run(host, run_folder, SHIM, libraries)
            files = [name for name in os.listdir(run_folder.work) if ".gmt" in name]
            reports = [cli("report", "--full", os.path.join(run_folder.work, name)) for name in files]
            again = run(host, run_folder, None, libraries)
        # Only the recording process prints a line of the recorder, and only one.
        different = [line for line in recorded.err.decode().splitlines() if line.startswith("gpumemtrace")]
        recorded.err = re.sub(rb"(?m)^gpumemtrace.*\n", b"", recorded.err)
        return compare_runs.differences(plain, again, recorded), plain, files, reports, different

    def check(self, method):
        differences, plain, files, reports, different = self.compare(method)
        self.assertFalse(differences, differences[:4000])
        self.assertEqual(plain.end, "exit 0", plain.err[-2000:])
        self.assertIn(b"loader done", plain.out)
        # Only the parent uses the device, so only the parent has a file.
        self.assertEqual(len(files), 1)
        self.assertEqual([report.returncode for report in reports], [0], reports[0].stderr)
        self.assertLessEqual(len(different), 1, different)

    def test_workers_that_are_forked_change_nothing_and_leave_no_file(self):
        self.check("fork")

    @unittest.skipUnless(os.environ.get("GMT_TEST_LONG"), "takes long: scripts/test --long")
    def test_workers_that_are_spawned_change_nothing_and_leave_no_file(self):
        self.check("spawn")


if __name__ == "__main__":
    tap.main()
