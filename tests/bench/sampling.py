# SPDX-License-Identifier: MIT
"""Runs variants in new processes, in alternation. All measurements of scripts/bench use this."""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
TORCH_ABORT, TORCH_RUNS = "terminate called without an active exception", 4


class Effort:
    """The amount of measurements: "full", "quick" (a first impression) or "tiny" (only tests that it runs)."""

    def __init__(self, size="full", processes=None):
        self.size = size
        self.chosen = processes

    def pick(self, full, quick, tiny):
        return {"full": full, "quick": quick, "tiny": tiny}[self.size]

    def processes(self, full, quick):
        """Returns the number of processes for each variant. The user's choice has precedence."""
        return self.chosen or self.pick(full, quick, 1)


class Machine:
    """The paths on the measured machine. Runs programs with and without the shim."""

    def __init__(self, build, python, libraries):
        self.build = os.path.abspath(build)
        self.shim = os.path.join(self.build, "preload", "libgpumemtrace.so")
        self.cli = os.path.join(self.build, "tools", "gpumemtrace")
        self.python = python
        self.libraries = libraries  # LD_LIBRARY_PATH of the simulated device; None: a real one
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-bench.")

    def environment(self, options=None, preload=()):
        """Returns the environment of a program, with the shim unless `options` is None.

        `options` are the shim's; it writes to `self.folder`. The libraries in `preload` come after the shim.
        """
        variables = {
            key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "GPUMEMTRACE_OPTIONS")
        }
        if self.libraries:
            variables["LD_LIBRARY_PATH"] = self.libraries
        if options is not None:
            output = os.path.join(self.folder, "%p.gmt.gz")
            variables["GPUMEMTRACE_OPTIONS"] = ":".join([f"output='{output}'", *([options] if options else [])])
        libraries = [*([self.shim] if options is not None else []), *preload]
        if libraries:
            variables["LD_PRELOAD"] = ":".join(libraries)
        return variables

    def attempt(self, command, options=None, preload=()):
        """Runs a program. Returns its exit code, whatever it is, and its output."""
        return subprocess.run(
            command,
            env=self.environment(options, preload),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1800,
        )

    def run(self, command, options=None, preload=()):
        """Returns a program's output. Ends the benchmark if the program failed."""
        done = self.attempt(command, options, preload)
        if done.returncode:
            sys.exit(f"scripts/bench: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout

    def run_torch(self, command, options=None):
        """Returns the output of a PyTorch program, and leaves only its recording.

        Runs it again if PyTorch crashed at its end (docs/internals/testing.md).
        """
        for _ in range(TORCH_RUNS):
            self.forget_recordings()
            done = self.attempt(command, options)
            if done.returncode != -signal.SIGABRT or not done.stderr.rstrip().endswith(TORCH_ABORT):
                break
        if done.returncode:
            sys.exit(f"scripts/bench: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout

    def compile(self, name, *arguments, out=None):
        """Compiles a program of this folder for the measured machine. Returns its path."""
        out = os.path.join(self.folder, out or os.path.splitext(name)[0])
        if not os.path.exists(out):
            subprocess.run(
                [os.environ.get("CC", "cc"), "-O2", "-o", out, os.path.join(HERE, name), *arguments], check=True
            )
        return out

    def take_recording(self):
        """Returns the recording of the last run. Each caller takes its own recording, so only one exists."""
        (path,) = glob.glob(os.path.join(self.folder, "*.gmt.gz"))
        taken = os.path.join(self.folder, "taken.gmt.gz")
        os.replace(path, taken)
        return taken

    def forget_recordings(self):
        for path in glob.glob(os.path.join(self.folder, "*.gmt.gz*")):
            os.unlink(path)

    def report(self, path):
        return json.loads(self.run([self.cli, "report", "--json", path]))


def alternate(variants, cycles, measure, progress, text_of=None):
    """
    Measures all variants in turn, `cycles` times, so that other load on the machine affects all of them.
    Every second cycle runs backwards, so that the predecessor of a variant changes. Returns {variant: samples}.
    `text_of`, if given, makes text of a sample; each sample is then printed immediately.
    """
    samples = {variant: [] for variant in variants}
    for cycle in range(cycles):
        for variant in list(variants)[:: -1 if cycle % 2 else 1]:
            progress(f"{cycle + 1}/{cycles} {variant}")
            samples[variant].append(measure(variant))
            if text_of:
                progress.say(f"{cycle + 1}/{cycles} {variant}: {text_of(samples[variant][-1])}")
    return samples


class Progress:
    """Prints the current work on stderr, on a terminal in one changing line. Lasting messages get their own lines."""

    def __init__(self, section):
        self.section = section
        self.shown = sys.stderr.isatty()

    def __call__(self, text):
        if self.shown:
            print(f"\r\033[K{self.section}: {text}", end="", file=sys.stderr, flush=True)

    def say(self, text):
        self.end()
        print(f"{self.section}: {text}", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def spawn_ms(command, environment):
    """Returns the milliseconds from a program's start to its end. Discards its output."""
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, environment, file_actions=nowhere)
    _, status = os.waitpid(pid, 0)
    elapsed_ms = (time.perf_counter() - start) * 1000
    if status:
        sys.exit(f"scripts/bench: {command[0]} ended with status {status}")
    return elapsed_ms


def runtime_arguments(machine):
    """Returns the arguments that compile and link a C program with the runtime of the measured device."""
    headers = []
    with open(os.path.join(machine.build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        for option in json.load(file):
            if option["name"] == "cudaheaders" and option["value"]:
                headers = option["value"].split(":")
    headers = headers or [path for path in ("/usr/local/cuda/include",) if os.path.isdir(path)]
    library = os.path.join(machine.build, "simcuda", "libcudart.so.13") if machine.libraries else "-lcudart"
    return [*(f"-I{path}" for path in headers), library]


def time_and_memory(command, environment=None):
    """Runs a program and drops its output. Returns (seconds, peak MiB of memory, processor seconds of all threads)."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = status
    if status:
        sys.exit(f"scripts/bench: {command[0]} failed: {said.decode(errors='replace')[-500:]}")
    return seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime
