# SPDX-License-Identifier: MIT
"""A program without CUDA makes the same system calls with and without the recorder, except calls that load it.

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

import compare_runs
import host_programs
import tap
from recorded_run import SHIM

EVERYTHING = "trace=all"


def calls(command, run_folder, host, preload):
    """Returns the count of each system call in all processes, the number of started programs, and the opened files."""
    run_folder.clear(host.files)
    trace = os.path.join(os.path.dirname(run_folder.path), os.path.basename(run_folder.path) + ".trace")
    environment = run_folder.environment(None, None, host.environment)
    with_preload = ["-E", f"LD_PRELOAD={preload}"] if preload else []
    subprocess.run(
        ["strace", "-f", "-qq", "-o", trace, "-e", EVERYTHING, *with_preload, *command],
        cwd=run_folder.work,
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


# The number of these calls varies with the address of the heap, and with the order in which processes wait.
VARYING = {"brk", "rt_sigreturn", "restart_syscall", "futex", "wait4", "getrandom"}
RUNS = 8


def minus(more, fewer):
    result = collections.Counter(more)
    result.subtract(fewer)
    return {name: count for name, count in result.items() if count and name not in VARYING}


@unittest.skipUnless(shutil.which("strace"), "no strace")
class SystemCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("strace is not allowed here")
        with compare_runs.RunFolder() as run_folder:
            nothing = host_programs.Host("nothing", ["true"])
            with_it, plain = (calls(["true"], run_folder, nothing, preload) for preload in (SHIM, None))
        cls.start = minus(with_it[0], plain[0])

    def test_loading_takes_at_most_fourteen_system_calls(self):
        print("# of each program's start:", self.start)
        self.assertLessEqual(sum(self.start.values()), 14)
        # These calls open, map and protect a library, and make a table of libc writable.
        self.assertLessEqual(
            set(self.start),
            {"openat", "read", "fstat", "newfstatat", "mmap", "close", "getpid", "mprotect", "pread64", "munmap"},
        )

    def differing_calls(self, plain, recorded, started):
        """Returns the calls that differ: every run of one kind (recorded, plain) makes more than every other run."""
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
        for host in host_programs.SMALL:
            if not host.is_deterministic or host.missing():
                continue
            with self.subTest(host.name), compare_runs.RunFolder() as run_folder:
                plain, recorded, started = [], [], None
                # Waits and partial reads vary by chance. Calls that the recorder adds appear in each run.
                while not recorded or (self.differing_calls(plain, recorded, started) and len(recorded) < RUNS):
                    counts, started, _ = calls(host.command, run_folder, host, None)
                    plain.append(counts)
                    counts, started_with_it, opened = calls(host.command, run_folder, host, SHIM)
                    recorded.append(counts)
                    self.assertEqual(started_with_it, started)
                    ours = {path for path in opened if "gpumemtrace" in path and not path.startswith(run_folder.path)}
                    self.assertEqual(ours, {SHIM})
                self.assertEqual(self.differing_calls(plain, recorded, started), {})


if __name__ == "__main__":
    tap.main()
