# SPDX-License-Identifier: MIT
"""Recordings stay right if a handler allocates, forks, jumps out or exits, or SIGKILL comes, at any instruction.

The path goes from a wrapper to the ring. The recorded events and the counted losses together equal the driver's calls.
"""

import concurrent.futures
import os
import unittest

import tap
from stepping import Case

LONG = bool(os.environ.get("GMT_TEST_LONG"))
EACH = "each" if LONG else None
WORKERS = 2
ALLOCS = "alloc-same", "alloc-recalled", "alloc-new", "runtime-alloc"
OPERATIONS = *ALLOCS, "free", "runtime-free", "alloc-refused"
MIN_INSTRUCTIONS = 100


class SingleStep(unittest.TestCase):
    def check(self, cases):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            done = list(pool.map(Case.run, cases))
        for case in done:
            if case.code == 77:
                self.skipTest(case.text)
            with self.subTest(case=str(case)):
                print(f"# {case}: {case.counts}", flush=True)
                self.assertEqual((case.code, case.found), (0, {}), case.explain())
                self.assertTrue(case.covers_all, case.explain())
                self.assertGreater(case.counts["instructions"], MIN_INSTRUCTIONS)


class EachInstruction(SingleStep):
    """Visits all positions, also by default."""

    def test_uninterrupted_calls_are_recorded(self):
        self.check(
            [
                Case(operation, "return", every=40, stacks=stacks)
                for operation in OPERATIONS
                for stacks in ("all", "native", "none")
            ]
        )

    def test_handlers_that_allocate(self):
        self.check([Case(operation, "allocate", how=EACH) for operation in OPERATIONS])

    def test_handlers_that_allocate_on_signal_stacks_change_nothing_below_them(self):
        self.check(
            [
                Case(operation, "allocate", stack, how=EACH)
                for operation in ("alloc-same", "alloc-new", "free")
                for stack in ("apart", "inside")
            ]
        )

    def test_handlers_that_allocate_without_stacks(self):
        self.check(
            [
                Case(operation, "allocate", stacks=stacks, how=EACH)
                for operation in ("alloc-same", "free")
                for stacks in ("none", "all")
            ]
        )

    def test_handlers_that_jump_out_of_the_call(self):
        self.check([Case(operation, "jump", how=EACH) for operation in OPERATIONS])

    @unittest.skipUnless(LONG, "--long alone waits for what happens once in a thousand calls")
    def test_handlers_in_instructions_that_few_calls_reach(self):
        for action in "allocate", "jump":
            case = Case("alloc-same", action, how="rare").run()
            print(f"# {case}: {case.counts}", flush=True)
            self.assertEqual((case.code, case.found), (0, {}), case.explain())
            self.assertGreater(case.counts["visited"], 0)

    def test_handlers_that_jump_from_a_signal_stack(self):
        self.check([Case("alloc-same", "jump", stack) for stack in ("apart", "inside")])


class Processes(SingleStep):
    """Cases with one process for each position. They visit some positions by default, all with --long."""

    def test_handlers_that_fork(self):
        # A refused call takes the long way to the ring. There a fork once left a ring of the parent to the child.
        self.check(
            [
                Case(operation, "fork", every=1 if LONG or operation == "alloc-refused" else 27, how=EACH)
                for operation in OPERATIONS
            ]
        )

    def test_handlers_that_fork_twice(self):
        self.check([Case(operation, "fork-twice", every=1 if LONG else 107) for operation in OPERATIONS])

    def test_handlers_that_fork_on_signal_stacks(self):
        self.check([Case("alloc-same", "fork", stack, every=1 if LONG else 59) for stack in ("apart", "inside")])

    def test_handlers_that_exit(self):
        self.check(
            [
                Case(operation, action, every=1 if LONG else 75)
                for operation in OPERATIONS
                for action in ("exit", "exit-quick")
            ]
        )

    def test_kills(self):
        self.check([Case(operation, "kill", every=1 if LONG else 39) for operation in OPERATIONS])


class FirstEvent(SingleStep):
    """Steps through the event that begins the recording, with one process for each position."""

    def test_handlers_that_allocate(self):
        self.check([Case("first", "allocate", every=1 if LONG else 423)])

    def test_handlers_that_fork(self):
        self.check([Case("first", "fork", every=1 if LONG else 615)])

    def test_handlers_that_jump_out_of_the_call(self):
        self.check([Case("first", "jump", every=1 if LONG else 423)])

    def test_handlers_that_exit(self):
        self.check([Case("first", action, every=1 if LONG else 863) for action in ("exit", "exit-quick")])

    def test_kills(self):
        self.check([Case("first", "kill", every=1 if LONG else 423)])


class WithoutThread(SingleStep):
    """With writer=lazy the recorder makes no thread. Each position has a process, whose memory is judged at its end."""

    def check_action(self, action, every=263, every_of_first=997):
        self.check(
            [Case(operation, action, every=1 if LONG else every, how="lazy") for operation in OPERATIONS]
            + [Case("first", action, every=1 if LONG else every_of_first, how="lazy")]
        )

    def test_handlers_that_allocate(self):
        self.check_action("allocate")

    def test_handlers_that_fork(self):
        self.check_action("fork", 613, 1999)
        self.check_action("fork-twice", 809, 2999)

    def test_handlers_that_jump_out_of_the_call(self):
        self.check_action("jump")

    def test_handlers_that_exit(self):
        self.check_action("exit")
        self.check_action("exit-quick")

    def test_kills_leave_neither_a_file_nor_memory_unless_the_writer_has_begun(self):
        self.check_action("kill")


if __name__ == "__main__":
    tap.main()
