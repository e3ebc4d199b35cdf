# SPDX-License-Identifier: MIT
"""Describes one host program: how it runs, and which results the tests compare."""

import dataclasses
import os
import shutil


@dataclasses.dataclass(frozen=True)
class Host:
    """One row.

    `given` are files in the working folder. `normalise` are patterns in both outputs and their replacements, only for
    text that differs between two runs without the recorder. `ignored` are patterns of paths whose content has times or
    inodes in it. Without the programs and files in `needs` the row is skipped; `package` is their Debian package. In a
    pipeline, each command must read its whole input: if one ends early (`head`), chance decides whether SIGPIPE kills
    the command before it.
    """

    name: str
    command: list
    needs: tuple = ()
    package: str = ""
    version: list = None
    given: dict = dataclasses.field(default_factory=dict)
    environment: dict = dataclasses.field(default_factory=dict)
    normalise: tuple = ()
    ignored: tuple = ()
    ends: str = "exit 0"
    is_long: bool = False
    says: bytes = b""  # a part of its output, which proves that it did its work
    is_deterministic: bool = False  # makes the same system calls each time
    as_root: bool = False
    with_driver: bool = False  # runs also with a driver that it could find, even without --long

    def missing(self):
        """Returns a thing that the program needs and the machine lacks, or None."""
        if self.as_root and os.geteuid() != 0:
            return "root's rights"
        for need in self.needs:
            if not (os.path.exists(need) if need.startswith("/") else shutil.which(need)):
                return need
        return None
