# SPDX-License-Identifier: MIT
"""Runs the command line, and writes synthetic recordings for it."""

import atexit
import json
import os
import re
import shutil
import subprocess
import tempfile

import tap
from recorded_run import BUILD, CLI, SOURCE, TESTS  # noqa: F401 (tests use cli.TESTS)

MAKE = os.path.join(BUILD, "tests", "unit", "make_recording")
FOLDER = tempfile.mkdtemp(prefix="gpumemtrace-test.")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

# The user's colour settings must not change the output of tests.
PLAIN = {
    key: value
    for key, value in os.environ.items()
    if key not in ("NO_COLOR", "CLICOLOR_FORCE", "LD_PRELOAD", "GPUMEMTRACE_OPTIONS")
}
# Tests must not use the user's own symbol cache.
PLAIN["XDG_CACHE_HOME"] = os.path.join(FOLDER, "cache")
main = tap.main


def place(name):
    return os.path.join(FOLDER, name)


def sources_below(folder):
    """Returns the paths of all C files and headers in a folder and its subfolders."""
    found = [
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith((".c", ".h"))
    ]
    assert found, folder
    return sorted(found)


def run(*arguments, environment=None, cwd=None, text=True, **more):
    return subprocess.run(
        [CLI, *arguments],
        capture_output=True,
        text=text,
        timeout=120,
        cwd=cwd or FOLDER,
        env={**PLAIN, **(environment or {})},
        **more,
    )


def make(name, **settings):
    """Makes a synthetic recording and returns its path. See tests/unit/helpers/make_recording.c for the settings."""
    subprocess.run([MAKE, place(name), *(f"{key}={value}" for key, value in settings.items())], check=True, timeout=120)
    return place(name)


def report(path, *arguments):
    (answer,) = reports("report", *arguments, path)
    return answer


def reports(verb, *arguments, code=0):
    """Returns what `verb --json` prints: the object of each recording."""
    done = run(verb, "--json", *arguments)
    assert done.returncode == code, done.stderr
    assert not done.stdout or done.stdout.endswith("\n"), done.stdout
    return [json.loads(line) for line in done.stdout.splitlines()]


def unwrapped(text):
    """Returns text without the breaks of long lines: a line with a large indent may continue the one above."""
    return re.sub(r"\n {4,}", " ", text)


def read_source(*parts):
    """Returns the text of a file of the repository."""
    with open(os.path.join(SOURCE, *parts), encoding="utf-8") as file:
        return file.read()


def operands_of_verbs():
    """Returns the operands of each verb, as `--help` shows them."""
    return dict(re.findall(r'^GMT_COMMAND\((\w+), "([^"]*)"', read_source("tools", "options", "commands.def"), re.M))


def verbs():
    return list(operands_of_verbs())


def verbs_that_read():
    """Returns the verbs whose operands are recordings."""
    return [verb for verb, operands in operands_of_verbs().items() if re.search(r"\bfile|\bbase", operands)]


def help_options(verb):
    return re.findall(r"^  (?:-\w, |    )--([\w-]+)", run(verb, "--help").stdout, re.M)
