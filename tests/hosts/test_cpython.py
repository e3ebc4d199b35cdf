# SPDX-License-Identifier: MIT
"""Each of CPython's own tests has the same result with the recorder as without it.

The tests come with the installed Python (Debian: libpython3.X-testsuite). By default a few quick modules run. With
GMT_TEST_LONG the modules about threads, processes, signals and C run, several minutes for each run.
"""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import host_programs
import tap
from recorded_run import SHIM

QUICK = [
    "test_fork1",
    "test_ctypes",
    "test_atexit",
    "test_wait3",
    "test_wait4",
    "test_resource",
    "test_dynamicannotations",
    "test_audit",
]
LONG = [
    "test_threading",
    "test_thread",
    "test_threadsignals",
    "test_subprocess",
    "test_multiprocessing_main_handling",
    "test_multiprocessing_fork",
    "test_multiprocessing_spawn",
    "test_multiprocessing_forkserver",
    "test_concurrent_futures",
    "test_faulthandler",
    "test_ctypes",
    "test_os",
    "test_posix",
    "test_signal",
    "test_fork1",
    "test_pty",
    "test_sys",
    "test_cmd_line",
    "test_fcntl",
    "test_regrtest",
    "test_exceptions",
    *QUICK,
]
MAX_RERUNS = 3


def folder_of_tests(python):
    done = subprocess.run(
        [python, "-c", "import os, test.libregrtest; print(os.path.dirname(test.libregrtest.__path__[0]))"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def find_python():
    """Returns the first Python that has its tests, or None."""
    for python in dict.fromkeys(
        [os.environ.get("GMT_TEST_CPYTHON") or host_programs.python(), "/usr/bin/python3", sys.executable]
    ):
        if os.access(python, os.X_OK) and folder_of_tests(python):
            return python
    return None


PYTHON = find_python()


def outcomes(modules, preload):
    """Runs the modules and returns {test: outcome}. They get their own home and temporary folder to write to."""
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-cpython.") as folder:
        path = os.path.join(folder, "results.xml")
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_", "GPUMEMTRACE"))
        }
        environment.update(HOME=folder, TMPDIR=folder)
        if preload:
            environment["LD_PRELOAD"] = preload
        done = subprocess.run(
            [PYTHON, "-m", "test", f"--junit-xml={path}", "--timeout=1200", *modules],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if not os.path.exists(path):
            raise AssertionError(done.stdout[-2000:] + done.stderr[-2000:])
        found = {}
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            tags = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            found[f"{case.get('name')}"] = tags[0] if tags else "passed"
        return found


def different(one, other):
    return {name: (one.get(name), other.get(name)) for name in {**one, **other} if one.get(name) != other.get(name)}


@unittest.skipUnless(PYTHON, "no Python here has its own tests")
class OwnTests(unittest.TestCase):
    def compare(self, modules):
        folder = folder_of_tests(PYTHON)
        modules = [
            name
            for name in dict.fromkeys(modules)
            if os.path.exists(os.path.join(folder, name)) or os.path.exists(os.path.join(folder, name + ".py"))
        ]
        plain, recorded = outcomes(modules, None), outcomes(modules, SHIM)
        self.assertGreater(len(plain), 10 * len(modules) // 4)
        print(f"# {PYTHON}: {len(plain)} tests of {len(modules)} modules")
        left = different(plain, recorded)
        # Some tests fail at random. If a test has another result with the recorder, it runs again in both ways. It is
        # not a difference if a run of one kind then gives the result of the other kind.
        for _ in range(MAX_RERUNS):
            if not left:
                break
            again = sorted({module for module in modules for name in left if f"{module}." in name})
            plain_again, recorded_again = outcomes(again, None), outcomes(again, SHIM)
            left = {
                name: (was, now)
                for name, (was, now) in left.items()
                if plain_again.get(name) != now and recorded_again.get(name) != was
            }
        self.assertEqual(left, {})

    def test_the_tests_of_cpython_have_the_same_results(self):
        self.compare(LONG if host_programs.is_long_run() else QUICK)


if __name__ == "__main__":
    tap.main()
