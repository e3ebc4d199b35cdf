# SPDX-License-Identifier: MIT
"""A program without CUDA makes the same system calls, in the same order, as with a preload that does nothing.

Only the differences in CALLS_OF_START are allowed, once for each started program. If the calls of a process differ
between two runs without the recorder, the test compares only the kinds of its calls and the files that it opens.
"""

import collections
import re
import shutil
import subprocess
import tempfile
import unittest

import calls
import compare_runs
import host_programs
import programs
import tap
from recorded_run import SHIM, built

EMPTY = built("libempty.so")
# Calls of the recorder in each started program. It has more segments than an empty library, and writes to two pages of
# the C library's symbol table. It checks which file stderr is, and gets the process number, also in forked children.
CALLS_OF_START = {
    r"mmap\(ADDRESS, N, PROT_[A-Z|_]+, MAP_PRIVATE\|MAP_FIXED\|MAP_(DENYWRITE|ANONYMOUS), -?\w+, \w+\) = ADDRESS": 3,
    r"mprotect\(ADDRESS, N, PROT_READ(\|PROT_WRITE)?\) = N": 3,
    r"(newfstatat\(2, .*, AT_EMPTY_PATH\)|fstat\(2, .*\)) = .*": 1,
    r"getpid\(\) = PROCESS": 2,
    # The loader's heap may need one page more or less for the names of a library.
    r"mmap\(NULL, N, PROT_READ\|PROT_WRITE, MAP_PRIVATE\|MAP_ANONYMOUS, -N, N\) = ADDRESS": 1,
}
MAY_BE_LESS = "mmap\\(NULL"
RUNS = 4
# Rows that strace cannot compare: traced programs, set-uid programs, programs without a preload, or with more output.
NOT_TRACED = r"strace|gdb|valgrind|set-uid|\bsu\b|static|32-bit|busybox|the loader's variables|terminal|ThreadSanitizer"
# Rows that are quick under strace. All other rows run with --long.
QUICK = r"^(ls,|a shell|names|what a child|a program that asks|an end by|bash|perl|tar|sqlite3|programs that change|xz|lua|diff|binutils|jq|ssh)"


class Count:
    programs = in_order = by_kind = 0


def is_traced(host):
    return not re.search(NOT_TRACED, host.name) and (host_programs.is_long_run() or bool(re.search(QUICK, host.name)))


def excess(different, started):
    """Returns the lines of `different` that are not allowed for `started` programs."""
    counts, wrong = collections.Counter(), []
    for line in different:
        pattern = next((each for each in CALLS_OF_START if re.fullmatch(each, line[2:])), None)
        counts[pattern] += 1 if line.startswith("+") else -1
        if not pattern:
            wrong.append(line)
    return wrong + [
        f"{count} calls more like {pattern} in {started} programs"
        for pattern, count in counts.items()
        if pattern
        and not (-started if pattern.startswith(MAY_BE_LESS) else 0) <= count <= CALLS_OF_START[pattern] * started
    ]


def started_in(process):
    return sum(1 for call in process if re.match(r"execve\(.*= 0$", call))


def kinds(process):
    return {call.split("(")[0] for call in process}


def differences(plain_runs, recorded):
    """Returns the calls that only `recorded` made, by process."""
    different = []
    names = set(recorded.processes).union(*(plain.processes for plain in plain_runs))
    for name in sorted(names):
        variants = [plain.processes.get(name) for plain in plain_runs]
        got = recorded.processes.get(name, [])
        if None in variants:
            if not any(got) or any(variants):
                continue
            different.append(f"{name}: a process that there is only with the recorder: {got[0]}")
            continue
        best = min((excess(calls.changes(variant, got), max(started_in(got), 1)) for variant in variants), key=len)
        if not best:
            Count.in_order += 1
            continue
        if all(variant == variants[0] for variant in variants):
            different += [f"{name}: {line}" for line in best[:20]]
            continue
        Count.by_kind += 1
        new = kinds(got) - set().union({"getpid"}, *(plain.kinds(name) for plain in plain_runs))
        different += [f"{name}: a new kind of call: {kind}" for kind in sorted(new)]
    more = {
        path
        for path in recorded.opened.difference(*(plain.opened for plain in plain_runs))
        if "gpumemtrace" in path and path != SHIM and "gpumemtrace-hosts." not in path
    }
    return different + [f"opened {path}" for path in sorted(more)]


