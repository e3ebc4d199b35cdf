# SPDX-License-Identifier: MIT
"""One host program: how it is run, and what is compared."""

import dataclasses
import os
import shutil


@dataclasses.dataclass(frozen=True)
class Host:
    """One row.

    `given` are files in the working folder. `normalise` are patterns in both outputs and what stands for
    them: only what differs between two runs without the recorder. `ignored` are patterns of paths whose
    content has times or inodes in it. `needs` are programs or files without which the row is skipped;
    `package` is where Debian has them. A command in a pipeline reads all that it gets: behind one that ends early (`head`), chance
    decides whether the program in front of it is killed by its pipe.
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
    says: bytes = b""  # a part of its output, to know that it did what it was asked
    is_deterministic: bool = False  # makes the same system calls each time
    as_root: bool = False
    with_driver: bool = False  # in every run also where a driver could be found

    def missing(self):
        """What it cannot run without, or None."""
        if self.as_root and os.geteuid() != 0:
            return "root's rights"
        for need in self.needs:
            if not (os.path.exists(need) if need.startswith("/") else shutil.which(need)):
                return need
        return None
