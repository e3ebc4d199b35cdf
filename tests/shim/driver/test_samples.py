# SPDX-License-Identifier: MIT
"""Samples of the driver and NVML have the exact memory of a device, and make no call of the program fail."""

import json
import os
import shutil
import tempfile
import unittest

import tap
import tasks
from definitions import Kind, SamplePart, Space
from recorded_run import SIMCUDA, RecordedRun, built, cli, records

PROGRAM = built("samples")
FUTURE = built("libcuda.so.future")
MIB = 1 << 20
IDLE_NS = 9 * 10**9  # others are looked for after ten seconds in which nothing happened
EVERYTHING = SamplePart.DRIVER | SamplePart.NVML | SamplePart.PROCESSES | SamplePart.POOLS | SamplePart.GRAPHS
CONTEXTS = 2000  # that a loop of the program makes
MACHINE = {"SIMCUDA_CONTEXT_MEMORY": "300M", "SIMCUDA_OTHERS_MEMORY": "1G"}


def run(*arguments, options=None, libraries=SIMCUDA, meanwhile=None, **environment):
    return RecordedRun(
        [PROGRAM, *arguments],
        options=options,
        libraries=libraries,
        environment={**MACHINE, **environment},
        meanwhile=meanwhile,
    )


def run_quiet(known, **more):
    """Lets the program go on when the file has a sample with these parts, taken when all its memory existed."""

    def look(recording, process):
        tasks.wait_until(
            lambda: any(
                row["known"] == known and row["pool_used_bytes"] == 10 * MIB for row in recording.rows_so_far("sample")
            ),
            "a sample of a program that does nothing",
            lambda: process.poll() is not None,
        )
        process.stdin.write("\n")
        process.stdin.flush()

    return run("quiet", meanwhile=look, **more)


def samples(recording):
    return sorted(recording.records("sample"), key=lambda row: row["stamp"])


def contexts(recording):
    return [row for row in recording.records("event") if row["space"] == Space.CONTEXT and row["kind"] == Kind.ALLOC]


class Samples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recording = run_quiet(EVERYTHING, SIMCUDA_DEVICES="2")

    def test_a_sample_equals_the_driver_and_nvml_to_the_byte(self):
        self.assertEqual(self.recording.code, 0, self.recording.err)
        free, total = map(int, self.recording.out.split())
        rows = [row for row in samples(self.recording) if row["known"] == EVERYTHING and row["free_bytes"] == free]
        self.assertTrue(rows)
        row = rows[0]
        self.assertEqual((row["device"], row["total_bytes"], row["nvml_used_bytes"]), (0, total, total - free))
        self.assertEqual((row["process_bytes"], row["others_bytes"]), (total - free - 1024 * MIB, 1024 * MIB))
        self.assertEqual((row["pool_reserved_bytes"], row["pool_used_bytes"]), (10 * MIB, 10 * MIB))
        self.assertLessEqual(row["begin_stamp"], row["stamp"])

    def test_a_device_without_a_context_is_not_queried(self):
        self.assertEqual({row["device"] for row in samples(self.recording)}, {0})

    def test_the_last_sample_includes_events_right_before_the_end(self):
        free, _ = map(int, self.recording.out.split())
        last = samples(self.recording)[-1]
        self.assertEqual((last["known"], last["free_bytes"]), (EVERYTHING, free - MIB))
        self.assertEqual((last["pool_reserved_bytes"], last["pool_used_bytes"]), (10 * MIB, 0))

    def test_a_pool_is_sampled_when_it_changed(self):
        pools = self.recording.records("pool")
        self.assertEqual([(row["origin"], row["used_bytes"]) for row in pools], [(0, 10 * MIB), (0, 0)])
        self.assertEqual({row["used_high_bytes"] for row in pools}, {10 * MIB})

    def test_the_memory_of_a_context_is_measured_before_its_first_sample(self):
        (event,) = contexts(self.recording)
        self.assertEqual(event["size_bytes"], 300 * MIB)
        before, after = samples(self.recording)[:2]
        self.assertEqual((before["known"], before["nvml_used_bytes"]), (SamplePart.NVML, 1024 * MIB))
        self.assertEqual((after["process_bytes"], after["nvml_used_bytes"]), (300 * MIB, 1324 * MIB))
        self.assertTrue(before["stamp"] < event["stamp"] < after["begin_stamp"])

    def test_nothing_is_queried_while_the_program_is_idle(self):
        free, _ = map(int, self.recording.out.split())
        # The last sample comes from a question of the program, when it goes on.
        asked = max(row["stamp"] for row in samples(self.recording) if row["known"] == SamplePart.DRIVER)
        rows = [
            row
            for row in samples(self.recording)
            if row["known"] == EVERYTHING and row["free_bytes"] == free and row["begin_stamp"] < asked
        ]
        clocks = self.recording.records("clock")
        ns_per_tick = (clocks[-1]["monotonic_ns"] - clocks[0]["monotonic_ns"]) / (
            clocks[-1]["stamp"] - clocks[0]["stamp"]
        )
        idle = [row for row in rows if (row["begin_stamp"] - rows[0]["begin_stamp"]) * ns_per_tick > IDLE_NS]
        # A sample during the last call is followed by one more sample: two in a second of sleep, or in a longer sleep.
        self.assertLessEqual(len(rows) - len(idle), 2)


