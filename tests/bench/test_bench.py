# SPDX-License-Identifier: MIT
"""scripts/bench computes its rows correctly, reads other profilers' output, and its loops have the documented depth.

The test ignores all times. With GMT_TEST_LONG each section runs once, with tiny counts.
"""

import collections
import json
import os
import shutil
import subprocess
import sys
import unittest

import rivals
import rows
import sampling
import section_loop
import section_stack
import sections
import tap
from recorded_run import BUILD, CUDA, SHIM, RecordedRun, records

HERE = os.path.dirname(os.path.abspath(__file__))
DEEP_DEVICE, DEEP_HOST, ONE_PAGE = (
    os.path.join(BUILD, "tests", "bench", f"lib{name}.so") for name in ("deep-device", "deep-host", "one-page")
)
DEEP = [sys.executable, os.path.join(HERE, "deep_stack_loop.py"), "-"]


class NoProgress:
    def __call__(self, text):
        pass

    def say(self, text):
        pass


class Figures(unittest.TestCase):
    def test_overhead_is_computed_from_the_fastest_samples_and_neighbouring_pairs(self):
        low, pairs = rows.slower_percent([11, 30, 24], [10, 20, 20])
        self.assertAlmostEqual(low, 10)
        self.assertAlmostEqual(pairs, 20)
        self.assertEqual(rows.added([110, 130, 150], [100, 100, 100], 2), (5, 15))

    def test_a_divisor_is_never_below_the_measurable_minimum(self):
        self.assertEqual(rows.times((30, 40), (2, 4), 1), (15, 10))
        self.assertEqual(rows.times((30, 40), (-2, 0), 0.5), (60, 80))

    def test_a_goal_is_a_maximum_or_minimum_and_missing_values_have_no_verdict(self):
        figures = {"low": 4, "middle": 5, "goal": 5}
        self.assertTrue(rows.Row("", "", **figures).met)
        self.assertFalse(rows.Row("", "", at_least=True, **figures).met)
        self.assertFalse(rows.Row("", "", figure=6, **figures).met)
        self.assertTrue(rows.Row("", "", figure=6, at_least=True, **figures).met)
        self.assertIsNone(rows.Row("", "", goal=5, note="not here").met)
        self.assertIsNone(rows.Row("", "", low=4).met)

    def test_a_table_has_goals_verdicts_and_reasons_for_empty_rows(self):
        text = rows.table_of(
            [
                rows.row_of("one", "slow", "ns", [400, 300], goal=200),
                rows.Row("one", "cheap", "times", 20, 21, goal=15, at_least=True),
                rows.Row("two", "absent", note="not here: no network"),
            ]
        )
        slow, cheap, absent = (
            next(line for line in text.splitlines() if name in line) for name in ("slow", "cheap", "absent")
        )
        self.assertRegex(slow, r"300 ns +350 ns +<= 200 ns +NOT MET$")
        self.assertRegex(cheap, r"20.0 times +21.0 times +>= 15 times +met$")
        self.assertRegex(absent, r"absent +not here: no network$")
        self.assertEqual([line for line in text.splitlines() if line in ("one", "two")], ["one", "two"])

    def test_a_table_for_the_documentation_has_the_same_cells(self):
        text = rows.markdown_of(
            [rows.row_of("one", "slow", "ns", [400, 300], goal=200), rows.Row("two", "absent", note="not here")]
        )
        self.assertEqual(
            [line for line in text.splitlines() if "slow" in line or "absent" in line or "**" in line],
            [
                "**one**",
                "| slow | 300 ns | 350 ns | | | | <= 200 ns: NOT MET |",
                "**two**",
                "| absent | not here | | | | | |",
            ],
        )

    def test_variants_take_turns_and_each_second_round_runs_backwards(self):
        order = []
        samples = sampling.alternate("abc", 3, lambda variant: order.append(variant) or len(order), NoProgress())
        self.assertEqual("".join(order), "abccbaabc")
        self.assertEqual(samples, {"a": [1, 6, 7], "b": [2, 5, 8], "c": [3, 4, 9]})

    def test_the_given_number_of_processes_is_used(self):
        self.assertEqual([sampling.Effort(size).processes(9, 3) for size in ("full", "quick", "tiny")], [9, 3, 1])
        self.assertEqual(sampling.Effort("quick", 5).processes(9, 3), 5)

    def test_the_overhead_of_the_loop_is_compared_with_pytorchs_of_the_same_run(self):
        times = {section_loop.PLAIN: [100, 100], "stacks=all": [102, 104], section_loop.RIVAL: [132, 134]}
        row = section_loop.cheaper_row("", times)
        self.assertAlmostEqual(row.low, 16)
        self.assertAlmostEqual(row.middle, 11)
        self.assertIsNone(row.met)  # the goal is withdrawn

    def test_the_cost_of_an_event_with_its_stack_excludes_half_of_two_events(self):
        by_variant = {
            "without the shim": [100],
            "stacks=none": [200],
            "stacks=native": [230],
            "stacks=all": [260],
            section_stack.PLAIN_HOST: [50],
            "heaptrack": [1650],
        }
        bases = dict.fromkeys(section_stack.OURS, "without the shim") | {"heaptrack": section_stack.PLAIN_HOST}
        found = {
            row.what: row for row in section_stack.event_rows({"differing": by_variant}, {"memray": "no pip"}, bases)
        }
        self.assertEqual(found["an allocation's event, stacks=native"].low, 80)
        self.assertEqual(found["an allocation's event, stacks=all"].low, 110)
        self.assertEqual(found["heaptrack against stacks=all"].low, 10)
        self.assertTrue(found["heaptrack against stacks=all"].met)
        self.assertEqual(found["memray"].note, "no pip")

    def test_two_threads_are_compared_with_one_by_the_cost_that_each_adds(self):
        def of(cpu_ns, wall_ns):
            return [{"cpu_ns": cpu_ns, "wall_ns": wall_ns}]

        found = section_stack.thread_rows(
            {"plain": of(100, 100), "stacks=all": of(300, 300)},
            {"plain": of(150, 200), "stacks=all": of(400, 900)},
            {"stacks=all": "plain"},
        )
        self.assertEqual([row.figure for row in found], [1.25, 3.5])
        self.assertEqual([row.met for row in found], [False, None])


