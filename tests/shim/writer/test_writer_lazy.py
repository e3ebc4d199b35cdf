# SPDX-License-Identifier: MIT
"""writer=lazy: a program with one thread stays so while it records little, and its file has all events at the end."""

import os
import shutil
import signal
import struct
import subprocess
import unittest

import shared_recordings
import tap
from definitions import Kind, MarkKind
from recorded_run import CLI, SIMCUDA, RecordedRun, built, events, records, report

HOST = built("writer-lazy")
LIBRARY = built("libloaded-one.so")
SIZE, OTHER_SIZE, OF_LIBRARY = 1024, 2048, 1000
ALONE = 1
WITH_OURS = 3  # the program's thread, the writer, the sampler
RING_EVENTS = 16384
NOTE = "writer=lazy: the recorder's memory is not in a file"
TIMEOUT_S = 240


class Lazy(unittest.TestCase):
    def run_mode(self, *arguments, code=0, err="", options=None, **more):
        run = RecordedRun(
            [HOST, *map(str, arguments)], {"writer": "lazy", **(options or {})}, timeout=TIMEOUT_S, **more
        )
        self.assertEqual((run.code, run.err), (code, err))
        self.numbers = [int(line) for line in run.out.split()]
        return run

    def check_whole(self, path, sizes):
        """Checks that the recording is complete: these allocations in the order of their times, each with its stack."""
        made = sorted((row for row in events(path) if row["kind"] == Kind.ALLOC), key=lambda row: row["stamp"])
        self.assertEqual([row["size_bytes"] for row in made], sizes)
        self.assertTrue(all(row["stack"] for row in made))
        self.assertEqual(records(path, "drop"), [])
        self.assertTrue(report(path)["complete"])

    def notes(self, run):
        return [row["text"] for row in run.records("note")]


class OneThread(Lazy):
    def test_without_the_option_the_program_has_three_threads(self):
        self.run_mode("pairs", 10, "return", options={"writer": "thread"})
        self.assertEqual(self.numbers, [WITH_OURS])

    def test_few_events_make_no_thread_and_are_all_in_the_file_however_the_program_ends(self):
        for way in ("return", "exit", "quick_exit", "_exit", "handler", "thread"):
            with self.subTest(way=way):
                run = self.run_mode("pairs", 100, way)
                self.assertEqual(self.numbers, [ALONE])
                self.check_whole(run.file, [SIZE] * 100)
                self.assertEqual(len([note for note in self.notes(run) if note.startswith(NOTE)]), 1)

    def test_the_end_makes_no_thread(self):
        for way in ("return", "_exit", "thread"):
            run = self.run_mode("full", 100, way)
            self.assertEqual(self.numbers, [ALONE])
            self.check_whole(run.file, [SIZE] * 100)

    def test_the_totals_and_the_times_are_those_of_a_recording_with_a_thread(self):
        by_writer = {}
        for writer in ("lazy", "thread"):
            run = self.run_mode("pairs", 100, "return", options={"writer": writer, "samples": "off"})
            by_writer[writer] = run.totals()
            # Times of peaks differ from run to run.
            del by_writer[writer]["spaces"], by_writer[writer]["peak_time_ns"]
            (process,) = run.records("process")
            times = [row["stamp"] for row in run.records("event")]
            self.assertEqual(times, sorted(times))
            self.assertGreater(times[0], process["start_stamp"])
        self.assertEqual(by_writer["lazy"], by_writer["thread"])

    def test_a_recording_is_compacted_at_its_end(self):
        run = self.run_mode("pairs", 3000, "return", options={"mode": "aggregate"})
        self.assertEqual(self.numbers, [ALONE])
        self.assertEqual((run.events(), run.totals()["alloc_count"]), ([], 3000))

    def test_an_abrupt_end_loses_everything_and_leaves_no_file(self):
        before = self.shared_memory()
        for way, code in (("raw", 0), ("kill", -signal.SIGKILL)):
            run = self.run_mode("pairs", 100, way, code=code)
            self.assertEqual((self.numbers, run.files), ([ALONE], []))
        self.assertLessEqual(self.shared_memory(), before)

    @staticmethod
    def shared_memory():
        """Returns only this program's memory, because other programs record at the same time."""
        folder = shared_recordings.folder()
        found = set()
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            try:
                recording = shared_recordings.SharedRecording(os.path.join(folder, name))
            except (OSError, ValueError, struct.error):
                continue  # gone by now, or not written yet
            if recording.is_whole and "writer-lazy" in recording.file:
                found.add(name)
        return found


