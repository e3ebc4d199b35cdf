# SPDX-License-Identifier: MIT
"""The recorder uses at most the promised part of the program's stack, on any stack, from the first event on."""

import unittest

import tap
from definitions import Kind
from recorded_run import RecordedRun, built

PROGRAM = built("host-stack")
HOST_STACK_BYTES = 1024  # preload/runtime/recorder_stack.h
MARKS_STACK_BYTES = 1536  # docs/internals/testing/lifecycle.md
STACKS = ("signal", "inside", "coroutine", "thread", "frame")


def used_bytes(stack, when, *what, **more):
    run = RecordedRun([PROGRAM, stack, when, *what], **more)
    assert (run.code, run.err) == (0, ""), (run.code, run.err)
    return int(run.out), run


class HostStack(unittest.TestCase):
    def check(self, **options):
        for stack in STACKS:
            for when in ("first", "later"):
                plain, _ = used_bytes(stack, when, preload="")
                recorded, run = used_bytes(stack, when, options=options)
                print(f"# {stack}, {when}, {options}: the driver takes {plain} bytes, with the recorder {recorded}")
                # The driver's frames are below the wrapper's frame. The recorder runs after the driver has returned.
                self.assertLessEqual(recorded, max(plain + 256, HOST_STACK_BYTES), (stack, when))
                made = [event for event in run.events() if event["kind"] == Kind.ALLOC]
                self.assertEqual(sum(event["size_bytes"] for event in made[-3:]), 3000)
                self.assertTrue(run.report()["complete"])

    def test_marks_and_pools_of_the_program_take_little_more(self):
        for stack in STACKS:
            recorded, _ = used_bytes(stack, "later", "marks")
            print(f"# {stack}: with marks {recorded} bytes")
            self.assertLessEqual(recorded, MARKS_STACK_BYTES)

    def test_with_both_stacks(self):
        self.check()

    def test_without_stacks(self):
        self.check(stacks="none")

    def test_with_the_unwinder_for_all_stacks(self):
        self.check(unwind="libunwind")

    def test_by_frame_pointers(self):
        self.check(unwind="frame-pointers")

    def test_with_few_frames_of_each_stack(self):
        self.check(depth="3")


if __name__ == "__main__":
    tap.main()
