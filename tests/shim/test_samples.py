# SPDX-License-Identifier: MIT
"""What the driver and NVML say of a device's memory, as it is recorded: to the byte, and to no one's harm."""
import os
import unittest

import tap
from snapshots import Recording

PROGRAM = os.path.join(os.environ["GMT_TEST_PROGRAMS"], "samples")
MIB = 1 << 20
DRIVER, NVML, PROCESSES, POOLS, GRAPHS = 1, 2, 4, 8, 16
EVERYTHING = DRIVER | NVML | PROCESSES | POOLS | GRAPHS
CONTEXT, ALLOC = 17, 1


def run(*arguments, options=None, **environment):
    return Recording([PROGRAM, *arguments], options=options, environment=environment)


def samples(recording):
    return sorted(recording.records("sample"), key=lambda row: row["stamp"])


class Quiet(unittest.TestCase):
    def test_a_sample_says_what_the_driver_and_nvml_say_to_the_byte(self):
        recording = run("quiet", SIMCUDA_CONTEXT_MEMORY="300M", SIMCUDA_OTHERS_MEMORY="1G")
        self.assertEqual(recording.code, 0, recording.err)
        free, total = map(int, recording.out.split())
        own = total - free - 1024 * MIB
        rows = [row for row in samples(recording) if row["known"] == EVERYTHING and row["free_bytes"] == free]
        self.assertTrue(rows)
        row = rows[0]
        self.assertEqual((row["total_bytes"], row["nvml_used_bytes"]), (total, total - free))
        self.assertEqual((row["process_bytes"], row["others_bytes"]), (own, 1024 * MIB))
        self.assertEqual((row["pool_reserved_bytes"], row["pool_used_bytes"]), (10 * MIB, 10 * MIB))


if __name__ == "__main__":
    tap.main()
