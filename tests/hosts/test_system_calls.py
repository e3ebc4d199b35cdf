# SPDX-License-Identifier: MIT
"""A program without CUDA makes the same system calls with the recorder as without it, except calls for loading it.

The calls of the loader and of the recorder's constructor are the same in every program. The test counts them in a
program that does nothing. All other calls must be equal, call by call.
"""

import collections
import functools
import operator
import os
import re
import shutil
import subprocess
import unittest

import compare
import hosts
import tap
from recorded_run import SHIM

EVERYTHING = "trace=all"


def calls(command, place, host, preload):
    """Returns the count of each system call in all processes, the number of started programs, and the opened files."""
    place.clear(host.given)
    trace = os.path.join(os.path.dirname(place.folder), os.path.basename(place.folder) + ".trace")
    environment = place.environment(None, None, host.environment)
    with_preload = ["-E", f"LD_PRELOAD={preload}"] if preload else []
    subprocess.run(
        ["strace", "-f", "-qq", "-o", trace, "-e", EVERYTHING, *with_preload, *command],
        cwd=place.work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    with open(trace, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    os.unlink(trace)
    # "<unfinished ...>" begins a call that another line ends.
    begun = [line.split(None, 1)[1] for line in lines]
    counts = collections.Counter(found.group(1) for found in (re.match(r"(\w+)\(", line) for line in begun) if found)
    started = sum(1 for line in begun if re.match(r"execve\(|<\.\.\. execve resumed", line) and line.endswith(" = 0"))
    opened = {found for line in begun for found in re.findall(r'open(?:at)?\(.*?"([^"]*)"', line)}
    return counts, started, opened


# The number of these calls depends on the address of the heap, and on the order in which processes wait.
BY_CHANCE = {"brk", "rt_sigreturn", "restart_syscall", "futex", "wait4", "getrandom"}
RUNS = 8


def minus(more, fewer):
    result = collections.Counter(more)
    result.subtract(fewer)
    return {name: count for name, count in result.items() if count and name not in BY_CHANCE}


@unittest.skipUnless(shutil.which("strace"), "no strace")
class SystemCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("strace is not allowed here")
        with compare.RunFolder() as place:
            nothing = hosts.Host("nothing", ["true"])
            with_it, plain = (calls(["true"], place, nothing, preload) for preload in (SHIM, None))
        cls.start = minus(with_it[0], plain[0])

    def test_loading_takes_at_most_fourteen_system_calls(self):
        print("# of each program's start:", self.start)
        self.assertLessEqual(sum(self.start.values()), 14)
        # These calls open, map and protect a library, and make a table of libc writable.
        self.assertLessEqual(
            set(self.start),
            {"openat", "read", "fstat", "newfstatat", "mmap", "close", "getpid", "mprotect", "pread64", "munmap"},
        )

    def others(self, plain, recorded, started):
        """Returns calls that all runs of one kind (recorded or not) make more often than any run of the other kind."""
        expected = [
            counts + collections.Counter({name: started * count for name, count in self.start.items()})
            for counts in plain
        ]
        least, most = (functools.reduce(which, recorded) for which in (operator.and_, operator.or_))
        min_expected, max_expected = (functools.reduce(which, expected) for which in (operator.and_, operator.or_))
        # The loader's heap may need one more page for the names of one more library.
        max_expected["mmap"] += started
        # In the child of a fork the recorder asks for the process number.
        max_expected["getpid"] += sum(max_expected[name] for name in ("fork", "vfork", "clone", "clone3"))
        return {
            **{name: count for name, count in minus(least, max_expected).items() if count > 0},
            **{name: -count for name, count in minus(min_expected, most).items() if count > 0},
        }

    def test_programs_make_no_other_system_calls_with_the_recorder(self):
        for host in hosts.SMALL:
            if not host.is_deterministic or host.missing():
                continue
            with self.subTest(host.name), compare.RunFolder() as place:
                plain, recorded, started = [], [], None
                # Waits and partial reads vary by chance. Calls that the recorder adds appear in each run.
                while not recorded or (self.others(plain, recorded, started) and len(recorded) < RUNS):
                    counts, started, _ = calls(host.command, place, host, None)
                    plain.append(counts)
                    counts, started_with_it, opened = calls(host.command, place, host, SHIM)
                    recorded.append(counts)
                    self.assertEqual(started_with_it, started)
                    ours = {path for path in opened if "gpumemtrace" in path and not path.startswith(place.folder)}
                    self.assertEqual(ours, {SHIM})
                self.assertEqual(self.others(plain, recorded, started), {})


if __name__ == "__main__":
    tap.main()
