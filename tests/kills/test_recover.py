# SPDX-License-Identifier: MIT
"""Checks what a recording keeps for each way that a process ends, and what `recover` and other verbs report."""

import contextlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import shared_recordings
import tap
from killing import KILLED, SHIM, SIMCUDA, Killed, cli
from recorded_run import built

BOOT_ID_OFFSET = shared_recordings.HEADER.size + 24


def setUpModule():
    # So `recover --all` finds, and the next recorder removes, only files of these tests.
    shared_recordings.take_own_shared_memory()


def info(file):
    return json.loads(cli("info", "--json", file).stdout)


class Endings(unittest.TestCase):
    def check_all_is_there(self, run, published=True):
        if published:
            expected = run.published()
            self.assertEqual({row["tid"]: row["events"] for row in info(run.file)["threads"]}, expected)
        done = cli("recover", run.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(run.check(), r"^\d+$")
        self.assertTrue(info(run.file)["complete"])

    def test_a_kill_a_crash_and_an_abort_lose_nothing(self):
        for how, code in ("kill", -signal.SIGKILL), ("segv", -signal.SIGSEGV), ("abort", -signal.SIGABRT):
            with self.subTest(how):
                run = Killed(how, 300)
                self.assertEqual(run.wait(), code)
                self.check_all_is_there(run)

    def test_an_exec_without_a_fork_loses_nothing_although_the_process_goes_on(self):
        run = Killed("exec", 300)
        self.assertEqual(run.process.stdout.readline(), "another program\n")
        self.assertIsNone(run.process.poll())
        self.check_all_is_there(run)
        self.assertEqual(run.wait(), 0)

    def test_a_kill_by_the_kernel_for_lack_of_memory_loses_nothing(self):
        # The kernel sends SIGKILL, so the test does the same.
        run = Killed(limits=["sh", "-c", 'echo 1000 >/proc/self/oom_score_adj; exec "$@"', "sh"])
        time.sleep(0.2)
        self.assertEqual(run.kill(signal.SIGKILL), -signal.SIGKILL)
        self.check_all_is_there(run)

    def test_an_end_in_order_leaves_nothing_to_recover(self):
        for how in "_exit", "return":
            with self.subTest(how):
                run = Killed(how, 100)
                path = run.memory.path
                self.assertEqual(run.wait(), 0)
                self.assertFalse(os.path.exists(path))
                # Other threads go on while the thread that ends the process waits for the file.
                self.assertRegex(run.check(None, "stopped"), r"^\d+$")
                self.assertEqual(cli("recover", run.file).returncode, 0)

    def test_without_a_file_for_the_memory_the_recording_ends_at_the_last_sync_point(self):
        run = Killed(limits=["prlimit", "--fsize=1000000000"])
        self.assertIsNone(run.memory)
        run.wait_for_events()
        run.kill()
        self.assertRegex(run.check(None, "cut"), r"^\d+$")
        self.assertGreater(info(run.file)["events"], 0)
        self.assertFalse(info(run.file)["complete"])

    def test_after_a_reboot_a_file_is_readable_up_to_its_last_sync_point(self):
        run = Killed()
        events = 1000
        for _ in range(3):  # sync points
            events = run.wait_for_events(events + 1)
        run.kill()
        os.unlink(run.memory.path)
        whole = info(run.file)["events"]
        self.assertGreater(whole, 1000)
        choose, size = random.Random(1), os.path.getsize(run.file)
        seen = set()
        for number in range(24):
            copy = f"{run.file}.{number}"
            shutil.copy(run.file, copy)
            end = choose.randrange(size // 3, size)
            os.truncate(copy, end)
            if number % 2:
                os.truncate(copy, size)  # the length was written back, the bytes were not
            self.assertRegex(run.check(copy, "cut"), r"^\d+$", f"cut at {end}")
            seen.add(info(copy)["events"])
        self.assertGreater(len(seen), 2)

    def test_memory_from_before_a_reboot_is_refused(self):
        run = Killed()
        time.sleep(0.1)
        run.kill()
        with open(run.memory.path, "r+b") as file:
            file.seek(BOOT_ID_OFFSET)
            file.write(b"another boot")
        self.assertFalse(info(run.file)["complete"])
        done = cli("recover", run.memory.path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("was restarted", done.stderr)


class Recover(unittest.TestCase):
    def killed(self, is_synced=False, **more):
        """Returns a killed run. `is_synced`: the kill comes after a sync point with events."""
        run = Killed(**more)
        if is_synced:
            run.wait_for_events()
        time.sleep(0.1)
        run.kill()
        return run

    def test_every_verb_reads_the_memory_and_prints_one_line(self):
        run = self.killed()
        events = info(run.file)["events"]
        for arguments in ["report"], ["info"], ["leaks"], ["dump", "--record=end"], ["check"]:
            done = cli(*arguments, run.file)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            if arguments[0] != "dump":
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn("gpumemtrace recover", done.stderr)
        self.assertIn(f"events={events} ", cli("dump", "--record=end", run.file).stdout.replace("\n", " "))
        self.assertTrue(os.path.exists(run.memory.path))

    def test_the_file_is_replaced_in_one_step_and_the_memory_is_removed(self):
        run = self.killed()
        os.chmod(run.file, 0o640)
        events = info(run.file)["events"]
        done = cli("recover", run.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("complete", done.stdout)
        self.assertEqual(os.stat(run.file).st_mode & 0o777, 0o640)
        self.assertEqual(os.listdir(run.folder), ["killed.gmt.gz"])
        self.assertFalse(os.path.exists(run.memory.path))
        self.assertEqual(info(run.file)["events"], events)
        again = cli("recover", run.file)
        self.assertEqual(again.returncode, 0)
        self.assertIn("nothing to recover", again.stderr)

    def test_a_second_recover_adds_no_event_twice(self):
        run = self.killed()
        self.assertEqual(cli("recover", "--keep", run.file).returncode, 0)
        events = info(run.file)["events"]
        self.assertEqual(cli("recover", run.file).returncode, 0)
        self.assertEqual(info(run.file)["events"], events)
        self.assertRegex(run.check(), r"^\d+$")

    def test_all_completes_every_file_and_reports_it_in_json(self):
        runs = [self.killed() for _ in range(2)]
        done = cli("recover", "--all", "--json", "--keep")
        said = {row["file"]: row for row in json.loads(done.stdout)["files"]}
        for run in runs:
            row = said[os.path.realpath(run.file)]
            self.assertEqual((row["gap"], row["pid"]), (False, run.memory.pid))
            self.assertEqual(row["events"], info(run.file)["events"])

    def test_a_copied_file_and_a_moved_file_find_their_memory(self):
        run = self.killed(is_synced=True)
        events = info(run.file)["events"]
        copy = os.path.join(run.folder, "copy.gmt.gz")
        shutil.copy(run.file, copy)
        os.rename(run.file, run.file + ".moved")
        self.assertEqual([info(copy)["events"], info(run.file + ".moved")["events"]], [events, events])

    def test_a_compacted_file_that_has_just_replaced_the_recording_finds_its_memory(self):
        for by_memory in False, True:
            run = Killed(
                options={"mode": "window", "window": "2000", "overflow": "wait"}, preload=[built("libend-at-rename.so")]
            )
            self.assertEqual(run.wait(), -signal.SIGKILL)
            run.memory, published = shared_recordings.find(run.file), run.published()
            done = cli("recover", run.memory.path if by_memory else run.file)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(run.check(run.file, "whole", published), r"^\d+ \d+$")
            self.assertFalse(os.path.exists(run.memory.path))

    def test_recover_writes_a_new_file_from_the_memory_if_the_file_is_gone(self):
        for is_synced in False, True:
            run = self.killed(is_synced)
            os.unlink(run.file)
            done = cli("recover", run.memory.path)
            self.assertEqual(done.returncode, 3)
            self.assertIn("was removed\n", done.stderr)
            self.assertIn("recover MEMORY -o FILE", done.stderr)
            rebuilt = os.path.join(run.folder, "rebuilt.gmt.gz")
            done = cli("recover", run.memory.path, "-o", rebuilt)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            said = info(rebuilt)
            self.assertGreater(said["events"], 0)
            # After a kill before the first sync point, the memory has the whole recording.
            self.assertEqual("an earlier part of the file was lost" in json.dumps(said), not said["complete"])
            self.assertFalse(is_synced and said["complete"])
            report = json.loads(cli("report", "--json", rebuilt).stdout)
            self.assertNotIn("stacks or frames are missing in the file", json.dumps(report))
            self.assertNotIn("killed.c", [site["stack"] for site in report["sites"] if not site["stack"]])

    def test_the_recording_of_a_live_process_is_not_completed(self):
        run = Killed()
        time.sleep(0.2)
        for name in run.file, run.memory.path:
            done = cli("recover", name)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            self.assertIn(f"in progress: process {run.memory.pid} is still recording", done.stderr)
        cli("recover", "--all", "--keep")
        self.assertTrue(os.path.exists(run.memory.path))
        self.assertIsNone(run.process.poll())
        run.kill()
        self.assertEqual(cli("recover", run.file).returncode, 0)
        self.assertRegex(run.check(), r"^\d+$")

    def test_damaged_memory_does_not_crash_recover(self):
        run = self.killed()
        with open(run.memory.path, "rb") as file:
            head = file.read(
                shared_recordings.HEADER.size + shared_recordings.OWNER.size + shared_recordings.CHANGING.size + 4096
            )
        choose = random.Random(2)
        for number in range(60):
            broken = bytearray(head)
            for _ in range(choose.randrange(1, 4)):
                at = choose.choice((8, 12, *range(16, 88, 8), *range(4792, 4804)))
                broken[at : at + 4] = struct.pack("<I", choose.choice((0, 1, 63, 64, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF)))
            path = os.path.join(run.folder, f".gpumemtrace-{number}.area")
            with open(path, "wb") as file:
                file.write(broken)
                file.truncate(choose.choice((len(broken), 1 << 22, 1 << 30)))
            out = os.path.join(run.folder, "out.gmt.gz")
            self.assertIn(cli("recover", "--keep", "--force", "-o", out, path).returncode, (0, 3))
            os.unlink(path)

    def test_with_any_umask_only_the_user_can_enter_the_folder(self):
        script = 'mount -t tmpfs none /dev/shm && umask 777 && "$@" >/dev/null && stat -c %a /dev/shm/gpumemtrace-*'
        with tempfile.TemporaryDirectory(prefix="gpumemtrace-test.") as folder:
            done = subprocess.run(
                [
                    "unshare",
                    "-m",
                    "sh",
                    "-c",
                    script,
                    "sh",
                    "env",
                    f"LD_PRELOAD={SHIM}",
                    KILLED,
                    os.path.join(folder, "log"),
                    "1",
                    "return",
                    "1",
                ],
                input="end\n",
                capture_output=True,
                text=True,
                timeout=120,
                env={**os.environ, "GPUMEMTRACE_OPTIONS": f"output='{folder}/x.gmt.gz'", "LD_LIBRARY_PATH": SIMCUDA},
            )
        if "unshare" in done.stderr or "mount" in done.stderr:
            self.skipTest(f"needs the right to mount: {done.stderr}")
        self.assertEqual((done.stdout, done.stderr), ("700\n", ""))

    @staticmethod
    def left_of(paths):
        """Returns the paths that exist, as seen at one moment: recorders of other tests may remove some meanwhile."""

        def look():
            there = set(os.listdir(shared_recordings.folder()))
            return [path for path in paths if os.path.basename(path) in there]

        while (left := look()) != look():
            pass
        return left

    def test_the_number_of_dead_recordings_is_limited_and_the_oldest_is_removed(self):
        run = self.killed()
        with open(run.memory.path, "rb") as file:
            head = file.read(1 << 16)
        paths = [os.path.join(shared_recordings.folder(), f"{run.memory.pid}.{number:x}.area") for number in range(70)]
        try:
            for number, path in enumerate(paths):
                with open(path, "wb") as file:
                    file.write(head)
                os.utime(path, (1000 + number, 1000 + number))
            Killed("return", 1).wait()
            left = self.left_of(paths)
            self.assertLessEqual(len(left), 64)
            self.assertEqual(left, paths[len(paths) - len(left) :])
            self.assertTrue(os.path.exists(run.memory.path))
        finally:
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)


if __name__ == "__main__":
    tap.main()
