# SPDX-License-Identifier: MIT
"""Programs that do not use CUDA behave the same with the recorder as without it, to the byte.

Each row of hosts.py runs in a process tree with the recorder in every process. The test compares both outputs, the exit
status, and every file in its working, home and temporary folders. Each row runs once without a driver, and once with a
driver that the program could find but does not use.
"""

import re
import unittest

import compare
import hosts
import tap
from recorded_run import SHIM, SIMCUDA


def behaves(host, libraries):
    def test(self):
        missing = host.missing()
        if missing:
            self.skipTest(f"{missing} is not there")
        different, plain = compare.compare(host, libraries)
        if different:
            self.fail(different[:4000])  # assertEqual looks for what long texts share, which takes minutes
        # The program did its work.
        self.assertEqual(plain.end, host.ends, plain.err[-2000:])
        self.assertIn(host.says, plain.out + plain.err)

    return test


class WithoutDriver(unittest.TestCase):
    pass


class WithDriver(unittest.TestCase):
    pass


def add_tests():
    for host in hosts.SMALL + (hosts.LARGE if hosts.is_long_run() else []):
        name = "test_" + re.sub(r"\W+", "_", host.name).strip("_")
        setattr(WithoutDriver, name + "_behaves_the_same", behaves(host, None))
        if hosts.is_long_run() or host.with_driver:
            setattr(WithDriver, name + "_behaves_the_same_with_a_driver", behaves(host, SIMCUDA))


class Comparison(unittest.TestCase):
    """Proves that the comparison notices differences."""

    def outcomes(self, script, **more):
        host = hosts.Host("script", ["sh", "-c", script], **more)
        return compare.compare(host, preload=SHIM)[0]

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
