# SPDX-License-Identifier: MIT
"""Shared by the tests of packages: builds a wheel, installs it, and records a program with it."""

import json
import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GMT_TEST_BUILD") or os.path.join(SOURCE, "build")
SIMCUDA = os.path.join(BUILD, "simcuda")
PACKAGING = os.path.join(SOURCE, "scripts", "packaging")
PROGRAM = os.path.join(SOURCE, "tests", "package", "allocate.py")

# Variables of the tests must not help a package to find its files.
PLAIN = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "LD_PRELOAD") and not name.startswith(("GMT_", "GPUMEMTRACE_"))
}


def run(*command, cwd="/", timeout=600, **variables):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=cwd, env={**PLAIN, **variables})


def must(*command, **more):
    """Runs a command that must succeed, and returns its output."""
    done = run(*command, **more)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def make(what, *arguments):
    """Builds packages by scripts/package and returns their paths. This takes minutes."""
    return [
        os.path.join(SOURCE, line)
        for line in must(os.path.join(SOURCE, "scripts", "package"), what, *arguments, timeout=3000).splitlines()
    ]


def debian_python():
    """Returns Debian's Python, whose packages pip and venv need; another one if there is none."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def write_wheel(folder, platform="linux_x86_64", licenses=""):
    """Writes the wheel of this build, which runs only on this machine. Returns its path."""
    root = os.path.join(folder, "installed")
    must("meson", "install", "-C", BUILD, "--no-rebuild", "--strip", "--destdir", root, cwd=SOURCE)
    # The build has the usual prefix. A wheel has none, and its libraries are in lib.
    prefix = os.path.join(root, "usr", "local")
    libraries = os.path.join(prefix, "lib")
    for place in [os.path.join(libraries, name) for name in os.listdir(libraries)]:
        if os.path.isdir(os.path.join(place, "gpumemtrace")):
            for name in os.listdir(place):
                os.rename(os.path.join(place, name), os.path.join(libraries, name))
            os.rmdir(place)
    return must(sys.executable, "-B", os.path.join(PACKAGING, "wheel.py"), prefix, platform, licenses, folder).strip()


def check_recording(case, command, folder, simcuda=SIMCUDA, **variables):
    """Records the program and checks the report. `command` starts with the words that start gpumemtrace."""
    environment = {"LD_LIBRARY_PATH": simcuda, **variables}
    path = os.path.join(folder, "x.gmt.gz")
    if os.path.exists(path):
        os.remove(path)
    words = [*command, "run", "-o", path, "--", debian_python(), PROGRAM]
    done = run(*words, cwd=folder, **environment)
    case.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
    case.assertIn("next: gpumemtrace report", done.stderr)
    check_report(case, must(*command, "report", "--json", path, cwd=folder))


def check_report(case, text):
    """Checks `report --json` of the program: counts, and functions of its Python and native stacks."""
    report = json.loads(text)
    case.assertTrue(report["complete"])
    cuda = next(one for one in report["devices"][0]["layers"] if one["layer"] == "cuda")
    case.assertEqual((cuda["alloc_count"], cuda["free_count"]), (10, 5))
    case.assertIn('"function":"main"', text)
    case.assertIn('"function":"__libc_start_main"', text)


# Opens the recording that check_recording made in a root, and reads it in both ways of the Python package.
TABLES = """
import gpumemtrace
from gpumemtrace import _library
with gpumemtrace.open("/tmp/work/x.gmt.gz") as recording:
    capsule = recording.table("blocks").__arrow_c_stream__()
    print(recording.report().layer("cuda").alloc_count, len(recording.tables), _library.get()._library._name)
"""


def check_tables(case, text):
    """Checks what TABLES printed: the counts of the program of the tests, and which library was loaded."""
    allocations, tables, path = text.split()
    case.assertEqual((allocations, tables), ("10", "12"))
    case.assertTrue(path.endswith("/libgpumemtrace-read.so.1"), path)
    return path
