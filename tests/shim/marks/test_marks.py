# SPDX-License-Identifier: MIT
"""The recorder records marks that a program sets in C, C++ and Python. Without the recorder they do nothing."""

import os
import sys
import unittest

import tap
from recorded_run import SOURCE, RecordedRun, built, records

PYTHON_MODULE = os.path.join(SOURCE, "python")
KINDS = {1: "step", 2: "push", 3: "pop", 4: "start", 5: "stop", 6: "point", 8: "heap"}
ALLOCATE = """
import ctypes
runtime = ctypes.CDLL('libcudart.so.13')
def allocate():
    assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1000)) == 0
"""


def marks_of(path, source=1):
    """Returns the marks of a source in the file's order, as "push NAME" and the whole row."""
    names = {row["id"]: row["text"] for row in records(path, "name")}
    return [
        (" ".join([KINDS[row["kind"]], *filter(None, [names.get(row["name"])])]), row)
        for row in records(path, "mark")
        if row["source"] == source
    ]


def texts_of_marks(path, source=1):
    return [text for text, _ in marks_of(path, source)]


def run_program(*words, program="marks", **more):
    return RecordedRun([built(program), *words], {"stacks": "none"}, **more)


def run_python(*lines, **more):
    script = "\n".join([ALLOCATE, "import gpumemtrace", *lines])
    return RecordedRun([sys.executable, "-c", script], {"stacks": "none"}, {"PYTHONPATH": PYTHON_MODULE}, **more)


class Marks(unittest.TestCase):
    def check(self, run, *expected):
        self.assertEqual((run.code, run.err), (3, ""))
        self.assertEqual(texts_of_marks(run.file), list(expected))

    def test_marks_of_programs_and_libraries_of_every_build_are_recorded(self):
        for program in ("marks", "marks-plain", "marks-fixed", "marks-fixed-plain", "marks-cc"):
            with self.subTest(program=program):
                run = run_program(
                    "alloc", "push:a", "lpush:b", "step", "mark:c", "lpop", "pop", "recording", program=program
                )
                self.check(run, "push a", "push b", "step", "point c", "pop", "pop")
                self.assertEqual(run.out, "alloc 0\nrecording 1\n")

    def test_without_the_recorder_the_same_programs_run_and_nothing_happens(self):
        for program in ("marks", "marks-plain", "marks-fixed", "marks-fixed-plain", "marks-cc"):
            with self.subTest(program=program):
                run = run_program(
                    "push:a",
                    "lpush:b",
                    "alloc",
                    "step",
                    "mark:c",
                    "lpop",
                    "pop",
                    "recording",
                    program=program,
                    preload="",
                )
                self.assertEqual((run.code, run.out, run.err), (3, "alloc 0\nrecording 0\n", ""))
                self.assertEqual(os.listdir(run.folder), [])

    def test_a_program_that_only_sets_marks_leaves_no_file(self):
        run = run_program("push:a", "step", "mark:b", "pop", "push:c", "recording")
        self.assertEqual((run.code, run.out, run.err), (3, "recording 1\n", ""))
        self.assertEqual(os.listdir(run.folder), [])

    def test_a_phase_from_before_the_recording_begins_at_its_own_time(self):
        run = run_program(
            "push:over", "step", "mark:early", "pop", "push:outer", "push:inner", "alloc", "pop", "pop", "pop"
        )
        self.check(run, "push outer", "push inner", "pop", "pop")
        (event,) = run.events()
        (process,) = run.records("process")
        stamps = [row["stamp"] for _, row in marks_of(run.file)]
        self.assertEqual(stamps, sorted(stamps))
        self.assertLess(process["start_stamp"], stamps[0])
        self.assertLess(stamps[1], event["stamp"])
        self.assertLess(event["stamp"], stamps[2])
        self.assertEqual({row["thread"] for _, row in marks_of(run.file)}, {event["thread"]})

    def test_phases_of_threads_without_allocations_are_recorded(self):
        run = run_program("push:waiting", "thread", "push:working", "alloc")
        self.assertEqual(sorted(texts_of_marks(run.file)), ["push waiting", "push working"])
        threads = {text: row["thread"] for text, row in marks_of(run.file)}
        self.assertNotEqual(threads["push waiting"], threads["push working"])
        (event,) = run.events()
        self.assertEqual(event["thread"], threads["push working"])

    def test_a_phase_of_a_thread_without_events_has_a_begin_and_an_end(self):
        run = run_python(
            "import threading",
            "gpumemtrace._push(b'waiting')",
            "thread = threading.Thread(target=allocate); thread.start(); thread.join()",
            "gpumemtrace._pop()",
        )
        self.assertEqual(texts_of_marks(run.file), ["push waiting", "pop"])
        (event,) = run.events()
        before, after = (row["stamp"] for _, row in marks_of(run.file))
        self.assertTrue(before < event["stamp"] < after)

    def test_an_outer_phase_does_not_end_in_place_of_one_that_was_not_kept(self):
        run = run_python(
            "import threading",
            "full, empty = threading.Event(), threading.Event()",
            "def fill():",
            "    for _ in range(256): gpumemtrace._push(b'filling')",
            "    full.set(); empty.wait()",
            "    for _ in range(256): gpumemtrace._pop()",
            "thread = threading.Thread(target=fill); thread.start(); full.wait()",
            "gpumemtrace._push(b'not kept')",
            "empty.set(); thread.join()",
            "gpumemtrace._push(b'above')",
            "allocate()",
            "gpumemtrace._pop(); gpumemtrace._pop(); gpumemtrace._push(b'next'); gpumemtrace._pop()",
        )
        self.assertEqual(texts_of_marks(run.file), ["push next", "pop"])

    def test_more_open_phases_than_are_kept_end_in_the_right_order(self):
        run = run_program("push:first", "many:400", "alloc", "manypop:400", "push:second", "pop", "pop")
        kept = [text for text in texts_of_marks(run.file) if text == "push many"]
        self.assertEqual(len(kept), 255)
        self.check(run, "push first", *kept, *["pop"] * len(kept), "push second", "pop", "pop")
        run = run_program("push:first", "alloc", "many:400", "manypop:400", "pop")
        self.check(run, "push first", *["push many"] * 400, *["pop"] * 401)

    def test_a_pop_without_a_push_is_not_recorded(self):
        self.check(run_program("alloc", "pop", "push:a", "pop", "pop"), "push a", "pop")

    def test_threads_that_end_inside_phases_free_their_slots(self):
        lines = [
            "import threading",
            "def work():",
            "    for _ in range(20): gpumemtrace._push(b'left open')",
            "for _ in range(100):",
            "    thread = threading.Thread(target=work); thread.start(); thread.join()",
            "gpumemtrace._push(b'kept')",
            "allocate()",
        ]
        self.assertEqual(texts_of_marks(run_python(*lines).file), ["push kept"])

    def test_a_forked_child_is_inside_the_phases_of_the_thread_that_forked(self):
        run = run_program("push:a", "fork", "pop", "push:b", "alloc", "pop")
        self.check(run, "push b", "pop")
        run = run_program("push:parent", "push:done", "pop", "push:inner", "fork", "alloc", "pop", "pop")
        self.check(run, "push parent", "push inner", "pop", "pop")
        stamps = [row["stamp"] for _, row in marks_of(run.file)]
        self.assertGreaterEqual(stamps[0], run.records("process")[0]["start_stamp"])

    def test_a_forked_child_of_a_recorded_program_continues_its_phases(self):
        run = run_python(
            "import os",
            "gpumemtrace._push(b'train')",
            "gpumemtrace.step()",
            "if os.fork() == 0: gpumemtrace._push(b'child')",
            "else: os.wait(); gpumemtrace._push(b'parent')",
            "allocate()",
        )
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(
            sorted(texts_of_marks(path) for path in run.files),
            [["push train", "push child"], ["push train", "push parent"]],
        )

    def test_the_file_of_a_child_has_the_phases_that_its_recorded_parent_had_begun(self):
        run = run_program("push:train", "alloc", "push:inner", "fork", "push:child", "alloc", "pop", "pop", "pop")
        self.assertEqual(
            sorted((texts_of_marks(path) for path in run.files), key=len),
            [["push train", "push inner"], ["push train", "push inner", "push child", "pop", "pop", "pop"]],
        )

    def test_an_end_without_destructors_keeps_marks_and_exit_code(self):
        run = run_program("push:a", "thread", "alloc", "push:b", "quit")
        self.assertEqual(run.code, 7)
        self.assertEqual(texts_of_marks(run.file), ["push b"])
        self.assertTrue(run.report()["complete"])

    def test_names_are_cut_to_255_bytes_between_characters_and_may_be_empty(self):
        run = run_program("alloc", "push:", "mark:" + "ä" * 200, "mark:" + "x" * 300)
        self.check(run, "push", "point " + "ä" * 127, "point " + "x" * 255)


