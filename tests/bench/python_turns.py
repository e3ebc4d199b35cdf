# SPDX-License-Identifier: MIT
"""python_turns.py LIBRARY MODE COUNT: captures COUNT Python stacks with the library of tests/preload/python.

same: one stack of twenty frames, captured from C in a loop. turns: two stacks of twenty frames, captured in
alternation; the outer ten frames are the same. nothing: the same calls as turns, without captures. deep: same as
`same`, with 10,000 frames.
"""

import ctypes
import sys
import threading

library = ctypes.PyDLL(sys.argv[1])
mode, count = sys.argv[2], int(sys.argv[3])
library.test_bench.restype = ctypes.c_double
assert library.test_init(0, None, 0) == 1


def descend(depth, work):
    return descend(depth - 1, work) if depth else work()


def one(depth, work):
    return one(depth - 1, work) if depth else work()


def other(depth, work):
    return other(depth - 1, work) if depth else work()


def take_turns():
    work = library.test_take if mode == "turns" else library.test_take_nothing
    for _ in range(count):
        one(9, work)
        other(9, work)


def run():
    if mode in ("same", "deep"):
        descend(17 if mode == "same" else 10000, lambda: library.test_bench(128, count))
    else:
        descend(8, take_turns)


sys.setrecursionlimit(20000)
threading.stack_size(512 << 20)
thread = threading.Thread(target=run)
thread.start()
thread.join()
