# SPDX-License-Identifier: MIT
"""Records programs of tests/frameworks/programs on the simulated device, each with its framework's own environment."""

import functools
import json
import os
import subprocess
import tempfile
import unittest

from recorded_run import BUILD, SHIM, run_again_after_aborts

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(FOLDER))
CLI = os.path.join(BUILD, "tools", "gpumemtrace")
MIB = 1 << 20


@functools.lru_cache(maxsize=None)
def framework(name):
    """Returns the framework's Python and LD_LIBRARY_PATH, or None if it is not set up."""
    done = subprocess.run(
        [os.path.join(SOURCE, "scripts", "setup", "framework"), "--if-ready", name, BUILD],
        capture_output=True,
        text=True,
        timeout=600,
    )
    return None if done.returncode else done.stdout.splitlines()[-2:]


def needs(name):
    return unittest.skipUnless(framework(name), f"needs scripts/setup/framework {name} BUILD_DIR")


class Run:
    """Runs a program of programs/ and records it. `printed` is the JSON object that it prints last."""

    def __init__(self, name, program, *arguments, recorded=True, options="", **environment):
        python, libraries = framework(name)
        folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        output = os.path.join(folder, "run.gmt.gz")
        preload = {"LD_PRELOAD": SHIM, "GPUMEMTRACE_OPTIONS": f"output='{output}'{options}"} if recorded else {}
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("XLA_", "TF_", "JAX_"))}
        self.done = run_again_after_aborts(
            [python, os.path.join(FOLDER, "programs", program), *arguments],
            timeout=600,
            clean_up=lambda: [os.unlink(entry.path) for entry in os.scandir(folder)],
            env={
                **clean,
                "LD_LIBRARY_PATH": libraries,
                "PYTHONPATH": os.path.join(SOURCE, "python"),
                "TF_CPP_MIN_LOG_LEVEL": "3",
                **preload,
                **environment,
            },
        )
        if self.done.returncode:
            raise AssertionError(f"{program} ended with {self.done.returncode}:\n{self.done.stderr[-3000:]}")
        lines = [line for line in self.done.stdout.splitlines() if line.startswith("{")]
        self.printed = json.loads(lines[-1]) if lines else {}
        # The name of a recording contains the program's rank, if it has one.
        self.path = next((entry.path for entry in os.scandir(folder)), None)

    def text(self, verb, *arguments):
        return subprocess.run([CLI, verb, *arguments, self.path], capture_output=True, text=True, timeout=300).stdout

    def json(self, verb, *arguments):
        return json.loads(self.text(verb, "--json", *arguments))

    def growth(self):
        """Returns layer, line of the program and bytes per step of each finding of growth."""
        return [
            (row["layer"], row["stack"][row["own_frame"]]["line"], row["bytes_per_step"])
            for row in self.json("leaks")["leaks"]
            if row["definition"] == "growth"
        ]

    def gate(self, layer="cuda"):
        """Returns the verdict of `check` on growth in a layer of GPU 0, and its exit status."""
        done = subprocess.run([CLI, "check", "--json", self.path], capture_output=True, text=True, timeout=300)
        (check,) = [
            row
            for row in json.loads(done.stdout)["checks"]
            if (row["name"], row["layer"], row["device"]) == ("growth", layer, 0)
        ]
        return done.returncode, check["state"], check["text"]
