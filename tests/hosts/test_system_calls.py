# SPDX-License-Identifier: MIT
"""A program without CUDA makes the system calls that it makes without the recorder, but for those of being loaded.

What the loader and the recorder's constructor do is the same in every program that is started: it is counted
in one that does nothing. All else must be equal, call by call.
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
from snapshots import SHIM

EVERYTHING = "trace=all"


def calls(command, place, host, preload):
    """How often each system call was made, in all processes; how many programs were started; what was opened."""
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


# Their number depends on where the heap happens to lie, and on who is waited for.
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
        with compare.Place() as place:
            nothing = hosts.Host("nothing", ["true"])
            with_it, plain = (calls(["true"], place, nothing, preload) for preload in (SHIM, None))
        cls.start = minus(with_it[0], plain[0])

    def test_being_loaded_takes_at_most_fourteen_system_calls(self):
        print("# of each program's start:", self.start)
        self.assertLessEqual(sum(self.start.values()), 14)
        # Of a library that is opened, mapped and protected, and of a table of libc's that is written.
        self.assertLessEqual(
            set(self.start),
            {"openat", "read", "fstat", "newfstatat", "mmap", "close", "getpid", "mprotect", "pread64", "munmap"},
        )

    def others(self, plain, recorded, started):
        """Calls that all runs of one kind, with the recorder or without, have more often than any of the other kind."""
        expected = [
            counts + collections.Counter({name: started * count for name, count in self.start.items()})
            for counts in plain
        ]
        least, most = (functools.reduce(which, recorded) for which in (operator.and_, operator.or_))
        least_expected, most_expected = (functools.reduce(which, expected) for which in (operator.and_, operator.or_))
        # The loader's own heap may need one more page for the names of one more library.
        most_expected["mmap"] += started
        # A child of a fork learns its own number.
        most_expected["getpid"] += sum(most_expected[name] for name in ("fork", "vfork", "clone", "clone3"))
        return {
            **{name: count for name, count in minus(least, most_expected).items() if count > 0},
            **{name: -count for name, count in minus(least_expected, most).items() if count > 0},
        }

    def test_programs_make_no_other_system_calls_with_the_recorder(self):
        for host in hosts.SMALL:
            if not host.is_deterministic or host.missing():
                continue
            with self.subTest(host.name), compare.Place() as place:
                plain, recorded, started = [], [], None
                # How often a program waits, or reads in pieces, is chance: what the recorder adds is there each time.
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
