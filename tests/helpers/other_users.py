# SPDX-License-Identifier: MIT
"""Copies files for other users, because only the user who runs the tests may enter the folders of the tests."""

import atexit
import functools
import os
import shutil
import stat
import tempfile
import unittest

NOBODY = 65534


def _all_may(path, bits):
    return os.stat(path).st_mode & bits == bits


def all_can_read(path):
    """Returns whether every user may enter the folders above `path`, and read `path`."""
    path = os.path.realpath(path)
    above = path
    while above != "/":
        above = os.path.dirname(above)
        if not _all_may(above, stat.S_IXOTH):
            return False
    return _all_may(path, stat.S_IROTH | stat.S_IXOTH if os.path.isdir(path) else stat.S_IROTH)


def public_folder():
    """Makes a folder that every user may enter and read, and removes it at exit. Skips the test if it cannot."""
    for place in tempfile.gettempdir(), "/tmp", "/var/tmp":
        if os.path.isdir(place) and all_can_read(place) and os.access(place, os.W_OK):
            folder = tempfile.mkdtemp(prefix="gpumemtrace-test.", dir=place)
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            os.chmod(folder, 0o755)
            return folder
    raise unittest.SkipTest("there is no folder for temporary files that other users may enter")


def copy(path, folder):
    """Copies a file, or the libraries of a folder, so that every user may read and execute them."""
    target = os.path.join(folder, os.path.basename(path))
    if os.path.isdir(path):
        os.mkdir(target)
        os.chmod(target, 0o755)
        for name in os.listdir(path):
            if ".so" in name and os.path.isfile(os.path.join(path, name)):
                copy(os.path.join(path, name), target)
        return target
    shutil.copy(path, target)
    os.chmod(target, 0o755)
    return target


@functools.lru_cache(maxsize=None)
def reachable(path):
    """Returns `path` if every user can read it, otherwise a copy. Copies a library with its folder's libraries."""
    if all_can_read(path):
        return path
    if ".so" in os.path.basename(path):
        return os.path.join(copy(os.path.dirname(path), public_folder()), os.path.basename(path))
    return copy(path, public_folder())


def become_nobody():
    """Returns arguments for subprocess to run a program as an ordinary user, or none if root does not run the tests."""
    return {} if os.geteuid() else {"user": NOBODY, "group": NOBODY, "extra_groups": []}
