# SPDX-License-Identifier: MIT
"""Installs the program next to a fake recorder, which only writes down its options."""

import os
import shutil

import cli

FAKE = os.path.join(cli.BUILD, "tests", "cli", "libfake_recorder.so")


def install(name, *library, file="libgpumemtrace.so"):
    """Copies the program to its own folder, and the fake recorder, named `file`, to where `library` says."""
    program = cli.place(os.path.join(name, "bin", "gpumemtrace"))
    os.makedirs(os.path.dirname(program), exist_ok=True)
    shutil.copy(cli.CLI, program)
    target = cli.place(os.path.join(name, *library, file))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(FAKE, target)
    return program, target
