# SPDX-License-Identifier: MIT
"""docs/examples/ci-gate from beginning to end: the gate fails a commit that leaks, and passes its repair."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import recorded_run
import tap

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLE = os.path.join(os.path.dirname(TESTS), "docs", "examples", "ci-gate")


@unittest.skipUnless(recorded_run.SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Gate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        atexit.register(shutil.rmtree, cls.folder, ignore_errors=True)
        command, libraries = recorded_run.sim_python("train.py")
        cls.environment = {
            **os.environ,
            "PYTHON": command[0],
            "LD_LIBRARY_PATH": libraries,
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": os.path.join(cls.folder, "summary.md"),
            "PATH": os.path.dirname(recorded_run.CLI) + os.pathsep + os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            **{
                f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
            },
        }
        cls.repository = os.path.join(cls.folder, "project")
        shutil.copytree(EXAMPLE, cls.repository)
        cls.git("init", "-q")
        cls.commit("Train a classifier")

    @classmethod
    def git(cls, *arguments):
        subprocess.run(
            ["git", *arguments], cwd=cls.repository, env=cls.environment, check=True, timeout=60, capture_output=True
        )

    @classmethod
    def commit(cls, message):
        cls.git("add", "train.py", "gate.sh", "gpumemtrace.limits")
        cls.git("commit", "-qm", message)

    def gate(self, *arguments):
        for _ in range(recorded_run.RUNS):
            done = subprocess.run(
                ["./gate.sh", *arguments],
                cwd=self.repository,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            # A shell and `run` return 128 + SIGABRT.
            if done.returncode != 134 or recorded_run.PYTORCH_ABORT not in done.stderr:
                break
            print("# PyTorch aborted at its own end: the program is run again", flush=True)
        return done

    def test_a_commit_that_leaks_fails_the_gate_and_its_repair_passes(self):
        accepted = self.gate("--update-baseline")
        self.assertEqual(accepted.returncode, 0, accepted.stdout + accepted.stderr)
        self.git("add", "gpumemtrace.baseline")
        self.git("commit", "-qm", "Accept what it holds")
        again = self.gate()
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertTrue("PASSED" in again.stdout, again.stdout)

        self.git("apply", "leak.patch")
        self.commit("Do not wait for the GPU in each step")
        leaking = self.gate()
        self.assertEqual(leaking.returncode, 1, leaking.stdout + leaking.stderr)
        self.check_findings(leaking)

        self.git("revert", "--no-edit", "HEAD")
        repaired = self.gate()
        self.assertEqual(repaired.returncode, 0, repaired.stdout + repaired.stderr)

    def check_findings(self, done):
        with open(os.path.join(self.repository, "train.py")) as file:
            lines = [number for number, line in enumerate(file, 1) if "self.head(" in line or "cross_entropy" in line]
        self.assertIn("GMT002 growth: torch on GPU 0", done.stdout)
        self.assertIn("GMT004 regression: torch on GPU 0", done.stdout)
        self.assertRegex(done.stderr, rf"::error file=train\.py,line=({'|'.join(map(str, lines))}),title=GMT002")
        with open(os.path.join(self.repository, "gate", "gpu-memory.sarif")) as file:
            (run,) = json.load(file)["runs"]
        self.assertIn("GMT002", {row["ruleId"] for row in run["results"]})
        with open(self.environment["GITHUB_STEP_SUMMARY"]) as file:
            self.assertIn("**fails**", file.read())


if __name__ == "__main__":
    tap.main()
