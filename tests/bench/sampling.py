# SPDX-License-Identifier: MIT
"""Fresh processes, side by side: what all measurements of scripts/bench share."""
import dataclasses
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))


@dataclasses.dataclass
class Row:
    """One line of the table: a figure, and the goal that it is held against (or None)."""
    section: str
    what: str
    unit: str
    low: float                    # the least of all samples
    middle: float                 # their median
    compared: str = ""            # with what, in words, when `figure` is a comparison
    figure: float | None = None   # what the goal is about; None: `low` itself
    figure_unit: str = ""
    middle_figure: float | None = None
    goal: float | None = None     # at most this
    samples: list = dataclasses.field(default_factory=list)

    @property
    def met(self):
        if self.goal is None:
            return None
        return (self.low if self.figure is None else self.figure) <= self.goal


class Machine:
    """Where things are, and how a program is run with and without the shim."""

    def __init__(self, build, python, libraries):
        self.build = os.path.abspath(build)
        self.shim = os.path.join(self.build, "preload", "libgpumemtrace.so")
        self.cli = os.path.join(self.build, "tools", "gpumemtrace")
        self.python = python
        self.libraries = libraries  # LD_LIBRARY_PATH of the simulated device; None: a real one
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-bench.")

    def environment(self, options=None):
        """None: without the shim. Else its options; what it writes goes to `self.folder`."""
        variables = {key: value for key, value in os.environ.items()
                     if key not in ("LD_PRELOAD", "GPUMEMTRACE_OPTIONS")}
        if self.libraries:
            variables["LD_LIBRARY_PATH"] = self.libraries
        if options is not None:
            output = os.path.join(self.folder, "%p.gmt.gz")
            variables["LD_PRELOAD"] = self.shim
            variables["GPUMEMTRACE_OPTIONS"] = ":".join([f"output='{output}'", *([options] if options else [])])
        return variables

    def run(self, command, options=None):
        done = subprocess.run(command, env=self.environment(options), cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=1800)
        if done.returncode:
            sys.exit(f"scripts/bench: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout

    def compile(self, name, *arguments):
        """A program of this folder, for the machine that is measured."""
        out = os.path.join(self.folder, os.path.splitext(name)[0])
        if not os.path.exists(out):
            subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", out, os.path.join(HERE, name), *arguments],
                           check=True)
        return out

    def take_snapshot(self):
        """The file that the last run left. Earlier ones are gone: each caller takes its own."""
        (path,) = glob.glob(os.path.join(self.folder, "*.gmt.gz"))
        taken = os.path.join(self.folder, "taken.gmt.gz")
        os.replace(path, taken)
        return taken

    def forget_snapshots(self):
        for path in glob.glob(os.path.join(self.folder, "*.gmt.gz*")):
            os.unlink(path)

    def report(self, path):
        return json.loads(self.run([self.cli, "report", "--json", path]))


def alternate(variants, cycles, measure, progress):
    """
    `cycles` times each of `variants` in turn, so that whatever else the machine does meets all of them;
    every second cycle backwards, so that none always comes after the same other. Samples by variant.
    """
    samples = {variant: [] for variant in variants}
    for cycle in range(cycles):
        for variant in list(variants)[::-1 if cycle % 2 else 1]:
            progress(f"{cycle + 1}/{cycles} {variant}")
            samples[variant].append(measure(variant))
    return samples


def slower_percent(samples, plain):
    """Of the minima; and the median over cycles, in each of which the two ran one after the other."""
    lows = min(samples) / min(plain)
    pairs = statistics.median(a / b for a, b in zip(samples, plain))
    return (lows - 1) * 100, (pairs - 1) * 100


class Progress:
    """One line on a terminal's stderr; nothing elsewhere."""

    def __init__(self, section):
        self.section = section
        self.shown = sys.stderr.isatty()

    def __call__(self, text):
        if self.shown:
            print(f"\r\033[K{self.section}: {text}", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def spawn_ms(command, environment):
    """Milliseconds from starting a program to its end, its output thrown away."""
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, environment, file_actions=nowhere)
    _, status = os.waitpid(pid, 0)
    elapsed_ms = (time.perf_counter() - start) * 1000
    if status:
        sys.exit(f"scripts/bench: {command[0]} ended with status {status}")
    return elapsed_ms


def time_and_memory(command):
    """(seconds, MiB of memory at most) of a program whose output is thrown away."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = status
    if status:
        sys.exit(f"scripts/bench: {command[0]} failed: {said.decode(errors='replace')[-500:]}")
    return seconds, usage.ru_maxrss / 1024
