# SPDX-License-Identifier: MIT
"""Not a test: measures one capture by stack depth. Run by hand: run.py LIBRARY bench.py"""

import os
import sys

import capturing

capture = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
assert capture.init()[0] == capturing.ON
CAPTURES = 100000


def dive(left, functions):
    """Measures captures of a stack of `left` frames and the module's frame."""
    return dive(left - 1, functions) if left > 1 else functions.test_bench(1024, CAPTURES)


for depth in 4, 16, 31, 64:
    held = dive(depth - 1, capture.held)
    released = dive(depth - 1, capture.released)
    print("%-8s depth %2d: %6.1f ns with the GIL, %6.1f ns without" % (sys.version.split()[0], depth, held, released))
