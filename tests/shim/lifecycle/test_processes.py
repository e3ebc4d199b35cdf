# SPDX-License-Identifier: MIT
"""Processes that start and end in each possible way: each has its own recording, up to its end."""

import time
import unittest

import tap
from definitions import Kind
from recorded_run import EXEC_FUNCTIONS, RecordedRun, built, cli, events, records, report

TIMEOUT_S = 240  # only a deadlock lasts so long
CODE = 5  # what process-ends says in its end
STARTS, ENDS = built("process-starts"), built("process-ends")


def sizes(path):
    return [event["size_bytes"] for event in events(path)]


def records_end(path):
    """Returns whether the file has its end record. The file may still be empty."""
    return '"record":"end"' in cli("dump", "--json", path).stdout


class Processes(unittest.TestCase):
    def run_mode(self, *arguments, program=STARTS, code=0, options=None):
        run = RecordedRun([program, *arguments], options, timeout=TIMEOUT_S)
        self.assertEqual((run.code, run.err), (code, ""))
        return run

    def check_whole(self, run, *expected):
        """Checks that there is exactly one complete recording for each list of sizes."""
        self.assertEqual(sorted(sizes(path) for path in run.files), sorted(expected))
        for path in run.files:
            self.assertTrue(report(path)["complete"], path)


class Children(Processes):
    # A driver lock that a thread holds stays locked in such a child. Without samples, the recorder holds none.
    ALONE = {"samples": "off"}

    def test_a_child_by_clone_without_fork_handlers_has_its_own_file(self):
        self.check_whole(self.run_mode("clone", options=self.ALONE), [1111, 3333], [2222])

    def test_a_child_by_clone3_without_fork_handlers_has_its_own_file(self):
        self.check_whole(self.run_mode("clone3", options=self.ALONE), [1111, 3333], [2222])

    def test_a_vfork_child_of_an_unrecorded_parent_begins_no_recording(self):
        self.check_whole(self.run_mode("guest-first"), [1111, 3333])

    def test_allocations_of_a_vfork_child_are_in_the_file_of_its_parent(self):
        self.check_whole(self.run_mode("guest-later"), [1111, 2222, 3333])

    def test_the_end_of_a_child_in_shared_memory_does_not_end_the_recording(self):
        self.check_whole(self.run_mode("guest-by-clone"), [1111, 3333])

    def test_a_spawned_program_has_its_own_file(self):
        self.check_whole(self.run_mode("spawn"), [1111, 3333], [2222])

    def test_children_forked_next_to_busy_threads_end_and_change_no_recording(self):
        run = self.run_mode("forks-with-threads")
        by_kinds = {}
        for path in run.files:
            self.assertTrue(report(path)["complete"], path)
            by_kinds.setdefault(frozenset(event["kind"] for event in events(path)), []).append(path)
        (parent,) = by_kinds.pop(frozenset({Kind.ALLOC, Kind.FREE}))
        result = report(parent)
        self.assertEqual((result["events"]["dropped"], result["devices"][0]["layers"][0]["live_bytes"]), (0, 0))
        self.assertEqual([len(paths) for paths in by_kinds.values()], [20])
        self.assertEqual(list(by_kinds), [frozenset({Kind.ALLOC_FAILED})])

    def test_a_child_that_stays_holds_nothing_of_the_parents_recorder(self):
        run = self.run_mode("child-that-stays")
        self.assertEqual(run.out, "0\n")
        self.check_whole(run, [1111])

    def test_a_daemon_that_closed_everything_is_recorded_to_its_end(self):
        run = self.run_mode("daemon")
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline and not (run.files and records_end(run.file)):
            time.sleep(0.1)
        self.check_whole(run, [1111, 3333])


class Descriptors(Processes):
    def test_the_recorder_has_no_open_descriptor_of_the_program(self):
        self.assertEqual(self.run_mode("descriptors").out, "")


class Ends(Processes):
    def test_each_end_in_order_leaves_a_whole_file(self):
        for how in (
            "return",
            "exit",
            "exit_plainly",
            "Exit",
            "quick_exit",
            "exit_of_another",
            "exit_of_two",
            "exit_in_handler",
        ):
            with self.subTest(how):
                self.check_whole(self.run_mode(how, program=ENDS, code=CODE), [1111])

    def test_the_end_of_the_only_thread_is_the_end_of_the_recording(self):
        self.check_whole(self.run_mode("end_of_main", program=ENDS), [1111])

    def test_an_exit_with_busy_threads_leaves_a_whole_file(self):
        run = self.run_mode("exit_with_busy_threads", program=ENDS, code=CODE)
        self.assertTrue(run.report()["complete"])
        self.assertGreater(len(run.events()), 1)

    def test_after_an_end_without_handlers_all_recorded_events_are_kept(self):
        for how, code in (("system_call", CODE), ("abort_later", -6)):
            with self.subTest(how):
                run = self.run_mode(how, program=ENDS, code=code)
                self.assertEqual(sizes(run.file), [1111])
                self.assertTrue(run.report()["complete"])


class Exec(Processes):
    def test_exec_ends_one_whole_file_and_begins_another(self):
        for how in (*EXEC_FUNCTIONS, "exec_of_another"):
            with self.subTest(how):
                run = self.run_mode(how, STARTS, "child", program=ENDS)
                self.assertEqual(sorted(sizes(path) for path in run.files), [[1111], [2222]])
                for path in run.files:
                    self.assertTrue(report(path)["complete"])
                    notes = [record["text"] for record in records(path, "note")]
                    self.assertEqual(any("exec" in note for note in notes), sizes(path) == [1111], notes)

    def test_exec_of_a_program_without_cuda_does_not_change_the_first_file(self):
        run = self.run_mode("execv", "/bin/true", program=ENDS)
        self.assertEqual(sizes(run.file), [1111])

    def test_a_recording_continues_after_a_failed_exec(self):
        self.check_whole(self.run_mode("failed_exec", "x", program=ENDS, code=CODE), [1111, 3333])


if __name__ == "__main__":
    tap.main()
