# SPDX-License-Identifier: MIT
"""Memory snapshots of PyTorch, written by Python's pickle module: the recording has their memory, stacks and phases."""

import json
import pickle
import unittest

import cli
import snapshots
from snapshots import BASE, BUILD, STEP, MiB, Snapshot


def training(steps=5):
    """A model of 4 MiB, and a block of 1 MiB in each step."""
    story = Snapshot()
    story.event("segment_alloc", BASE, 20 * MiB, BUILD)
    story.event("alloc", BASE, 4 * MiB, BUILD)
    for _ in range(steps):
        story.event("alloc", BASE + 8 * MiB, MiB, STEP)
        story.free(BASE + 8 * MiB, MiB, STEP)
    story.segment(BASE, [(0, 4 * MiB, BUILD), (4 * MiB, 16 * MiB, [], "inactive")])
    return story


class Numbers(unittest.TestCase):
    def check(self, path, **wanted):
        (numbers,) = snapshots.numbers(path).values()
        self.assertEqual({key: numbers[key] for key in wanted}, wanted)

    def test_each_protocol_gives_the_same_recording(self):
        for protocol in range(2, 6):
            with self.subTest(protocol=protocol):
                path = snapshots.imported(training().write(f"protocol-{protocol}.pickle", protocol))
                self.check(
                    path,
                    live_bytes=4 * MiB,
                    live_blocks=1,
                    peak_bytes=5 * MiB,
                    alloc_count=6,
                    free_count=5,
                    total_alloc_bytes=9 * MiB,
                )
                self.assertEqual(snapshots.numbers(path, "cuda")[0]["live_bytes"], 20 * MiB)
                reported = cli.report(path)["devices"][0]["layers"]
                (reported,) = [layer["reported"] for layer in reported if "reported" in layer]
                self.assertEqual((reported["allocated_bytes"], reported["reserved_bytes"]), (4 * MiB, 20 * MiB))
                self.assertEqual(reported["disagreements"], 0)

    def test_it_comes_from_standard_input(self):
        out = cli.place("piped.gmt.gz")
        with open(training().write(), "rb") as file:
            data = file.read()
        done = cli.run("import", "-o", out, "-", input=data, text=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.check(out, live_bytes=4 * MiB)

    def test_a_list_of_segments_has_only_what_lives(self):
        data = pickle.dumps(training().value()["segments"])
        path = snapshots.imported(snapshots.write("segments.pickle", data))
        self.check(path, live_bytes=4 * MiB, alloc_count=1, free_count=0)
        self.assertTrue(any("has no events" in note for note in snapshots.notes(path)))

    def test_times_are_those_of_the_snapshot(self):
        process = cli.report(snapshots.imported(training().write()))["process"]
        self.assertEqual(process["start_time_ns"], (snapshots.START_US + 10) * 1000)
        self.assertEqual(process["duration_ns"], 160_000)

    def test_events_without_times_are_numbered(self):
        story = training()
        for event in story.traces[0]:
            del event["time_us"]
        path = snapshots.imported(story.write())
        self.check(path, peak_bytes=5 * MiB, alloc_count=6)
        self.assertIn("recorded  at a time that is not known", cli.run("report", "--full", path).stdout)
        self.assertTrue(any("have no times" in note for note in snapshots.notes(path)))

    def test_several_gpus_have_their_own_memory(self):
        story = Snapshot(devices=3)
        for device in (0, 2):
            address = BASE + device * 64 * MiB
            story.event("segment_alloc", address, 20 * MiB, device=device)
            story.event("alloc", address, (device + 1) * MiB, device=device, stream=7)
        path = snapshots.imported(story.write())
        self.assertEqual(
            {device: one["live_bytes"] for device, one in snapshots.numbers(path).items()}, {0: MiB, 2: 3 * MiB}
        )
        torch = [event for event in snapshots.dump(path, "event") if event["layer"] == 2]
        self.assertEqual([event["stream"] for event in torch], [7, 7])

    def test_addresses_above_the_signed_numbers(self):
        story, high = Snapshot(), 0xFFFF_8000_0000_0000
        story.event("segment_alloc", high, 20 * MiB)
        story.event("alloc", high, MiB)
        self.check(snapshots.imported(story.write()), live_bytes=MiB)


class Start(unittest.TestCase):
    """What lived before the first event."""

    def test_blocks_of_the_segments_without_an_event(self):
        story = training()
        story.segment(BASE + 32 * MiB, [(0, 2 * MiB, STEP), (2 * MiB, MiB, [], "active_pending_free")])
        path = snapshots.imported(story.write())
        (numbers,) = snapshots.numbers(path).values()
        self.assertEqual((numbers["live_bytes"], numbers["peak_bytes"]), (6 * MiB, 7 * MiB))
        self.assertEqual(snapshots.numbers(path, "cuda")[0]["live_bytes"], 40 * MiB)
        self.assertTrue(any(note.startswith("2.00 MiB in 1 block ") for note in snapshots.notes(path)))
        site = next(site for site in cli.report(path)["sites"] if site["live_bytes"] == 2 * MiB)
        self.assertIn("step", [frame["function"] for frame in site["stack"]])

    def test_blocks_that_were_freed_lived_too(self):
        story = Snapshot()
        story.event("segment_free", BASE + 64 * MiB, 2 * MiB)
        story.free(BASE, 3 * MiB, STEP)
        story.event("alloc", BASE, MiB, STEP)
        story.segment(BASE, [(0, MiB, STEP)])
        path = snapshots.imported(story.write())
        (numbers,) = snapshots.numbers(path).values()
        self.assertEqual(
            [numbers[key] for key in ("peak_bytes", "live_bytes", "alloc_count", "free_count")], [3 * MiB, MiB, 2, 1]
        )
        cuda = snapshots.numbers(path, "cuda")[0]
        self.assertEqual((cuda["peak_bytes"], cuda["live_bytes"]), (22 * MiB, 20 * MiB))
        # The stack of the event is that of the free.
        self.assertTrue(any("1 of these blocks have no stack" in note for note in snapshots.notes(path)))
        self.assertEqual(cli.report(path)["anomalies"]["unknown_frees"], 0)

    def test_a_difference_to_the_segments_is_said(self):
        story = training()
        story.segments[0]["blocks"][0]["state"] = "inactive"
        notes = snapshots.notes(snapshots.imported(story.write()))
        self.assertTrue(any("the events leave 4.00 MiB in 1 block, " in note for note in notes), notes)

    def test_a_ring_that_overflowed_is_said(self):
        for settings in {"trace_alloc_max_entries": 17}, {"trace_alloc_overflowed": True}:
            story = training()
            story.settings = settings
            notes = snapshots.notes(snapshots.imported(story.write()))
            self.assertTrue(any("PyTorch kept only the newest 17 events" in note for note in notes), notes)
        story.settings = {"trace_alloc_max_entries": 18, "trace_alloc_overflowed": False}
        notes = snapshots.notes(snapshots.imported(story.write()))
        self.assertFalse(any("newest" in note for note in notes))

    def test_pinned_memory_is_said(self):
        for host, is_said in ([], False), ([[]], False), ([[{"action": "alloc"}]], True), ([{"device": 0}], True):
            value = {**training().value(), "host_segments": [], "host_traces": host}
            path = snapshots.imported(snapshots.write("host.pickle", pickle.dumps(value)))
            self.assertEqual(any("pinned host memory" in note for note in snapshots.notes(path)), is_said)

    def test_private_pools_are_said(self):
        story = training()
        story.segment(BASE + 64 * MiB, [], segment_pool_id=(0, 1))
        notes = snapshots.notes(snapshots.imported(story.write()))
        self.assertTrue(any("private pools hold 20.0 MiB" in note for note in notes), notes)


class Expandable(unittest.TestCase):
    def test_parts_are_mapped_and_unmapped(self):
        story = Snapshot()
        story.event("segment_map", BASE, 20 * MiB, BUILD)
        story.event("segment_map", BASE + 20 * MiB, 40 * MiB, BUILD)
        # It lies in two parts.
        story.event("alloc", BASE + 10 * MiB, 30 * MiB, STEP)
        story.free(BASE + 10 * MiB, 30 * MiB, STEP)
        story.event("segment_unmap", BASE + 40 * MiB, 20 * MiB)
        story.event("alloc", BASE, MiB, STEP)
        story.segment(BASE, [(0, MiB, STEP)], size=40 * MiB, is_expandable=True)
        path = snapshots.imported(story.write())
        cuda = snapshots.numbers(path, "cuda")[0]
        self.assertEqual((cuda["peak_bytes"], cuda["live_bytes"]), (60 * MiB, 40 * MiB))
        self.assertEqual(snapshots.numbers(path)[0]["peak_bytes"], 30 * MiB)
        (reported,) = [layer["reported"] for layer in cli.report(path)["devices"][0]["layers"] if "reported" in layer]
        self.assertEqual((reported["reserved_bytes"], reported["reserved_peak_bytes"]), (40 * MiB, 60 * MiB))
        text = cli.run("report", "--full", path).stdout
        self.assertNotIn("outside", text)

    def test_parts_that_were_mapped_before_the_first_event(self):
        story = Snapshot()
        story.event("segment_unmap", BASE + 60 * MiB, 20 * MiB)
        story.event("segment_map", BASE + 20 * MiB, 20 * MiB)
        story.segment(BASE, [(0, MiB, STEP)], size=40 * MiB, is_expandable=True)
        cuda = snapshots.numbers(snapshots.imported(story.write()), "cuda")[0]
        self.assertEqual((cuda["peak_bytes"], cuda["live_bytes"]), (40 * MiB, 40 * MiB))
        self.assertEqual(cuda["alloc_count"], 3)


class Stacks(unittest.TestCase):
    def frames_of(self, path):
        (site,) = [site for site in cli.report(path)["sites"] if site["peak_bytes"] == MiB and site["layer"] == "torch"]
        return [(frame["function"], frame["kind"], frame["file"], frame["line"]) for frame in site["stack"]]

    def test_frames_are_python_or_native(self):
        story = Snapshot()
        story.event(
            "alloc",
            BASE,
            MiB,
            [
                snapshots.frame("at::empty(int)", "??", 0),
                snapshots.frame("PyObject_Call", "", 0),
                snapshots.frame("forward", "<eval_with_key>.1", 3),
                snapshots.frame("run", "/src/run.cpp", 7),
                snapshots.frame("main; x", "/home/me/a b.py", 90),
            ],
        )
        path = snapshots.imported(story.write())
        python = [("forward", "python", "<eval_with_key>.1", 3), ("main; x", "python", "/home/me/a b.py", 90)]
        native = [("at::empty(int)", "native"), ("run", "native")]
        shown = self.frames_of(path)
        self.assertEqual([shown[1], shown[3]], python)
        self.assertEqual([one[:2] for one in (shown[0], shown[2])], native)
        self.assertEqual(shown[2][2:], ("/src/run.cpp", 7))
        self.assertEqual(len(shown), 4)

    def test_equal_stacks_are_written_once(self):
        path = snapshots.imported(training(steps=50).write())
        self.assertEqual(len(snapshots.dump(path, "frames")), 2)
        self.assertEqual(len(snapshots.dump(path, "code")), 4)
        self.assertEqual(len(snapshots.dump(path, "frame")), 4)

    def test_a_free_has_its_own_stack(self):
        story = Snapshot()
        story.event("alloc", BASE, MiB, STEP)
        story.free(BASE, MiB, BUILD)
        story.event("alloc", BASE, MiB, STEP)
        story.free(BASE, MiB, STEP)
        frees = [event for event in snapshots.dump(snapshots.imported(story.write()), "event") if event["kind"] == 2]
        self.assertEqual([event["frames"] != 0 for event in frees], [True, False])

    def test_metadata_of_events_are_phases(self):
        story = Snapshot()
        for number, metadata in enumerate(
            ("load", "load", {"step": 3, "part": "forward", "deep": [1]}, "", None, "end")
        ):
            story.event("alloc", BASE + number * MiB, MiB, STEP, user_metadata=metadata)
        report = cli.report(snapshots.imported(story.write()))
        self.assertEqual([phase["name"] for phase in report["phases"]], ["load", "part=forward, deep=...", "end"])

    def test_a_number_of_a_step_in_the_metadata_is_a_step(self):
        story = Snapshot(devices=2)
        for device in range(2):
            for number in range(6):
                metadata = {"step": number, "phase": "epoch"}
                story.event(
                    "alloc", BASE + (8 * device + number) * MiB, MiB, STEP, device=device, user_metadata=metadata
                )
            story.event("alloc", BASE + (8 * device + 7) * MiB, MiB, STEP, device=device)
        report = cli.report(snapshots.imported(story.write()))
        self.assertEqual({step["source"] for step in report["steps"]}, {"program"})
        self.assertEqual(len(report["steps"]), 6)
        self.assertEqual([phase["name"] for phase in report["phases"]], ["epoch", "epoch"])


class Oom(unittest.TestCase):
    def test_a_refused_request_has_its_free_memory(self):
        story = training()
        story.event("oom", 5 * MiB, 1 << 40, STEP)
        path = snapshots.imported(story.write())
        (oom,) = cli.report(path)["ooms"]
        self.assertEqual((oom["requested_bytes"], oom["free_bytes"], oom["total_bytes"]), (1 << 40, 5 * MiB, None))
        self.assertEqual(cli.run("check", path).returncode, 1)
        self.assertIn("The driver had 5.00 MiB free", cli.run("report", "--full", path).stdout)


class Verbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = snapshots.imported(training().write("verbs.pickle"))

    def test_the_report_says_where_it_comes_from(self):
        for verb in ["report"], ["report", "--full"], ["info"], ["leaks"]:
            self.assertIn("imported", cli.run(*verb, self.path).stdout)
        self.assertEqual(cli.report(self.path)["process"]["imported_from"], "PyTorch memory snapshot")
        self.assertNotIn("imported_from", cli.report(cli.make("made.gmt.gz"))["process"])
        for path, wanted in (self.path, "PyTorch memory snapshot"), (cli.make("made.gmt.gz"), None):
            done = cli.run("sql", "--json", path, "select imported_from from process")
            self.assertEqual(json.loads(done.stdout), [{"imported_from": wanted}])

    def test_definitions_that_need_the_end_are_not_judged(self):
        text = cli.unwrapped(cli.run("leaks", "--definition=exit,age,growth", "--age-steps=1", self.path).stdout)
        self.assertIn("age and exit were not judged: the recording was imported", text)
        self.assertNotIn("  exit ", text)
        checks = cli.run("check", self.path)
        self.assertIn("not judged: the recording was imported", cli.unwrapped(checks.stdout))
        self.assertEqual(checks.returncode, 0)
        self.assertIn("passed  GMT008", checks.stdout)

    def test_diff_compares_it_with_a_recording(self):
        done = cli.run("diff", cli.make("made.gmt.gz"), self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("the new recording was imported from PyTorch memory snapshot", done.stdout)
        self.assertNotIn("commands differ", done.stdout)
        other = snapshots.imported(training().write("other.pickle"))
        self.assertEqual(cli.run("diff", "--exit-code", self.path, other).returncode, 0)

    def test_other_verbs_take_it(self):
        for words in (
            ["tree", self.path],
            ["flamegraph", self.path],
            ["sql", self.path, "select count(*) from events"],
            ["fold", "--force", "-o", cli.place("folded.gmt.gz"), self.path],
            ["summarize", "--force", "-o", cli.place("summary"), self.path],
            ["export", "--format=folded", "-o", "-", self.path],
            ["check", "--json", self.path],
        ):
            self.assertEqual(cli.run(*words).returncode, 0, words)
        folded = cli.report(cli.place("folded.gmt.gz"))
        self.assertEqual(folded["process"]["imported_from"], "PyTorch memory snapshot")
        self.assertEqual(cli.run("report", "--json", self.path, cli.place("folded.gmt.gz")).returncode, 0)


class Command(unittest.TestCase):
    def test_the_recording_gets_the_name_of_the_file(self):
        one, other = training().write("one.pickle"), training().write("other")
        done = cli.run("import", one, other)
        self.assertEqual((done.returncode, done.stdout), (0, "wrote one.gmt.gz\nwrote other.gmt.gz\n"))
        again = cli.run("import", one)
        self.assertEqual(again.returncode, 3)
        self.assertIn("--force", again.stderr)

    def test_wrong_command_lines(self):
        path = training().write("usage.pickle")
        for words, why in (
            ([], "no file is given"),
            (["-o", "x.gmt.gz", path, path], "-o names the recording of one file"),
            (["-"], "it has no name"),
        ):
            done = cli.run("import", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)

    def test_a_file_that_fails_does_not_stop_the_others(self):
        bad, good = snapshots.write("bad.pickle", b"nothing"), training().write("good.pickle")
        done = cli.run("import", "--force", bad, good)
        self.assertEqual((done.returncode, done.stdout), (3, "wrote good.gmt.gz\n"))

    def test_other_files_are_refused_in_one_line(self):
        self.assertIn("needs no import", snapshots.refusal(cli.make("recording.gmt.gz")))
        self.assertEqual(snapshots.refusal(snapshots.write("empty", b"")), "is empty")
        self.assertIn("cannot be imported", snapshots.refusal(snapshots.write("zip", b"PK\3\4xxxx")))
        self.assertIn("cannot be imported", snapshots.refusal(snapshots.write("old", pickle.dumps({}, 0))))
        self.assertIn("is a directory", snapshots.refusal(cli.FOLDER))
        done = cli.run("import", "missing.pickle")
        self.assertEqual(done.stderr, "gpumemtrace: error: missing.pickle: No such file or directory\n")


if __name__ == "__main__":
    cli.main()
