# SPDX-License-Identifier: MIT
"""gpumemtrace fold: a smaller recording gives the same answers."""

import os

import cli
import read_recording
import write_recording as w
from definitions import Layer, MarkKind, Space
from compaction_checks import CompactionChecks, fold
from heap_story import serve
from ledger_story import LedgerStory
from recording import MiB

GOLDEN = os.path.join(cli.TESTS, "golden")


class Compaction(CompactionChecks):
    def check_each_cut(self, path):
        events = cli.report(path)["events"]["recorded"]
        compacted = 0
        for kept in None, events // 7, events // 2, events - events // 9, 10 * events:
            with self.subTest(kept=kept):
                small = self.check_same(
                    path, fold(path, cli.place("cut.gmt.gz"), *([] if kept is None else [f"--keep-events={kept}"]))
                )
                compacted += small.get("folded", {"events": 0})["events"]
        self.assertGreater(compacted, events)

    def test_totals_peaks_sites_and_ledger_are_those_of_the_whole_recording(self):
        for settings in (
            {"events": 9000},
            {"events": 30000, "threads": 6, "devices": 3, "drop": 3},
            {"events": 8000, "steps": 40, "threads": 2},
        ):
            with self.subTest(settings=settings):
                self.check_each_cut(cli.make("whole.gmt.gz", **settings))

    def test_a_compaction_keeps_the_numbers_of_recordings_of_each_version(self):
        for version in "1", "1.1", "1.2":
            with self.subTest(version=version):
                path = os.path.join(GOLDEN, f"version-{version}.gmt")
                self.check_same(path, fold(path, cli.place("golden.gmt.gz")))

    def test_a_compacted_recording_of_minor_version_3_stays_the_same(self):
        report = cli.report(os.path.join(GOLDEN, "version-1.3.gmt"))
        self.assertEqual(report["folded"]["events"], 536)
        self.assertEqual((report["events"]["recorded"], report["complete"]), (606, True))
        self.assertEqual(set(report["anomalies"].values()), {0})

    def test_a_compaction_keeps_the_numbers_of_the_programs_own_heaps(self):
        self.check_each_cut(serve().write("heaps.gmt.gz"))

    def check_ledger(self, story, name):
        """Checks that the compacted recording has the ledger of the whole recording, and returns this ledger."""
        path = story.write(f"{name}.gmt.gz")
        compacted = fold(path, cli.place(f"{name}-compacted.gmt.gz"))
        (full,), (small,) = cli.report(path)["ledger"], cli.report(compacted)["ledger"]
        self.assertEqual(full, small)
        return small

    def test_a_compaction_keeps_the_ledger_at_the_peak(self):
        story = LedgerStory()
        big = story.cuda(400)
        story.sample(500)
        story.free(big)
        for _ in range(20):
            story.cuda(1)
            story.sample(120)
        small = self.check_ledger(story, "peak")
        self.assertEqual(small["at_peak"]["used_bytes"], 500 * MiB)

    def test_a_compaction_keeps_the_ledger_at_the_end(self):
        story = LedgerStory()
        for _ in range(8):
            story.free(story.cuda(10))
            story.step()
        story.cuda(30)
        story.sample(170)
        small = self.check_ledger(story, "end")
        self.assertEqual(small["used_bytes"], 170 * MiB)

    def test_compacting_twice_equals_compacting_once(self):
        path = cli.make("twice.gmt.gz", events=20000, threads=3)
        once = fold(path, cli.place("once.gmt.gz"), "--keep-events=1000")
        first = fold(path, cli.place("first.gmt.gz"), "--keep-events=9000")
        twice = fold(first, cli.place("second.gmt.gz"), "--keep-events=1000")
        self.check_same(path, twice)
        self.check_same(once, twice)
        all_of_it = fold(twice, cli.place("third.gmt.gz"))
        self.check_same(path, all_of_it)

    def test_a_compaction_does_not_change_the_events_after_the_cut(self):
        path = cli.make("behind.gmt.gz", events=12000, threads=3)
        rows = list(read_recording.read(fold(path, cli.place("behind-compacted.gmt.gz"), "--keep-events=2000")))
        at = next(i for i, row in enumerate(rows) if row["record"] == "fold")
        self.assertEqual(sum(row["record"] == "fold" for row in rows), 1)

        def key(row):
            return row["stamp"], row["thread"], row["kind"], row["address"]

        behind = sorted((row for row in rows[at:] if row["record"] == "event"), key=key)
        whole = sorted(
            (row for row in read_recording.read(path) if row["record"] == "event" and row["stamp"] > rows[at]["stamp"]),
            key=key,
        )
        self.assertEqual(behind, whole)
        self.assertGreaterEqual(len(behind), 2000)
        survivors = [row for row in rows[:at] if row["record"] == "event"]
        self.assertEqual(len(survivors), rows[at]["survivors"])
        self.assertEqual(rows[at]["events"] + len(behind), 12000)

    def test_fold_reports_what_it_compacted(self):
        path = cli.make("said.gmt.gz", events=5000)
        compacted = fold(path, cli.place("said-compacted.gmt.gz"))
        said = cli.report(compacted)["folded"]
        self.assertEqual((said["why"], said["events"] + said["survivors"]), ("gpumemtrace fold", 5000))
        text = cli.run("report", "--full", compacted).stdout
        self.assertIn(f"{said['events']:,} events were replaced by totals", text)
        self.assertNotIn("folded", cli.report(path))
        self.assertLess(os.path.getsize(compacted), os.path.getsize(path))

    def test_steps_and_seconds_can_be_kept(self):
        path = cli.make("steps.gmt.gz", events=8000, steps=40)
        marks = [
            row["stamp"]
            for row in read_recording.read(path)
            if row["record"] == "mark" and row["kind"] == MarkKind.STEP
        ]
        kept = list(read_recording.read(fold(path, cli.place("kept.gmt.gz"), "--keep-steps=5")))
        (cut,) = (row["stamp"] for row in kept if row["record"] == "fold")
        self.assertEqual(sum(stamp > cut for stamp in sorted(set(marks))), 5)
        rows = list(read_recording.read(fold(path, cli.place("kept.gmt.gz"), "--keep-seconds=1000000")))
        self.assertEqual([row["events"] - row["survivors"] for row in rows if row["record"] == "fold"], [0])

    def test_peaks_of_steps_that_were_compacted_are_still_known(self):
        path = cli.make("peaks.gmt.gz", events=8000, steps=40, threads=2)
        full, small = cli.report(path)["steps"], cli.report(fold(path, cli.place("peaks-compacted.gmt.gz")))["steps"]
        self.assertGreater(len(full), 30)
        self.assertEqual(full, small)

    def test_no_step_or_phase_has_a_part_of_a_peak_that_was_compacted(self):
        """The compacted part has lost the blocks of its peaks. The blocks that live at its end are others."""
        path = cli.make("past.gmt.gz", events=8000, steps=40, threads=2, torch=1)
        events = cli.report(path)["events"]["recorded"]
        rows = 0
        for kept in events // 9, events // 2:
            full, small = (
                cli.report(path),
                cli.report(fold(path, cli.place("past-compacted.gmt.gz"), f"--keep-events={kept}")),
            )
            whole = {(row["layer"], row["device"]): row for row in full["peaks"]}
            for row in small["peaks"]:
                rows += 1
                before = whole[row["layer"], row["device"]]
                for key in "by_step", "by_phase":
                    self.assertIn(row[key], ([], before[key]), key)
        self.assertGreater(rows, 3)

    def test_sites_beyond_a_limit_are_merged(self):
        path = cli.make("sites.gmt.gz", events=9000, sites=40)
        full, small = cli.report(path), cli.report(fold(path, cli.place("merged.gmt.gz"), "--max-sites=5"))
        self.assertEqual(full["devices"], small["devices"])
        self.assertLess(len(small["sites"]), len(full["sites"]))
        self.assertGreater(small["folded"]["merged_sites"], 0)
        for key in "allocs", "frees", "live_bytes", "peak_bytes":
            self.assertEqual(sum(site[key] for site in full["sites"]), sum(site[key] for site in small["sites"]), key)

    def test_survivors_of_a_compaction_whose_totals_are_lost_are_shown(self):
        path = cli.place("no-totals.gmt.gz")
        event = {**w.EVENT, "device": 0}
        w.write(
            path,
            w.process(),
            w.block("stack", {"id": 1, "items": [64]}),
            w.block("event", {**event, "stamp": 2000, "address": 4096, "size_bytes": 1 << 20, "stack": 1}),
            w.block("fold", {"stamp": 2001, "events": 1, "survivors": 1, "why": "max_size"}),
            w.block("event", {**event, "stamp": 2002, "address": 1 << 30, "size_bytes": 10}),
            w.end(2, stamp=3000),
        )
        found = cli.report(path)
        (device,) = found["devices"]
        (layer,) = (row for row in device["layers"] if row["layer"] == "cuda")
        self.assertEqual((layer["live_bytes"], layer["peak_bytes"]), ((1 << 20) + 10,) * 2)
        self.assertEqual(sum(site["live_bytes"] for site in found["sites"]), (1 << 20) + 10)

    def test_a_peak_that_differs_from_its_sites_is_replaced_by_their_sum_and_reported(self):
        path, unlike = cli.place("peaks.gmt.gz"), "do not match the compacted blocks"
        for said in (1000, 4), (900, 4), (1000, 5):
            w.write(
                path,
                w.process(),
                w.block("stack", *({"id": id, "items": [64 * id]} for id in (1, 2))),
                w.block(
                    "past_account", {"layer": Layer.CUDA, "device": 0, "peak_bytes": said[0], "peak_blocks": said[1]}
                ),
                w.block(
                    "past_site",
                    *(
                        {
                            "layer": Layer.CUDA,
                            "device": 0,
                            "space": Space.DEVICE,
                            "stack": id,
                            "peak_bytes": 500,
                            "peak_blocks": 2,
                        }
                        for id in (1, 2)
                    ),
                ),
                w.block("fold", {"stamp": 2000, "why": "max_size"}),
                w.end(0, stamp=3000),
            )
            found = cli.report(path)
            (layer,) = (row for row in found["devices"][0]["layers"] if row["layer"] == "cuda")
            for key, held in ("peak_bytes", 1000), ("peak_blocks", 4):
                self.assertEqual((layer[key], sum(site[key] for site in found["sites"])), (held, held), said)
            self.assertEqual(any(unlike in remark for remark in found["remarks"]), said != (1000, 4), said)

    def test_an_impossible_compaction_prints_one_line_and_leaves_no_file(self):
        path = cli.make("wrong.gmt.gz")
        for code, arguments, words in (
            (2, ["fold", path], "add -o FILE"),
            (2, ["fold", "-o", "x"], "no recording is given"),
            (3, ["fold", "/no/such", "-o", cli.place("n.gmt.gz")], "/no/such: No such file"),
            (3, ["fold", path, "-o", "/no/such/x"], "/no/such/x: No such file"),
            (3, ["fold", cli.__file__, "-o", cli.place("n.gmt.gz")], "not a"),
        ):
            done = cli.run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse([name for name in os.listdir(cli.FOLDER) if name.startswith("n.gmt")])

    def test_a_recording_may_come_through_a_pipe(self):
        path, compacted = cli.make("piped.gmt.gz"), cli.place("piped-compacted.gmt.gz")
        with open(path, "rb") as file:
            done = cli.run("fold", "/dev/stdin", "--force", "-o", compacted, input=file.read(), text=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_same(path, compacted)

    def test_a_recording_that_is_cut_is_compacted_up_to_there(self):
        path = cli.make("whole.gmt.gz", events=20000, threads=2)
        with open(path, "rb") as file:
            data = file.read()
        cut = cli.place("cut-off.gmt.gz")
        with open(cut, "wb") as file:
            file.write(data[: len(data) * 2 // 3])
        full, small = cli.report(cut), cli.report(fold(cut, cli.place("cut-compacted.gmt.gz")))
        self.assertEqual(full["devices"], small["devices"])
        self.assertFalse(small["complete"])


if __name__ == "__main__":
    cli.main()
