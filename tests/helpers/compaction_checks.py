# SPDX-License-Identifier: MIT
"""Compares the report of a compacted recording with that of the whole one."""

import unittest

import cli

# A compaction must not change these parts of a report.
UNCHANGED_PARTS = "process", "devices", "ledger", "heaps", "host", "sites", "complete"


def fold(path, compacted, *options):
    """Compacts the recording `path` into `compacted` with the verb `fold`, and returns `compacted`."""
    done = cli.run("fold", path, "--force", "-o", compacted, *options)
    assert done.returncode == 0, done.stderr
    return compacted


def comparable(report, part):
    """Returns this part of a report in a fixed order, without the categories, which a compaction may change."""
    rows = report.get(part)
    if part == "ledger":
        return sorted(rows, key=lambda row: (row["device"] is not None, row["device"] or 0))
    if part == "sites":
        return [{key: value for key, value in row.items() if key != "category"} for row in rows]
    return rows


class CompactionChecks(unittest.TestCase):
    def check_same(self, path, compacted):
        """Checks that both reports have the same numbers. Returns the report of the compacted recording."""
        full, small = cli.report(path), cli.report(compacted)
        for part in UNCHANGED_PARTS:
            self.assertEqual(comparable(full, part), comparable(small, part), part)
        self.assertEqual(full["events"]["recorded"], small["events"]["recorded"])
        return small
