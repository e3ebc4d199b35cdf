# SPDX-License-Identifier: MIT
"""Runs programs under the recorder and reads their recordings."""

import atexit
import functools
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile

import shared_recordings
from definitions import SOURCE, Layer

TESTS = os.path.join(SOURCE, "tests")
BUILD = os.environ.get("GMT_TEST_BUILD") or os.getcwd()
SHIM = os.path.join(BUILD, "preload", "libgpumemtrace.so")
CLI = os.path.join(BUILD, "tools", "gpumemtrace")
SIMCUDA = os.path.join(BUILD, "simcuda")
SIM_PYTHON = os.environ.get("GMT_TEST_SIM_PYTHON")


# Layers of events. The layer CUDA has the program's own allocations. DRIVER has contexts, code and limits.
CUDA, TORCH, DRIVER = Layer.CUDA, Layer.TORCH, Layer.DRIVER
IMPORTED, VIEW, CUSTOM = Layer.IMPORTED, Layer.VIEW, Layer.CUSTOM

# The functions of libc that replace the program. The recorder exports each of them.
EXEC_FUNCTIONS = "execve execv execvp execvpe execl execle execlp fexecve execveat".split()


def built(name):
    """Returns the path of a program or library that Meson builds for this test."""
    return os.path.join(os.environ["GMT_TEST_PROGRAMS"], name)


PYTORCH_ABORT = "terminate called without an active exception"
RUNS = 4


class Aborts:
    """Counts how often PyTorch aborted a program at its end. Each time is printed."""

    count = 0


def ended_by_pytorch(run):
    """Returns whether PyTorch aborted. PyTorch 2.15 may do so without the recorder too (docs/internals/testing.md)."""
    return run.returncode == -signal.SIGABRT and run.stderr.rstrip().endswith(PYTORCH_ABORT)


def run_with(command, meanwhile, timeout, **how):
    """Works like subprocess.run, but calls `meanwhile` with the running process. `meanwhile` may talk to it."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
    ) as process:
        try:
            meanwhile(process)
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def run_again_after_aborts(command, clean_up=lambda: None, meanwhile=None, **how):
    """Runs a program, and repeats it a few times if PyTorch aborts it. Calls `clean_up` before each new run."""
    for _ in range(RUNS):
        run = (
            run_with(command, meanwhile, **how)
            if meanwhile
            else subprocess.run(command, capture_output=True, text=True, **how)
        )
        if not ended_by_pytorch(run):
            break
        Aborts.count += 1
        print(f"# PyTorch aborted at its own end (abort {Aborts.count}): the program is run again", flush=True)
        clean_up()
    return run


class RecordedRun:
    """One run under the recorder, in its own folder: exit code, output, recordings."""

    def __init__(
        self, command, options=None, environment=None, preload=SHIM, libraries=SIMCUDA, timeout=300, meanwhile=None
    ):
        """Calls `meanwhile(recording, process)` while the program runs."""
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        atexit.register(shared_recordings.remove_below, self.folder)
        # A busy machine must not lose events, except in a test of losses.
        settings = {"output": os.path.join(self.folder, "%p.gmt.gz"), "overflow": "wait", **(options or {})}
        text = ":".join(f"{key}='{value}'" for key, value in settings.items() if value is not None)
        variables = {**os.environ, "GPUMEMTRACE_OPTIONS": text, **(environment or {})}
        # libraries=None removes the user's LD_LIBRARY_PATH, so that the program finds no driver.
        variables.pop("LD_LIBRARY_PATH", None)
        if libraries:
            variables["LD_LIBRARY_PATH"] = libraries
        # env(1) sets LD_PRELOAD for the program alone, not for the processes of this test.
        self.run = run_again_after_aborts(
            ["env", f"LD_PRELOAD={preload}", *command],
            self.remove_files,
            env=variables,
            cwd=self.folder,
            timeout=timeout,
            meanwhile=meanwhile and (lambda process: meanwhile(self, process)),
        )
        self.out, self.err, self.code = self.run.stdout, self.run.stderr, self.run.returncode

    def remove_files(self):
        for path in self.files:
            os.unlink(path)

    def rows_so_far(self, kind):
        """Returns the rows of a file that the recorder still writes, or none before the file exists."""
        dumped = cli("dump", "--json", *self.files[:1], "--record", kind) if self.files else None
        return [json.loads(line) for line in dumped.stdout.splitlines()] if dumped and dumped.returncode == 0 else []

    @property
    def files(self):
        return sorted(glob.glob(os.path.join(self.folder, "**", "*.gmt.gz*"), recursive=True))

    @property
    def file(self):
        (only,) = self.files
        return only

    def records(self, kind=None):
        return records(self.file, kind)

    def events(self, layer=CUDA):
        return events(self.file, layer)

    def report(self, *arguments):
        return report(self.file, *arguments)

    def totals(self, layer="cuda"):
        """Returns the report's totals of a layer of the first device."""
        (found,) = (row for row in self.report()["devices"][0]["layers"] if row["layer"] == layer)
        return found


def cli(*arguments):
    return subprocess.run([CLI, *arguments], capture_output=True, text=True, timeout=300)


def records(path, kind=None):
    """Returns all records of a recording as dictionaries, in the order of the file."""
    arguments = ["dump", "--json", path] + (["--record", kind] if kind else [])
    done = cli(*arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def events(path, layer=CUDA):
    """Returns the events of one layer, in the file's order."""
    return [row for row in records(path, "event") if row["layer"] == layer]


def report(path, *arguments):
    done = cli("report", "--json", path, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@functools.lru_cache(maxsize=None)
def setup_output(*command):
    """Returns the last line that a script of scripts/setup prints. The script runs once for each test file."""
    setup = os.path.join(os.path.dirname(SIM_PYTHON), "setup")
    return subprocess.run(
        [os.path.join(setup, command[0]), *command[1:]], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]


def sim_python(script, *arguments):
    """Returns the command that runs a script with real PyTorch on the simulated device, and its library path."""
    return [setup_output("python"), script, *arguments], setup_output("stubs", BUILD)
