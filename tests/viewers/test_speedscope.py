# SPDX-License-Identifier: MIT
"""Exports in speedscope: the schema of its files, and its own page in a browser."""

import json
import os
import unittest

import viewers

viewers.enter_environment(os.path.abspath(__file__))

import exports  # noqa: E402 (these need the environment)
import jsonschema  # noqa: E402
import tap  # noqa: E402

SPEEDSCOPE = viewers.npm_package("speedscope")
KEYS = {
    "memory at the peak": "peak_bytes",
    "live memory": "live_bytes",
    "allocated memory": "total_alloc_bytes",
    "allocations": "alloc_count",
}


class Speedscope(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("speedscope.gmt.gz")

    def opened(self, form, suffix):
        path = viewers.write(form, self.path, f"opened{suffix}")
        page = viewers.open_page("open_speedscope.mjs", SPEEDSCOPE, path)
        self.assertEqual(page["problems"], [])
        return page["rows"]

    def test_a_file_keeps_the_schema_and_sums_to_the_report(self):
        with open(os.path.join(SPEEDSCOPE, "dist", "release", "file-format-schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        for options in ([], ["--until=step:2"], ["--by=owner"]):
            numbers = exports.accounts(self.path, *(one for one in options if "--by" not in one))
            for layer in ("torch", "cuda"):
                found = json.loads(exports.export("speedscope", self.path, f"--layer={layer}", *options))
                jsonschema.validate(found, schema)
                sums = {one["name"]: sum(one["weights"]) for one in found["profiles"]}
                expected = {
                    f"{title}, {layer}, {exports.device_name(device)}": one[key]
                    for (of, device), one in numbers.items()
                    for title, key in KEYS.items()
                    if of == layer and one[key]
                }
                self.assertEqual(sums, expected)
                self.assertEqual({one["name"]: one["endValue"] for one in found["profiles"]}, sums)
                for one in found["profiles"]:
                    self.assertEqual(len(one["samples"]), len(one["weights"]))

    def test_frames_have_their_whole_path_and_line(self):
        found = json.loads(exports.export("speedscope", self.path))
        frames = found["shared"]["frames"]
        stacks = [[frames[frame] for frame in sample] for sample in found["profiles"][0]["samples"]]
        self.assertIn(
            [
                {"name": "main", "file": "/home/me/train.py", "line": 8},
                {"name": "build", "file": "/home/me/model.py", "line": 7},
            ],
            stacks,
        )
        self.assertIn([{"name": "[no stack]"}], stacks)

    @unittest.skipUnless(viewers.can_open_pages(), "needs chromium, Node.js and scripts/setup/page")
    def test_the_page_shows_each_profile_and_its_functions(self):
        rows = self.opened("speedscope", ".speedscope.json")
        self.assertEqual(rows[1], ["1", "memory at the peak, torch, GPU 0", "8.25 MB"])
        self.assertIn(["4", "allocations, torch, GPU 0", "15"], rows)
        self.assertIn(["7", "allocated memory, torch, GPU 1", "2.00 MB"], rows)
        self.assertIn(["4.00 MB (48%)", "4.00 MB (48%)", "forward"], rows)

    @unittest.skipUnless(viewers.can_open_pages(), "needs chromium, Node.js and scripts/setup/page")
    def test_the_page_opens_folded_stacks(self):
        rows = self.opened("folded", ".folded")
        self.assertIn(["8,652,288 (80%)", "0 (<0.01%)", "GPU 0"], rows)
        self.assertIn(["262,144 (2.4%)", "262,144 (2.4%)", "keep (train.py:33)"], rows)


if __name__ == "__main__":
    tap.main()
