# SPDX-License-Identifier: MIT
"""`recover` and the other verbs do not trust shared memory and folders that another user may have made or changed."""

import contextlib
import gzip
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import threading
import time
import unittest

import shared_recordings
import tap
from killing import Killed, cli
from recorded_run import CLI, built

# Offsets of members in the structures of src/shared_memory/shared_recording_layout.h.
MOVING_OFFSET = shared_recordings.HEADER.size + 4
BOOT_ID_OFFSET = shared_recordings.HEADER.size + 24
FILE_OFFSET = BOOT_ID_OFFSET + 40 + 256
PATH_OFFSET = FILE_OFFSET + 16
OTHER_USER = 65534
IS_OWN_MEMORY = False


def setUpModule():
    # These tests change the user's folder and fill it with files that other tests must not find.
    global IS_OWN_MEMORY
    IS_OWN_MEMORY = shared_recordings.take_own_shared_memory()


class Trust(unittest.TestCase):
    def setUp(self):
        self.runs = []
        self.run_ = self.killed()
        self.memory = self.run_.memory.path
        self.folder = self.run_.folder

    def tearDown(self):
        # `recover --all` of the next test would find the leftovers.
        for run in self.runs:
            run.clear()
        # The memory may name another file by now, so clear() does not find it.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.memory)

    def killed(self):
        run = Killed()
        self.runs.append(run)
        run.wait_for_events()
        run.kill()
        return run

    def place(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def write(self, offset, data):
        with open(self.memory, "r+b") as file:
            file.seek(offset)
            file.write(data)

    def name_file(self, path, is_being_replaced=True, is_its_number=True):
        """Writes another file's path into the memory, as an attacker with write access would."""
        self.write(PATH_OFFSET, path.encode() + b"\0")
        self.write(MOVING_OFFSET, struct.pack("<I", is_being_replaced))
        if is_its_number and os.path.exists(path):
            about = os.stat(path)
            self.write(FILE_OFFSET, struct.pack("<QQ", about.st_dev, about.st_ino))

    def check_refused(self, *words):
        """Checks that recover refuses the memory, both by its name and with --all."""
        done = cli("recover", self.memory)
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        if IS_OWN_MEMORY:
            done = cli("recover", "--all")
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertTrue(os.path.exists(self.memory))

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def test_recover_does_not_destroy_another_file_that_the_memory_names(self):
        other = Killed("return", 1)
        other.wait()
        cut = gzip.compress(random.Random(1).randbytes(4096))[:512]
        for number, content in enumerate([b"a thesis", self.read(other.file), cut, gzip.compress(b"")]):
            for is_its_number in False, True:
                with self.subTest(number=number, is_its_number=is_its_number):
                    victim = self.place(f"victim.{number}", content)
                    self.name_file(victim, is_its_number=is_its_number)
                    self.check_refused("not a recording of the process")
                    self.assertEqual(self.read(victim), content)

    def test_a_planted_recording_overwrites_nothing(self):
        # The test may run as root, who could write to this file.
        before = os.stat("/etc/passwd")
        self.name_file("/etc/passwd")
        done = cli("recover", self.memory)
        self.assertEqual(done.returncode, 3)
        self.assertIn("/etc/passwd: was not completed", done.stderr)
        self.assertEqual(os.stat("/etc/passwd"), before)

    def test_another_recording_of_the_same_process_number_is_not_completed(self):
        # Only the random name differs.
        shutil.copy(self.run_.file, self.place("copy.gmt.gz"))
        offset = shared_recordings.HEADER.size + shared_recordings.OWNER.size - 80
        with open(self.memory, "rb") as file:
            file.seek(offset)
            name = file.read(36).decode()
        said = json.loads(cli("dump", "--json", "--record=process", self.run_.file).stdout.splitlines()[0])
        self.assertEqual(said["recording"], name)
        self.write(offset, b"x")
        self.assertNotEqual(self.read(self.memory)[offset : offset + 36].decode(), name)
        self.check_refused("not a recording of the process")
        self.assertIn("is incomplete, and its process", cli("recover", self.run_.file).stderr)

    def test_a_path_through_a_link_is_refused_but_the_file_by_its_own_name_is_completed(self):
        real = os.path.realpath(self.folder)
        os.symlink(real, self.place("link"))
        self.name_file(os.path.join(real, "link", "killed.gmt.gz"), is_being_replaced=False)
        self.check_refused("link on the path is a link")
        self.name_file(os.path.join(real, "last.gmt.gz"), is_being_replaced=False)
        os.symlink(self.run_.file, self.place("last.gmt.gz"))
        self.check_refused("it is a link")
        done = cli("recover", self.run_.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_names_that_no_recorder_makes_are_refused(self):
        real = os.path.realpath(self.folder)
        for name in (
            "killed.gmt.gz",
            os.path.join(real, "..", os.path.basename(real), "killed.gmt.gz"),
            real + "/",
            "/",
            "",
        ):
            with self.subTest(name):
                self.name_file(name, is_its_number=False)
                self.check_refused("its path is")

    def test_pipes_devices_and_folders_are_refused(self):
        pipe = self.place("pipe")
        os.mkfifo(pipe)
        self.name_file(os.path.realpath(pipe))
        self.check_refused("not a regular file")
        self.name_file("/dev/null")
        self.check_refused("not a regular file")
        self.name_file(os.path.realpath(self.folder))
        self.check_refused("not a regular file")

    def test_a_file_with_two_names_is_refused(self):
        os.link(self.run_.file, self.place("second.gmt.gz"))
        self.check_refused("more than one hard link")
        # Here the user has chosen one of the two names.
        self.assertEqual(cli("recover", self.run_.file).returncode, 0)

    def test_a_folder_that_others_may_write_to_is_refused_unless_the_user_names_the_file(self):
        for mode in 0o777, 0o770:
            os.chmod(self.folder, mode)
            if mode == 0o770:
                if os.getuid():
                    continue
                os.chown(self.folder, 0, 12345)
            self.check_refused("a folder that is writable for other users")
        os.chmod(self.folder, 0o1777)  # like /tmp: users may not touch files of other users
        done = cli("recover", self.memory, "--dry-run")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        os.chmod(self.folder, 0o777)
        self.assertEqual(cli("recover", self.run_.file).returncode, 0)
        self.assertFalse(os.path.exists(self.memory))

    def test_the_file_of_another_user_is_not_replaced(self):
        if os.getuid():
            self.skipTest("needs the right to give files away")
        os.chown(self.run_.file, OTHER_USER, OTHER_USER)
        content = self.read(self.run_.file)
        self.check_refused("belongs to user 65534")
        self.assertEqual(self.read(self.run_.file), content)

    def test_root_follows_no_names_of_another_user(self):
        if os.getuid() or not IS_OWN_MEMORY:
            self.skipTest("needs root, and a /dev/shm of its own")
        place = f"/dev/shm/gpumemtrace-{OTHER_USER}"
        os.makedirs(place, 0o700, exist_ok=True)
        os.chown(place, OTHER_USER, OTHER_USER)
        self.memory = shutil.move(self.memory, os.path.join(place, "1.2.area"))
        victim = self.place("victim", b"root's")
        self.name_file(victim)
        os.chown(self.memory, OTHER_USER, OTHER_USER)
        done = cli("recover", self.memory)
        self.assertEqual(done.returncode, 3)
        self.assertIn("belongs to another user", done.stderr)
        self.assertIn("no killed process left memory", cli("recover", "--all").stdout)
        # Root names the output: recover writes what the memory has, and does not read the file that the memory names.
        new = self.place("new.gmt.gz")
        done = cli("recover", self.memory, "-o", new)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(os.path.exists(self.memory))
        self.assertEqual(self.read(victim), b"root's")
        self.assertEqual(cli("recover", "--discard", self.memory).returncode, 3)
        self.assertTrue(os.path.exists(self.memory))

    def test_a_folder_of_another_user_is_not_read(self):
        if os.getuid() or not IS_OWN_MEMORY:
            self.skipTest("needs root, and a /dev/shm of its own")
        place = shared_recordings.folder()
        for mode, owner in (0o700, OTHER_USER), (0o777, 0), (0o770, 0):
            with self.subTest(mode=oct(mode), owner=owner):
                os.chmod(place, mode)
                os.chown(place, owner, owner)
                self.assertIn("no killed process left memory", cli("recover", "--all").stdout)
                self.assertFalse(json.loads(cli("info", "--json", self.run_.file).stdout)["complete"])
        os.chmod(place, 0o700)
        os.chown(place, 0, 0)
        moved = shutil.move(place, place + ".moved")
        os.symlink(moved, place)
        self.assertIn("no killed process left memory", cli("recover", "--all").stdout)
        os.unlink(place)
        shutil.move(moved, place)
        self.assertEqual(cli("recover", "--all").returncode, 0)
        self.assertTrue(json.loads(cli("info", "--json", self.run_.file).stdout)["complete"])

    def test_each_verb_ends_in_time_with_odd_files_next_to_the_memory(self):
        folder = os.path.dirname(self.memory)
        odd = [os.path.join(folder, f"1.{number}.area") for number in range(7)]
        os.mkfifo(odd[0])
        os.mkdir(odd[1])
        os.symlink(self.memory, odd[2])
        os.symlink("/dev/zero", odd[3])
        for path, size in (odd[4], 0), (odd[5], 1 << 44), (odd[6], 5000):
            with open(path, "wb") as file:
                file.write(self.read(self.memory)[:4096] if path != odd[4] else b"")
                file.truncate(size)
        control = os.path.join(folder, "1.control")
        os.mkfifo(control)
        with open(os.path.join(folder, "2.control"), "wb") as file:
            file.write(b"GMTCTRL\n" + struct.pack("<I", 1))
        try:
            begin = time.monotonic()
            for verb in ["report"], ["info"], ["check"], ["ps"], ["recover", "--all", "--dry-run"], ["pause", "1"]:
                done = cli(*verb, *([self.run_.file] if verb[0] in ("report", "info", "check") else []))
                self.assertGreaterEqual(done.returncode, 0, (verb, done.stderr))
            self.assertLess(time.monotonic() - begin, 60)
            self.assertTrue(json.loads(cli("info", "--json", self.run_.file).stdout)["complete"])
        finally:
            for path in odd + [control, os.path.join(folder, "2.control")]:
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    def test_escape_sequences_in_a_path_do_not_reach_the_terminal(self):
        self.name_file("/tmp/\x1b]0;title\x07\x1b[2J\nx.gmt.gz", is_its_number=False)
        for verb in (
            ["recover", self.memory],
            ["recover", "--json", self.memory],
            ["recover", "--all", "--dry-run"],
            ["recover", "--all", "--dry-run", "--json"],
        ):
            done = cli(*verb)
            said = done.stdout + done.stderr
            self.assertIn("title", said)
            self.assertNotIn("\x1b", said)
            self.assertNotIn("\x07", said)

    def recover_with_swap(self, at):
        victim = self.place("victim", b"another file of the user's")
        return subprocess.run(
            [CLI, "recover", self.run_.file],
            capture_output=True,
            text=True,
            timeout=120,
            env={
                **os.environ,
                "LD_PRELOAD": built("libswap-file.so"),
                "SWAP_AT": at,
                "SWAP_FROM": victim,
                "SWAP_TO": self.run_.file,
                "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0",
            },
        )

    def test_a_file_that_replaces_the_recording_during_recover_stays(self):
        # The swap comes right before recover checks the name, or between this check and the rename.
        for at in "fsync", "syscall":
            with self.subTest(at):
                kept = self.place("kept")
                shutil.copy(self.run_.file, kept)
                inode = os.stat(self.run_.file).st_ino
                os.link(self.run_.file, self.place("number"))  # so that no other file gets the inode number
                done = self.recover_with_swap(at)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("another file has replaced it", done.stderr)
                self.assertEqual(self.read(self.run_.file), b"another file of the user's")
                self.assertTrue(os.path.exists(self.memory))
                os.rename(self.place("number"), self.run_.file)
                self.assertEqual(os.stat(self.run_.file).st_ino, inode)
                self.assertEqual(sorted(os.listdir(self.folder)), ["kept", "killed.gmt.gz"])

    def test_memory_that_changes_and_shrinks_during_a_read_crashes_no_verb(self):
        copy, out, is_over = self.memory, self.place("out.gmt.gz"), threading.Event()
        size, head = os.path.getsize(copy), self.read(copy)[: 1 << 16]

        def change():
            number = 0
            while not is_over.is_set():
                number += 1
                with open(copy, "r+b") as file:
                    for at in range(16, 88, 8):
                        file.seek(at)
                        file.write(head[at : at + 8] if number % 3 else struct.pack("<Q", number * 64))
                    if number % 5 == 0:
                        file.truncate(4096 * (number % 7))
                        file.truncate(size)
                        file.seek(0)
                        file.write(head)

        writer = threading.Thread(target=change)
        writer.start()
        try:
            for _ in range(25):
                for verb in (
                    ["recover", "--keep", "-o", out, copy],
                    ["recover", "--keep", "--dry-run", self.run_.file],
                    ["info", self.run_.file],
                ):
                    done = cli(*verb)
                    self.assertIn(done.returncode, (0, 3), (verb, done.stderr))
                    if os.path.exists(out):
                        os.unlink(out)
        finally:
            is_over.set()
            writer.join()

    def test_recordings_and_devices_are_not_overwritten(self):
        other = self.place("other.gmt.gz")
        shutil.copy(self.run_.file, other)
        empty = self.place("new.gmt.gz", b"")
        for output, why in (
            (other, "use --force"),
            (self.run_.file, "use --force"),
            ("/dev/null", "not a regular file"),
            (empty, "use --force"),
        ):
            done = cli("recover", self.run_.file, "-o", output)
            self.assertEqual(done.returncode, 3)
            self.assertIn(why, done.stderr)
        self.assertTrue(os.path.exists(self.memory))
        self.assertEqual(cli("recover", self.run_.file, "--force", "-o", other).returncode, 0)
        self.assertRegex(self.run_.check(other), r"^\d+$")

    def test_a_dry_run_reports_its_actions_and_changes_nothing(self):
        content = self.read(self.run_.file)
        for verb in ["recover", "--dry-run", self.run_.file], ["recover", "--dry-run", self.memory]:
            done = cli(*verb)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("killed.gmt.gz: would be completed, complete: ", done.stdout)
        self.assertEqual((self.read(self.run_.file), os.path.exists(self.memory)), (content, True))
        said = cli("recover", self.run_.file).stdout
        self.assertEqual(said.split(": ", 1)[1], done.stdout.split("would be completed, ")[1])

    def test_memory_without_a_file_is_reported_once_and_discarded_on_request(self):
        if not IS_OWN_MEMORY:
            self.skipTest("needs a /dev/shm of its own")
        second = self.killed()
        os.unlink(self.run_.file)
        os.unlink(second.file)
        done = cli("recover", "--all")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(len(done.stderr.splitlines()), 3, done.stderr)
        self.assertEqual(done.stderr.count("--discard"), 1)
        third = self.killed()
        done = cli("recover", "--all", "--discard", "--dry-run")
        self.assertEqual((done.stdout.count("would be discarded"), done.stdout.count("would be completed")), (2, 1))
        done = cli("recover", "--all", "--discard")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((done.stdout.count("discarded"), done.stdout.count(": complete")), (2, 1))
        self.assertEqual(cli("recover", "--all").stdout, "no killed process left memory on this machine\n")
        self.assertRegex(third.check(), r"^\d+$")

    def test_memory_that_can_be_recovered_is_not_discarded(self):
        done = cli("recover", "--discard", self.memory)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(": complete", done.stdout)
        self.assertRegex(self.run_.check(), r"^\d+$")


class InProgress(unittest.TestCase):
    def test_each_verb_reports_that_a_recording_is_in_progress(self):
        # With memory in /dev/shm; and without it, where only the recorder's control page shows that it runs.
        for limits in (), ("prlimit", "--fsize=1000000000"):
            with self.subTest(limits):
                run = Killed(limits=limits)
                run.wait_for_events()
                pid = run.process.pid
                said = f"in progress: process {pid} is still recording"
                for verb in "report", "info", "check", "leaks", "dump":
                    done = cli(verb, run.file)
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    self.assertIn(said, done.stderr)
                    self.assertNotIn("damaged", done.stdout + done.stderr)
                    self.assertNotIn("was killed", done.stdout + done.stderr)
                    if verb in ("report", "info", "check"):
                        self.assertIn(said, done.stdout)
                for verb in "report", "info":
                    found = json.loads(cli(verb, "--json", run.file).stdout)
                    self.assertEqual((found["complete"], found["in_progress"]), (False, pid))
                self.assertIn("IN PROGRESS", cli("report", "--full", run.file).stdout)
                self.assertEqual(cli("report", "--strict", run.file).returncode, 4)
                run.kill()
                self.assertNotIn("in progress", cli("report", "--full", run.file).stdout)
                self.assertNotIn("in_progress", cli("report", "--json", run.file).stdout)
                run.clear()

    def test_a_copy_of_a_recording_in_progress_is_not_in_progress(self):
        run = Killed()
        run.wait_for_events()
        copy = os.path.join(run.folder, "copy.gmt.gz")
        shutil.copy(run.file, copy)
        self.assertNotIn("in progress", cli("report", "--full", copy).stdout)
        run.kill()
        run.clear()

    def test_the_recording_of_a_stopped_process_is_in_progress(self):
        run = Killed()
        run.wait_for_events()
        run.process.send_signal(signal.SIGSTOP)
        self.assertIn("in progress", cli("report", "--full", run.file).stdout)
        run.process.send_signal(signal.SIGCONT)
        run.kill()
        run.clear()


if __name__ == "__main__":
    tap.main()
