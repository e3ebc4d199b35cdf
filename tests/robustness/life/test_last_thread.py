# SPDX-License-Identifier: MIT
"""A process ends with the same exit code and handlers as without the recorder, also when its threads end one by one."""

import os
import subprocess
import unittest

import tap
from definitions import Kind
from recorded_run import SIMCUDA, RecordedRun, built

PROGRAM = built("last-thread")
WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]
WITHOUT_PROC_WORKS = subprocess.run([*WITHOUT_PROC, "true"], capture_output=True, check=False).returncode == 0


def kernel_keeps_exit_codes_of_threads():
    """
    Returns whether the recorder can know the exit code of the process: from Linux 6.15 on, the kernel keeps the code of
    each ended thread. Before 6.1, only the main thread's code counts.
    """
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    return release >= (6, 15) or release < (6, 1)


class LastThread(unittest.TestCase):
    def check(self, *words):
        alone = subprocess.run(
            [PROGRAM, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "LD_LIBRARY_PATH": SIMCUDA},
        )
        run = RecordedRun([PROGRAM, *words])
        self.assertEqual((run.code, run.out, run.err), (alone.returncode, alone.stdout, alone.stderr))
        self.assertTrue(run.report()["complete"])
        frees = [event for event in run.events() if event["kind"] == Kind.FREE]
        self.assertEqual(len(frees), 1 if "handler" in alone.stdout else 0)

    def test_the_system_call_of_both_threads_keeps_the_code_and_runs_no_handler(self):
        for first in ("main", "other") if kernel_keeps_exit_codes_of_threads() else ("other",):
            with self.subTest(first):
                self.check("call", "call", first)

    def test_pthread_exit_of_the_main_thread_runs_the_handlers_after_the_last_thread(self):
        for other in ("thread", "return"):
            for first in ("main", "other"):
                with self.subTest(other=other, first=first):
                    self.check("thread", other, first)

    def test_a_last_thread_that_ends_by_the_system_call_runs_no_handler(self):
        if not kernel_keeps_exit_codes_of_threads():
            self.skipTest("Linux from 6.1 to 6.14 does not report the exit code of an ended thread")
        self.check("thread", "call", "main")

    def test_after_main_ended_by_the_system_call_the_last_thread_runs_no_handler(self):
        self.check("call", "return", "main")

    def test_a_main_thread_that_returns_ends_the_process(self):
        self.check("return", "call", "other")

    @unittest.skipUnless(WITHOUT_PROC_WORKS, "no right to unmount /proc")
    def test_without_proc_the_process_ends(self):
        run = RecordedRun([*WITHOUT_PROC, PROGRAM, "thread", "return", "main"], timeout=100)
        self.assertEqual((run.code, run.out), (0, "handler\n"), run.err)
        self.assertEqual([event["kind"] for event in run.events()], [Kind.ALLOC, Kind.FREE])


if __name__ == "__main__":
    tap.main()