class OtherProfilers(unittest.TestCase):
    def test_the_allocations_that_memray_and_heaptrack_counted_are_found(self):
        memray = "📏 Total allocations:\n\t12,345\n\n📦 Total memory allocated:\n\t2.006GB\n"
        heaptrack = (
            "total runtime: 0.30s.\ncalls to allocation functions: 54321 (181070/s)\n"
            "temporary memory allocations: 7 (23/s)\n"
        )
        self.assertEqual(rivals.counted(memray, rivals.Memray.count_label), 12345)
        self.assertEqual(rivals.counted(heaptrack, rivals.Heaptrack.count_label), 54321)
        with self.assertRaisesRegex(rivals.Unusable, "does not say"):
            rivals.counted("version 9 of this file is unknown", rivals.Memray.count_label)

    def test_steps_are_compared_with_those_of_their_own_pair(self):
        # The machine is twice as slow at times, in both steps of a pair.
        pairs = [[1.03 * machine, 1.5, machine, 1.0] for machine in (10, 20, 10)]
        (wall,), (cpu,) = (section_loop.slower_of_pairs([pairs], *columns) for columns in ((0, 2), (1, 3)))
        self.assertAlmostEqual(wall, 3)
        self.assertAlmostEqual(cpu, 50)

    def test_the_output_of_a_loop_is_found_between_lines_of_another_profiler(self):
        text = (
            'heaptrack output will be written to "x"\n{"same": 1}\nHeaptrack finished! Now run:\n\n  zstd -dc < "x"\n'
        )
        self.assertEqual(rivals.printed_by(text), {"same": 1})
        self.assertEqual(rivals.printed_by("starting\n2524.5\n"), 2524.5)
        with self.assertRaisesRegex(rivals.Unusable, "cannot open display"):
            rivals.printed_by("cannot open display\n")

    def test_a_profiler_that_cannot_be_installed_is_named_with_the_reason(self):
        machine = sampling.Machine(BUILD, "/nonexistent/python3", None)
        self.addCleanup(shutil.rmtree, machine.folder)
        usable, unusable = rivals.checked([rivals.Memray("native")], machine, DEEP_HOST)
        self.assertEqual(usable, [])
        self.assertRegex(unusable["memray --native"], "not here: .*/nonexistent/python3")

    def test_a_profiler_that_does_not_see_the_calls_has_no_figures(self):
        class Blind(rivals.Rival):
            name, count_label, reader = "blind", "seen:", ["echo", "seen: 12"]

            def command(self, machine, arguments, readable):
                return ["sh", "-c", f"touch {self.out(machine)}.bin; echo 1"]

        machine = sampling.Machine(BUILD, sys.executable, None)
        self.addCleanup(shutil.rmtree, machine.folder)
        usable, unusable = rivals.checked([Blind()], machine, DEEP_HOST)
        self.assertEqual((usable, unusable), ([], {"blind": "it saw 12 of 5,000 allocations"}))


