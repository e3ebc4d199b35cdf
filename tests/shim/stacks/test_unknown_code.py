# SPDX-License-Identifier: MIT
"""Native stacks have all knowable frames, without unwind tables, with damaged tables, and by frame pointers."""

import os
import unittest

import selftests
import tap
from recorded_run import BUILD, RecordedRun, built, cli

PROGRAM = built("unknown-code")
ALLOC = 1
WHOLE, CUT, STOPPED = 0, 1, 2
MARK = "[unknown-caller]"


@unittest.skipUnless(os.uname().machine == "x86_64", "the code is written for x86-64")
class UnknownCode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recording = RecordedRun([PROGRAM])
        cls.kinds = {int(size): kind for size, kind in (line.split() for line in cls.recording.out.splitlines())}
        cls.ends = {row["id"]: row["truncated"] for row in cls.recording.records("stack")}
        # Each size is allocated once. A site may have several sizes, all with the same stack.
        cls.stack_of_size = {
            event["size_bytes"]: event["stack"] for event in cls.recording.events() if event["kind"] == ALLOC
        }
        cls.functions = {}
        for site in cls.recording.report()["sites"]:
            names = [(frame["function"] or "").split("(")[0] for frame in site["stack"]]
            cls.functions.setdefault(names[1], []).append(names)

    def sizes(self, kind):
        found = [size for size, each in self.kinds.items() if each == kind]
        self.assertTrue(found)
        return found

    def test_the_program_runs_to_its_end_and_every_block_has_a_stack(self):
        self.assertEqual(self.recording.code, 0, self.recording.err)
        self.assertEqual(set(self.stack_of_size), set(self.kinds))
        self.assertNotIn(0, self.stack_of_size.values())

    def test_code_with_a_frame_pointer_is_walked(self):
        for kind in ("framed", "nested"):
            for size in self.sizes(kind):
                self.assertEqual(self.ends[self.stack_of_size[size]], WHOLE, kind)

    def test_code_without_a_frame_pointer_ends_the_stack_or_gives_an_outer_caller(self):
        ends = [self.ends[self.stack_of_size[size]] for size in self.sizes("clobbered")]
        self.assertEqual(set(ends) - {WHOLE, STOPPED}, set())
        self.assertGreater(ends.count(STOPPED), len(ends) / 2)

    def test_all_shown_frames_are_real_and_in_order(self):
        stacks = [names for sites in self.functions.values() for names in sites]
        self.assertTrue(stacks)
        seen = set()
        for names in stacks:
            self.assertEqual(names[0], "allocate")
            self.assertTrue(names[1].startswith("0x"), names)
            rest = [name for name in names[2:] if not name.startswith("0x")]
            order = ["run_code", "run_all", "main"]
            own = [name for name in rest if name in order]
            self.assertEqual(own, [name for name in order if name in own], names)
            self.assertEqual(names.count(MARK), names[-1] == MARK)
            seen.add(tuple(own))
        self.assertIn(("run_code", "run_all", "main"), seen)
        self.assertIn(("run_code", "run_all"), seen)
        self.assertIn((), seen)

    def test_libunwind_and_frame_pointers_cause_no_crash(self):
        for way in ("libunwind", "frame-pointers"):
            run = RecordedRun([PROGRAM], {"unwind": way})
            self.assertEqual(run.code, 0, run.err)
            self.assertEqual(len([1 for event in run.events() if event["kind"] == ALLOC]), len(self.kinds))


class DamagedTables(unittest.TestCase):
    def test_a_thousand_damaged_tables_cause_no_crash(self):
        times = 1000
        for seed in (1, 2, 3):
            run = RecordedRun(
                [built("damaged-tables"), built("libdamaged-module.so"), "./copy.so", str(times), str(seed)]
            )
            self.assertEqual((run.code, run.out), (0, f"{times}\n"), run.err)
            allocations = [event for event in run.events() if event["kind"] == ALLOC]
            self.assertEqual(len(allocations), 4 * times)
            stacks = {row["id"]: row for row in run.records("stack")}
            taken = [stacks[event["stack"]] for event in allocations]
            # The caller has correct tables. So each stack has the caller and at least its return address.
            self.assertEqual(len({stack["items"][0] for stack in taken}), 1)
            self.assertGreaterEqual(min(len(stack["items"]) for stack in taken), 2)
            ends = [stack["truncated"] for stack in taken]
            self.assertTrue(ends.count(WHOLE) and ends.count(STOPPED), "nothing was damaged, or everything")