class Answers(unittest.TestCase):
    def test_the_memory_of_graphs_equals_that_of_the_driver(self):
        recording = run("graphs")
        reserved, used = map(int, recording.out.split())
        self.assertGreater(used, 0)
        row = samples(recording)[-1]
        self.assertEqual((row["graph_reserved_bytes"], row["graph_used_bytes"]), (reserved, used))

    def test_a_query_of_the_program_is_a_sample_and_equal_results_are_one(self):
        recording = run("answers", options={"samples": "off"})
        free, total = map(int, recording.out.split())
        rows = samples(recording)
        self.assertEqual({row["known"] for row in rows}, {SamplePart.DRIVER})
        self.assertEqual([row["free_bytes"] for row in rows if row["free_bytes"] == free], [free])
        self.assertEqual({row["total_bytes"] for row in rows}, {total})
        self.assertLess(len(rows), 10)

    def test_calls_of_each_function_are_counted_also_if_zero(self):
        recording = run("answers")
        names = {row["id"]: row["name"] for row in recording.records("api")}
        counts = {names[row["api"]]: row["count"] for row in recording.records("calls")}
        self.assertEqual((counts["cuMemGetInfo_v2"], counts["cuMemAlloc_v2"], counts["cuInit"]), (10001, 2, 1))
        self.assertEqual((counts["cuMemFree_v2"], counts["cudaMalloc"]), (0, 0))


class NoHarm(unittest.TestCase):
    def test_captures_in_every_mode_stay_valid_during_thousands_of_samples(self):
        for mode in ("global", "thread-local", "relaxed"):
            with self.subTest(mode):
                recording = run("captures", mode)
                self.assertEqual((recording.code, recording.out), (0, "0\n"), recording.err)
                # Two samples measured each context.
                sizes = [event["size_bytes"] for event in contexts(recording)]
                self.assertGreater(sizes.count(300 * MIB), CONTEXTS * 9 / 10)

    def test_destroyed_pools_are_not_queried(self):
        recording = run("pools")
        self.assertEqual(recording.code, 0, recording.err)
        known = [row["known"] for row in samples(recording) if row["known"] & SamplePart.DRIVER]
        self.assertGreater(len(known), CONTEXTS / 10)  # a busy machine's writer leaves some out
        self.assertEqual({parts & SamplePart.POOLS for parts in known}, {SamplePart.POOLS})

    def test_destroyed_contexts_are_not_queried(self):
        recording = run("resets", FUTURE)
        self.assertEqual(recording.code, 0, recording.err)
        pushed, refused = map(int, recording.out.split())
        self.assertGreater(pushed, 100)
        self.assertEqual(refused, 0)
        self.assertTrue(recording.report()["complete"])

    def test_the_parent_is_sampled_and_a_forked_child_is_not(self):
        recording = run("fork")
        self.assertEqual((recording.code, recording.out.split()[0]), (0, "7"), recording.err)
        free = int(recording.out.split()[1])
        found = {}
        for path in recording.files:
            rows = [row for row in records(path, "sample") if row["known"] & SamplePart.NVML]
            found[len(rows) > 0] = rows
        self.assertEqual(found[False], [])
        self.assertEqual(found[True][-1]["free_bytes"], free)

    def test_a_process_that_ends_during_a_sample_has_its_code_and_a_whole_file(self):
        for how in ("exit", "_exit"):
            for _ in range(5):
                recording = run(how)
                self.assertEqual(recording.code, 3, recording.err)
                said = recording.report()
                self.assertTrue(said["complete"], (said["notes"], recording.records("drop"), recording.err))

    def test_a_process_that_allocates_nothing_gets_no_thread_and_no_nvml(self):
        recording = run("nothing")
        self.assertEqual((recording.code, recording.out.split(), recording.files), (0, ["1", "0"], []), recording.err)