class Loops(unittest.TestCase):
    def lengths(self, arguments, kind, options):
        """Counts, for the allocations of deep_stack_loop.py's loop, how many stacks (or frames) have each length."""
        run = RecordedRun(
            [*DEEP, DEEP_DEVICE, *arguments], {**options, "samples": "off"}, preload=os.pathsep.join([SHIM, ONE_PAGE])
        )
        self.assertEqual(run.code, 0, run.err)
        items = {record["id"]: len(record["items"]) for record in records(run.file, kind)}
        field = "stack" if kind == "stack" else "frames"
        return collections.Counter(
            items[event[field]] for event in run.events(CUDA) if event[field] and event["size_bytes"] == 4096
        )

    def test_the_loop_of_one_stack_is_thirty_native_and_fifteen_python_frames_deep(self):
        self.assertEqual(self.lengths(["record", "200", "1", "0"], "stack", {"stacks": "native"}), {30: 300})
        self.assertEqual(self.lengths(["record", "200", "1", "0"], "frames", {"stacks": "python"}), {15: 300})

    def test_differing_stacks_differ_in_their_innermost_frames(self):
        found = self.lengths(["record", "640", "64", "0"], "stack", {"stacks": "native"})
        self.assertEqual(set(found), {27, 28, 29, 30})

    def test_the_loop_measures_both_shapes_in_the_given_number_of_threads(self):
        for library in (DEEP_DEVICE, DEEP_HOST):
            run = subprocess.run(
                [*DEEP, library, "measure", "50", "2", "2"],
                capture_output=True,
                text=True,
                env={**os.environ, "LD_LIBRARY_PATH": os.path.join(BUILD, "simcuda")},
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            printed = json.loads(run.stdout)
            self.assertEqual(
                {shape: of["frames"] for shape, of in printed.items()},
                dict.fromkeys(("same", "counting", "differing"), [30, 15]),
            )


@unittest.skipUnless(os.environ.get("GMT_TEST_LONG"), "takes long: scripts/test --long")
class Sections(unittest.TestCase):
    def test_each_section_runs_and_fills_its_rows(self):
        for name in sections.SECTIONS:
            with self.subTest(name):
                command = [
                    os.path.join(sampling.SOURCE, "scripts", "bench"),
                    "--build",
                    BUILD,
                    "--tiny",
                    "--json",
                    name,
                ]
                run = subprocess.run(command, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
                printed = json.loads(run.stdout)["rows"]
                self.assertTrue(printed)
                for row in printed:
                    self.assertTrue(row["low"] is not None or row["note"], row)


if __name__ == "__main__":
    tap.main()
