# SPDX-License-Identifier: MIT
"""Counts the instructions of an event's path under callgrind. The load of the machine does not change the count.

The programs are a loop of cudaMalloc and cudaFree, twenty functions deep (malloc_loop.c), two threads that take turns
(turns.c), and Python stacks (python_turns.py). The difference of a long and a short run leaves out the program's start.
The difference of two options of the recorder leaves out the simulated device. Only the program's threads are counted.
"""

import os
import unittest

import tap
from callgrind import VALGRIND, instructions_of_threads
from recorded_run import BUILD

PROGRAM = os.path.join(BUILD, "tests", "bench", "malloc-loop")
TURNS = os.path.join(BUILD, "tests", "bench", "turns")
PYTHON = "/usr/bin/python3"  # the binary: some other Pythons start as a shell script
PYTHON_TURNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_turns.py")
CAPTURE = os.path.join(BUILD, "tests", "preload", "python", "gmtpythoncapture.so")
SHORT, LONG = 1000, 5000
PER_COUNT = 1.1  # the program warms up with a tenth of COUNT
BENCH_ROUNDS = 15  # rounds of captures in the library's own loop

# Raise a bound only for a good reason.
BOUNDS = {
    "none": 790,  # a pair of calls without stacks, with the queries that the recorder makes to the simulated device
    "native": 205,  # the stack of the allocation of a pair, the same each time, with all code that leads to it
    "counted": 205,  # the same, except that a loop counter lies where other functions keep their frame pointer
    "varying": 1190,  # the stacks of an allocation and of its free; each differs from the last in its innermost frame
    "turns none": 1560,  # two threads that take turns, a pair of calls each, without stacks
    "turns native": 330,  # the stacks of the allocations; the difference of two counts that both vary
    "python": 730,  # a Python stack of twenty frames, the same each time
    "python turns": 7600,  # two alternating Python stacks of twenty frames; the inner ten differ
    "python deep": 200000,  # a Python stack of 10,000 frames, the same each time
}


def instructions(options, count, *arguments):
    """Returns the instructions of the loop's thread."""
    return instructions_of_threads(options, [PROGRAM, str(count), "1", "20", *arguments])[1]


def per_turn(options):
    """Returns the instructions of the program's two threads, for two pairs of calls.

    Their numbers are 1 and 2: the program starts its second thread before the recorder starts its own.
    """
    long, short = (instructions_of_threads(options, [TURNS, str(count)]) for count in (LONG, SHORT))
    return sum(long[number] - short[number] for number in (1, 2)) / (LONG - SHORT)


def per_capture(mode, long, short, per_count):
    """Returns the instructions of a capture. Sums all threads, because Python has only one here."""
    counts = [
        sum(instructions_of_threads(None, [PYTHON, PYTHON_TURNS, CAPTURE, mode, str(count)]).values())
        for count in (long, short)
    ]
    return (counts[0] - counts[1]) / ((long - short) * per_count)


def per_pair(options):
    return (instructions(options, LONG) - instructions(options, SHORT)) / ((LONG - SHORT) * PER_COUNT)


def per_counted_pair(options):
    """Returns the same as per_pair for the counted loop. Subtracts the warm-up loop, which both programs share."""
    both = instructions(options, LONG, "counted") - instructions(options, SHORT, "counted")
    return (both - per_pair(options) * (LONG - SHORT) * (PER_COUNT - 1)) / (LONG - SHORT)


@unittest.skipUnless(VALGRIND, "valgrind is not here")
@unittest.skipUnless(os.uname().machine == "x86_64", "the bounds are of x86-64")
class Instructions(unittest.TestCase):
    def test_an_event_and_a_native_stack_stay_within_their_bounds(self):
        plain, none, native, varying = (
            per_pair(options) for options in (None, "stacks=none", "stacks=native", "stacks=native:free_stacks=on")
        )
        counted = per_counted_pair("stacks=native") - per_counted_pair("stacks=none")
        found = {"none": none - plain, "native": native - none, "counted": counted, "varying": varying - none}
        print(
            f"# two events: {found['none']:.0f}, a native stack: {found['native']:.0f}, below a counter: {counted:.0f}, "
            f"two whose top differs: {found['varying']:.0f} instructions",
            flush=True,
        )
        self.check(found)

    def check(self, found):
        for name, count in found.items():
            self.assertLess(count, BOUNDS[name], name)
            # A much smaller count means that something was not measured, or that the bound can be lower.
            self.assertGreater(count, BOUNDS[name] / 3, name)

    def test_threads_that_take_turns_stay_within_their_bounds(self):
        plain, none, native = (per_turn(options) for options in (None, "stacks=none", "stacks=native"))
        found = {"turns none": none - plain, "turns native": native - none}
        print(f"# instructions of a turn of two threads: {found}", flush=True)
        self.check(found)

    @unittest.skipUnless(os.access(PYTHON, os.X_OK), "no Python of the system's")
    def test_python_stacks_stay_within_their_bounds(self):
        turns, nothing = (per_capture(mode, 3000, 1000, 1) for mode in ("turns", "nothing"))
        found = {
            "python": per_capture("same", 600, 200, BENCH_ROUNDS),
            "python turns": turns - nothing,
            "python deep": per_capture("deep", 6, 2, BENCH_ROUNDS),
        }
        print(f"# instructions of Python stacks: {found}", flush=True)
        self.check(found)


if __name__ == "__main__":
    tap.main()
