# SPDX-License-Identifier: MIT
"""Finds the program gpumemtrace, and says why a machine cannot run it."""

from __future__ import annotations

import os
import platform
import shutil
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def find() -> str:
    """Returns the path of the program: in the wheel, in the installation that contains this package, or on PATH."""
    in_wheel = os.path.join(_FOLDER, "bin", "gpumemtrace")
    if os.path.isdir(os.path.join(_FOLDER, "lib")):
        return in_wheel
    installed = os.path.normpath(os.path.join(_FOLDER, "..", "..", "..", "..", "bin", "gpumemtrace"))
    return installed if os.access(installed, os.X_OK) else shutil.which("gpumemtrace") or in_wheel


def why_unsuitable() -> Optional[str]:
    """Returns why this machine cannot run the program, or None."""
    machine = platform.machine()
    if sys.platform != "linux":
        return f"it needs Linux; this is {platform.system()}"
    if machine not in ("x86_64", "aarch64") or sys.maxsize < 2**32:
        return f"it needs a 64-bit Python on x86-64 or AArch64; this is {machine}, {sys.maxsize.bit_length() + 1} bit"
    if platform.libc_ver()[0] != "glibc":
        return "it needs glibc; the C library of this Python is another one (musl?)"
    return None
