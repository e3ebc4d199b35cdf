# SPDX-License-Identifier: MIT
"""The environment in which tests open exports in their viewers."""

import json
import os
import shutil
import subprocess
import sys

import cli
import exports

SETUP = os.path.join(cli.SOURCE, "scripts", "setup")
HERE = os.path.dirname(os.path.abspath(__file__))
# The setup scripts keep their folders where the user's environment says.
USERS = dict(os.environ)


def setup(*words):
    """Returns the last line of a setup script, or None if that is not installed."""
    done = subprocess.run(
        [os.path.join(SETUP, words[0]), "--if-ready", *words[1:]], capture_output=True, text=True, env=USERS
    )
    return done.stdout.splitlines()[-1] if done.returncode == 0 else None


def enter_environment(script):
    """Starts this test again in the environment of scripts/setup/viewers. Without it, its tests are skipped."""
    python = setup("viewers")
    if python is None:
        print("1..0 # SKIP run scripts/setup/viewers")
        sys.exit(0)
    if os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(python))):
        os.execve(python, [python, script, *sys.argv[1:]], USERS)


def npm_package(name):
    return os.path.join(sys.prefix, "node_modules", name)


def write(form, path, name, *options):
    """Writes an export to a file and returns its path."""
    out = cli.place(name)
    with open(out, "wb") as file:
        file.write(exports.export(form, path, *options))
    return out


def can_open_pages():
    return shutil.which("node") and shutil.which("chromium") and setup("page")


def open_page(script, *words):
    """Runs a script of this folder, which opens a page in a browser, and returns the JSON that it prints."""
    done = subprocess.run(
        ["node", os.path.join(HERE, script), setup("page"), *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**USERS, "CHROMIUM": shutil.which("chromium")},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
