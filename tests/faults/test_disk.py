# SPDX-License-Identifier: MIT
"""Faults of the output file: the program continues, prints one line, and the file states what it lacks."""

import os
import shutil

import tap
from faulty import BEGIN_FILE, Faults, Host, fill, needs_mounts, tmpfs, wait_until

MUCH = 30000  # calls: their events do not fit into a ring


def on_file(faults):
    return {"FAULTS": faults, "FAULTS_FILE": ".gmt.gz"}


class Space(Faults):
    @needs_mounts
    def test_a_full_disk_that_has_space_again_gets_all_events_or_their_number(self):
        with tmpfs("size=32m") as folder:
            host = Host(folder=folder, options={"stacks": "none"})
            host("events 10")
            wait_until(lambda: host.files, "the file")
            filler = fill(folder)
            host("keep 5", f"events {MUCH}")
            host.wait_for("No space left on device")
            host("events 100", f"events {MUCH}")
            size = os.path.getsize(host.file)
            os.unlink(filler)
            wait_until(lambda: os.path.getsize(host.file) > size, "a write after there was space again")
            host("events 7", "pause 1")
            self.end(host, "No space left on device", "continues")
            self.check_file(host, 5 + 2 * (2 * MUCH + 117), note="No space left on device", complete=False)
            self.assertGreater(host.dropped(), 0)
            self.assertEqual(len(host.records("end")), 1)

    @needs_mounts
    def test_a_disk_that_stays_full_keeps_the_events_that_fitted(self):
        with tmpfs("size=1m") as folder:
            host = Host(folder=folder, options={"stacks": "none"})
            host("events 10")
            host.wait_for_events(20)
            fill(folder)
            host(f"events {MUCH}")
            host.wait_for("No space left on device")
            self.end(host, "No space left on device")
            self.assertGreaterEqual(host.count_events(), 16384)

    @needs_mounts
    def test_a_disk_that_is_full_from_the_start_costs_one_line(self):
        with tmpfs("size=1m") as folder:
            fill(folder)
            host = Host(folder=folder)
            host("events 100")
            self.end(host, "No space left on device")

    @needs_mounts
    def test_a_disk_without_a_free_inode_costs_one_line(self):
        with tmpfs("size=1m,nr_inodes=1") as folder:
            host = Host(folder=folder)
            host("events 100")
            self.end(host, "No space left on device", "nothing is recorded")
            self.check_nothing_recorded(host)

    def test_the_recorder_waits_for_temporary_errors_to_pass(self):
        hosts = []
        for error, words in (
            ("ENOSPC", "No space"),
            ("EDQUOT", "quota"),
            ("EIO", "Input/output"),
            ("ESTALE", "Stale"),
            ("EROFS", "Read-only"),
            ("ENOMEM", "memory"),
        ):
            hosts.append((words, Host(faults=on_file(f"write={error}@2-4"), options={"stacks": "none"})))
            hosts[-1][1]("events 10")
        for words, host in hosts:
            with self.subTest(words):
                host.wait_for(words)
                wait_until(lambda: len(host.notes()) > 0, "the note")
                host("events 10")
                self.end(host, words, "continues")
                self.check_file(host, 40, note=words)
                self.assertEqual(host.dropped(), 0)

    def test_permanent_errors_keep_the_written_events_and_the_rings(self):
        hosts = []
        for error, words in (("EIO", "Input/output"), ("EDQUOT", "quota"), ("EINVAL", "Invalid")):
            hosts.append(
                (
                    words,
                    Host(
                        faults={**on_file(f"write={error}"), "FAULTS_BEGIN_FILE": BEGIN_FILE},
                        options={"stacks": "none"},
                    ),
                )
            )
            hosts[-1][1]("events 10")
        for words, host in hosts:
            with self.subTest(words):
                host.wait_for_events(20)
                host.begin_faults()
                host.wait_for(words)
                host(f"events {MUCH}")
                self.end(host, words)
                # After an error that may pass, the rings stay full. After other errors, recording ends.
                self.assertGreaterEqual(host.count_events(), 20 if words == "Invalid" else 16384)

    def test_short_and_interrupted_writes_cause_no_message(self):
        for fault in ("SHORT", "EINTR@1-50"):
            with self.subTest(fault):
                host = Host(faults=on_file(f"write={fault}"))
                host("events 1000", "pause 1")
                self.end(host)
                self.check_file(host, 2000)