class PythonModule(unittest.TestCase):
    def test_phases_steps_and_marks_are_recorded(self):
        run = run_python(
            "allocate()",
            "@gpumemtrace.phase('decorated')",
            "def work(value):",
            "    'doc'",
            "    gpumemtrace.mark('inside')",
            "    return value + 1",
            "with gpumemtrace.phase('outer'):",
            "    assert work(1) == 2 and work.__name__ == 'work' and work.__doc__ == 'doc'",
            "gpumemtrace.step()",
            "print(gpumemtrace.is_recording())",
        )
        self.assertEqual((run.code, run.out), (0, "True\n"), run.err)
        self.assertEqual(
            texts_of_marks(run.file), ["push outer", "push decorated", "point inside", "pop", "pop", "step"]
        )

    def test_a_phase_ends_with_an_exception_too(self):
        run = run_python(
            "allocate()",
            "@gpumemtrace.phase('decorated')",
            "def work(): raise ValueError('x')",
            "try:",
            "    with gpumemtrace.phase('outer'): work()",
            "except ValueError as error: print(error)",
        )
        self.assertEqual((run.code, run.out), (0, "x\n"), run.err)
        self.assertEqual(texts_of_marks(run.file), ["push outer", "push decorated", "pop", "pop"])

    def test_without_the_recorder_the_module_does_nothing(self):
        run = run_python(
            "with gpumemtrace.phase('a'): gpumemtrace.step(); gpumemtrace.mark('b')",
            "print(gpumemtrace.phase('c')(len)('four'), gpumemtrace.is_recording())",
            preload="",
        )
        self.assertEqual((run.code, run.out, run.err), (0, "4 False\n", ""))

    def test_a_name_may_be_any_object_with_a_text(self):
        run = run_python(
            "allocate()",
            "gpumemtrace.mark(17)",
            "gpumemtrace.mark(b'bytes')",
            "gpumemtrace.mark('é')",
            r"gpumemtrace.mark('\udc80')",
        )
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(texts_of_marks(run.file), ["point 17", "point bytes", "point é", "point ?"])


if __name__ == "__main__":
    tap.main()
