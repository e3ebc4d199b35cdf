# SPDX-License-Identifier: MIT
"""Custom heaps in reports, tables, diffs and verdicts: next to the other layers, never added to them."""

import json
import unittest

import cli
from heap_story import ALLOC, DESTROY, FREE, RESET, RESIZE, KiB, MiB, HeapStory, serve
from recording import Story


def answer(verb, *arguments, code=0):
    done = cli.run(verb, "--json", *arguments)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = serve().write("heaps.gmt.gz")
        cls.report = answer("report", cls.path)
        cls.heaps = {row["name"]: row for row in cls.report["heaps"]}

    def test_each_heap_has_its_size_live_bytes_and_peak(self):
        keys = "device", "size_bytes", "live_bytes", "free_bytes", "peak_bytes", "live_blocks", "source", "heaps"
        self.assertEqual(
            {name: tuple(row[key] for key in keys) for name, row in self.heaps.items()},
            {
                "caches": (0, 32 * MiB, 1280 * KiB, 32 * MiB - 1280 * KiB, MiB + 1280 * KiB, 20, "program", 1),
                "staging": (None, MiB, 5000, MiB - 5000, 5000, 1, "program", 1),
                None: (0, None, 100, None, 100, 1, None, 1),
            },
        )
        self.assertEqual([row["name"] for row in self.report["heaps"]], ["caches", "staging", None])

    def test_the_sites_of_a_heap_sum_to_its_peak(self):
        for row in self.heaps.values():
            self.assertEqual(sum(site["peak_bytes"] for site in row["sites"]), row["peak_bytes"])
            self.assertEqual(sum(site["live_bytes"] for site in row["sites"]), row["live_bytes"])
        self.assertEqual(
            [
                (site["stack"][site["own_frame"]]["function"], site["peak_bytes"])
                for site in self.heaps["caches"]["sites"]
            ],
            [("keep", 1280 * KiB), ("step", MiB)],
        )

    def test_the_layer_is_listed_next_to_cuda_and_never_added_to_it(self):
        layers = {row["layer"]: row for row in self.report["devices"][0]["layers"]}
        self.assertEqual((layers["cuda"]["live_bytes"], layers["cuda"]["live_blocks"]), (32 * MiB, 1))
        self.assertEqual(layers["custom"]["live_bytes"], 1280 * KiB + 100)
        self.assertEqual({space["space"] for space in layers["custom"]["spaces"]}, {"heap"})
        self.assertEqual(self.report["host"]["live_bytes"], 0)
        sums = {row["name"]: row["bytes"] for ledger in self.report["ledger"] for row in ledger["lines"]}
        self.assertEqual(sum(sums.values()), 32 * MiB)

    def test_a_heaps_growth_is_a_leak_with_its_name_and_check_fails_on_it(self):
        (leak,) = [row for row in self.report["leaks"] if row["definition"] == "growth"]
        self.assertEqual(
            (leak["layer"], leak["space"], leak["heap"], leak["bytes_per_step"], leak["steps_to_oom"]),
            ("custom", "heap", "caches", 64 * KiB, None),
        )
        text = cli.run("leaks", self.path).stdout
        self.assertIn("[custom, GPU 0, heap caches]", text)
        self.assertIn("are not returned to it", text)
        for more, code in (
            (("--max-growth=63KiB/step",), 1),
            (("--max-growth=64KiB/step", "--max-peak=custom=3MiB"), 0),
            (("--max-growth=64KiB/step", "--max-peak=custom=2MiB"), 1),
        ):
            self.assertEqual(cli.run("check", "--max-leaked=1GiB", *more, self.path).returncode, code, more)

    def test_a_pool_whose_blocks_are_all_freed_has_no_growth(self):
        report = answer("report", serve(leak=0).write("heaps-sound.gmt.gz"))
        self.assertEqual([row for row in report["leaks"] if row["definition"] == "growth"], [])

    def test_until_shows_the_state_of_that_moment(self):
        heaps = {row["name"]: row for row in answer("report", f"--until={1000 + 10 * 6}", self.path)["heaps"]}
        self.assertEqual((heaps["caches"]["live_bytes"], heaps["staging"]["live_bytes"]), (0, 5000))

    def test_the_text_has_a_paragraph_about_heaps(self):
        text = cli.run("report", "--full", self.path).stdout
        start = text.index("The program's own heaps")
        lines = text[start : text.index("\n\n", start)].splitlines()
        self.assertRegex(lines[2], r"^ +32\.0 MiB +1\.25 MiB +30\.8 MiB +20 +2\.25 MiB .* caches, GPU 0$")
        self.assertRegex(lines[3], r"^ +1\.25 MiB +55\.6 % +20 x  serve.py:32 in keep")
        self.assertRegex(lines[5], r"staging, host$")
        self.assertRegex(lines[7], r"^ +- +100 B +- +1 +100 B .* \(no name\), GPU 0$")
        self.assertNotIn("own heaps", cli.run("report", "--full", Story().write("heaps-none.gmt.gz")).stdout)

    def test_tables_and_diffs_know_the_layer(self):
        (table,) = answer("report", "--by=line", self.path)["tables"]
        self.assertEqual(
            {
                row["frame"]["function"]: row["peak_bytes"]
                for row in table["rows"]
                if row["layer"] == "custom" and row["device"] == 0
            },
            {"keep": 1280 * KiB, "step": MiB, "open_pool": 100},
        )
        other = serve(leak=128 * KiB).write("heaps-other.gmt.gz")
        self.assertRegex(
            cli.run("diff", self.path, other).stdout,
            r"\+1\.25 MiB +1\.25 MiB +2\.50 MiB +20 -> 20 +grown +serve.py:keep",
        )


class DamagedRecordings(unittest.TestCase):
    def test_events_without_names_heaps_or_blocks_are_shown_as_unknown(self):
        story = HeapStory()
        story.heap_event(FREE, 9, 0x1000)
        story.heap_event(DESTROY, 9)
        story.heap_event(RESET, 8)
        story.heap_event(ALLOC, 7, 0x1000, 10)
        story.heap_event(ALLOC, 7, 0x1000, 20)
        story.heap_event(RESIZE, 7, 0x1000, 40)
        story.heap_event(RESIZE, 7, 0, (1 << 64) - 1)
        story.heap_event(FREE, 0, 0x7777)
        report = answer("report", story.write("heaps-odd.gmt.gz"))
        (heap,) = report["heaps"]
        self.assertEqual((heap["name"], heap["live_bytes"], heap["size_bytes"]), (None, 40, None))
        self.assertEqual(
            {key: value for key, value in report["anomalies"].items() if value}, {"unknown_frees": 1, "missed_frees": 1}
        )


if __name__ == "__main__":
    cli.main()
