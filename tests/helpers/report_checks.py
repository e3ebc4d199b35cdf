# SPDX-License-Identifier: MIT
"""Compares each number of a report with a replay that shares no code with the reader."""

import collections
import unittest

import cli
import replay


class ReportChecks(unittest.TestCase):
    def check_account(self, shown, expected):
        for key in "live_bytes", "live_blocks", "peak_bytes", "alloc_count", "free_count", "total_alloc_bytes":
            self.assertEqual(shown[key], expected[key], key)
        self.assertEqual(shown["peak_time_ns"], expected.get("peak_time_ns", 0))

    def check_numbers(self, path, until_ns=None):
        report = cli.report(path, *([f"--until={until_ns}"] if until_ns is not None else []))
        accounts, spaces, sites = replay.replay(path, until_ns)
        for device in report["devices"]:
            for layer in device["layers"]:
                key = layer["layer"], device["device"]
                self.check_account(layer, accounts[key])
                for space in layer["spaces"]:
                    expected = spaces[(*key, space["space"])]
                    self.assertEqual(space["live_bytes"], expected["live_bytes"])
                    self.assertEqual(space["peak_bytes"], expected["max_live_bytes"])
        self.check_account(report["host"], accounts["cuda", replay.HOST])
        self.check_sites(report, sites)
        return report

    def check_sites(self, report, sites):
        """Compares the sites by layer, device and space as multisets, because their stacks may have equal texts."""

        def numbers(totals):
            return (
                totals["live_bytes"],
                totals["live_blocks"],
                totals["peak_bytes"],
                totals["max_live_bytes"],
                totals["total_alloc_bytes"],
                totals["alloc_count"],
                totals["free_count"],
            )

        shown, expected = collections.Counter(), collections.Counter()
        for site in report["sites"]:
            device = replay.HOST if site["device"] is None else site["device"]
            shown[
                (
                    site["layer"],
                    device,
                    site["space"],
                    site["live_bytes"],
                    site["live_blocks"],
                    site["peak_bytes"],
                    site["max_live_bytes"],
                    site["total_bytes"],
                    site["allocs"],
                    site["frees"],
                )
            ] += 1
        for key, totals in sites.items():
            expected[(*key[:3], *numbers(totals))] += 1
        self.assertEqual(shown, expected)

    def check_conservation(self, report):
        """Checks that peaks, live bytes and totals of sites sum to those of their layer."""
        sums = collections.defaultdict(lambda: [0, 0, 0])
        for site in report["sites"]:
            for i, key in enumerate(("peak_bytes", "live_bytes", "total_bytes")):
                sums[site["layer"], site["device"]][i] += site[key]
        for device in report["devices"]:
            for layer in device["layers"]:
                self.assertEqual(
                    sums[layer["layer"], device["device"]],
                    [layer["peak_bytes"], layer["live_bytes"], layer["total_alloc_bytes"]],
                )
                self.assertEqual(sum(space["live_bytes"] for space in layer["spaces"]), layer["live_bytes"])
        host = report["host"]
        self.assertEqual(sums["cuda", None], [host["peak_bytes"], host["live_bytes"], host["total_alloc_bytes"]])
