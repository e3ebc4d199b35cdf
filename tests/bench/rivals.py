# SPDX-License-Identifier: MIT
"""Other profilers: how scripts/bench runs them on deep.py and reads what they say. scripts/setup/rivals installs them."""

import glob
import json
import os
import re
import shutil
import subprocess

from sampling import HERE, SOURCE

DEEP = os.path.join(HERE, "deep.py")
CHECK_COUNT = 5000


class Unusable(Exception):
    """Why a rival has no figures."""


def last_line(text, otherwise="no word"):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else otherwise


def told_by(text):
    """The JSON that deep.py printed, among what else the rival's program says on stdout."""
    for line in reversed(text.splitlines()):
        if line.startswith(("{", "[")) or re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", line):
            return json.loads(line)
    raise Unusable(f"nothing was measured: {last_line(text)}")


def counted(text, label):
    """The number that stands behind a label, in the words of a rival's reader."""
    found = re.search(re.escape(label) + r"\s*([0-9][0-9,]*)", text)
    if not found:
        raise Unusable(f'its reader does not say "{label}"')
    return int(found.group(1).replace(",", ""))


def install(name, python):
    """What scripts/setup/rivals prints of it, or Unusable."""
    done = subprocess.run(
        [os.path.join(SOURCE, "scripts", "setup", "rivals"), name],
        capture_output=True,
        text=True,
        env={**os.environ, "GPUMEMTRACE_PYTHON": python},
    )
    if done.returncode:
        raise Unusable(f"not here: {last_line(done.stderr)}")
    return last_line(done.stdout)


class Rival:
    """A profiler. `name` is its row; `on_device` says whether it is given calls of the device or of malloc."""

    name, on_device = "", False

    def prepare(self, machine):
        """Installs it; Unusable where that does not go."""

    def run(self, machine, library, arguments, readable=False):
        """What deep.py tells under it. What it recorded lies in `files` until the next run, in a form for its reader if asked."""
        self.forget(machine)
        done = machine.attempt(self.command(machine, [library, *map(str, arguments)], readable))
        if done.returncode:
            raise Unusable(f"ended with {done.returncode}: {last_line(done.stderr, last_line(done.stdout))}")
        return told_by(done.stdout)

    def out(self, machine):
        return os.path.join(machine.folder, "rival-" + re.sub("[^a-z]+", "-", self.name))

    def files(self, machine):
        return glob.glob(self.out(machine) + ".*")

    def forget(self, machine):
        for path in self.files(machine):
            os.unlink(path)

    def read_command(self, machine):
        """Its reader, on what the last run recorded."""
        (path,) = self.files(machine)
        return [*self.reader, path]

    def check(self, machine, count):
        """Unusable, unless its reader finds at least so many allocations in what the last run recorded."""
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
    """What its reader needs is made beside the program, or later: where the program is timed, later."""

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
    """NVIDIA's own, where they are installed and a GPU is there."""

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
    """(those that can be used and see malloc's calls where it is to be seen, {name of another: why not})"""
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
    """PyTorch's own program that makes a page of a pickle."""
    code = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    return os.path.join(machine.run([machine.python, "-c", code]).strip(), "cuda", "_memory_viz.py")