def makes_the_same_calls(host):
    def test(self):
        missing = host.missing()
        if missing:
            self.skipTest(f"{missing} is not there")
        with compare_runs.RunFolder() as run_folder:
            plain_runs = [calls.trace(host, run_folder, EMPTY)]
            recorded = calls.trace(host, run_folder, SHIM)
            different = True
            while different and len(plain_runs) < RUNS:
                plain_runs.append(calls.trace(host, run_folder, EMPTY))
                before = Count.in_order, Count.by_kind
                different = differences(plain_runs, recorded)
                if different and len(plain_runs) < RUNS:
                    Count.in_order, Count.by_kind = before
            # A difference that the recorder causes appears in each run. Sizes of reads from pipes and the order of
            # threads vary by themselves, with the load too. So each try has one more run without the recorder.
            for _ in range(RUNS if different else 0):
                plain_runs.append(calls.trace(host, run_folder, EMPTY))
                before = Count.in_order, Count.by_kind
                again = differences(plain_runs, calls.trace(host, run_folder, SHIM))
                Count.in_order, Count.by_kind = before
                if not again:
                    different = []
                    break
        Count.programs += 1
        self.assertFalse(different, "\n".join(different)[:4000])
        self.assertIn(SHIM, recorded.opened)

    return test


@unittest.skipUnless(shutil.which("strace"), "no strace")
class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("strace is not allowed here")

    @classmethod
    def tearDownClass(cls):
        print(
            f"# {Count.programs} programs; {Count.in_order} processes call by call, {Count.by_kind} by kinds of calls"
        )

    def test_one_additional_call_is_detected(self):
        with compare_runs.RunFolder() as run_folder:
            plain = [calls.trace(host_programs.Host("ls", ["ls", "."]), run_folder, EMPTY) for _ in range(2)]
            for other in (["ls", "-l", "."], ["ls", "/"], ["sh", "-c", "ls ."]):
                with self.subTest(other):
                    self.assertNotEqual(
                        differences(plain, calls.trace(host_programs.Host("ls", other), run_folder, EMPTY)), []
                    )

    def test_the_sizes_of_kernel_lists_are_not_compared(self):
        def read(status, *lists):
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(
                    "".join(
                        f"7 {call}\n"
                        for call in (
                            'openat(AT_FDCWD, "/proc/self/status", O_RDONLY) = 3',
                            'read(3, ""..., 1024) = 1024',
                            f'read(3, ""..., 1024) = {status}',
                            'read(3, ""..., 1024) = 0',
                            "close(3) = 0",
                            *(f"getdents64(3, 0x7f00 /* {length} */, 32768) = {length}" for length in lists),
                            "getdents64(3, 0x7f00 /* 0 entries */, 32768) = 0",
                            'read(3, ""..., 1024) = 77',
                        )
                    )
                )
                file.flush()
                return calls.read(file.name, SHIM).processes["0"]

        one = read(395, 2096)
        self.assertEqual((len(one), one[-1]), (8, 'read(3, ""..., 1024) = 77'))
        for other in read(396, 2176), read(395, 32760, 48):
            self.assertEqual(other, one)

    def test_the_moment_of_a_kill_by_another_process_is_not_compared(self):
        calls_made = ["execve(PROGRAM) = 0", "stat(a) = N", "stat(b) = N", "stat(a) = N", "pause() = N"]
        killed = "+++ killed by SIGKILL +++"
        ends = [
            [*calls_made[:count], *cut_short, end]
            for count in (1, 2, 4)
            for cut_short in ([], ["stat(c <unfinished ...>) = ?"])
            for end in (killed, "--- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=ANOTHER} ---")
        ]
        for one in ends:
            for other in ends:
                with self.subTest(one=one, other=other):
                    different = calls.changes(one, other)
                    self.assertEqual(
                        [line[2:] for line in different], [] if one[-1] == other[-1] else [one[-1], other[-1]]
                    )
        # An earlier extra call is a difference, and so is an extra call before the process's own signal.
        self.assertEqual(
            calls.changes([*calls_made[:4], killed], [calls_made[0], "more() = 0", *calls_made[1:], killed]),
            ["+ more() = 0"],
        )
        itself = "kill(PROCESS, SIGKILL <unfinished ...>) = ?"
        self.assertEqual(
            calls.changes([*calls_made, itself, killed], [*calls_made, "more() = 0", itself, killed]), ["+ more() = 0"]
        )


for row in programs.rows():
    if is_traced(row):
        setattr(
            Calls,
            "test_" + re.sub(r"\W+", "_", row.name).strip("_") + "_makes_the_same_system_calls",
            makes_the_same_calls(row),
        )

if __name__ == "__main__":
    tap.main()