class DeepStacks(selftests.Selftest):
    def test_both_ends_of_ten_thousand_native_frames_are_kept(self):
        for options in ({}, {"unwind": "frame-pointers"}):
            run = RecordedRun([built("selftest-framed"), "endless", "5"], options)
            self.assertEqual(run.code, 0, run.err)
            for site in run.report()["sites"]:
                names = [(frame["function"] or "").split("(")[0] for frame in site["stack"]]
                self.assertEqual(names[0], "once")
                self.assertEqual(names.count("[frames-left-out]"), 1)
                gap = names.index("[frames-left-out]")
                self.assertEqual(set(names[1:gap]), {"descend_plainly"})
                # With frame pointers, the chain ends somewhere in the C library, not at a known end.
                self.assertTrue(options or "_start" in names[gap:], names)
            self.assertEqual({row["truncated"] for row in run.records("stack")} - {WHOLE, CUT}, set())
            if not options:
                self.assertEqual({len(row["items"]) for row in run.records("stack")}, {128})

    def test_both_ends_of_a_stack_over_the_limit_are_right(self):
        def names(options):
            run = RecordedRun(
                [os.path.join(BUILD, "tests", "bench", "malloc-loop"), "20", "1", "40"],
                {"free_stacks": "on", **options},
            )
            self.assertEqual(run.code, 0, run.err)
            # The compiler may have inlined the innermost function. It is then a frame only in the report.
            sites = [
                [frame["function"] for frame in site["stack"] if frame["function"] != "pair"]
                for site in run.report()["sites"]
            ]
            return [stack for stack in sites if "descend" in stack]

        whole = names({"depth": 512})
        self.assertEqual([len(stack) > 42 for stack in whole], [True])
        for depth in (12, 16, 40):
            outer = depth // 4
            self.assertEqual(
                names({"depth": depth}),
                [stack[: depth - outer - 1] + ["[frames-left-out]"] + stack[-outer:] for stack in whole],
                depth,
            )

    def test_libunwind_keeps_the_inner_end_and_marks_the_cut(self):
        run = RecordedRun([built("selftest-framed"), "endless", "5"], {"unwind": "libunwind"})
        self.assertEqual({(row["truncated"], len(row["items"])) for row in run.records("stack")}, {(CUT, 128)})
        self.assertEqual(run.report()["sites"][0]["stack"][-1]["function"], "[frames-left-out]")

    def deep_python(self, options=None):
        """Allocates below ten thousand Python frames. Two lines call the recursion, each twice."""
        run = RecordedRun(
            [
                "python3",
                "-c",
                "\n".join(
                    [
                        "import ctypes, sys, threading",
                        "sys.setrecursionlimit(20000)",
                        "allocate = ctypes.CDLL('libcudart.so.13').cudaMalloc",
                        "block = ctypes.c_void_p()",
                        "def deep(left):",
                        "    return deep(left - 1) if left else allocate(ctypes.byref(block), ctypes.c_size_t(4711))",
                        "def one():",
                        "    deep(10000)",
                        "def other():",
                        "    deep(10000)",
                        "def outermost():",
                        "    for call in one, other, one, other:",
                        "        call()",
                        "threading.stack_size(512 << 20)",
                        "thread = threading.Thread(target=outermost)",
                        "thread.start()",
                        "thread.join()",
                    ]
                ),
            ],
            options,
        )
        self.assertEqual(run.code, 0, run.err)
        return run

    def test_both_ends_of_ten_thousand_python_frames_are_kept_and_the_cut_is_marked(self):
        for options in ({"selftest": 1}, {"stacks": "python"}):
            run = self.deep_python(options)
            deep = [site for site in run.report()["sites"] if site["layer"] == "cuda"]
            self.assertEqual([site["allocs"] for site in deep], [2, 2])
            callers = set()
            for site in deep:
                names = [frame["function"] for frame in site["stack"] if frame["function"]]
                self.assertEqual(names.count("[frames-left-out]"), 1)
                gap = names.index("[frames-left-out]")
                self.assertEqual(set(names[names.index("deep") : gap]), {"deep"})
                rest = names[gap + 1 :]
                # The rest also has the caller, the function of the thread and Python's own functions for threads.
                self.assertEqual(names[:gap].count("deep"), 95)
                self.assertTrue(20 < rest.count("deep") < 32, names)
                callers.add(rest[rest.count("deep")])
                self.assertEqual(rest[rest.count("deep") + 1], "outermost")
            self.assertEqual(callers, {"one", "other"})
            self.assertEqual({row["truncated"] for row in run.records("frames")}, {WHOLE})
            self.assertEqual({(len(row["items"]), row["items"].count(0)) for row in run.records("frames")}, {(128, 1)})
            if "selftest" in options:
                self.check(run, 4, selftests.PYTHON)

    def test_every_output_marks_omitted_python_frames(self):
        run = self.deep_python()
        compacted = os.path.join(run.folder, "folded")
        self.assertEqual(cli("fold", run.file, "-o", compacted).returncode, 0)
        for path in run.file, compacted:
            for way in "trimmed", "all", "none":
                for form in ["--json"], ["--frames=200"]:
                    done = cli("report", "--full", path, f"--native={way}", *form)
                    self.assertIn("[frames-left-out]", done.stdout, (path, way, form, done.stderr))
                    self.assertNotIn("<unknown>", done.stdout)


class FramePointers(selftests.Selftest):
    def test_stacks_by_frame_pointers_equal_those_of_the_unwinder(self):
        for mode in ("calls", "exceptions", "jumps", "routines"):
            run = RecordedRun([built("selftest-framed"), mode, "200"], {"selftest": 1, "unwind": "frame-pointers"})
            self.check(run, 300)
            # The result is not by chance, because the stacks are deep.
            self.assertGreater(max(len(row["items"]) for row in run.records("stack")), 20)

    def test_a_program_without_frame_pointers_is_detected(self):
        run = RecordedRun([built("selftest-frameless"), "calls", "200"], {"selftest": 1, "unwind": "frame-pointers"})
        self.assertEqual(run.code, 0, run.err)
        self.assertGreater(self.compared(run)[1], 100)


if __name__ == "__main__":
    tap.main()
