# SPDX-License-Identifier: MIT
"""Faults of memory, mainly of shared memory: no fault causes a signal, and the recorder records if it can."""

import os
import unittest

import tap
from faulty import Faults, Host, fill, needs_mounts, tmpfs, without

RING_THREADS = 60  # a ring takes about a megabyte


class SharedMemory(Faults):
    @needs_mounts
    def test_without_dev_shm_the_memory_is_in_the_folder_of_the_recording(self):
        with without("/dev/shm"):
            host = Host()
            host("events 100")
            self.assertTrue(any(name.endswith(".area") for name in os.listdir(host.folder)), os.listdir(host.folder))
            self.end(host)
            self.check_file(host, 200)
            self.assertFalse(any(name.endswith(".area") for name in os.listdir(host.folder)))

    @needs_mounts
    def test_in_64_megabytes_of_shared_memory_nothing_is_lost(self):
        with tmpfs("size=64m", at="/dev/shm"):
            host = Host(options={"stacks": "none"})
            host("events 1000", f"threads {RING_THREADS}")
            self.end(host, "not in a file", "lost if the process is killed")
            self.check_file(host, 2000 + RING_THREADS, note="not in a file")
            self.assertEqual(host.dropped(), 0)

    @needs_mounts
    def test_shared_memory_that_is_full_in_the_middle_costs_one_line_and_no_event(self):
        with tmpfs("size=64m", at="/dev/shm"):
            host = Host(options={"overflow": "wait"})
            host("events 100")
            filler = fill("/dev/shm")
            host("threads 20", "events 20000")
            os.unlink(filler)
            host("threads 3")
            self.end(host, "No space left on device", "lost if the process is killed")
            self.check_file(host, 40223, note="No space left on device")

    @needs_mounts
    def test_without_space_for_shared_memory_the_recording_is_in_private_memory(self):
        with without("/dev/shm"), tmpfs("size=1m") as folder:
            host = Host(folder=folder)
            host("events 1000")
            self.end(host, "not in a file", "lost if the process is killed")
            self.check_file(host, 2000, note="not in a file")
            self.assertEqual(os.listdir(folder), [os.path.basename(host.file)])

    @needs_mounts
    def test_shared_memory_of_huge_pages_works(self):
        with tmpfs("size=256m,huge=always", at="/dev/shm"):
            host = Host()
            host("events 1000", "threads 10")
            used = os.statvfs("/dev/shm")
            self.assertLess((used.f_blocks - used.f_bfree) * used.f_frsize, 128 << 20)
            self.end(host)
            self.check_file(host, 2010)

    def test_a_file_system_that_cannot_allocate_costs_one_line_and_no_event(self):
        for error, words in (("EOPNOTSUPP", "not supported"), ("ENOSPC", "No space"), ("EINTR@1-20", None)):
            with self.subTest(error):
                host = Host(faults={"FAULTS": f"fallocate={error}"})
                host("events 1000")
                self.end(host, *([words] if words else []))
                self.check_file(host, 2000, note=words)

    def test_allocation_that_fails_later_costs_one_line_and_no_event(self):
        host = Host(faults={"FAULTS": "fallocate=ENOSPC@3"})
        host("events 1000", "threads 8")
        self.end(host, "No space")
        self.check_file(host, 2008, note="No space")


class Refused(Faults):
    """The kernel refuses memory and threads."""

    def test_a_tight_address_space_is_left_to_the_program(self):
        for limit in (64 << 20, 256 << 20, 1 << 30):
            with self.subTest(limit):
                host = Host(around=["prlimit", f"--as={limit}"])
                host("events 1000")
                host.end()
                self.assertEqual(("".join(host.out), host.code), host.plain(), host.messages)
                if host.files:
                    self.check_file(host, 2000)
                else:
                    self.check_messages(host, "nothing is recorded")

    def test_a_limit_on_data_is_left_to_the_program(self):
        # With a limit below the size of the recorder's own data, the loader gives up.
        for limit in (6 << 20, 8 << 20, 64 << 20):
            with self.subTest(limit):
                host = Host(around=["prlimit", f"--data={limit}"])
                host("events 1000")
                host.end()
                self.assertEqual(("".join(host.out), host.code), host.plain(), host.messages)
                if not host.files or not os.path.getsize(host.file):
                    self.assertEqual(len(host.messages), 1, host.messages)

    def test_mappings_that_are_refused_cost_one_line_at_most(self):
        for number in range(1, 12):
            with self.subTest(number):
                host = Host(faults={"FAULTS": f"mmap=ENOMEM@{number}"})
                host("events 100")
                host.end()
                self.assertEqual(("".join(host.out), host.code), host.plain(), host.messages)
                self.assertLessEqual(len(host.messages), 1, host.messages)

    def test_without_any_mapping_nothing_is_recorded(self):
        host = Host(faults={"FAULTS": "mmap=ENOMEM"})
        host("events 100")
        self.end(host, "nothing is recorded")

    def test_protection_that_is_refused_costs_one_line(self):
        # The first call makes the C library's table writable, the third call the driver's table.
        for faults, words in (
            ("mprotect=EACCES@1-1", "RTLD_DEEPBIND"),
            ("mprotect=EACCES@3-4", "RTLD_DEEPBIND"),
            ("mprotect=EACCES", "Permission denied"),
        ):
            with self.subTest(faults):
                host = Host(faults={"FAULTS": faults})
                host("events 100", "threads 3", "pause 1")
                host.end()
                self.assertEqual(("".join(host.out), host.code), host.plain(), host.messages)
                self.assertIn(words, "".join(host.messages))
                if host.files:
                    self.check_file(host, 203, note=words)

    def test_a_thread_that_is_refused_costs_one_line_and_leaves_nothing(self):
        host = Host(faults={"FAULTS": "pthread_create=EAGAIN"})
        host("events 100", "threads 3")
        self.end(host, "no thread", "nothing is recorded")
        self.check_nothing_recorded(host)

    def test_without_the_threads_that_ask_for_samples_events_are_recorded(self):
        for refused in ("1-1", "3"):
            with self.subTest(refused):
                host = Host(faults={"FAULTS": f"pthread_create=EAGAIN@{refused}"})
                host("events 100", "pause 600")
                self.end(host)
                self.check_file(host, 200)

    @unittest.skipUnless(os.getuid() == 0, "needs root, to become a user with a limit")
    def test_a_user_at_the_limit_of_processes_sees_no_difference(self):
        host = Host(
            around=["setpriv", "--reuid=54321", "--clear-groups", "prlimit", "--nproc=1"],
            is_reachable=True,
            options={"output": "/tmp/gpumemtrace-%p.gmt.gz"},
        )
        host("events 100")
        self.end(host, "no thread", "nothing is recorded")

    def test_few_descriptors_are_enough_or_cost_one_line(self):
        for limit in (4, 5, 6, 8, 16, 64):
            with self.subTest(limit):
                host = Host(around=["prlimit", f"--nofile={limit}"])
                host("events 100", "open own")
                host.end()
                if limit > 4:
                    self.assertEqual(("".join(host.out).splitlines()[0], host.code), ("events 100: 0, errno 0", 0))
                self.assertLessEqual(len(host.messages), 1, host.messages)

    def test_no_descriptor_at_all_costs_one_line(self):
        host = Host(faults={"FAULTS": "open=EMFILE"})
        host("events 100")
        self.end(host, "Too many open files", "nothing is recorded")


if __name__ == "__main__":
    tap.main()
