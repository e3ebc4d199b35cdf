# SPDX-License-Identifier: MIT
"""Runs other profilers on deep_stack_loop.py for scripts/bench, and reads their output. scripts/setup/profilers installs them."""

import glob
import json
import os
import re
import shutil
import subprocess

from sampling import HERE, SOURCE

DEEP = os.path.join(HERE, "deep_stack_loop.py")
CHECK_COUNT = 5000


class Unusable(Exception):
    """Says why a rival has no figures."""


def last_line(text, otherwise="no word"):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else otherwise


def printed_by(text):
    """Finds the JSON of deep_stack_loop.py among the other output of the rival on stdout."""
    for line in reversed(text.splitlines()):
        if line.startswith(("{", "[")) or re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", line):
            return json.loads(line)
    raise Unusable(f"nothing was measured: {last_line(text)}")


def counted(text, label):
    """Returns the number after a label in the output of a rival's reader."""
    found = re.search(re.escape(label) + r"\s*([0-9][0-9,]*)", text)
    if not found:
        raise Unusable(f'its reader does not say "{label}"')
    return int(found.group(1).replace(",", ""))


def install(name, python):
    """Installs a rival with scripts/setup/profilers. Returns the last line that this prints, or raises Unusable."""
    done = subprocess.run(
        [os.path.join(SOURCE, "scripts", "setup", "profilers"), name],
        capture_output=True,
        text=True,
        env={**os.environ, "GPUMEMTRACE_PYTHON": python},
    )
    if done.returncode:
        raise Unusable(f"not here: {last_line(done.stderr)}")
    return last_line(done.stdout)


class Rival:
    """A profiler. `name` is its row. With `on_device` it profiles device calls, otherwise calls of malloc."""

    name, on_device = "", False

    def prepare(self, machine):
        """Installs the rival, or raises Unusable."""

    def run(self, machine, library, arguments, readable=False):
        """Runs deep_stack_loop.py under the rival and returns its figures.

        The recording stays in `files` until the next run. With `readable`, the rival's reader can read it.
        """
        self.forget(machine)
        done = machine.attempt(self.command(machine, [library, *map(str, arguments)], readable))
        if done.returncode:
            raise Unusable(f"ended with {done.returncode}: {last_line(done.stderr, last_line(done.stdout))}")
        return printed_by(done.stdout)

    def out(self, machine):
        return os.path.join(machine.folder, "rival-" + re.sub("[^a-z]+", "-", self.name))

    def files(self, machine):
        return glob.glob(self.out(machine) + ".*")

    def forget(self, machine):
        for path in self.files(machine):
            os.unlink(path)

    def read_command(self, machine):
        """Returns the command that reads the last recording."""
        (path,) = self.files(machine)
        return [*self.reader, path]

    def check(self, machine, count):
        """Raises Unusable unless the reader finds at least `count` allocations in the last recording."""
        done = machine.attempt(self.read_command(machine))
        if done.returncode:
            raise Unusable(f"its reader ended with {done.returncode}: {last_line(done.stderr, last_line(done.stdout))}")
        found = counted(done.stdout, self.count_label)
        if found < count:
            raise Unusable(f"it saw {found:,} of {count:,} allocations")


class Memray(Rival):
    count_label = "Total allocations:"

    def __init__(self, kind):
        self.kind = kind
        self.name = "memray --native" if kind == "native" else "memray"

    def prepare(self, machine):
        self.python = install("memray", machine.python)
        self.reader = [self.python, "-m", "memray", "stats"]

    def command(self, machine, arguments, readable):
        return [self.python, DEEP, f"{self.kind}:{self.out(machine)}.bin", *arguments]


class Heaptrack(Rival):
    """heaptrack prepares data for its reader while the program runs. With --raw, for timed runs, it does so later."""

    count_label = "calls to allocation functions:"
    name = "heaptrack"

    def prepare(self, machine):
        self.program = install("heaptrack", machine.python)
        self.reader = [os.path.join(os.path.dirname(self.program), "heaptrack_print")]

    def command(self, machine, arguments, readable):
        return [
            self.program,
            *([] if readable else ["--raw"]),
            "-o",
            self.out(machine),
            machine.python,
            DEEP,
            "-",
            *arguments,
        ]


class OnDevice(Rival):
    """NVIDIA's own profilers. They run only where they are installed and a GPU exists."""

    on_device = True

    def __init__(self, name, *prefix):
        self.name = name
        self.prefix = prefix

    def command(self, machine, arguments, readable):
        prefix = [word.replace("OUT", self.out(machine)) for word in self.prefix]
        return [*prefix, machine.python, DEEP, "-", *arguments]


def on_device(machine):
    tools = [
        OnDevice(
            "nsys",
            "nsys",
            "profile",
            "--trace=cuda",
            "--cuda-memory-usage=true",
            "--cudabacktrace=memory:0",
            "--force-overwrite=true",
            "--output=OUT",
        ),
        OnDevice("compute-sanitizer", "compute-sanitizer", "--tool", "memcheck", "--leak-check", "full"),
    ]
    return [tool for tool in tools if not machine.libraries and shutil.which(tool.name)]


def checked(rivals, machine, library):
    """Returns (usable rivals, {name of an unusable rival: reason}). Rivals of malloc must see its calls."""
    usable, unusable = [], {}
    for rival in rivals:
        try:
            rival.prepare(machine)
            if not rival.on_device:
                rival.run(machine, library, ["record", CHECK_COUNT, 64, 0], readable=True)
                rival.check(machine, CHECK_COUNT)
            usable.append(rival)
        except Unusable as why:
            unusable[rival.name] = str(why)
    return usable, unusable


def memory_viz(machine):
    """Returns the path of PyTorch's program that makes an HTML page from a memory snapshot (a pickle)."""
    code = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    return os.path.join(machine.run([machine.python, "-c", code]).strip(), "cuda", "_memory_viz.py")
