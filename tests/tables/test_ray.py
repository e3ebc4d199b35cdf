# SPDX-License-Identifier: MIT
"""Ray Data reads the recordings of a job: rows, sums and peaks are those of the program. Only with --long."""

import os
import sys
import unittest

import stories

if not os.environ.get("GMT_TEST_LONG"):
    print("1..0 # SKIP Ray is large: scripts/test --long")
    sys.exit(0)
stories.enter_environment(os.path.abspath(__file__), "data-engine", "ray")

import engine_job  # noqa: E402 (these need the environment)
import ray  # noqa: E402
import tap  # noqa: E402

import gpumemtrace  # noqa: E402
import gpumemtrace.ray  # noqa: E402


def setUpModule():
    # The workers import the package. Ray keeps no token in the user's home.
    os.environ.update(PYTHONPATH=stories.PACKAGE, RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0")
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=200 << 20, log_to_driver=False)


def tearDownModule():
    ray.shutdown()


class Job(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = engine_job.write("in-ray")

    def test_counts_sums_and_peaks_are_those_of_the_program(self):
        job = engine_job.ranks(self.folder)
        sites = gpumemtrace.ray.read(self.folder, "sites", layer="torch", files_per_task=3)
        peaks = sorted(
            (row["rank"], row["sum(peak_bytes)"]) for row in sites.groupby("rank").sum("peak_bytes").take_all()
        )
        self.assertEqual(peaks, [(rank["rank"], rank["peak_bytes"]) for rank in job["ranks"]])
        events = gpumemtrace.open_job(self.folder).table("events").to_pyarrow()
        self.assertEqual(gpumemtrace.ray.read(self.folder, "events").count(), len(events))

    def test_the_workers_read_addresses_with_the_storage_options(self):
        # Only the options say where the folder is.
        options = {"path": self.folder, "target_protocol": "file"}
        expected = gpumemtrace.open_job(self.folder).table("sites").to_pyarrow()
        for address in "dir://*.gmt.gz", "dir://":
            sites = gpumemtrace.ray.read(address, "sites", files_per_task=3, storage_options=options)
            self.assertEqual(
                (sites.count(), sites.sum("peak_bytes")), (len(expected), sum(expected["peak_bytes"].to_pylist()))
            )

    def test_columns_and_filters_select_and_wrong_names_are_errors(self):
        table = gpumemtrace.ray.read(self.folder, "steps", columns=["rank", "step"], rank=3, steps=(2, 4))
        self.assertEqual({(row["rank"], row["step"]) for row in table.take_all()}, {(3, 2), (3, 3)})
        with self.assertRaisesRegex(gpumemtrace.ArgumentError, "there is no table site"):
            gpumemtrace.ray.read(self.folder, "site")


if __name__ == "__main__":
    tap.main()
