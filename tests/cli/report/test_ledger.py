# SPDX-License-Identifier: MIT
"""The ledger of a device: its lines add up to what the device says is in use."""

import os
import unittest

import cli
from definitions import Kind, LEDGER_LINES, Layer, SamplePart, Space
from ledger_story import LedgerStory
from recording import CUDA, MiB

DRIVER, NVML, PROCESSES = SamplePart.DRIVER, SamplePart.NVML, SamplePart.PROCESSES
POOLS, GRAPHS = SamplePart.POOLS, SamplePart.GRAPHS


def amounts(moment):
    """Returns the lines that are not 0, in MiB."""
    assert [line["name"] for line in moment["lines"]] == LEDGER_LINES
    assert sum(line["bytes"] for line in moment["lines"]) == moment["used_bytes"]
    return {line["name"]: line["bytes"] // MiB for line in moment["lines"] if line["bytes"]}


def known(moment):
    return {line["name"] for line in moment["lines"] if line["known"]}


class LedgerTest(unittest.TestCase):
    def test_each_kind_of_memory_has_its_line_and_they_add_up(self):
        story = LedgerStory()
        story.cuda(50, Space.CONTEXT, Layer.DRIVER, context=1)
        story.cuda(7, Space.MODULE, Layer.DRIVER, context=1)
        story.cuda(20)
        story.cuda(3, Space.ARRAY)
        story.cuda(40, Space.VMM)
        story.cuda(10, Space.POOL)
        story.cuda(1000, Space.MANAGED)
        story.cuda(500, Space.IPC, Layer.IMPORTED)
        story.sample(
            200,
            DRIVER | POOLS | GRAPHS | PROCESSES,
            pool_reserved_bytes=32,
            pool_used_bytes=10,
            graph_reserved_bytes=2,
            process_bytes=160,
            others_bytes=30,
        )
        row = story.report()
        self.assertEqual(
            amounts(row),
            {
                "contexts": 50,
                "modules": 7,
                "device": 20,
                "array": 3,
                "vmm": 40,
                "pool_used": 10,
                "pool_cached": 22,
                "graph_cached": 2,
                "runtime": 6,
                "other_processes": 30,
                "unexplained": 10,
            },
        )
        self.assertEqual(
            (row["used_bytes"], row["total_bytes"], row["managed_bytes"], row["imported_bytes"]),
            (200 * MiB, 1000 * MiB, 1000 * MiB, 500 * MiB),
        )
        self.assertEqual(known(row), set(LEDGER_LINES) - {"torch_live", "torch_cached", "torch_rounding"})
        text = cli.run("report", "--full", cli.place("ledger.gmt.gz")).stdout
        self.assertRegex(text, r"in use, as the device reports +200 MiB +200 MiB\n")
        self.assertRegex(text, r"\n    unexplained +10.0 MiB +10.0 MiB\n")

    def test_segments_of_pytorch_are_live_or_cached_and_not_other_device_memory(self):
        story = LedgerStory()
        segment = "torch/_C.py:1 in malloc"
        address = story.alloc(20 * MiB, "/home/me/train.py:3 in load", layer=CUDA)
        story.alloc(6 * MiB, "/home/me/train.py:3 in load", address=address, reserved_bytes=20 * MiB)
        del segment
        story.cuda(5, line="/home/me/other.py:1 in other")
        story.sample(30)
        self.assertEqual(amounts(story.report()), {"torch_live": 6, "torch_cached": 14, "device": 5, "unexplained": 5})

    def test_the_sample_with_the_same_memory_of_the_process_counts(self):
        story = LedgerStory()
        story.sample(900)
        story.cuda(100)
        story.sample(130)
        block = story.cuda(300)
        story.free(block)
        story.sample(140)
        row = story.report()
        self.assertEqual((row["used_bytes"] // MiB, row["moved"]), (140, False))
        self.assertEqual(amounts(row), {"device": 100, "unexplained": 40})

    def test_without_such_a_sample_the_difference_is_added_and_reported(self):
        story = LedgerStory()
        story.cuda(100)
        story.sample(130)
        story.free(story.cuda(300))
        row = story.report()["at_peak"]
        self.assertEqual((row["used_bytes"] // MiB, row["moved"]), (430, True))
        self.assertEqual(amounts(row), {"device": 400, "unexplained": 30})

    def test_a_sample_during_a_change_of_the_process_is_used_last(self):
        story = LedgerStory()
        story.cuda(100)
        story.sample(130)
        story.cuda(50)
        story.sample(170, ago=25)
        row = story.report()
        self.assertEqual((row["used_bytes"] // MiB, row["moved"]), (180, True))

    def test_a_pool_that_reuses_its_memory_takes_no_more_of_the_device(self):
        story = LedgerStory()
        story.cuda(10, Space.POOL)
        story.sample(64, DRIVER | POOLS, pool_reserved_bytes=64, pool_used_bytes=10)
        story.cuda(20, Space.POOL)
        row = story.report()
        self.assertEqual(row["used_bytes"], 64 * MiB)
        self.assertEqual(amounts(row), {"pool_used": 30, "pool_cached": 34})

    def test_a_pool_peak_without_a_sample_has_no_driver_value(self):
        story = LedgerStory()
        story.cuda(5, Space.CONTEXT, Layer.DRIVER, context=1)
        story.cuda(1, Space.POOL)
        everything = DRIVER | POOLS | GRAPHS | PROCESSES
        story.sample(137, everything, pool_reserved_bytes=32, process_bytes=37, others_bytes=100)
        story.free(story.cuda(100, Space.POOL))
        story.sample(137, everything, pool_reserved_bytes=32, process_bytes=37, others_bytes=100)
        row = story.report()
        self.assertEqual(
            (row["used_bytes"], amounts(row)),
            (137 * MiB, {"contexts": 5, "pool_used": 1, "pool_cached": 31, "other_processes": 100}),
        )
        peak = row["at_peak"]
        self.assertEqual((peak["asked_at_ns"], amounts(peak)), (None, {"contexts": 5, "pool_used": 101}))
        self.assertEqual(known(peak) & {"pool_cached", "runtime", "other_processes", "unexplained"}, set())
        text = cli.run("report", "--full", cli.place("ledger.gmt.gz")).stdout
        self.assertRegex(text, r"in use, as the device reports +137 MiB +not known\n")
        self.assertIn("The device did not report its memory at the peak", text)
        # A compaction keeps the numbers that the ledger needs, and reports the same ledger.
        compacted = cli.place("ledger-compacted.gmt.gz")
        self.assertEqual(cli.run("fold", "--force", "-o", compacted, cli.place("ledger.gmt.gz")).returncode, 0)
        (row,) = cli.report(compacted)["ledger"]
        self.assertEqual(
            (row["at_peak"]["asked_at_ns"], amounts(row["at_peak"])), (None, {"contexts": 5, "pool_used": 101})
        )

    def test_the_ledger_takes_driver_nvml_and_pools_from_one_answer(self):
        story = LedgerStory()
        story.cuda(10, Space.POOL)
        story.sample(340, DRIVER | POOLS | PROCESSES, pool_reserved_bytes=32, process_bytes=40, others_bytes=300)
        story.free(story.cuda(20))
        # This answer is nearer to the end, but has no pools and processes. Nothing says how they changed since.
        story.sample(50)
        self.assertEqual(amounts(story.report()), {"pool_used": 10, "unexplained": 40})
        # The device did not change, so the numbers of the earlier answer still hold.
        story = LedgerStory()
        story.cuda(10, Space.POOL)
        story.sample(340, DRIVER | POOLS | PROCESSES, pool_reserved_bytes=32, process_bytes=40, others_bytes=300)
        story.sample(340)
        self.assertEqual(
            amounts(story.report()), {"pool_used": 10, "pool_cached": 22, "runtime": 8, "other_processes": 300}
        )

    def test_the_ledger_ignores_late_numbers_of_nvml(self):
        story = LedgerStory()
        story.cuda(100)
        # Another process has ended, but NVML still counts its memory.
        story.sample(130, DRIVER | PROCESSES, process_bytes=120, others_bytes=300)
        row = story.report()
        self.assertEqual(amounts(row), {"device": 100, "unexplained": 30})
        self.assertNotIn("other_processes", known(row))

    def test_a_device_without_samples_has_no_unexplained_memory(self):
        story = LedgerStory()
        story.cuda(10)
        row = story.report()
        self.assertEqual((row["asked_at_ns"], row["used_bytes"], row["total_bytes"]), (None, 10 * MiB, 0))
        self.assertNotIn("unexplained", known(row))
        self.assertIn(
            "The device did not report its memory", cli.run("report", "--full", cli.place("ledger.gmt.gz")).stdout
        )

    def test_more_memory_than_the_device_reports_is_a_negative_rest(self):
        story = LedgerStory()
        story.cuda(100)
        story.sample(60)
        self.assertEqual(amounts(story.report()), {"device": 100, "unexplained": -40})

    def test_handles_count_until_neither_a_reference_nor_a_mapping_is_left(self):
        story = LedgerStory()
        for handle in 1, 2:
            story.event(Kind.ALLOC, layer=CUDA, space=Space.VMM, address=handle, size_bytes=10 * MiB)
            story.event(Kind.MAP, layer=CUDA, space=Space.VMM, address=handle << 30, size_bytes=10 * MiB, object=handle)
            story.event(Kind.FREE, layer=CUDA, space=Space.VMM, address=handle, device=-2)
        self.assertEqual(amounts(story.report()), {"vmm": 20})
        story.event(Kind.UNMAP, layer=CUDA, space=Space.VMM, address=1 << 30, size_bytes=10 * MiB, device=-2)
        self.assertEqual(amounts(story.report()), {"vmm": 10})

    def test_the_blocks_of_a_graph_begin_with_its_launch(self):
        story = LedgerStory()
        story.event(Kind.CREATE, layer=CUDA, space=Space.GRAPH, address=77)
        story.event(Kind.NODE_ALLOC, layer=CUDA, space=Space.GRAPH, address=1 << 30, size_bytes=5 * MiB, object=77)
        story.cuda(1)
        self.assertEqual(amounts(story.report()), {"device": 1})
        story.event(Kind.LAUNCH, layer=CUDA, space=Space.GRAPH, address=77)
        self.assertEqual(amounts(story.report()), {"device": 1, "graph_used": 5})

    def test_the_end_of_a_context_ends_its_allocations(self):
        story = LedgerStory()
        story.event(Kind.ALLOC, layer=Layer.DRIVER, space=Space.CONTEXT, address=99, size_bytes=50 * MiB, context=3)
        story.cuda(20, context=3)
        story.cuda(10, Space.POOL, context=3)
        story.cuda(7, context=4)
        story.event(Kind.FREE, layer=Layer.DRIVER, space=Space.CONTEXT, address=99, context=3, device=-2)
        self.assertEqual(amounts(story.report()), {"device": 7, "pool_used": 10})

    def test_memory_of_the_driver_is_neither_a_difference_nor_a_regression(self):
        paths = []
        for size in 50, 400:
            story = LedgerStory()
            story.cuda(size, Space.CONTEXT, Layer.DRIVER, context=1)
            story.free(story.cuda(20, context=1))
            paths.append(story.write(f"context-{size}.gmt.gz"))
        baseline = cli.place("context.baseline")
        self.assertEqual(cli.run("check", f"--baseline={baseline}", "--update-baseline", paths[0]).returncode, 0)
        done = cli.run("check", f"--baseline={baseline}", paths[1])
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("driver", done.stdout)
        self.assertNotIn("driver on", cli.run("diff", *paths).stdout)

    def test_the_ledger_of_minor_version_2_stays_the_same(self):
        report = cli.report(os.path.join(cli.TESTS, "golden", "version-1.2.gmt"))
        (row,) = report["ledger"]
        self.assertEqual(
            amounts(row),
            {
                "torch_live": 6,
                "torch_cached": 14,
                "device": 60,
                "array": 3,
                "vmm": 10,
                "pool_used": 10,
                "pool_cached": 22,
                "graph_used": 5,
                "graph_cached": 1,
                "contexts": 50,
                "modules": 7,
                "limits": 2,
                "runtime": 20,
                "other_processes": 30,
            },
        )
        self.assertEqual(
            (row["used_bytes"], row["managed_bytes"], row["imported_bytes"], row["moved"]),
            (240 * MiB, 100 * MiB, 500 * MiB, True),
        )
        self.assertEqual(set(report["anomalies"].values()), {0})


if __name__ == "__main__":
    cli.main()
