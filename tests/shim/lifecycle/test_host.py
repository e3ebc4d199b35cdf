# SPDX-License-Identifier: MIT
"""The program behaves as without the recorder."""

import os
import subprocess
import unittest

import shared_recordings
import tap
import tasks
from definitions import Kind
from recorded_run import SHIM, RecordedRun, built, events, report


def run_without_recorder(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


class Host(unittest.TestCase):
    def test_a_program_without_cuda_prints_the_same_and_leaves_no_file(self):
        for command in (
            ["ls", "-la", "/usr"],
            ["sh", "-c", "echo out; echo err >&2; exit 3"],
            ["python3", "-c", "import threading; print(threading.active_count())"],
        ):
            run = RecordedRun(command, {"stacks": "all"})
            without = run_without_recorder(command)
            self.assertEqual((run.out, run.err, run.code), (without.stdout, without.stderr, without.returncode))
            self.assertEqual(os.listdir(run.folder), [])

    def test_a_program_without_cuda_gets_no_thread_and_no_library(self):
        run = RecordedRun(["sh", "-c", "ls /proc/self/task | wc -l; cat /proc/self/maps"])
        self.assertEqual(run.out.splitlines()[0], "1")
        for name in ("libunwind", "libz.so", "liblzma", "libcuda"):
            self.assertNotIn(name, run.out)

    def test_error_codes_errno_and_the_last_error_are_the_drivers(self):
        run = RecordedRun([built("faults")])
        self.assertEqual((run.code, run.out.strip()), (0, "0"), run.err)

    def test_refused_requests_and_frees_are_events_of_their_own(self):
        run = RecordedRun([built("faults")])
        kinds = [event["kind"] for event in run.events()]
        self.assertEqual(kinds, [Kind.ALLOC_FAILED, Kind.FREE_FAILED, Kind.ALLOC, Kind.FREE, Kind.FREE_FAILED])
        failed = run.events()[0]
        self.assertEqual((failed["size_bytes"], failed["result"], failed["address"]), (1 << 50, 2, 0))
        self.assertNotEqual(failed["stack"], 0)

    def test_an_address_passed_between_threads_is_never_live_twice(self):
        run = RecordedRun([built("busy-threads"), "8", "5000"])
        made = int(run.out)
        self.assertEqual(run.code, 0, run.err)
        result, layer = run.report(), run.totals()
        self.assertEqual(result["events"]["dropped"], 0)
        self.assertTrue(result["complete"])
        self.assertEqual((layer["alloc_count"], layer["free_count"]), (made, made))
        self.assertEqual((layer["live_bytes"], layer["live_blocks"]), (0, 0))
        self.assertEqual(len(run.records("thread")), 8)

    def test_a_forked_child_writes_its_own_file_only_if_it_uses_cuda(self):
        run = RecordedRun([built("forks")])
        self.assertEqual(run.code, 0, run.err)
        files = {int(os.path.basename(path).split(".")[0]): path for path in run.files}
        parent = files.pop(int(run.out.splitlines()[-1]))
        self.assertEqual([event["size_bytes"] for event in events(parent)], [1111, 3333])
        children = sorted([(event["kind"], event["size_bytes"]) for event in events(path)] for path in files.values())
        self.assertEqual(children, [[(Kind.ALLOC, 2222)], [(Kind.ALLOC_FAILED, 4444)]])
        for path in run.files:
            self.assertTrue(report(path)["complete"])

    def test_a_child_forked_inside_a_call_records_from_its_next_call(self):
        run = RecordedRun([built("forks"), "inside"])
        self.assertEqual(run.code, 0, run.err)
        files = {int(os.path.basename(path).split(".")[0]): path for path in run.files}
        parent = files.pop(int(run.out.splitlines()[-1]))
        self.assertEqual([event["size_bytes"] for event in events(parent)], [1111, 2222, 3333])
        self.assertEqual(
            [[(event["kind"], event["size_bytes"]) for event in events(path)] for path in files.values()],
            [[(Kind.ALLOC_FAILED, 4444)]],
        )

    def test_nothing_is_left_in_shared_memory(self):
        run = RecordedRun([built("busy-threads"), "2", "10"])
        self.assertIsNone(shared_recordings.find(run.file))
        pid = os.path.basename(run.file).split(".")[0]
        self.assertEqual(
            [path for path in shared_recordings.paths(run.folder) if os.path.basename(path).startswith(f"{pid}.")], []
        )

    def test_memory_of_a_recorder_killed_at_its_start_is_removed_by_a_later_one(self):
        if not os.access("/dev/shm", os.W_OK | os.X_OK):
            self.skipTest("there is no /dev/shm that this user may write to")
        folder = shared_recordings.folder()
        os.makedirs(folder, mode=0o700, exist_ok=True)
        orphan = os.path.join(folder, "2147483646.0.area")
        with open(orphan, "wb"):
            pass
        RecordedRun([built("busy-threads"), "1", "1"])
        self.assertTrue(os.path.exists(orphan), "it may be a recorder that begins right now")
        os.utime(orphan, (1, 1))
        RecordedRun([built("busy-threads"), "1", "1"])
        self.assertFalse(os.path.exists(orphan))

    def test_without_its_memory_the_file_of_a_killed_program_is_readable_up_to_the_last_sync_point(self):
        syncs = []

        def kill(recording, process):
            # A sync point comes every second, or later on a busy machine. Two may come without an event between them.
            def are_events_between():
                syncs[:] = recording.rows_so_far("sync")
                return len(syncs) > 2 and syncs[-1]["events"] > syncs[0]["events"]

            tasks.wait_until(
                are_events_between, "sync points with events between them", lambda: process.poll() is not None
            )
            process.kill()

        run = RecordedRun(
            [built("busy-threads"), "1", "2000000000"], {"output": "killed.gmt.gz", "stacks": "none"}, meanwhile=kill
        )
        self.assertEqual(run.code, -9)
        os.unlink(shared_recordings.find(run.file).path)
        result = run.report()
        self.assertFalse(result["complete"])
        self.assertGreaterEqual(max(row["stamp"] for row in run.records("sync")), syncs[-1]["stamp"])
        self.assertGreaterEqual(result["events"]["recorded"], syncs[-1]["events"])

    def allocating_python(self, *lines):
        return [
            "python3",
            "-c",
            "\n".join(
                [
                    "import ctypes, os, subprocess, sys",
                    "runtime = ctypes.CDLL('libcudart.so.13')",
                    "def allocate(size):",
                    "    block = ctypes.c_void_p()",
                    "    assert runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(size)) == 0",
                    *lines,
                ]
            ),
        ]

    def test_an_end_without_destructors_is_an_end_in_order(self):
        run = RecordedRun(self.allocating_python("allocate(1234)", "os._exit(5)"))
        self.assertEqual(run.code, 5)
        self.assertEqual([event["size_bytes"] for event in run.events()], [1234])
        self.assertTrue(run.report()["complete"])

    def test_children_that_cannot_run_their_program_do_not_end_the_recording(self):
        run = RecordedRun(
            self.allocating_python(
                "allocate(1)",
                "for close in (True, False):",
                "    try:",
                "        subprocess.run(['/nonexistent'], close_fds=close)",
                "    except FileNotFoundError:",
                "        allocate(2)",
                "os.posix_spawnp('true', ['true'], os.environ)",
                "os.wait()",
                "allocate(3)",
            )
        )
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertEqual([event["size_bytes"] for event in run.events()], [1, 2, 2, 3])
        self.assertTrue(run.report()["complete"])

    def test_the_next_preload_gets_the_calls_too(self):
        self.assertIn("gpumemtrace", SHIM)
        run = RecordedRun([built("busy-threads"), "1", "100"], preload=f"{SHIM}:{built('libinterposer.so')}")
        self.assertEqual(run.out.splitlines(), ["100", "interposer saw 100"], run.err)
        self.assertEqual(run.totals()["alloc_count"], 100)


if __name__ == "__main__":
    tap.main()
