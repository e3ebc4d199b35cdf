# SPDX-License-Identifier: MIT
"""Shared by the tests of recipes: the wheel in an environment, commands of the pages, reports of recordings."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(FOLDER))
sys.path.insert(0, os.path.join(SOURCE, "tests", "package"))

import packages  # noqa: E402
from packages import SIMCUDA, must, run  # noqa: E402, F401

PROGRAMS = os.path.join(FOLDER, "programs")
STEPS, MIB = 20, 1 << 20  # of programs/train.py


def read(*names):
    with open(os.path.join(SOURCE, *names), encoding="utf-8") as file:
        return file.read()


class Installed:
    """A Python environment with the wheel of this build, and a folder with the training script as train.py."""

    def __init__(self, case):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-recipes.")
        case.addClassCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        self.wheel = packages.write_wheel(self.folder)
        self.venv = os.path.join(self.folder, "venv")
        must(packages.debian_python(), "-m", "venv", self.venv)
        must(f"{self.venv}/bin/pip", "install", "--no-index", "--no-deps", self.wheel)

    def place(self, program="train.py"):
        """Returns a new folder that has a program of the tests as train.py."""
        folder = tempfile.mkdtemp(dir=self.folder)
        os.chmod(folder, 0o755)
        shutil.copy(os.path.join(PROGRAMS, program), os.path.join(folder, "train.py"))
        return folder

    def library_folder(self):
        return os.path.dirname(must(f"{self.venv}/bin/gpumemtrace", "env", "--path").strip())

    def report(self, path):
        return json.loads(must(f"{self.venv}/bin/gpumemtrace", "report", "--json", path))

    def environment(self, *first, **more):
        """Returns variables in which the folders `first` and then those of the environment are first in PATH."""
        path = os.pathsep.join([*first, f"{self.venv}/bin", packages.PLAIN["PATH"]])
        return {"PATH": path, "LD_LIBRARY_PATH": SIMCUDA, **more}


def code_blocks(page, heading, language="sh"):
    """Returns the blocks of code of a language in a section of a page of docs."""
    text = read("docs", page)
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)


def commands(page, heading):
    """Returns the command lines of a section, without comments."""
    text = "\n".join(code_blocks(page, heading)).replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def first_commands(page):
    """Returns the command lines before the first section of a page, without comments behind them."""
    text = read("docs", page).partition("\n## ")[0]
    return [re.sub(r"\s+#.*", "", line) for line in re.search(r"^```sh\n(.*?)^```$", text, re.M | re.S)[1].splitlines()]


def layer_of(report, layer, device=0):
    return next(one for one in report["devices"][device]["layers"] if one["layer"] == layer)


def check_train(case, report, kept=0):
    """Checks the report of programs/train.py: its allocations, and the function that made them."""
    case.assertTrue(report["complete"])
    layer = layer_of(report, "cuda")
    case.assertEqual((layer["alloc_count"], layer["free_count"]), (STEPS, STEPS - kept))
    case.assertEqual(layer["peak_bytes"], max(kept, 1) * MIB)


@functools.lru_cache(maxsize=None)
def linters():
    """Returns the folder of the programs that check the recipes' files, or None if they are not installed."""
    done = subprocess.run(
        [os.path.join(SOURCE, "scripts", "setup", "linters"), "--if-ready"], capture_output=True, text=True, timeout=60
    )
    return done.stdout.splitlines()[-1] if done.returncode == 0 else None


def is_long():
    return bool(os.environ.get("GMT_TEST_LONG"))
