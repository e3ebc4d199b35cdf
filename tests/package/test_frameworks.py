# SPDX-License-Identifier: MIT
"""The wheel in one environment with the PyTorch, JAX or CuPy of the package index, on the simulated device.

Only with --long: the wheel's libraries are compiled first, and JAX is a large download.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import packages
import tap
from packages import SOURCE, make, must, run

SETUP = os.path.join(SOURCE, "scripts", "setup")
PROGRAM = os.path.join(SOURCE, "tests", "package", "use_framework.py")


def last_lines(count, *words):
    """Returns the last lines that a setup script prints, or None if it cannot set up."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    return done.stdout.splitlines()[-count:] if done.returncode == 0 else None


def framework(name):
    """Returns the Python of the framework's environment and the LD_LIBRARY_PATH for it, or None."""
    if name != "torch":
        return last_lines(2, os.path.join(SETUP, "framework"), "--if-ready", name, packages.BUILD)
    python = last_lines(1, os.path.join(SETUP, "python"), "--if-ready")
    return python and python + last_lines(1, os.path.join(SETUP, "stubs"), packages.BUILD)


class NextToFrameworks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.environ.get("GMT_TEST_LONG"):
            raise unittest.SkipTest("only with --long: building the wheel takes minutes")
        (cls.wheel,) = make("wheel", "x86_64")
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-frameworks.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)

    def environment(self, python):
        """Returns a new environment that has the packages of another one, and the wheel."""
        venv = tempfile.mkdtemp(dir=self.folder)
        must(python, "-m", "venv", venv)
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        (theirs,) = must(python, "-c", ask).splitlines()
        (mine,) = must(f"{venv}/bin/python", "-c", ask).splitlines()
        with open(os.path.join(mine, "framework.pth"), "w", encoding="utf-8") as file:
            file.write(theirs + "\n")
        must(f"{venv}/bin/python", "-m", "pip", "install", "--no-index", "--no-deps", self.wheel)
        return venv

    def check(self, name, **variables):
        """Runs the program with and without the recorder. Returns what it printed, and its layer on GPU 0."""
        found = framework(name)
        if not found:
            self.skipTest(f"needs scripts/setup/framework {name} BUILD_DIR")
        python, libraries = found
        venv = self.environment(python)
        folder = tempfile.mkdtemp(dir=self.folder)
        variables = {**variables, "LD_LIBRARY_PATH": libraries}
        words = [f"{venv}/bin/python", PROGRAM, name]
        plain = run(*words, cwd=folder, **variables)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(os.listdir(folder), [])
        done = run(f"{venv}/bin/gpumemtrace", "run", "-o", "x.gmt.gz", "--", *words, cwd=folder, **variables)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        report = json.loads(must(f"{venv}/bin/gpumemtrace", "report", "--json", "x.gmt.gz", cwd=folder))
        self.assertTrue(report["complete"])
        self.assertEqual(sum(report["anomalies"].values()), 0)
        printed = json.loads(done.stdout.splitlines()[-1])
        return printed, next(one for one in report["devices"][0]["layers"] if one["layer"] == printed["layer"])

    def check_bytes(self, name, **variables):
        printed, layer = self.check(name, **variables)
        self.assertEqual((layer["total_alloc_bytes"], layer["peak_bytes"]), (printed["total"], printed["peak"]))

    def test_a_program_with_pytorch_is_recorded_to_the_byte_on_the_simulated_device(self):
        self.check_bytes("torch")

    def test_a_program_with_cupy_is_recorded_to_the_byte_on_the_simulated_device(self):
        self.check_bytes("cupy")

    def test_a_program_with_jax_is_recorded_to_the_byte_on_the_simulated_device(self):
        # By default, JAX takes one large block from CUDA and hands out parts of it.
        settings = {"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self.check_bytes("jax", **settings)


if __name__ == "__main__":
    tap.main()