class Forks(Lazy):
    def test_a_handler_that_interrupts_malloc_may_fork_as_without_the_recorder(self):
        run = self.run_mode("inside")
        self.assertEqual(self.numbers, [ALONE])
        self.check_whole(run.file, [SIZE] * 2)

    def test_handlers_fork_at_any_moment_and_the_recording_has_all(self):
        run = self.run_mode("storm", 300)
        threads, pairs = self.numbers
        self.assertEqual(threads, ALONE)
        self.check_whole(run.file, [SIZE] * pairs)

    def test_children_have_one_thread_and_record_their_own_calls(self):
        run = self.run_mode("child")
        self.assertEqual(self.numbers, [ALONE] * 3)
        by_sizes = {
            tuple(row["size_bytes"] for row in events(path) if row["kind"] == Kind.ALLOC): path for path in run.files
        }
        self.assertEqual(set(by_sizes), {(OTHER_SIZE,), (SIZE, SIZE)})
        for sizes, path in by_sizes.items():
            self.check_whole(path, list(sizes))


class Starts(Lazy):
    """Each of these conditions starts the writer."""

    def test_a_ring_that_is_half_full(self):
        for pairs, threads in (
            (RING_EVENTS // 4 - 1, ALONE),
            (RING_EVENTS // 4 + 1, WITH_OURS),
            (3 * RING_EVENTS, WITH_OURS),
        ):
            run = self.run_mode("pairs", pairs, "return")
            self.assertEqual(self.numbers, [threads])
            self.check_whole(run.file, [SIZE] * pairs)

    def test_stacks_that_take_half_of_their_memory(self):
        run = self.run_mode("stacks", 6000)
        self.assertEqual(self.numbers, [WITH_OURS])
        self.check_whole(run.file, [SIZE] * 6000)
        self.assertEqual(len({row["stack"] for row in run.events()}), 6000)

    def test_a_second_thread_that_records(self):
        run = self.run_mode("thread")
        self.assertEqual(self.numbers, [ALONE, WITH_OURS])
        self.check_whole(run.file, [SIZE, OTHER_SIZE])

    def test_a_program_with_two_threads_at_its_first_event_has_the_writer_from_then_on(self):
        run = RecordedRun([built("busy-threads"), "2", "20"], {"writer": "lazy"})
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertEqual([note for note in self.notes(run) if note.startswith(NOTE)], [])

    def test_the_event_after_a_signal_that_requests_a_snapshot(self):
        run = self.run_mode("signal", options={"snapshot_signal": "USR1"})
        self.assertEqual(self.numbers, [ALONE, WITH_OURS])
        path, snapshot = sorted(run.files, key=lambda name: ".snapshot-" in name)
        self.check_whole(path, [SIZE, OTHER_SIZE])
        self.assertTrue(report(snapshot)["complete"])
        self.assertEqual(len(records(path, "mark")), 1)

    def test_a_refused_request(self):
        run = self.run_mode("refused", options={"samples": "off"})
        self.assertEqual(self.numbers, [ALONE, ALONE + 1])
        self.check_whole(run.file, [SIZE])
        self.assertEqual(len([row for row in run.events() if row["kind"] == Kind.ALLOC_FAILED]), 1)

    def test_another_program_in_the_place_of_this_one(self):
        run = self.run_mode("exec", shutil.which("true"))
        self.assertEqual(self.numbers, [ALONE, WITH_OURS])
        made = [row["size_bytes"] for row in run.events() if row["kind"] == Kind.ALLOC]
        self.assertEqual(made, [SIZE, OTHER_SIZE])

    def test_pauses_without_a_writer(self):
        run = self.run_mode("pauses", 20)
        self.assertEqual(self.numbers, [WITH_OURS])
        self.assertEqual(len([row for row in run.records("mark") if row["kind"] == MarkKind.PAUSE]), 20)


class Files(Lazy):
    def test_a_file_that_cannot_be_made_is_one_line_at_the_end(self):
        for pairs in (10, RING_EVENTS):
            run = RecordedRun(
                [HOST, "pairs", str(pairs), "return"], {"writer": "lazy", "output": "/proc/none/x.gmt.gz"}
            )
            self.assertEqual((run.code, run.files), (0, []))
            self.assertRegex(
                run.err, r"\Agpumemtrace: /proc/none/x.gmt.gz: .*; nothing is recorded, the program continues\n\Z"
            )

    def test_the_file_is_reported_when_it_is_created(self):
        run = RecordedRun([HOST, "pairs", "10", "return"], {"writer": "lazy", "verbosity": "2"})
        self.assertRegex(run.err, r"\Agpumemtrace: recording to \S+\ngpumemtrace: recorded to \S+\n\Z")

    def test_a_relative_name_starts_at_the_folder_of_the_first_event(self):
        run = self.run_mode("folder", options={"output": "below/%e.gmt.gz"})
        self.assertEqual(run.file, os.path.join(run.folder, "below", "writer-lazy.gmt.gz"))
        (process,) = run.records("process")
        self.assertEqual(process["directory"], run.folder)
        self.check_whole(run.file, [SIZE])

    def test_a_library_that_was_closed_has_its_name(self):
        run = self.run_mode("library", LIBRARY)
        self.assertEqual(self.numbers, [ALONE])
        self.check_whole(run.file, [OF_LIBRARY])
        (event,) = run.events()
        (stack,) = (row for row in run.records("stack") if row["id"] == event["stack"])
        (module,) = (row for row in run.records("module") if row["path"] == LIBRARY)
        self.assertTrue(any(module["start"] <= address < module["end"] for address in stack["items"]))

    def test_a_program_without_free_descriptors_has_its_file(self):
        run = self.run_mode("descriptors", 1)
        self.assertEqual(self.numbers, [ALONE])
        self.check_whole(run.file, [SIZE])

    def test_a_program_that_leaves_neither_descriptors_nor_threads_ends_with_two_lines(self):
        run = RecordedRun([HOST, "descriptors", "0"], {"writer": "lazy"}, timeout=TIMEOUT_S)
        self.assertEqual((run.code, run.files, len(run.err.splitlines())), (0, [], 2))
        self.assertIn("nothing is recorded", run.err)

    def test_without_a_thread_a_full_ring_is_in_the_file_and_the_rest_is_counted(self):
        run = RecordedRun([HOST, "full", str(RING_EVENTS), "return"], {"writer": "lazy"}, timeout=TIMEOUT_S)
        self.assertEqual((run.code, run.out), (0, f"{ALONE}\n"))
        self.assertIn("recorder's thread could not start", run.err)
        events = run.records("event")
        self.assertEqual(len(events), RING_EVENTS)
        # The context adds one event.
        self.assertEqual(len(events) + sum(row["count"] for row in run.records("drop")), 2 * RING_EVENTS + 1)

    def test_run_accepts_the_option(self):
        run = subprocess.run(
            [CLI, "run", "--writer=lazy", "--output=x.gmt.gz", HOST, "pairs", "10", "return"],
            text=True,
            capture_output=True,
            env={**os.environ, "LD_LIBRARY_PATH": SIMCUDA},
            cwd=self.folder(),
        )
        self.assertEqual((run.returncode, run.stdout), (0, f"{ALONE}\n"), run.stderr)
        self.check_whole(os.path.join(self.made, "x.gmt.gz"), [SIZE] * 10)

    def folder(self):
        self.made = RecordedRun(["true"], preload="").folder
        return self.made


if __name__ == "__main__":
    tap.main()
