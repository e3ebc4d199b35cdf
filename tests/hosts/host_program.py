# SPDX-License-Identifier: MIT
"""Describes one host program: how it runs, and which results the tests compare. Helpers make its command."""

import dataclasses
import os
import shutil

PROGRAMS = os.environ.get("GMT_TEST_HOSTS", "")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


@dataclasses.dataclass(frozen=True)
class Host:
    """A program and how to run it.

    `files`: files in the working folder, name: text. `normalise`: patterns in both outputs and their replacements, only
    for text that differs between two runs without the recorder. `ignored`: patterns of paths whose content has times or
    inodes in it. `needs`: programs and files; if one is missing, the row is skipped. `package`: their Debian package.
    In a pipeline, each command must read its whole input: after a command that ends early (`head`), chance decides
    whether SIGPIPE kills the command before it.
    """

    name: str
    command: list
    needs: tuple = ()
    package: str = ""
    version: list = None
    files: dict = dataclasses.field(default_factory=dict)
    environment: dict = dataclasses.field(default_factory=dict)
    normalise: tuple = ()
    ignored: tuple = ()
    expected_end: str = "exit 0"
    is_long: bool = False
    expected_text: bytes = b""  # a part of the output, which proves that the program did its work
    is_deterministic: bool = False  # makes the same system calls in each run
    as_root: bool = False
    with_driver: bool = False  # also runs where it could find a driver; with --long all programs do

    def missing(self):
        """Returns what the program needs and the machine lacks, or None."""
        if self.as_root and os.geteuid() != 0:
            return "root's rights"
        for need in self.needs:
            if not (os.path.exists(need) if need.startswith("/") else shutil.which(need)):
                return need
        return None


def program(name):
    """Returns the path of a program of this folder, which Meson builds."""
    return os.path.join(PROGRAMS, name)


def source(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def python():
    """Returns Debian's Python if it exists: pyenv's Python starts as a shell script."""
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else shutil.which("python3") or "python3"


def shell(script, **more):
    return {"command": ["/bin/sh", "-c", script], **more}


def bash(script, *needs, **more):
    return {"command": ["bash", "-c", script], "needs": ("bash", *needs), **more}
