# SPDX-License-Identifier: MIT
"""Writes recordings of one device, with the memory in use as the driver and NVML report it."""

import cli
from definitions import SamplePart, Space
from recording import CUDA, MiB, Story


class LedgerStory(Story):
    total = 1000 * MiB

    def cuda(self, size, space=Space.DEVICE, layer=CUDA, line="/home/me/train.py:3 in load", **more):
        return self.alloc(size * MiB, line, layer=layer, space=space, **more)

    def sample(self, used, known=SamplePart.DRIVER, ago=0, **more):
        """Adds a sample after the last event, in which the device reports this many MiB in use."""
        self.stamp += 10
        self.samples.append(
            {
                "stamp": self.stamp,
                "begin_stamp": self.stamp - 1 - ago,
                "device": 0,
                "known": known,
                "free_bytes": self.total - used * MiB,
                "total_bytes": self.total,
                **{key: value * MiB for key, value in more.items()},
            }
        )

    def report(self, *options):
        (row,) = cli.report(self.write("ledger.gmt.gz"), *options)["ledger"]
        return row
