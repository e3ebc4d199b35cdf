# SPDX-License-Identifier: MIT
"""
In a whole run of PyTorch, each native stack of the recorder equals the stack of another unwinder. Each Python stack
equals the frames of the interpreter.
"""

import os
import subprocess
import unittest

import selftests
import tap
from recorded_run import SIM_PYTHON, RecordedRun, built, cli, sim_python

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
ONE, TWO = (built(f"libloaded-{name}.so") for name in ("one", "two"))


@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class TorchSelftest(selftests.Selftest):
    def test_a_training_loop(self):
        command, libraries = sim_python(os.path.join(SCRIPTS, "transformer_loop.py"), "2")
        run = RecordedRun(command, {"selftest": 1}, libraries=libraries)
        self.check(run, 10000)
        self.check(run, 4000, selftests.PYTHON)

    def test_generators_coroutines_exceptions_threads_and_code_that_comes_and_goes(self):
        command, libraries = sim_python(os.path.join(SCRIPTS, "python_selftest.py"), "60")
        run = RecordedRun(command, {"selftest": 1}, libraries=libraries)
        self.check(run, 5000, selftests.PYTHON)
        self.check(run, 5000)
        shown = cli("info", run.file)
        self.assertRegex(shown.stdout, selftests.PYTHON)

    def test_exceptions_signals_greenlets_routines_and_libraries_that_come_and_go(self):
        command, libraries = sim_python(
            os.path.join(SCRIPTS, "selftest.py"), built("libselftest.so"), "all", "40", ONE, TWO
        )
        asked = subprocess.run(
            [os.path.join(os.path.dirname(SIM_PYTHON), "setup", "greenlet"), command[0]], capture_output=True, text=True
        )
        if asked.returncode == 77:
            self.skipTest("greenlet cannot be had: " + asked.stderr.strip())
        self.assertEqual(asked.returncode, 0, asked.stderr)
        run = RecordedRun(command, {"selftest": 1}, {"PYTHONPATH": asked.stdout.splitlines()[-1]}, libraries=libraries)
        self.check(run, 5000)
        self.check(run, 5000, selftests.PYTHON)


if __name__ == "__main__":
    tap.main()
