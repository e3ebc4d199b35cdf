# SPDX-License-Identifier: MIT
"""A running recording can be listed, copied and paused: from outside, by the program, by a signal, by itself."""

import json
import os
import signal
import stat
import subprocess
import time
import unittest

import tap
import tasks
from control_page import ASKED, ControlPage
from definitions import Kind, MarkKind, MarkSource
from recorded_run import CLI, events, records, report
from running import Running, is_complete

MiB = 1 << 20
WAIT_LIMIT_S = tasks.WAIT_LIMIT_S
BETWEEN_S = 10  # of two snapshots that the recorder makes by itself


def turn_of(run):
    """Returns the turn of the control page, and the reader that asked."""
    (name,) = os.listdir(os.path.join(run.runtime, "gpumemtrace"))
    with open(os.path.join(run.runtime, "gpumemtrace", name), "rb") as file:
        page = ControlPage.from_buffer_copy(file.read())
    return page.turn, page.requester


def live_bytes(path):
    return sum(
        layer["live_bytes"]
        for device in report(path)["devices"]
        for layer in device["layers"]
        if layer["layer"] == "cuda"
    )


def notes(path):
    return [row["text"] for row in records(path, "note")]


class Control(unittest.TestCase):
    def test_a_process_that_is_recorded_is_listed_with_what_it_has_recorded(self):
        with Running() as run:
            run.send("alloc 1048576")
            # Each number is right, but they may be of different moments.
            (row,) = tasks.wait_until(
                lambda: [row for row in [run.ps()] if row["events"] and row["threads"] and row["file_bytes"]],
                "a row of ps with events, threads and bytes",
            )
            self.assertEqual((row["state"], row["file"], row["program"]), ("recording", run.path, "control"))
            self.assertEqual((row["dropped_events"], row["threads"]), (0, 1))
            self.assertGreater(row["file_bytes"], 0)
            self.assertIn(f"{run.process.pid}  recording", run.run_cli("ps").stdout)
            run.end()
            self.assertEqual(run.ps_rows(), [])
            self.assertNotIn(run.path, run.run_cli("ps").stdout)

    def test_a_program_without_cuda_is_not_listed(self):
        with Running() as run:
            run.send("pause")
            self.assertEqual(run.ps_rows(), [])
            self.assertEqual(os.listdir(run.runtime), [])

    def test_only_the_user_can_open_control_files(self):
        with Running() as run:
            run.send("alloc 4096")
            run.ps()
            folder = os.path.join(run.runtime, "gpumemtrace")
            (name,) = os.listdir(folder)
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600)
            run.end()
            self.assertEqual(os.listdir(folder), [])

    def test_a_folder_that_others_may_enter_is_not_used(self):
        with Running() as run:
            folder = os.path.join(run.runtime, "gpumemtrace")
            os.mkdir(folder)
            os.chmod(folder, 0o755)
            run.send("alloc 4096")
            tasks.wait_until(lambda: os.path.exists(run.path) and os.path.getsize(run.path) > 100, "a file with events")
            run.end()
            self.assertEqual(os.listdir(folder), [])
            self.assertTrue(report(run.path)["complete"])

    def test_a_killed_process_is_not_listed(self):
        with Running() as run:
            run.send("alloc 4096")
            run.ps()
            run.process.kill()
            run.process.wait()
            self.assertEqual(run.ps_rows(), [])
            self.assertEqual(os.listdir(os.path.join(run.runtime, "gpumemtrace")), [])

    def test_a_requested_snapshot_has_all_events_so_far_and_the_recording_continues(self):
        with Running() as run:
            run.send("alloc 1048576", "alloc 2097152")
            response = run.run_cli("snapshot", run.pid(), "--json")
            self.assertEqual(response.returncode, 0, response.stderr)
            path = json.loads(response.stdout)["snapshot"]
            run.send("alloc 4194304")
            run.end()
            self.assertTrue(is_complete(path))
            self.assertEqual(live_bytes(path), 3 * MiB)
            self.assertEqual(live_bytes(run.path), 7 * MiB)
            self.assertTrue(
                any(
                    "snapshot of a continuing recording" in note and "another process requested it" in note
                    for note in notes(path)
                )
            )
            self.assertEqual(subprocess.run(["gzip", "-t", path], check=False).returncode, 0)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_a_snapshot_is_written_to_the_given_path_and_never_over_a_file(self):
        with Running() as run:
            run.send("alloc 4096")
            pid = run.pid()
            path = os.path.join(run.folder, "mine.gmt.gz")
            response = run.run_cli("snapshot", pid, "-o", "mine.gmt.gz")
            self.assertEqual((response.returncode, response.stdout), (0, path + "\n"))
            self.assertIn("next: gpumemtrace report", response.stderr)
            again = run.run_cli("snapshot", pid, "-o", "mine.gmt.gz")
            self.assertEqual(again.returncode, 3)
            self.assertIn("File exists", again.stderr)
            self.assertEqual(len(again.stderr.splitlines()), 1)
            self.assertTrue(is_complete(path))
            # The recording itself, the target of a link, and a file in a missing folder are refused too.
            os.symlink("recording.gmt.gz", os.path.join(run.folder, "link"))
            for name, why in (("recording.gmt.gz", "File exists"), ("link", "File exists"), ("none/x", "No such file")):
                again = run.run_cli("snapshot", pid, "-o", name)
                self.assertEqual((again.returncode, why in again.stderr), (3, True), again.stderr)
            long_name = "l" * 248 + ".gmt.gz"
            self.assertEqual(run.run_cli("snapshot", pid, "-o", long_name).returncode, 0)
            self.assertTrue(is_complete(os.path.join(run.folder, long_name)))
            self.assertEqual([name for name in os.listdir(run.folder) if "unfinished" in name], [])

    def test_a_name_that_a_snapshot_will_get_is_free_or_it_gets_the_next_one(self):
        with Running() as run:
            run.send("alloc 4096")
            pid = run.pid()
            for name in "recording.snapshot-1.gmt.gz", "recording.snapshot-3.gmt.gz":
                with open(os.path.join(run.folder, name), "wb") as file:
                    file.write(b"mine")
            with open(os.path.join(run.folder, f"recording.snapshot-2.gmt.gz.unfinished-{pid}-0"), "wb") as file:
                file.write(b"of a process that was killed")
            response = [run.run_cli("snapshot", pid).stdout for _ in range(2)]
            self.assertEqual(
                [os.path.basename(path.strip()) for path in response],
                ["recording.snapshot-2.gmt.gz", "recording.snapshot-4.gmt.gz"],
            )
            self.assertTrue(all(is_complete(path.strip()) for path in response))
            run.end()
            for name in "recording.snapshot-1.gmt.gz", "recording.snapshot-3.gmt.gz":
                with open(os.path.join(run.folder, name), "rb") as file:
                    self.assertEqual(file.read(), b"mine")

    def test_concurrent_requests_are_all_answered(self):
        with Running() as run:
            run.send("alloc 4096")
            pid = run.pid()
            asked = [
                subprocess.Popen(
                    [CLI, "snapshot", pid],
                    env=run.environment,
                    stdout=subprocess.PIPE,
                    text=True,
                    stderr=subprocess.DEVNULL,
                )
                for _ in range(4)
            ]
            paths = {each.communicate(timeout=WAIT_LIMIT_S)[0].strip() for each in asked}
            self.assertEqual(len(paths), 4)
            self.assertTrue(all(is_complete(path) for path in paths))

    def test_a_reader_that_died_in_the_middle_does_not_block_the_next(self):
        with Running() as run:
            run.send("alloc 4096")
            pid = run.pid()
            run.stop()
            first = subprocess.Popen([CLI, "snapshot", pid], env=run.environment, stderr=subprocess.DEVNULL)
            tasks.wait_until(lambda: turn_of(run) == (ASKED, first.pid), "a request of the first process")
            first.kill()
            first.wait()
            run.process.send_signal(signal.SIGCONT)
            self.assertEqual(run.run_cli("snapshot", pid).returncode, 0)

    def test_the_wait_for_a_stopped_process_is_limited(self):
        with Running() as run:
            run.send("alloc 4096")
            pid = run.pid()
            run.stop()
            response = run.run_cli("pause", pid)
            run.process.send_signal(signal.SIGCONT)
            self.assertEqual(response.returncode, 3)
            self.assertIn("does not answer", response.stderr)

    def test_while_paused_blocks_have_no_stacks_and_live_blocks_are_exact(self):
        for way in "outside", "inside":
            with self.subTest(way), Running("stacks=native") as run:
                run.send("alloc 1048576")
                change = (
                    (lambda verb: run.send(verb)) if way == "inside" else (lambda verb: run.run_cli(verb, run.pid()))
                )
                change("pause")
                tasks.wait_until(lambda: run.ps()["state"] == "paused", "the pause")
                run.send("alloc 2097152", "free", "alloc 4194304")
                change("resume")
                tasks.wait_until(lambda: run.ps()["state"] == "recording", "the end of the pause")
                run.send("alloc 8388608")
                run.end()
                made = {row["size_bytes"]: row["stack"] for row in events(run.path) if row["kind"] == Kind.ALLOC}
                self.assertTrue(made[MiB] and made[8 * MiB])
                self.assertEqual((made[2 * MiB], made[4 * MiB]), (0, 0))
                self.assertEqual(live_bytes(run.path), 13 * MiB)
                self.assertEqual(
                    [mark["kind"] for mark in records(run.path, "mark") if mark["source"] == MarkSource.RECORDER],
                    [MarkKind.PAUSE, MarkKind.RESUME],
                )

    def test_a_recording_can_begin_paused(self):
        with Running("paused=on") as run:
            run.send("alloc 1048576")
            self.assertEqual(run.ps()["state"], "paused")
            run.send("resume", "alloc 2097152")
            run.end()
            made = {row["size_bytes"]: row["stack"] for row in events(run.path) if row["kind"] == Kind.ALLOC}
            self.assertEqual(made[MiB], 0)
            self.assertTrue(made[2 * MiB])

    def test_the_program_takes_snapshots_with_names(self):
        with Running() as run:
            run.send("alloc 1048576", "snapshot before the storm")
            (path,) = run.wait_for_snapshots(1)
            run.send("alloc 2097152", "snapshot")
            self.assertEqual([live_bytes(each) for each in run.wait_for_snapshots(2)], [MiB, 3 * MiB])
            self.assertTrue(any(note.endswith("the program requested it: before the storm") for note in notes(path)))

    def test_a_snapshot_requested_right_before_the_end_is_written(self):
        with Running() as run:
            run.send("alloc 1048576", "snapshot last")
            run.end()
            (path,) = run.snapshots()
            self.assertTrue(is_complete(path))
            self.assertEqual(live_bytes(path), MiB)

    def test_a_signal_makes_a_snapshot_where_the_program_does_not_handle_it(self):
        with Running("snapshot_signal=USR1") as run:
            run.send("alloc 1048576", "raise")
            (path,) = run.wait_for_snapshots(1)
            self.assertEqual(live_bytes(path), MiB)
        with Running("snapshot_signal=USR1") as run:
            run.send("handle", "alloc 1048576", "raise")
            run.end()
            self.assertEqual(run.snapshots(), [])
            self.assertIn("handles signal", run.err)

    def test_a_refused_request_makes_a_snapshot_but_not_each_of_many(self):
        with Running("snapshot_oom=on") as run:
            began = time.monotonic()
            run.send("alloc 1048576", "refuse")
            (path,) = run.wait_for_snapshots(1)
            run.send("refuse", "refuse", "refuse")
            run.end()
            self.assertLessEqual(len(run.snapshots()), 1 + (time.monotonic() - began) // BETWEEN_S)
            self.assertEqual(len(report(path)["ooms"]), 1)

    def test_in_modes_without_all_events_a_refused_request_takes_a_snapshot(self):
        for mode, count in ("window", 1), ("full", 0):
            with self.subTest(mode), Running(f"mode={mode}") as run:
                run.send("alloc 1048576", "refuse")
                run.end()
                self.assertEqual(len(run.snapshots()), count)

    def test_a_new_peak_above_the_threshold_makes_a_snapshot(self):
        with Running("snapshot_peak=8MiB", {"SIMCUDA_CONTEXT_MEMORY": "0"}) as run:
            run.send("alloc 1048576")
            tasks.wait_until(lambda: run.ps()["events"], "an event")
            self.assertEqual(run.snapshots(), [])
            run.send("alloc 16777216")
            (path,) = run.wait_for_snapshots(1)
            self.assertEqual(live_bytes(path), 17 * MiB)

    def test_a_large_recording_is_copied_whole_while_events_come(self):
        with Running("stacks=native:overflow=wait") as run:
            run.send("many 200000")
            pid = run.pid()
            asked = subprocess.Popen(
                [CLI, "snapshot", pid],
                env=run.environment,
                stdout=subprocess.PIPE,
                text=True,
                stderr=subprocess.DEVNULL,
            )
            run.send("many 100000")
            path = asked.communicate(timeout=WAIT_LIMIT_S)[0].strip()
            run.end()
            self.assertTrue(is_complete(path))
            self.assertGreaterEqual(len(events(path)), 400000)
            self.assertEqual(len(events(run.path)), 600000)

    def test_wrong_process_numbers_are_reported_in_one_line(self):
        with Running() as run:
            for arguments, code, said in (
                (("snapshot", "999999"), 3, "is not being recorded"),
                (("pause", "x"), 2, "is not a process id"),
                (("resume",), 2, "no process id is given"),
                (("ps", "1"), 2, "takes no operand"),
            ):
                response = run.run_cli(*arguments)
                self.assertEqual(response.returncode, code)
                self.assertIn(said, response.stderr)

    def test_a_damaged_control_file_is_skipped(self):
        with Running() as run:
            folder = os.path.join(run.runtime, "gpumemtrace")
            os.mkdir(folder, 0o700)
            for name, content in (
                ("1.control", b""),
                ("2.control", b"GMTCTRL\n" + b"\xff" * 20000),
                ("3.control", b"x" * 30000),
            ):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content)
            os.mkfifo(os.path.join(folder, "4.control"))
            self.assertEqual(run.ps_rows(), [])


if __name__ == "__main__":
    tap.main()
