# SPDX-License-Identifier: MIT
"""Not a test: measures one capture by stack depth. Run by hand: run.py LIBRARY bench_capture.py"""

import os
import sys

import capturing

capture = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
assert capture.init()[0] == capturing.ON
CAPTURES = 100000


def capture_at_depth(left, functions):
    """Measures captures of a stack of `left` frames and the module's frame."""
    return capture_at_depth(left - 1, functions) if left > 1 else functions.test_bench(1024, CAPTURES)


for depth in 4, 16, 31, 64:
    with_gil = capture_at_depth(depth - 1, capture.held)
    without_gil = capture_at_depth(depth - 1, capture.released)
    print(
        "%-8s depth %2d: %6.1f ns with the GIL, %6.1f ns without"
        % (sys.version.split()[0], depth, with_gil, without_gil)
    )
