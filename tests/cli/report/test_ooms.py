# SPDX-License-Identifier: MIT
"""The report of an out-of-memory error: a paragraph for a person, keys for a program."""

import time
import unittest

import cli
from definitions import Space
from oom_story import ALLOC, CUDA, MIB, REFUSED, OomStory


def fragmented(free=20 * MIB):
    story = OomStory()
    story.add(ALLOC, CUDA, 60 * MIB, 0x10000000)
    for i in range(4):
        story.torch(ALLOC, 10 * MIB, 0x10000000 + i * 15 * MIB, 60 * MIB, frames=2 + i // 2)
    for _ in range(3):
        story.add(REFUSED, CUDA, 30 * MIB, frames=4)
        story.driver_answer(free)
    story.torch(REFUSED, 30 * MIB, 0, 60 * MIB, frames=4)
    story.driver_answer(free)
    return story


class Ooms(unittest.TestCase):
    maxDiff = None

    def test_one_paragraph_has_the_request_the_free_memory_and_the_holders(self):
        story = fragmented()
        self.assertEqual(
            story.text(),
            "At 9.00 ms, PyTorch could not allocate 30.0 MiB on GPU 0 for train.py:4 in place4. The driver had 20.0 MiB of 100 MiB "
            "free and PyTorch had 20.0 MiB cached, in holes of at most 5.00 MiB: without fragmentation the request would have succeeded. "
            "20.0 MiB were in use outside of the recording: contexts, code, other processes. PyTorch's blocks held 40.0 MiB: "
            "20.0 MiB by train.py:2 in place2, 20.0 MiB by train.py:3 in place3.",
        )
        self.assertEqual(story.heading, "Out of memory: 1 request failed")

    def test_the_report_gives_the_missing_memory_to_the_byte(self):
        self.assertIn(
            "PyTorch had 20.0 MiB cached, in holes of at most 5.00 MiB: 9.00 MiB less than requested in total.",
            fragmented(free=MIB).text(),
        )

    def test_the_memory_limit_of_pytorch_is_named_if_the_driver_did_not_refuse(self):
        story = OomStory()
        story.torch(REFUSED, 30 * MIB, 0, 0)
        story.driver_answer(90 * MIB)
        self.assertIn(
            "The driver had 90.0 MiB of 100 MiB free, which is enough, and the driver refused no request: "
            "PyTorch may have reached its own limit (set_per_process_memory_fraction).",
            story.text(),
        )

    def test_a_refusal_outside_of_pytorch_names_the_function_and_this_process(self):
        story = OomStory()
        story.add(ALLOC, CUDA, 90 * MIB, 0x10000000, frames=3)
        story.add(REFUSED, CUDA, 30 * MIB, frames=4)
        story.driver_answer(10 * MIB)
        self.assertEqual(
            story.text(),
            "At 2.00 ms, cudaMalloc could not allocate 30.0 MiB on GPU 0 for train.py:4 in place4. The driver had 10.0 MiB of 100 MiB "
            "free: 20.0 MiB less than requested. The blocks of this process held 90.0 MiB: 90.0 MiB by train.py:3 in place3.",
        )

    def test_retries_are_one_line_and_no_failure(self):
        story = OomStory()
        for i in range(3):
            story.add(REFUSED, CUDA, 30 * MIB, frames=4)
            story.add(ALLOC, CUDA, 30 * MIB, 0x10000000 * (i + 1), frames=4)
            story.torch(ALLOC, 25 * MIB, 0x10000000 * (i + 1), 30 * MIB * (i + 1), frames=4)
        self.assertEqual(
            story.text(),
            "The driver refused 3 times, and PyTorch succeeded after it emptied its cache; the last: 30.0 MiB at 7.00 ms for "
            "train.py:4 in place4.",
        )
        self.assertEqual(story.heading, "Out of memory, recovered from")
        report = story.json()
        self.assertEqual(report["oom_counts"], {"failed": 0, "recovered": 3, "left_out": 0})
        self.assertEqual([(oom["recovered"], oom["driver_refusals"]) for oom in report["ooms"]], [(True, 1)] * 3)

    def test_the_first_and_last_three_of_many_failures_have_a_paragraph(self):
        story = OomStory()
        for i in range(10):
            story.add(REFUSED, CUDA, (30 + i) * MIB)
        text = story.text()
        self.assertEqual([size for size in range(30, 40) if f"allocate {size}.0 MiB" in text], [30, 37, 38, 39])
        self.assertIn("[6 more (see --json)]", text)
        self.assertEqual(story.heading, "Out of memory: 10 requests failed")

    def test_invalid_requests_are_listed_separately(self):
        story = OomStory()
        for i in range(7):
            story.add(REFUSED, CUDA, i, result=1)
        story.add(REFUSED, CUDA, 30 * MIB)
        text = cli.run("report", "--full", story.write()).stdout
        self.assertIn("Out of memory: 1 request failed\n", text)
        self.assertIn("Refused requests: 7; the last ones\n", text)
        self.assertEqual([i for i in range(7) if f"  {i} B  cuda" in text], [2, 3, 4, 5, 6])
        self.assertNotIn("30.0 MiB  cuda", text)

    def test_the_json_has_the_same_numbers_and_points_at_sites(self):
        report = fragmented().json()
        (oom,) = report["ooms"]
        stack = oom.pop("stack")
        self.assertEqual(stack[oom.pop("own_frame")]["line"], 4)
        ledger = oom.pop("ledger")
        self.assertEqual(
            {line["name"]: line["bytes"] for line in ledger["lines"] if line["bytes"]},
            {"torch_live": 40 * MIB, "torch_cached": 20 * MIB, "unexplained": 20 * MIB},
        )
        self.assertEqual((ledger["used_bytes"], ledger["total_bytes"]), (80 * MIB, 100 * MIB))
        holders = oom.pop("holders")
        self.assertEqual([report["sites"][i]["stack"][0]["line"] for i in holders], [2, 3])
        self.assertEqual(
            oom,
            {
                "time_ns": 9000000,
                "layer": "torch",
                "device": 0,
                "requested_bytes": 30 * MIB,
                "free_bytes": 20 * MIB,
                "total_bytes": 100 * MIB,
                "live_bytes": 40 * MIB,
                "cuda_live_bytes": 60 * MIB,
                "cached_bytes": 20 * MIB,
                "usable_cached_bytes": 20 * MIB,
                "graph_cached_bytes": 0,
                "reserved_bytes": 60 * MIB,
                "largest_hole_bytes": 5 * MIB,
                "would_fit": True,
                "recovered": False,
                "driver_refusals": 3,
                "step": None,
                "holders_layer": "torch",
                "held_bytes": 40 * MIB,
                "holder_bytes": [20 * MIB, 20 * MIB],
                "owner": "PyTorch",
            },
        )
        self.assertEqual(report["oom_counts"], {"failed": 1, "recovered": 0, "left_out": 0})
        (short,) = fragmented().json("--limit=0")["ooms"]
        self.assertEqual(short["holders"], [None, None])

    def test_unknown_values_are_null(self):
        story = OomStory()
        story.add(REFUSED, CUDA, 5, space=Space.PINNED, device=-1)
        (oom,) = story.json()["ooms"]
        for key in "device", "free_bytes", "total_bytes", "reserved_bytes", "largest_hole_bytes", "would_fit", "step":
            self.assertIsNone(oom[key], key)

    def test_tens_of_thousands_of_refusals_are_counted_and_not_all_explained(self):
        story = OomStory()
        story.add(ALLOC, CUDA, MIB, 0x10000000)
        story.events += [
            {**story.events[0], "kind": REFUSED, "stamp": 2 * 10**6 + i, "result": 2, "address": 0}
            for i in range(30000)
        ]
        story.answers = [{"stamp": event["stamp"], "thread": 1, "total_bytes": 9} for event in story.events]
        path = story.write()
        start = time.monotonic()
        done = cli.run("report", "--full", path)
        self.assertLess(time.monotonic() - start, 30)
        self.assertIn("Out of memory: 30,000 requests failed", done.stdout)
        self.assertIn("[29,996 more (see --json)]", done.stdout)


if __name__ == "__main__":
    cli.main()
