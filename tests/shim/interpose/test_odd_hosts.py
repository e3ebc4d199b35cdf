# SPDX-License-Identifier: MIT
"""Programs with allowed but rare behaviour work as without the recorder, and are recorded."""

import os
import time
import unittest

import tap
from definitions import Kind
from recorded_run import RecordedRun, built

TIMEOUT_S = 240  # only a deadlock lasts so long


PLUGIN12, PLUGIN13 = built("libodd-plugin12.so"), built("libodd-plugin13.so")


class OddHosts(unittest.TestCase):
    def host(self, *arguments, options=None, name="odd-host"):
        return RecordedRun([built(name), *arguments], options, timeout=TIMEOUT_S)

    def opener(self, *arguments):
        run = RecordedRun([built("odd-opener"), *arguments], timeout=TIMEOUT_S)
        self.assertEqual((run.code, run.err), (0, ""))
        return run, run.out.splitlines()

    def check_recorded(self, run, allocations, code=0):
        """Checks that the program ended as it should, and that its recording is complete."""
        self.assertEqual((run.code, run.err), (code, ""))
        self.assertEqual([event["kind"] for event in run.events()], [Kind.ALLOC] * allocations)
        report = run.report()
        self.assertTrue(report["complete"])
        self.assertEqual(report["events"]["dropped"], 0)


class Plugins(OddHosts):
    def test_a_local_library_that_jumps_to_cudaMalloc_reaches_its_own_runtime(self):
        for plugin in (PLUGIN13, PLUGIN12):
            with self.subTest(plugin):
                run, lines = self.opener(plugin, "odd_allocate")
                self.assertEqual(lines[0], "0")
                self.check_recorded(run, 1)

    def test_a_local_library_finds_its_runtime_by_RTLD_DEFAULT(self):
        run, lines = self.opener(PLUGIN13, "odd_look_up")
        self.assertEqual(lines[0], "0")
        self.check_recorded(run, 1)

    def test_a_program_finds_no_driver_by_RTLD_NEXT_where_there_is_none(self):
        run, lines = self.opener()
        self.assertEqual((lines, run.files), (["no driver"], []))

    def test_a_runtime_in_the_place_of_one_that_was_unloaded_gets_its_own_calls(self):
        # The first calls make no event, so they come before the recording begins.
        run, lines = self.opener(
            *[PLUGIN13, "odd_touch", PLUGIN12, "odd_touch"] * 3, *[PLUGIN13, "odd_runtime", PLUGIN12, "odd_runtime"] * 3
        )
        self.assertEqual(lines[:-1], ["0"] * 6 + ["13", "12"] * 3)
        self.assertEqual([event["kind"] for event in run.events()], [Kind.ALLOC_FAILED] * 6)

    def test_exit_in_the_constructor_of_a_library_ends_the_program_at_once(self):
        # A wait in vain would slow every run; a busy machine slows some of them. So the fastest run counts.
        fastest_s = TIMEOUT_S
        for _ in range(8):
            start = time.monotonic()
            # With overflow=wait, the program would wait for the sampler, which waits for the loader.
            run = self.host("exit-while-loading", PLUGIN13, options={"overflow": "block"})
            fastest_s = min(fastest_s, time.monotonic() - start)
            self.check_recorded(run, 1, code=7)
        self.assertLess(fastest_s, 3)

    def test_a_first_call_does_not_wait_for_a_library_constructor(self):
        self.check_recorded(self.host("lock-while-loading", PLUGIN13), 2)


class Descriptors(OddHosts):
    def test_a_program_without_standard_streams_leaves_a_whole_recording(self):
        run = RecordedRun(["sh", "-c", 'exec "$0" talkative <&- >&- 2>&-', built("odd-host")], timeout=TIMEOUT_S)
        self.check_recorded(run, 201)

    def test_a_program_that_closes_every_descriptor_gets_no_recorder_output_in_its_files(self):
        run = self.host("descriptors")
        self.assertEqual((run.code, run.out), (0, "at 0\n"), run.err)
        with open(os.path.join(run.folder, "own"), encoding="latin-1") as file:
            self.assertEqual(file.read(), "my own text")

    def test_a_warning_to_a_pipe_without_a_reader_does_not_end_the_program(self):
        for output in ("/proc/nowhere/x.gmt.gz", "%z"):
            with self.subTest(output):
                self.assertEqual(self.host("broken-pipe", options={"output": output}).code, 0)


class Threads(OddHosts):
    def test_a_process_whose_main_thread_has_ended_ends_with_its_last_worker(self):
        self.check_recorded(self.host("last-worker"), 1)

    def test_a_first_event_fits_on_the_smallest_stack(self):
        self.check_recorded(self.host("small-stack"), 1)

    def test_the_recorder_works_with_much_thread_local_data(self):
        self.check_recorded(self.host("plain", name="odd-host-tls"), 200)

    def test_a_sync_point_has_the_events_of_slow_threads_next_to_a_busy_one(self):
        run = self.host("slow-and-busy", options={"stacks": "none"})
        self.assertEqual(run.code, -9, run.err)
        # The busy thread frees all its blocks. The live blocks are those of the slow thread: a hundred each second.
        self.assertGreater(run.totals()["live_blocks"], 50)

    def test_consecutive_threads_share_their_memory(self):
        run = self.host("many-threads")
        self.check_recorded(run, 500)
        self.assertEqual(len(run.records("thread")), 500)
        # A separate ring for each thread would take a megabyte each.
        self.assertLess(int(run.out), 64 << 20)

    def test_a_thread_cancelled_at_the_first_event_blocks_no_other(self):
        self.check_recorded(self.host("cancelled"), 5)


class Words(OddHosts):
    def test_two_values_in_one_option_are_refused_in_one_line(self):
        run = self.host("plain", options={"stacks": "all|python"})
        self.assertEqual((run.code, len(run.err.splitlines())), (0, 1), run.err)
        self.assertIn("stacks", run.err)


if __name__ == "__main__":
    tap.main()
