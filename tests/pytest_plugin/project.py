# SPDX-License-Identifier: MIT
"""A project of a user whose tests call CUDA, and runs of pytest in it, on the simulated device."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest
from xml.etree import ElementTree

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GMT_TEST_BUILD") or os.path.join(SOURCE, "build")
SETUP = os.path.join(SOURCE, "scripts", "setup")
PACKAGE = os.path.join(SOURCE, "python")
PLUGIN = "gpumemtrace.pytest_plugin"

# Calls of the CUDA runtime, without a framework.
CUDA = """
import ctypes

runtime = ctypes.CDLL("libcudart.so.13")


def malloc(size_bytes):
    block = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(size_bytes)) == 0
    return block


def free(block):
    assert runtime.cudaFree(block) == 0
"""
HEAD = """
import pytest
from cuda import free, malloc

KiB, MiB = 1 << 10, 1 << 20
kept = []


def work(size_bytes):
    large, small = malloc(size_bytes), malloc(size_bytes // 2)
    free(large)
    free(small)

"""


def environment_of_pytest():
    """Returns the folder of the environment with pytest, or None if it cannot be made here."""
    done = subprocess.run([os.path.join(SETUP, "pytest")], capture_output=True, text=True)
    return done.stdout.splitlines()[-1] if done.returncode == 0 else None


ENVIRONMENT = environment_of_pytest()
PYTHON = os.path.join(ENVIRONMENT or "", "bin", "python")
needs_pytest = unittest.skipUnless(ENVIRONMENT, "no pytest: run scripts/setup/pytest")


def site_packages():
    """Returns the folder with pytest for Python 3.11 and later."""
    (folder,) = glob.glob(os.path.join(ENVIRONMENT, "lib", "python3*", "site-packages"))
    return folder


class Project(unittest.TestCase):
    """A test with a project in a temporary folder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-pytest-test.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.mkdir(self.place("tmp"))
        self.write("cuda.py", CUDA)
        self.write("pytest.ini", "[pytest]\nasyncio_default_fixture_loop_scope = function\n")

    def place(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.place(name)), exist_ok=True)
        with open(self.place(name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))

    def write_tests(self, text, name="test_project.py"):
        """Writes a file of tests, after the lines that all of them need."""
        self.write(name, HEAD + textwrap.dedent(text))

    def environment(self, **variables):
        plain = {
            name: value
            for name, value in os.environ.items()
            if name not in ("LD_PRELOAD", "PYTHONPATH") and not name.startswith(("GMT_", "GPUMEMTRACE_", "PYTEST_"))
        }
        return {
            **plain,
            "PATH": os.path.join(BUILD, "tools") + ":" + plain.get("PATH", "/usr/bin:/bin"),
            "LD_LIBRARY_PATH": os.path.join(BUILD, "simcuda"),
            "PYTHONPATH": f"{PACKAGE}:{self.folder}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": self.place("tmp"),
            "XDG_CACHE_HOME": self.place("cache"),
            **variables,
        }

    def run_pytest(self, *arguments, code=None, python=PYTHON, plugin=True, **variables):
        """Runs pytest with the plugin. Returns its output. Without `code`, any exit code is right."""
        words = [python, "-m", "pytest", *(["-p", PLUGIN] if plugin else []), "-q", *arguments]
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=280,
        )
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def record(self, *arguments, **more):
        return self.run_pytest("--gpumemtrace", *arguments, **more)

    def junit(self, path):
        """Returns the properties of each test in a JUnit file."""
        return {
            case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
            for case in ElementTree.parse(self.place(path)).iter("testcase")
        }

    def left_behind(self):
        """Returns the names of files that a run left in the folder for temporary files."""
        return [name for name in os.listdir(self.place("tmp")) if name.startswith("gpumemtrace")]


def table(output):
    """Returns {test: (peak, left, allocations)} of the table at the end."""
    rows = re.findall(
        r"^ +(\S+ \S+) +(\S+ \S+) +([\d,]+)  (\S.*)$", output.partition("GPU memory (gpumemtrace)")[2], re.M
    )
    return {test: (peak, left, int(count.replace(",", ""))) for peak, left, count, test in rows}
