# SPDX-License-Identifier: MIT
"""How many instructions the path of an event takes, counted under callgrind: the same on a busy machine as on an idle one.

A loop of cudaMalloc and cudaFree, twenty functions deep (malloc_loop.c), two threads that take turns (turns.c), and Python stacks
(python_turns.py). What a program's own start takes cancels out between a short and a long run, what the simulated device takes
between two of the recorder's options. Only the program's threads are counted.
"""

import os
import unittest

import tap
from callgrind import VALGRIND, instructions_of_threads
from snapshots import BUILD

PROGRAM = os.path.join(BUILD, "tests", "bench", "malloc-loop")
TURNS = os.path.join(BUILD, "tests", "bench", "turns")
PYTHON = "/usr/bin/python3"  # not one that is a shell script first
PYTHON_TURNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_turns.py")
CAPTURE = os.path.join(BUILD, "tests", "preload", "python", "gmtpythoncapture.so")
SHORT, LONG = 1000, 5000
PER_COUNT = 1.1  # the program warms up with a tenth
BENCH_ROUNDS = 15  # of captures, in the library's own loop

# Raise one only for a reason that is worth it.
BOUNDS = {
    "none": 790,  # a pair of calls without stacks, with what the simulated device takes for what it is asked
    "native": 205,  # a stack that is the same each time: of the allocation of a pair, with all that leads to it
    "counted": 205,  # the same, but for a loop's counter that lies where others have their frame pointer
    "varying": 1190,  # two stacks of which each differs from the one before in its innermost frame: the free's too
    "turns none": 1560,  # two threads that take turns, a pair of calls each, without stacks
    "turns native": 330,  # a difference of two that vary; the allocations' stacks
    "python": 730,  # a Python stack of twenty frames that is the same each time
    "python turns": 7600,  # two Python stacks that come in turns, of whose twenty frames the inner ten differ
    "python deep": 200000,  # a Python stack of 10,000 frames, the same each time
}


def instructions(options, count, *arguments):
    """Of the loop's thread."""
    return instructions_of_threads(options, [PROGRAM, str(count), "1", "20", *arguments])[1]


def per_turn(options):
    """Of both threads of the program, for two pairs of calls. It makes its second one before the recorder makes any."""
    long, short = (instructions_of_threads(options, [TURNS, str(count)]) for count in (LONG, SHORT))
    return sum(long[number] - short[number] for number in (1, 2)) / (LONG - SHORT)


def per_capture(mode, long, short, per_count):
    """Of all threads: Python has no other."""
    counts = [
        sum(instructions_of_threads(None, [PYTHON, PYTHON_TURNS, CAPTURE, mode, str(count)]).values())
        for count in (long, short)
    ]
    return (counts[0] - counts[1]) / ((long - short) * per_count)


def per_pair(options):
    return (instructions(options, LONG) - instructions(options, SHORT)) / ((LONG - SHORT) * PER_COUNT)


def per_counted_pair(options):
    """As per_pair, without what both of its loops count together."""
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
            # Much less is something that was not measured, or a bound that could be lower.
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
