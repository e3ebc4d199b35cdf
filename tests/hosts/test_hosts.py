# SPDX-License-Identifier: MIT
"""Programs that do not use CUDA behave the same with the recorder as without it, to the byte.

Each row of host_programs.py runs with the recorder in its whole process tree. The test compares both outputs, the exit
status, and every file in its working, home and temporary folders. Each row runs once without a driver. Some rows, with
--long all, also run with a driver that the program could find.
"""

import re
import unittest

import compare_runs
import host_programs
import tap
from recorded_run import SHIM, SIMCUDA


def behaves(host, libraries):
    def test(self):
        missing = host.missing()
        if missing:
            self.skipTest(f"{missing} is not there")
        different, plain = compare_runs.compare(host, libraries)
        if different:
            self.fail(different[:4000])  # assertEqual would compare long texts for minutes
        # The program did its work.
        self.assertEqual(plain.end, host.expected_end, plain.err[-2000:])
        self.assertIn(host.expected_text, plain.out + plain.err)

    return test


class WithoutDriver(unittest.TestCase):
    pass


class WithDriver(unittest.TestCase):
    pass


def add_tests():
    for host in host_programs.SMALL + (host_programs.LARGE if host_programs.is_long_run() else []):
        name = "test_" + re.sub(r"\W+", "_", host.name).strip("_")
        setattr(WithoutDriver, name + "_behaves_the_same", behaves(host, None))
        if host_programs.is_long_run() or host.with_driver:
            setattr(WithDriver, name + "_behaves_the_same_with_a_driver", behaves(host, SIMCUDA))


class Comparison(unittest.TestCase):
    """Proves that the comparison notices differences."""

    def outcomes(self, script, **more):
        host = host_programs.Host("script", ["sh", "-c", script], **more)
        return compare_runs.compare(host, preload=SHIM)[0]

    def test_a_difference_in_each_part_is_detected(self):
        for script, part in {
            "echo ${LD_PRELOAD:+there}": "stdout",
            "echo ${LD_PRELOAD:+there} >&2": "stderr",
            'test -z "$LD_PRELOAD" && kill $$': "end",
            'touch "x${LD_PRELOAD:+y}"': "files",
            'touch ~/x; [ -z "$LD_PRELOAD" ] || chmod 777 ~/x': "files",
            'exit ${LD_PRELOAD:+3}': "end",
        }.items():
            with self.subTest(script):
                self.assertRegex(self.outcomes(script), f"^{part}")

    def test_only_output_that_varies_by_itself_is_ignored(self):
        self.assertEqual(self.outcomes("echo $$; date +%N; echo same"), "")
        self.assertRegex(self.outcomes("echo $$; echo same ${LD_PRELOAD:+not}"), "^stdout")

    def test_the_recorder_was_in_the_programs(self):
        different = self.outcomes("grep -c libgpumemtrace /proc/self/maps; :")
        self.assertRegex(different, r"stdout: \+[1-9]")


add_tests()

if __name__ == "__main__":
    tap.main()
