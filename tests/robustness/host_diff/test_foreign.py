# SPDX-License-Identifier: MIT
"""The recorder changes nothing in the processes of programs that do not use CUDA.

Each row runs twice without the recorder and once with it, with a witness library on each side of it. The test compares
both outputs, the exit status, each file that the program leaves, and the state of each process before main and at its
end: errno, environment, signals, timers, limits, identity, descriptors, threads, mapped files.
"""

import os
import re
import signal
import unittest

import compare_runs
import host_programs
import programs
import tap
import witnessed


LOWEST_PRIORITY = 19
MEDDLER = os.path.join(witnessed.HERE, "libmeddler.so")


class Count:
    programs = processes = facts = 0


def nothing_differs(host):
    def test(self):
        missing = host.missing()
        if missing:
            self.skipTest(f"{missing} is not there")
        different, compared, plain = witnessed.compare_row(host)
        if different:
            self.fail(different[:6000])
        # The program did the work that the row describes.
        self.assertEqual(plain.outcome.end, host.expected_end, (plain.outcome.out[-500:], plain.outcome.err[-1500:]))
        self.assertIn(host.expected_text, plain.outcome.out + plain.outcome.err)
        Count.programs += 1
        Count.processes += plain.reports
        Count.facts += compared

    return test


class Foreign(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        print(f"# {Count.programs} programs; {Count.processes} reports of witnesses; {Count.facts} facts compared")


class Witnesses(unittest.TestCase):
    """Proves that the witnesses notice changes in a process."""

    def different(self, script, change=":"):
        """Returns the differences between a script, and the same script with `change` in run_folder of CHANGE."""
        plain, other = (
            host_programs.Host("script", ["sh", "-c", script.replace("CHANGE", each)]) for each in (":", change)
        )
        with compare_runs.RunFolder() as run_folder:
            plains = [witnessed.run(plain, run_folder) for _ in range(2)]
            changed = witnessed.run(other, run_folder)
        return witnessed.differences(plains, changed)[0]

    def test_a_change_of_each_kind_is_detected(self):
        """Some changes could equal the user's own umask, limit or priority. Such a script sets another value first."""
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)
        changes = [
            (":", "export MORE=x", "environment"),
            ("umask 022", "umask 077", "umask"),
            (":", "exec 7> /dev/null", "descriptor 7"),
            (":", "trap '' USR2", "signal 12"),
            ("ulimit -S -n 60", "ulimit -S -n 50", "limit 7"),
            (":", "cd ..", "folder"),
            (":", "export LC_ALL=C", "environment"),
            (":", "exec 0<&-", "lowest free descriptor"),
        ]
        if os.nice(0) < LOWEST_PRIORITY:
            changes.append((":", "P='nice -n 1'", "priority"))
        for before, change, fact in changes:
            with self.subTest(change):
                self.assertRegex(self.different(f"{before}; CHANGE; $P ls", change), f"(?m)^ls first begins: {fact}")

    def test_a_preload_that_changes_nothing_makes_no_difference(self):
        self.assertEqual(self.different("ls; cat /etc/passwd > /dev/null"), "")

    def test_changes_by_a_meddling_preload_are_detected(self):
        noticed = {
            "errno": "first begins: errno",
            "descriptor": "begins: descriptor 3",
            "signal": "begins: signal 13",
            "mask": "begins: blocked",
            "timer": "begins: timer 0",
            "stack": "begins: signal stack",
            "environment": "begins: environment",
            "umask": "begins: umask",
            "locale": "begins: locale",
            "thread": "begins: threads",
            "limit": "begins: limit 4",
            "prctl": "begins: prctl 3",
            "folder": "begins: folder",
            "shared": "begins: memory",
            "file": "^files: ",
            "word": "^stderr: ",
            "end descriptor": "last ends: descriptor 3",
            "end signal": "last ends: signal 13",
            "end thread": "last ends: threads",
            "end environment": "last ends: environment",
            "end file": "^files: ",
            "end word": "^stderr: ",
        }
        for how, pattern in noticed.items():
            with self.subTest(how):
                host = host_programs.Host("nothing", ["getconf", "PAGESIZE"], environment={"GMT_MEDDLE": how})
                self.assertRegex(witnessed.compare_row(host, preload=MEDDLER)[0], "(?m)" + pattern)

    def test_the_recorder_is_between_the_witnesses(self):
        """The first witness's constructor runs after the recorder's. So does the last witness's destructor."""
        with compare_runs.RunFolder() as run_folder:
            host = host_programs.Host("order", ["getconf", "PAGESIZE"], environment={"LD_DEBUG": "files"})
            seen = witnessed.run(host, run_folder, witnessed.SHIM)
        self.assertEqual(seen.reports, 4)
        for what, order in (
            ("init", (witnessed.LAST, witnessed.SHIM, witnessed.FIRST)),
            ("fini", (witnessed.FIRST, witnessed.SHIM, witnessed.LAST)),
        ):
            places = [seen.outcome.err.find(f"calling {what}: {name}".encode()) for name in order]
            self.assertNotIn(-1, places)
            self.assertEqual(places, sorted(places))


for row in programs.rows():
    setattr(Foreign, "test_" + re.sub(r"\W+", "_", row.name).strip("_") + "_sees_no_difference", nothing_differs(row))

if __name__ == "__main__":
    tap.main()