class Nvml(unittest.TestCase):
    def test_without_nvml_only_the_driver_is_queried(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(SIMCUDA, "libcuda.so.1"), folder)
            absent = run_quiet(SamplePart.DRIVER | SamplePart.POOLS | SamplePart.GRAPHS, libraries=folder)
        off = run_quiet(SamplePart.DRIVER | SamplePart.POOLS | SamplePart.GRAPHS, options={"nvml": "off"})
        for recording in (absent, off):
            self.assertEqual(recording.code, 0, recording.err)
            free, total = map(int, recording.out.split())
            rows = [
                row
                for row in samples(recording)
                if row["known"] == SamplePart.DRIVER | SamplePart.POOLS | SamplePart.GRAPHS
            ]
            self.assertIn((free, total), [(row["free_bytes"], row["total_bytes"]) for row in rows])
            self.assertEqual(
                {row["known"] & (SamplePart.NVML | SamplePart.PROCESSES) for row in samples(recording)}, {0}
            )
            # Without a context, the recorder could not measure before the call.
            self.assertEqual([event["size_bytes"] for event in contexts(recording)], [0])

    def test_if_nvml_lists_the_process_by_another_number_its_memory_is_unknown(self):
        recording = run_quiet(EVERYTHING & ~SamplePart.PROCESSES, SIMCUDA_PROCESS_ID="4000000")
        self.assertEqual({row["known"] & SamplePart.PROCESSES for row in samples(recording)}, {0})
        self.assertEqual({row["process_bytes"] + row["others_bytes"] for row in samples(recording)}, {0})
        # The recorder takes the whole increase of the device's use for the context.
        self.assertEqual([event["size_bytes"] for event in contexts(recording)], [300 * MIB])


class Coverage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recording = RecordedRun([built("future-driver-lookups"), FUTURE])
        cls.unhooked = ["cuMemAllocFuture", "cuMemAlloc_v9", "cuMemMapFuture"]

    def coverage(self, recording):
        return json.loads(cli("info", "--json", "--coverage", recording.file).stdout)["coverage"]

    def test_only_unknown_functions_are_named_with_the_way_they_were_found(self):
        self.assertEqual(self.recording.code, 0, self.recording.err)
        routes = ["cuGetProcAddress", "cuGetProcAddress", "dlsym"]
        self.assertEqual(
            [(row["name"], row["route"]) for row in self.coverage(self.recording)["unhooked"]],
            list(zip(self.unhooked, routes)),
        )

    def test_a_report_names_unhooked_functions(self):
        names = ", ".join(self.unhooked)
        self.assertTrue(any(names in remark for remark in self.recording.report()["remarks"]))

    def test_the_report_names_the_libraries_that_reached_the_device(self):
        found = [(row["role"], os.path.basename(row["path"])) for row in self.coverage(self.recording)["libraries"]]
        self.assertEqual(
            sorted(found),
            [("driver", "libcuda.so.1"), ("driver", "libcuda.so.future"), ("management", "libnvidia-ml.so.1")],
        )

    def test_each_hooked_function_was_either_called_or_not(self):
        found = self.coverage(self.recording)
        called = {row["name"]: row["calls"] for row in found["called"]}
        self.assertEqual((called["cuMemAlloc_v2"], called["cuGetProcAddress_v2"]), (1, 2))
        self.assertFalse(set(called) & set(found["never_called"]))
        self.assertEqual(len(found["never_called"]), len(set(found["never_called"])))
        self.assertLessEqual({"cuMemFree_v2", "cudaMalloc", "reportMemoryUsageToProfiler"}, set(found["never_called"]))

    def test_the_text_names_all_of_them(self):
        text = cli("info", "--coverage", self.recording.file).stdout
        for words in (*self.unhooked, "cuMemFree_v2", "never called", "libcuda.so.future", "unexplained"):
            self.assertIn(words, text)
        quiet = run("answers")
        text = cli("info", "--coverage", quiet.file).stdout
        self.assertIn("Every function that was looked up", text)
        self.assertRegex(text, r"cuMemGetInfo_v2 +cuda +10001\n")

    def test_a_recording_without_an_end_lists_no_uncalled_functions(self):
        def is_recorded(recording):
            done = cli("info", "--json", "--coverage", *recording.files[:1])
            called = json.loads(done.stdout)["coverage"]["called"] if done.returncode == 0 else []
            return "cuMemAlloc_v2" in [row["name"] for row in called]

        def kill(recording, process):
            tasks.wait_until(
                lambda: is_recorded(recording), "the call is in the file", lambda: process.poll() is not None
            )
            process.kill()

        killed = run("quiet", "again", meanwhile=kill)
        self.assertEqual(killed.code, -9)
        found = self.coverage(killed)
        self.assertIn("cuMemAlloc_v2", [row["name"] for row in found["called"]])
        self.assertIsNone(found["never_called"])
        self.assertIn("is not known", cli("info", "--coverage", killed.file).stdout)


if __name__ == "__main__":
    tap.main()
