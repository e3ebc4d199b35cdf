# SPDX-License-Identifier: MIT
"""Exports for DHAT: the sums of the file, and valgrind's own page in a browser."""

import collections
import glob
import json
import os
import unittest

import cli
import exports
import tap
import viewers

# Where packages of valgrind keep its page.
PAGES = glob.glob("/usr/libexec/valgrind/dh_view.html") + glob.glob("/usr/lib*/**/valgrind/dh_view.html")
# For each number of a program point: the key of the report.
KEYS = {
    "tb": "total_alloc_bytes",
    "tbk": "alloc_count",
    "gb": "peak_bytes",
    "gbk": "peak_blocks",
    "eb": "live_bytes",
    "ebk": "live_blocks",
}


def read(path, *options):
    return json.loads(exports.export("dhat", path, *options))


def stacks(found):
    """Returns {functions, the innermost first: program point}."""
    return {tuple(found["ftbl"][frame].split(": ")[-1] for frame in one["fs"]): one for one in found["pps"]}


def frame_name(frame):
    """Returns a frame of NDJSON as the file writes it."""
    place = f" ({os.path.basename(frame['file'])}:{frame['line']})" if frame["file"] else ""
    return frame["function"] + place


class Dhat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("dhat.gmt.gz")

    def test_each_number_sums_to_that_of_the_report(self):
        made = cli.make("dhat-made.gmt.gz", events=3000, torch=1, devices=2, depth=5)
        for path in (self.path, made):
            for (layer, device), row in exports.accounts(path).items():
                if layer not in ("cuda", "torch"):
                    continue
                name = "host" if device is None else device
                found = read(path, f"--layer={layer}", f"--device={name}")
                for key, expected in KEYS.items():
                    self.assertEqual(sum(one[key] for one in found["pps"]), row[expected], (layer, device, key))
                for one in found["pps"]:
                    self.assertTrue(one["tb"] >= one["mb"] >= max(one["gb"], one["eb"]), one)
                    self.assertTrue(one["tbk"] >= one["mbk"] > 0, one)
                    self.assertLessEqual(one["tl"], one["tbk"] * found["te"])
                self.assertLessEqual(found["tg"], found["te"])
                # The viewer refuses a file that has a stack twice.
                every = [tuple(one["fs"]) for one in found["pps"]]
                self.assertEqual(len(every), len(set(every)))

    def test_lifetimes_and_peaks_are_those_of_the_events(self):
        made = cli.make("dhat-lifetimes.gmt.gz", events=3000, torch=1, devices=1, depth=3)
        found = read(made, "--layer=torch", "--device=0")
        expected = collections.defaultdict(lambda: [0, 0, 0])  # lifetime, live bytes, their maximum
        ids, addresses, names = {}, {}, {}
        for line in exports.export("ndjson", made, "--layer=torch", "--device=0").decode("utf-8").splitlines():
            one = json.loads(line)
            if one["type"] == "stack":
                names[one["id"]] = tuple(map(frame_name, one["stack"])) or ("[no stack]",)
            elif one["type"] in ("alloc", "free"):
                row = expected[names[one["stack"]]]
                row[1] += one["size_bytes"] if one["type"] == "alloc" else -one["size_bytes"]
                row[2] = max(row[1:])
                if one["type"] == "alloc":
                    addresses[one["address"]], ids[one["address"]] = one["time_ns"], one["stack"]
                else:
                    row[0] += one["lifetime_ns"]
                    del addresses[one["address"]]
        # A block that is not freed lives until the end.
        for address, begin in addresses.items():
            expected[names[ids[address]]][0] += found["te"] * 1000 - begin
        points = stacks(found)
        self.assertEqual(set(points), set(expected))
        self.assertGreater(sum(row[0] for row in expected.values()), 1000000)
        for name, (lifetime, _live, peak) in expected.items():
            self.assertEqual(points[name]["mb"], peak, name)
            self.assertAlmostEqual(points[name]["tl"], lifetime / 1000, delta=1 + points[name]["ebk"])

    def test_a_file_ends_at_the_moment_that_was_asked_for(self):
        row = exports.accounts(self.path, "--until=step:2")["torch", 0]
        found = read(self.path, "--until=step:2")
        self.assertEqual(sum(one["eb"] for one in found["pps"]), row["live_bytes"])
        self.assertEqual(sum(one["tbk"] for one in found["pps"]), row["alloc_count"])
        self.assertLess(row["alloc_count"], exports.accounts(self.path)["torch", 0]["alloc_count"])

    def test_one_device_is_included_and_a_line_says_so(self):
        done = cli.run("export", "--format=dhat", "-o", "one.dhat.json", self.path)
        self.assertRegex(done.stderr, r"warning: .*only the memory of GPU 0 is included.*--device")
        self.assertEqual(read(self.path, "--device=1")["mode"], "gpumemtrace, layer torch, GPU 1")

    def test_a_folded_recording_has_the_same_numbers_without_lifetimes(self):
        done = cli.run("fold", "--force", "-o", "less-dhat.gmt.gz", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = cli.run("export", "--format=dhat", "--device=0", "-o", "-", "less-dhat.gmt.gz")
        self.assertRegex(done.stderr, r"warning: .*the lifetimes of blocks in .* folded events are not included")
        whole, less = read(self.path, "--device=0"), json.loads(done.stdout)
        for key in KEYS:
            self.assertEqual(sum(one[key] for one in less["pps"]), sum(one[key] for one in whole["pps"]), key)

    @unittest.skipUnless(PAGES and viewers.can_open_pages(), "needs valgrind, chromium, Node.js and scripts/setup/page")
    def test_the_page_of_valgrind_shows_the_numbers(self):
        path = viewers.write("dhat", self.path, "opened.dhat.json", "--device=0", "--layer=torch")
        row = exports.accounts(self.path)["torch", 0]
        page = viewers.open_page("open_dhat.mjs", PAGES[0], path)
        self.assertEqual(page["problems"], [])
        text = page["text"].replace("\u00a0", " ")
        self.assertIn("gpumemtrace, layer torch, GPU 0", text)
        self.assertRegex(text, rf"Total: +{row['total_alloc_bytes']:,} bytes .* in {row['alloc_count']:,} blocks")
        self.assertRegex(text, rf"At t-gmax: {row['peak_bytes']:,} bytes .* in {row['peak_blocks']:,} blocks")
        self.assertRegex(text, rf"At t-end: +{row['live_bytes']:,} bytes .* in {row['live_blocks']:,} blocks")
        self.assertIn("forward (model.py:20)", text)


if __name__ == "__main__":
    tap.main()