class Limits(Faults):
    def test_a_limit_on_the_size_of_files_sends_no_signal(self):
        for limit in (0, 4096, 300 << 10):
            with self.subTest(limit):
                host = Host(around=["prlimit", f"--fsize={limit}"], options={"stacks": "none"})
                host("events 10", f"events {MUCH}", "events 10")
                host.end()
                # Stderr is a file that may not grow either, so it gets no line.
                self.assertEqual(("".join(host.out), host.code), host.plain())

    def test_a_limit_on_the_size_of_files_is_reported_and_the_file_keeps_the_first_events(self):
        # With all events, the file would be larger than the limit.
        host = Host(around=["prlimit", "--fsize=16384"], options={"stacks": "none", "overflow": "wait"})
        host(f"events {MUCH}", "pause 1")
        host.end()
        self.assertEqual(("".join(host.out), host.code), host.plain())
        self.assertIn("File too large", "".join(host.messages))
        self.assertFalse(host.report()["complete"])
        self.assertGreater(host.count_events(), 0)

    def test_a_limit_on_the_size_of_files_that_comes_later_sends_no_signal(self):
        host = Host(options={"stacks": "none"})
        host("events 10")
        host.wait_for_events(20)
        host("file-size-limit 4096", "threads 20", f"events {MUCH}", "pause 1500")
        host.end()
        self.assertEqual(("".join(host.out), host.code), host.plain())
        self.assertGreaterEqual(host.count_events(), 20)


class Somebody(Faults):
    """Other programs change the file while the recorder writes it."""

    def begun(self, **more):
        host = Host(options={"stacks": "none", "output": "out/%p.gmt.gz"}, **more)
        host("events 10")
        wait_until(lambda: host.files and os.path.getsize(host.file), "the file")
        return host

    def test_a_removed_file_is_reported_and_not_written_any_more(self):
        host = self.begun()
        os.unlink(host.file)
        host("events 10")
        host.wait_for("the file was removed")
        host(f"events {MUCH}")
        self.end(host, "the file was removed", "continues")
        self.check_nothing_recorded(host)

    def test_a_removed_folder_is_reported(self):
        host = self.begun()
        shutil.rmtree(os.path.join(host.folder, "out"))
        host("events 10")
        host.wait_for("the file was removed")
        self.end(host, "the file was removed")

    def test_a_truncated_file_is_reported_and_not_written_any_more(self):
        host = self.begun()
        os.truncate(host.file, 0)
        host("events 10")
        host.wait_for("the file was truncated")
        self.end(host, "the file was truncated")
        self.assertEqual(os.path.getsize(host.file), 0)

    def test_writing_continues_in_a_renamed_file_or_folder(self):
        host = self.begun()
        name = os.path.basename(host.file)
        os.rename(host.file, os.path.join(host.folder, "out", "moved." + name))
        os.rename(os.path.join(host.folder, "out"), os.path.join(host.folder, "moved"))
        host("events 10")
        self.end(host)
        self.assertEqual(host.file, os.path.join(host.folder, "moved", "moved." + name))
        self.check_file(host, 40)

    def test_writing_continues_if_the_file_has_another_name(self):
        host = self.begun()
        os.link(host.file, os.path.join(host.folder, "other.gmt.gz"))
        os.unlink(os.path.join(host.folder, "out", os.listdir(os.path.join(host.folder, "out"))[0]))
        host("events 10")
        self.end(host)
        self.check_file(host, 40)

    def test_a_file_in_the_place_of_a_removed_one_is_not_changed(self):
        host = self.begun()
        path = host.file
        os.unlink(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write("another's")
        host("events 10")
        host.wait_for("the file was removed")
        self.end(host, "the file was removed")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "another's")

    def test_a_folder_that_cannot_be_written_to_costs_one_line(self):
        host = Host(options={"output": "/proc/nowhere/%p.gmt.gz"})
        host("events 10")
        self.end(host, "/proc/nowhere/", "nothing is recorded")

    @needs_mounts
    def test_a_file_system_that_is_read_only_costs_one_line(self):
        with tmpfs("ro") as folder:
            host = Host(folder=folder)
            host("events 10")
            self.end(host, "Read-only file system", "nothing is recorded")


class Slow(Faults):
    def test_a_write_that_never_returns_delays_only_the_end_by_ten_seconds(self):
        host = Host(faults=on_file("write=HANG@2"), options={"stacks": "none", "overflow": "drop"})
        # The program goes on while the recorder's thread is in write().
        host("events 10", "pause 1500", f"events {MUCH}", "threads 10", "events 10")
        self.end(host, "the disk did not accept the rest within 10 s")
        # Events that the file lacks are in the recorder's memory, which outlives the process.
        self.assertGreaterEqual(host.count_events(), 16384)


if __name__ == "__main__":
    tap.main()
