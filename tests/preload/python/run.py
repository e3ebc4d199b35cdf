#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the Python tests with each interpreter on this machine: run.py LIBRARY [SCRIPT...]

Prints a line for each. The exit code is 0 when all passed, 1 when one failed, 77 (skipped) without an interpreter of
version NEEDED.
"""

import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
READ = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
NEEDED = "3.11"
TESTS = ["test_init.py", "test_frames.py", "test_texts.py", "test_churn.py"]
# Interpreters with a compiler (3.14) run these scripts compiled.
COMPILED = ["test_frames.py"]
# Before 3.12 code objects have no version number. These scripts run a second time with the option watch_code=off.
WATCHED = ["3.9", "3.10", "3.11"]
UNWATCHED = ["test_churn.py"]
ASK = "import sys, ctypes; print('%d.%d' % sys.version_info[:2], sys.version.split()[0] + getattr(sys, 'abiflags', ''), sys.prefix)"


def candidates():
    folders = os.environ.get("PATH", "").split(":") + ["/usr/bin", "/usr/local/bin"]
    folders += os.environ.get("GMT_TEST_PYTHONS", "").split(":")  # scripts/setup/newer-pythons
    for folder in list(filter(None, folders)) + sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))):
        yield os.path.join(folder, "python3")
        yield from sorted(glob.glob(os.path.join(glob.escape(folder), "python3.[0-9]*[0-9dgt]")))


def find():
    """Finds each working interpreter once: (path, minor version, version)."""
    found = {}
    for path in candidates():
        if os.access(path, os.X_OK):
            try:
                asked = subprocess.run([path, "-c", ASK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            except OSError:  # its loader is in a folder that this user may not enter
                continue
            answer = asked.stdout.decode().split(None, 2)
            if asked.returncode == 0 and len(answer) == 3:
                found.setdefault(tuple(answer), path)
    return [(path, minor, version) for (minor, version, _), path in found.items()]


def can_compile(path):
    return not subprocess.run(
        [path, "-c", "import sys; sys.exit(not sys._jit.is_available())"], stderr=subprocess.DEVNULL
    ).returncode


def run(path, minor, script, environment):
    ways = [environment]
    if script in UNWATCHED and minor in WATCHED:
        ways.append(dict(environment, GMT_TEST_WATCH_CODE="off"))
    if script in COMPILED and can_compile(path):
        ways.append(dict(environment, PYTHON_JIT="1"))
    passed, output = True, ""
    for way in ways:
        asked = subprocess.run(
            [path, os.path.join(HERE, script)], env=way, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        passed = passed and asked.returncode == 0
        output += asked.stdout.decode(errors="replace")
    return passed, output


def main():
    library, *scripts = sys.argv[1:]
    environment = dict(os.environ, GMT_TEST_CAPTURE=os.path.abspath(library), PYTHONDONTWRITEBYTECODE="1")
    ran = set()
    failed = False
    for path, minor, version in sorted(find(), key=lambda each: [int(part) for part in each[1].split(".")]):
        for script in (scripts or TESTS) if minor in READ else [] if scripts else ["test_refused.py"]:
            passed, output = run(path, minor, script, environment)
            print("%s %s: %s %s" % ("passed" if passed else "FAILED", script, version, path), flush=True)
            if not passed or scripts:
                print(output, flush=True)
            failed = failed or not passed
        if minor in READ:
            ran.add(minor)
    for minor in READ:
        if minor not in ran:
            print("skipped: no Python %s on this machine" % minor)
    return 1 if failed else 0 if NEEDED in ran else 77


if __name__ == "__main__":
    sys.exit(main())
